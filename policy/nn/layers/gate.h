/** \file policy/nn/layers/gate.h
 * The logistic function and gates by it. Results do not depend on the number of threads.
 */
#ifndef EMP_POLICY_NN_LAYERS_GATE_H
#define EMP_POLICY_NN_LAYERS_GATE_H

#include "policy/nn/real.h"

/** x = 1 / (1 + e^-x) in place. */
void emp_sigmoid_forward(emp_real *x, int64_t count);

/** dy = dy y (1 - y) in place, from y = sigmoid(x). */
void emp_sigmoid_backward(emp_real *dy, const emp_real *y, int64_t count);

/** y = 2 s z, with s of (0, 1): a gate that lets all through at 1/2. y may be z. \a s has \a
 * gate_rows rows: B of them, or 1 for all. \a y and \a z are (B,C). */
void emp_gate_forward(emp_real *y, const emp_real *z, const emp_real *s,
                      int32_t gate_rows, int32_t B, int32_t C, int32_t threads);

/** dz = 2 s dy (dz may be dy), and \a ds (gate_rows,C) = the gradient of s. */
void emp_gate_backward(emp_real *dz, emp_real *ds, const emp_real *dy, const emp_real *z,
                       const emp_real *s, int32_t gate_rows, int32_t B, int32_t C,
                       int32_t threads);

#endif /* EMP_POLICY_NN_LAYERS_GATE_H */

/** \file policy/nn/activation.h
 * Element-wise functions over arrays.
 */
#ifndef EMP_POLICY_NN_ACTIVATION_H
#define EMP_POLICY_NN_ACTIVATION_H

#include "policy/nn/real.h"

typedef enum { EMP_ACTIVATION_RELU, EMP_ACTIVATION_TANH } emp_activation;

/** y = f(x) in place. */
void emp_activation_forward(emp_activation f, emp_real *x, int64_t count);

/** dy = dy f'(x) in place, from \a y = f(x). */
void emp_activation_backward(emp_activation f, emp_real *dy, const emp_real *y,
                             int64_t count);

#endif /* EMP_POLICY_NN_ACTIVATION_H */

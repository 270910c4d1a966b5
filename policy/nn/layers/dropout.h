/** \file policy/nn/layers/dropout.h
 * ReLU and dropout (Srivastava et al., 2014) in one: what is below 0 becomes 0, and of the rest
 * each number becomes 0 with probability \a rate or is divided by 1 - rate. What is above 0
 * afterwards says what was kept, so that no mask is stored.
 */
#ifndef EMP_POLICY_NN_LAYERS_DROPOUT_H
#define EMP_POLICY_NN_LAYERS_DROPOUT_H

#include "base/rng.h"
#include "policy/nn/real.h"

/** In place; draws a number for each of \a count from \a rng, none if \a rate is 0, which must
 * be below 1. */
void emp_relu_dropout_forward(emp_real *x, int64_t count, double rate, emp_rng *rng);

/** dy in place into the gradient of what went in, from \a y, what came out. */
void emp_relu_dropout_backward(emp_real *dy, const emp_real *y, int64_t count,
                               double rate);

#endif /* EMP_POLICY_NN_LAYERS_DROPOUT_H */

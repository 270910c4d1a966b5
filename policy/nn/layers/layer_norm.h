/** \file policy/nn/layers/layer_norm.h
 * Layer normalisation (Ba et al., 2016): each row gets mean 0 and variance 1, then a gain and
 * a shift a column. B rows in a batch, K columns. Results do not depend on the number of
 * threads.
 */
#ifndef EMP_POLICY_NN_LAYERS_LAYER_NORM_H
#define EMP_POLICY_NN_LAYERS_LAYER_NORM_H

#include "policy/nn/real.h"

/** y = gain n + shift with n = (x - mean) / sqrt(variance + 1e-5). x, \a normal (which gets n)
 * and y are (B,K); gain and shift are (K); \a inverse (B) gets 1 / sqrt(variance + 1e-5).
 * x may be \a normal or y. */
void emp_layer_norm_forward(emp_real *y, emp_real *normal, emp_real *inverse,
                            const emp_real *x, const emp_real *gain,
                            const emp_real *shift, int32_t B, int32_t K, int32_t threads);

/** dx = inverse (g - mean(g) - n mean(g n)) with g = gain dy;  dgain += sum of dy n;
 * dshift += sum of dy, over rows. dx may be dy. */
void emp_layer_norm_backward(emp_real *dx, emp_real *dgain, emp_real *dshift,
                             const emp_real *dy, const emp_real *normal,
                             const emp_real *inverse, const emp_real *gain, int32_t B,
                             int32_t K, int32_t threads);

#endif /* EMP_POLICY_NN_LAYERS_LAYER_NORM_H */

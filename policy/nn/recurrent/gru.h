/** \file policy/nn/recurrent/gru.h
 * Gated recurrent unit (Cho et al., 2014) in PyTorch's form. H cells; gates are 3H numbers in the
 * order reset, update, candidate:
 *
 *     a = x W_x + b_x,    u = h W_h + b_h
 *     r = s(a_r + u_r),    z = s(a_z + u_z),    n = tanh(a_n + r u_n),    s the logistic
 *     h' = (1 - z) n + z h
 *
 * The caller computes a and u, and turns their gradients into those of the weights. B rows.
 */
#ifndef EMP_POLICY_NN_RECURRENT_GRU_H
#define EMP_POLICY_NN_RECURRENT_GRU_H

#include "policy/nn/real.h"

/** \a gates (B,3H): a in, activations out. u (B,3H), h (B,H); \a next (B,H) is h'. */
void emp_gru_forward(emp_real *gates, emp_real *next, const emp_real *u,
                     const emp_real *h, int32_t B, int32_t H);

/** \a gates: activations in, gradients of a out. \a u: u in, its gradients out. \a dh (B,H): the
 * gradient of h' in, out that of h without what it has by way of u. */
void emp_gru_backward(emp_real *gates, emp_real *u, emp_real *dh, const emp_real *h,
                      int32_t B, int32_t H);

#endif /* EMP_POLICY_NN_RECURRENT_GRU_H */

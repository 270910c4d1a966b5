/** \file policy/nn/linear.h
 * Affine maps, embeddings and activations. B rows in a batch, C channels in, K channels out, V rows of
 * an embedding. Backward functions accumulate into parameter gradients, so that a weight
 * shared by several steps needs no special case. Results do not depend on the number of
 * threads.
 */
#ifndef EMP_POLICY_NN_LINEAR_H
#define EMP_POLICY_NN_LINEAR_H

#include "policy/nn/real.h"

/** y += x. */
void emp_vector_add(emp_real *y, const emp_real *x, int64_t count);
/** y += factor x. */
void emp_vector_add_scaled(emp_real *y, const emp_real *x, emp_real factor,
                           int64_t count);

/** y = x w + b.  x is (B,C), w is (C,K), b is (K) or NULL, y is (B,K). */
void emp_linear_forward(emp_real *y, const emp_real *x, const emp_real *w,
                        const emp_real *b, int32_t B, int32_t C, int32_t K,
                        int32_t threads);

/** dx = dy w';  dw += x' dy;  db += sum of the rows of dy. dx and db may be NULL. */
void emp_linear_backward(emp_real *dx, emp_real *dw, emp_real *db, const emp_real *dy,
                         const emp_real *x, const emp_real *w, int32_t B, int32_t C,
                         int32_t K, int32_t threads);

/** y[i] += e[index[i]]: rows of an embedding (or of its image under a linear map), K
 * columns, chosen by B indices. */
void emp_embedding_forward(emp_real *y, const emp_real *e, const int32_t *index,
                           int32_t B, int32_t K);

/** de[index[i]] += dy[i]. */
void emp_embedding_backward(emp_real *de, const emp_real *dy, const int32_t *index,
                            int32_t B, int32_t K);

typedef enum {
    EMP_ACTIVATION_RELU,
    EMP_ACTIVATION_TANH,
    EMP_ACTIVATION_LEAKY /**< x, or x / 10 below 0 */
} emp_activation;

/** y = f(x) in place. */
void emp_activation_forward(emp_activation f, emp_real *x, int64_t count);

/** dy = dy f'(x) in place, from \a y = f(x). */
void emp_activation_backward(emp_activation f, emp_real *dy, const emp_real *y,
                             int64_t count);

#endif /* EMP_POLICY_NN_LINEAR_H */

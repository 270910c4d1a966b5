/** \file policy/nn/layers.h
 * Layers: affine maps, embeddings and activations; and those of graph networks: mixing and maxima over
 * neighbours, dropout, gates, layer normalisation. Results do not depend on the number of threads.
 */
#ifndef EMP_POLICY_NN_LAYERS_H
#define EMP_POLICY_NN_LAYERS_H

#include "base/rng.h"
#include "policy/nn/real.h"

/* Affine maps, embeddings and activations. B rows in a batch, C channels in, K channels out, V rows of
 * an embedding. Backward functions accumulate into parameter gradients, so that a weight
 * shared by several steps needs no special case. */

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

/** dx = start + dy w'. The start may be dx or dy, or NULL for zeros. */
void emp_linear_inputs(emp_real *dx, const emp_real *start, const emp_real *dy,
                       const emp_real *w, int32_t B, int32_t C, int32_t K,
                       int32_t threads);

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

/* The graph's part of a graph convolution (Kipf and Welling, 2017): rows are mixed by
 *
 *     S = D^-1/2 (A + I) D^-1/2
 *
 * A the symmetric adjacency of an undirected graph without loops, D the degrees of A + I. An
 * affine map follows. S is symmetric, so that dx = S dy: the backward pass is the
 * forward pass. B nodes, K columns. */

/** y = start + S x. The start may be y, or NULL for zeros. The neighbours of node v are node[first[v]] ..
 * node[first[v + 1] - 1]; each edge is there from both ends. x and y are (B,K) and do not overlap. O((B + edges)
 * K). */
void emp_graph_conv(emp_real *y, const emp_real *start, const emp_real *x,
                    const int32_t *first, const int32_t *node, int32_t B, int32_t K,
                    int32_t threads);

/* Maxima over the neighbours of nodes, column by column. Neighbours are in compressed rows:
 * node v has node[first[v]] .. node[first[v + 1] - 1]. */

/** m_v = maximum of x_u over the neighbours u of v, 0 without any. \a m and \a x are (N,C). \a
 * chosen (N,C) gets the first neighbour with the maximum, or -1. O(edges x C). */
void emp_neighbor_max_forward(emp_real *m, int32_t *chosen, const emp_real *x,
                              const int32_t *first, const int32_t *node, int32_t N,
                              int32_t C, int32_t threads);

/** Sets \a dx (N,C): each maximum's gradient goes to the neighbour that was chosen. */
void emp_neighbor_max_backward(emp_real *dx, const emp_real *dm, const int32_t *chosen,
                               int32_t N, int32_t C, int32_t threads);

/* ReLU and dropout (Srivastava et al., 2014) in one: what is below 0 becomes 0, and of the rest
 * each number becomes 0 with probability \a rate or is divided by 1 - rate. Values above 0 afterwards
 * mark the kept ones, so that no mask is stored. */

/** In place; draws a number for each of \a count from \a rng, none if \a rate is 0, which must
 * be below 1. */
void emp_relu_dropout_forward(emp_real *x, int64_t count, double rate, emp_rng *rng);

/** dx = the gradient of what went in, from \a y, what came out. dx may be dy. */
void emp_relu_dropout_backward(emp_real *dx, const emp_real *dy, const emp_real *y,
                               int64_t count, double rate);

/* The logistic function and gates by it. */

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

/* Layer normalisation (Ba et al., 2016): each row gets mean 0 and variance 1, then a gain and
 * a shift a column. B rows in a batch, K columns. */

/** y = gain n + shift with n = (s - mean) / sqrt(variance + 1e-5) and s = x + plus. x, \a plus (NULL: zeros), \a normal
 * (which gets n) and y are (B,K); gain and shift are (K); \a inverse (B) gets 1 / sqrt(variance + 1e-5). x may be \a
 * normal or y, and so may \a plus. */
void emp_layer_norm_forward(emp_real *y, emp_real *normal, emp_real *inverse,
                            const emp_real *x, const emp_real *plus, const emp_real *gain,
                            const emp_real *shift, int32_t B, int32_t K, int32_t threads);

/** y = gain n + shift once more. */
void emp_layer_norm_again(emp_real *y, const emp_real *normal, const emp_real *gain,
                          const emp_real *shift, int32_t B, int32_t K);

/** dx = inverse (g - mean(g) - n mean(g n)) with g = gain dy;  dgain += sum of dy n;
 * dshift += sum of dy, over rows. dx may be dy. */
void emp_layer_norm_backward(emp_real *dx, emp_real *dgain, emp_real *dshift,
                             const emp_real *dy, const emp_real *normal,
                             const emp_real *inverse, const emp_real *gain, int32_t B,
                             int32_t K, int32_t threads);

#endif /* EMP_POLICY_NN_LAYERS_H */

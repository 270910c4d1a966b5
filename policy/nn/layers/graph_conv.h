/** \file policy/nn/layers/graph_conv.h
 * The graph's part of a graph convolution (Kipf and Welling, 2017): rows are mixed by
 *
 *     S = D^-1/2 (A + I) D^-1/2
 *
 * A the symmetric adjacency of an undirected graph without loops, D the degrees of A + I. An
 * affine map follows (linear.h). S is symmetric, so that dx = S dy: the backward pass is the
 * forward pass. B nodes, K columns. Results do not depend on the number of threads.
 */
#ifndef EMP_POLICY_NN_LAYERS_GRAPH_CONV_H
#define EMP_POLICY_NN_LAYERS_GRAPH_CONV_H

#include "policy/nn/real.h"

/** y = S x. The neighbours of node v are node[first[v]] .. node[first[v + 1] - 1]; each edge
 * is there from both ends. x and y are (B,K) and differ. O((B + edges) K). */
void emp_graph_conv(emp_real *y, const emp_real *x, const int32_t *first,
                    const int32_t *node, int32_t B, int32_t K, int32_t threads);

#endif /* EMP_POLICY_NN_LAYERS_GRAPH_CONV_H */

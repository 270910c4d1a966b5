/** \file policy/nn/layers/neighbors.h
 * Maxima over the neighbours of nodes, column by column. Neighbours are in compressed rows:
 * those of node v are node[first[v]] .. node[first[v + 1] - 1]. Results do not depend on the
 * number of threads.
 */
#ifndef EMP_POLICY_NN_LAYERS_NEIGHBORS_H
#define EMP_POLICY_NN_LAYERS_NEIGHBORS_H

#include "policy/nn/real.h"

/** m_v = maximum of x_u over the neighbours u of v, 0 without any. \a m and \a x are (N,C). \a
 * chosen (N,C) gets the first neighbour with the maximum, or -1. O(edges x C). */
void emp_neighbor_max_forward(emp_real *m, int32_t *chosen, const emp_real *x,
                              const int32_t *first, const int32_t *node, int32_t N,
                              int32_t C, int32_t threads);

/** Sets \a dx (N,C): each maximum's gradient goes to the neighbour that was chosen. */
void emp_neighbor_max_backward(emp_real *dx, const emp_real *dm, const int32_t *chosen,
                               int32_t N, int32_t C, int32_t threads);

#endif /* EMP_POLICY_NN_LAYERS_NEIGHBORS_H */

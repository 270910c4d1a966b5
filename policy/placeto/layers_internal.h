/** \file policy/placeto/layers_internal.h
 * The network's affine maps, in the order of their parameters, and sums over sets of nodes.
 */
#ifndef EMP_POLICY_PLACETO_LAYERS_INTERNAL_H
#define EMP_POLICY_PLACETO_LAYERS_INTERNAL_H

#include "policy/placeto/net.h"

/* First maps of parts: 3 of the input, 4 of each AGG, 3 of the head. */
enum {
    EMP_PLACETO_INPUT = 0,
    EMP_PLACETO_PASS = 3,
    EMP_PLACETO_POOL = EMP_PLACETO_PASS + 4 * EMP_PLACETO_DIRECTIONS,
    EMP_PLACETO_HEAD = EMP_PLACETO_POOL + 4 * EMP_PLACETO_RELATIONS
};

/* What a node is to the one that gets a device; the first three have an AGG each. */
enum {
    EMP_PLACETO_ANCESTOR,
    EMP_PLACETO_DESCENDANT,
    EMP_PLACETO_OTHER,
    EMP_PLACETO_SELF
};

/** Edges that messages of a direction come over, and those that they leave by. */
static inline const emp_node_edges *emp_placeto_sources(const emp_placeto_net *net,
                                                        int32_t                direction)
{
    return direction == 0 ? &net->graph->predecessors : &net->graph->successors;
}

/** y = x w + b of map \a layer on \a rows rows. */
void emp_placeto_map(const emp_placeto_net *net, int32_t layer, emp_real *y,
                     const emp_real *x, int32_t rows);
/** The same, and a ReLU. */
void emp_placeto_map_relu(const emp_placeto_net *net, int32_t layer, emp_real *y,
                          const emp_real *x, int32_t rows);
/** Adds to the map's gradient; dx may be NULL. */
void emp_placeto_map_backward(const emp_placeto_net *net, int32_t layer, emp_real *dx,
                              const emp_real *dy, const emp_real *x, int32_t rows);
/** The same through a ReLU, from its output \a y; dy changes. */
void emp_placeto_map_relu_backward(const emp_placeto_net *net, int32_t layer,
                                   emp_real *dx, emp_real *dy, const emp_real *y,
                                   const emp_real *x, int32_t rows);

/** y[r][v] = sum of x[r][u] over the edges of v; (rollouts x nodes, width) both. */
void emp_placeto_sum_edges(const emp_placeto_net *net, const emp_node_edges *edges,
                           emp_real *y, const emp_real *x, int32_t width);

#endif /* EMP_POLICY_PLACETO_LAYERS_INTERNAL_H */

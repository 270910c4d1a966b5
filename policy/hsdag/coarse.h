/** \file policy/hsdag/coarse.h
 * The coarsening that comes before learning: a node of exactly one predecessor joins that
 * one's set. Sets are out-trees, so that what flows between them forms no cycle.
 */
#ifndef EMP_POLICY_HSDAG_COARSE_H
#define EMP_POLICY_HSDAG_COARSE_H

#include "policy/features/node_graph.h"
#include "policy/hsdag/pooling.h"

typedef struct {
    int32_t         node_count, set_count;
    int32_t        *set_of_node;            /**< [node] */
    emp_hsdag_graph graph;                  /**< of sets, by all edges between nodes */
    int32_t        *in_degree, *out_degree; /**< [set] sets by forward edges */
    float     *position; /**< [set] place of its first node in a topological order, in
                                   0 .. 1 */
    emp_arrays arrays;
} emp_hsdag_coarse;

/** Sets are numbered in topological order of their first nodes. A node that may use no device
 * of its predecessor's set opens one of its own. O(nodes + edges). \retval EMP_ENOMEM */
emp_status emp_hsdag_coarse_init(emp_hsdag_coarse *coarse, const emp_node_graph *nodes,
                                 emp_error *err);
void emp_hsdag_coarse_clear(emp_hsdag_coarse *coarse); /**< legal after a failed init */

#endif /* EMP_POLICY_HSDAG_COARSE_H */

/** \file policy/giph/criticality.h
 * How likely a unit of flow that enters the graph at its inputs passes an edge, if at each node
 * it goes on by the edge that matters most: GiPH's guess of what is critical.
 *
 * At first a node's edges out share by softmax(10 bytes / most bytes). After each placement that
 * ran, those of nodes on its critical path learn: the edge that the path takes grows by a share
 * of what it lacks to 1, its siblings shrink by the same share. A node has what its edges in
 * bring, and 1 if it has none.
 */
#ifndef EMP_POLICY_GIPH_CRITICALITY_H
#define EMP_POLICY_GIPH_CRITICALITY_H

#include "policy/giph/placement.h"

typedef struct {
    double *edge; /**< [edge] of what its producer has; all that state needs */
    double *node; /**< [node] follows from it */
} emp_criticality;

/** Sets the first values of arrays that are there. O(nodes + edges). */
void emp_criticality_begin(const emp_criticality *c, const emp_giph_world *world);

/** Fills the nodes' from the edges'. O(nodes + edges). */
void emp_criticality_spread(const emp_criticality *c, const emp_giph_world *world);

/** Learns of a placement by its critical path: from the node that ends last back by the input
 * that came last, again and again; of equals the first. Call emp_criticality_spread()
 * afterwards. O(nodes + edges). */
void emp_criticality_learn(const emp_criticality *c, const emp_giph_world *world,
                           const emp_giph_placement *placement, double share);

#endif /* EMP_POLICY_GIPH_CRITICALITY_H */

/** \file policy/giph/gpnet.h
 * gpNet: a placement as a graph of the moves that lead away from it.
 *
 * Its nodes are all pairs (world.h). The pair that a node is placed on is the node's *pivot*. For
 * each edge p -> v there are links
 *
 *     from the pivot of p to every pair of v
 *     from every other pair of p to the pivot of v
 *
 * Features of a pair: the node's time over devices, the device's time over nodes, the pair's own
 * time, start-time potential, criticality of the node. Of a link: bytes, delay, time of the
 * message, time of a byte, criticality of the edge. The start-time potential is how much later
 * the inputs of the node would be there than the node starts now, 0 of pivots; inputs of a node
 * that has none are there at 0. Each feature is scaled to -1 .. 1 by its least and greatest value
 * in this gpNet; one that is everywhere the same is 0.
 */
#ifndef EMP_POLICY_GIPH_GPNET_H
#define EMP_POLICY_GIPH_GPNET_H

#include "policy/giph/criticality.h"
#include "policy/nn/real.h"

enum { EMP_GIPH_NODE_FEATURES = 5, EMP_GIPH_EDGE_FEATURES = 5 };

typedef struct {
    const emp_giph_world *world;                  /**< borrowed */
    emp_real             *x;                      /**< [pair][EMP_GIPH_NODE_FEATURES] */
    emp_real             *e;                      /**< [link][EMP_GIPH_EDGE_FEATURES] */
    int32_t              *source, *target;        /**< [link] pairs */
    int32_t              *in_degree, *out_degree; /**< [pair] */
    double               *raw;                    /**< features before they are scaled */
    emp_arrays            arrays;
} emp_gpnet;

/** Clear it afterwards, also after a failure. \a world is borrowed. \retval EMP_ENOMEM */
emp_status emp_gpnet_init(emp_gpnet *net, const emp_giph_world *world, emp_error *err);
void       emp_gpnet_clear(emp_gpnet *net);

/** Fills it for a placement. O(pairs + links). */
void emp_gpnet_fill(emp_gpnet *net, const emp_giph_placement *placement,
                    const emp_criticality *criticality);

#endif /* EMP_POLICY_GIPH_GPNET_H */

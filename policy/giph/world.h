/** \file policy/giph/world.h
 * What GiPH knows of a task before any placement: nodes of ops, the edges between them, and
 * what nodes take on devices and messages between devices.
 *
 * A *pair* is a node and a device that it may be on; pairs of a node follow one another. A
 * *link* belongs to an edge p -> v: in every placement there is one to each pair of v, and one
 * from each pair of p but the one that p is placed on (gpnet.h).
 *
 * Times come from the cost table of the problem and its links, whatever its runtime is. A
 * message takes what the file of the graph states, else the delay of the route and the time of
 * the bytes, as under the rules `edges`; other runtimes have queues beside it.
 *
 * Threads. Immutable after creation; share it freely.
 */
#ifndef EMP_POLICY_GIPH_WORLD_H
#define EMP_POLICY_GIPH_WORLD_H

#include "policy/features/node_graph.h"

typedef struct {
    int32_t from, to; /**< nodes */
    double  bytes;
    double stated_ns; /**< of a message between any two devices; -1: by delay and bytes */
} emp_giph_edge;

/** An edge of the graph of ops that belongs to an edge between nodes. */
typedef struct {
    emp_op_id from, to;
    int32_t   edge;
} emp_giph_crossing;

typedef struct {
    const emp_node_graph *nodes; /**< borrowed; its node order[v] is node v here */
    int32_t  node_count, edge_count, device_count, pair_count, link_count, crossing_count;
    int32_t *node_of_op; /**< [op]; -1: in no node */

    emp_giph_edge     *edge;               /**< [edge] */
    int32_t           *in_first, *in_edge; /**< [node + 1], [edge]: edges that come in */
    int32_t           *out_first, *out_edge;
    int32_t           *link_first; /**< [edge + 1] */
    emp_giph_crossing *crossing;   /**< [crossing] */

    int32_t       *pair_first;     /**< [node + 1] */
    int32_t       *node_of_pair;   /**< [pair] */
    emp_device_id *device_of_pair; /**< [pair] ascending in a node */
    double        *time_ns;        /**< [pair] */

    double *compute_ns; /**< [node] mean of its pairs' times */
    double *rate;       /**< [device] times over means, of all nodes that may be there */
    double *delay_ns,
        *ns_per_byte; /**< [from * device_count + to]; 0 from one to itself */

    double     least_ns; /**< the longest path when every node takes its least time and no
                              message takes any; at least 1 */
    emp_arrays arrays;
} emp_giph_world;

/** Clear it afterwards, also after a failure. Nodes are numbered in the topological order of
 * \a nodes; edges are its forward ones. O(V + E + pairs + links + devices^2).
 * \retval EMP_ENOMEM */
emp_status emp_giph_world_init(emp_giph_world *world, const emp_node_graph *nodes,
                               const emp_problem *problem, emp_error *err);
void       emp_giph_world_clear(emp_giph_world *world);

/** Of an edge's message between two devices; 0 on one. */
double emp_giph_message_ns(const emp_giph_world *world, int32_t edge, emp_device_id from,
                           emp_device_id to);

#endif /* EMP_POLICY_GIPH_WORLD_H */

/** \file policy/giph/world.h
 * What GiPH knows of a task before any placement: nodes of ops, the edges between them, and
 * what nodes take on devices and messages between devices.
 *
 * A *pair* is a node and a device that it may be on; pairs of a node follow one another. A
 * *link* belongs to an edge p -> v: in every placement there is one to each pair of v, and one
 * from each pair of p but the one that p is placed on.
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
#include "policy/nn/real.h"
#include "search/method.h"

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

/** Arrays are the caller's. */
typedef struct {
    int32_t *pivot; /**< [node] its pair */
    emp_time_ns
        *start_ns; /**< [node] of its first op that reads from another node; of its first
                                op if none does */
    emp_time_ns *end_ns;  /**< [node] of its last op */
    emp_time_ns *sent_ns; /**< [edge] end of the last op that it carries something of */
} emp_giph_placement;

/** Fills the times from the ops' times. O(ops + crossings). */
void emp_giph_placement_time(const emp_giph_placement *placement,
                             const emp_giph_world *world, const emp_score *score);

/** Writes the devices of ops that belong to nodes; others get device 0, from which legalization
 * sends them where they belong. O(ops). */
void emp_giph_placement_write(const emp_giph_placement *placement,
                              const emp_giph_world *world, emp_device_id *device_of_op);

/* How likely a unit of flow that enters the graph at its inputs passes an edge, if at each node
 * it goes on by the edge that matters most: GiPH's guess of what is critical.
 *
 * At first a node's edges out share by softmax(10 bytes / most bytes). After each placement that
 * ran, the edges of nodes on its critical path learn: the edge that the path takes grows by a share
 * of what it lacks to 1, its siblings shrink by the same share. A node has what its edges in
 * bring, and 1 if it has none. */

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

/* gpNet: a placement as a graph of the moves that lead away from it.
 *
 * Its nodes are all pairs (world.h). The pair that a node is placed on is the node's *pivot*. For
 * each edge p -> v there are links
 *
 *     from the pivot of p to every pair of v
 *     from every other pair of p to the pivot of v
 *
 * Features of a pair: the node's time over devices, the device's time over nodes, the pair's own
 * time, start-time potential, criticality of the node. For a link: bytes, delay, time of the
 * message, time of a byte, criticality of the edge. The start-time potential is how much later
 * the inputs of the node would be there than the node starts now, 0 of pivots; inputs of a node
 * that has none are there at 0. Each feature is scaled to -1 .. 1 by its least and greatest value
 * in this gpNet; one that is everywhere the same is 0. */

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

#endif /* EMP_POLICY_GIPH_WORLD_H */

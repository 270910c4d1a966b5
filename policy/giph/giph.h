/** \file policy/giph/giph.h
 * The method "giph": a policy that moves one op after another (Hu et al., MLSys 2023). Its parts are
 * a world, which does not change; gpNet, a graph of the moves that lead away from a placement; a
 * network over it; and an agent, which plays episodes and learns from them.
 */
#ifndef EMP_POLICY_GIPH_GIPH_H
#define EMP_POLICY_GIPH_GIPH_H

#include "policy/features/node_graph.h"
#include "policy/nn/params.h"
#include "policy/nn/real.h"
#include "policy/reinforce/learner.h"
#include "search/method.h"

/* The world is a task before any placement: nodes of ops, the edges between them, and the times of
 * nodes on devices and of messages between devices.
 *
 * A *pair* is a node and a device that it may be on; pairs of a node follow one another. A
 * *link* belongs to an edge p -> v: in every placement there is one to each pair of v, and one
 * from each pair of p but the one that p is placed on.
 *
 * Times come from the cost table of the problem and its links, whatever its runtime is. A
 * message takes what the file of the graph states, else the delay of the route and the time of
 * the bytes, as under the rules `edges`; other runtimes have queues beside it.
 *
 * A world is immutable after its creation, and threads share it. */

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
 * Its nodes are all pairs of the world. The pair that a node is placed on is the node's *pivot*. For
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

/* The network: two-way message passing over gpNet, then a score of each pair.
 *
 *     y0 = relu(x A + a) A' + a'                              of each pair, x its features
 *     m  = relu((y_from, e) U + u)                            of each link, e its features
 *     y  = y0 + relu((mean of m over links that come in) W + w)
 *     score = relu((y forwards, y backwards) S + s) S' + s'
 *
 * Forwards, nodes come in topological order, so that y_from is final. Backwards, links are
 * reversed, and U, u, W, w are others. The mean over no link is 0.
 *
 * The 583 parameters know of no graph and no machine. */

enum {
    EMP_GIPH_WIDTH = 5,    /**< of y */
    EMP_GIPH_MESSAGE = 10, /**< of m */
    EMP_GIPH_HIDDEN = 16,  /**< of the score */
    EMP_GIPH_PARAMETERS = 583
};

/** One direction of a pass. */
typedef struct {
    emp_real *y;    /**< [pair][EMP_GIPH_WIDTH] */
    emp_real *rise; /**< likewise: y - y0 */
    emp_real *mean; /**< [pair][EMP_GIPH_MESSAGE] of what comes in */
    emp_real *m;    /**< [link][EMP_GIPH_MESSAGE] */
} emp_giph_pass;

/** The values of one pass over a gpNet; each thread has its own. */
typedef struct {
    emp_real     *hidden, *y0;      /**< [pair][EMP_GIPH_WIDTH] */
    emp_giph_pass pass[2];          /**< forwards, backwards */
    emp_real     *both;             /**< [pair][2 EMP_GIPH_WIDTH] */
    emp_real     *score_hidden;     /**< [pair][EMP_GIPH_HIDDEN] */
    emp_real     *score;            /**< [pair] */
    emp_real     *d_score;          /**< [pair] its gradient, in */
    emp_real     *d_y, *d_y0, *d_h; /**< [pair][EMP_GIPH_WIDTH] */
    emp_real     *d_mean;           /**< [pair][EMP_GIPH_MESSAGE] */
    emp_real     *d_both, *d_score_hidden;
    emp_real     *d_m; /**< [link][EMP_GIPH_MESSAGE] */
    emp_arrays    arrays;
} emp_giph_work;

/** Allocates the parameters and draws them, uniform in +-1 / sqrt(inputs of the layer), biases
 * too. */
emp_status emp_giph_params_init(emp_params *params, uint64_t seed, uint32_t stream,
                                emp_error *err);

/** For all gpNets of a world. Clear it afterwards, also after a failure. */
emp_status emp_giph_work_init(emp_giph_work *work, const emp_giph_world *world,
                              emp_error *err);
void       emp_giph_work_clear(emp_giph_work *work);

/** Fills the scores. O(pairs + links). */
void emp_giph_forward(emp_giph_work *work, const emp_params *params,
                      const emp_gpnet *net);

/** Adds to \a gradient, a block like the parameters', their gradient of sum d_score score,
 * after emp_giph_forward(). */
void emp_giph_backward(emp_giph_work *work, const emp_params *params,
                       const emp_gpnet *net, emp_real *gradient);

/* Episodes and what they teach. An episode begins at a random placement, or where the run begins if it is the first one. Then it
 * moves one node to another device, `moves` times for each node. Its reward is the drop of the
 * step time, in units of the longest path when every node takes its least time. A move is drawn
 * from the softmax of the scores of pairs. Pivots cannot be drawn, nor the node moved
 * last unless no other can move.
 *
 * Several episodes run side by side: a *round* is the next placement of each. After the last round
 *
 *     gradient = mean over episodes of sum over moves t of (G_t - b_t) grad log p(move t)
 *
 * goes up by Adam, and new episodes begin. Gradients of log p are taken as moves are drawn; they
 * are as short as the parameters, so they are kept until G is known. */

/** The baseline of the return G of a move, sum of gamma^i times the i-th reward from it on. */
typedef enum {
    EMP_GIPH_BASELINE_REWARDS, /**< mean reward of the episode up to the move */
    EMP_GIPH_BASELINE_RETURNS  /**< mean G of moves of that number, over late episodes */
} emp_giph_baseline;

/** Every constant by name; giph.c has the table. */
typedef struct {
    emp_learner_options learner; /**< Adam and the largest norm */
    int32_t             max_nodes;
    int32_t             episodes; /**< side by side; an update has all of them */
    int32_t             moves;    /**< of an episode, for each node */
    double              gamma;
    uint32_t            baseline;    /**< emp_giph_baseline */
    double              criticality; /**< share that a critical path teaches */
} emp_giph_options;

enum {
    EMP_GIPH_LOSS,
    EMP_GIPH_GAIN, /**< mean drop of an episode, all in all */
    EMP_GIPH_ENTROPY,
    EMP_GIPH_NORM,
    EMP_GIPH_METRICS
};

/** The state with which one thread draws a move. */
typedef struct {
    emp_gpnet     net;
    emp_giph_work work;
    emp_real     *p;      /**< [action] probabilities */
    int32_t      *action; /**< [action] pairs */
    int32_t       action_count;
} emp_giph_drawer;

typedef struct {
    emp_learner      learner; /**< first; its ops are NULL */
    emp_giph_options options;
    emp_node_graph  *nodes; /**< owned */
    emp_giph_world   world;
    emp_params       params;
    emp_criticality  criticality;
    int32_t          length; /**< moves of an episode */
    emp_giph_drawer *drawer; /**< [thread] */

    int32_t round;         /**< of placements asked or to be asked: 0 = the first ones */
    int32_t told;          /**< episodes whose placement of this round is scored */
    int32_t asked;         /**< of this round, by the last ask */
    emp_giph_placement at; /**< [episode][...] */
    int32_t           *last;    /**< [episode] node that moved last; -1 = none */
    double            *cost;    /**< [episode] of the placement, in units of the reward */
    double            *reward;  /**< [episode][length] */
    double            *entropy; /**< [episode] of the move drawn last */
    double            *log_p;   /**< [episode][length] */
    emp_real          *gradient; /**< [episode][length][params.count] of log p */
    double            *baseline; /**< [length], of emp_giph_baseline returns */
    emp_arrays         arrays;
} emp_giph_agent;

/** Zero-initialised before; clear it afterwards, also after a failure. \a start [op] OPTIONAL:
 * where the first episode begins.
 * \retval EMP_EINVAL  As emp_node_graph_create(). \retval EMP_ENOMEM */
emp_status emp_giph_agent_init(emp_giph_agent *agent, const emp_problem *problem,
                               const emp_giph_options  *options,
                               const emp_method_params *params, emp_error *err);
void       emp_giph_agent_clear(emp_giph_agent *agent);

/** The functions of a method. An ask gives the placements of a round that are still to be scored,
 * at most \a max.
 * \retval EMP_EINVAL   Not as many scores as were asked for, or scores without times.
 * \retval EMP_EFORMAT  A restored state is damaged. */
emp_status emp_giph_agent_ask(void *state, const emp_owned_decision *candidates,
                              int32_t max, int32_t *count, emp_error *err);
emp_status emp_giph_agent_tell(void *state, const emp_score *scores, int32_t count,
                               emp_error *err);

/** Fills \a drawer for the present placement of an episode: probabilities of all moves. */
void emp_giph_agent_see(const emp_giph_agent *agent, emp_giph_drawer *drawer,
                        int32_t episode);

/** Makes the move to \a action, a position among those that \a drawer sees, and keeps the gradient
 * of its log-probability. */
void emp_giph_agent_move(emp_giph_agent *agent, emp_giph_drawer *drawer, int32_t episode,
                         int32_t action);

extern const emp_method emp_method_giph;

#endif /* EMP_POLICY_GIPH_GIPH_H */

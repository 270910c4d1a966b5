/** \file policy/placeto/placeto.h
 * Placeto (Addanki, Venkatakrishnan, Gupta, Mao, Alizadeh; NeurIPS 2019) as a method: a graph
 * network moves one group of ops at a time, sees when ops ran after each move, and learns from how
 * much shorter the step became. README.md says what of it is known and what was chosen.
 *
 * One ask proposes the next state of each rollout of an episode, so an episode of N groups takes N
 * asks, and then there is one update. Presets: "paper", "emplace".
 */
#ifndef EMP_POLICY_PLACETO_PLACETO_H
#define EMP_POLICY_PLACETO_PLACETO_H

#include "policy/features/node_graph.h"
#include "policy/nn/params.h"
#include "policy/reinforce/learner.h"
#include "search/method.h"

/* The network: message passing over a graph of nodes, and probabilities of devices for one of them. With
 * x (B,d) the features of nodes and FNN a row of affine maps with a ReLU between any two,
 *
 *     z = FNN d-d-d-d (x)
 *     AGG(y, set) = relu(FNN w-w-w (sum over set of relu(FNN w-w-w (y))))    w the width of y
 *     forward:  y = z, then `passes` times   y = z + AGG(y, predecessors)    0 without any
 *     backward: the same with successors and weights of its own
 *     e = [forward, backward]
 *     u = [AGG(e, ancestors), AGG(e, descendants), AGG(e, all others), e]    of the node
 *     logits = FNN 8d-16d-8d-D (u)
 *
 * where D is the number of devices. The weights are the same for every node and pass.
 *
 * R rollouts are R states of one graph that are looked at together: rows are [rollout][node]. */

enum { EMP_PLACETO_DIRECTIONS = 2, EMP_PLACETO_RELATIONS = 3, EMP_PLACETO_LAYERS = 26 };

typedef struct {
    int32_t inputs;       /**< d */
    int32_t devices;      /**< D */
    int32_t passes;       /**< at least 1 */
    int32_t max_rollouts; /**< of one forward pass */
    int32_t threads;      /**< results do not depend on it */
} emp_placeto_shape;

/** The values of AGG for a batch: outputs of its four maps, and the sum between them. */
typedef struct {
    emp_real *inner, *message;   /**< (rows of y, w) */
    emp_real *sum, *outer, *out; /**< (rows of results, w) */
} emp_placeto_messages;

typedef struct {
    emp_placeto_shape     shape;
    const emp_node_graph *graph; /**< borrowed */
    emp_params            params;
    int32_t               words; /**< of 64 nodes */
    uint64_t *ancestors; /**< [node][words] bit u: u comes before by forward edges */

    /* The arguments of the last forward pass. */
    int32_t               rollouts, node;
    uint8_t              *relation; /**< [node] to the one that gets a device */
    const emp_real       *x;        /**< borrowed */
    emp_real             *z1, *z2, *z;
    emp_real             *y[EMP_PLACETO_DIRECTIONS];    /**< [passes + 1](B,d) */
    emp_placeto_messages *pass[EMP_PLACETO_DIRECTIONS]; /**< [passes] */
    emp_real             *e;                            /**< (B,2d) */
    emp_placeto_messages  pool[EMP_PLACETO_RELATIONS];
    emp_real             *u, *c1, *c2; /**< (R,8d), (R,16d), (R,8d) */
    emp_real             *logits;      /**< (R,D) */

    /* The gradients of a backward pass. */
    emp_real  *d_wide[4];                  /**< (B,2d) each */
    emp_real  *d_e, *d_z, *d_y;            /**< (B,2d), (B,d), (B,d) */
    emp_real  *d_u, *d_c1, *d_c2, *d_pool; /**< as u, c1, c2; (R,2d) */
    emp_arrays arrays;                     /**< all of these but the parameters */
} emp_placeto_net;

/** Weights are 0. Memory grows with passes x rollouts x nodes x d.
 * O(nodes x edges / 64) for the ancestors. \retval EMP_ENOMEM */
emp_status emp_placeto_net_init(emp_placeto_net *net, const emp_node_graph *graph,
                                const emp_placeto_shape *shape, emp_error *err);
void       emp_placeto_net_clear(emp_placeto_net *net); /**< legal after a failed init */

/** Draws weights as Glorot and Bengio (2010) do; biases stay 0. */
void emp_placeto_net_randomize(emp_placeto_net *net, emp_rng *rng);

/** Fills logits for \a node in each of \a rollouts states.
 * \param x  (rollouts x nodes, d); must stay until the backward pass. */
void emp_placeto_net_forward(emp_placeto_net *net, const emp_real *x, int32_t node,
                             int32_t rollouts);

/** Adds to the parameters' gradient what \a d_logits (R,D), of the last forward pass, makes of
 * it. */
void emp_placeto_net_backward(emp_placeto_net *net, const emp_real *d_logits);

/* Episodes and updates. An episode goes over the nodes of a graph in a topological
 * order. Each gets a device drawn from the policy, and every placement on the way is scored. With
 * R_t the value of the placement before node number t, which is its time with a penalty for
 * memory,
 *
 *     G_t = sum over i >= t of gamma^(i - t) (R_i - R_(i+1))
 *     b_t = mean of G_t over the last episodes, the present one among them
 *     loss = - sum over rollouts and t of (G_t - b_t) log pi(device of t) + eta H_t
 *
 * where H is the entropy of the probabilities. An episode is R rollouts from one start. They go on side by
 * side, one node an ask, and make one update together. The start is scored once, by an ask of its
 * own.
 *
 * Nothing of the network is kept along an episode. The update makes the states again, from the
 * times of all its steps and the devices drawn. */

/** Where episodes begin. */
typedef enum {
    EMP_PLACETO_START_ONCE,  /**< at one random placement */
    EMP_PLACETO_START_FIRST, /**< with all on the first device */
    EMP_PLACETO_START_EACH,  /**< each at a random placement of its own */
    EMP_PLACETO_START_BEST /**< at the best placement so far; the first at a random one */
} emp_placeto_start;

/** In what the time of a step counts. */
typedef enum { EMP_PLACETO_SECONDS, EMP_PLACETO_STARTS } emp_placeto_units;

/** The measures of missing memory. */
typedef enum {
    EMP_PLACETO_PEAK,    /**< GB above a limit on the fullest device */
    EMP_PLACETO_OVERFLOW /**< the share of a device's memory, summed over devices */
} emp_placeto_memory;

/** Every constant by name. The table in placeto.c has the range and presets of each, README.md the
 * source of its values. */
typedef struct {
    emp_learner_options learner; /**< at the first update */
    int32_t             max_nodes, rollouts, passes, window, greedy_every, updates;
    bool                cpu;
    double              lr_last, entropy_last, gamma;
    double              penalty, limit_gb, cap;
    emp_placeto_start   start;
    emp_placeto_units   units;
    emp_placeto_memory  memory;
} emp_placeto_options;

enum {
    EMP_PLACETO_LOSS,
    EMP_PLACETO_RETURN,
    EMP_PLACETO_ENTROPY,
    EMP_PLACETO_NORM,
    EMP_PLACETO_UPDATES,
    EMP_PLACETO_METRICS
};

/** A placement of nodes, and what is known of it. */
typedef struct {
    int32_t  *device; /**< [node] index of a device to choose from */
    emp_real *time_s; /**< [node] when its first op starts */
    double    value;  /**< R */
} emp_placeto_placement;

typedef struct {
    emp_learner         learner; /**< first; its ops are NULL */
    emp_placeto_options options;
    emp_node_graph     *graph; /**< owned */
    emp_placeto_net     net;
    int32_t             device_count; /**< to choose from */
    emp_device_id       device[EMP_MAX_DEVICES];
    int64_t             planned;      /**< updates of the schedules; 0: unknown */
    emp_real           *cost, *bytes; /**< [node] over their largest */

    int64_t episode;  /**< episodes ended */
    int32_t step;     /**< nodes that have a device; -1: the start has no score */
    int32_t rollouts; /**< of this episode */
    double  unit_s;   /**< of values; 0: not known yet */
    emp_placeto_placement start, best;
    int32_t              *now;     /**< [rollout][node] devices, as in a placement */
    int32_t              *action;  /**< [rollout][step] devices drawn */
    emp_real             *time_s;  /**< [step][rollout][node] before the step's draw */
    double               *value;   /**< [step + 1][rollout] */
    double               *average; /**< [window][step] of G, by update mod window */

    emp_real      *x;        /**< (rollouts x nodes, d) of one step */
    emp_real      *d_logits; /**< (rollouts, devices) */
    int32_t       *replayed; /**< as now */
    double        *weight;   /**< [step][rollout] G - b */
    emp_device_id *spread;   /**< [node] */
    emp_arrays     arrays;   /**< all of these that are arrays, and the placements' */
} emp_placeto_agent;

/** Columns before the one-hot device: cost, output bytes, whether the node has its device of this
 * episode, whether it is its turn, and when it starts in the last step, less the start of the node
 * whose turn it is. */
enum { EMP_PLACETO_FEATURES = 5 };

/** For tests: sets \a weight of each step and rollout, and makes the average know of G. */
void emp_placeto_weigh(emp_placeto_agent *agent);

/** Adds to the gradient what the weights and an entropy that counts \a entropy make of it, uphill.
 * Returns the loss. */
double emp_placeto_add_gradients(emp_placeto_agent *agent, double entropy);

extern const emp_method emp_method_placeto;

#endif /* EMP_POLICY_PLACETO_PLACETO_H */

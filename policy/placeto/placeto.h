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

#include "policy/placeto/net.h"
#include "policy/reinforce/learner.h"
#include "search/method.h"

/* Episodes and updates of Placeto. An episode goes over the nodes of a graph in a topological
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

/* Every constant by name; README.md gives the source of each value. */

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

/** Meaning, range and presets of each: the table in placeto.c. */
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

/** Takes \a graph over, even on failure. \a devices are those to choose from, at least 2.
 * \param planned  Updates of the schedules; 0: rates stay the first ones.
 * O(rollouts x nodes^2). \retval EMP_ENOMEM */
emp_status emp_placeto_agent_init(emp_placeto_agent *agent, emp_node_graph *graph,
                                  const emp_device_id *devices, int32_t device_count,
                                  const emp_placeto_options *options, int64_t planned,
                                  uint64_t seed, int32_t threads, emp_error *err);
void emp_placeto_agent_clear(emp_placeto_agent *agent); /**< legal after a failed init */

/** Columns before the one-hot device: cost, output bytes, whether the node has its device of this
 * episode, whether it is its turn, and when it starts in the last step, less the start of the node
 * whose turn it is. */
enum { EMP_PLACETO_FEATURES = 5 };

/** Fills x for all rollouts before the draw of \a step. \a device is [rollout][node]. */
void emp_placeto_fill_states(emp_placeto_agent *agent, int32_t step,
                             const int32_t *device);

/** For tests: sets \a weight of each step and rollout, and makes the average know of G. */
void emp_placeto_weigh(emp_placeto_agent *agent);

/** Adds to the gradient what the weights and an entropy that counts \a entropy make of it, uphill.
 * Returns the loss. */
double emp_placeto_add_gradients(emp_placeto_agent *agent, double entropy);

extern const emp_method emp_method_placeto;

#endif /* EMP_POLICY_PLACETO_PLACETO_H */

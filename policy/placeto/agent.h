/** \file policy/placeto/agent.h
 * Episodes and updates of Placeto. An episode goes over the nodes of a graph in a topological
 * order. Each gets a device drawn from the policy, and every placement on the way is scored. With
 * R_t the value of the placement before node number t, which is its time with a penalty for
 * memory,
 *
 *     G_t = sum over i >= t of gamma^(i - t) (R_i - R_(i+1))
 *     b_t = mean of G_t over the last episodes, the present one among them
 *     loss = - sum over rollouts and t of (G_t - b_t) log pi(device of t) + eta H_t
 *
 * where H is the entropy of the odds. An episode is R rollouts from one start. They go on side by
 * side, one node an ask, and make one update together. The start is scored once, by an ask of its
 * own.
 *
 * Nothing of the network is kept along an episode. The update makes the states again, from the
 * times of all its steps and the devices drawn.
 */
#ifndef EMP_POLICY_PLACETO_AGENT_H
#define EMP_POLICY_PLACETO_AGENT_H

#include "policy/placeto/net.h"
#include "policy/placeto/options.h"
#include "search/method.h"

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
    emp_placeto_options options;
    emp_node_graph     *graph; /**< owned */
    emp_placeto_net     net;
    int32_t             device_count; /**< to choose from */
    emp_device_id       device[EMP_MAX_DEVICES];
    uint64_t            seed;         /**< of the first weights and of all draws */
    int64_t             planned;      /**< updates of the schedules; 0: unknown */
    emp_real           *cost, *bytes; /**< [node] over their largest */

    int64_t episode, update; /**< episodes ended, updates made */
    int32_t step;            /**< nodes that have a device; -1: the start has no score */
    int32_t rollouts;        /**< of this episode */
    int32_t drawn;           /**< candidates of the last ask */
    double  unit_s;          /**< of values; 0: not known yet */
    emp_placeto_placement start, best;
    int32_t              *now;     /**< [rollout][node] devices, as in a placement */
    int32_t              *action;  /**< [rollout][step] devices drawn */
    emp_real             *time_s;  /**< [step][rollout][node] before the step's draw */
    double               *value;   /**< [step + 1][rollout] */
    double               *average; /**< [window][step] of G, by update mod window */

    emp_real         *x;        /**< (rollouts x nodes, d) of one step */
    emp_real         *d_logits; /**< (rollouts, devices) */
    int32_t          *replayed; /**< as now */
    double           *weight;   /**< [step][rollout] G - b */
    emp_device_id    *spread;   /**< [node] */
    emp_method_metric metric[EMP_PLACETO_METRICS];
    emp_arrays        arrays; /**< all of these that are arrays, and the placements' */
} emp_placeto_agent;

/** Takes \a graph over, even on failure. \a devices are those to choose from, at least 2.
 * \param planned  Updates of the schedules; 0: rates stay the first ones.
 * O(rollouts x nodes^2). \retval EMP_ENOMEM */
emp_status emp_placeto_agent_init(emp_placeto_agent *agent, emp_node_graph *graph,
                                  const emp_device_id *devices, int32_t device_count,
                                  const emp_placeto_options *options, int64_t planned,
                                  uint64_t seed, int32_t threads, emp_error *err);
void emp_placeto_agent_clear(emp_placeto_agent *agent); /**< legal after a failed init */

/** The start, or the next placement of each rollout; of only \a max rollouts if that is fewer,
 * and then the others are given up. Ops in no node are on device 0.
 * \retval EMP_EFORMAT  A restored state is damaged. */
emp_status emp_placeto_agent_ask(emp_placeto_agent        *agent,
                                 const emp_owned_decision *candidates, int32_t max,
                                 int32_t *count, emp_error *err);

/** Goes on to the next step, or episode. */
void emp_placeto_agent_tell(emp_placeto_agent *agent, const emp_score *scores);

/** What later asks depend on (emp_method). */
int32_t emp_placeto_agent_list_state(emp_placeto_agent *agent,
                                     emp_named_array    arrays[EMP_MAX_NAMED_ARRAYS]);

/** The parameters and Adam's moments, which fit every graph with as many devices to choose from. Fills
 * \a arrays and returns their number. */
int32_t emp_placeto_agent_list_weights(emp_placeto_agent *agent,
                                       emp_named_array    arrays[EMP_MAX_NAMED_ARRAYS]);

#endif /* EMP_POLICY_PLACETO_AGENT_H */

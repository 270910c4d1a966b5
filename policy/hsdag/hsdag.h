/** \file policy/hsdag/hsdag.h
 * HSDAG, the structure-aware framework of Duan et al. (NeurIPS 2024), as a placer: a network
 * puts nodes of a coarsened graph into groups and groups on devices, and REINFORCE trains both
 * at once. README.md says what of it is known and what was chosen.
 *
 * One ask is an episode of up to 20 steps, one tell an update. Presets: "paper", "emplace".
 */
#ifndef EMP_POLICY_HSDAG_HSDAG_H
#define EMP_POLICY_HSDAG_HSDAG_H

#include "base/text/options.h"
#include "policy/hsdag/inputs.h"
#include "policy/hsdag/parsing_net.h"
#include "policy/reinforce/learner.h"
#include "search/method.h"

/* Episodes of HSDAG, and an update.
 *
 * An episode has a step for each placement of an ask. The numbers of the sets begin as
 * inputs.h has them; after each step every set adds the code of the group it was put into:
 *
 *     x_0 = inputs;    x_{t+1} = x_t + c_group(x_t)
 *
 * Scores have no part in that, so that an episode is drawn at once. The gradient of each step's log-probability
 * is taken as the step is drawn, and weighed once scores are known; none flows from one step to the one before.
 *
 * update=episode: each step weighs sum_i discount^i r_{n-1-i}, r = 1 / s.
 * update=step: step t weighs (R_t - b) / n, R_t = -sqrt(s / s_ref), b a moving average of mean
 * rewards (policy/reinforce), s_ref the time of all nodes one after another, each where it runs
 * fastest. */

/* Every constant by name; README.md gives the source of each value. */

#define EMP_HSDAG_UPDATE_WORDS "episode|step"
typedef enum {
    EMP_HSDAG_UPDATE_EPISODE, /**< one number for all steps of an episode */
    EMP_HSDAG_UPDATE_STEP     /**< each step its own advantage */
} emp_hsdag_update;

/** Meaning, range and presets of each: emp_hsdag_option_list. */
typedef struct {
    emp_learner_options   learner;
    int32_t               nodes, width, levels, groups_per_device;
    double                dropout, discount;
    emp_hsdag_inputs_form features;
    emp_hsdag_update      update;
    bool                  single;
} emp_hsdag_options;

extern const emp_option emp_hsdag_option_list[];
/** "paper": the released code, as far as it can be run. "emplace": with our update. */
#define EMP_HSDAG_PRESETS "paper|emplace"

/** Fills \a options from \a preset (NULL = "paper") and then from \a text (NULL = nothing
 * more). \retval EMP_EINVAL  Unknown preset or key, or a value out of range. */
emp_status emp_hsdag_options_parse(emp_hsdag_options *options, const char *preset,
                                   const char *text, emp_error *err);

typedef struct {
    emp_learner            learner; /**< first */
    emp_hsdag_options      options;
    emp_node_graph        *nodes;
    emp_hsdag_coarse       coarse;
    emp_hsdag_inputs_table inputs;
    emp_hsdag_net          net;
    double                 reference_s;     /**< s_ref */
    emp_real              *x;               /**< [set][inputs.width] */
    int32_t               *device;          /**< [sample][set] */
    int32_t               *device_of_group; /**< [set] scratch */
    emp_real *gradient; /**< [sample][net.params.count] of log-probabilities */
    double    log_prob[EMP_MAX_BATCH], entropy[EMP_MAX_BATCH], groups[EMP_MAX_BATCH];
} emp_hsdag_agent;

/** \retval EMP_EINVAL  No op of the problem has a choice of devices. \retval EMP_ENOMEM */
emp_status emp_hsdag_agent_init(emp_hsdag_agent *agent, const emp_problem *problem,
                                const emp_hsdag_options *options, uint64_t seed,
                                int32_t threads, emp_error *err);
void emp_hsdag_agent_clear(emp_hsdag_agent *agent); /**< legal after a failed init */

extern const emp_method emp_method_hsdag;

#endif /* EMP_POLICY_HSDAG_HSDAG_H */

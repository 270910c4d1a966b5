// SPDX-License-Identifier: GPL-3.0-or-later
#include "policy/colocrl/colocrl.h"

#include "base/mem.h"
#include "policy/colocrl/agent.h"
#include "search/groups/class_groups.h"
#include "search/groups/colocation_groups.h"

static void clear(void *state) { emp_colocrl_agent_clear((emp_colocrl_agent *)state); }

/* Largest group of a cut over the mean, as of policy/hdp. */
#define IMBALANCE 2.0

static emp_status group_classes(int32_t *group_of_class, int32_t *group_count,
                                const emp_problem *problem, const emp_colocrl_options *o,
                                const emp_method_params *params, emp_error *err)
{
    const emp_class_groups_params cut = {.kind = o->groups,
                                         .count = o->count,
                                         .imbalance = IMBALANCE,
                                         .seed = params->seed,
                                         .stop = params->stop};
    const uint32_t rules = (o->gradients ? (uint32_t)EMP_COLOCATION_GRADIENTS : 0) |
                           (o->readers ? (uint32_t)EMP_COLOCATION_READERS : 0) |
                           (o->layers ? (uint32_t)EMP_COLOCATION_LAYERS : 0);

    if (o->groups != EMP_CLASS_GROUPS_COLOCRL)
        return emp_class_groups(group_of_class, group_count, problem, &cut, err);
    return emp_colocation_groups_by(group_of_class, group_count, problem, rules, err);
}

/* Closes the gaps that groups without rows leave. Rows without a group share one more, the last. */
static emp_status number_groups(int32_t *group_of_row, int32_t row_count,
                                int32_t *group_count, emp_error *err)
{
    const int32_t rest = *group_count;
    int32_t      *number = EMP_NEW_ARRAY(int32_t, (size_t)rest + 1), count = 0;

    if (number == NULL) return EMP_ERROR(EMP_ENOMEM, "numbers of %d groups", rest);
    for (int32_t r = 0; r < row_count; r++) {
        if (group_of_row[r] < 0) group_of_row[r] = rest;
        number[group_of_row[r]] = 1;
    }
    for (int32_t g = 0; g <= rest; g++)
        if (number[g] != 0) number[g] = count++;
    for (int32_t r = 0; r < row_count; r++) group_of_row[r] = number[group_of_row[r]];
    *group_count = count;
    emp_free(number);
    return EMP_OK;
}

/* The group of each row. Rows of several hosts' CPUs, which the rules leave out, share one
 * more group. */
static emp_status group_rows(int32_t **out, int32_t *group_count,
                             const emp_problem *problem, const emp_op_features *ops,
                             const emp_colocrl_options *options,
                             const emp_method_params *params, emp_error *err)
{
    emp_status st = EMP_OK;
    int32_t *group_of_class = EMP_NEW_ARRAY(int32_t, (size_t)problem->graph->class_count);
    int32_t *group = EMP_NEW_ARRAY(int32_t, (size_t)ops->row_count);

    if (group == NULL || group_of_class == NULL)
        EMP_FAIL(EMP_ENOMEM, "groups of %d ops", ops->row_count);
    EMP_TRY(group_classes(group_of_class, group_count, problem, options, params, err));
    for (int32_t r = 0; r < ops->row_count; r++)
        group[r] = group_of_class[problem->graph->op[ops->op_of_row[r]].colocation_class];
    EMP_TRY(number_groups(group, ops->row_count, group_count, err));
    *out = group;
    group = NULL;

cleanup:
    emp_free(group_of_class);
    emp_free(group);
    return st;
}

static emp_status init(void *state, const emp_problem *problem,
                       const emp_method_params *params, emp_error *err)
{
    emp_status          st = EMP_OK;
    emp_colocrl_agent  *agent = (emp_colocrl_agent *)state;
    int32_t            *group_of_row = NULL, group_count = 0;
    emp_colocrl_options options;

    EMP_TRY(emp_method_options_parse(&options, &emp_method_colocrl, params, err));
    EMP_TRY(emp_op_features_create(&agent->learner.ops, problem, err));
    EMP_TRY(group_rows(&group_of_row, &group_count, problem, agent->learner.ops, &options,
                       params, err));
    EMP_TRY(emp_colocrl_agent_init(agent, agent->learner.ops, group_of_row, group_count,
                                   problem->machine->device_count, &options, params->seed,
                                   params->threads, err));
    agent->learner.stop = agent->net.stop = params->stop;
    agent->learner.draw_seed = emp_rng_seed_of_rank(params->seed, params->rank);

cleanup:
    emp_free(group_of_row);
    return st;
}

static const emp_option option_list[] = {
    EMP_INTEGER_OPTION("max_groups", emp_colocrl_options, max_groups, 1, 16384,
                       "groups that the rules may leave; more are refused, as memory "
                       "grows with the square",
                       2048),
    EMP_INTEGER_OPTION("type_width", emp_colocrl_options, type_width, 1, 256,
                       "width of the embedding of op types", 20),
    EMP_INTEGER_OPTION("hidden", emp_colocrl_options, hidden, 1, 4096,
                       "cells of each LSTM, width of the attention", 256),
    EMP_REAL_OPTION("temperature", emp_colocrl_options, temperature, 1e-3, 1e6,
                    "T in C tanh(logit / T)", 10),
    EMP_REAL_OPTION("tanh_constant", emp_colocrl_options, tanh_constant, 1e-3, 1e6,
                    "C in C tanh(logit / T)", 5),
    EMP_LEARNER_OPTIONS(emp_colocrl_options, learner, 0.03, 5, 0, 0, 0, 5000),
    EMP_REAL_OPTION("beta1", emp_colocrl_options, learner.adam.beta1, 0, 0.9999,
                    "decay of Adam's first moment", 0.9),
    EMP_REAL_OPTION("beta2", emp_colocrl_options, learner.adam.beta2, 0, 0.999999,
                    "decay of Adam's second moment", 0.999),
    EMP_REAL_OPTION("run_shortest", emp_colocrl_options, run_shortest, 0, 1,
                    "part of the groups that share a draw: least", 0.03),
    EMP_REAL_OPTION("run_longest", emp_colocrl_options, run_longest, 0, 1,
                    "and most; 0: all draws are independent", 1),
    EMP_REAL_OPTION("placer_gain", emp_colocrl_options, placer_gain, 0, 1e6,
                    "initial scale of the network's last layer", 1),
    EMP_WORD_OPTION("order", emp_colocrl_options, order, EMP_GROUP_SEQUENCE_WORDS,
                    "of groups given to the network: mean position of their ops, their "
                    "number (first op), random, or last position first",
                    EMP_ORDER_POSITION),
    EMP_WORD_OPTION("groups", emp_colocrl_options, groups, EMP_CLASS_GROUPING_WORDS,
                    "how groups are made; colocrl: by the three rules",
                    EMP_CLASS_GROUPS_COLOCRL),
    EMP_INTEGER_OPTION("count", emp_colocrl_options, count, 1, 16384,
                       "groups at most, unless rules make them", 256),
    EMP_BOOL_OPTION("gradients", emp_colocrl_options, gradients,
                    "rule 1: a gradient stands with its op", true),
    EMP_BOOL_OPTION("readers", emp_colocrl_options, readers,
                    "rule 2: what one group alone reads goes into it", true),
    EMP_BOOL_OPTION("layers", emp_colocrl_options, layers,
                    "rule 3: a convolution, a pooling or a step of a cell is one group",
                    true),
    EMP_NO_OPTION};

static const emp_method_learning learning = {.sharing = &emp_learner_sharing};

const emp_method emp_method_colocrl = {
    .name = "colocrl",
    .description = "REINFORCE on devices of groups that rules make (Mirhoseini et al., "
                   "ICML 2017)",
    .advice = "the learner before hdp, with groups that rules make",
    .uses_budget = true,
    .uses_seed = true,
    .asks_again = true,
    .presets = "paper",
    .options = option_list,
    .state_bytes = sizeof(emp_colocrl_agent),
    .init = init,
    .ask = emp_learner_ask,
    .tell = emp_learner_tell,
    .clear = clear,
    .metrics = emp_learner_metrics,
    .list_state = emp_learner_list_state,
    .learning = &learning};

// SPDX-License-Identifier: GPL-3.0-or-later
#include "policy/giph/giph.h"

#include "policy/giph/agent.h"
#include "search/learning.h"

static emp_status init(void *state, const emp_problem *problem,
                       const emp_method_params *params, emp_error *err)
{
    emp_giph_options options;

    EMP_CHECK(emp_method_options_parse(&options, &emp_method_giph, params, err));
    return emp_giph_agent_init((emp_giph_agent *)state, problem, &options, params, err);
}

static void clear(void *state) { emp_giph_agent_clear((emp_giph_agent *)state); }

static const emp_method_metric *metrics(const void *state, int32_t *count)
{
    *count = EMP_GIPH_METRICS;
    return ((const emp_giph_agent *)state)->metric;
}

static const emp_option option_list[] = {
    EMP_INTEGER_OPTION("max_nodes", emp_giph_options, max_nodes, 2, 1024,
                       "nodes that ops are merged into, at most", 64),
    EMP_INTEGER_OPTION("episodes", emp_giph_options, episodes, 1, EMP_MAX_BATCH,
                       "episodes side by side, all of an update", 1, 4),
    EMP_INTEGER_OPTION("moves", emp_giph_options, moves, 1, 64,
                       "of an episode, for each node", 2),
    EMP_REAL_OPTION("gamma", emp_giph_options, gamma, 0, 1, "discount of later rewards",
                    0.97),
    EMP_WORD_OPTION("baseline", emp_giph_options, baseline, "rewards|returns",
                    "what is taken from a move's return: the mean reward of its episode "
                    "so far, or the mean return of moves of that number",
                    EMP_GIPH_BASELINE_REWARDS, EMP_GIPH_BASELINE_RETURNS),
    EMP_REAL_OPTION("criticality", emp_giph_options, criticality, 0, 1,
                    "share by which a critical path changes how critical edges count",
                    0.1),
    EMP_REAL_OPTION("lr", emp_giph_options, adam.learning_rate, 0, 10,
                    "learning rate of Adam", 0.01, 0.1),
    EMP_REAL_OPTION("epsilon", emp_giph_options, adam.epsilon, 1e-30, 1e6,
                    "Adam's epsilon", 1e-8),
    EMP_REAL_OPTION("beta1", emp_giph_options, adam.beta1, 0, 0.9999,
                    "decay of Adam's first moment", 0.9),
    EMP_REAL_OPTION("beta2", emp_giph_options, adam.beta2, 0, 0.999999,
                    "decay of Adam's second moment", 0.999),
    EMP_BOOL_OPTION(
        "epsilon_hat", emp_giph_options, adam.epsilon_hat,
        "1: epsilon is added before the second moment's bias is corrected, 0: "
        "after",
        0),
    EMP_REAL_OPTION("clip", emp_giph_options, clip, 1e-6, 1e9,
                    "largest gradient norm; 1e9 clips nothing", 1e9),
    EMP_NO_OPTION};

static const emp_method_learning learning = {.list_weights = emp_giph_agent_list_weights};

const emp_method emp_method_giph = {
    .name = "giph",
    .description = "GiPH, one move of a node after another by a learned policy (Hu et "
                   "al., MLSys 2023)",
    .advice = "a learner of moves, for graphs of some dozen ops",
    .uses_budget = true,
    .uses_seed = true,
    .needs_times = true,
    .has_start = true,
    .presets = "paper|emplace",
    .options = option_list,
    .state_bytes = sizeof(emp_giph_agent),
    .init = init,
    .ask = emp_giph_agent_ask,
    .tell = emp_giph_agent_tell,
    .clear = clear,
    .metrics = metrics,
    .list_state = emp_giph_agent_list_state,
    .learning = &learning};

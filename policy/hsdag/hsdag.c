// SPDX-License-Identifier: GPL-3.0-or-later
#include "policy/hsdag/hsdag.h"

#include "policy/hsdag/agent.h"
#include "search/learning.h"

static void clear(void *state) { emp_hsdag_agent_clear((emp_hsdag_agent *)state); }

static emp_status init(void *state, const emp_problem *problem,
                       const emp_method_params *params, emp_error *err)
{
    emp_hsdag_agent  *agent = (emp_hsdag_agent *)state;
    emp_hsdag_options options;

    EMP_CHECK(emp_hsdag_options_parse(&options, params->preset, params->options, err));
    EMP_CHECK(emp_hsdag_agent_init(agent, problem, &options, params->seed,
                                   params->threads, err));
    agent->learner.stop = agent->net.stop = params->stop;
    return EMP_OK;
}

/* Features that list the types of a graph make networks for that graph. */
static int32_t list_weights(void *state, emp_named_array arrays[EMP_MAX_NAMED_ARRAYS])
{
    const emp_hsdag_agent *a = (const emp_hsdag_agent *)state;

    return a->options.features == EMP_HSDAG_INPUTS_COSTS
               ? emp_learner_list_weights(state, arrays)
               : 0;
}

static const emp_method_learning learning = {.list_weights = list_weights,
                                             .weights_options = "features=costs"};

const emp_method emp_method_hsdag = {
    .name = "hsdag",
    .description = "HSDAG: REINFORCE on groups by a graph parsing network, and devices "
                   "(Duan et al., NeurIPS 2024)",
    .advice = "a learner that groups by the graph's structure",
    .uses_budget = true,
    .uses_seed = true,
    .asks_again = true,
    .presets = EMP_HSDAG_PRESETS,
    .options = emp_hsdag_option_list,
    .state_bytes = sizeof(emp_hsdag_agent),
    .init = init,
    .ask = emp_learner_ask,
    .tell = emp_learner_tell,
    .clear = clear,
    .metrics = emp_learner_metrics,
    .list_state = emp_learner_list_state,
    .learning = &learning};

// SPDX-License-Identifier: GPL-3.0-or-later
#include "policy/hdp/hdp.h"

#include "base/mem.h"
#include "policy/hdp/agent.h"
#include "policy/hdp/fixed_groups.h"

static void destroy(void *state)
{
    emp_hdp_agent *agent = (emp_hdp_agent *)state;

    if (agent == NULL) return;
    emp_hdp_agent_clear(agent);
    emp_free(agent);
}

static emp_status create(void **state, const emp_problem *problem,
                         const emp_placer_params *params, emp_error *err)
{
    emp_status       st = EMP_OK;
    emp_hdp_agent   *agent = NULL;
    emp_op_features *ops = NULL;
    emp_hdp_options  options;

    *state = NULL;
    EMP_TRY(emp_hdp_options_parse(&options, params->preset, params->options, err));
    agent = EMP_NEW(emp_hdp_agent);
    if (agent == NULL) EMP_FAIL(EMP_ENOMEM, "hdp");
    EMP_TRY(emp_op_features_create(&ops, problem, err));
    EMP_TRY(emp_hdp_agent_init(agent, ops, problem->machine->device_count, &options,
                               params->seed, params->threads, err));
    agent->draw_seed = emp_rng_seed_of_rank(params->seed, params->rank);
    if (options.grouping != EMP_GROUPING_LEARNED) {
        EMP_TRY(emp_fixed_groups_create(&agent->fixed_groups,
                                        (emp_grouping)options.grouping, problem, ops,
                                        (int32_t)options.groups, params->seed, err));
    }
    *state = agent;
    agent = NULL;

cleanup:
    destroy(agent);
    return st;
}

/* Ops without a row have no choice or no effect: device 0, from which legalization sends
 * them where they belong. */
static emp_status ask(void *state, emp_device_id *const *candidates, int32_t max,
                      int32_t *count, emp_error *err)
{
    emp_status     st = EMP_OK;
    emp_hdp_agent *agent = (emp_hdp_agent *)state;
    const int32_t *row_of_op = agent->ops->row_of_op;
    int32_t        samples = (int32_t)agent->options.samples;

    if (max < 1) EMP_FAIL(EMP_EINVAL, "asked for %d candidates, want at least 1", max);
    *count = samples < max ? samples : max;
    emp_hdp_agent_propose(agent, *count, NULL, NULL);
    for (int32_t k = 0; k < *count; k++) {
        for (emp_op_id op = 0; op < agent->ops->op_count; op++) {
            candidates[k][op] =
                row_of_op[op] < 0 ? 0 : emp_hdp_agent_device(agent, k, row_of_op[op]);
        }
    }

cleanup:
    return st;
}

static emp_status tell(void *state, const emp_score *scores, int32_t count,
                       emp_error *err)
{
    emp_status     st = EMP_OK;
    emp_hdp_agent *agent = (emp_hdp_agent *)state;

    if (count != agent->net.samples) {
        EMP_FAIL(EMP_EINVAL, "told %d scores of %d candidates", count,
                 agent->net.samples);
    }
    emp_hdp_agent_learn(agent, scores);

cleanup:
    return st;
}

static const emp_placer_metric *metrics(const void *state, int32_t *count)
{
    *count = EMP_HDP_METRICS;
    return ((const emp_hdp_agent *)state)->metric;
}

static int32_t list_state(void *state, emp_named_array arrays[EMP_MAX_NAMED_ARRAYS])
{
    return emp_hdp_agent_list_state((emp_hdp_agent *)state, arrays);
}

static emp_status backward(void *state, const emp_score *scores, int32_t count,
                           int32_t first, int32_t own, emp_error *err)
{
    emp_status     st = EMP_OK;
    emp_hdp_agent *agent = (emp_hdp_agent *)state;

    if (own > 0 && own != agent->net.samples) {
        EMP_FAIL(EMP_EINVAL, "told %d scores of %d candidates", own, agent->net.samples);
    }
    emp_hdp_agent_backward(agent, scores, count, first, own);

cleanup:
    return st;
}

static void step(void *state) { emp_hdp_agent_step((emp_hdp_agent *)state); }

static int32_t list_gradient(void *state, emp_named_array arrays[EMP_MAX_NAMED_ARRAYS])
{
    return emp_hdp_agent_list_gradient((emp_hdp_agent *)state, arrays);
}

static int32_t list_values(void *state, emp_named_array arrays[EMP_MAX_NAMED_ARRAYS])
{
    return emp_hdp_agent_list_values((emp_hdp_agent *)state, arrays);
}

static const emp_placer_sharing sharing = {.backward = backward,
                                           .step = step,
                                           .list_gradient = list_gradient,
                                           .list_values = list_values};

static const char options_text[] =
#define X(name, paper, emplace, low, high, whole, help) #name "\t" #paper "\t" help "\n"
    EMP_HDP_OPTION_LIST(X)
#undef X
#define X(name, paper, emplace, paper_name, names, help) \
#name "\t" #paper_name "\t" help "\n"
        EMP_HDP_CHOICE_LIST(X);
#undef X

const emp_placer_type emp_placer_hdp = {
    .name = "hdp",
    .description = "Hierarchical Planner: REINFORCE on groups and devices (Mirhoseini et "
                   "al., ICLR 2018)",
    .is_learner = true,
    .presets = "paper, emplace",
    .options = options_text,
    .create = create,
    .ask = ask,
    .tell = tell,
    .destroy = destroy,
    .metrics = metrics,
    .list_state = list_state,
    .sharing = &sharing};

// SPDX-License-Identifier: GPL-3.0-or-later
#include "policy/hdp/hdp.h"

#include <string.h>

#include "base/hash.h"
#include "base/mem.h"
#include "policy/hdp/agent.h"
#include "policy/hdp/fixed_groups.h"
#include "policy/hdp/op_agent.h"
#include "search/partition/balance.h"

/* The state. Exactly one of the two agents is at work. */
typedef struct {
    emp_hdp_agent      agent; /* first: tests look at it */
    emp_op_agent       single;
    int32_t           *groups; /* [row]; NULL = they are learned, or there are none */
    uint64_t           groups_hash; /* of them */
    int64_t            saved_hash;  /* the same, or that of a restored state */
    emp_hdp_options    options;
    emp_op_features   *ops; /* borrowed from the first, owned beside the second */
    const emp_problem *problem;
    emp_balance        balance;             /* if the objective is balance */
    emp_device_id     *legal;               /* [op] scratch of it */
    int32_t            count;               /* candidates asked last ... */
    double             cost[EMP_MAX_BATCH]; /* ... and their costs, if it is balance */
} planner;

static bool has_groups(const planner *p)
{
    return p->options.grouping != EMP_GROUPING_NONE;
}

static bool is_for_balance(const planner *p)
{
    return p->options.objective == EMP_OBJECTIVE_BALANCE;
}

static void destroy(void *state)
{
    planner *p = (planner *)state;

    if (p == NULL) return;
    if (has_groups(p))
        emp_hdp_agent_clear(&p->agent);
    else
        emp_op_features_destroy(p->ops);
    emp_op_agent_clear(&p->single);
    emp_free(p->groups);
    emp_balance_clear(&p->balance);
    emp_free(p->legal);
    emp_free(p);
}

static emp_status create_groups(planner *p, const emp_placer_params *params,
                                emp_error *err)
{
    const emp_hdp_options *o = &p->options;
    emp_op_features       *ops = p->ops;

    p->ops = NULL; /* taken over, even on failure */
    EMP_CHECK(emp_hdp_agent_init(&p->agent, ops, p->problem->machine->device_count, o,
                                 params->seed, params->threads, err));
    p->ops = ops;
    p->agent.draw_seed = emp_rng_seed_of_rank(params->seed, params->rank);
    if (o->grouping == EMP_GROUPING_LEARNED) return EMP_OK;
    EMP_CHECK(emp_fixed_groups_create(&p->groups, o->grouping, p->problem, ops, o->groups,
                                      o->imbalance, params->seed, err));
    p->agent.fixed_groups = p->groups;
    p->groups_hash = emp_hash_bytes(EMP_HASH_SEED, p->groups,
                                    (size_t)ops->row_count * sizeof *p->groups);
    p->saved_hash = (int64_t)p->groups_hash;
    return EMP_OK;
}

static emp_status create_single(planner *p, const emp_placer_params *params,
                                emp_error *err)
{
    EMP_CHECK(emp_op_agent_init(&p->single, p->ops, p->problem->machine->device_count,
                                &p->options, params->seed, params->threads, err));
    p->single.draw_seed = emp_rng_seed_of_rank(params->seed, params->rank);
    return EMP_OK;
}

static emp_status create_balance(planner *p, emp_error *err)
{
    int32_t op_count = p->problem->graph->op_count;

    EMP_CHECK(emp_balance_init(&p->balance, p->problem, err));
    p->legal = EMP_NEW_ARRAY(emp_device_id, (size_t)op_count);
    if (p->legal == NULL) return EMP_ERROR(EMP_ENOMEM, "placement of %d ops", op_count);
    return EMP_OK;
}

static emp_status create(void **state, const emp_problem *problem,
                         const emp_placer_params *params, emp_error *err)
{
    emp_status      st = EMP_OK;
    planner        *p = NULL;
    emp_hdp_options options;

    *state = NULL;
    EMP_TRY(emp_hdp_options_parse(&options, params->preset, params->options, err));
    if (params->ranks > 1 && options.objective == EMP_OBJECTIVE_BALANCE)
        EMP_FAIL(EMP_EUNSUPPORTED,
                 "hdp: objective=balance is for a run of one rank; start it without "
                 "mpirun");
    p = EMP_NEW(planner);
    if (p == NULL) EMP_FAIL(EMP_ENOMEM, "hdp");
    p->options = options;
    p->problem = problem;
    EMP_TRY(emp_op_features_create_window(&p->ops, problem, options.window, err));
    if (has_groups(p))
        EMP_TRY(create_groups(p, params, err));
    else
        EMP_TRY(create_single(p, params, err));
    if (is_for_balance(p)) EMP_TRY(create_balance(p, err));
    *state = p;
    p = NULL;

cleanup:
    destroy(p);
    return st;
}

/* Ops without a row have no choice or no effect: device 0, from which legalization sends
 * them where they belong. */
static void fill_candidate(const planner *p, int32_t sample, emp_device_id *device_of_op)
{
    for (emp_op_id op = 0; op < p->ops->op_count; op++) {
        int32_t row = p->ops->row_of_op[op];
        device_of_op[op] = row < 0         ? 0
                           : has_groups(p) ? emp_hdp_agent_device(&p->agent, sample, row)
                                           : emp_op_agent_device(&p->single, sample, row);
    }
}

static double cost_of(planner *p, const emp_device_id *device_of_op)
{
    memcpy(p->legal, device_of_op, (size_t)p->ops->op_count * sizeof *p->legal);
    emp_problem_legalize(p->problem, p->legal);
    return emp_balance_cost(emp_balance_judge(&p->balance, p->legal));
}

static emp_status ask(void *state, emp_device_id *const *candidates, int32_t max,
                      int32_t *count, emp_error *err)
{
    planner *p = (planner *)state;
    int32_t  samples = p->options.samples;

    if (max < 1)
        return EMP_ERROR(EMP_EINVAL, "asked for %d candidates, want at least 1", max);
    if ((uint64_t)p->saved_hash != p->groups_hash)
        return EMP_ERROR(EMP_EFORMAT,
                         "the saved state of hdp is of other groups than those that are "
                         "made here; begin anew");
    *count = p->count = samples < max ? samples : max;
    if (has_groups(p))
        emp_hdp_agent_propose(&p->agent, *count, NULL, NULL);
    else
        emp_op_agent_propose(&p->single, *count);
    for (int32_t k = 0; k < *count; k++) {
        fill_candidate(p, k, candidates[k]);
        if (is_for_balance(p)) p->cost[k] = cost_of(p, candidates[k]);
    }
    return EMP_OK;
}

/* Under the objective of balance a cost of 1 counts as a step of 1 s, and nothing is a
 * failure: partitioners know no memory. It is for runs of one rank. */
static emp_status backward(void *state, const emp_score *scores, int32_t count,
                           int32_t first, int32_t own, emp_error *err)
{
    planner  *p = (planner *)state;
    emp_score cost[EMP_MAX_BATCH];

    if (own > 0 && own != p->count)
        return EMP_ERROR(EMP_EINVAL, "told %d scores of %d candidates", own, p->count);
    if (is_for_balance(p)) {
        for (int32_t k = 0; k < count; k++) cost[k] = (emp_score){p->cost[k], true, 0.0};
        scores = cost;
    }
    if (has_groups(p))
        emp_hdp_agent_backward(&p->agent, scores, count, first, own);
    else
        emp_op_agent_backward(&p->single, scores, count, first, own);
    return EMP_OK;
}

static void step(void *state)
{
    planner *p = (planner *)state;

    if (has_groups(p))
        emp_hdp_agent_step(&p->agent);
    else
        emp_op_agent_step(&p->single);
}

static emp_status tell(void *state, const emp_score *scores, int32_t count,
                       emp_error *err)
{
    const planner *p = (const planner *)state;

    if (count != p->count)
        return EMP_ERROR(EMP_EINVAL, "told %d scores of %d candidates", count, p->count);
    EMP_CHECK(backward(state, scores, count, 0, count, err));
    step(state);
    return EMP_OK;
}

static const emp_placer_metric *metrics(const void *state, int32_t *count)
{
    const planner *p = (const planner *)state;

    *count = has_groups(p) ? EMP_HDP_METRICS : EMP_OP_AGENT_METRICS;
    return has_groups(p) ? p->agent.metric : p->single.metric;
}

static int32_t list_state(void *state, emp_named_array arrays[EMP_MAX_NAMED_ARRAYS])
{
    planner *p = (planner *)state;
    int32_t  count = has_groups(p) ? emp_hdp_agent_list_state(&p->agent, arrays)
                                   : emp_op_agent_list_state(&p->single, arrays);

    if (p->groups != NULL)
        arrays[count++] =
            (emp_named_array){"groups_hash", EMP_ARRAY_INT64, 1, &p->saved_hash};
    return count;
}

static int32_t list_gradient(void *state, emp_named_array arrays[EMP_MAX_NAMED_ARRAYS])
{
    planner *p = (planner *)state;

    return has_groups(p) ? emp_hdp_agent_list_gradient(&p->agent, arrays)
                         : emp_op_agent_list_gradient(&p->single, arrays);
}

static int32_t list_values(void *state, emp_named_array arrays[EMP_MAX_NAMED_ARRAYS])
{
    planner *p = (planner *)state;

    return has_groups(p) ? emp_hdp_agent_list_values(&p->agent, arrays)
                         : emp_op_agent_list_values(&p->single, arrays);
}

static const emp_placer_sharing sharing = {.backward = backward,
                                           .step = step,
                                           .list_gradient = list_gradient,
                                           .list_values = list_values};

const emp_placer_type emp_placer_hdp = {
    .name = "hdp",
    .description = "Hierarchical Planner: REINFORCE on groups and devices (Mirhoseini et "
                   "al., ICLR 2018)",
    .uses_budget = true,
    .uses_seed = true,
    .presets = EMP_HDP_PRESETS,
    .options = emp_hdp_option_list,
    .create = create,
    .ask = ask,
    .tell = tell,
    .destroy = destroy,
    .metrics = metrics,
    .list_state = list_state,
    .sharing = &sharing};

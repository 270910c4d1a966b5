// SPDX-License-Identifier: GPL-3.0-or-later
#include "policy/hdp/hdp.h"

#include <string.h>

#include "base/hash.h"
#include "base/mem.h"
#include "policy/hdp/agent.h"
#include "policy/hdp/fixed_groups.h"
#include "policy/hdp/op_agent.h"
#include "search/learning.h"
#include "search/partition/partition_graph.h"

/* The state. One of the two agents is at work, and the learner is its. */
typedef struct {
    emp_hdp_agent      agent; /* first: tests look at it */
    emp_op_agent       single;
    emp_learner       *learner;
    int32_t           *groups; /* [row]; NULL = they are learned, or there are none */
    uint64_t           groups_hash; /* of them */
    int64_t            saved_hash;  /* the same, or that of a restored state */
    emp_hdp_options    options;
    const emp_problem *problem;
    emp_balance        balance;             /* if the objective is balance */
    emp_device_id     *legal;               /* [op] scratch of it */
    double             cost[EMP_MAX_BATCH]; /* of candidates asked last, likewise */
} planner;

static bool is_for_balance(const planner *p)
{
    return p->options.objective == EMP_OBJECTIVE_BALANCE;
}

static void clear(void *state)
{
    planner *p = (planner *)state;

    emp_hdp_agent_clear(&p->agent);
    emp_op_agent_clear(&p->single);
    emp_free(p->groups);
    emp_balance_clear(&p->balance);
    emp_free(p->legal);
}

static emp_status fix_groups(planner *p, const emp_method_params *params, emp_error *err)
{
    const emp_hdp_options *o = &p->options;
    const emp_op_features *ops = p->learner->ops;

    EMP_CHECK(emp_fixed_groups_create(&p->groups, o->grouping, p->problem, ops, o->groups,
                                      o->imbalance, params, err));
    emp_hdp_agent_fix_groups(&p->agent, p->groups);
    p->groups_hash = emp_hash_bytes(EMP_HASH_SEED, p->groups,
                                    (size_t)ops->row_count * sizeof *p->groups);
    p->saved_hash = (int64_t)p->groups_hash;
    return EMP_OK;
}

static emp_status create_agent(planner *p, const emp_method_params *params,
                               emp_error *err)
{
    const emp_hdp_options *o = &p->options;
    const int32_t          devices = p->problem->machine->device_count;
    const bool             has_groups = o->grouping != EMP_GROUPING_NONE;
    emp_op_features       *ops;

    EMP_CHECK(emp_op_features_create_window(&ops, p->problem, o->window, o->absent, err));
    p->learner = has_groups ? &p->agent.learner : &p->single.learner;
    if (has_groups)
        EMP_CHECK(emp_hdp_agent_init(&p->agent, ops, devices, o, params->seed,
                                     params->threads, err));
    else
        EMP_CHECK(emp_op_agent_init(&p->single, ops, devices, o, params->seed,
                                    params->threads, err));
    p->learner->draw_seed = emp_rng_seed_of_rank(params->seed, params->rank);
    if (has_groups && o->grouping != EMP_GROUPING_LEARNED)
        EMP_CHECK(fix_groups(p, params, err));
    return EMP_OK;
}

static emp_status create_balance(planner *p, emp_error *err)
{
    int32_t op_count = p->problem->graph->op_count;

    EMP_CHECK(emp_balance_init(&p->balance, p->problem, err));
    EMP_CHECK(EMP_ALLOC(p->legal, (size_t)op_count));
    return EMP_OK;
}

static emp_status init(void *state, const emp_problem *problem,
                       const emp_method_params *params, emp_error *err)
{
    planner *p = (planner *)state;

    EMP_CHECK(emp_hdp_options_parse(&p->options, params->preset, params->options, err));
    if (params->ranks > 1 && is_for_balance(p))
        return EMP_ERROR(EMP_EUNSUPPORTED,
                         "hdp: objective=balance is for a run of one rank; start it "
                         "without mpirun");
    p->problem = problem;
    EMP_CHECK(create_agent(p, params, err));
    return is_for_balance(p) ? create_balance(p, err) : EMP_OK;
}

static double cost_of(planner *p, const emp_device_id *device_of_op)
{
    memcpy(p->legal, device_of_op,
           (size_t)p->problem->graph->op_count * sizeof *p->legal);
    emp_problem_legalize(p->problem, p->legal);
    return emp_balance_cost(emp_balance_judge(&p->balance, p->legal));
}

static emp_status ask(void *state, const emp_owned_decision *candidates, int32_t max,
                      int32_t *count, emp_error *err)
{
    planner *p = (planner *)state;

    if ((uint64_t)p->saved_hash != p->groups_hash)
        return EMP_ERROR(EMP_EFORMAT,
                         "the saved state of hdp is of other groups than those that are "
                         "made here; begin anew");
    EMP_CHECK(emp_learner_ask(p->learner, candidates, max, count, err));
    for (int32_t k = 0; k < *count && is_for_balance(p); k++)
        p->cost[k] = cost_of(p, candidates[k].device_of_op);
    return EMP_OK;
}

static emp_status backward(void *state, const emp_score *scores, int32_t count,
                           int32_t first, int32_t own, emp_error *err)
{
    return emp_learner_backward(((planner *)state)->learner, scores, count, first, own,
                                err);
}

static void step(void *state) { emp_learner_step(((planner *)state)->learner); }

/* Under the objective of balance a cost of 1 counts as a step of 1 s, and nothing is a
 * failure: partitioners know no memory. It is for runs of one rank. */
static emp_status tell(void *state, const emp_score *scores, int32_t count,
                       emp_error *err)
{
    planner  *p = (planner *)state;
    emp_score cost[EMP_MAX_BATCH];

    if (is_for_balance(p) && count <= EMP_MAX_BATCH) {
        for (int32_t k = 0; k < count; k++)
            cost[k] = (emp_score){.step_time_s = p->cost[k], .is_feasible = true};
        scores = cost;
    }
    return emp_learner_tell(p->learner, scores, count, err);
}

static const emp_method_metric *metrics(const void *state, int32_t *count)
{
    return emp_learner_metrics(((const planner *)state)->learner, count);
}

static int32_t list_state(void *state, emp_named_array arrays[EMP_MAX_NAMED_ARRAYS])
{
    planner *p = (planner *)state;
    int32_t  count = emp_learner_list_state(p->learner, arrays);

    if (p->groups != NULL)
        arrays[count++] =
            (emp_named_array){"groups_hash", EMP_ARRAY_INT64, 1, &p->saved_hash};
    return count;
}

static int32_t list_gradient(void *state, emp_named_array arrays[EMP_MAX_NAMED_ARRAYS])
{
    return emp_learner_list_gradient(((planner *)state)->learner, arrays);
}

static int32_t list_values(void *state, emp_named_array arrays[EMP_MAX_NAMED_ARRAYS])
{
    return emp_learner_list_values(((planner *)state)->learner, arrays);
}

static const emp_method_sharing sharing = {.backward = backward,
                                           .step = step,
                                           .list_gradient = list_gradient,
                                           .list_values = list_values};

static const emp_method_learning learning = {.sharing = &sharing};

const emp_method emp_method_hdp = {
    .name = "hdp",
    .description = "Hierarchical Planner: REINFORCE on groups and devices (Mirhoseini et "
                   "al., ICLR 2018)",
    .advice = "the paper's learner, which needs thousands of scores",
    .uses_budget = true,
    .uses_seed = true,
    .presets = EMP_HDP_PRESETS,
    .options = emp_hdp_option_list,
    .state_bytes = sizeof(planner),
    .init = init,
    .ask = ask,
    .tell = tell,
    .clear = clear,
    .metrics = metrics,
    .list_state = list_state,
    .learning = &learning};

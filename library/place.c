// SPDX-License-Identifier: GPL-3.0-or-later
/* <emplace/place.h> but for explanations. The loop is the one of run/loop.h without records, checkpoints and ranks, so that
 * the library needs neither HDF5 nor MPI. tests/library/test_place.c compares the two. */
#include <emplace/place.h>
#include <string.h>

#include "base/mem.h"
#include "base/work.h"
#include "run/methods.h"
#include "search/groups/class_groups.h"
#include "search/method.h"
#include "sim/bounds/bounds.h"
#include "sim/engine/sim.h"

enum { DEFAULT_BUDGET = 400 };

typedef struct {
    const emp_problem *problem;
    emp_place_params   params;
    const emp_method  *method;
    void              *state;
    emp_sim_team      *team;
    emp_owned_decision candidate[EMP_MAX_BATCH];
    emp_sim_result     result[EMP_MAX_BATCH];
    emp_sim_times      times[EMP_MAX_BATCH]; /* NULL unless the method needs them */
    emp_score          score[EMP_MAX_BATCH];
    emp_arrays         arrays; /* of times, and the best placement */
    emp_device_id     *best;   /* [op] */
    emp_device_id     *start;  /* [op] legal, or NULL */
    emp_sim_result     best_result;
    int32_t            batch_limit;
    int64_t            evaluations;
    double             start_s;
} search;

static emp_status take_params(search *s, const emp_place_params *params, emp_error *err)
{
    const emp_place_params defaults = EMP_PLACE_PARAMS;

    s->params = defaults;
    if (params == NULL) return EMP_OK;
    if (params->size == 0 || params->size > sizeof *params)
        return EMP_ERROR(params->size == 0 ? EMP_EINVAL : EMP_EUNSUPPORTED,
                         "emp_place_params has size %zu, and this library knows %zu "
                         "bytes of it; begin with EMP_PLACE_PARAMS",
                         params->size, sizeof *params);
    memcpy(&s->params, params, params->size);
    if (s->params.budget_evaluations < 0 || !(s->params.budget_s >= 0))
        return EMP_ERROR(EMP_EINVAL, "a budget is negative; 0 means unlimited");
    if (s->params.threads < 1 || s->params.threads > EMP_SIM_TEAM_THREADS_MAX)
        return EMP_ERROR(EMP_EINVAL, "%d threads are outside 1..%d", s->params.threads,
                         EMP_SIM_TEAM_THREADS_MAX);
    return EMP_OK;
}

static emp_status find_method(search *s, emp_error *err)
{
    const char *name = s->params.method != NULL ? s->params.method : "portfolio";

    EMP_CHECK(emp_method_find(&s->method, name, err));
    if (s->params.preset != NULL && s->method->presets == NULL)
        return EMP_ERROR(EMP_EINVAL, "method %s has no presets, not \"%s\"", name,
                         s->params.preset);
    if (s->params.budget_evaluations == 0 && s->params.budget_s == 0 &&
        s->method->uses_budget)
        s->params.budget_evaluations = DEFAULT_BUDGET;
    return EMP_OK;
}

static emp_status reserve(search *s, emp_error *err)
{
    const size_t ops = (size_t)s->problem->graph->op_count;

    s->batch_limit = emp_method_batch_limit(s->method, (int32_t)ops);
    s->best = EMP_ADD_ARRAY(&s->arrays, emp_device_id, ops);
    for (int32_t i = 0; i < s->batch_limit; i++) {
        EMP_CHECK(emp_decision_init(&s->candidate[i], (int32_t)ops, 0, err));
        if (!s->method->needs_times) continue;
        s->times[i].start_ns = EMP_ADD_ARRAY(&s->arrays, emp_time_ns, ops);
        s->times[i].end_ns = EMP_ADD_ARRAY(&s->arrays, emp_time_ns, ops);
    }
    if (s->arrays.is_short)
        return EMP_ERROR(EMP_ENOMEM, "times of %zu ops in %d placements", ops,
                         s->batch_limit);
    return EMP_OK;
}

/* Copies the start, and makes it legal. */
static emp_status take_start(search *s, emp_error *err)
{
    const emp_graph *graph = s->problem->graph;

    if (s->params.start == NULL) return EMP_OK;
    s->start = EMP_ADD_ARRAY(&s->arrays, emp_device_id, (size_t)graph->op_count);
    if (s->start == NULL) return EMP_ERROR(EMP_ENOMEM, "a start");
    for (emp_op_id op = 0; op < graph->op_count; op++) {
        s->start[op] = s->params.start[op];
        if (s->start[op] >= 0 && s->start[op] < s->problem->machine->device_count)
            continue;
        return EMP_ERROR(
            EMP_EINVAL, "the start has op \"%s\" on device %d; there are devices 0 to %d",
            graph->name[op], s->start[op], s->problem->machine->device_count - 1);
    }
    emp_problem_legalize(s->problem, s->start);
    return EMP_OK;
}

static emp_status prepare(search *s, emp_error *err)
{
    const emp_place_params *p = &s->params;
    const int32_t     threads = p->threads < EMP_MAX_BATCH ? p->threads : EMP_MAX_BATCH;
    emp_method_params params = {.seed = p->seed,
                                .ranks = 1,
                                .threads = p->threads,
                                .budget_evaluations = p->budget_evaluations,
                                .preset = p->preset,
                                .options = p->options};

    if (p->budget_s > 0) params.deadline_s = s->start_s + p->budget_s;
    EMP_CHECK(reserve(s, err));
    EMP_CHECK(take_start(s, err));
    params.start = s->start;
    EMP_CHECK(emp_sim_team_create(&s->team, s->problem, threads, err));
    return emp_method_create(&s->state, s->method, s->problem, &params, err);
}

/* The number of placements that the budget still allows. The first batch comes whatever the time. */
static int32_t room_of(const search *s)
{
    const emp_place_params *p = &s->params;
    const int64_t           left = p->budget_evaluations - s->evaluations;

    if (p->budget_s > 0 && s->evaluations > 0 &&
        emp_clock_now_s() - s->start_s >= p->budget_s)
        return 0;
    return p->budget_evaluations > 0 && left < s->batch_limit ? (int32_t)left
                                                              : s->batch_limit;
}

static void keep_best(search *s, int32_t count)
{
    const size_t bytes = (size_t)s->problem->graph->op_count * sizeof *s->best;
    emp_score    best = emp_score_of(s->problem, &s->best_result, NULL);

    for (int32_t i = 0; i < count; i++) {
        if (s->evaluations + i > 0 && !emp_score_is_better(&s->score[i], &best)) continue;
        best = s->score[i];
        s->best_result = s->result[i];
        memcpy(s->best, s->candidate[i].device_of_op, bytes);
    }
    s->evaluations += count;
}

/* Asks for a batch, scores it and reports the scores to the method. */
static emp_status run_batch(search *s, int32_t max, int32_t *count, emp_error *err)
{
    emp_sim_result *results[EMP_MAX_BATCH];

    for (int32_t i = 0; i < max; i++) {
        emp_decision_reset(&s->candidate[i]);
        results[i] = &s->result[i];
    }
    EMP_CHECK(emp_method_ask(s->method, s->state, s->candidate, max, count, err));
    if (*count == 0) return EMP_OK;
    EMP_CHECK(emp_sim_team_run_batch(
        s->team,
        &(emp_sim_team_batch){.decision = s->candidate,
                              .times = s->method->needs_times ? s->times : NULL},
        *count, results, err));
    for (int32_t i = 0; i < *count; i++)
        s->score[i] = emp_score_of(s->problem, &s->result[i], &s->times[i]);
    keep_best(s, *count);
    return emp_method_tell(s->method, s->state, s->score, *count, err);
}

static bool goes_on(const search *s)
{
    const emp_place_params *p = &s->params;

    if (p->progress == NULL) return true;
    return p->progress(p->context,
                       &(emp_place_progress){.evaluations = s->evaluations,
                                             .budget_evaluations = p->budget_evaluations,
                                             .elapsed_s = emp_clock_now_s() - s->start_s,
                                             .best_ns = s->best_result.is_feasible
                                                            ? s->best_result.step_time_ns
                                                            : -1});
}

static void clear(search *s)
{
    if (s->method != NULL) emp_method_destroy(s->method, s->state);
    emp_sim_team_destroy(s->team);
    for (int32_t i = 0; i < EMP_MAX_BATCH; i++) emp_decision_clear(&s->candidate[i]);
    emp_arrays_clear(&s->arrays);
}

emp_status emp_place(emp_device_id *device_of_op, emp_sim_result *result,
                     const emp_problem *problem, const emp_place_params *params,
                     emp_error *err)
{
    emp_status st = EMP_OK;
    search    *s = NULL;
    int32_t    room, count = 1;

    if (err != NULL) *err = (emp_error){0};
    EMP_NEED(device_of_op);
    EMP_NEED(problem);
    EMP_TRY(EMP_ALLOC(s, 1));
    s->problem = problem;
    s->start_s = emp_clock_now_s();
    EMP_TRY(take_params(s, params, err));
    EMP_TRY(find_method(s, err));
    EMP_TRY(prepare(s, err));
    while (count > 0 && (room = room_of(s)) > 0) {
        EMP_TRY(run_batch(s, room, &count, err));
        if (count > 0 && !goes_on(s)) break;
    }
    if (s->evaluations == 0)
        EMP_FAIL(EMP_EINFEASIBLE, "method %s proposed no placement", s->method->name);
    memcpy(device_of_op, s->best,
           (size_t)problem->graph->op_count * sizeof *device_of_op);
    if (result != NULL) *result = s->best_result;

cleanup:
    if (s != NULL) clear(s);
    emp_free(s);
    return st;
}

emp_status emp_bound(emp_time_ns *bound_ns, const emp_problem *problem, emp_error *err)
{
    emp_bounds bounds;

    if (err != NULL) *err = (emp_error){0};
    EMP_NEED(bound_ns);
    EMP_NEED(problem);
    EMP_CHECK(emp_bounds_compute(
        &bounds, problem, &(emp_bounds_options){.effort = EMP_BOUNDS_EFFORT}, err));
    if (bounds.is_infeasible)
        return EMP_ERROR(EMP_EINFEASIBLE, "no placement fits: the variables of the graph "
                                          "exceed the memories of the machine");
    *bound_ns = bounds.best_ns;
    return EMP_OK;
}

/* ---- groups ---- */

static emp_status find_grouping(emp_class_grouping *grouping, const char *kind,
                                emp_error *err)
{
    static const char *const words[] = {[EMP_CLASS_GROUPS_METIS] = "metis",
                                        [EMP_CLASS_GROUPS_SCOTCH] = "scotch",
                                        [EMP_CLASS_GROUPS_COLOCRL] = "colocrl",
                                        [EMP_CLASS_GROUPS_NAMES] = "names"};

    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        *grouping = (emp_class_grouping)i;
        if (strcmp(words[i], kind) == 0) return EMP_OK;
    }
    return EMP_ERROR(EMP_EINVAL,
                     "there is no grouping \"%s\"; there are metis, scotch, colocrl and "
                     "names",
                     kind);
}

/* Numbers the groups that have ops from 0. */
static int32_t spread(int32_t *group_of_op, int32_t *number, const emp_problem *problem,
                      const int32_t *group_of_class, int32_t groups)
{
    const int32_t ops = problem->graph->op_count;
    int32_t       count = 0;

    for (int32_t g = 0; g < groups; g++) number[g] = -1;
    for (emp_op_id op = 0; op < ops; op++) {
        const int32_t class = problem->class_of_op[op];
        const int32_t group = class < 0 ? -1 : group_of_class[class];
        if (group >= 0) number[group] = 0;
        group_of_op[op] = group;
    }
    for (int32_t g = 0; g < groups; g++)
        if (number[g] == 0) number[g] = count++;
    for (emp_op_id op = 0; op < ops; op++)
        if (group_of_op[op] >= 0) group_of_op[op] = number[group_of_op[op]];
    return count;
}

emp_status emp_problem_group(int32_t *group_of_op, int32_t *group_count,
                             const emp_problem *problem, const char *kind, int32_t count,
                             uint64_t seed, emp_error *err)
{
    emp_status st = EMP_OK;
    int32_t   *group_of_class = NULL, *number = NULL, groups = 0;

    if (err != NULL) *err = (emp_error){0};
    EMP_NEED(group_of_op);
    EMP_NEED(group_count);
    EMP_NEED(problem);
    EMP_NEED(kind);
    emp_class_groups_params params = {.count = count, .imbalance = 1.1, .seed = seed};
    EMP_CHECK(find_grouping(&params.kind, kind, err));
    if (count < 1) return EMP_ERROR(EMP_EINVAL, "%d groups; give 1 or more", count);
    EMP_TRY(EMP_ALLOC(group_of_class, (size_t)problem->graph->class_count + 1));
    EMP_TRY(emp_class_groups(group_of_class, &groups, problem, &params, err));
    EMP_TRY(EMP_ALLOC(number, (size_t)groups + 1));
    *group_count = spread(group_of_op, number, problem, group_of_class, groups);

cleanup:
    emp_free(group_of_class);
    emp_free(number);
    return st;
}

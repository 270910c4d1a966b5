// SPDX-License-Identifier: GPL-3.0-or-later
#include "baselines/searches/walk.h"

#include <math.h>
#include <string.h>

#include "baselines/baselines.h"
#include "search/method.h"
#include "search/order.h"

/* Substreams of a number: a move, and the decision on it. */
enum { STREAM_MOVE, STREAM_DECISION, STREAM_START };

/* Moves that change nothing: so many are passed over. */
enum { MOST_SKIPS = 20 };

/* The number of arrays of the state where only devices are decided. */
enum { PLAIN_ARRAYS = EMP_WALK_ARRAYS - 4 };

bool emp_accepts(double delta, double temperature, double uniform)
{
    return delta <= 0.0 || (temperature > 0.0 && uniform < exp(-delta / temperature));
}

static int32_t ops_of(const emp_walk *w) { return w->problem->graph->op_count; }

/* ---- creation ---------------------------------------------------------------------- */

static bool draw_move(emp_walk *w, int64_t draft, const emp_owned_decision *at)
{
    emp_rng rng;

    emp_rng_init(&rng, w->seed, (uint32_t)draft, STREAM_MOVE);
    if (at->leader_of_op != NULL && emp_rng_uniform(&rng) < w->options.fusion)
        return emp_moves_draw_fusion(&w->moves, &rng, at->leader_of_op);
    if (at->level_of_op != NULL && emp_rng_uniform(&rng) < w->options.order)
        return emp_moves_draw_level(&w->moves, &rng, at->level_of_op);
    return emp_moves_draw(&w->moves, &rng, at->device_of_op);
}

static emp_device_id first_gpu(const emp_machine *machine)
{
    for (emp_device_id d = 0; d < machine->device_count; d++)
        if (machine->device[d].kind == EMP_DEVICE_GPU) return d;
    return 0;
}

static emp_status place_start(emp_walk *w, const emp_device_id *start, emp_error *err)
{
    emp_device_id *device_of_op = w->here.device_of_op;
    emp_device_id  gpu = first_gpu(w->problem->machine);
    emp_rng        rng;

    if (start != NULL) {
        memcpy(device_of_op, start, (size_t)ops_of(w) * sizeof *start);
        return EMP_OK;
    }
    emp_rng_init(&rng, w->seed, 0, STREAM_START);
    if (w->options.start == EMP_START_SPLIT)
        return emp_method_dp_contiguous.place(
            &emp_method_dp_contiguous, w->problem,
            &(emp_method_params){.options = "order=either",
                                 .stop = w->options.moves.stop},
            &w->here, err);
    if (w->options.start == EMP_START_RANDOM) {
        emp_moves_scatter(&w->moves, &rng, device_of_op);
        return EMP_OK;
    }
    for (emp_op_id op = 0; op < w->problem->graph->op_count; op++) device_of_op[op] = gpu;
    return EMP_OK;
}

/* Levels that are all alike are in the middle: a group can go before the others, or behind. */
static emp_status order_start(const emp_walk *w, emp_error *err)
{
    if (w->here.level_of_op == NULL) return EMP_OK;
    memset(w->here.level_of_op, EMP_LEVELS / 2, (size_t)ops_of(w));
    if (w->options.levels == EMP_LEVELS_EVEN) return EMP_OK;
    return emp_order_of_bottom_levels(w->here.level_of_op, w->problem,
                                      w->here.device_of_op, err);
}

static void fuse_start(const emp_walk *w)
{
    if (w->here.leader_of_op == NULL || w->options.fused == EMP_FUSED_NONE) return;
    for (emp_op_id op = 0; op < ops_of(w); op++)
        w->here.leader_of_op[op] = EMP_JOINS_READERS;
}

emp_status emp_walk_init(emp_walk *w, const emp_problem *problem,
                         const emp_walk_options *options, const emp_method_params *params,
                         emp_error *err)
{
    emp_status st = EMP_OK;

    *w = (emp_walk){.problem = problem,
                    .options = *options,
                    .seed = params->seed,
                    .make = draw_move,
                    .at.is_new = 1,
                    .cost.best_s = INFINITY};
    w->options.moves.stop = params->stop;
    EMP_TRY(emp_moves_init(&w->moves, problem, &w->options.moves, params->seed, err));
    w->groups_hash = (int64_t)w->moves.groups_hash;
    EMP_TRY(emp_decision_init(&w->here, ops_of(w), params->decides, err));
    EMP_TRY(emp_decision_init(&w->best, ops_of(w), params->decides, err));
    EMP_TRY(place_start(w, params->start, err));
    emp_problem_legalize(problem, w->here.device_of_op);
    EMP_TRY(order_start(w, err));
    fuse_start(w);

cleanup:
    if (st != EMP_OK) emp_walk_clear(w);
    return st;
}

void emp_walk_clear(emp_walk *w)
{
    emp_moves_clear(&w->moves);
    emp_decision_clear(&w->here);
    emp_decision_clear(&w->best);
    *w = (emp_walk){0};
}

/* ---- samples ----------------------------------------------------------------------- */

/* The next move that changes something; returns its number. */
static int64_t make_draft(emp_walk *w, const emp_owned_decision *sample)
{
    int64_t number = w->at.drafted++;

    emp_decision_copy(sample, &w->here);
    for (int i = 0; i < MOST_SKIPS && !w->make(w, number, sample); i++)
        number = w->at.drafted++;
    return number;
}

/* A restored state may come from anywhere. */
emp_status emp_walk_check(const emp_walk *w, const char *method, emp_error *err)
{
    int32_t devices = w->problem->machine->device_count;

    if ((uint64_t)w->groups_hash != w->moves.groups_hash) {
        return EMP_ERROR(
            EMP_EFORMAT,
            "groups of ops are others here than where the saved state of %s comes "
            "from; begin anew",
            method);
    }
    if (!emp_count_is_valid(w->at.drafted) || !emp_decision_is_valid(&w->here, devices) ||
        !emp_decision_is_valid(&w->best, devices))
        return EMP_ERROR(EMP_EFORMAT, "the saved state of %s is damaged", method);
    return EMP_OK;
}

emp_status emp_walk_ask(emp_walk *w, const char *method,
                        const emp_owned_decision *candidates, int32_t max, int32_t *count,
                        emp_error *err)
{
    EMP_CHECK(emp_walk_check(w, method, err));
    *count = w->at.is_new ? 1 : w->options.samples < max ? w->options.samples : max;
    w->sample_count = *count;
    for (int32_t k = 0; k < *count; k++) {
        if (w->at.is_new) {
            w->draft[k] = -1;
            emp_decision_copy(&candidates[k], &w->here);
        } else {
            w->draft[k] = make_draft(w, &candidates[k]);
        }
    }
    return EMP_OK;
}

/* ---- steps ------------------------------------------------------------------------- */

emp_status emp_walk_begin(emp_walk *w, const emp_score *scores, int32_t count,
                          bool *is_new, emp_error *err)
{
    if (count != w->sample_count)
        return EMP_ERROR(EMP_EINVAL, "told %d scores of %d candidates", count,
                         w->sample_count);
    *is_new = w->at.is_new != 0;
    if (!*is_new) return EMP_OK;
    w->at.is_new = 0;
    w->cost.here_s = emp_penalized_s(&scores[0]);
    emp_walk_keep_best(w, 0, w->cost.here_s);
    return EMP_OK;
}

static double draw_uniform(const emp_walk *w, int32_t sample)
{
    emp_rng rng;

    emp_rng_init(&rng, w->seed, (uint32_t)w->draft[sample], STREAM_DECISION);
    return emp_rng_uniform(&rng);
}

int32_t emp_walk_metropolis(emp_walk *w, const emp_score *scores, int32_t count,
                            double temperature)
{
    double  cost_s[EMP_MAX_BATCH], here_s = w->cost.here_s;
    int32_t accepted = 0, last = -1, best = 0;

    for (int32_t k = 0; k < count; k++) {
        cost_s[k] = emp_penalized_s(&scores[k]);
        if (cost_s[k] < cost_s[best]) best = k;
        double delta = cost_s[k] / here_s - 1.0;
        if (!emp_accepts(delta, temperature, draw_uniform(w, k))) continue;
        here_s = cost_s[k];
        last = k;
        accepted++;
    }
    if (count > 0) emp_walk_keep_best(w, best, cost_s[best]);
    if (last >= 0) emp_walk_step(w, w->draft[last], here_s);
    return accepted;
}

void emp_walk_keep_best(emp_walk *w, int32_t sample, double cost_s)
{
    if (cost_s >= w->cost.best_s) return;
    emp_decision_copy(&w->best, &w->here);
    if (w->draft[sample] >= 0) w->make(w, w->draft[sample], &w->best);
    w->cost.best_s = cost_s;
}

void emp_walk_step(emp_walk *w, int64_t draft, double cost_s)
{
    w->make(w, draft, &w->here);
    w->cost.here_s = cost_s;
}

void emp_walk_return(emp_walk *w)
{
    emp_decision_copy(&w->here, &w->best);
    w->cost.here_s = w->cost.best_s;
}

void emp_walk_report(emp_walk *w, emp_method_metric first, emp_method_metric second)
{
    w->metric[0] = first;
    w->metric[1] = second;
    w->metric[2] = (emp_method_metric){"here_s", w->cost.here_s};
    w->metric[3] = (emp_method_metric){"best_cost_s", w->cost.best_s};
}

const emp_method_metric *emp_walk_metrics(const void *state, int32_t *count)
{
    *count = EMP_WALK_METRICS;
    return ((const emp_walk *)state)->metric;
}

int32_t emp_walk_list_state(emp_walk *w, emp_named_array *arrays)
{
    const size_t          ops = (size_t)ops_of(w);
    int32_t               count = PLAIN_ARRAYS;
    const emp_named_array list[PLAIN_ARRAYS] = {
        {"walk", EMP_ARRAY_INT64, sizeof w->at / sizeof(int64_t), &w->at},
        {"here", EMP_ARRAY_INT32, ops, w->here.device_of_op},
        {"best", EMP_ARRAY_INT32, ops, w->best.device_of_op},
        {"costs_s", EMP_ARRAY_DOUBLE, sizeof w->cost / sizeof(double), &w->cost},
        {"groups_hash", EMP_ARRAY_INT64, 1, &w->groups_hash}};

    memcpy(arrays, list, sizeof list);
    if (w->here.level_of_op != NULL) {
        arrays[count++] =
            (emp_named_array){"here_level", EMP_ARRAY_UINT8, ops, w->here.level_of_op};
        arrays[count++] =
            (emp_named_array){"best_level", EMP_ARRAY_UINT8, ops, w->best.level_of_op};
    }
    if (w->here.leader_of_op != NULL) {
        arrays[count++] =
            (emp_named_array){"here_leader", EMP_ARRAY_INT32, ops, w->here.leader_of_op};
        arrays[count++] =
            (emp_named_array){"best_leader", EMP_ARRAY_INT32, ops, w->best.leader_of_op};
    }
    return count;
}

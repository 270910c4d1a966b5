// SPDX-License-Identifier: GPL-3.0-or-later
#include "run/loop.h"

#include <math.h>
#include <omp.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/io/atomic_file.h"
#include "base/mem.h"
#include "run/loop_internal.h"
#include "run/manifest.h"
#include "run/stats.h"
#include "run/store/checkpoint.h"
#include "sim/engine/sim.h"

/* Without a wish of the user checkpoints are that far apart, and at least so many times
 * what the last one took, which is 0.5 % of the time. */
enum { CHECKPOINT_PAUSE_S = 10, CHECKPOINT_COST_RATIO = 200 };

double emp_progress_remaining_s(const emp_progress *p)
{
    double remaining_s = INFINITY;

    if (p->budget_evaluations > 0 && p->evaluations > 0) {
        double left = (double)(p->budget_evaluations - p->evaluations);
        remaining_s = p->elapsed_s * left / (double)p->evaluations;
    }
    if (p->budget_s > 0) remaining_s = fmin(remaining_s, p->budget_s - p->elapsed_s);
    return fmax(remaining_s, 0.0);
}

static void copy_text(char *to, size_t size, const char *from)
{
    snprintf(to, size, "%s", from == NULL ? "" : from);
}

void emp_run_describe(emp_record *record, const emp_problem *problem,
                      const emp_run_params *params)
{
    emp_manifest manifest = emp_manifest_get();

    memset(record, 0, sizeof *record);
    copy_text(record->method, sizeof record->method, params->method->name);
    copy_text(record->preset, sizeof record->preset, params->placer.preset);
    copy_text(record->options, sizeof record->options, params->placer.options);
    copy_text(record->workload, sizeof record->workload, problem->workload);
    copy_text(record->machine, sizeof record->machine, problem->machine->name);
    copy_text(record->runtime, sizeof record->runtime, problem->runtime.name);
    record->seed = params->placer.seed;
    record->budget_evaluations = params->budget_evaluations;
    record->budget_s = params->budget_s;
    record->median_s = NAN; /* only the end knows it */
    record->graph_hash = problem->graph->hash;
    record->machine_hash = problem->machine->hash;
    record->runtime_hash = emp_runtime_hash(&problem->runtime);
    copy_text(record->version, sizeof record->version, manifest.version);
    copy_text(record->commit, sizeof record->commit, manifest.commit);
    record->is_dirty = manifest.is_dirty;
    record->ranks = params->ranks != NULL ? params->ranks->count : 0;
    record->is_async = params->is_async;
}

static emp_status prepare(emp_run_state *run, emp_error *err)
{
    emp_record       *record = run->record;
    int32_t           op_count = run->problem->graph->op_count;
    emp_placer_params placer = run->params->placer;

    placer.budget_evaluations = run->params->budget_evaluations;
    placer.ranks = run->ranks != NULL ? run->ranks->count : 1;
    placer.rank = run->ranks != NULL ? run->ranks->rank : 0;
    record->op_count = op_count;
    record->device_count = run->problem->machine->device_count;
    for (int32_t i = 0; i < record->device_count; i++) {
        copy_text(record->device_name[i], sizeof record->device_name[i],
                  run->problem->machine->device[i].name);
    }
    record->device_of_op = EMP_NEW_ARRAY(emp_device_id, (size_t)op_count);
    run->candidate_block = EMP_NEW_ARRAY(emp_device_id, (size_t)op_count * EMP_MAX_BATCH);
    run->sim = EMP_NEW_ARRAY(emp_sim *, (size_t)run->threads);
    if (record->device_of_op == NULL || run->candidate_block == NULL ||
        run->sim == NULL) {
        return EMP_ERROR(EMP_ENOMEM, "%d candidates of %d ops", EMP_MAX_BATCH, op_count);
    }
    for (int32_t i = 0; i < EMP_MAX_BATCH; i++) {
        run->candidate[i] = run->candidate_block + (size_t)i * (size_t)op_count;
    }
    for (int32_t i = 0; i < run->threads; i++) {
        EMP_CHECK(emp_sim_create(&run->sim[i], run->problem, err));
    }
    return run->params->method->create(&run->placer, run->problem, &placer, err);
}

static double overflow_of(const emp_machine *machine, const emp_sim_result *result)
{
    double sum = 0.0;

    for (int32_t d = 0; !result->is_feasible && d < result->device_count; d++) {
        double memory = (double)machine->device[d].memory_bytes;
        sum += fmax(0.0, (double)result->peak_bytes[d] / memory - 1.0);
    }
    return sum;
}

emp_status emp_run_score(emp_run_state *run, int32_t count, emp_error *err)
{
#pragma omp parallel for schedule(dynamic, 1) num_threads(run->threads)
    for (int32_t i = 0; i < count; i++) {
        run->error[i] = (emp_error){0};
        emp_problem_legalize(run->problem, run->candidate[i]);
        run->status[i] = emp_sim_run(run->sim[omp_get_thread_num()], run->candidate[i],
                                     &run->result[i], &run->error[i]);
    }
    for (int32_t i = 0; i < count; i++) {
        if (run->status[i] != EMP_OK) {
            return EMP_ERROR(run->status[i], "method %s: %s", run->params->method->name,
                             run->error[i].msg);
        }
        run->score[i] = (emp_score){(double)run->result[i].step_time_ns * 1e-9,
                                    run->result[i].is_feasible,
                                    overflow_of(run->problem->machine, &run->result[i])};
    }
    return EMP_OK;
}

/* Doubles *capacity until it holds needed items of the given size. */
static emp_status reserve(void **block, size_t *capacity, size_t needed,
                          size_t item_bytes, emp_error *err)
{
    if (needed > *capacity) {
        size_t grown = *capacity == 0 ? 256 : *capacity;
        while (grown < needed) grown *= 2;
        void *moved = emp_realloc(*block, grown, item_bytes);
        if (moved == NULL) return EMP_ERROR(EMP_ENOMEM, "log of %zu entries", grown);
        *block = moved;
        *capacity = grown;
    }
    return EMP_OK;
}

/* The best of the batch if it is better than all before, else -1. */
static int32_t find_best(const emp_run_state *run)
{
    const emp_record *record = run->record;
    emp_score         best = {.step_time_s = record->best_step_time_s,
                              .is_feasible = record->is_feasible};
    int32_t           found = -1;

    for (int32_t i = 0; i < run->count; i++) {
        bool has_best = record->evaluations + i > 0;
        if (has_best && !emp_score_is_better(&run->score[i], &best)) continue;
        best = run->score[i];
        found = i;
    }
    return found;
}

static void keep_best(emp_run_state *run, const emp_score *score,
                      const emp_candidate *best)
{
    emp_record           *record = run->record;
    const emp_sim_result *result = best->result;

    record->is_feasible = result->is_feasible;
    record->best_step_time_s = score->step_time_s;
    record->traffic_bytes = result->traffic_bytes;
    copy_text(record->oom_device, sizeof record->oom_device,
              result->is_feasible ? NULL : record->device_name[result->oom_device]);
    for (int32_t d = 0; d < record->device_count; d++) {
        record->peak_bytes[d] = result->peak_bytes[d];
        record->busy_s[d] = (double)result->busy_ns[d] * 1e-9;
    }
    /* It may be there already (emp_run_share_best). */
    memmove(record->device_of_op, best->device_of_op,
            (size_t)record->op_count * sizeof *record->device_of_op);
}

emp_status emp_run_log(emp_run_state *run, emp_run_fetch *fetch, emp_error *err)
{
    emp_record     *record = run->record;
    const int32_t   count = run->count, best = find_best(run);
    emp_curve_point point = {record->evaluations + count, 0, NAN, 0.0};
    void           *feasible_s = record->feasible_s, *curve = record->curve;

    EMP_CHECK(reserve(&feasible_s, &run->feasible_capacity,
                      (size_t)record->feasible_count + (size_t)count, sizeof(double),
                      err));
    record->feasible_s = (double *)feasible_s;
    EMP_CHECK(reserve(&curve, &run->point_capacity, (size_t)record->point_count + 1,
                      sizeof *record->curve, err));
    record->curve = (emp_curve_point *)curve;

    if (best >= 0) {
        emp_candidate candidate;
        EMP_CHECK(fetch(run, best, &candidate, err));
        keep_best(run, &run->score[best], &candidate);
    }
    for (int32_t i = 0; i < count; i++) {
        const emp_score *score = &run->score[i];
        if (score->is_feasible) {
            record->feasible_s[record->feasible_count++] = score->step_time_s;
            point.feasible_count++;
        }
        point.mean_s += score->step_time_s / count;
    }
    record->evaluations += count;
    if (record->is_feasible) point.best_s = record->best_step_time_s;
    record->curve[record->point_count++] = point;
    return EMP_OK;
}

int32_t emp_run_metrics(const emp_run_state *run, const emp_placer_metric **metric)
{
    int32_t count = 0;

    *metric = NULL;
    if (run->params->method->metrics != NULL)
        *metric = run->params->method->metrics(run->placer, &count);
    return count < EMP_MAX_METRICS ? count : EMP_MAX_METRICS;
}

emp_status emp_run_log_metrics(emp_run_state *run, const double *value, emp_error *err)
{
    emp_status               st = EMP_OK;
    emp_record              *record = run->record;
    const emp_placer_metric *metric = NULL;
    int32_t                  count = emp_run_metrics(run, &metric);

    if (record->point_count == 1) {
        record->metric_count = count;
        for (int32_t i = 0; i < record->metric_count; i++) {
            copy_text(record->metric_name[i], sizeof record->metric_name[i],
                      metric[i].name);
        }
    }
    if (record->metric_count == 0) goto cleanup;

    size_t row_length = (size_t)record->metric_count;
    void  *rows = record->metric;
    EMP_TRY(reserve(&rows, &run->metric_capacity, (size_t)record->point_count,
                    row_length * sizeof(double), err));
    record->metric = (double *)rows;
    double *row = record->metric + (size_t)(record->point_count - 1) * row_length;
    for (int32_t i = 0; i < record->metric_count; i++) {
        row[i] = i < count ? value[i] : NAN;
    }

cleanup:
    return st;
}

/* One rank of several speaks and writes. */
static bool is_first(const emp_run_state *run)
{
    return run->ranks == NULL || run->ranks->rank == 0;
}

void emp_run_report(const emp_run_state *run)
{
    const emp_record *record = run->record;

    if (run->params->progress == NULL || !is_first(run)) return;
    emp_progress progress = {.evaluations = record->evaluations,
                             .resumed = run->resumed,
                             .budget_evaluations = record->budget_evaluations,
                             .elapsed_s = emp_clock_now_s() - run->start_s,
                             .budget_s = record->budget_s,
                             .best_s =
                                 record->is_feasible ? record->best_step_time_s : NAN};
    run->params->progress(run->params->context, &progress);
}

static emp_checkpoint describe_state(emp_run_state *run)
{
    emp_checkpoint checkpoint = {.record = run->record};

    checkpoint.elapsed_s = emp_clock_now_s() - run->start_s;
    checkpoint.array_count =
        run->params->method->list_state(run->placer, checkpoint.array);
    return checkpoint;
}

static emp_status save_checkpoint(emp_run_state *run, emp_error *err)
{
    const double         before_s = emp_clock_now_s();
    const double         every_s = run->params->checkpoint.every_s;
    const emp_checkpoint checkpoint = describe_state(run);

    EMP_CHECK(emp_checkpoint_save(run->params->checkpoint.path, &checkpoint, err));
    double now_s = emp_clock_now_s();
    double pause_s = fmax(CHECKPOINT_PAUSE_S, CHECKPOINT_COST_RATIO * (now_s - before_s));
    run->next_checkpoint_s = now_s + (every_s > 0 ? every_s : pause_s);
    return EMP_OK;
}

static emp_status resume(emp_run_state *run, emp_error *err)
{
    emp_record    *record = run->record;
    emp_checkpoint checkpoint = describe_state(run);

    EMP_CHECK(emp_checkpoint_load(&checkpoint, run->params->checkpoint.path, err));
    run->start_s = emp_clock_now_s() - checkpoint.elapsed_s;
    run->feasible_capacity = (size_t)record->feasible_count;
    run->point_capacity = run->metric_capacity = (size_t)record->point_count;
    memset(record->stopped_by, 0, sizeof record->stopped_by); /* all bytes are stored */
    run->resumed = record->evaluations;
    emp_run_report(run);
    return EMP_OK;
}

static emp_status check_checkpoint(const emp_run_state *run, emp_error *err)
{
    const emp_run_checkpoint *c = &run->params->checkpoint;

    if (run->params->method->list_state == NULL) {
        return EMP_ERROR(EMP_EINVAL,
                         "method %s has no state that a checkpoint could hold",
                         run->params->method->name);
    }
    bool is_there = access(c->path, F_OK) == 0;
    if (is_there && !c->is_resumed) {
        return EMP_ERROR(
            EMP_EINVAL,
            "%s is left from a run that has not ended; go on with --resume, or "
            "remove it to start anew",
            c->path);
    }
    if (!is_there && c->is_resumed)
        return EMP_ERROR(
            EMP_EIO,
            "there is no checkpoint %s to go on from: the run has not begun, or has "
            "ended and left its record",
            c->path);
    return EMP_OK;
}

/* Goes on from the checkpoint, or makes sure that one can be written. All ranks read it;
 * the first one looks before, and writes after, all others. */
static emp_status start_checkpoints(emp_run_state *run, emp_error *err)
{
    const emp_run_checkpoint *c = &run->params->checkpoint;
    emp_status                st = EMP_OK;

    if (c->path == NULL) goto cleanup;
    if (is_first(run)) st = check_checkpoint(run, err);
    EMP_TRY(emp_run_agree(run, st, err));
    if (c->is_resumed) st = resume(run, err);
    EMP_TRY(emp_run_agree(run, st, err));
    if (!is_first(run)) goto cleanup;
    EMP_TRY(emp_atomic_file_sweep(c->path, err));
    EMP_TRY(save_checkpoint(run, err));

cleanup:
    return st;
}

/* Of the schedule of the best placement; searching runs go without. */
static emp_status take_fingerprint(emp_run_state *run, emp_error *err)
{
    emp_sim_result result;

    EMP_CHECK(
        emp_sim_run_traced(run->sim[0], run->record->device_of_op, NULL, &result, err));
    run->record->fingerprint = result.fingerprint;
    return EMP_OK;
}

emp_run_end emp_run_is_ended(const emp_run_state *run)
{
    const emp_run_params *params = run->params;
    emp_run_end           end = {0};

    if (run->record->evaluations == 0) return end;
    end.is_stopped = params->stop != NULL && *params->stop != 0;
    end.is_late =
        params->budget_s > 0 && emp_clock_now_s() - run->start_s >= params->budget_s;
    return end;
}

/* A run whose budget is used up is whole, whoever wanted it to stop. */
int32_t emp_run_room(emp_run_state *run, emp_run_end end, int64_t underway)
{
    emp_record *record = run->record;
    int64_t     left = record->budget_evaluations - record->evaluations - underway;
    int64_t     room = emp_run_batch_limit(run);

    if (record->budget_evaluations > 0 && left < room) room = left;
    if (end.is_late) room = 0;
    if (room > 0 && !end.is_stopped) return (int32_t)room;
    copy_text(record->stopped_by, sizeof record->stopped_by,
              room == 0 ? "budget" : "interrupt");
    return 0;
}

emp_status emp_run_save_if_due(emp_run_state *run, emp_error *err)
{
    if (run->params->checkpoint.path == NULL || !is_first(run) ||
        emp_clock_now_s() < run->next_checkpoint_s)
        return EMP_OK;
    return save_checkpoint(run, err);
}

static emp_status run_loop(emp_run_state *run, emp_error *err)
{
    const emp_placer_type *method = run->params->method;
    emp_run_end            end;
    int32_t                room, own;
    double                 metric[EMP_MAX_METRICS];

    for (;;) {
        end = emp_run_is_ended(run);
        EMP_CHECK(emp_run_share_end(run, &end, err));
        room = emp_run_share_of(run, emp_run_room(run, end, 0), &own);
        if (room == 0) break;
        if (own > 0) EMP_CHECK(method->ask(run->placer, run->candidate, own, &own, err));
        EMP_CHECK(emp_run_score(run, own, err));
        EMP_CHECK(emp_run_share_scores(run, own, err));
        if (run->count == 0) {
            copy_text(run->record->stopped_by, sizeof run->record->stopped_by, "method");
            break;
        }
        run->is_between_updates = false;
        EMP_CHECK(emp_run_log(run, emp_run_share_best, err));
        EMP_CHECK(emp_run_tell(run, err));
        EMP_CHECK(emp_run_share_metrics(run, metric, err));
        EMP_CHECK(emp_run_log_metrics(run, metric, err));
        run->is_between_updates = true;
        EMP_CHECK(emp_run_save_if_due(run, err));
        emp_run_report(run);
    }
    return EMP_OK;
}

/* What only the end of a run knows. */
static emp_status finish(emp_run_state *run, emp_error *err)
{
    emp_record *record = run->record;

    if (record->evaluations == 0) {
        return EMP_ERROR(EMP_EINFEASIBLE, "method %s proposed no placement",
                         run->params->method->name);
    }
    EMP_CHECK(take_fingerprint(run, err));
    record->median_s =
        emp_summary_of(record->feasible_s, (size_t)record->feasible_count).median;
    emp_free(record->feasible_s);
    record->feasible_s = NULL;
    return EMP_OK;
}

/* By the loop that its place among ranks gives it. When others have gone, what was learned
 * so far is saved before the failure is told. */
static emp_status run_to_end(emp_run_state *run, emp_error *err)
{
    const bool is_served = run->ranks != NULL && run->params->is_async;
    const bool has_checkpoints = run->params->checkpoint.path != NULL && is_first(run);
    emp_status st = EMP_OK;

    run->is_between_updates = true;
    if (is_served && !is_first(run))
        EMP_TRY(emp_run_work(run, err));
    else
        EMP_TRY(is_served ? emp_run_serve(run, err) : run_loop(run, err));
    run->is_between_updates = false; /* parameters that differ are not to be saved */
    if (!is_served) EMP_TRY(emp_run_agree(run, emp_run_check_values(run, err), err));
    run->is_between_updates = true;
    if (has_checkpoints && strcmp(run->record->stopped_by, "interrupt") == 0)
        EMP_TRY(save_checkpoint(run, err));
    if (is_first(run) || !is_served) EMP_TRY(finish(run, err));

cleanup:
    if (st == EMP_EEXTERNAL && run->ranks != NULL && has_checkpoints &&
        run->is_between_updates)
        save_checkpoint(run, NULL);
    return st;
}

static emp_status check_params(const emp_run_params *params, emp_error *err)
{
    const emp_placer_type *method = params->method;

    if (params->budget_evaluations <= 0 && !(params->budget_s > 0) &&
        method->is_learner) {
        return EMP_ERROR(EMP_EINVAL, "method %s needs a budget in evaluations or seconds",
                         method->name);
    }
    if (params->placer.preset != NULL && method->presets == NULL) {
        return EMP_ERROR(EMP_EINVAL, "method %s has no presets, not \"%s\"", method->name,
                         params->placer.preset);
    }
    if (params->ranks != NULL && method->sharing == NULL) {
        return EMP_ERROR(
            EMP_EUNSUPPORTED,
            "method %s does not share a run with other ranks; start it without mpirun",
            method->name);
    }
    if (params->ranks != NULL && params->ranks->count > EMP_MAX_TOLD) {
        return EMP_ERROR(EMP_EUNSUPPORTED, "%d ranks, want at most %d",
                         params->ranks->count, EMP_MAX_TOLD);
    }
    if (params->is_async && params->ranks == NULL) {
        return EMP_ERROR(
            EMP_EINVAL,
            "asynchronous training needs a parameter server and controllers, at least "
            "2 ranks: mpirun -n 4 emplace train ... --async");
    }
    return EMP_OK;
}

emp_status emp_run(emp_record *record, const emp_problem *problem,
                   const emp_run_params *params, emp_error *err)
{
    emp_status     st = EMP_OK;
    emp_run_state *run = EMP_NEW(emp_run_state);

    emp_run_describe(record, problem, params);
    if (run == NULL) EMP_FAIL(EMP_ENOMEM, "state of a run");
    run->ranks = params->ranks;
    EMP_TRY(emp_run_agree(run, check_params(params, err), err));
    run->problem = problem;
    run->params = params;
    run->record = record;
    run->threads = params->placer.threads < 1 ? 1 : params->placer.threads;
    if (run->threads > EMP_MAX_BATCH) run->threads = EMP_MAX_BATCH;
    run->start_s = emp_clock_now_s();
    EMP_TRY(emp_run_agree(run, prepare(run, err), err));
    EMP_TRY(start_checkpoints(run, err));
    EMP_TRY(run_to_end(run, err));

cleanup:
    if (run != NULL) {
        emp_free(run->exchange);
        params->method->destroy(run->placer);
        for (int32_t i = 0; run->sim != NULL && i < run->threads; i++) {
            emp_sim_destroy(run->sim[i]);
        }
        emp_free(run->sim);
        emp_free(run->candidate_block);
        emp_free(run);
    }
    return st;
}

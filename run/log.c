// SPDX-License-Identifier: GPL-3.0-or-later
/* Writes a run into its record: its inputs, and the result of each batch. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/collections.h"
#include "base/mem.h"
#include "base/text/text.h"
#include "base/work.h"
#include "run/loop_internal.h"
#include "run/sheet/sheet.h"

static void copy_text(char *to, size_t size, const char *from)
{
    if (from == NULL) from = "";
    emp_text_copy(to, size, from, strlen(from));
}

/* A name that does not fit ends with a hash of the whole name, which tells it from others. */
static void copy_method(char method[EMP_RECORD_NAME_BYTES], const char *name)
{
    enum { MARK_BYTES = sizeof "~01234567" };
    const size_t   length = strlen(name);
    const uint64_t hash = emp_hash_bytes(EMP_HASH_SEED, name, length);

    if (emp_text_copy(method, EMP_RECORD_NAME_BYTES, name, length)) return;
    emp_text_copy(method, EMP_RECORD_NAME_BYTES - MARK_BYTES + 1, name, length);
    snprintf(method + strlen(method), MARK_BYTES, "~%08" PRIx32, (uint32_t)hash);
}

/* Never 0. */
static uint64_t hash_of(const emp_device_id *device_of_op, int32_t op_count)
{
    uint64_t hash = emp_hash_bytes(EMP_HASH_SEED, device_of_op,
                                   (size_t)op_count * sizeof *device_of_op);

    return hash != 0 ? hash : 1;
}

void emp_run_describe(emp_record *record, const emp_problem *problem,
                      const emp_run_params *params)
{
    emp_manifest manifest = emp_manifest_get();

    memset(record, 0, sizeof *record);
    copy_method(record->method, params->method->name);
    record->method_hash = params->method->code_hash;
    copy_text(record->preset, sizeof record->preset, params->placer.preset);
    copy_text(record->options, sizeof record->options, params->placer.options);
    copy_text(record->workload, sizeof record->workload, problem->workload);
    copy_text(record->machine, sizeof record->machine, problem->machine->name);
    copy_text(record->runtime, sizeof record->runtime, problem->runtime.name);
    copy_text(record->overrides, sizeof record->overrides, problem->overrides);
    record->seed = params->placer.seed;
    record->budget_evaluations = params->budget_evaluations;
    record->budget_s = params->budget_s;
    record->budget_cpu_s = params->budget_cpu_s;
    record->median_s = NAN; /* only the end knows it */
    record->graph_hash = problem->graph->hash;
    record->machine_hash = problem->machine->hash;
    record->runtime_hash = emp_runtime_hash(&problem->runtime);
    copy_text(record->version, sizeof record->version, manifest.version);
    copy_text(record->commit, sizeof record->commit, manifest.commit);
    record->is_dirty = manifest.is_dirty;
    record->ranks = params->ranks != NULL ? params->ranks->count : 0;
    record->is_async = params->is_async;
    record->has_order = params->placer.decides & EMP_DECIDES_ORDER;
    record->has_fusion = params->placer.decides & EMP_DECIDES_FUSION;
    if (params->placer.start != NULL)
        record->start_hash = hash_of(params->placer.start, problem->graph->op_count);
    if (params->placer.weights != NULL)
        record->weights_hash = emp_weights_hash(params->placer.weights);
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

int32_t emp_run_find_best(const emp_run_state *run)
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

static void keep_best(const emp_run_state *run, const emp_candidate *best)
{
    const emp_method     *method = run->params->method;
    const emp_sim_result *result = best->result;
    emp_record           *record = run->record;

    record->is_feasible = result->is_feasible;
    record->best_step_time_s = (double)result->step_time_ns * 1e-9;
    record->traffic_bytes = result->traffic_bytes;
    copy_text(record->oom_device, sizeof record->oom_device,
              result->is_feasible ? NULL : record->device_name[result->oom_device]);
    for (int32_t d = 0; d < record->device_count; d++) {
        record->peak_bytes[d] = result->peak_bytes[d];
        record->busy_s[d] = (double)result->busy_ns[d] * 1e-9;
    }
    if (method->winner != NULL && method->winner(run->placer) != NULL)
        copy_text(record->winner, sizeof record->winner,
                  method->winner(run->placer)->name);
    /* Ranks that work together have put it there already. */
    if (best->decision != &record->decision)
        emp_decision_copy(&record->decision, best->decision);
}

int32_t emp_run_metrics(const emp_run_state *run, const emp_method_metric **metric)
{
    int32_t count = 0;

    *metric = NULL;
    if (run->params->method->metrics != NULL)
        *metric = run->params->method->metrics(run->placer, &count);
    return count < EMP_MAX_METRICS ? count : EMP_MAX_METRICS;
}

/* Into the row of the last point. */
static emp_status log_metrics(emp_run_state *run, const double *value, emp_error *err)
{
    emp_record              *record = run->record;
    const emp_method_metric *metric = NULL;
    int32_t                  count = emp_run_metrics(run, &metric);

    if (record->point_count == 1) {
        record->metric_count = count;
        for (int32_t i = 0; i < record->metric_count; i++) {
            copy_text(record->metric_name[i], sizeof record->metric_name[i],
                      metric[i].name);
        }
    }
    if (record->metric_count == 0) return EMP_OK;

    size_t row_length = (size_t)record->metric_count;
    void  *rows = record->metric;
    EMP_CHECK(reserve(&rows, &run->metric_capacity, (size_t)record->point_count,
                      row_length * sizeof(double), err));
    record->metric = (double *)rows;
    double *row = record->metric + (size_t)(record->point_count - 1) * row_length;
    for (int32_t i = 0; i < record->metric_count; i++) {
        row[i] = i < count ? value[i] : NAN;
    }
    return EMP_OK;
}

emp_status emp_run_log(emp_run_state *run, const emp_candidate *best,
                       const double *metric, emp_error *err)
{
    emp_record     *record = run->record;
    const int32_t   count = run->count;
    emp_curve_point point = {record->evaluations + count, 0, NAN, 0.0};
    void           *feasible_s = record->feasible_s, *curve = record->curve;

    EMP_CHECK(reserve(&feasible_s, &run->feasible_capacity,
                      (size_t)record->feasible_count + (size_t)count, sizeof(double),
                      err));
    record->feasible_s = (double *)feasible_s;
    EMP_CHECK(reserve(&curve, &run->point_capacity, (size_t)record->point_count + 1,
                      sizeof *record->curve, err));
    record->curve = (emp_curve_point *)curve;

    if (best != NULL) keep_best(run, best);
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
    return log_metrics(run, metric, err);
}

void emp_run_log_end(emp_run_state *run, const char *stopped_by)
{
    copy_text(run->record->stopped_by, sizeof run->record->stopped_by, stopped_by);
}

double emp_progress_remaining_s(const emp_progress *p)
{
    double remaining_s = INFINITY;

    if (p->budget_evaluations > 0 && p->evaluations > 0) {
        double left = (double)(p->budget_evaluations - p->evaluations);
        remaining_s = p->elapsed_s * left / (double)p->evaluations;
    }
    if (p->budget_s > 0) remaining_s = fmin(remaining_s, p->budget_s - p->elapsed_s);
    if (p->budget_cpu_s > 0) remaining_s = fmin(remaining_s, p->budget_cpu_s - p->cpu_s);
    return fmax(remaining_s, 0.0);
}

void emp_run_report(const emp_run_state *run)
{
    const emp_record *record = run->record;

    if (run->params->progress == NULL || !run->is_first) return;
    emp_progress progress = {.evaluations = record->evaluations,
                             .resumed = run->resumed,
                             .budget_evaluations = record->budget_evaluations,
                             .elapsed_s = emp_clock_now_s() - run->start_s,
                             .budget_s = record->budget_s,
                             .cpu_s = emp_clock_thread_s() - run->start_cpu_s,
                             .budget_cpu_s = record->budget_cpu_s,
                             .best_s =
                                 record->is_feasible ? record->best_step_time_s : NAN,
                             .record = record};
    run->params->progress(run->params->context, &progress);
}

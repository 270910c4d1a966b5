// SPDX-License-Identifier: GPL-3.0-or-later
#include "bench/run/table1.h"

#include <math.h>
#include <omp.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "bench/run/archive.h"
#include "bench/run/methods.h"
#include "bench/run/paper.h"
#include "bench/run/word_list.h"
#include "sim/workloads/workloads.h"

enum { ROWS = EMP_PAPER_TASKS, COLUMNS = 9, FULL_SEEDS = 3, QUICK_SEEDS = 1 };

/* Budgets are evaluations, so that a result does not depend on the speed of the host. */
struct column {
    emp_table_column column;
    int64_t          quick_budget;
    bool             is_seeded;
    double           update_cost; /**< of one evaluation, in simulations of 10,000 ops */
};

static const struct column columns[COLUMNS] = {
    {.column = {"CPU only", "cpu", .has_paper = true}},
    {.column = {"GPU only", "gpu", .has_paper = true}},
    {.column = {"Human expert", "expert", .has_paper = true}},
    {.column = {"Scotch", "scotch", .has_paper = true}, .is_seeded = true},
    {.column = {"MinCut", "mincut", .has_paper = true}, .is_seeded = true},
    {.column = {"METIS", "metis", .has_paper = false}, .is_seeded = true},
    {.column = {"Random", "random", .budget = 200, .has_median = true},
     .quick_budget = 200,
     .is_seeded = true},
    {.column = {"HDP", "hdp", "paper", .budget = 8000, .has_paper = true},
     .quick_budget = 3000,
     .is_seeded = true,
     .update_cost = 1.0},
    {.column = {"Cross-entropy", "ce", .budget = 8000},
     .quick_budget = 3000,
     .is_seeded = true},
};

static const char fitted_note[] = "* Machine constants (one set for all rows) were "
                                  "fitted to the paper's figures of these "
                                  "cells; all other cells are predictions.";

/* ---- what is to be run ---- */

/** A row of the table with what its runs share. */
struct task {
    emp_graph   *graph; /**< of a step */
    emp_machine *machine;
    emp_problem *problem;
};

struct job {
    int32_t        row, column; /**< of the printed table */
    emp_run_params run;
    double         cost; /**< relative; for the order and the progress bar */
    double         done_frac, earlier_frac; /**< of its work; before this call */
    double         elapsed_s;
    bool           is_ready;
    emp_status     status;
    emp_error      error;
    emp_record     record;
    struct plan   *plan;
};

struct plan {
    const emp_table1_params *params;
    emp_table               *table;
    struct task              task[ROWS]; /**< [row] */
    int32_t                  job_count;
    struct job              *job;
    struct job             **order; /**< longest first */
    double                   cost;  /**< of all jobs */
    int32_t                  done;
    double                   start_s;
};

static const char *row_key(int32_t i) { return i < ROWS ? emp_paper_task[i].key : NULL; }
static const char *column_key(int32_t i)
{
    return i < COLUMNS ? columns[i].column.method : NULL;
}

/* ---- set-up ---- */

static void describe_command(const emp_table1_params *p, int32_t seed_count, char *text,
                             size_t size)
{
    int used = snprintf(text, size, "scripts/emplace table 1%s --seeds %d",
                        p->is_quick ? " --quick" : "", seed_count);

    if (p->rows != NULL && used < (int)size) {
        used += snprintf(text + used, size - (size_t)used, " --rows %s", p->rows);
    }
    if (p->methods != NULL && used < (int)size) {
        used += snprintf(text + used, size - (size_t)used, " --methods %s", p->methods);
    }
    if (strcmp(p->runtime, "tf-r1.3") != 0 && used < (int)size) {
        snprintf(text + used, size - (size_t)used, " --runtime %s", p->runtime);
    }
}

static emp_status lay_out(struct plan *plan, emp_error *err)
{
    const emp_table1_params *p = plan->params;
    emp_status               st = EMP_OK;
    int32_t row_of[ROWS], column_of[COLUMNS], row_count = 0, column_count = 0;
    int32_t seed_count = p->seed_count > 0 ? p->seed_count
                         : p->is_quick     ? QUICK_SEEDS
                                           : FULL_SEEDS;

    if (p->seed_count < 0 || p->seed_count > EMP_TABLE_MAX_SEEDS) {
        EMP_FAIL(EMP_EINVAL, "%d seeds; give 1 to %d", p->seed_count,
                 EMP_TABLE_MAX_SEEDS);
    }
    EMP_TRY(emp_word_list_check(p->rows, "table 1 has no row", row_key, err));
    EMP_TRY(emp_word_list_check(p->methods, "table 1 has no method", column_key, err));
    for (int32_t i = 0; i < ROWS; i++) {
        if (emp_word_list_has(p->rows, emp_paper_task[i].key)) row_of[row_count++] = i;
    }
    for (int32_t i = 0; i < COLUMNS; i++) {
        if (emp_word_list_has(p->methods, columns[i].column.method))
            column_of[column_count++] = i;
    }
    EMP_TRY(emp_table_create(&plan->table, row_count, column_count, err));
    emp_table *t = plan->table;
    t->title = "Table 1. Seconds per training step: ours, simulated, beside the paper's.";
    t->source = emp_paper_source;
    describe_command(p, seed_count, t->command, sizeof t->command);
    for (int32_t r = 0; r < row_count; r++) t->row[r] = emp_paper_task[row_of[r]];
    for (int32_t c = 0; c < column_count; c++) {
        const struct column *from = &columns[column_of[c]];
        t->column[c] = from->column;
        t->column[c].seed_count = from->is_seeded ? seed_count : 1;
        if (p->is_quick) t->column[c].budget = from->quick_budget;
        for (int32_t r = 0; r < row_count; r++) {
            emp_table_at(t, r, c)->paper_s =
                emp_paper_step_s(row_of[r], from->column.method);
        }
    }

cleanup:
    return st;
}

static emp_status load_task(struct task *task, const emp_table_row *row,
                            const emp_runtime *runtime, emp_error *err)
{
    emp_status st = EMP_OK;
    emp_graph *whole = NULL;

    EMP_TRY(emp_machine_load(&task->machine, row->machine, err));
    EMP_TRY(emp_workload_build(&whole, row->spec, err));
    EMP_TRY(emp_graph_prune(&task->graph, whole, err));
    EMP_TRY(emp_problem_create(&task->problem, task->graph, task->machine, runtime,
                               row->spec, err));

cleanup:
    emp_graph_destroy(whole);
    return st;
}

/* A cell is fitted if the constants of the row's machine were fitted to it; the model
 * files say so. */
static void mark_fitted(struct plan *plan)
{
    emp_table *t = plan->table;

    for (int32_t r = 0; r < t->row_count; r++) {
        for (int32_t c = 0; c < t->column_count; c++) {
            char name[EMP_FIT_NAME_BYTES];
            snprintf(name, sizeof name, "%s:%s", t->row[r].key, t->column[c].method);
            if (!emp_machine_is_fitted_to(plan->task[r].machine, name)) continue;
            emp_table_at(t, r, c)->is_fitted = true;
            t->fitted_note = fitted_note;
        }
    }
}

static emp_status load_tasks(struct plan *plan, emp_error *err)
{
    emp_status  st = EMP_OK;
    int32_t     row_count = plan->table->row_count;
    emp_runtime runtime;
    emp_status  status[ROWS];
    emp_error   error[ROWS] = {0};

    EMP_TRY(emp_runtime_load(&runtime, plan->params->runtime, err));
    snprintf(plan->table->runtime, sizeof plan->table->runtime, "%s", runtime.name);
#pragma omp parallel for schedule(dynamic, 1) num_threads(plan->params->threads)
    for (int32_t r = row_count - 1; r >= 0; r--) { /* the largest graphs come last */
        status[r] = load_task(&plan->task[r], &plan->table->row[r], &runtime, &error[r]);
    }
    for (int32_t r = 0; r < row_count; r++) {
        if (status[r] != EMP_OK) EMP_FAIL(status[r], "%s", error[r].msg);
    }
    mark_fitted(plan);

cleanup:
    return st;
}

static int by_falling_cost(const void *a, const void *b)
{
    const struct job *x = *(struct job *const *)a, *y = *(struct job *const *)b;

    if (x->cost != y->cost) return x->cost > y->cost ? -1 : 1;
    return x < y ? -1 : x > y;
}

static double guess_cost(const emp_table_column *column, int32_t op_count)
{
    double update_cost = 0, simulation_cost = op_count / 1e4;

    for (int32_t i = 0; i < COLUMNS; i++) {
        if (columns[i].column.method == column->method)
            update_cost = columns[i].update_cost;
    }
    return (simulation_cost + update_cost) *
           (double)(column->budget > 0 ? column->budget : 1);
}

static emp_status add_jobs(struct plan *plan, emp_error *err)
{
    const emp_table *t = plan->table;
    emp_status       st = EMP_OK;
    int32_t          per_row = 0;

    for (int32_t c = 0; c < t->column_count; c++) per_row += t->column[c].seed_count;
    plan->job = EMP_NEW_ARRAY(struct job, (size_t)(per_row * t->row_count));
    plan->order = EMP_NEW_ARRAY(struct job *, (size_t)(per_row * t->row_count));
    if (plan->job == NULL || plan->order == NULL) {
        EMP_FAIL(EMP_ENOMEM, "%d runs", per_row * t->row_count);
    }
    for (int32_t r = 0; r < t->row_count; r++) {
        for (int32_t c = 0; c < t->column_count; c++) {
            for (int32_t s = 0; s < t->column[c].seed_count; s++) {
                struct job *job = &plan->job[plan->job_count];
                job->plan = plan;
                job->row = r;
                job->column = c;
                EMP_TRY(emp_method_find(&job->run.method, t->column[c].method, err));
                job->run.placer.seed = (uint64_t)s + 1;
                job->run.placer.preset = t->column[c].preset;
                job->run.budget_evaluations = t->column[c].budget;
                job->run.stop = plan->params->stop;
                job->cost = guess_cost(&t->column[c], plan->task[r].graph->op_count);
                plan->cost += job->cost;
                plan->order[plan->job_count++] = job;
            }
        }
    }
    qsort(plan->order, (size_t)plan->job_count, sizeof *plan->order, by_falling_cost);
    int32_t threads =
        plan->params->threads / plan->job_count; /* what is left for each run */
    for (int32_t i = 0; i < plan->job_count; i++) {
        plan->job[i].run.placer.threads = threads < 1 ? 1 : threads;
    }

cleanup:
    return st;
}

/* ---- running ---- */

static void report_progress(struct plan *plan)
{
    double done = 0, worked = 0, elapsed_s = emp_clock_now_s() - plan->start_s;

    if (plan->params->on_progress == NULL) return;
    for (int32_t i = 0; i < plan->job_count; i++) {
        const struct job *job = &plan->job[i];
        done += job->cost * job->done_frac;
        worked += job->cost * (job->done_frac - job->earlier_frac);
    }
    double remaining_s = worked > 0 ? elapsed_s * (plan->cost - done) / worked : INFINITY;
    plan->params->on_progress(plan->params->context, done / plan->cost, remaining_s);
}

static void on_batch(void *context, const emp_progress *progress)
{
    struct job *job = (struct job *)context;
    double      budget = (double)progress->budget_evaluations;

    job->elapsed_s = progress->elapsed_s;
    if (budget <= 0) return;
#pragma omp critical(emp_table1)
    {
        job->done_frac = (double)progress->evaluations / budget;
        job->earlier_frac = (double)progress->resumed / budget;
        report_progress(job->plan);
    }
}

static void on_job_done(struct job *job, bool is_read)
{
    struct plan *plan = job->plan;

#pragma omp critical(emp_table1)
    {
        job->done_frac = 1.0;
        if (is_read) job->earlier_frac = 1.0;
        plan->done++;
        if (plan->params->on_run != NULL) {
            emp_table1_event event = {
                plan->table->row[job->row].title,
                plan->table->column[job->column].title,
                job->record.seed,
                job->record.is_feasible ? job->record.best_step_time_s : INFINITY,
                job->elapsed_s,
                is_read,
                plan->done,
                plan->job_count};
            plan->params->on_run(plan->params->context, &event);
        }
        report_progress(plan);
    }
}

static bool was_stopped(const struct plan *plan)
{
    return plan->params->stop != NULL && *plan->params->stop != 0;
}

static emp_status run_job(struct job *job, emp_error *err)
{
    const emp_table1_params *p = job->plan->params;
    const emp_problem       *problem = job->plan->task[job->row].problem;
    emp_status               st = EMP_OK;
    bool                     is_read = false;

    if (!p->is_fresh) {
        EMP_TRY(
            emp_archive_find(&job->record, &is_read, p->folder, problem, &job->run, err));
    }
    if (!is_read) {
        emp_record_clear(&job->record);
        job->run.progress = on_batch;
        job->run.context = job;
        EMP_TRY(emp_archive_run(&job->record, p->folder, problem, &job->run, p->is_fresh,
                                err));
    }
    job->is_ready = strcmp(job->record.stopped_by, "interrupt") != 0;
    if (!job->is_ready) goto cleanup; /* half a run would stand in for a whole one */
    if (!is_read) {
        EMP_TRY(emp_archive_put(p->folder, &job->record, job->elapsed_s,
                                job->run.placer.threads, err));
    }
    emp_archive_drop_checkpoint(p->folder, &job->record);
    on_job_done(job, is_read);

cleanup:
    return st;
}

static emp_status run_jobs(struct plan *plan, emp_error *err)
{
    emp_status  st = EMP_OK;
    atomic_bool has_failed = false;

    if (plan->params->threads > plan->job_count) omp_set_max_active_levels(2);
    plan->start_s = emp_clock_now_s();
    /* clang-format off */
#pragma omp parallel for schedule(dynamic, 1) num_threads(plan->params->threads)
    /* clang-format on */
    for (int32_t i = 0; i < plan->job_count; i++) {
        struct job *job = plan->order[i];
        if (atomic_load(&has_failed) || was_stopped(plan)) continue;
        job->status = run_job(job, &job->error);
        if (job->status != EMP_OK) atomic_store(&has_failed, true);
    }
    for (int32_t i = 0; i < plan->job_count; i++) {
        const struct job *job = &plan->job[i];
        if (job->status != EMP_OK) {
            EMP_FAIL(job->status, "%s by %s: %s", plan->table->row[job->row].title,
                     job->run.method->name, job->error.msg);
        }
    }

cleanup:
    return st;
}

/* Jobs stand in the order row, column, seed. */
static void fill_table(struct plan *plan)
{
    const emp_record *records[EMP_TABLE_MAX_SEEDS];

    for (int32_t first = 0, end; first < plan->job_count; first = end) {
        const struct job *job = &plan->job[first];
        int32_t           ready = 0;
        end = first + plan->table->column[job->column].seed_count;
        for (int32_t i = first; i < end; i++) {
            if (plan->job[i].is_ready) records[ready++] = &plan->job[i].record;
        }
        if (ready > 0) emp_table_fill(plan->table, job->row, job->column, records, ready);
    }
}

static void clear_plan(struct plan *plan)
{
    for (int32_t i = 0; i < plan->job_count; i++) emp_record_clear(&plan->job[i].record);
    emp_free(plan->job);
    emp_free(plan->order);
    for (int32_t r = 0; r < ROWS; r++) {
        emp_problem_destroy(plan->task[r].problem);
        emp_graph_destroy(plan->task[r].graph);
        emp_machine_destroy(plan->task[r].machine);
    }
    emp_table_destroy(plan->table);
}

emp_status emp_table1_make(emp_table **out, const emp_table1_params *params,
                           emp_error *err)
{
    emp_status  st = EMP_OK;
    struct plan plan = {.params = params};

    *out = NULL;
    EMP_TRY(lay_out(&plan, err));
    EMP_TRY(load_tasks(&plan, err));
    EMP_TRY(add_jobs(&plan, err));
    EMP_TRY(run_jobs(&plan, err));
    fill_table(&plan);
    *out = plan.table;
    if (was_stopped(&plan)) st = EMP_EINTERRUPTED;

cleanup:
    if (*out != NULL) plan.table = NULL;
    clear_plan(&plan);
    return st;
}

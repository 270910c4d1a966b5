// SPDX-License-Identifier: GPL-3.0-or-later
/* Lays out the runs of arms on tasks, and makes them. */
#include <math.h>
#include <stdio.h>

#include "base/mem.h"
#include "base/text/word_list.h"
#include "bench/studies/ablation_internal.h"
#include "run/methods.h"

/* ---- layout ---- */

static const char *row_key(const void *context, int32_t i)
{
    const emp_ablation *d = (const emp_ablation *)context;

    return i < d->row_count ? d->row[i].key : NULL;
}

/* Studies first, then arms. */
static const char *arm_key(const void *context, int32_t i)
{
    const emp_ablation *d = (const emp_ablation *)context;

    if (i < d->arm_count) return d->arm[i].study;
    return i < 2 * d->arm_count ? d->arm[i - d->arm_count].name : NULL;
}

static bool is_asked(const emp_ablation_plan *plan, int32_t arm)
{
    const emp_arm *a = &plan->definition->arm[arm];
    const char    *list = plan->params->arms;

    return arm == 0 || emp_word_list_has(list, a->study) ||
           emp_word_list_has(list, a->name);
}

static const char *row_list(const emp_ablation_plan *plan)
{
    return plan->params->rows != NULL ? plan->params->rows : plan->definition->rows;
}

static emp_status check(const emp_ablation_plan *plan, emp_error *err)
{
    const emp_ablation_params *p = plan->params;

    if (p->seed_count < 0 || p->seed_count > EMP_TRIALS_SEEDS)
        return EMP_ERROR(EMP_EINVAL, "%d seeds; give 1 to %d", p->seed_count,
                         EMP_TRIALS_SEEDS);
    EMP_CHECK(emp_word_list_check(p->rows, "the study has no row", row_key,
                                  plan->definition, err));
    return emp_word_list_check(p->arms, "the study has no arm", arm_key, plan->definition,
                               err);
}

static emp_status create_table(emp_ablation_plan *plan, emp_error *err)
{
    const emp_ablation        *d = plan->definition;
    const emp_ablation_params *p = plan->params;
    size_t                     cells = (size_t)d->arm_count * (size_t)d->row_count;
    emp_ablation_table        *t = plan->table = EMP_NEW(emp_ablation_table);

    if (t == NULL) return EMP_ERROR(EMP_ENOMEM, "study");
    t->definition = d;
    t->seed_count = p->is_full ? d->seed_count : d->first_seed_count;
    t->budget = p->is_full ? d->budget : d->first_budget;
    if (p->seed_count > 0) t->seed_count = p->seed_count;
    if (p->budget > 0) t->budget = p->budget;
    EMP_CHECK(EMP_ALLOC(t->cell, cells));
    EMP_CHECK(EMP_ALLOC(t->overall, (size_t)d->arm_count));
    EMP_CHECK(EMP_ALLOC(plan->row, (size_t)d->row_count));
    return EMP_OK;
}

static emp_ablation_cell blank_cell(const emp_arm *arm, const emp_task *row)
{
    return (emp_ablation_cell){.arm = arm,
                               .row = row,
                               .step_s = {NAN, NAN, NAN},
                               .ratio = NAN,
                               .feasible_frac = NAN,
                               .balance = NAN,
                               .cpu_s = NAN,
                               .break_even_steps = NAN,
                               .quality_evaluations = NAN,
                               .quality_s = NAN};
}

static emp_status lay_out(emp_ablation_plan *plan, emp_error *err)
{
    const emp_ablation *d = plan->definition;
    int32_t             cells = 0;

    EMP_CHECK(check(plan, err));
    EMP_CHECK(create_table(plan, err));
    emp_ablation_table *t = plan->table;
    for (int32_t a = 0; a < d->arm_count; a++) t->arm_count += is_asked(plan, a);
    for (int32_t r = 0; r < d->row_count; r++) {
        if (!emp_word_list_has(row_list(plan), d->row[r].key)) continue;
        plan->row[t->row_count++] = d->row[r];
        for (int32_t a = 0; a < d->arm_count; a++) {
            if (!is_asked(plan, a)) continue;
            t->cell[cells++] = blank_cell(&d->arm[a], &d->row[r]);
        }
    }
    return EMP_OK;
}

/* ---- runs ---- */

const char *emp_ablation_method(const emp_ablation *definition, const emp_arm *arm)
{
    return arm->method != NULL ? arm->method : definition->method;
}

const char *emp_ablation_preset(const emp_ablation *definition, const emp_arm *arm)
{
    return arm->preset != NULL || arm->method != NULL ? arm->preset : definition->preset;
}

static emp_status load_tasks(emp_ablation_plan *plan, emp_error *err)
{
    emp_ablation_table *t = plan->table;
    emp_runtime         runtime;

    EMP_CHECK(EMP_ALLOC(plan->task, (size_t)t->row_count));
    EMP_CHECK(emp_runtime_init(&runtime, plan->params->runtime, err));
    snprintf(t->runtime, sizeof t->runtime, "%s", runtime.name);
    return emp_tasks_load(plan->task, plan->row, t->row_count, &runtime,
                          plan->params->jobs.threads, err);
}

/* The runs of an arm on a row, one a seed, or one if seeds change nothing. */
static emp_status add_cell(emp_ablation_plan *plan, int32_t row, const emp_arm *arm,
                           emp_error *err)
{
    const emp_ablation_table *t = plan->table;
    const emp_method         *type = NULL;
    emp_job_method            method = {.title = arm->name,
                                        .method = emp_ablation_method(plan->definition, arm),
                                        .preset = emp_ablation_preset(plan->definition, arm),
                                        .options = arm->options};

    EMP_CHECK(emp_method_find(&type, method.method, err));
    method.budget = type->uses_budget ? t->budget : 0;
    for (int32_t s = 0; s < (type->uses_seed ? t->seed_count : 1); s++) {
        emp_job *job = &plan->job[plan->job_count++];
        EMP_CHECK(emp_job_init(job, &plan->task[row], &plan->row[row], &method,
                               (uint64_t)s + 1, err));
        job->run.placer.decides = arm->decides;
    }
    return EMP_OK;
}

static emp_status add_jobs(emp_ablation_plan *plan, emp_error *err)
{
    const emp_ablation_table *t = plan->table;
    const int32_t             cells = t->row_count * t->arm_count;

    EMP_CHECK(EMP_ALLOC(plan->job, (size_t)cells * (size_t)t->seed_count));
    EMP_CHECK(EMP_ALLOC(plan->first_job, (size_t)cells + 1));
    for (int32_t i = 0; i < cells; i++) {
        EMP_CHECK(add_cell(plan, i / t->arm_count, t->cell[i].arm, err));
        plan->first_job[i + 1] = plan->job_count;
    }
    return EMP_OK;
}

/* CPU seconds are those of one thread. Methods that find nothing have cells, too. */
static emp_jobs_params jobs_of(const emp_ablation_plan *plan)
{
    emp_jobs_params jobs = plan->params->jobs;

    jobs.keeps_refusals = true;
    jobs.is_single = (plan->definition->shows & EMP_SHOWS_COST) != 0;
    return jobs;
}

emp_status emp_ablation_make(emp_ablation_table **out, const emp_ablation *definition,
                             const emp_ablation_params *params, emp_error *err)
{
    emp_status        st = EMP_OK, made = EMP_OK;
    emp_ablation_plan plan = {.definition = definition, .params = params};
    emp_jobs_params   jobs;

    *out = NULL;
    EMP_TRY(lay_out(&plan, err));
    EMP_TRY(load_tasks(&plan, err));
    EMP_TRY(add_jobs(&plan, err));
    jobs = jobs_of(&plan);
    made = emp_jobs_run(plan.job, plan.job_count, &jobs, err);
    if (made != EMP_OK && made != EMP_EINTERRUPTED) EMP_TRY(made);
    emp_ablation_fill(&plan);
    EMP_TRY(emp_ablation_sum_up(plan.table, err));
    *out = plan.table;
    st = made;

cleanup:
    emp_jobs_clear(plan.job, plan.job_count);
    emp_free(plan.job);
    emp_tasks_clear(plan.task, plan.task != NULL ? plan.table->row_count : 0);
    emp_free(plan.task);
    emp_free(plan.row);
    emp_free(plan.first_job);
    if (*out == NULL) emp_ablation_destroy(plan.table);
    return st;
}

void emp_ablation_destroy(emp_ablation_table *table)
{
    if (table == NULL) return;
    emp_free(table->cell);
    emp_free(table->overall);
    emp_free(table);
}

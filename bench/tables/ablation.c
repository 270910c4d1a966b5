// SPDX-License-Identifier: GPL-3.0-or-later
#include "bench/tables/ablation.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "base/text/word_list.h"

struct plan {
    const emp_ablation        *definition;
    const emp_ablation_params *params;
    emp_ablation_table        *table;
    emp_task                  *row;  /* [row] those that are made */
    emp_loaded_task           *task; /* [row] */
    emp_job                   *job;  /* [row][arm][seed] */
    int32_t                    job_count;
};

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

static bool is_asked(const struct plan *plan, int32_t arm)
{
    const emp_arm *a = &plan->definition->arm[arm];
    const char    *list = plan->params->arms;

    return arm == 0 || emp_word_list_has(list, a->study) ||
           emp_word_list_has(list, a->name);
}

static const char *row_list(const struct plan *plan)
{
    return plan->params->rows != NULL ? plan->params->rows : plan->definition->rows;
}

static emp_status check(const struct plan *plan, emp_error *err)
{
    const emp_ablation_params *p = plan->params;

    if (p->seed_count < 0 || p->seed_count > EMP_TABLE_MAX_SEEDS)
        return EMP_ERROR(EMP_EINVAL, "%d seeds; give 1 to %d", p->seed_count,
                         EMP_TABLE_MAX_SEEDS);
    EMP_CHECK(emp_word_list_check(p->rows, "the study has no row", row_key,
                                  plan->definition, err));
    return emp_word_list_check(p->arms, "the study has no arm", arm_key, plan->definition,
                               err);
}

static emp_status create_table(struct plan *plan, emp_error *err)
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
    EMP_CHECK(EMP_ALLOC(plan->row, (size_t)d->row_count));
    return EMP_OK;
}

static emp_status lay_out(struct plan *plan, emp_error *err)
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
            t->cell[cells++] = (emp_ablation_cell){.arm = &d->arm[a],
                                                   .row = &d->row[r],
                                                   .step_s = {NAN, NAN, NAN},
                                                   .ratio = NAN,
                                                   .feasible_frac = NAN};
        }
    }
    return EMP_OK;
}

/* ---- runs ---- */

const char *emp_ablation_preset(const emp_ablation *definition, const emp_arm *arm)
{
    return arm->preset != NULL ? arm->preset : definition->preset;
}

static emp_status load_tasks(struct plan *plan, emp_error *err)
{
    emp_ablation_table *t = plan->table;
    emp_runtime         runtime;

    EMP_CHECK(EMP_ALLOC(plan->task, (size_t)t->row_count));
    EMP_CHECK(emp_runtime_init(&runtime, plan->params->runtime, err));
    snprintf(t->runtime, sizeof t->runtime, "%s", runtime.name);
    return emp_tasks_load(plan->task, plan->row, t->row_count, &runtime,
                          plan->params->jobs.threads, err);
}

static emp_status add_jobs(struct plan *plan, emp_error *err)
{
    const emp_ablation_table *t = plan->table;
    int32_t                   cells = t->row_count * t->arm_count, seeds = t->seed_count;

    EMP_CHECK(EMP_ALLOC(plan->job, (size_t)cells * (size_t)seeds));
    for (int32_t i = 0; i < cells; i++) {
        const emp_arm       *arm = t->cell[i].arm;
        int32_t              r = i / t->arm_count;
        const emp_job_method method = {.title = arm->name,
                                       .method = plan->definition->method,
                                       .preset =
                                           emp_ablation_preset(plan->definition, arm),
                                       .options = arm->options,
                                       .budget = t->budget};
        for (int32_t s = 0; s < seeds; s++)
            EMP_CHECK(emp_job_init(&plan->job[plan->job_count++], &plan->task[r],
                                   &plan->row[r], &method, (uint64_t)s + 1, err));
    }
    return EMP_OK;
}

/* ---- the table ---- */

static void fill_cell(emp_ablation_cell *cell, const emp_job *jobs, int32_t count)
{
    double  step_s[EMP_TABLE_MAX_SEEDS];
    int64_t feasible = 0;

    for (int32_t s = 0; s < count; s++) {
        const emp_record *r = &jobs[s].record;
        if (!jobs[s].is_ready) continue;
        step_s[cell->run_count++] = r->is_feasible ? r->best_step_time_s : INFINITY;
        cell->oom_count += !r->is_feasible;
        cell->evaluations += r->evaluations;
        feasible += r->feasible_count;
    }
    cell->step_s = emp_summary_of(step_s, (size_t)cell->run_count);
    if (cell->evaluations > 0)
        cell->feasible_frac = (double)feasible / (double)cell->evaluations;
}

static void fill_table(struct plan *plan)
{
    emp_ablation_table *t = plan->table;
    int32_t             seeds = t->seed_count;

    for (int32_t i = 0; i < t->row_count * t->arm_count; i++) {
        emp_ablation_cell       *cell = &t->cell[i];
        const emp_ablation_cell *standard = &t->cell[i / t->arm_count * t->arm_count];
        fill_cell(cell, &plan->job[i * seeds], seeds);
        if (isfinite(cell->step_s.median) && isfinite(standard->step_s.median))
            cell->ratio = cell->step_s.median / standard->step_s.median;
    }
}

emp_status emp_ablation_make(emp_ablation_table **out, const emp_ablation *definition,
                             const emp_ablation_params *params, emp_error *err)
{
    emp_status  st = EMP_OK;
    struct plan plan = {.definition = definition, .params = params};

    *out = NULL;
    EMP_TRY(lay_out(&plan, err));
    EMP_TRY(load_tasks(&plan, err));
    EMP_TRY(add_jobs(&plan, err));
    st = emp_jobs_run(plan.job, plan.job_count, &params->jobs, err);
    if (st != EMP_OK && st != EMP_EINTERRUPTED) goto cleanup;
    fill_table(&plan);
    *out = plan.table;

cleanup:
    emp_jobs_clear(plan.job, plan.job_count);
    emp_free(plan.job);
    emp_tasks_clear(plan.task, plan.task != NULL ? plan.table->row_count : 0);
    emp_free(plan.task);
    emp_free(plan.row);
    if (*out == NULL) emp_ablation_destroy(plan.table);
    return st;
}

void emp_ablation_destroy(emp_ablation_table *table)
{
    if (table == NULL) return;
    emp_free(table->cell);
    emp_free(table);
}

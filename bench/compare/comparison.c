// SPDX-License-Identifier: GPL-3.0-or-later
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "base/text/options.h"
#include "base/text/text.h"
#include "bench/compare/comparison_internal.h"
#include "sim/bounds/bounds.h"

emp_comparison_params emp_comparison_params_default(void)
{
    return (emp_comparison_params){
        .seed_count = 5,
        .budget_count = 2,
        .budget = {{.evaluations = 100}, {.evaluations = 1000}},
        .draws = 20,
        .command = "bench placers",
        .jobs = {.folder = "runs", .threads = 1}};
}

int32_t emp_comparison_find_row(const emp_comparison *c, const char *key)
{
    for (int32_t r = 0; r < c->row_count; r++)
        if (strcmp(c->row[r].key, key) == 0) return r;
    return -1;
}

const char *emp_comparison_runtime_of(const emp_comparison *c, int32_t row)
{
    return c->tasks.loaded[row].problem->runtime.name;
}

const char *emp_comparison_number(double value, char text[EMP_SHEET_CELL_BYTES])
{
    return isinf(value) ? "none" : emp_sheet_number_fine(value, text);
}

emp_task_set emp_comparison_main_set(const emp_comparison *c)
{
    emp_task_set main = EMP_TASKS_TUNED;

    for (int32_t r = 0; r < c->row_count; r++)
        if (c->set[r] > main) main = c->set[r];
    return main;
}

void emp_comparison_sort(const emp_comparison *c, int32_t budget, emp_task_set set,
                         int32_t order[EMP_COMPARISON_ENTRANTS])
{
    const emp_comparison_overall *overall =
        &c->overall[emp_comparison_overall_index(c, budget, set, 0)];

    for (int32_t e = 0; e < c->entrant_count; e++) {
        int32_t at = e;
        while (at > 0 && overall[order[at - 1]].mean_rank > overall[e].mean_rank) {
            order[at] = order[at - 1];
            at--;
        }
        order[at] = e;
    }
}

double emp_comparison_least_gap(const emp_comparison *c, int32_t budget, int32_t row)
{
    double gap = NAN;

    for (int32_t e = 0; e < c->entrant_count; e++) {
        const emp_comparison_cell *cell =
            &c->cell[emp_comparison_cell_index(c, budget, row, e)];
        if (cell->is_best) gap = cell->gap_frac;
    }
    return gap;
}

/* ---- layout ---- */

static const char *row_key(const void *context, int32_t i)
{
    const emp_comparison_params *p = (const emp_comparison_params *)context;

    return i < p->row_count ? p->row[i].task.key : NULL;
}

struct entrants {
    emp_entrant entrant[EMP_COMPARISON_ENTRANTS];
    int32_t     count;
};

static const char *entrant_key(const void *context, int32_t i)
{
    const struct entrants *all = (const struct entrants *)context;

    return i < all->count ? emp_entrant_spelling(&all->entrant[i]) : NULL;
}

static emp_status check_budgets(const emp_comparison_params *p, emp_error *err)
{
    if (p->budget_count < 1 || p->budget_count > EMP_COMPARISON_BUDGETS)
        return EMP_ERROR(EMP_EINVAL, "%d budgets; give 1 to %d", p->budget_count,
                         EMP_COMPARISON_BUDGETS);
    for (int32_t b = 0; b < p->budget_count; b++) {
        const emp_comparison_budget *budget = &p->budget[b];
        if ((budget->evaluations > 0) == (budget->clock_s > 0))
            return EMP_ERROR(EMP_EINVAL,
                             "budget %d is not a number above 0 of evaluations or of CPU "
                             "seconds",
                             b + 1);
        for (int32_t a = 0; a < b; a++) /* their runs would share files */
            if (p->budget[a].evaluations == p->budget[b].evaluations &&
                p->budget[a].clock_s == p->budget[b].clock_s)
                return EMP_ERROR(EMP_EINVAL, "budgets %d and %d are the same", a + 1,
                                 b + 1);
    }
    return EMP_OK;
}

static emp_status check(const emp_comparison_params *p, const struct entrants *all,
                        emp_error *err)
{
    if (p->row_count < 1 || p->row_count > EMP_TASK_LIST_MOST)
        return EMP_ERROR(EMP_EINVAL, "%d tasks; give 1 to %d", p->row_count,
                         EMP_TASK_LIST_MOST);
    if (p->seed_count < 1 || p->seed_count > EMP_TRIALS_SEEDS)
        return EMP_ERROR(EMP_EINVAL, "%d seeds; give 1 to %d", p->seed_count,
                         EMP_TRIALS_SEEDS);
    EMP_CHECK(check_budgets(p, err));
    EMP_CHECK(
        emp_word_list_check(p->rows, "the comparison has no workload", row_key, p, err));
    return emp_word_list_check(p->methods, "the comparison has no method", entrant_key,
                               all, err);
}

static emp_status find_against(emp_comparison *c, const char *key, emp_error *err)
{
    c->against = key == NULL ? -1 : 0;
    while (c->against >= 0 && c->against < c->entrant_count &&
           strcmp(c->entrant[c->against].key, key) != 0)
        c->against++;
    if (c->against == c->entrant_count)
        return EMP_ERROR(EMP_EINVAL,
                         "\"%s\", to compare with, does not take part; the first method "
                         "that does is \"%s\"",
                         key, c->entrant[0].key);
    if (key == NULL) return EMP_OK;
    snprintf(c->against_title[0], sizeof c->against_title[0], "to %s", key);
    snprintf(c->against_title[1], sizeof c->against_title[1], "p against %s", key);
    return EMP_OK;
}

/* Now, and not after hours of other methods' runs. */
static emp_status check_clocks(const emp_comparison *c, emp_error *err)
{
    for (int32_t e = 0; e < c->entrant_count; e++)
        for (int32_t b = 0; b < c->budget_count; b++)
            if (c->entrant[e].method->is_outside && c->budget[b].clock_s > 0)
                return EMP_ERROR(EMP_EUNSUPPORTED,
                                 "method %s runs outside this process, whose CPU seconds "
                                 "are counted; leave out --clock, or the method",
                                 c->entrant[e].key);
    return EMP_OK;
}

/* Allocates what the sizes of the comparison ask for. */
static emp_status allocate(emp_comparison_plan *plan, emp_error *err)
{
    emp_comparison *c = plan->c;
    size_t          rows = (size_t)c->row_count, entrants = (size_t)c->entrant_count;
    size_t          budgets = (size_t)c->budget_count, cells = budgets * rows * entrants;

    c->cell = EMP_ADD_ARRAY(&c->arrays, emp_comparison_cell, cells);
    c->step_s = EMP_ADD_ARRAY(&c->arrays, double, cells *(size_t)c->seed_count);
    c->overall = EMP_ADD_ARRAY(&c->arrays, emp_comparison_overall,
                               budgets * EMP_TASK_SETS * entrants);
    c->test = EMP_ADD_ARRAY(&c->arrays, emp_comparison_test, budgets * EMP_TASK_SETS);
    c->change = EMP_ADD_ARRAY(&c->arrays, emp_comparison_change,
                              budgets * rows * EMP_SCORED_KINDS);
    c->bound_s = EMP_ADD_ARRAY(&c->arrays, double, rows);
    c->bound_gpu_kernels_s = EMP_ADD_ARRAY(&c->arrays, double, rows);
    c->refusal = emp_arrays_add(&c->arrays, rows * entrants, sizeof *c->refusal);
    plan->trial = EMP_ADD_ARRAY(&c->arrays, int32_t, cells);
    return c->arrays.is_short ? EMP_ERROR(EMP_ENOMEM, "comparison of %zu cells", cells)
                              : EMP_OK;
}

static emp_status choose(emp_comparison_plan *plan, const struct entrants *all,
                         emp_error *err)
{
    const emp_comparison_params *p = plan->params;
    emp_comparison              *c = plan->c;

    c->set = EMP_ADD_ARRAY(&c->arrays, emp_task_set, (size_t)p->row_count);
    c->entrant = EMP_ADD_ARRAY(&c->arrays, emp_entrant, (size_t)all->count);
    c->budget = EMP_ADD_ARRAY(&c->arrays, emp_comparison_budget, (size_t)p->budget_count);
    c->row = c->tasks.task = EMP_NEW_ARRAY(emp_task, (size_t)p->row_count);
    if (c->arrays.is_short || c->row == NULL) return EMP_ERROR(EMP_ENOMEM, "comparison");
    for (int32_t r = 0; r < p->row_count; r++) {
        if (!emp_word_list_has(p->rows, p->row[r].task.key)) continue;
        c->set[c->row_count] = p->row[r].set;
        c->tasks.task[c->row_count++] = p->row[r].task;
    }
    c->tasks.count = c->row_count;
    for (int32_t e = 0; e < all->count; e++) {
        if (emp_word_list_has(p->methods, emp_entrant_spelling(&all->entrant[e])))
            c->entrant[c->entrant_count++] = all->entrant[e];
    }
    for (int32_t i = 0; i < p->options_count; i++)
        EMP_CHECK(
            emp_entrants_set_options(c->entrant, c->entrant_count, p->options[i], err));
    for (int32_t b = 0; b < p->budget_count; b++)
        c->budget[c->budget_count++] = p->budget[b];
    EMP_CHECK(find_against(c, p->against, err));
    c->seed_count = p->seed_count;
    c->has_arms = p->entrant_count > 0;
    c->draws = p->draws;
    return EMP_OK;
}

/* " --budgets 100,1000", " --clock 5,30"; nothing without any. */
static void describe_budgets(emp_text *text, const emp_comparison *c,
                             emp_comparison_axis axis)
{
    const char *before = axis == EMP_BY_CLOCK ? " --clock " : " --budgets ";

    for (int32_t b = 0; b < c->budget_count; b++) {
        const emp_comparison_budget *budget = &c->budget[b];
        if (emp_comparison_axis_of(budget) != axis) continue;
        emp_text_add(text, "%s", before);
        if (axis == EMP_BY_CLOCK)
            emp_text_add(text, "%g", budget->clock_s);
        else
            emp_text_add(text, "%" PRId64, budget->evaluations);
        before = ",";
    }
}

static void describe(emp_comparison *c, const emp_comparison_params *p)
{
    emp_text command = {c->command, sizeof c->command, 0};

    emp_text_add(&command, "scripts/emplace %s", p->command);
    emp_text_add_option(&command, "tasks", p->tasks);
    emp_text_add_option(&command, "rows", p->rows);
    emp_text_add_option(&command, "methods", p->methods);
    for (int32_t i = 0; i < p->options_count; i++)
        emp_text_add_option(&command, "options", p->options[i]);
    emp_text_add_option(&command, "against", p->against);
    describe_budgets(&command, c, EMP_BY_EVALUATIONS);
    describe_budgets(&command, c, EMP_BY_CLOCK);
    emp_text_add(&command, " --seeds %d --draws %d", c->seed_count, c->draws);
    emp_text_add_option(&command, "runtime", p->runtime);
}

static void blank(emp_comparison *c)
{
    int32_t cells = c->budget_count * c->row_count * c->entrant_count;

    for (int32_t i = 0; i < cells; i++) {
        emp_comparison_cell *cell = &c->cell[i];
        *cell = (emp_comparison_cell){.step_s = {NAN, NAN, NAN},
                                      .best_s = NAN,
                                      .worst_s = NAN,
                                      .evaluations = NAN,
                                      .cpu_s = NAN,
                                      .gap_frac = NAN,
                                      .bound_gpu_kernels_s = NAN,
                                      .gap_gpu_kernels_frac = NAN,
                                      .rank = NAN};
        for (int k = 0; k < EMP_SCORED_KINDS; k++) cell->rescored_s[k] = NAN;
    }
    for (int32_t i = 0; i < c->budget_count * EMP_TASK_SETS * c->entrant_count; i++)
        c->overall[i] = (emp_comparison_overall){.mean_rank = NAN,
                                                 .to_least = {NAN, NAN, NAN},
                                                 .to_best = {NAN, NAN, NAN},
                                                 .to_first = {NAN, NAN, NAN},
                                                 .to_against = {NAN, NAN, NAN},
                                                 .p_against = NAN,
                                                 .p = NAN,
                                                 .p_holm = NAN,
                                                 .cpu_s = NAN};
    for (int32_t i = 0; i < c->budget_count * EMP_TASK_SETS; i++)
        c->test[i] =
            (emp_comparison_test){.friedman = {NAN, NAN, NAN, NAN}, .difference = NAN};
    for (int32_t i = 0; i < c->budget_count * c->row_count * EMP_SCORED_KINDS; i++)
        c->change[i] = (emp_comparison_change){NAN, NAN, NAN};
}

static emp_status lay_out(emp_comparison_plan *plan, emp_error *err)
{
    emp_status                   st = EMP_OK;
    const emp_comparison_params *p = plan->params;
    struct entrants             *all = EMP_NEW(struct entrants);

    plan->c = EMP_NEW(emp_comparison);
    if (all == NULL || plan->c == NULL) EMP_FAIL(EMP_ENOMEM, "comparison");
    for (int32_t i = 0; i < p->entrant_count; i++) all->entrant[i] = p->entrant[i];
    all->count =
        p->entrant_count > 0 ? p->entrant_count : emp_entrants_list(all->entrant);
    EMP_TRY(emp_entrants_add_outside(all->entrant, &all->count, p->methods, err));
    EMP_TRY(check(p, all, err));
    EMP_TRY(choose(plan, all, err));
    EMP_TRY(check_clocks(plan->c, err));
    EMP_TRY(allocate(plan, err));
    describe(plan->c, p);
    blank(plan->c);

cleanup:
    emp_free(all);
    return st;
}

/* ---- tasks and runs ---- */

static emp_status add_runs(emp_comparison_plan *plan, int32_t budget, int32_t row,
                           int32_t entrant, emp_error *err)
{
    emp_comparison              *c = plan->c;
    const emp_entrant           *e = &c->entrant[entrant];
    const emp_comparison_budget *limit = &c->budget[budget];
    const int32_t                trial = plan->trials.cell_count;
    const emp_job_method         method = {.title = e->key,
                                           .method = e->method->name,
                                           .preset = e->preset[0] == '\0' ? NULL : e->preset,
                                           .options = e->options,
                                           .budget = e->is_budgeted ? limit->evaluations : 0};
    int32_t                      count;

    plan->trial[emp_comparison_cell_index(c, budget, row, entrant)] = trial;
    EMP_CHECK(emp_trials_add(&plan->trials, &c->tasks, row, &method,
                             emp_comparison_runs_of(c, entrant), err));
    emp_job *job = emp_trials_cell(&plan->trials, trial, &count);
    for (int32_t s = 0; s < count && e->is_budgeted && limit->clock_s > 0; s++) {
        job[s].run.budget_cpu_s = limit->clock_s;
        job[s].cost *= limit->clock_s * 100; /* evaluations a second, more or less */
    }
    return EMP_OK;
}

/* The budget whose runs an entrant's cells of a budget show: methods that stop by themselves have
 * the first budget's runs, and the longest clock has the runs of all clocks. */
static int32_t source_of(const emp_comparison *c, int32_t budget, int32_t entrant)
{
    if (!c->entrant[entrant].is_budgeted) return 0;
    if (emp_comparison_axis_of(&c->budget[budget]) == EMP_BY_EVALUATIONS) return budget;
    return emp_comparison_largest(c, EMP_BY_CLOCK);
}

static emp_status add_row_jobs(emp_comparison_plan *plan, int32_t row, emp_error *err)
{
    emp_comparison *c = plan->c;

    for (int32_t b = 0; b < c->budget_count; b++) {
        for (int32_t e = 0; e < c->entrant_count; e++)
            if (source_of(c, b, e) == b) EMP_CHECK(add_runs(plan, b, row, e, err));
    }
    for (int32_t b = 0; b < c->budget_count; b++) {
        for (int32_t e = 0; e < c->entrant_count; e++)
            plan->trial[emp_comparison_cell_index(c, b, row, e)] =
                plan->trial[emp_comparison_cell_index(c, source_of(c, b, e), row, e)];
    }
    return EMP_OK;
}

static emp_status add_jobs(emp_comparison_plan *plan, emp_error *err)
{
    emp_comparison *c = plan->c;

    for (int32_t i = 0; i < c->budget_count * c->entrant_count; i++) {
        int32_t b = i / c->entrant_count, e = i % c->entrant_count;
        if (source_of(c, b, e) == b) plan->jobs_of_row += emp_comparison_runs_of(c, e);
    }
    EMP_CHECK(emp_trials_reserve(&plan->trials,
                                 c->budget_count * c->row_count * c->entrant_count,
                                 plan->jobs_of_row * c->row_count, err));
    for (int32_t r = 0; r < c->row_count; r++) EMP_CHECK(add_row_jobs(plan, r, err));
    return EMP_OK;
}

static emp_status find_bound(void *context, int32_t row, emp_error *err)
{
    emp_comparison_plan *plan = (emp_comparison_plan *)context;
    emp_bounds           bounds = {0};

    EMP_CHECK(emp_bounds_compute(&bounds, plan->c->tasks.loaded[row].problem,
                                 &(emp_bounds_options){.effort = EMP_BOUNDS_EFFORT},
                                 err));
    plan->c->bound_s[row] = (double)bounds.best_ns * 1e-9;
    plan->c->bound_gpu_kernels_s[row] = (double)bounds.gpu_kernels_ns * 1e-9;
    return EMP_OK;
}

static emp_status find_bounds(emp_comparison_plan *plan, emp_error *err)
{
    return emp_trials_each(plan->c->row_count, plan->params->jobs.threads, find_bound,
                           plan, err);
}

/* ---- all of it ---- */

/* It makes a part of the runs, and whoever reads all of them sums up. */
static bool is_part(const emp_jobs_params *jobs)
{
    return jobs->shard_count > 0 || jobs->ranks != NULL;
}

emp_status emp_comparison_make(emp_comparison **out, const emp_comparison_params *params,
                               emp_error *err)
{
    emp_status          st = EMP_OK, made = EMP_OK;
    emp_comparison_plan plan = {.params = params};
    emp_jobs_params     jobs = params->jobs;

    *out = NULL;
    jobs.keeps_refusals = true;
    jobs.is_single = jobs.is_lean = true;
    EMP_TRY(lay_out(&plan, err));
    EMP_TRY(emp_trials_load(&plan.c->tasks, params->runtime, jobs.threads, err));
    EMP_TRY(add_jobs(&plan, err));
    if (!is_part(&jobs)) {
        EMP_TRY(emp_jobs_check(plan.trials.job, plan.trials.job_count, &jobs, err));
        EMP_TRY(find_bounds(&plan, err));
    }
    made = emp_trials_run(&plan.trials, &jobs, err);
    if (made != EMP_OK && made != EMP_EINTERRUPTED) EMP_TRY(made);
    if (is_part(&jobs) && made == EMP_OK) EMP_TRY(find_bounds(&plan, err));
    plan.c->runs_made = emp_trials_ready(&plan.trials);
    plan.c->runs_planned = plan.trials.job_count;
    emp_comparison_fill(&plan);
    EMP_TRY(emp_comparison_sum_up(plan.c, err));
    EMP_TRY(emp_comparison_draw_curves(&plan, err));
    if (made == EMP_OK) made = emp_comparison_rescore(&plan, err);
    if (made != EMP_OK && made != EMP_EINTERRUPTED) EMP_TRY(made);
    *out = plan.c;
    st = made;

cleanup:
    emp_trials_clear(&plan.trials);
    if (*out == NULL) emp_comparison_destroy(plan.c);
    return st;
}

void emp_comparison_destroy(emp_comparison *c)
{
    if (c == NULL) return;
    emp_trials_tasks_clear(&c->tasks);
    emp_arrays_clear(&c->arrays);
    emp_free(c);
}

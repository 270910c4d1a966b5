// SPDX-License-Identifier: GPL-3.0-or-later
/* Lays out and makes the runs of arms on tasks, and sums them up. */
#include "bench/studies/ablation.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "base/mem.h"
#include "base/text/options.h"
#include "run/methods.h"
#include "run/sheet/sheet.h"

struct plan {
    const emp_ablation      *definition;
    const emp_trials_params *params;
    emp_ablation_table      *table;
    emp_trials               trials; /* [row][arm] */
};

/* ---- layout ---- */

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

static emp_status create_table(struct plan *plan, emp_error *err)
{
    const emp_ablation      *d = plan->definition;
    const emp_trials_params *p = plan->params;
    emp_ablation_table      *t = plan->table = EMP_NEW(emp_ablation_table);

    if (t == NULL) return EMP_ERROR(EMP_ENOMEM, "study");
    if (p->seed_count < 0 || p->seed_count > EMP_TRIALS_SEEDS)
        return EMP_ERROR(EMP_EINVAL, "%d seeds; give 1 to %d", p->seed_count,
                         EMP_TRIALS_SEEDS);
    EMP_CHECK(emp_trials_choose(&t->tasks, d->row, d->row_count, p->rows, d->rows,
                                "the study has no row", err));
    EMP_CHECK(emp_word_list_check(p->arms, "the study has no arm", arm_key, d, err));
    EMP_CHECK(emp_trials_load(&t->tasks, p->runtime, p->jobs.threads, err));
    t->definition = d;
    snprintf(t->runtime, sizeof t->runtime, "%s", t->tasks.runtime);
    t->seed_count = p->is_full ? d->seed_count : d->first_seed_count;
    t->budget = p->is_full ? d->budget : d->first_budget;
    if (p->seed_count > 0) t->seed_count = p->seed_count;
    if (p->budget > 0) t->budget = p->budget;
    t->row_count = t->tasks.count;
    for (int32_t a = 0; a < d->arm_count; a++) t->arm_count += is_asked(plan, a);
    EMP_CHECK(EMP_ALLOC(t->overall, (size_t)t->arm_count));
    return EMP_ALLOC(t->cell, (size_t)t->arm_count * (size_t)t->row_count);
}

const char *emp_ablation_method(const emp_ablation *definition, const emp_arm *arm)
{
    return arm->method != NULL ? arm->method : definition->method;
}

const char *emp_ablation_preset(const emp_ablation *definition, const emp_arm *arm)
{
    return arm->preset != NULL || arm->method != NULL ? arm->preset : definition->preset;
}

/* An arm on a row: one run if seeds change nothing, and no budget if the method ends by itself. */
static emp_status add_cell(struct plan *plan, int32_t row, const emp_arm *arm,
                           emp_error *err)
{
    emp_ablation_table *t = plan->table;
    const int32_t       cell = plan->trials.cell_count;
    const emp_method   *type = NULL;
    int32_t             count;
    emp_job_method      method = {.title = arm->name,
                                  .method = emp_ablation_method(plan->definition, arm),
                                  .preset = emp_ablation_preset(plan->definition, arm),
                                  .options = arm->options};

    t->cell[cell] = (emp_ablation_cell){.arm = arm,
                                        .row = &t->tasks.task[row],
                                        .balance = NAN,
                                        .cpu_s = NAN,
                                        .break_even_steps = NAN,
                                        .quality_evaluations = NAN,
                                        .quality_s = NAN};
    EMP_CHECK(emp_method_find(&type, method.method, err));
    method.budget = type->uses_budget ? t->budget : 0;
    EMP_CHECK(emp_trials_add(&plan->trials, &t->tasks, row, &method,
                             type->uses_seed ? t->seed_count : 1, err));
    emp_job *job = emp_trials_cell(&plan->trials, cell, &count);
    for (int32_t i = 0; i < count; i++) job[i].run.placer.decides = arm->decides;
    return EMP_OK;
}

static emp_status lay_out(struct plan *plan, emp_error *err)
{
    const emp_ablation *d = plan->definition;

    EMP_CHECK(create_table(plan, err));
    const emp_ablation_table *t = plan->table;
    const int32_t             cells = t->row_count * t->arm_count;
    EMP_CHECK(emp_trials_reserve(&plan->trials, cells, cells * t->seed_count, err));
    for (int32_t r = 0; r < t->row_count; r++)
        for (int32_t a = 0; a < d->arm_count; a++)
            if (is_asked(plan, a)) EMP_CHECK(add_cell(plan, r, &d->arm[a], err));
    return EMP_OK;
}

/* ---- from runs to cells ---- */

/* One number for each run of a cell that is ready; infinite where the run has none. */
typedef struct {
    double  value[EMP_TRIALS_SEEDS];
    int32_t count;
} numbers;

/* Infinite if most runs have none; NaN if none is ready. */
static double median_of(numbers *n)
{
    return n->count > 0 ? emp_summary_of(n->value, (size_t)n->count).median : NAN;
}

static double finite_median_of(numbers *n)
{
    const double median = median_of(n);

    return isfinite(median) ? median : NAN;
}

/* Busy seconds of the busiest GPU over their mean. */
static double balance_of(const emp_record *r, const emp_machine *machine)
{
    double  most = 0, sum = 0;
    int32_t gpus = 0;

    for (int32_t d = 0; d < r->device_count; d++) {
        if (machine->device[d].kind != EMP_DEVICE_GPU) continue;
        gpus++;
        sum += r->busy_s[d];
        most = fmax(most, r->busy_s[d]);
    }
    return r->is_feasible && sum > 0 ? most * gpus / sum : INFINITY;
}

static void fill_steps(emp_ablation_cell *cell, const emp_trials *trials, int32_t number)
{
    int64_t        feasible = 0;
    int32_t        count;
    const emp_job *job = emp_trials_cell(trials, number, &count);

    for (int32_t i = 0; i < count; i++) {
        const emp_record *r = &job[i].record;
        if (!job[i].is_ready) continue;
        cell->run_count++;
        cell->oom_count += !r->is_feasible;
        cell->evaluations += r->evaluations;
        feasible += r->feasible_count;
    }
    cell->step_s = emp_trials_summary(trials, number);
    cell->feasible_frac =
        cell->evaluations > 0 ? (double)feasible / (double)cell->evaluations : NAN;
}

static double ratio_of(const emp_ablation_cell *cell, const emp_ablation_cell *standard)
{
    if (!isfinite(cell->step_s.median) || !isfinite(standard->step_s.median)) return NAN;
    return cell->step_s.median / standard->step_s.median;
}

static double least_median(const emp_ablation_table *t, int32_t row)
{
    double least_s = INFINITY;

    for (int32_t a = 0; a < t->arm_count; a++)
        least_s = fmin(least_s, t->cell[row * t->arm_count + a].step_s.median);
    return least_s;
}

/* How many placements a run scored until its best was close, and what it takes to measure them;
 * infinite: it never was. */
static void quality_of(const emp_record *r, double close_s, double *evaluations,
                       double *seconds)
{
    int64_t scored = 0;
    double  sum_s = 0;

    *evaluations = *seconds = INFINITY;
    for (int32_t i = 0; i < r->point_count; i++) {
        const emp_curve_point *p = &r->curve[i];
        sum_s += p->mean_s * (double)(p->evaluations - scored);
        scored = p->evaluations;
        if (!(p->best_s <= close_s)) continue;
        *evaluations = (double)scored;
        *seconds = EMP_ABLATION_MEASURED_STEPS * sum_s;
        return;
    }
}

/* Steps until an arm has saved the CPU time of its search; infinite if its steps are no shorter than the default's. */
static double break_even_of(const emp_ablation_cell *cell,
                            const emp_ablation_cell *standard)
{
    const double saved_s = standard->step_s.median - cell->step_s.median;

    if (cell == standard || !isfinite(saved_s)) return NAN;
    return saved_s > 0 ? cell->cpu_s / saved_s : INFINITY;
}

/* The columns beside step times. */
static void fill_more(emp_ablation_cell *cell, const struct plan *plan, int32_t number)
{
    const emp_ablation_table *t = plan->table;
    const int32_t             row = number / t->arm_count;
    const emp_ablation_cell  *standard = &t->cell[row * t->arm_count];
    const emp_machine        *machine = t->tasks.loaded[row].machine;
    const double              close_s = (1 + EMP_ABLATION_CLOSE) * least_median(t, row);
    const uint32_t            shows = plan->definition->shows;
    numbers        balance = {0}, cpu_s = {0}, evaluations = {0}, seconds = {0};
    int32_t        count;
    const emp_job *job = emp_trials_cell(&plan->trials, number, &count);

    for (int32_t i = 0; i < count; i++) {
        if (!job[i].is_ready) continue;
        const double spent_s = job[i].timing.cpu_s;
        balance.value[balance.count++] = balance_of(&job[i].record, machine);
        cpu_s.value[cpu_s.count++] = isnan(spent_s) ? INFINITY : spent_s;
        quality_of(&job[i].record, close_s, &evaluations.value[evaluations.count++],
                   &seconds.value[seconds.count++]);
    }
    if (shows & EMP_SHOWS_BALANCE) cell->balance = finite_median_of(&balance);
    if (shows & EMP_SHOWS_COST) {
        cell->cpu_s = finite_median_of(&cpu_s);
        cell->break_even_steps = break_even_of(cell, standard);
    }
    if ((shows & EMP_SHOWS_QUALITY) == 0) return;
    cell->quality_evaluations = median_of(&evaluations);
    cell->quality_s = median_of(&seconds);
}

static void fill(struct plan *plan)
{
    emp_ablation_table *t = plan->table;
    const int32_t       cells = t->row_count * t->arm_count;

    for (int32_t i = 0; i < cells; i++) fill_steps(&t->cell[i], &plan->trials, i);
    for (int32_t i = 0; i < cells; i++) {
        t->cell[i].ratio = ratio_of(&t->cell[i], &t->cell[i - i % t->arm_count]);
        fill_more(&t->cell[i], plan, i);
    }
}

/* ---- from cells to what holds over tasks: a task has one figure an arm ---- */

enum { BOOTSTRAP_SEED = 1 };
#define LEVEL 0.05

/* Log ratios of an arm's medians to the default's; as many tasks have both. */
static int32_t list_ratios(double *log_ratio, const emp_ablation_table *t, int32_t arm)
{
    int32_t count = 0;

    for (int32_t r = 0; r < t->row_count; r++) {
        const double own = t->cell[r * t->arm_count + arm].step_s.median;
        const double standard = t->cell[r * t->arm_count].step_s.median;
        if (isnan(own) || isnan(standard)) continue;
        log_ratio[count++] = emp_log_ratio(own, standard);
    }
    return count;
}

static void correct(emp_ablation_table *t, double *p, double *corrected)
{
    emp_holm(corrected, p, t->arm_count);
    for (int32_t a = 0; a < t->arm_count; a++) t->overall[a].p_holm = corrected[a];
}

emp_status emp_ablation_sum_up(emp_ablation_table *t, emp_error *err)
{
    emp_status   st = EMP_OK;
    const size_t rows = (size_t)t->row_count, arms = (size_t)t->arm_count;
    double      *log_ratio = EMP_NEW_ARRAY(double, rows);
    double      *p = EMP_NEW_ARRAY(double, 2 * arms);

    if (log_ratio == NULL || p == NULL) EMP_FAIL(EMP_ENOMEM, "sums of %zu arms", arms);
    t->test_least = emp_wilcoxon_least(t->arm_count > 1 ? t->arm_count - 1 : 1, LEVEL);
    for (int32_t a = 0; a < t->arm_count; a++) {
        const int32_t count = list_ratios(log_ratio, t, a);
        t->overall[a].task_count = count;
        t->overall[a].ratio = emp_ratio_interval(log_ratio, count, BOOTSTRAP_SEED);
        p[a] = NAN;
        if (a > 0 && count >= t->test_least)
            EMP_TRY(emp_wilcoxon(&p[a], log_ratio, count, err));
    }
    correct(t, p, p + arms);

cleanup:
    emp_free(log_ratio);
    emp_free(p);
    return st;
}

/* ---- all of it ---- */

emp_status emp_ablation_make(emp_ablation_table **out, const emp_ablation *definition,
                             const emp_trials_params *params, emp_error *err)
{
    emp_status      st = EMP_OK, made = EMP_OK;
    struct plan     plan = {.definition = definition, .params = params};
    emp_jobs_params jobs = params->jobs;

    *out = NULL;
    jobs.keeps_refusals = true; /* methods that find nothing have cells, too */
    jobs.is_single = (definition->shows & EMP_SHOWS_COST) != 0;
    EMP_TRY(lay_out(&plan, err));
    made = emp_trials_run(&plan.trials, &jobs, err);
    if (made != EMP_OK && made != EMP_EINTERRUPTED) EMP_TRY(made);
    plan.table->runs_made = emp_trials_ready(&plan.trials);
    plan.table->runs_planned = plan.trials.job_count;
    fill(&plan);
    EMP_TRY(emp_ablation_sum_up(plan.table, err));
    *out = plan.table;
    st = made;

cleanup:
    emp_trials_clear(&plan.trials);
    if (*out == NULL) emp_ablation_destroy(plan.table);
    return st;
}

void emp_ablation_destroy(emp_ablation_table *table)
{
    if (table == NULL) return;
    emp_trials_tasks_clear(&table->tasks);
    emp_free(table->cell);
    emp_free(table->overall);
    emp_free(table);
}

/* ---- the table as sheets: one a row, a line an arm, and one over all rows ---- */

static const emp_sheet_column columns[] = {
    EMP_COLUMN("study", NULL, EMP_SHEET_WORD),
    EMP_COLUMN("arm", "", EMP_SHEET_WORD, .width = 20),
    EMP_COLUMN("task", NULL, EMP_SHEET_WORD),
    EMP_COLUMN("workload", NULL, EMP_SHEET_WORD),
    EMP_COLUMN("machine", NULL, EMP_SHEET_WORD),
    EMP_COLUMN("runtime", NULL, EMP_SHEET_WORD),
    EMP_COLUMN("method", NULL, EMP_SHEET_WORD),
    EMP_COLUMN("preset", NULL, EMP_SHEET_WORD),
    EMP_COLUMN("options", NULL, EMP_SHEET_WORD),
    EMP_COLUMN("decides", NULL, EMP_SHEET_WORD, .is_optional = true),
    EMP_COLUMN("budget", NULL, EMP_SHEET_COUNT),
    EMP_COLUMN("seeds", "seeds", EMP_SHEET_COUNT),
    EMP_COLUMN("oom_seeds", NULL, EMP_SHEET_COUNT),
    EMP_COLUMN("median_s", "median", EMP_SHEET_REAL, .width = 7),
    EMP_COLUMN("best_s", "best", EMP_SHEET_REAL, .width = 7),
    EMP_COLUMN("worst_s", "worst", EMP_SHEET_REAL, .width = 7),
    EMP_COLUMN("ratio_to_default", "ratio", EMP_SHEET_REAL),
    EMP_COLUMN("evaluations", "evaluations", EMP_SHEET_COUNT),
    EMP_COLUMN("feasible_frac", "fits", EMP_SHEET_SHARE, .width = 7),
    EMP_COLUMN("balance", "balance", EMP_SHEET_REAL, .is_optional = true),
    EMP_COLUMN("cpu_s", "CPU s", EMP_SHEET_REAL, .is_optional = true),
    EMP_COLUMN("break_even_steps", "break-even", EMP_SHEET_REAL, .form = "%.0f",
               .infinite = "never", .is_optional = true),
    EMP_COLUMN("quality_evaluations", "close after", EMP_SHEET_REAL, .form = "%.0f",
               .infinite = "never", .is_optional = true),
    EMP_COLUMN("quality_s", "measured s", EMP_SHEET_REAL, .form = "%.0f",
               .infinite = "never", .is_optional = true),
    EMP_COLUMN("tasks", NULL, EMP_SHEET_COUNT, .is_optional = true),
    EMP_COLUMN("ratio_low", NULL, EMP_SHEET_REAL, .is_optional = true),
    EMP_COLUMN("ratio_high", NULL, EMP_SHEET_REAL, .is_optional = true),
    EMP_COLUMN("p_holm", NULL, EMP_SHEET_REAL, .is_optional = true)};

static const emp_sheet_column overall_columns[] = {
    EMP_COLUMN(NULL, "", EMP_SHEET_WORD, .width = 20),
    EMP_COLUMN(NULL, "tasks", EMP_SHEET_COUNT),
    EMP_COLUMN(NULL, "ratio", EMP_SHEET_REAL, .low = "low", .high = "high",
               .range = EMP_SHEET_BEHIND),
    EMP_COLUMN(NULL, "p", EMP_SHEET_REAL, .is_optional = true)};

static const char *const all_tasks = "All tasks";

/* The arm's decisions, if any arm decides more than devices. */
static emp_value decides_of(const emp_ablation_table *t, const emp_arm *arm)
{
    const emp_ablation *d = t->definition;
    int32_t             more = 0;

    for (int32_t a = 0; a < d->arm_count; a++)
        more |= d->arm[a].decides & EMP_DECIDES_MORE;
    return emp_value_if(more != 0,
                        EMP_V(emp_record_decides(&(emp_record){
                            .has_order = (arm->decides & EMP_DECIDES_ORDER) != 0,
                            .has_fusion = (arm->decides & EMP_DECIDES_FUSION) != 0})));
}

/* A line for programs; either of cell and overall is NULL. */
static void add_line(emp_sheet *s, const emp_ablation_table *t, const emp_arm *arm,
                     const emp_ablation_cell *cell, const emp_ablation_overall *o)
{
    static const emp_ablation_cell    no_cell = {0};
    static const emp_ablation_overall no_overall = {0};
    const emp_ablation               *d = t->definition;
    const bool                        is_cell = cell != NULL;
    const emp_ablation_cell          *c = is_cell ? cell : &no_cell;
    const emp_task                   *task = c->row;

    if (is_cell) o = &no_overall;
#define OF_CELL(value)     emp_value_if(is_cell, EMP_V(value))
#define SHOWN(what, value) emp_value_if(is_cell && (d->shows & (what)) != 0, EMP_V(value))
    EMP_SHEET_ADD(
        s, EMP_V(arm->study), EMP_V(arm->name), EMP_V(is_cell ? task->title : all_tasks),
        emp_value_word(is_cell ? task->spec : NULL),
        emp_value_word(is_cell ? task->machine : NULL), EMP_V(t->runtime),
        EMP_V(emp_ablation_method(d, arm)), EMP_V(emp_ablation_preset(d, arm)),
        EMP_V(arm->options), decides_of(t, arm), EMP_V(t->budget), OF_CELL(c->run_count),
        OF_CELL(c->oom_count), OF_CELL(c->step_s.median), OF_CELL(c->step_s.min),
        OF_CELL(c->step_s.max), EMP_V(is_cell ? c->ratio : o->ratio.mean),
        OF_CELL(c->evaluations), OF_CELL(c->feasible_frac),
        SHOWN(EMP_SHOWS_BALANCE, c->balance), SHOWN(EMP_SHOWS_COST, c->cpu_s),
        SHOWN(EMP_SHOWS_COST, c->break_even_steps),
        SHOWN(EMP_SHOWS_QUALITY, c->quality_evaluations),
        SHOWN(EMP_SHOWS_QUALITY, c->quality_s),
        emp_value_if(!is_cell, EMP_V(o->task_count)),
        emp_value_if(!is_cell, EMP_V(o->ratio.low)),
        emp_value_if(!is_cell, EMP_V(o->ratio.high)),
        emp_value_if(!is_cell && !isnan(o->p_holm), EMP_V(o->p_holm)));
}

static void fill_sheet(emp_sheet *s, const emp_ablation_table *t, int32_t row)
{
    const emp_ablation_cell *cell = &t->cell[row * t->arm_count];
    const emp_task          *task = cell->row;

    EMP_SHEET_INIT(s, columns);
    emp_sheet_set_title(s, "%s (%s on %s)", task->title, task->spec, task->machine);
    for (int32_t a = 0; a < t->arm_count; a++)
        add_line(s, t, cell[a].arm, &cell[a], NULL);
}

/* ---- over all tasks ---- */

static void fill_overall_data(emp_sheet *s, const emp_ablation_table *t)
{
    EMP_SHEET_INIT(s, columns);
    for (int32_t a = 0; a < t->arm_count; a++)
        add_line(s, t, t->cell[a].arm, NULL, &t->overall[a]);
}

static void fill_overall_text(emp_sheet *s, const emp_ablation_table *t)
{
    EMP_SHEET_INIT(s, overall_columns);
    for (int32_t a = 0; a < t->arm_count; a++) {
        const emp_ablation_overall *o = &t->overall[a];
        EMP_SHEET_ADD(s, EMP_V(t->cell[a].arm->name), EMP_V(o->task_count),
                      emp_value_range(o->ratio.mean, o->ratio.low, o->ratio.high),
                      emp_value_if(!isnan(o->p_holm), EMP_V(o->p_holm)));
    }
}

static bool is_for_people(emp_sheet_format format)
{
    return format == EMP_SHEET_TEXT || format == EMP_SHEET_MD;
}

static void fill_overall(emp_sheet *s, const emp_ablation_table *t,
                         emp_sheet_format format)
{
    if (is_for_people(format))
        fill_overall_text(s, t);
    else
        fill_overall_data(s, t);
    emp_sheet_set_title(s, "%s", all_tasks);
}

/* ---- notes ---- */

static bool varies_method(const emp_ablation *d)
{
    for (int32_t a = 0; a < d->arm_count; a++)
        if (d->arm[a].method != NULL) return true;
    return false;
}

static void note_columns(emp_sheet *s, const emp_ablation_table *t)
{
    const emp_ablation *d = t->definition;

    if (varies_method(d))
        emp_sheet_note(s,
                       "Methods with equal budgets: seconds per training step, simulated,"
                       " runtime %s.",
                       t->runtime);
    else
        emp_sheet_note(s,
                       "%s, one choice changed at a time: seconds per training step, "
                       "simulated, runtime %s.",
                       d->method, t->runtime);
    emp_sheet_note(s,
                   "Median, best and worst over seeds of the best placement of a run of "
                   "%" PRId64 " evaluations.",
                   t->budget);
    emp_sheet_note(s,
                   "Ratio: of the median to that of %s. Fits: share of all placements "
                   "that were tried. OOM: none fits in memory.",
                   d->arm[0].name);
    if (d->shows & EMP_SHOWS_BALANCE)
        emp_sheet_note(s, "Balance: busy seconds of the busiest GPU over the mean of all "
                          "GPUs; 1 is even.");
    if (d->shows & EMP_SHOWS_COST)
        emp_sheet_note(s,
                       "CPU s: of a run on one thread of this computer. Break-even: "
                       "training steps until the search has saved as many seconds, "
                       "against %s.",
                       d->arm[0].name);
    if (d->shows & EMP_SHOWS_QUALITY)
        emp_sheet_note(s,
                       "Close after: placements until the best was within %.0f %% of the "
                       "task's least median. Measured s: %d steps of each of them.",
                       100 * EMP_ABLATION_CLOSE, EMP_ABLATION_MEASURED_STEPS);
}

static void note_overall(emp_sheet *s, const emp_ablation_table *t)
{
    if (t->row_count < 2) return;
    emp_sheet_note(s, "All tasks: geometric mean of ratios, with its 95 %% interval by "
                      "resampling tasks.");
    if (t->row_count < t->test_least)
        emp_sheet_note(s, "There is no p: a test of %d arms needs %d tasks.",
                       t->arm_count, t->test_least);
    else
        emp_sheet_note(s,
                       "p: Wilcoxon's test of medians against %s, with Holm's "
                       "correction.",
                       t->definition->arm[0].name);
}

static void note_shortened(emp_sheet *s, const emp_ablation_table *t)
{
    const emp_ablation *d = t->definition;

    if (t->seed_count < d->seed_count || t->budget < d->budget)
        emp_sheet_note(s,
                       "This is a first study: %" PRId64 " of %" PRId64
                       " evaluations a run, %s%d of %d seeds. With --full it has all.",
                       t->budget, d->budget,
                       t->runs_made < t->runs_planned ? "at most " : "", t->seed_count,
                       d->seed_count);
}

emp_status emp_ablation_print(FILE *out, const emp_ablation_table *t, const char *note,
                              emp_sheet_format format, emp_error *err)
{
    const int32_t count = t->row_count + (t->row_count > 1);
    emp_sheet    *sheet = EMP_NEW_ARRAY(emp_sheet, (size_t)count);
    emp_sheet    *last = NULL;
    emp_status    st = EMP_OK;

    if (sheet == NULL) EMP_FAIL(EMP_ENOMEM, "table of %d rows", t->row_count);
    last = &sheet[count - 1];
    for (int32_t r = 0; r < t->row_count; r++) fill_sheet(&sheet[r], t, r);
    if (count > t->row_count) fill_overall(last, t, format);
    for (int32_t i = 1; i < count; i++) sheet[i - 1].next = &sheet[i];
    emp_sheet_set_runs(sheet, t->runs_made, t->runs_planned);
    if (note != NULL) emp_sheet_note(last, "%s", note);
    note_columns(last, t);
    note_overall(last, t);
    note_shortened(last, t);
    st = emp_sheet_print(out, sheet, format, err);

cleanup:
    for (int32_t i = 0; sheet != NULL && i < count; i++) emp_sheet_clear(&sheet[i]);
    emp_free(sheet);
    return st;
}

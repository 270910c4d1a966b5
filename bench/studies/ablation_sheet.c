// SPDX-License-Identifier: GPL-3.0-or-later
/* A table of arms as sheets: one a row, a line an arm, and one over all rows. */
#include <inttypes.h>

#include "base/mem.h"
#include "bench/studies/ablation.h"
#include "run/sheet/sheet.h"

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

static void fill(emp_sheet *s, const emp_ablation_table *t, int32_t row)
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
    for (int32_t r = 0; r < t->row_count; r++) fill(&sheet[r], t, r);
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

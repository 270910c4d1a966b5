// SPDX-License-Identifier: GPL-3.0-or-later
/* A comparison as sheets: its cells, one sheet a budget; their CPU seconds; its sensitivity; its
 * curves; rankings over the tasks of a set, one sheet a budget and set, and one of all. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "base/text/text.h"
#include "base/text/units.h"
#include "bench/compare/comparison_internal.h"

/* The subject of a line. */
#define TASK_COLUMNS                                                                   \
    EMP_COLUMN("task", NULL, EMP_SHEET_WORD), EMP_COLUMN("set", NULL, EMP_SHEET_WORD), \
        EMP_COLUMN("workload", NULL, EMP_SHEET_WORD),                                  \
        EMP_COLUMN("machine", NULL, EMP_SHEET_WORD),                                   \
        EMP_COLUMN("runtime", NULL, EMP_SHEET_WORD),                                   \
        EMP_COLUMN("budget", NULL, EMP_SHEET_COUNT),                                   \
        EMP_COLUMN("clock_s", NULL, EMP_SHEET_REAL)
#define TASK_VALUES(c, b, r)                                                             \
    EMP_V((c)->row[r].key), EMP_V(emp_task_set_name((c)->set[r])),                       \
        EMP_V((c)->row[r].spec), EMP_V((c)->row[r].machine),                             \
        EMP_V(emp_comparison_runtime_of(c, r)),                                          \
        emp_value_if((c)->budget[b].evaluations > 0, EMP_V((c)->budget[b].evaluations)), \
        emp_value_if((c)->budget[b].clock_s > 0, EMP_V((c)->budget[b].clock_s))

/* The entrant of a line that only programs see. */
#define ENTRANT_COLUMNS                             \
    EMP_COLUMN("entrant", NULL, EMP_SHEET_WORD),    \
        EMP_COLUMN("method", NULL, EMP_SHEET_WORD), \
        EMP_COLUMN("preset", NULL, EMP_SHEET_WORD)
#define ENTRANT_VALUES(e) EMP_V((e)->key), EMP_V((e)->method->name), EMP_V((e)->preset)

/* ---- cells ---- */

static const emp_sheet_column cell_columns[] = {
    TASK_COLUMNS,
    EMP_COLUMN(NULL, "", EMP_SHEET_WORD, EMP_SHEET_ACROSS),
    EMP_COLUMN("entrant", "", EMP_SHEET_WORD, EMP_SHEET_ROW, .width = 13),
    EMP_COLUMN("method", NULL, EMP_SHEET_WORD, EMP_SHEET_ROW),
    EMP_COLUMN("preset", NULL, EMP_SHEET_WORD, EMP_SHEET_ROW),
    EMP_COLUMN("options", NULL, EMP_SHEET_WORD, EMP_SHEET_ROW),
    EMP_COLUMN("runs", NULL, EMP_SHEET_COUNT),
    EMP_COLUMN("failed_runs", NULL, EMP_SHEET_COUNT),
    EMP_COLUMN("late_runs", NULL, EMP_SHEET_COUNT),
    EMP_COLUMN("median_s", "", EMP_SHEET_REAL, .is_fine = true, .width = 11, .mark = 1,
               .low = "low_s", .high = "high_s"),
    EMP_COLUMN("best_s", NULL, EMP_SHEET_REAL),
    EMP_COLUMN("worst_s", NULL, EMP_SHEET_REAL),
    EMP_COLUMN("evaluations", NULL, EMP_SHEET_REAL),
    EMP_COLUMN("bound_s", NULL, EMP_SHEET_REAL),
    EMP_COLUMN("gap_frac", NULL, EMP_SHEET_REAL),
    EMP_COLUMN("bound_gpu_kernels_s", NULL, EMP_SHEET_REAL),
    EMP_COLUMN("gap_gpu_kernels_frac", NULL, EMP_SHEET_REAL),
    EMP_COLUMN("rank", NULL, EMP_SHEET_REAL),
    EMP_COLUMN("is_best", NULL, EMP_SHEET_FLAG),
    EMP_COLUMN("noise_s", NULL, EMP_SHEET_REAL),
    EMP_COLUMN("ideal_s", NULL, EMP_SHEET_REAL),
    EMP_COLUMN("placeto_s", NULL, EMP_SHEET_REAL),
    EMP_COLUMN("refusal", NULL, EMP_SHEET_WORD),
    EMP_COLUMN("graph_hash", NULL, EMP_SHEET_HASH),
    EMP_COLUMN("machine_hash", NULL, EMP_SHEET_HASH),
    EMP_COLUMN("runtime_hash", NULL, EMP_SHEET_HASH)};

static const char *mark_of(const emp_comparison_cell *cell)
{
    bool is_partial = cell->failed_count > 0 && isfinite(cell->step_s.median);

    if (cell->is_best) return is_partial ? "!*" : "*";
    return is_partial ? "!" : NULL;
}

static void add_cell(emp_sheet *s, const emp_comparison *c, int32_t b, int32_t r,
                     int32_t e)
{
    const emp_comparison_cell *cell = &c->cell[emp_comparison_cell_index(c, b, r, e)];
    const emp_entrant         *entrant = &c->entrant[e];
    const emp_interval        *step = &cell->step_s;
    const emp_problem         *problem = c->tasks.loaded[r].problem;

    EMP_SHEET_ADD(
        s, TASK_VALUES(c, b, r), EMP_V(c->row[r].title), EMP_V(entrant->key),
        EMP_V(entrant->method->name), EMP_V(entrant->preset), EMP_V(entrant->options),
        EMP_V(cell->run_count), EMP_V(cell->failed_count), EMP_V(cell->late_count),
        emp_value_marked(emp_value_range(step->median, step->low, step->high),
                         mark_of(cell)),
        EMP_V(cell->best_s), EMP_V(cell->worst_s), EMP_V(cell->evaluations),
        EMP_V(c->bound_s[r]), EMP_V(cell->gap_frac), EMP_V(cell->bound_gpu_kernels_s),
        EMP_V(cell->gap_gpu_kernels_frac), EMP_V(cell->rank), EMP_V(cell->is_best),
        EMP_V(cell->rescored_s[EMP_SCORED_NOISE]),
        EMP_V(cell->rescored_s[EMP_SCORED_IDEAL]),
        EMP_V(cell->rescored_s[EMP_SCORED_PLACETO]), EMP_V(cell->refusal),
        EMP_V(problem->graph->hash), EMP_V(problem->machine->hash),
        EMP_V(emp_runtime_hash(&problem->runtime)));
}

static void note_bounds(emp_sheet *s, const emp_comparison *c, int32_t b)
{
    enum { BESIDE_TITLE = 2 * EMP_SHEET_CELL_BYTES };
    char   text[EMP_SHEET_CELL_BYTES];
    size_t size = 1;

    for (int32_t r = 0; r < c->row_count; r++)
        size += strlen(c->row[r].title) + BESIDE_TITLE;
    emp_text line = {EMP_NEW_ARRAY(char, size), size, 0};
    if (line.at == NULL) {
        s->failure = EMP_ENOMEM;
        return;
    }
    for (int32_t r = 0; r < c->row_count; r++) {
        double gap = emp_comparison_least_gap(c, b, r);
        if (!(c->bound_s[r] > 0)) continue;
        emp_text_add(&line, "%s %s %s", line.used > 0 ? "," : "", c->row[r].title,
                     emp_comparison_number(c->bound_s[r], text));
        if (!isnan(gap)) emp_text_add(&line, " (+%.0f %%)", 100 * gap);
    }
    if (line.used > 0)
        emp_sheet_note(s,
                       "Lower bounds, below which no placement that fits is, and how far "
                       "the best median is above:%s.",
                       line.at);
    emp_free(line.at);
}

/* "1000 evaluations", "30 CPU seconds". */
static void emp_comparison_name_budget(char text[EMP_SHEET_CELL_BYTES],
                                       const emp_comparison_budget *budget)
{
    enum { BUDGET_DIGITS = 6 };
    char number[EMP_UNITS_TEXT_BYTES];

    if (budget->clock_s > 0)
        snprintf(text, EMP_SHEET_CELL_BYTES, "%s CPU second%s",
                 emp_units_format_number(budget->clock_s, BUDGET_DIGITS, number,
                                         sizeof number),
                 budget->clock_s == 1 ? "" : "s");
    else
        snprintf(text, EMP_SHEET_CELL_BYTES, "%" PRId64 " evaluation%s",
                 budget->evaluations, emp_units_plural(budget->evaluations));
}

/* ", range below": what the line below a median is, or nothing with one seed. */
static const char *spread_of(const emp_comparison *c)
{
    return c->seed_count == 1                   ? ""
           : c->seed_count < EMP_INTERVAL_LEAST ? ", range below"
                                                : ", 95 % interval below";
}

void emp_comparison_tabulate(emp_sheet *s, const emp_comparison *c, int32_t b)
{
    const emp_comparison_budget *budget = &c->budget[b];
    int32_t                      order[EMP_COMPARISON_ENTRANTS];
    emp_task_set                 set = emp_comparison_main_set(c);
    char                         text[EMP_SHEET_CELL_BYTES];

    EMP_SHEET_INIT(s, cell_columns);
    s->command = c->command;
    s->infinite = "none";
    s->rows = "entrants";
    emp_comparison_name_budget(text, budget);
    emp_sheet_set_title(s,
                        "Seconds per training step, simulated, after %s: median of %s%d "
                        "seed%s%s",
                        text, c->runs_made < c->runs_planned ? "at most " : "",
                        c->seed_count, emp_units_plural(c->seed_count), spread_of(c));
    emp_sheet_set_facts(
        s, json_pack("{s:o, s:o}", "evaluations",
                     budget->evaluations > 0 ? json_integer(budget->evaluations)
                                             : json_null(),
                     "clock_s",
                     budget->clock_s > 0 ? json_real(budget->clock_s) : json_null()));
    emp_comparison_sort(c, b, set, order);
    for (int32_t r = 0; r < c->row_count; r++)
        for (int32_t i = 0; i < c->entrant_count; i++) {
            if (c->overall[emp_comparison_overall_index(c, b, set, order[i])].is_best)
                s->best_line = s->line_count;
            add_cell(s, c, b, r, order[i]);
        }
    note_bounds(s, c, b);
}

/* ---- CPU seconds ---- */

static const emp_sheet_column time_columns[] = {
    TASK_COLUMNS, ENTRANT_COLUMNS, EMP_COLUMN("evaluations", NULL, EMP_SHEET_REAL),
    EMP_COLUMN("cpu_s", NULL, EMP_SHEET_REAL)};

void emp_comparison_times(emp_sheet *s, const emp_comparison *c)
{
    int32_t per_budget = c->row_count * c->entrant_count;

    EMP_SHEET_INIT(s, time_columns);
    s->command = c->command;
    for (int32_t i = 0; i < c->budget_count * per_budget; i++) {
        const emp_entrant *e = &c->entrant[i % c->entrant_count];
        int32_t            r = i % per_budget / c->entrant_count;
        if (isnan(c->cell[i].cpu_s)) continue;
        EMP_SHEET_ADD(s, TASK_VALUES(c, i / per_budget, r), ENTRANT_VALUES(e),
                      EMP_V(c->cell[i].evaluations), EMP_V(c->cell[i].cpu_s));
    }
}

/* ---- sensitivity and curves ---- */

static const emp_sheet_column change_columns[] = {
    TASK_COLUMNS,
    EMP_COLUMN(NULL, "", EMP_SHEET_WORD, EMP_SHEET_ROW, .width = 13),
    EMP_COLUMN(NULL, "evaluations", EMP_SHEET_COUNT, EMP_SHEET_ROW, .is_optional = true),
    EMP_COLUMN("rescored", "", EMP_SHEET_WORD, EMP_SHEET_ACROSS),
    EMP_COLUMN("draws", NULL, EMP_SHEET_COUNT),
    EMP_COLUMN("tau", "tau", EMP_SHEET_REAL, .form = "%.2f", .width = 5),
    EMP_COLUMN("least_tau", NULL, EMP_SHEET_REAL),
    EMP_COLUMN(NULL, "least", EMP_SHEET_REAL, .form = "%.2f"),
    EMP_COLUMN("kept_frac", "kept", EMP_SHEET_SHARE, .form = "%.0f %%", .width = 5)};

void emp_comparison_changes(emp_sheet *s, const emp_comparison *c)
{
    EMP_SHEET_INIT(s, change_columns);
    s->command = c->command;
    emp_sheet_set_title(s, "Would other costs change the ranking?");
    emp_sheet_note(s,
                   "The placements found, re-scored: with +-10 %% on every cost (%d "
                   "draws), and by other rules of the runtime; no search is run again. "
                   "tau: Kendall's, of the methods' medians with those before. kept: "
                   "draws in which no method is better than the one that was best.",
                   c->draws);
    for (int32_t i = 0; i < c->budget_count * c->row_count; i++) {
        int32_t b = i / c->row_count, r = i % c->row_count;
        if (c->budget[b].clock_s > 0) continue;
        for (int k = 0; k < EMP_SCORED_KINDS; k++) {
            const emp_comparison_change *change = &c->change[i * EMP_SCORED_KINDS + k];
            bool                         is_noise = k == EMP_SCORED_NOISE;
            EMP_SHEET_ADD(s, TASK_VALUES(c, b, r), EMP_V(c->row[r].title),
                          emp_value_if(c->budget[b].evaluations > 0,
                                       EMP_V(c->budget[b].evaluations)),
                          EMP_V(emp_scored_name((emp_scored)k)),
                          EMP_V(is_noise ? c->draws : 1), EMP_V(change->tau),
                          EMP_V(change->least_tau),
                          emp_value_if(is_noise, EMP_V(change->least_tau)),
                          EMP_V(change->kept_frac));
        }
    }
}

static const emp_sheet_column curve_columns[] = {
    TASK_COLUMNS, ENTRANT_COLUMNS, EMP_COLUMN("evaluations", NULL, EMP_SHEET_COUNT),
    EMP_COLUMN("cpu_s", NULL, EMP_SHEET_REAL),
    EMP_COLUMN("median_s", NULL, EMP_SHEET_REAL, .low = "low_s", .high = "high_s")};

void emp_comparison_curves(emp_sheet *s, const emp_comparison *c)
{
    int32_t per_budget = c->row_count * c->entrant_count;
    int32_t longest = emp_comparison_largest(c, EMP_BY_CLOCK);

    EMP_SHEET_INIT(s, curve_columns);
    s->command = c->command;
    for (int32_t i = 0; i < c->budget_count * per_budget; i++) {
        const emp_entrant  *e = &c->entrant[i % c->entrant_count];
        int32_t             b = i / per_budget, r = i % per_budget / c->entrant_count;
        emp_comparison_axis axis = emp_comparison_axis_of(&c->budget[b]);
        if (axis == EMP_BY_CLOCK && b != longest) continue; /* all clocks have its runs */
        for (int32_t p = 0; p < c->point_count[axis]; p++) {
            const emp_interval *at = &c->curve[i * EMP_COMPARISON_POINTS + p];
            double              value = c->point[axis][p];
            if (isnan(at->median)) continue;
            EMP_SHEET_ADD(s, TASK_VALUES(c, b, r), ENTRANT_VALUES(e),
                          emp_value_if(axis == EMP_BY_EVALUATIONS, EMP_V((int64_t)value)),
                          emp_value_if(axis == EMP_BY_CLOCK, EMP_V(value)),
                          emp_value_range(at->median, at->low, at->high));
        }
    }
}

/* ---- rankings ---- */

#define LEAST_P 0.0001 /* of the p that people see; below it they see "< 0.0001" */

static const emp_sheet_column rank_columns[] = {
    EMP_COLUMN("budget", NULL, EMP_SHEET_COUNT),
    EMP_COLUMN("clock_s", NULL, EMP_SHEET_REAL),
    EMP_COLUMN("set", NULL, EMP_SHEET_WORD),
    EMP_COLUMN("tasks", NULL, EMP_SHEET_COUNT),
    EMP_COLUMN("entrant", "", EMP_SHEET_WORD, .width = 13),
    EMP_COLUMN("method", NULL, EMP_SHEET_WORD),
    EMP_COLUMN("preset", NULL, EMP_SHEET_WORD),
    EMP_COLUMN("solved", "solved", EMP_SHEET_COUNT),
    EMP_COLUMN("mean_rank", "rank", EMP_SHEET_REAL, .form = "%.1f", .width = 5),
    EMP_COLUMN("is_near", NULL, EMP_SHEET_FLAG),
    EMP_COLUMN("to_least", "to the task's least", EMP_SHEET_REAL, .form = "%.3f",
               .low = "to_least_low", .high = "to_least_high", .range = EMP_SHEET_BEHIND),
    EMP_COLUMN("to_best", "to the best method", EMP_SHEET_REAL, .form = "%.3f",
               .low = "to_best_low", .high = "to_best_high", .range = EMP_SHEET_BEHIND),
    EMP_COLUMN("to_first", "to the first arm", EMP_SHEET_REAL, .form = "%.3f",
               .low = "to_first_low", .high = "to_first_high", .range = EMP_SHEET_BEHIND,
               .is_optional = true),
    EMP_COLUMN(NULL, "p", EMP_SHEET_REAL, .digits = 2, .width = 7),
    EMP_COLUMN("p", NULL, EMP_SHEET_REAL),
    EMP_COLUMN("p_holm", NULL, EMP_SHEET_REAL),
    EMP_COLUMN("is_best", NULL, EMP_SHEET_FLAG),
    EMP_COLUMN(NULL, "CPU s", EMP_SHEET_REAL),
    EMP_COLUMN("wilcoxon_least_tasks", NULL, EMP_SHEET_COUNT),
    EMP_COLUMN("friedman_least_tasks", NULL, EMP_SHEET_COUNT),
    EMP_COLUMN("friedman_chi2", NULL, EMP_SHEET_REAL),
    EMP_COLUMN("friedman_p", NULL, EMP_SHEET_REAL),
    EMP_COLUMN("friedman_f", NULL, EMP_SHEET_REAL, .infinite = "infinite"),
    EMP_COLUMN("friedman_f_p", NULL, EMP_SHEET_REAL),
    EMP_COLUMN("nemenyi_difference", NULL, EMP_SHEET_REAL)};

/* With two columns more where all are compared with one. */
static void begin_ranks(emp_sheet *s, const emp_comparison *c)
{
    EMP_SHEET_INIT(s, rank_columns);
    s->command = c->command;
    if (c->against < 0) return;
    emp_sheet_add_column(s, (emp_sheet_column)EMP_COLUMN(
                                "to_against", c->against_title[0], EMP_SHEET_REAL,
                                .form = "%.3f", .low = "to_against_low",
                                .high = "to_against_high", .range = EMP_SHEET_BEHIND));
    emp_sheet_add_column(s, (emp_sheet_column)EMP_COLUMN("p_against", c->against_title[1],
                                                         EMP_SHEET_REAL, .digits = 2,
                                                         .width = 7));
}

static const char *rank_mark_of(const emp_comparison_overall *o)
{
    return o->is_best ? "*" : o->is_near ? "=" : NULL;
}

static emp_value range_of(const emp_ratio *ratio)
{
    return emp_value_range(ratio->mean, ratio->low, ratio->high);
}

static void add_line(emp_sheet *s, const emp_comparison *c, int32_t b, emp_task_set set,
                     int32_t e)
{
    const emp_comparison_budget  *budget = &c->budget[b];
    const emp_comparison_overall *o =
        &c->overall[emp_comparison_overall_index(c, b, set, e)];
    const emp_comparison_test *t = &c->test[b * EMP_TASK_SETS + (int32_t)set];
    const emp_entrant         *entrant = &c->entrant[e];

    if (o->is_best) s->best_line = s->line_count;
    const emp_value line[] = {
        emp_value_if(budget->evaluations > 0, EMP_V(budget->evaluations)),
        emp_value_if(budget->clock_s > 0, EMP_V(budget->clock_s)),
        EMP_V(emp_task_set_name(set)),
        EMP_V(t->row_count),
        EMP_V(entrant->key),
        EMP_V(entrant->method->name),
        EMP_V(entrant->preset),
        EMP_V(o->solved_count),
        emp_value_marked(EMP_V(o->mean_rank), rank_mark_of(o)),
        emp_value_if(!isnan(t->difference), EMP_V(o->is_near)),
        range_of(&o->to_least),
        range_of(&o->to_best),
        emp_value_if(c->has_arms, range_of(&o->to_first)),
        o->is_best ? EMP_V("best") : EMP_V(o->p_holm),
        EMP_V(o->p),
        EMP_V(o->p_holm),
        EMP_V(o->is_best),
        EMP_V(o->cpu_s),
        EMP_V(t->wilcoxon_least),
        EMP_V(EMP_FRIEDMAN_LEAST),
        EMP_V(t->friedman.statistic),
        EMP_V(t->friedman.p),
        EMP_V(t->friedman.f),
        EMP_V(t->friedman.f_p),
        EMP_V(t->difference),
        range_of(&o->to_against),
        EMP_V(o->p_against)};

    emp_sheet_add(s, line, (size_t)s->column_count);
}

static void add_lines(emp_sheet *s, const emp_comparison *c, int32_t b, emp_task_set set)
{
    int32_t order[EMP_COMPARISON_ENTRANTS];

    emp_comparison_sort(c, b, set, order);
    for (int32_t i = 0; i < c->entrant_count; i++) add_line(s, c, b, set, order[i]);
}

/* ---- what is said below ---- */

/* "= 0.012", "< 0.0001". */
static const char *format_p(double p, char text[EMP_UNITS_TEXT_BYTES])
{
    if (p < LEAST_P) {
        snprintf(text, EMP_UNITS_TEXT_BYTES, "< %.4f", LEAST_P);
        return text;
    }
    memcpy(text, "= ", 2);
    emp_units_format_number(p, 2, text + 2, EMP_UNITS_TEXT_BYTES - 2);
    return text;
}

static void note_tests(emp_sheet *s, const emp_comparison *c,
                       const emp_comparison_test *t)
{
    int32_t others = c->entrant_count - 1;
    char    p[EMP_UNITS_TEXT_BYTES], f_p[EMP_UNITS_TEXT_BYTES];

    if (others == 0) return;
    if (isnan(t->friedman.p) && t->row_count >= EMP_FRIEDMAN_LEAST)
        emp_sheet_note(s, "No Friedman's test: all methods tie on all tasks.");
    else if (isnan(t->friedman.p))
        emp_sheet_note(s,
                       "Too few tasks for Friedman's test and a critical difference: %d, "
                       "at least %d are needed.",
                       t->row_count, EMP_FRIEDMAN_LEAST);
    else
        emp_sheet_note(
            s,
            "Friedman's test that all are alike: chi2 = %.1f, p %s; F = %.2f, p %s. "
            "Nemenyi's critical difference of mean ranks: %.1f (5 %%). =: within it "
            "of the best (*).",
            t->friedman.statistic, format_p(t->friedman.p, p), t->friedman.f,
            format_p(t->friedman.f_p, f_p), t->difference);
    if (t->row_count < t->wilcoxon_least)
        emp_sheet_note(s,
                       "Too few tasks for p: %d, comparing %d method%s with the best at "
                       "the 5 %% level needs %d.",
                       t->row_count, others, emp_units_plural(others), t->wilcoxon_least);
    else
        emp_sheet_note(s,
                       "p: Wilcoxon's signed-rank test on task medians against the best, "
                       "Holm's correction over %d method%s. The best is known from "
                       "the same tasks.",
                       others, emp_units_plural(others));
}

/* Why methods have no CPU seconds. */
static void note_untimed(emp_sheet *s, const emp_comparison *c)
{
    char     array[512] = "";
    emp_text names = {array, sizeof array, 0};

    for (int32_t e = 0; e < c->entrant_count; e++)
        if (c->entrant[e].method->is_outside)
            emp_text_add(&names, "%s%s", names.used > 0 ? ", " : "", c->entrant[e].key);
    if (names.used > 0)
        emp_sheet_note(s,
                       "CPU s: unknown for methods that run outside this process, whose "
                       "CPU seconds are counted: %s.",
                       array);
}

void emp_comparison_rank(emp_sheet *s, const emp_comparison *c, int32_t b,
                         emp_task_set set)
{
    static const char *const origin[EMP_TASK_SETS] = {
        [EMP_TASKS_TUNED] =
            " of Table 1, on which constants of our own methods were chosen",
        [EMP_TASKS_FRESH] = "",
        [EMP_TASKS_OWN] = "",
        [EMP_TASKS_TRAIN] = " of PlaceBench's training split",
        [EMP_TASKS_VALIDATION] = " of PlaceBench's validation split",
        [EMP_TASKS_TEST] = " of PlaceBench's test split"};
    const emp_comparison_test *t = &c->test[b * EMP_TASK_SETS + (int32_t)set];
    char                       text[EMP_SHEET_CELL_BYTES];

    begin_ranks(s, c);
    s->infinite = "none";
    emp_comparison_name_budget(text, &c->budget[b]);
    emp_sheet_set_title(s, "Ranking after %s on %d %stask%s%s", text, t->row_count,
                        set == EMP_TASKS_FRESH ? "fresh "
                        : set == EMP_TASKS_OWN ? "own "
                                               : "",
                        emp_units_plural(t->row_count), origin[set]);
    add_lines(s, c, b, set);
    emp_sheet_note(s,
                   "rank: mean over tasks of the rank by median over %d seed%s. Ratios: "
                   "geometric means over tasks of those medians, with 95 %% intervals by "
                   "bootstrap over tasks. solved: tasks where the median fits in memory.",
                   c->seed_count, emp_units_plural(c->seed_count));
    note_tests(s, c, t);
    note_untimed(s, c);
    if (c->budget[b].clock_s > 0)
        emp_sheet_note(s, "By the clock: this differs from run to run.");
}

void emp_comparison_rankings(emp_sheet *s, const emp_comparison *c)
{
    begin_ranks(s, c);
    for (int32_t i = 0; i < c->budget_count * EMP_TASK_SETS; i++)
        if (c->test[i].row_count > 0)
            add_lines(s, c, i / EMP_TASK_SETS, (emp_task_set)(i % EMP_TASK_SETS));
}

/* ---- all of it ---- */

static void note_tuned(emp_sheet *s, const emp_comparison *c)
{
    char     array[512] = "";
    emp_text line = {array, sizeof array, 0};

    for (int32_t r = 0; r < c->row_count; r++)
        if (c->set[r] == EMP_TASKS_TUNED)
            emp_text_add(&line, "%s%s", line.used > 0 ? "; " : "", c->row[r].title);
    if (line.used > 0)
        emp_sheet_note(
            s, "Tuned on, as constants of our own methods were chosen there: %s.", array);
}

static bool has_own_runtime(const emp_comparison *c, int32_t row)
{
    return c->row[row].frozen != NULL ||
           strcmp(emp_comparison_runtime_of(c, row), c->tasks.runtime) != 0;
}

/* Titles of tasks are short; here is what they stand for. */
static void note_tasks(emp_sheet *s, const emp_comparison *c)
{
    for (int32_t r = 0; r < c->row_count; r++) {
        const emp_task *task = &c->row[r];
        const bool      is_own = has_own_runtime(c, r);
        emp_sheet_note(s, "%s: %s on %s%s%s.", task->title, task->spec, task->machine,
                       is_own ? ", runtime " : "",
                       is_own ? emp_comparison_runtime_of(c, r) : "");
    }
}

static void note_clock(emp_sheet *s, const emp_comparison *c)
{
    if (emp_comparison_largest(c, EMP_BY_CLOCK) < 0) return;
    emp_sheet_note(
        s,
        "Results by the clock depend on this computer and differ from run to run. One "
        "run "
        "of the longest clock stands for the shorter ones, with what was best after so "
        "many CPU seconds of its one thread.");
}

static bool have_own_runtimes(const emp_comparison *c)
{
    for (int32_t r = 0; r < c->row_count; r++)
        if (has_own_runtime(c, r)) return true;
    return false;
}

/* Methods from outside are identified by their code and options. */
static void note_outside(emp_sheet *s, const emp_comparison *c)
{
    for (int32_t e = 0; e < c->entrant_count; e++) {
        const emp_entrant *entrant = &c->entrant[e];
        if (!entrant->method->is_outside) continue;
        emp_sheet_note(s, "%s: %s, code %016" PRIx64 "%s%s.", entrant->key,
                       entrant->method->name, entrant->method->code_hash,
                       entrant->options != NULL ? ", options " : "",
                       entrant->options != NULL ? entrant->options : "");
    }
}

/* Likewise for programs: an object with the name, the address, the code and the options of each. */
static json_t *json_outside(const emp_comparison *c)
{
    json_t *all = json_array();
    char    code[24];

    for (int32_t e = 0; e < c->entrant_count; e++) {
        const emp_entrant *entrant = &c->entrant[e];
        if (!entrant->method->is_outside) continue;
        snprintf(code, sizeof code, "%016" PRIx64, entrant->method->code_hash);
        json_array_append_new(
            all, json_pack("{s:s, s:s, s:s, s:s}", "entrant", entrant->key, "method",
                           entrant->method->name, "code", code, "options",
                           entrant->options != NULL ? entrant->options : ""));
    }
    return all;
}

/* Its name in the table says neither the method nor the values that other arms change. */
static void note_base(emp_sheet *s, const emp_comparison *c)
{
    char     array[1024] = "";
    emp_text text = {array, sizeof array, 0};

    if (!c->has_arms) return;
    emp_entrants_describe_base(&text, c->entrant, c->entrant_count);
    emp_sheet_note(s, "The first arm, %s, is %s.", c->entrant[0].key, array);
}

void emp_comparison_explain(emp_sheet *s, const emp_comparison *c)
{
    note_base(s, c);
    emp_sheet_note(s,
                   "*: the task's lowest median, at one method where several have it. "
                   "none: no placement that fits in memory, counted as infinitely slow. "
                   "!: so in some seeds.");
    emp_sheet_note(s,
                   "Methods that stop by themselves propose once, whatever the budget. "
                   "Runtime %s%s.",
                   c->tasks.runtime,
                   have_own_runtimes(c) ? " where no other is named" : "");
    note_tuned(s, c);
    note_tasks(s, c);
    note_clock(s, c);
    note_outside(s, c);
    for (int32_t i = 0; i < c->row_count * c->entrant_count; i++) {
        const char *reason = c->cell[i].refusal; /* of any budget the same */
        if (reason != NULL)
            emp_sheet_note(s, "%s, %s: %s", c->row[i / c->entrant_count].title,
                           c->entrant[i % c->entrant_count].key, reason);
    }
}

/* For people: rankings, cells, sensitivity. Each sheet is followed by the next. */
static emp_status print_all(FILE *out, const emp_comparison *c, emp_sheet_format format,
                            emp_error *err)
{
    enum { RANKINGS = EMP_COMPARISON_BUDGETS * EMP_TASK_SETS };
    emp_sheet sheet[RANKINGS + EMP_COMPARISON_BUDGETS + 1];
    int32_t   count = 0;

    for (int32_t i = 0; i < c->budget_count * EMP_TASK_SETS; i++)
        if (c->test[i].row_count > 0)
            emp_comparison_rank(&sheet[count++], c, i / EMP_TASK_SETS,
                                (emp_task_set)(i % EMP_TASK_SETS));
    for (int32_t b = 0; b < c->budget_count; b++)
        emp_comparison_tabulate(&sheet[count++], c, b);
    if (c->draws > 0 && emp_comparison_largest(c, EMP_BY_EVALUATIONS) >= 0)
        emp_comparison_changes(&sheet[count++], c);
    for (int32_t i = 0; i < count - 1; i++) sheet[i].next = &sheet[i + 1];
    emp_sheet_set_runs(&sheet[0], c->runs_made, c->runs_planned);
    emp_comparison_explain(&sheet[count - 1], c);
    emp_status st = emp_sheet_print(out, &sheet[0], format, err);
    for (int32_t i = 0; i < count; i++) emp_sheet_clear(&sheet[i]);
    return st;
}

/* For programs: cells; JSON has the other sheets' rows beside them. */
static emp_status print_data(FILE *out, const emp_comparison *c, emp_sheet_format format,
                             emp_error *err)
{
    emp_sheet sheet[EMP_COMPARISON_BUDGETS], changes, rankings;
    int32_t   last = c->budget_count - 1;

    for (int32_t b = 0; b <= last; b++) {
        emp_comparison_tabulate(&sheet[b], c, b);
        if (b > 0) sheet[b - 1].next = &sheet[b];
    }
    emp_comparison_changes(&changes, c);
    emp_comparison_rankings(&rankings, c);
    sheet[0].list = "budgets";
    json_t *head = json_pack("{s:s, s:i, s:i, s:o, s:o}", "runtime", c->tasks.runtime,
                             "seeds", c->seed_count, "draws", c->draws, "outside",
                             json_outside(c), "rankings", emp_sheet_rows(&rankings));
    if (c->draws > 0 &&
        json_object_set_new(head, "sensitivity", emp_sheet_rows(&changes)) != 0) {
        json_decref(head);
        head = NULL;
    }
    emp_sheet_set_head(&sheet[0], head);
    emp_sheet_set_runs(&sheet[0], c->runs_made, c->runs_planned);
    emp_status st = emp_sheet_print(out, &sheet[0], format, err);
    for (int32_t b = 0; b <= last; b++) emp_sheet_clear(&sheet[b]);
    emp_sheet_clear(&changes);
    emp_sheet_clear(&rankings);
    return st;
}

emp_status emp_comparison_print(FILE *out, const emp_comparison *c,
                                emp_sheet_format format, emp_error *err)
{
    bool is_read = format == EMP_SHEET_TEXT || format == EMP_SHEET_MD;

    return is_read ? print_all(out, c, format, err) : print_data(out, c, format, err);
}

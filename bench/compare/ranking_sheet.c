// SPDX-License-Identifier: GPL-3.0-or-later
/* Who is how good over the tasks of a set, as a sheet a budget and set, and as one of all. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/text/units.h"
#include "bench/compare/comparison_internal.h"

#define LEAST_P 0.0001 /* of the p that people see; below it they see "< 0.0001" */

static const emp_sheet_column columns[] = {
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
    EMP_COLUMN(NULL, "p", EMP_SHEET_REAL, .digits = 2, .width = 7),
    EMP_COLUMN("p", NULL, EMP_SHEET_REAL),
    EMP_COLUMN("p_holm", NULL, EMP_SHEET_REAL),
    EMP_COLUMN("is_best", NULL, EMP_SHEET_FLAG),
    EMP_COLUMN(NULL, "CPU s", EMP_SHEET_REAL),
    EMP_COLUMN("wilcoxon_least_tasks", NULL, EMP_SHEET_COUNT),
    EMP_COLUMN("friedman_least_tasks", NULL, EMP_SHEET_COUNT),
    EMP_COLUMN("friedman_chi2", NULL, EMP_SHEET_REAL),
    EMP_COLUMN("friedman_p", NULL, EMP_SHEET_REAL),
    EMP_COLUMN("friedman_f", NULL, EMP_SHEET_REAL),
    EMP_COLUMN("friedman_f_p", NULL, EMP_SHEET_REAL),
    EMP_COLUMN("nemenyi_difference", NULL, EMP_SHEET_REAL)};

static const char *mark_of(const emp_comparison_overall *o)
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
    EMP_SHEET_ADD(
        s, emp_value_if(budget->evaluations > 0, EMP_V(budget->evaluations)),
        emp_value_if(budget->clock_s > 0, EMP_V(budget->clock_s)),
        EMP_V(emp_task_set_name(set)), EMP_V(t->row_count), EMP_V(entrant->key),
        EMP_V(entrant->method->name), EMP_V(entrant->preset), EMP_V(o->solved_count),
        emp_value_marked(EMP_V(o->mean_rank), mark_of(o)),
        emp_value_if(!isnan(t->difference), EMP_V(o->is_near)), range_of(&o->to_least),
        range_of(&o->to_best), o->is_best ? EMP_V("best") : EMP_V(o->p_holm), EMP_V(o->p),
        EMP_V(o->p_holm), EMP_V(o->is_best), EMP_V(o->cpu_s), EMP_V(t->wilcoxon_least),
        EMP_V(EMP_FRIEDMAN_LEAST), EMP_V(t->friedman.statistic), EMP_V(t->friedman.p),
        EMP_V(t->friedman.f), EMP_V(t->friedman.f_p), EMP_V(t->difference));
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

    if (isnan(t->friedman.p))
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

void emp_comparison_rank(emp_sheet *s, const emp_comparison *c, int32_t b,
                         emp_task_set set)
{
    static const char *const origin[EMP_TASK_SETS] = {
        [EMP_TASKS_TUNED] =
            " of Table 1, on which constants of our own methods were chosen",
        [EMP_TASKS_FRESH] = "",
        [EMP_TASKS_TRAIN] = " of PlaceBench's training split",
        [EMP_TASKS_VALIDATION] = " of PlaceBench's validation split",
        [EMP_TASKS_TEST] = " of PlaceBench's test split"};
    const emp_comparison_test *t = &c->test[b * EMP_TASK_SETS + (int32_t)set];
    char                       text[EMP_SHEET_CELL_BYTES];

    EMP_SHEET_INIT(s, columns);
    s->command = c->command;
    s->infinite = "none";
    emp_comparison_name_budget(text, &c->budget[b]);
    emp_sheet_set_title(s, "Ranking after %s on %d %stask%s%s", text, t->row_count,
                        set == EMP_TASKS_FRESH ? "fresh " : "",
                        emp_units_plural(t->row_count), origin[set]);
    add_lines(s, c, b, set);
    emp_sheet_note(s,
                   "rank: mean over tasks of the rank by median over %d seed%s. Ratios: "
                   "geometric means over tasks of those medians, with 95 %% intervals by "
                   "bootstrap over tasks. solved: tasks where the median fits in memory.",
                   c->seed_count, emp_units_plural(c->seed_count));
    note_tests(s, c, t);
    if (c->budget[b].clock_s > 0)
        emp_sheet_note(s, "By the clock: this differs from run to run.");
}

void emp_comparison_rankings(emp_sheet *s, const emp_comparison *c)
{
    EMP_SHEET_INIT(s, columns);
    s->command = c->command;
    for (int32_t i = 0; i < c->budget_count * EMP_TASK_SETS; i++)
        if (c->test[i].row_count > 0)
            add_lines(s, c, i / EMP_TASK_SETS, (emp_task_set)(i % EMP_TASK_SETS));
}

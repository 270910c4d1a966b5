// SPDX-License-Identifier: GPL-3.0-or-later
/* A comparison for people. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "bench/compare/comparison_internal.h"

enum { NAME_WIDTH = 13, CELL_WIDTH = 14 };

static void print_number(FILE *out, const char *form, int width, double value)
{
    if (isnan(value))
        fprintf(out, "%*s", width, "-");
    else
        fprintf(out, form, value);
}

/* ---- one budget ---- */

static void print_title(FILE *out, const emp_comparison *c, int32_t b)
{
    const emp_comparison_budget *budget = &c->budget[b];

    fprintf(out, "Seconds per training step, simulated, after ");
    if (budget->evaluations > 0)
        fprintf(out, "%" PRId64 " evaluations", budget->evaluations);
    else
        fprintf(out, "%g s of one thread of this computer", budget->seconds);
    fprintf(out, ": median of %d seed%s, 95 %% interval below\n\n", c->seed_count,
            c->seed_count == 1 ? "" : "s");
    fprintf(out, "%*s", NAME_WIDTH, "");
    for (int32_t r = 0; r < c->row_count; r++)
        fprintf(out, "%*s", CELL_WIDTH, c->row[r].title);
    fprintf(out, "%8s%8s%9s\n", "rank", "ratio", "p");
}

static void print_medians(FILE *out, const emp_comparison *c, int32_t b, int32_t e)
{
    const emp_comparison_overall *overall = &c->overall[b * c->entrant_count + e];
    char                          text[EMP_CELL_BYTES], marked[EMP_CELL_BYTES + 4];

    fprintf(out, "%-*s", NAME_WIDTH, c->entrant[e].key);
    for (int32_t r = 0; r < c->row_count; r++) {
        const emp_comparison_cell *cell = &c->cell[emp_comparison_cell_index(c, b, r, e)];
        bool is_partial = cell->failed_count > 0 && isfinite(cell->step_s.median);
        snprintf(marked, sizeof marked, "%s%s%s",
                 emp_comparison_number(cell->step_s.median, text), is_partial ? "!" : "",
                 cell->is_best                         ? "*"
                 : cell->p_holm < EMP_COMPARISON_LEVEL ? "'"
                                                       : " ");
        fprintf(out, "%*s", CELL_WIDTH, marked);
    }
    print_number(out, "%8.1f", 8, overall->mean_rank);
    fprintf(out, "%8s", emp_comparison_number(overall->ratio, text));
    if (overall->is_best)
        fprintf(out, "%9s", "best");
    else
        print_number(out, "%9.2g", 9, overall->p_holm);
    fprintf(out, "\n");
}

static void print_intervals(FILE *out, const emp_comparison *c, int32_t b, int32_t e)
{
    char low[EMP_CELL_BYTES], high[EMP_CELL_BYTES], both[2 * EMP_CELL_BYTES + 4];

    if (!c->entrant[e].is_drawn || c->seed_count < 2) return;
    fprintf(out, "%*s", NAME_WIDTH, "");
    for (int32_t r = 0; r < c->row_count; r++) {
        emp_interval i = c->cell[emp_comparison_cell_index(c, b, r, e)].step_s;
        snprintf(both, sizeof both, "%s-%s ", emp_comparison_number(i.low, low),
                 emp_comparison_number(i.high, high));
        fprintf(out, "%*s", CELL_WIDTH, isnan(i.median) ? "" : both);
    }
    fprintf(out, "\n");
}

static void print_bounds(FILE *out, const emp_comparison *c, int32_t b)
{
    char text[EMP_CELL_BYTES];

    fprintf(out, "%-*s", NAME_WIDTH, "bound");
    for (int32_t r = 0; r < c->row_count; r++)
        fprintf(out, "%*s ", CELL_WIDTH - 1,
                c->bound_s[r] > 0 ? emp_comparison_number(c->bound_s[r], text) : "-");
    fprintf(out, "\n%-*s", NAME_WIDTH, "best above it");
    for (int32_t r = 0; r < c->row_count; r++) {
        double gap = emp_comparison_least_gap(c, b, r);
        snprintf(text, sizeof text, isnan(gap) ? "-" : "%.0f%%", 100 * gap);
        fprintf(out, "%*s ", CELL_WIDTH - 1, text);
    }
    fprintf(out, "\n");
    if (!isnan(c->friedman[b].p))
        fprintf(out, "\nFriedman's test that all are alike: chi2 = %.1f, p = %.2g\n",
                c->friedman[b].statistic, c->friedman[b].p);
}

/* ---- sensitivity ---- */

static void print_changes(FILE *out, const emp_comparison *c)
{
    fprintf(
        out,
        "Would the ranking be another? The placements found, re-scored: with +-10 %% "
        "on every cost (%d draws), and by\nother rules of the runtime; no search is "
        "run again. tau: Kendall's, of the methods' medians with those before; kept:\n"
        "draws in which no method is better than the one that was best.\n\n"
        "%*s%14s%9s%9s%9s%9s%9s%9s%9s\n",
        c->draws, 2 * NAME_WIDTH, "", "", "noise", "least", "kept", "ideal", "kept",
        "placeto", "kept");
    for (int32_t i = 0; i < c->budget_count * c->row_count; i++) {
        const emp_comparison_budget *budget = &c->budget[i / c->row_count];
        const emp_comparison_change *change = &c->change[i * EMP_SCORED_KINDS];
        fprintf(out, "%-*s", 2 * NAME_WIDTH, c->row[i % c->row_count].title);
        if (budget->evaluations > 0)
            fprintf(out, "%14" PRId64, budget->evaluations);
        else
            fprintf(out, "%12g s", budget->seconds);
        print_number(out, "%9.2f", 9, change[EMP_SCORED_NOISE].tau);
        print_number(out, "%9.2f", 9, change[EMP_SCORED_NOISE].least_tau);
        print_number(out, "%8.0f%%", 9, 100 * change[EMP_SCORED_NOISE].kept_frac);
        for (int k = EMP_SCORED_IDEAL; k <= EMP_SCORED_PLACETO; k++) {
            print_number(out, "%9.2f", 9, change[k].tau);
            fprintf(out, "%9s",
                    isnan(change[k].kept_frac) ? "-"
                    : change[k].kept_frac > 0  ? "yes"
                                               : "no");
        }
        fprintf(out, "\n");
    }
    fprintf(out, "\n");
}

/* ---- all of it ---- */

static void print_refusals(FILE *out, const emp_comparison *c)
{
    for (int32_t i = 0; i < c->row_count * c->entrant_count; i++) {
        const char *reason = c->cell[i].refusal; /* of any budget the same */
        if (reason == NULL) continue;
        fprintf(out, "  %s, %s: %s\n", c->row[i / c->entrant_count].title,
                c->entrant[i % c->entrant_count].key, reason);
    }
}

static void print_notes(FILE *out, const emp_comparison *c)
{
    fprintf(
        out,
        "  *: the row's lowest median. ': above it at the 5 %% level (Wilcoxon's "
        "signed-rank test, pairs are seeds, Holm's\n"
        "  correction; not possible with fewer than 6 seeds). none: no placement that "
        "fits in memory, counted as infinitely\n"
        "  slow. !: so in some seeds. rank, ratio: mean over rows of the rank, geometric "
        "mean of the ratio to the row's best.\n"
        "  p: the same test over rows and seeds against the method of lowest mean rank. "
        "Methods that stop by themselves\n"
        "  propose once, whatever the budget. bound: no placement that fits is faster. "
        "Runtime %s.\n",
        c->runtime);
    print_refusals(out, c);
    fprintf(out, "  Made by %s\n  emplace %s, commit %.12s%s.\n", c->command, c->version,
            c->commit, c->is_dirty ? ", modified" : "");
}

void emp_comparison_print_text(FILE *out, const emp_comparison *c)
{
    int32_t order[EMP_COMPARISON_ENTRANTS];

    for (int32_t b = 0; b < c->budget_count; b++) {
        print_title(out, c, b);
        emp_comparison_sort(c, b, order);
        for (int32_t i = 0; i < c->entrant_count; i++) {
            print_medians(out, c, b, order[i]);
            print_intervals(out, c, b, order[i]);
        }
        print_bounds(out, c, b);
        fprintf(out, "\n");
    }
    if (c->draws > 0) print_changes(out, c);
    print_notes(out, c);
}

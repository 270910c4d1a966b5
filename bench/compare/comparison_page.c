// SPDX-License-Identifier: GPL-3.0-or-later
#include "bench/compare/comparison_page.h"

#include <inttypes.h>
#include <math.h>

#include "bench/compare/comparison_internal.h"
#include "bench/compare/figure.h"
#include "bench/plots/gnuplot.h"
#include "bench/report/html.h"

static void write_heading(FILE *file, const char *element, const char *text)
{
    fprintf(file, "<%s>", element);
    emp_html_text(file, text);
    fprintf(file, "</%s>", element);
}

static void write_budget(FILE *file, const emp_comparison_budget *budget)
{
    if (budget->evaluations > 0)
        fprintf(file, "%" PRId64 " evaluations", budget->evaluations);
    else
        fprintf(file, "%g s of one thread", budget->seconds);
}

/* ---- a table a budget ---- */

static void write_table_head(FILE *file, const emp_comparison *c, int32_t b)
{
    fputs("<div class=\"scroll\"><table><caption>Seconds per training step after ", file);
    write_budget(file, &c->budget[b]);
    fputs("</caption>\n<thead><tr><th>method</th>", file);
    for (int32_t r = 0; r < c->row_count; r++) write_heading(file, "th", c->row[r].title);
    fputs("<th>rank</th><th>ratio</th><th>p</th></tr></thead>\n<tbody>\n", file);
}

/* Median, what is said of it, and below it the interval. */
static void write_cell(FILE *file, const emp_comparison *c,
                       const emp_comparison_cell *cell, const emp_entrant *entrant)
{
    char median[EMP_SHEET_CELL_BYTES], low[EMP_SHEET_CELL_BYTES],
        high[EMP_SHEET_CELL_BYTES];
    bool is_partial = cell->failed_count > 0 && isfinite(cell->step_s.median);

    fprintf(file, "<td>%s%s%s%s%s", cell->is_best ? "<b>" : "",
            emp_comparison_number(cell->step_s.median, median), is_partial ? "!" : "",
            cell->p_holm < EMP_COMPARISON_LEVEL ? "\u2032" : "",
            cell->is_best ? "</b>" : "");
    if (entrant->is_drawn && c->seed_count > 1 && !isnan(cell->step_s.median))
        fprintf(file, "<small>%s – %s</small>",
                emp_comparison_number(cell->step_s.low, low),
                emp_comparison_number(cell->step_s.high, high));
    fputs("</td>", file);
}

static void write_number(FILE *file, const char *form, double value)
{
    fputs("<td>", file);
    if (isnan(value))
        fputs("–", file);
    else
        fprintf(file, form, value);
    fputs("</td>", file);
}

static void write_entrant(FILE *file, const emp_comparison *c, int32_t b, int32_t e)
{
    const emp_comparison_overall *overall = &c->overall[b * c->entrant_count + e];
    char                          ratio[EMP_SHEET_CELL_BYTES];

    fprintf(file, "<tr%s>", overall->is_best ? " class=\"best\"" : "");
    write_heading(file, "td", c->entrant[e].key);
    for (int32_t r = 0; r < c->row_count; r++)
        write_cell(file, c, &c->cell[emp_comparison_cell_index(c, b, r, e)],
                   &c->entrant[e]);
    write_number(file, "%.1f", overall->mean_rank);
    fprintf(file, "<td>%s</td>", emp_comparison_number(overall->ratio, ratio));
    if (overall->is_best)
        fputs("<td>best</td>", file);
    else
        write_number(file, "%.2g", overall->p_holm);
    fputs("</tr>\n", file);
}

static void write_bounds(FILE *file, const emp_comparison *c, int32_t b)
{
    char text[EMP_SHEET_CELL_BYTES];

    fputs("<tr><td>lower bound<small>best above it</small></td>", file);
    for (int32_t r = 0; r < c->row_count; r++) {
        double gap = emp_comparison_least_gap(c, b, r);
        fprintf(file, "<td>%s",
                c->bound_s[r] > 0 ? emp_comparison_number(c->bound_s[r], text) : "–");
        if (!isnan(gap)) fprintf(file, "<small>%.0f %%</small>", 100 * gap);
        fputs("</td>", file);
    }
    fputs("<td/><td/><td/></tr>\n</tbody></table></div>\n", file);
}

static void write_budget_table(FILE *file, const emp_comparison *c, int32_t b)
{
    int32_t order[EMP_COMPARISON_ENTRANTS];

    emp_comparison_sort(c, b, order);
    write_table_head(file, c, b);
    for (int32_t i = 0; i < c->entrant_count; i++) write_entrant(file, c, b, order[i]);
    write_bounds(file, c, b);
    if (!isnan(c->friedman[b].p))
        fprintf(file,
                "<p>Friedman's test that all are alike: \u03c7\u00b2 = %.1f, p = "
                "%.2g.</p>\n",
                c->friedman[b].statistic, c->friedman[b].p);
}

static void write_rules(FILE *file, const emp_comparison *c)
{
    fprintf(file,
            "<p class=\"how\">Median of %d seed%s, 95 %% interval below. Bold: the row's "
            "lowest median. \u2032: above it at the 5 %% level (Wilcoxon's signed-rank "
            "test, pairs are seeds, Holm's correction; not possible with fewer than 6 "
            "seeds). none: no placement that fits in memory, counted as infinitely slow; "
            "!: so in some seeds. Rank and ratio: mean over rows of the rank, geometric "
            "mean of the ratio to the row's best. p: the same test over rows and seeds "
            "against the method of lowest mean rank. Methods that stop by themselves "
            "propose once, whatever the budget.</p>\n",
            c->seed_count, c->seed_count == 1 ? "" : "s");
}

/* ---- figures ---- */

static emp_status write_figures(FILE *file, const emp_comparison *c, bool has_figures,
                                emp_error *err)
{
    emp_status st = EMP_OK;

    fputs("<h2>Quality against samples</h2>\n", file);
    if (!has_figures) {
        fputs("<p>No figures: " EMP_GNUPLOT_ABSENCE ".</p>\n", file);
        goto cleanup;
    }
    fputs("<p class=\"how\">Best step so far, median over seeds, shaded its 95 % "
          "interval; dots propose once; no placement that fits is below the dashed "
          "line.</p>\n",
          file);
    for (int32_t r = 0; r < c->row_count; r++) {
        if (!emp_comparison_has_figure(c, r)) continue;
        write_heading(file, "h3", c->row[r].title);
        fputs("<div class=\"figure paper\">", file);
        EMP_TRY(emp_comparison_embed_figure(file, c, r, err));
        fputs("</div>\n", file);
    }

cleanup:
    return st;
}

/* ---- sensitivity ---- */

static void write_change(FILE *file, const emp_comparison *c, int32_t b, int32_t r)
{
    const emp_comparison_change *change =
        &c->change[(b * c->row_count + r) * EMP_SCORED_KINDS];

    fputs("<tr>", file);
    write_heading(file, "td", c->row[r].title);
    fputs("<td class=\"text\">", file);
    write_budget(file, &c->budget[b]);
    fputs("</td>", file);
    write_number(file, "%.2f", change[EMP_SCORED_NOISE].tau);
    write_number(file, "%.2f", change[EMP_SCORED_NOISE].least_tau);
    write_number(file, "%.0f %%", 100 * change[EMP_SCORED_NOISE].kept_frac);
    for (int k = EMP_SCORED_IDEAL; k <= EMP_SCORED_PLACETO; k++) {
        write_number(file, "%.2f", change[k].tau);
        fprintf(file, "<td>%s</td>",
                isnan(change[k].kept_frac) ? "–"
                : change[k].kept_frac > 0  ? "yes"
                                           : "no");
    }
    fputs("</tr>\n", file);
}

static void write_changes(FILE *file, const emp_comparison *c)
{
    fprintf(
        file,
        "<h2>Would the ranking be another?</h2>\n<p class=\"how\">The placements "
        "found, re-scored: with \u00b110 %% on every cost (%d draws), and by other "
        "rules of the runtime; no search is run again. \u03c4: Kendall's, of the "
        "methods' medians with those before; kept: draws in which no method is better "
        "than the one that was best.</p>\n"
        "<div class=\"scroll\"><table><thead><tr><th>row</th><th class=\"text\">"
        "budget</th><th>noise \u03c4</th><th>least</th><th>kept</th><th>ideal "
        "\u03c4</th><th>kept</th><th>placeto \u03c4</th><th>kept</th></tr></thead>\n"
        "<tbody>\n",
        c->draws);
    for (int32_t b = 0; b < c->budget_count; b++)
        for (int32_t r = 0; r < c->row_count; r++) write_change(file, c, b, r);
    fputs("</tbody></table></div>\n", file);
}

/* ---- all of it ---- */

static void write_refusals(FILE *file, const emp_comparison *c)
{
    bool is_list = false;

    for (int32_t i = 0; i < c->row_count * c->entrant_count; i++) {
        const char *reason = c->cell[i].refusal; /* of any budget the same */
        if (reason == NULL) continue;
        fputs(is_list ? "<li>" : "<h2>What found nothing</h2>\n<ul><li>", file);
        emp_html_text(file, c->row[i / c->entrant_count].title);
        fputs(", ", file);
        emp_html_text(file, c->entrant[i % c->entrant_count].key);
        fputs(": ", file);
        emp_html_text(file, reason);
        fputs("</li>\n", file);
        is_list = true;
    }
    if (is_list) fputs("</ul>\n", file);
}

static void write_origin(FILE *file, const emp_comparison *c)
{
    fputs("<p class=\"how\">Simulated, runtime ", file);
    emp_html_text(file, c->runtime);
    fputs(". Made by <code>", file);
    emp_html_text(file, c->command);
    fputs("</code>, emplace ", file);
    emp_html_text(file, c->version);
    fprintf(file, ", commit %.12s%s.</p>\n", c->commit, c->is_dirty ? ", modified" : "");
}

emp_status emp_comparison_write_page(FILE *file, const emp_comparison *c,
                                     bool has_figures, emp_error *err)
{
    emp_html_begin(file, "Placement methods compared");
    fputs("<h1>Placement methods compared</h1>\n", file);
    write_origin(file, c);
    fputs("<h2>Who finds what</h2>\n", file);
    write_rules(file, c);
    for (int32_t b = 0; b < c->budget_count; b++) write_budget_table(file, c, b);
    EMP_CHECK(write_figures(file, c, has_figures, err));
    if (c->draws > 0) write_changes(file, c);
    write_refusals(file, c);
    emp_html_end(file);
    return EMP_OK;
}

// SPDX-License-Identifier: GPL-3.0-or-later
#include "bench/compare/comparison_page.h"

#include <inttypes.h>
#include <math.h>

#include "bench/compare/comparison_internal.h"
#include "bench/compare/figure.h"
#include "bench/plots/gnuplot.h"
#include "bench/plots/html.h"
#include "run/sheet/sheet.h"

/* ---- figures ---- */

static emp_status write_figures(FILE *file, const emp_comparison *c, bool has_figures,
                                emp_error *err)
{
    fputs("<h2>Quality against placements scored and CPU seconds</h2>\n", file);
    if (!has_figures) {
        fputs("<p>No figures: " EMP_GNUPLOT_ABSENCE ".</p>\n", file);
        return EMP_OK;
    }
    fputs("<p class=\"how\">Best step so far, median over seeds, shaded its 95 % "
          "interval; dots propose once; no placement that fits is below the dashed "
          "line.</p>\n",
          file);
    for (int32_t r = 0; r < c->row_count; r++) {
        if (!emp_comparison_has_figure(c, r)) continue;
        emp_html_put(file, "<h3>", c->row[r].title, "</h3>");
        fputs("<div class=\"figure paper\">", file);
        EMP_CHECK(emp_comparison_draw_figure(file, c, r, true, err));
        fputs("</div>\n", file);
    }
    return EMP_OK;
}

/* ---- all of it ---- */

static emp_status write_tables(FILE *file, const emp_comparison *c, emp_error *err)
{
    emp_status st = EMP_OK;
    emp_sheet  sheet = {0};

    for (int32_t i = 0; i < c->budget_count * EMP_TASK_SETS; i++) {
        if (c->test[i].row_count == 0) continue;
        emp_comparison_rank(&sheet, c, i / EMP_TASK_SETS,
                            (emp_task_set)(i % EMP_TASK_SETS));
        EMP_TRY(emp_sheet_print_html(file, &sheet, emp_html_text, err));
        emp_sheet_clear(&sheet);
    }
    for (int32_t b = 0; b < c->budget_count; b++) {
        emp_comparison_tabulate(&sheet, c, b);
        if (b == c->budget_count - 1) emp_comparison_explain(&sheet, c);
        EMP_TRY(emp_sheet_print_html(file, &sheet, emp_html_text, err));
        emp_sheet_clear(&sheet);
    }

cleanup:
    emp_sheet_clear(&sheet);
    return st;
}

static emp_status write_changes(FILE *file, const emp_comparison *c, emp_error *err)
{
    emp_sheet sheet;

    emp_comparison_changes(&sheet, c);
    emp_status st = emp_sheet_print_html(file, &sheet, emp_html_text, err);
    emp_sheet_clear(&sheet);
    return st;
}

emp_status emp_comparison_write_page(FILE *file, const emp_comparison *c,
                                     bool has_figures, emp_error *err)
{
    emp_manifest manifest = emp_manifest_get();

    emp_html_begin(file, "Placement methods compared");
    fputs("<h1>Placement methods compared</h1>\n", file);
    emp_html_put(file, "<p class=\"how\">Simulated, runtime ", c->runtime,
                 " unless a task names another");
    emp_html_put(file, ". Made by <code>", c->command, "</code>, emplace ");
    emp_html_put(file, "", manifest.version, "");
    fprintf(file, ", commit %.12s%s.</p>\n", manifest.commit,
            manifest.is_dirty ? ", modified" : "");
    fputs("<h2>Who finds what</h2>\n", file);
    EMP_CHECK(write_tables(file, c, err));
    EMP_CHECK(write_figures(file, c, has_figures, err));
    if (c->draws > 0 && emp_comparison_largest(c, EMP_BY_EVALUATIONS) >= 0)
        EMP_CHECK(write_changes(file, c, err));
    emp_html_end(file);
    return EMP_OK;
}

// SPDX-License-Identifier: GPL-3.0-or-later
#include "bench/compare/comparison.h"

#include <math.h>
#include <string.h>

#include "bench/compare/comparison_internal.h"
#include "bench/plots/axis.h"
#include "bench/plots/chart.h"
#include "bench/plots/gnuplot.h"
#include "bench/plots/html.h"
#include "run/sheet/sheet.h"

enum {
    WIDTH = 860, /* of a panel */
    HEIGHT = 520,
    MARKS = 8,      /* of an axis, at most */
    LABEL_ROWS = 30 /* labels that fit above each other */
};

/* The curve, and the place of its label. */
struct line {
    int32_t             entrant, colour;
    const emp_interval *curve; /* [point] */
    double              end_s; /* median at the end */
    double              label_s;
};

/* Quality by one axis, within the largest budget of it. */
struct panel {
    const emp_comparison *c;
    emp_comparison_axis   axis;
    int32_t               row, budget, count;
    struct line line[EMP_COMPARISON_ENTRANTS]; /* with a budget, lowest end first */
    double      low_s, high_s;                 /* of all that is drawn */
    double      first, last;                   /* of the axis */
};

struct figure {
    struct panel panel[EMP_COMPARISON_AXES];
    int          count;
};

/* ---- what is drawn ---- */

static const emp_comparison_cell *cell_of(const struct panel *f, int32_t entrant)
{
    return &f->c->cell[emp_comparison_cell_index(f->c, f->budget, f->row, entrant)];
}

static void stretch(struct panel *f, double step_s)
{
    if (!isfinite(step_s) || step_s <= 0) return;
    f->low_s = fmin(f->low_s, step_s);
    f->high_s = fmax(f->high_s, step_s);
}

static void add_line(struct panel *f, int32_t entrant, int32_t colour)
{
    const emp_comparison *c = f->c;
    int32_t     index = emp_comparison_cell_index(c, f->budget, f->row, entrant);
    struct line line = {entrant, colour, &c->curve[index * EMP_COMPARISON_POINTS], NAN,
                        NAN};

    for (int32_t p = 0; p < c->point_count[f->axis]; p++) {
        if (!isfinite(line.curve[p].median)) continue;
        line.end_s = line.curve[p].median;
        stretch(f, line.end_s);
    }
    if (!isfinite(line.end_s)) return;
    int32_t at = f->count++;
    for (; at > 0 && f->line[at - 1].end_s > line.end_s; at--)
        f->line[at] = f->line[at - 1];
    f->line[at] = line;
}

/* Labels a row apart, on a logarithmic axis. */
static void place_labels(struct panel *f)
{
    double apart = pow(f->high_s / f->low_s, 1.0 / LABEL_ROWS);

    for (int32_t i = 0; i < f->count; i++) {
        f->line[i].label_s = f->line[i].end_s;
        if (i > 0)
            f->line[i].label_s = fmax(f->line[i].label_s, f->line[i - 1].label_s * apart);
    }
}

/* An entrant has the same colour in both panels. */
static void collect(struct panel *f)
{
    const emp_comparison *c = f->c;
    int32_t               points = c->point_count[f->axis];

    f->first = points > 0 ? c->point[f->axis][0] : 1;
    f->last = points > 0 ? fmax(c->point[f->axis][points - 1], 2 * f->first) : 2;
    stretch(f, c->bound_s[f->row]);
    const char *label[EMP_COMPARISON_ENTRANTS];
    int32_t     style[EMP_COMPARISON_ENTRANTS], budgeted = 0;
    for (int32_t e = 0; e < c->entrant_count; e++)
        if (c->entrant[e].is_budgeted) label[budgeted++] = c->entrant[e].key;
    emp_report_series_styles(style, label, budgeted);
    budgeted = 0;
    for (int32_t e = 0; e < c->entrant_count; e++) {
        if (c->entrant[e].is_budgeted)
            add_line(f, e, style[budgeted++]);
        else
            stretch(f, cell_of(f, e)->step_s.median);
    }
    place_labels(f);
}

/* Methods that propose once stand where their runs end: after one placement, or so many CPU
 * seconds. */
static double place_of(const struct panel *f, int32_t entrant)
{
    double cpu_s = cell_of(f, entrant)->cpu_s;

    if (f->axis == EMP_BY_EVALUATIONS || isnan(cpu_s)) return f->first;
    return fmin(fmax(cpu_s, f->first), f->last);
}

/* ---- the script ---- */

/* As gnuplot has it: lengths in widths of the line, or 1 for a solid one. */
static void write_dash(FILE *script, const double *dash)
{
    fprintf(script, " dt %s", dash == NULL ? "1" : "(");
    for (int i = 0; dash != NULL && dash[i] > 0; i++)
        fprintf(script, "%s%g", i > 0 ? "," : "", dash[i] / 2);
    fprintf(script, "%s", dash == NULL ? "" : ")");
}

static void write_line(FILE *script, const struct panel *f, int32_t number)
{
    const emp_interval *curve = f->line[number].curve;

    fprintf(script, "$c%d << END_OF_CURVE\n", number);
    for (int32_t p = 0; p < f->c->point_count[f->axis]; p++) {
        if (!isfinite(curve[p].median)) continue;
        fprintf(script, "%.9g %.9g %.9g %.9g\n", f->c->point[f->axis][p], curve[p].median,
                isfinite(curve[p].low) ? curve[p].low : curve[p].median,
                isfinite(curve[p].high) ? curve[p].high : curve[p].median);
    }
    fprintf(script, "END_OF_CURVE\n");
}

/* Those that propose once; true if there is any. */
static bool write_dots(FILE *script, const struct panel *f)
{
    bool has_any = false;

    fprintf(script, "$dots << END_OF_CURVE\n");
    for (int32_t e = 0; e < f->c->entrant_count; e++) {
        double step_s = cell_of(f, e)->step_s.median;
        if (f->c->entrant[e].is_budgeted || !isfinite(step_s)) continue;
        fprintf(script, "%.9g %.9g\n", place_of(f, e), step_s);
        has_any = true;
    }
    fprintf(script, "END_OF_CURVE\n");
    return has_any;
}

/* Names the expert and the best of those that propose once. */
static void label_dots(FILE *script, const struct panel *f)
{
    const emp_comparison *c = f->c;
    int32_t               best = -1;

    for (int32_t e = 0; e < c->entrant_count; e++) {
        double step_s = cell_of(f, e)->step_s.median;
        if (c->entrant[e].is_budgeted || !isfinite(step_s)) continue;
        if (best < 0 || step_s < cell_of(f, best)->step_s.median) best = e;
    }
    for (int32_t e = 0; e < c->entrant_count; e++) {
        double step_s = cell_of(f, e)->step_s.median;
        bool   is_expert = strcmp(c->entrant[e].key, "expert") == 0;
        if (e != best && !(is_expert && isfinite(step_s))) continue;
        fprintf(script,
                "set label '%s' at %.9g,%.9g left offset 0.8,0.5 tc rgb '#606060'\n",
                c->entrant[e].key, place_of(f, e), step_s);
    }
}

/* A logarithmic axis, x or y, with round numbers as marks also where it has less than a decade. */
static void write_axis(FILE *script, char name, double low, double high)
{
    const emp_axis axis = {.low = low, .high = high, .is_log = true};
    double         mark[EMP_AXIS_MARKS];
    const int32_t  count = emp_axis_marks(&axis, MARKS, mark);

    fprintf(script, "set logscale %c\nset %crange [%.9g:%.9g]\nset %ctics (", name, name,
            low, high, name);
    for (int32_t i = 0; i < count; i++)
        fprintf(script, "%s%.9g", i > 0 ? ", " : "", mark[i]);
    fprintf(script, ")\n");
}

static void write_frame(FILE *script, const struct panel *f)
{
    const emp_comparison *c = f->c;
    double                bound_s = c->bound_s[f->row];

    fprintf(
        script,
        "unset label\nunset arrow\nunset key\nset border 3 lc rgb '#808080'\n"
        "set tics nomirror scale 0.5\nset grid ytics lc rgb '#d0d0d0' lw 0.6 dt 1\n"
        "set rmargin 16\nset xlabel '%s'\n"
        "set ylabel 'best step so far, s'\nset style circle radius screen 0.004 noclip\n"
        "set title '%s on %s'\n",
        f->axis == EMP_BY_CLOCK ? "CPU seconds of one thread" : "placements scored",
        c->row[f->row].title, c->row[f->row].machine);
    write_axis(script, 'x', f->first, f->last);
    write_axis(script, 'y', f->low_s / 1.08, f->high_s * 1.08);
    if (bound_s > 0)
        fprintf(
            script,
            "set arrow from graph 0,first %.9g to graph 1,first %.9g nohead lw 2 dt 2 "
            "lc rgb '#202020'\n"
            "set label 'bound' at graph 0.01,first %.9g left offset 0,0.6 tc rgb "
            "'#202020'\n",
            bound_s, bound_s, bound_s);
    for (int32_t i = 0; i < f->count; i++)
        fprintf(script,
                "set label '%s' at graph 1,first %.9g left offset 0.8,0 tc rgb '%s'\n",
                c->entrant[f->line[i].entrant].key, f->line[i].label_s,
                emp_report_line_style(f->line[i].colour).colour);
    label_dots(script, f);
}

static void write_panel(FILE *script, const struct panel *f)
{
    const char *comma = "";

    for (int32_t i = 0; i < f->count; i++) write_line(script, f, i);
    bool has_dots = write_dots(script, f);
    write_frame(script, f);
    fprintf(script, "plot ");
    for (int32_t i = 0; i < f->count; i++) {
        fprintf(script,
                "%s$c%d using 1:3:4 with filledcurves lc rgb '%s' fs transparent solid "
                "0.12 noborder",
                comma, i, emp_report_line_style(f->line[i].colour).colour);
        comma = ", ";
    }
    for (int32_t i = 0; i < f->count; i++) {
        emp_line_style style = emp_report_line_style(f->line[i].colour);
        fprintf(script, "%s$c%d using 1:2 with lines lw 2 lc rgb '%s'", comma, i,
                style.colour);
        write_dash(script, style.dash);
    }
    if (has_dots)
        fprintf(script,
                "%s$dots using 1:2 with circles fs solid noborder lc rgb '#606060'",
                comma);
    fprintf(script, "\n");
}

static void write_script(FILE *script, const void *what)
{
    const struct figure *f = (const struct figure *)what;

    fprintf(script, "set object rectangle from screen 0,0 to screen 1,1 behind fc rgb "
                    "'white' fs solid noborder\n");
    if (f->count > 1) fprintf(script, "set multiplot layout 1,%d\n", f->count);
    for (int i = 0; i < f->count; i++) {
        write_panel(script, &f->panel[i]);
        fprintf(script, "unset object\n"); /* the second panel must not cover the first */
    }
    if (f->count > 1) fprintf(script, "unset multiplot\n");
}

static bool has_any(const struct panel *f)
{
    bool has_dots = false;

    for (int32_t e = 0; e < f->c->entrant_count; e++)
        has_dots = has_dots || isfinite(cell_of(f, e)->step_s.median);
    return f->count > 0 || has_dots;
}

/* The panels that show something. */
static struct figure figure_of(const emp_comparison *c, int32_t row)
{
    struct figure f = {.count = 0};

    for (int a = 0; a < EMP_COMPARISON_AXES; a++) {
        struct panel *panel = &f.panel[f.count];
        int32_t       budget = emp_comparison_largest(c, (emp_comparison_axis)a);
        if (budget < 0) continue;
        *panel = (struct panel){.c = c,
                                .axis = (emp_comparison_axis)a,
                                .row = row,
                                .budget = budget,
                                .low_s = INFINITY,
                                .high_s = 0};
        collect(panel);
        f.count += has_any(panel);
    }
    return f;
}

/* Whether some run on the row found a placement that fits. */
static bool emp_comparison_has_figure(const emp_comparison *c, int32_t row)
{
    return figure_of(c, row).count > 0;
}

emp_status emp_comparison_draw_figure(FILE *file, const emp_comparison *c, int32_t row,
                                      bool is_embedded, emp_error *err)
{
    struct figure f = figure_of(c, row);

    if (f.count == 0)
        return EMP_ERROR(
            EMP_EINVAL,
            "no run found a placement of %s that fits; there is nothing to draw",
            c->row[row].title);
    return emp_gnuplot_draw(
        file, f.count * WIDTH, HEIGHT, write_script, &f,
        is_embedded ? "quality against placements scored and CPU seconds" : NULL, err);
}

/* ---- the page ---- */

static emp_status write_figures(FILE *file, const emp_comparison *c, bool has_figures,
                                emp_error *err)
{
    fputs("<h2>Quality against placements scored and CPU seconds</h2>\n", file);
    if (!has_figures) {
        fputs("<p>No figures: " EMP_GNUPLOT_ABSENCE ".</p>\n", file);
        return EMP_OK;
    }
    fprintf(file,
            "<p class=\"how\">Best step so far, median over seeds, shaded its %s; dots "
            "propose once; no placement that fits is below the dashed line.</p>\n",
            c->seed_count < EMP_INTERVAL_LEAST ? "range" : "95 % interval");
    for (int32_t r = 0; r < c->row_count; r++) {
        if (!emp_comparison_has_figure(c, r)) continue;
        emp_html_put(file, "<h3>", c->row[r].title, "</h3>");
        fputs("<div class=\"figure paper\">", file);
        EMP_CHECK(emp_comparison_draw_figure(file, c, r, true, err));
        fputs("</div>\n", file);
    }
    return EMP_OK;
}

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
    emp_html_put(file, "<p class=\"how\">Simulated, runtime ", c->tasks.runtime,
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

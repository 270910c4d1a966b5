// SPDX-License-Identifier: GPL-3.0-or-later
#include <string.h>

#include "bench/plots/colours.h"
#include "bench/plots/html.h"
#include "bench/report/pictures.h"

/* Sizes in units of the picture, which is scaled to the page. */
enum {
    WIDTH = 1080,
    NAME_WIDTH = 196, /* names of rows */
    NAME_CHARS = 30,
    HEAD = 34,
    ROW = 20,
    GAP = 12,        /* between panels */
    LETTER_ROOM = 9, /* narrower cells have no letter */
    MAX_CELL = 60,
    REST = 24,
    UPDATE = 50,
    SCOPE = 150,       /* of a model that is not unrolled */
    APART = 3,         /* between the last step and the rest */
    MIXED_PERCENT = 5, /* a second device with less is not shown */
    PANELS = 3
};

static const char *const panel_name[PANELS] = {"forward", "backward", "update"};

void emp_picture_devices(FILE *file, const emp_problem *problem,
                         const emp_device_id *device_of_op)
{
    const emp_graph *g = problem->graph;
    double           flops[EMP_MAX_DEVICES] = {0}, total = 0;
    int32_t          ops[EMP_MAX_DEVICES] = {0};

    for (emp_op_id op = 0; op < g->op_count; op++) {
        if (g->op[op].is_folded) continue;
        flops[device_of_op[op]] += g->op[op].cost.flops;
        total += g->op[op].cost.flops;
        ops[device_of_op[op]]++;
    }
    fputs("<ul class=\"legend\">\n", file);
    for (emp_device_id d = 0; d < problem->machine->device_count; d++) {
        fprintf(file,
                "<li><svg viewBox=\"0 0 34 20\"><rect width=\"34\" height=\"20\" "
                "fill=\"%s\"/><text class=\"on%s\" x=\"17\" y=\"15\" font-size=\"14\" "
                "text-anchor=\"middle\">%c</text></svg> <span>",
                emp_report_device_colour(problem->machine, d),
                emp_report_device_is_dark(problem->machine, d) ? " inverse" : "",
                emp_report_device_letter(d));
        emp_html_text(file, problem->machine->device[d].name);
        fprintf(file, ": %.1f %% of the arithmetic, %d ops</span></li>\n",
                total > 0 ? 100.0 * flops[d] / total : 0.0, ops[d]);
    }
    fputs("</ul>\n", file);
}

struct layout {
    const emp_cells   *cells;
    const emp_machine *machine;
    double             cell; /* width of a step */
    double             panel_x[PANELS];
    double             rest;   /* width of the column of ops of no step */
    double             update; /* width of the one column of the update */
};

static int32_t columns_of(const emp_cells *c, int32_t panel)
{
    return panel == EMP_PASS_UPDATE ? 0 : c->step_count;
}

static struct layout lay_out(const emp_cells *c, const emp_machine *machine)
{
    struct layout l = {.cells = c, .machine = machine};
    bool          is_unrolled = c->step_count > 0;
    double        apart = is_unrolled ? APART : 0, x = NAME_WIDTH;

    l.rest = is_unrolled ? REST : SCOPE;
    l.update = is_unrolled ? UPDATE : SCOPE;
    if (is_unrolled)
        l.cell = (WIDTH - NAME_WIDTH - 2 * (APART + REST + GAP) - UPDATE) /
                 (2.0 * c->step_count);
    if (l.cell > MAX_CELL) l.cell = MAX_CELL;
    for (int32_t p = 0; p < PANELS; p++) {
        l.panel_x[p] = x;
        x += columns_of(c, p) * l.cell + apart + l.rest + GAP;
    }
    return l;
}

/* Left end of a column; that of ops of no step stands apart. */
static double column_x(const struct layout *l, int32_t panel, int32_t step)
{
    if (panel == EMP_PASS_UPDATE) return l->panel_x[panel];
    return l->panel_x[panel] + step * l->cell +
           (step == l->cells->step_count && step > 0 ? APART : 0);
}

static void write_title(FILE *file, const struct layout *l, int32_t row, int32_t panel,
                        int32_t step, const int32_t *count)
{
    fputs("<title>", file);
    emp_html_text(file, l->cells->row_name[row]);
    fprintf(file, ", %s", panel_name[panel]);
    if (step < l->cells->step_count) fprintf(file, ", step %d", step + 1);
    if (step == l->cells->step_count && step > 0 && panel != EMP_PASS_UPDATE)
        fputs(", of no step", file);
    fputc(':', file);
    for (emp_device_id d = 0; d < l->cells->device_count; d++) {
        if (count[d] == 0) continue;
        fprintf(file, " %c ", emp_report_device_letter(d));
        emp_html_text(file, l->machine->device[d].name);
        fprintf(file, " %d op%s;", count[d], count[d] == 1 ? "" : "s");
    }
    fputs("</title>", file);
}

/* The majority's colour and letter; a strip below is the second one's share. */
static void draw_cell(FILE *file, const struct layout *l, int32_t row, int32_t panel,
                      int32_t step)
{
    const int32_t *count = emp_cells_at(l->cells, row, (emp_pass)panel, step);
    emp_device_id  first = 0, second = -1;
    int32_t        total = 0;
    double         x = column_x(l, panel, step), y = HEAD + row * ROW;
    double         width = panel == EMP_PASS_UPDATE       ? l->update
                           : step == l->cells->step_count ? l->rest
                                                          : l->cell;
    double         height = ROW - 1;

    for (emp_device_id d = 0; d < l->cells->device_count; d++) {
        total += count[d];
        if (count[d] > count[first]) first = d;
    }
    if (total == 0) return;
    for (emp_device_id d = 0; d < l->cells->device_count; d++) {
        if (d != first && count[d] > (second < 0 ? 0 : count[second])) second = d;
    }
    fputs("<g>", file);
    write_title(file, l, row, panel, step, count);
    fprintf(file,
            "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" fill=\"%s\"/>", x,
            y, width - (width > 4 ? 1 : 0.3), height,
            emp_report_device_colour(l->machine, first));
    if (second >= 0 && 100 * count[second] >= MIXED_PERCENT * total) {
        double strip = height * count[second] / total;
        fprintf(file,
                "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" "
                "fill=\"%s\"/>",
                x, y + height - strip, width - (width > 4 ? 1 : 0.3), strip,
                emp_report_device_colour(l->machine, second));
    }
    if (width >= LETTER_ROOM)
        fprintf(file,
                "<text class=\"on%s\" x=\"%.1f\" y=\"%.1f\" font-size=\"9\" "
                "text-anchor=\"middle\">%c</text>",
                emp_report_device_is_dark(l->machine, first) ? " inverse" : "",
                x + width / 2, y + 11, emp_report_device_letter(first));
    fputs("</g>\n", file);
}

static void draw_heads(FILE *file, const struct layout *l)
{
    int32_t steps = l->cells->step_count;

    for (int32_t p = 0; p < PANELS; p++) {
        fprintf(file,
                "<text class=\"name\" x=\"%.1f\" y=\"12\" font-size=\"13\">%s</text>\n",
                l->panel_x[p], panel_name[p]);
        if (p == EMP_PASS_UPDATE || steps == 0) continue;
        for (int32_t s = 1; s <= steps; s++) {
            if (s != 1 && s % (steps > 12 ? 10 : 2) != 0) continue;
            fprintf(file,
                    "<text x=\"%.1f\" y=\"28\" font-size=\"10\" "
                    "text-anchor=\"middle\">%d</text>\n",
                    column_x(l, p, s - 1) + l->cell / 2, s);
        }
        fprintf(file,
                "<text x=\"%.1f\" y=\"28\" font-size=\"10\" "
                "text-anchor=\"middle\">rest</text>\n",
                column_x(l, p, steps) + l->rest / 2);
    }
}

/* The end of a long name says more than its beginning; the cells' titles have it whole. */
static void write_row_name(FILE *file, const char *name, int32_t row)
{
    size_t length = strlen(name);

    fprintf(file,
            "<text class=\"name\" x=\"%d\" y=\"%d\" font-size=\"12\" "
            "text-anchor=\"end\">%s",
            NAME_WIDTH - 8, HEAD + row * ROW + 14, length > NAME_CHARS ? "…" : "");
    emp_html_text(file, length > NAME_CHARS ? name + length - NAME_CHARS : name);
    fputs("</text>\n", file);
}

void emp_picture_cells(FILE *file, const emp_cells *cells, const emp_machine *machine)
{
    struct layout l = lay_out(cells, machine);

    fprintf(file,
            "<svg class=\"grid\" role=\"img\" aria-label=\"placement, layers by steps\" "
            "viewBox=\"0 0 %d %d\">\n",
            WIDTH, HEAD + ROW * cells->row_count);
    draw_heads(file, &l);
    for (int32_t row = 0; row < cells->row_count; row++) {
        write_row_name(file, cells->row_name[row], row);
        for (int32_t p = 0; p < PANELS; p++) {
            for (int32_t s = 0; s < columns_of(cells, p); s++)
                draw_cell(file, &l, row, p, s);
            draw_cell(file, &l, row, p, cells->step_count);
        }
    }
    fputs("</svg>\n", file);
}

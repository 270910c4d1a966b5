// SPDX-License-Identifier: GPL-3.0-or-later
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/text/text.h"
#include "base/text/units.h"
#include "bench/plots/axis.h"
#include "bench/report/cells.h"
#include "sim/machine/machine.h"

/* Pixels. */
enum {
    WIDTH = 1080,
    MOST_NAME = 200, /* of a row */
    LEGEND = 30,
    HEAD = 58, /* above a grid: who, how fast, panels, steps */
    ROW = 16,
    MARGIN = 10,  /* at the right, where a head may be wider than its panel */
    BETWEEN = 22, /* grids, and lines of grids */
    GAP = 7,      /* between panels */
    APART = 2,    /* between the last step and the rest */
    REST = 14,
    MAX_STEP = 24,
    MAX_SCOPE = 60,    /* of a model that is not unrolled */
    LETTER_ROOM = 9,   /* narrower cells have no letter */
    MIXED_PERCENT = 5, /* a second device with less is not shown */
    LEAST_STEP = 3,
    LEAST_SCOPE = 30,
    FONT = 12,
    SMALL = 10,
    PANELS = 3
};

static const char *const panel_name[PANELS] = {"forward", "backward", "update"};
static const char *const panel_short[PANELS] = {"fwd", "bwd", "upd"};
static const char        light[] = "#ffffff", dark[] = "#111111";

/* The same for every placement. */
struct layout {
    const emp_cells   *cells; /* of the first; all have the same rows and steps */
    const emp_machine *machine;
    double             name_width, step, rest, update; /* widths of columns */
    double             width, height;                  /* of a grid */
    int32_t            across;                         /* grids in a line */
};

/* ---- where things are ---- */

static double name_width(const emp_cells *c)
{
    double widest = 0;

    for (int32_t row = 0; row < c->row_count; row++)
        widest = fmax(widest, emp_label_width(c->row_name[row], FONT));
    return fmin(widest, MOST_NAME) + GAP;
}

/* The narrowest grid that can be read. */
static double least_width(const emp_cells *c)
{
    if (c->step_count == 0) return PANELS * LEAST_SCOPE + 2 * GAP;
    return 2.0 * (c->step_count * LEAST_STEP + APART + REST + GAP) + REST;
}

static struct layout lay_out(const emp_cells *c, const emp_machine *machine,
                             int32_t count)
{
    struct layout l = {.cells = c, .machine = machine, .name_width = name_width(c)};
    double        room = WIDTH - MARGIN - l.name_width + BETWEEN;
    int32_t       most = (int32_t)fmax(1, floor(room / (least_width(c) + BETWEEN)));
    int32_t       lines = (count + most - 1) / most;

    l.across = (count + lines - 1) / lines;
    l.width = room / l.across - BETWEEN;
    if (c->step_count > 0) {
        double steps = l.width - 2 * (APART + REST + GAP) - REST;
        l.rest = l.update = REST;
        l.step = fmin(steps / (2.0 * c->step_count), MAX_STEP);
        l.width = 2 * (c->step_count * l.step + APART + l.rest + GAP) + l.update;
    } else {
        l.rest = l.update = fmin((l.width - 2 * GAP) / PANELS, MAX_SCOPE);
        l.width = PANELS * l.rest + 2 * GAP;
    }
    l.height = HEAD + c->row_count * ROW;
    return l;
}

static double panel_x(const struct layout *l, int32_t panel)
{
    double steps = l->cells->step_count * l->step;

    return panel * (steps + (steps > 0 ? APART : 0) + l->rest + GAP);
}

/* Left end of a column in its grid; the column of ops of no step stands apart. */
static double column_x(const struct layout *l, int32_t panel, int32_t step)
{
    if (panel == EMP_CELLS_UPDATE) return panel_x(l, panel);
    return panel_x(l, panel) + step * l->step +
           (step == l->cells->step_count && step > 0 ? APART : 0);
}

/* ---- cells ---- */

static void describe(char *text, size_t size, const struct layout *l, int32_t row,
                     int32_t panel, int32_t step, const int32_t *count)
{
    emp_text title = {text, size, 0};

    emp_text_add(&title, "%s, %s", l->cells->row_name[row], panel_name[panel]);
    if (step < l->cells->step_count) emp_text_add(&title, ", step %d", step + 1);
    if (step == l->cells->step_count && step > 0 && panel != EMP_CELLS_UPDATE)
        emp_text_add(&title, ", of no step");
    for (emp_device_id d = 0; d < l->cells->device_count; d++) {
        if (count[d] == 0) continue;
        emp_text_add(&title, "; %c %s %d op%s", emp_device_letter(d),
                     l->machine->device[d].name, count[d], emp_units_plural(count[d]));
    }
}

static void draw_letter(emp_drawing *d, const emp_machine *machine, emp_device_id device,
                        double x, double base_line, double size)
{
    const char letter[] = {emp_device_letter(device), '\0'};
    bool       is_dark = emp_device_is_dark(machine, device);

    emp_drawing_text(
        d, x, base_line, letter,
        &(emp_lettering){is_dark ? light : dark, size, EMP_ANCHOR_MIDDLE, false});
}

/* The two devices with the most ops; -1 = there is none. Returns the sum of all. */
static int32_t find_devices(const int32_t *count, int32_t device_count,
                            emp_device_id most[2])
{
    int32_t total = 0;

    most[0] = most[1] = -1;
    for (emp_device_id d = 0; d < device_count; d++) {
        total += count[d];
        if (count[d] == 0) continue;
        if (most[0] < 0 || count[d] > count[most[0]]) {
            most[1] = most[0];
            most[0] = d;
        } else if (most[1] < 0 || count[d] > count[most[1]]) {
            most[1] = d;
        }
    }
    return total;
}

/* The majority's colour and letter; a strip below is the second one's share. */
static void draw_cell(emp_drawing *d, const struct layout *l, const emp_cells *cells,
                      emp_point corner, int32_t row, int32_t panel, int32_t step)
{
    const int32_t *count = emp_cells_at(cells, row, (emp_cells_pass)panel, step);
    emp_device_id  most[2];
    int32_t        total = find_devices(count, cells->device_count, most);
    double         width = panel == EMP_CELLS_UPDATE   ? l->update
                           : step == cells->step_count ? l->rest
                                                       : l->step;
    emp_box box = {corner.x + column_x(l, panel, step), corner.y + HEAD + row * ROW,
                   width - (width > 4 ? 1 : 0.3), ROW - 1};
    char    title[512];

    if (total == 0) return;
    describe(title, sizeof title, l, row, panel, step, count);
    emp_drawing_begin(d, title);
    emp_drawing_rectangle(d, box,
                          &(emp_paint){.colour = emp_device_colour(l->machine, most[0])});
    if (most[1] >= 0 && 100 * count[most[1]] >= MIXED_PERCENT * total) {
        double  strip = box.height * count[most[1]] / total;
        emp_box foot = {box.x, box.y + box.height - strip, box.width, strip};
        emp_drawing_rectangle(
            d, foot, &(emp_paint){.colour = emp_device_colour(l->machine, most[1])});
    }
    if (width >= LETTER_ROOM)
        draw_letter(d, l->machine, most[0], box.x + box.width / 2, box.y + 10, SMALL - 1);
    emp_drawing_end(d);
}

/* ---- around them ---- */

static void draw_steps(emp_drawing *d, const struct layout *l, emp_point corner,
                       int32_t panel)
{
    static const emp_lettering small = {EMP_SOFT, SMALL, EMP_ANCHOR_MIDDLE, false};
    int32_t                    steps = l->cells->step_count;
    double                     last = -INFINITY;

    for (int32_t s = 1; s <= steps; s++) {
        double x = corner.x + column_x(l, panel, s - 1) + l->step / 2;
        char   text[16];
        if (s != 1 && s % 10 != 0 && (steps > 12 || s % 2 != 0)) continue;
        snprintf(text, sizeof text, "%d", s);
        if (x - emp_label_width(text, SMALL) / 2 < last + 2) continue;
        last = x + emp_label_width(text, SMALL) / 2;
        emp_drawing_text(d, x, corner.y + HEAD - 4, text, &small);
    }
}

static void draw_head(emp_drawing *d, const struct layout *l,
                      const emp_picture_placement *p, emp_point corner)
{
    char label[160];

    emp_label_shorten(label, sizeof label, p->label, l->width, FONT + 1);
    emp_drawing_begin(d, p->label);
    emp_drawing_text(d, corner.x, corner.y + 12, label,
                     &(emp_lettering){.size = FONT + 1});
    emp_drawing_end(d);
    emp_drawing_text(d, corner.x, corner.y + 27, p->verdict,
                     &(emp_lettering){.colour = EMP_SOFT, .size = FONT});
    for (int32_t panel = 0; panel < PANELS; panel++) {
        double room = panel == EMP_CELLS_UPDATE ? l->update : panel_x(l, 1) - GAP;
        bool   has_room = emp_label_width(panel_name[panel], SMALL) <= room;
        emp_drawing_text(d, corner.x + panel_x(l, panel), corner.y + 42,
                         has_room ? panel_name[panel] : panel_short[panel],
                         &(emp_lettering){.colour = EMP_SOFT, .size = SMALL});
        if (panel != EMP_CELLS_UPDATE) draw_steps(d, l, corner, panel);
    }
}

static void draw_grid(emp_drawing *d, const struct layout *l,
                      const emp_picture_placement *p, emp_point corner)
{
    const emp_cells *c = p->cells;

    draw_head(d, l, p, corner);
    for (int32_t row = 0; row < c->row_count; row++) {
        for (int32_t panel = 0; panel < PANELS; panel++) {
            int32_t steps = panel == EMP_CELLS_UPDATE ? 0 : c->step_count;
            for (int32_t s = 0; s < steps; s++) draw_cell(d, l, c, corner, row, panel, s);
            draw_cell(d, l, c, corner, row, panel, c->step_count);
        }
    }
}

static void draw_row_names(emp_drawing *d, const struct layout *l, double y)
{
    char label[EMP_CELLS_NAME_BYTES + 4];

    for (int32_t row = 0; row < l->cells->row_count; row++) {
        emp_label_shorten(label, sizeof label, l->cells->row_name[row],
                          l->name_width - GAP + 0.01, FONT);
        emp_drawing_text(d, l->name_width - GAP, y + HEAD + row * ROW + 12, label,
                         &(emp_lettering){NULL, FONT, EMP_ANCHOR_END, false});
    }
}

/* Colour and letter of each device; returns its height. */
static double draw_legend(emp_drawing *d, const struct layout *l)
{
    double x = l->name_width, y = 0;

    for (emp_device_id device = 0; device < l->machine->device_count; device++) {
        const char *name = l->machine->device[device].name;
        double      width = 26 + emp_label_width(name, FONT) + 18;
        if (x + width > WIDTH && x > l->name_width) {
            x = l->name_width;
            y += ROW + 4;
        }
        emp_drawing_rectangle(
            d, (emp_box){x, y + 1, 20, 15},
            &(emp_paint){.colour = emp_device_colour(l->machine, device)});
        draw_letter(d, l->machine, device, x + 10, y + 12.5, FONT - 1);
        emp_drawing_text(d, x + 26, y + 13, name, &(emp_lettering){.size = FONT});
        x += width;
    }
    return y + LEGEND;
}

void emp_picture_placements(emp_drawing *d, const char *name,
                            const emp_picture_placement *placement, int32_t count,
                            const emp_machine *machine)
{
    struct layout l = lay_out(placement[0].cells, machine, count);
    int32_t       lines = (count + l.across - 1) / l.across;

    emp_drawing_init(d, name,
                     "placements side by side: layers by steps, coloured by device",
                     l.name_width + l.across * (l.width + BETWEEN) - BETWEEN + MARGIN, 0);
    double top = draw_legend(d, &l);
    d->width = fmax(d->width, fmin(WIDTH, 480));
    d->height = top + lines * (l.height + BETWEEN) - BETWEEN;
    for (int32_t i = 0; i < count; i++) {
        double    y = top + i / l.across * (l.height + BETWEEN);
        emp_point corner = {l.name_width + i % l.across * (l.width + BETWEEN), y};
        if (i % l.across == 0) draw_row_names(d, &l, y);
        draw_grid(d, &l, &placement[i], corner);
    }
}

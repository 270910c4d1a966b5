// SPDX-License-Identifier: GPL-3.0-or-later
#include "bench/plots/passes.h"

#include <stdio.h>

#include "base/text/units.h"
#include "bench/plots/axis.h"

enum { WIDTH = 900, LEFT = 60, RIGHT = 12, TOP = 30, AXIS = 26, MARKS = 8 };

#define FONT 10.0

/* Colours of forward passes, backward passes and gradients of weights, each light and dark. */
static const char *const colours[EMP_TURN_KINDS][2] = {
    {"#56b4e9", "#0072b2"}, {"#e69f00", "#d55e00"}, {"#009e73", "#00664b"}};
static const char *const names[EMP_TURN_KINDS] = {"forward", "backward",
                                                  "gradients of weights"};

typedef struct {
    emp_drawing *d;
    double       end_s, row; /* height of a rank's row */
} picture;

static double x_of(const picture *p, double seconds)
{
    return LEFT + (WIDTH - LEFT - RIGHT) * seconds / p->end_s;
}

static void draw_key(const picture *p, const bool *is_there)
{
    double x = LEFT;

    for (int32_t k = 0; k < EMP_TURN_KINDS; k++) {
        if (!is_there[k]) continue;
        emp_drawing_rectangle(p->d, (emp_box){x, 10, 10, 10},
                              &(emp_paint){.colour = colours[k][0]});
        emp_drawing_text(p->d, x + 14, 19, names[k], &(emp_lettering){.size = FONT});
        x += 28 + emp_label_width(names[k], FONT);
    }
}

static void draw_axis(const picture *p, double bottom)
{
    emp_axis axis = emp_axis_empty();
    double   mark[EMP_AXIS_MARKS];
    char     text[32];

    emp_axis_stretch(&axis, 0.0);
    emp_axis_stretch(&axis, p->end_s);
    const int32_t count = emp_axis_marks(&axis, MARKS, mark);
    for (int32_t i = 0; i < count; i++) {
        const double x = x_of(p, mark[i]);
        emp_drawing_segment(p->d, x, TOP, x, bottom, &(emp_paint){.colour = EMP_FAINT});
        emp_units_format_seconds(mark[i], text, sizeof text);
        emp_drawing_text(p->d, x, bottom + 16, text,
                         &(emp_lettering){.colour = EMP_SOFT,
                                          .size = FONT,
                                          .anchor = EMP_ANCHOR_MIDDLE});
    }
}

static void draw_pass(const picture *p, const emp_turn_run *r, bool is_second)
{
    const double x = x_of(p, (double)r->start_ns * 1e-9);
    const double width = x_of(p, (double)r->end_ns * 1e-9) - x;
    const double y = TOP + p->row * r->rank;
    char         text[48];

    snprintf(text, sizeof text, "%s %d, part %d", names[r->kind], r->micro_batch,
             r->chunk);
    emp_drawing_begin(p->d, text);
    emp_drawing_rectangle(
        p->d, (emp_box){x, y + 1, width > 0.4 ? width - 0.2 : width, p->row - 2},
        &(emp_paint){.colour = colours[r->kind][is_second]});
    snprintf(text, sizeof text, "%d", r->micro_batch);
    if (p->row >= FONT + 4 && width > emp_label_width(text, FONT) + 2)
        emp_drawing_text(p->d, x + width / 2, y + p->row / 2 + FONT / 3, text,
                         &(emp_lettering){.size = FONT, .anchor = EMP_ANCHOR_MIDDLE});
    emp_drawing_end(p->d);
}

static void draw_ranks(const picture *p, int32_t ranks)
{
    const int32_t every = p->row >= FONT ? 1 : (int32_t)(FONT / p->row) + 1;
    char          text[32];

    for (int32_t r = 0; r < ranks; r += every) {
        snprintf(text, sizeof text, "rank %d", r);
        emp_drawing_text(
            p->d, LEFT - 6, TOP + p->row * (r + 0.5) + FONT / 3, text,
            &(emp_lettering){.colour = EMP_SOFT, .size = FONT, .anchor = EMP_ANCHOR_END});
    }
}

void emp_passes_draw(emp_drawing *drawing, const emp_turn_run *run, int32_t count,
                     int32_t ranks)
{
    picture p = {.d = drawing, .row = ranks > 32 ? 8 : 18};
    bool    is_there[EMP_TURN_KINDS] = {false};
    int32_t least[EMP_CHUNKS_MAX]; /* the first part of a rank's stage */

    for (int32_t i = 0; i < EMP_CHUNKS_MAX; i++) least[i] = EMP_CHUNKS_MAX;
    for (int32_t i = 0; i < count; i++) {
        const int32_t row = run[i].rank % EMP_CHUNKS_MAX;
        if ((double)run[i].end_ns * 1e-9 > p.end_s)
            p.end_s = (double)run[i].end_ns * 1e-9;
        is_there[run[i].kind] = true;
        if (run[i].chunk < least[row]) least[row] = run[i].chunk;
    }
    emp_drawing_init(drawing, "timeline", "passes of a training step: ranks against time",
                     WIDTH, TOP + p.row * ranks + AXIS);
    draw_key(&p, is_there);
    draw_axis(&p, TOP + p.row * ranks);
    draw_ranks(&p, ranks);
    for (int32_t i = 0; i < count; i++)
        draw_pass(&p, &run[i], run[i].chunk != least[run[i].rank % EMP_CHUNKS_MAX]);
}

// SPDX-License-Identifier: GPL-3.0-or-later
#include <math.h>
#include <stdio.h>

#include "base/text/units.h"
#include "bench/plots/axis.h"
#include "bench/plots/colours.h"
#include "bench/plots/labels.h"
#include "bench/report/pictures.h"

/* Pixels. A bin is one wide. */
enum {
    LEFT = 100,
    RIGHT = 20,
    WIDTH = LEFT + EMP_TIMELINE_BINS + RIGHT,
    COMPUTE = 18, /* heights of tracks */
    COPY = 7,
    GAP = 9, /* between devices */
    AXIS = 24,
    FONT = 12,
    MARKS = 9,
    LEVELS = 4 /* of busy shares that are told apart */
};

static const char *const track_name[EMP_TRACK_COUNT] = {"computes", "receives", "sends"};
static const emp_paint   idle = {.colour = "#808080", .opacity = 0.1};

static int height_of(int32_t kind) { return kind == EMP_TRACK_COMPUTE ? COMPUTE : COPY; }

static bool is_drawn(const emp_timeline *t, emp_device_id d, int32_t kind)
{
    return kind == EMP_TRACK_COMPUTE ||
           emp_timeline_at(t, d, (emp_track_kind)kind)->busy_ns > 0;
}

static int level_of(float busy)
{
    return busy <= 0.0f ? 0 : (int)ceilf(fminf(busy, 1.0f) * LEVELS - 0.001f);
}

/* Neighbouring bins of one level are one rectangle; the busier the less transparent. */
static void draw_track(emp_drawing *d, const emp_track *track, double y, int height,
                       const char *colour)
{
    for (int32_t bin = 0; bin < EMP_TIMELINE_BINS;) {
        int32_t first = bin;
        int     level = level_of(track->busy_frac[bin]);
        while (bin < EMP_TIMELINE_BINS && level_of(track->busy_frac[bin]) == level) bin++;
        if (level == 0) continue;
        emp_drawing_rectangle(
            d, (emp_box){LEFT + first, y, bin - first, height},
            &(emp_paint){.colour = colour, .opacity = (double)level / LEVELS});
    }
}

/* Returns where the next device begins. */
static double draw_device(emp_drawing *d, const emp_timeline *t,
                          const emp_machine *machine, emp_device_id device, double y)
{
    double      step = (double)t->result.step_time_ns;
    const char *colour = emp_report_device_colour(machine, device);
    char        text[128], time[32], share[32];

    snprintf(text, sizeof text, "%c %s", emp_report_device_letter(device),
             machine->device[device].name);
    emp_drawing_text(d, LEFT - 8, y + 13, text,
                     &(emp_lettering){NULL, FONT, EMP_ANCHOR_END, false});
    for (int32_t kind = 0; kind < EMP_TRACK_COUNT; kind++) {
        const emp_track *track = emp_timeline_at(t, device, (emp_track_kind)kind);
        if (!is_drawn(t, device, kind)) continue;
        snprintf(
            text, sizeof text, "%s %s for %s, %s of the step",
            machine->device[device].name, track_name[kind],
            emp_units_format_seconds((double)track->busy_ns * 1e-9, time, sizeof time),
            emp_units_format_percent(step > 0 ? (double)track->busy_ns / step : 0.0,
                                     share, sizeof share));
        emp_drawing_begin(d, text);
        emp_drawing_rectangle(d, (emp_box){LEFT, y, EMP_TIMELINE_BINS, height_of(kind)},
                              &idle);
        draw_track(d, track, y, height_of(kind),
                   kind == EMP_TRACK_COMPUTE ? colour : EMP_SOFT);
        emp_drawing_end(d);
        y += height_of(kind) + 1;
    }
    return y + GAP;
}

static void draw_axis(emp_drawing *d, double step_s, double y)
{
    emp_axis axis = {0, step_s, false, LEFT, LEFT + EMP_TIMELINE_BINS};
    double   mark[EMP_AXIS_MARKS];
    int32_t  count = emp_axis_marks(&axis, MARKS, mark);
    char     text[32];

    for (int32_t i = 0; i < count; i++) {
        double      x = emp_axis_place(&axis, mark[i]);
        const char *label =
            mark[i] == 0 ? "0" : emp_units_format_seconds(mark[i], text, sizeof text);
        double half = emp_label_width(label, FONT) / 2;
        emp_drawing_segment(d, x, 0, x, y, &(emp_paint){.colour = EMP_FAINT});
        emp_drawing_text(d, fmin(x, WIDTH - half), y + 16, label,
                         &(emp_lettering){EMP_SOFT, FONT, EMP_ANCHOR_MIDDLE, false});
    }
}

void emp_picture_timeline(emp_drawing *d, const char *name, const emp_timeline *timeline,
                          const emp_machine *machine)
{
    double height = AXIS, y = 0;

    for (emp_device_id device = 0; device < timeline->device_count; device++) {
        height += GAP;
        for (int32_t kind = 0; kind < EMP_TRACK_COUNT; kind++)
            height += is_drawn(timeline, device, kind) ? height_of(kind) + 1 : 0;
    }
    emp_drawing_init(d, name, "timeline of a step: when devices compute and copy", WIDTH,
                     height);
    draw_axis(d, (double)timeline->result.step_time_ns * 1e-9, height - AXIS);
    for (emp_device_id device = 0; device < timeline->device_count; device++)
        y = draw_device(d, timeline, machine, device, y);
}

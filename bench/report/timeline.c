// SPDX-License-Identifier: GPL-3.0-or-later
#include "bench/report/timeline.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/text/units.h"
#include "bench/plots/axis.h"
#include "sim/machine/machine.h"

enum { FIRST_SPANS = 1024 };

struct span {
    int32_t     track;
    emp_time_ns start, end;
};

struct recorder {
    struct span *span;
    size_t       count, limit;
    bool         is_out_of_memory;
};

static int32_t track_of(emp_device_id device, emp_track_kind kind)
{
    return device * EMP_TRACK_COUNT + (int32_t)kind;
}

static void note(struct recorder *r, emp_device_id device, emp_track_kind kind,
                 emp_time_ns start, emp_time_ns end)
{
    if (end <= start) return;
    if (r->count == r->limit) {
        size_t       limit = r->limit > 0 ? 2 * r->limit : FIRST_SPANS;
        struct span *grown = emp_realloc(r->span, limit, sizeof *grown);
        if (grown == NULL) {
            r->is_out_of_memory = true;
            return;
        }
        r->span = grown;
        r->limit = limit;
    }
    r->span[r->count++] = (struct span){track_of(device, kind), start, end};
}

static void on_op(void *context, emp_op_id op, emp_device_id device, int32_t lane,
                  emp_time_ns start, emp_time_ns end)
{
    (void)op;
    (void)lane;
    note(context, device, EMP_TRACK_COMPUTE, start, end);
}

static void on_transfer(void *context, emp_tensor_id tensor, emp_device_id from,
                        emp_device_id to, emp_time_ns start, emp_time_ns end)
{
    (void)tensor;
    note(context, from, EMP_TRACK_COPY_OUT, start, end);
    note(context, to, EMP_TRACK_COPY_IN, start, end);
}

static int compare_spans(const void *left, const void *right)
{
    const struct span *a = left, *b = right;

    if (a->track != b->track) return a->track < b->track ? -1 : 1;
    if (a->start != b->start) return a->start < b->start ? -1 : 1;
    return a->end < b->end ? -1 : a->end > b->end;
}

/* Shares an interval out to the bins it lies in. */
static void add_interval(emp_track *track, emp_time_ns start, emp_time_ns end,
                         emp_time_ns step)
{
    double width = (double)step / EMP_TIMELINE_BINS;

    track->busy_ns += end - start;
    for (int32_t bin = (int32_t)((double)start / width); bin < EMP_TIMELINE_BINS; bin++) {
        double low = bin * width, high = low + width;
        if (low >= (double)end) break;
        if ((double)start > low) low = (double)start;
        if ((double)end < high) high = (double)end;
        if (high > low) track->busy_frac[bin] += (float)((high - low) / width);
    }
}

/* Sorts; spans that overlap or touch become one interval. */
static void fill(emp_timeline *t, struct recorder *r)
{
    emp_time_ns step = t->result.step_time_ns;

    if (r->count > 0) qsort(r->span, r->count, sizeof *r->span, compare_spans);
    for (size_t i = 0; i < r->count;) {
        struct span whole = r->span[i++];
        while (i < r->count && r->span[i].track == whole.track &&
               r->span[i].start <= whole.end) {
            if (r->span[i].end > whole.end) whole.end = r->span[i].end;
            i++;
        }
        add_interval(&t->track[whole.track], whole.start, whole.end, step);
    }
}

emp_status emp_timeline_create(emp_timeline *timeline, const emp_problem *problem,
                               const emp_decision *decision, emp_error *err)
{
    emp_status      st = EMP_OK;
    struct recorder r = {0};
    emp_sim_trace   trace = {.context = &r, .op = on_op, .transfer = on_transfer};
    emp_sim        *sim = NULL;
    int32_t         device_count = problem->machine->device_count;

    *timeline = (emp_timeline){.device_count = device_count};
    EMP_TRY(EMP_ALLOC(timeline->track, (size_t)(device_count * EMP_TRACK_COUNT)));
    EMP_TRY(emp_sim_create(&sim, problem, err));
    EMP_TRY(emp_sim_trace_decision(sim, decision, &trace, &timeline->result, err));
    if (r.is_out_of_memory) EMP_FAIL(EMP_ENOMEM, "timeline of %zu intervals", r.count);
    fill(timeline, &r);

cleanup:
    emp_sim_destroy(sim);
    emp_free(r.span);
    return st;
}

const emp_track *emp_timeline_at(const emp_timeline *timeline, emp_device_id device,
                                 emp_track_kind kind)
{
    return &timeline->track[track_of(device, kind)];
}

void emp_timeline_clear(emp_timeline *timeline)
{
    emp_free(timeline->track);
    *timeline = (emp_timeline){0};
}

/* ---- the picture ---- */

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
    const char *colour = emp_device_colour(machine, device);
    char        text[128], time[32], share[32];

    snprintf(text, sizeof text, "%c %s", emp_device_letter(device),
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

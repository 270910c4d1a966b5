// SPDX-License-Identifier: GPL-3.0-or-later
#include "bench/report/timeline.h"

#include <stdlib.h>

#include "base/mem.h"

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

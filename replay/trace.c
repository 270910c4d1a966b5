// SPDX-License-Identifier: GPL-3.0-or-later
/* The timeline of an executed step as a file for Perfetto. */
#include "replay/execute.h"

#include "base/io/atomic_file.h"
#include "base/mem.h"
#include "sim/machine/tracks.h"

struct writer {
    emp_trace_events           events;
    const emp_replay_plan     *plan;
    const emp_replay_timeline *timeline;
    emp_trace_slice           *slice; /* [op] the last that it ran in, or was issued in */
    emp_trace_slice           *copy;  /* [copy] */
};

/* Further cores of a GPU that is a group of them come behind its tracks. */
static int32_t track_of_core(const emp_replay_device *device, int32_t core)
{
    return device->is_cpu || core == 0 ? core : EMP_TRACK_GPU_COUNT + core - 1;
}

static void write_lanes(struct writer *w)
{
    const emp_replay_plan *p = w->plan;

    for (int32_t i = 0; i < w->timeline->lane_count; i++) {
        const emp_replay_lane *lane = &w->timeline->lane[i];
        int32_t track = track_of_core(&p->device[lane->device], lane->core);
        for (int32_t s = 0; s < lane->count; s++) {
            const emp_replay_slice *slice = &lane->slice[s];
            const emp_replay_op    *op = &p->op[slice->op];
            w->slice[slice->op] = emp_trace_span(&w->events, op->name, op->type,
                                                 (emp_trace_track){lane->device, track},
                                                 slice->start_ns, slice->end_ns);
        }
    }
}

static void write_queues(struct writer *w)
{
    const emp_replay_timeline *t = w->timeline;

    for (int32_t op = 0; op < w->plan->op_count; op++) {
        const emp_replay_op *o = &w->plan->op[op];
        if (!t->is_queue[o->device]) continue;
        w->slice[op] = emp_trace_span(&w->events, o->name, "issue",
                                      (emp_trace_track){o->device, EMP_TRACK_HOST},
                                      t->issue_start_ns[op], t->issue_end_ns[op]);
        emp_trace_slice kernel = emp_trace_span(
            &w->events, o->name, o->type, (emp_trace_track){o->device, EMP_TRACK_COMPUTE},
            t->times.op_start_ns[op], t->times.op_end_ns[op]);
        if (kernel >= 0) w->slice[op] = kernel;
    }
}

/* The copy that was the last to come among those that an op reads. */
static int32_t last_copy_of(const struct writer *w, int32_t op)
{
    const emp_replay_plan *p = w->plan;
    const int64_t         *end_ns = w->timeline->times.copy_end_ns;
    int32_t                last = -1;

    for (int32_t i = p->input_offset[op]; i < p->input_offset[op + 1]; i++) {
        int32_t copy = p->input[i].place - p->tensor_count;
        if (copy >= 0 && (last < 0 || end_ns[copy] > end_ns[last])) last = copy;
    }
    return last;
}

static emp_trace_slice write_copy(struct writer *w, int32_t c)
{
    const emp_replay_plan  *p = w->plan;
    const emp_replay_times *times = &w->timeline->times;
    int32_t                 from = emp_replay_memory_of_place(p, p->copy[c].tensor);
    int32_t                 to = p->copy[c].to;
    emp_trace_track         track =
        emp_track_of_copy(from, p->device[from].is_cpu, to, p->device[to].is_cpu);

    return emp_trace_copy(&w->events, p->op[p->tensor[p->copy[c].tensor].producer].name,
                          track, times->copy_start_ns[c], times->copy_end_ns[c],
                          p->copy[c].bytes, p->device[from].name, p->device[to].name);
}

static void write_copies(struct writer *w)
{
    const emp_replay_plan *p = w->plan;

    for (int32_t c = 0; c < p->copy_count; c++) {
        w->copy[c] = write_copy(w, c);
        emp_trace_flow(&w->events, w->slice[p->tensor[p->copy[c].tensor].producer],
                       w->copy[c]);
    }
    for (int32_t op = 0; op < p->op_count; op++) {
        int32_t c = last_copy_of(w, op);
        if (c >= 0) emp_trace_flow(&w->events, w->copy[c], w->slice[op]);
    }
}

static void write_memory(struct writer *w)
{
    for (int32_t m = 0; m < w->plan->device_count; m++) {
        const emp_replay_levels *levels = &w->timeline->levels[m];
        for (int32_t i = 0; i < levels->count; i++)
            emp_track_memory(&w->events, m, levels->level[i].at_ns,
                             levels->level[i].bytes);
    }
}

static void write_names(struct writer *w)
{
    const emp_replay_plan *p = w->plan;

    for (int32_t d = 0; d < p->device_count; d++) {
        if (!p->device[d].is_cpu) {
            emp_track_name_gpu(&w->events, d, p->device[d].name);
            continue;
        }
        emp_trace_name_process(&w->events, d, p->device[d].name);
        emp_track_name_cpu(&w->events, d, EMP_TRACK_BETWEEN_HOSTS);
    }
    for (int32_t i = 0; i < w->timeline->lane_count; i++) {
        const emp_replay_lane   *lane = &w->timeline->lane[i];
        const emp_replay_device *device = &p->device[lane->device];
        if (device->is_cpu || lane->core > 0)
            emp_track_name_cpu(&w->events, lane->device,
                               track_of_core(device, lane->core));
    }
}

emp_status emp_replay_trace_write(const char *path, const emp_replay_plan *plan,
                                  const emp_replay_timeline *timeline, emp_error *err)
{
    emp_status      st = EMP_OK;
    emp_atomic_file file = {0};
    struct writer   w = {.plan = plan, .timeline = timeline};

    EMP_TRY(EMP_ALLOC(w.slice, (size_t)plan->op_count));
    EMP_TRY(EMP_ALLOC(w.copy, (size_t)plan->copy_count));
    for (int32_t op = 0; op < plan->op_count; op++) w.slice[op] = -1;
    EMP_TRY(emp_atomic_file_open(&file, path, err));
    write_lanes(&w);
    write_queues(&w);
    write_copies(&w);
    write_memory(&w);
    write_names(&w);
    EMP_TRY(emp_trace_write(&w.events, file.stream, err));
    EMP_TRY(emp_atomic_file_commit(&file, err));

cleanup:
    emp_atomic_file_abort(&file);
    emp_trace_clear(&w.events);
    emp_free(w.slice);
    emp_free(w.copy);
    return st;
}

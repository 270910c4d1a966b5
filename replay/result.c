// SPDX-License-Identifier: GPL-3.0-or-later
#include "replay/result.h"

#include "replay/execute.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/io/atomic_file.h"
#include "base/mem.h"
#include "base/text/units.h"
#include "replay/plan/text_lines.h"
#include "sim/machine/tracks.h"

enum { MAX_COUNT = 100 * 1000 * 1000, MAX_STEPS = 1000 * 1000 };

static const char    format_name[] = "emplace-replay-result-1";
static const int64_t MAX_BYTES = INT64_C(1) << 50;

emp_status emp_replay_result_init(emp_replay_result *result, int32_t steps, int32_t ops,
                                  int32_t copies, emp_error *err)
{
    *result = (emp_replay_result){
        .is_feasible = true, .oom_device = -1, .op_count = ops, .copy_count = copies};
    result->step_s = EMP_NEW_ARRAY(double, (size_t)steps);
    result->op_s = EMP_NEW_ARRAY(float, (size_t)ops);
    result->copy_s = EMP_NEW_ARRAY(float, (size_t)copies);
    if (result->step_s && result->op_s && result->copy_s) return EMP_OK;
    emp_replay_result_clear(result);
    return EMP_ERROR(EMP_ENOMEM, "results of %d steps", steps);
}

void emp_replay_result_clear(emp_replay_result *result)
{
    emp_free(result->step_s);
    emp_free(result->op_s);
    emp_free(result->copy_s);
    *result = (emp_replay_result){0};
}

static int compare(const void *a, const void *b)
{
    double x, y;

    memcpy(&x, a, sizeof x);
    memcpy(&y, b, sizeof y);
    return (x > y) - (x < y);
}

double emp_replay_quantile(double *values, int32_t count, double share)
{
    qsort(values, (size_t)count, sizeof *values, compare);
    double  at = share * (count - 1);
    int32_t below = (int32_t)at;

    if (below + 1 >= count) return values[count - 1];
    return values[below] + (at - below) * (values[below + 1] - values[below]);
}

emp_status emp_replay_result_summarize(emp_replay_result *r, emp_error *err)
{
    emp_status st = EMP_OK;
    double    *sorted = NULL;

    r->median_s = r->low_s = r->high_s = 0.0;
    if (r->step_count == 0) goto cleanup;
    EMP_TRY(EMP_ALLOC(sorted, (size_t)r->step_count));
    memcpy(sorted, r->step_s, (size_t)r->step_count * sizeof *sorted);
    r->median_s = emp_replay_quantile(sorted, r->step_count, 0.5);
    r->low_s = emp_replay_quantile(sorted, r->step_count, 0.25);
    r->high_s = emp_replay_quantile(sorted, r->step_count, 0.75);

cleanup:
    emp_free(sorted);
    return st;
}

static void head_lines(emp_lines *io, emp_replay_result *r)
{
    emp_replay_origin_lines(io, &r->origin);
    emp_lines_next(io, "plan");
    emp_lines_hash(io, &r->plan_hash);
    emp_lines_next(io, "predicted_s");
    emp_lines_number(io, 9, &r->origin.predicted_s);
    emp_lines_next(io, "backend");
    emp_lines_rest(io, r->backend, sizeof r->backend);
    emp_lines_next(io, "products");
    emp_lines_rest(io, r->products, sizeof r->products);
    emp_lines_next(io, "counts");
    emp_lines_count(io, 1, EMP_REPLAY_MAX_DEVICES, &r->device_count);
    emp_lines_count(io, 0, MAX_STEPS, &r->step_count);
    emp_lines_count(io, 0, MAX_COUNT, &r->op_count);
    emp_lines_count(io, 0, MAX_COUNT, &r->copy_count);
    emp_lines_count(io, 0, MAX_STEPS, &r->warmup);
}

static void fact_lines(emp_lines *io, emp_replay_result *r)
{
    emp_lines_next(io, "traffic");
    emp_lines_integer(io, 0, INT64_MAX, &r->traffic_bytes);
    emp_lines_integer(io, 0, INT64_MAX, &r->transfer_count);
    emp_lines_next(io, "checked");
    emp_lines_flag(io, &r->is_checked);
    emp_lines_integer(io, 0, INT64_MAX, &r->checked_reads);
    emp_lines_count(io, 0, INT32_MAX, &r->verified_ops);
    emp_lines_number(io, 9, &r->verified_error);
    emp_lines_next(io, "memory");
    emp_lines_flag(io, &r->is_feasible);
    emp_lines_count(io, r->is_feasible ? -1 : 0, r->device_count - 1, &r->oom_device);
    emp_lines_integer(io, 0, MAX_BYTES, &r->oom_bytes);
    emp_lines_integer(io, 0, MAX_BYTES, &r->oom_in_use);
    emp_lines_rest(io, r->oom_op, sizeof r->oom_op);
    for (int32_t d = 0; d < r->device_count; d++) {
        emp_replay_device_result *v = &r->device[d];
        emp_lines_next(io, "device");
        emp_lines_name(io, v->name, sizeof v->name);
        emp_lines_number(io, 9, &v->busy_s);
        emp_lines_integer(io, 0, MAX_BYTES, &v->peak_bytes);
        emp_lines_integer(io, 0, MAX_BYTES, &v->reach_bytes);
        emp_lines_integer(io, 0, MAX_BYTES, &v->memory_bytes);
        emp_lines_rest(io, v->runs_on, sizeof v->runs_on);
    }
}

static void time_lines(emp_lines *io, const char *keyword, float *time_s, int32_t count)
{
    for (int32_t i = 0; i < count && io->status == EMP_OK; i++) {
        double value = (double)time_s[i];
        emp_lines_next(io, keyword);
        emp_lines_number(io, 6, &value);
        if (!io->is_writing) time_s[i] = (float)value;
    }
}

/* What comes after the head. */
static void body_lines(emp_lines *io, emp_replay_result *r)
{
    fact_lines(io, r);
    for (int32_t i = 0; i < r->step_count && io->status == EMP_OK; i++) {
        emp_lines_next(io, "step");
        emp_lines_number(io, 9, &r->step_s[i]);
    }
    time_lines(io, "op", r->op_s, r->op_count);
    time_lines(io, "copy", r->copy_s, r->copy_count);
    emp_lines_next(io, "end");
}

emp_status emp_replay_result_save(const char *path, const emp_replay_result *result,
                                  emp_error *err)
{
    emp_status        st = EMP_OK;
    emp_atomic_file   file = {0};
    emp_lines         io;
    emp_replay_result r = *result;

    if (r.is_feasible) snprintf(r.oom_op, sizeof r.oom_op, "-");
    EMP_TRY(emp_atomic_file_open(&file, path, err));
    emp_lines_begin(&io, file.stream, format_name);
    head_lines(&io, &r);
    body_lines(&io, &r);
    emp_lines_close(&io);
    EMP_TRY(emp_atomic_file_commit(&file, err));

cleanup:
    emp_atomic_file_abort(&file);
    return st;
}

/* Makes the arrays when the head tells how large they are. */
static emp_status read_result(emp_lines *io, emp_replay_result *r, emp_error *err)
{
    emp_replay_result arrays;

    head_lines(io, r);
    emp_lines_expect(io, (int64_t)r->step_count + r->op_count + r->copy_count);
    EMP_CHECK(io->status);
    EMP_CHECK(
        emp_replay_result_init(&arrays, r->step_count, r->op_count, r->copy_count, err));
    r->step_s = arrays.step_s;
    r->op_s = arrays.op_s;
    r->copy_s = arrays.copy_s;
    body_lines(io, r);
    EMP_CHECK(io->status);
    return emp_replay_result_summarize(r, err);
}

emp_status emp_replay_result_load(emp_replay_result *result, const char *path,
                                  emp_error *err)
{
    emp_lines io;

    *result = (emp_replay_result){0};
    emp_lines_open(&io, path, format_name, err);
    emp_status st = read_result(&io, result, err);
    if (st != EMP_OK) emp_replay_result_clear(result);
    emp_lines_close(&io);
    return st;
}

static void print_memory(FILE *stream, const emp_replay_result *r)
{
    const emp_replay_device_result *d = &r->device[r->oom_device];
    char asked[EMP_UNITS_TEXT_BYTES], there[EMP_UNITS_TEXT_BYTES],
        used[EMP_UNITS_TEXT_BYTES];

    fprintf(stream,
            "memory       does not fit: %s asks for %s on %s, which has %s, %s in use\n",
            r->oom_op, emp_units_format_bytes(r->oom_bytes, asked, sizeof asked), d->name,
            emp_units_format_bytes(d->memory_bytes, there, sizeof there),
            emp_units_format_bytes(r->oom_in_use, used, sizeof used));
}

static void print_times(FILE *stream, const emp_replay_result *r, bool is_timed)
{
    char median[EMP_UNITS_TEXT_BYTES], low[EMP_UNITS_TEXT_BYTES],
        high[EMP_UNITS_TEXT_BYTES];

    if (is_timed)
        fprintf(stream, "measured     %s (quartiles %s to %s) over %d step%s after %d\n",
                emp_units_format_seconds(r->median_s, median, sizeof median),
                emp_units_format_seconds(r->low_s, low, sizeof low),
                emp_units_format_seconds(r->high_s, high, sizeof high), r->step_count,
                emp_units_plural(r->step_count), r->warmup);
    if (!r->is_feasible) print_memory(stream, r);
    if (r->origin.predicted_s < 0) return;
    fprintf(stream, "predicted    %s",
            emp_units_format_seconds(r->origin.predicted_s, median, sizeof median));
    if (is_timed)
        fprintf(stream, " (%s)",
                emp_units_format_change(r->origin.predicted_s / r->median_s - 1, low,
                                        sizeof low));
    fputc('\n', stream);
}

static void print_device(FILE *stream, const emp_replay_result *r, int32_t d)
{
    const emp_replay_device_result *v = &r->device[d];
    char                            text[EMP_UNITS_TEXT_BYTES];

    fprintf(stream, "%-12s", v->name);
    if (r->is_feasible && r->median_s > 0)
        fprintf(stream, " busy %7s,",
                emp_units_format_percent(v->busy_s / r->median_s, text, sizeof text));
    fprintf(stream, " peak memory %s, on %s\n",
            emp_units_format_bytes(v->peak_bytes, text, sizeof text), v->runs_on);
}

void emp_replay_result_print(FILE *stream, const emp_replay_result *r)
{
    char text[EMP_UNITS_TEXT_BYTES];

    print_times(stream, r, r->is_feasible && r->step_count > 0);
    for (int32_t d = 0; d < r->device_count; d++) print_device(stream, r, d);
    fprintf(stream, "traffic      %s in %" PRId64 " transfer%s\n",
            emp_units_format_bytes(r->traffic_bytes, text, sizeof text),
            r->transfer_count, emp_units_plural(r->transfer_count));
    if (r->is_checked)
        fprintf(stream,
                "checked      %" PRId64 " read%s found what was written; %d product%s "
                "and convolutions are right within %s\n",
                r->checked_reads, emp_units_plural(r->checked_reads), r->verified_ops,
                emp_units_plural(r->verified_ops),
                emp_units_format_number(r->verified_error, 2, text, sizeof text));
}

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

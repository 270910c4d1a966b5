// SPDX-License-Identifier: GPL-3.0-or-later
#include "replay/result.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/io/atomic_file.h"
#include "base/mem.h"
#include "base/text/units.h"
#include "replay/plan/text_lines.h"

enum { MAX_COUNT = 100 * 1000 * 1000, MAX_STEPS = 1000 * 1000 };

static const char    format_name[] = "emplace-replay-result-2";
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
    emp_lines_flag(io, &r->keeps_rates);
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

/* The lines after the head. */
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

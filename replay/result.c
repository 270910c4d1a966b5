// SPDX-License-Identifier: GPL-3.0-or-later
#include "replay/result.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/io/atomic_file.h"
#include "base/mem.h"
#include "replay/plan/text_lines.h"

enum { MAX_COUNT = 100 * 1000 * 1000, MAX_STEPS = 1000 * 1000, MIB = 1 << 20 };

static const char    format_name[] = "emplace-replay-result-1";
static const int64_t MAX_BYTES = INT64_C(1) << 50;

emp_status emp_replay_result_init(emp_replay_result *result, int32_t steps, int32_t ops,
                                  int32_t copies, emp_error *err)
{
    emp_status st = EMP_OK;

    *result = (emp_replay_result){
        .is_feasible = true, .oom_device = -1, .op_count = ops, .copy_count = copies};
    result->step_s = EMP_NEW_ARRAY(double, (size_t)steps);
    result->op_s = EMP_NEW_ARRAY(float, (size_t)ops);
    result->copy_s = EMP_NEW_ARRAY(float, (size_t)copies);
    if (!result->step_s || !result->op_s || !result->copy_s)
        EMP_FAIL(EMP_ENOMEM, "results of %d steps", steps);
cleanup:
    if (st != EMP_OK) emp_replay_result_clear(result);
    return st;
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
    sorted = EMP_NEW_ARRAY(double, (size_t)r->step_count);
    if (sorted == NULL) EMP_FAIL(EMP_ENOMEM, "median of %d steps", r->step_count);
    memcpy(sorted, r->step_s, (size_t)r->step_count * sizeof *sorted);
    r->median_s = emp_replay_quantile(sorted, r->step_count, 0.5);
    r->low_s = emp_replay_quantile(sorted, r->step_count, 0.25);
    r->high_s = emp_replay_quantile(sorted, r->step_count, 0.75);

cleanup:
    emp_free(sorted);
    return st;
}

static void write_head(FILE *f, const emp_replay_result *r)
{
    fprintf(f, "%s\n", format_name);
    fprintf(f, "workload %s\nmachine %s\nruntime %s\nplacement %s\n", r->workload,
            r->machine, r->runtime, r->placement);
    fprintf(f, "graph %016" PRIx64 "\nplan %016" PRIx64 "\n", r->graph_hash,
            r->plan_hash);
    fprintf(f, "predicted_s %.9g\nbackend %s\nproducts %s\n", r->predicted_s, r->backend,
            r->products);
    fprintf(f, "counts %d %d %d %d %d\n", r->device_count, r->step_count, r->op_count,
            r->copy_count, r->warmup);
    fprintf(f, "traffic %" PRId64 " %" PRId64 "\n", r->traffic_bytes, r->transfer_count);
    fprintf(f, "checked %d %" PRId64 " %d %.9g\n", r->is_checked, r->checked_reads,
            r->verified_ops, r->verified_error);
    fprintf(f, "memory %d %d %" PRId64 " %" PRId64 " %s\n", r->is_feasible, r->oom_device,
            r->oom_bytes, r->oom_in_use, r->is_feasible ? "-" : r->oom_op);
}

emp_status emp_replay_result_save(const char *path, const emp_replay_result *r,
                                  emp_error *err)
{
    emp_status      st = EMP_OK;
    emp_atomic_file file = {0};

    EMP_TRY(emp_atomic_file_open(&file, path, err));
    FILE *f = file.stream;
    write_head(f, r);
    for (int32_t d = 0; d < r->device_count; d++) {
        const emp_replay_device_result *v = &r->device[d];
        fprintf(f, "device %s %.9g %" PRId64 " %" PRId64 " %" PRId64 " %s\n", v->name,
                v->busy_s, v->peak_bytes, v->reach_bytes, v->memory_bytes, v->runs_on);
    }
    for (int32_t i = 0; i < r->step_count; i++) fprintf(f, "step %.9g\n", r->step_s[i]);
    for (int32_t i = 0; i < r->op_count; i++) fprintf(f, "op %.6g\n", (double)r->op_s[i]);
    for (int32_t i = 0; i < r->copy_count; i++)
        fprintf(f, "copy %.6g\n", (double)r->copy_s[i]);
    fputs("end\n", f);
    EMP_TRY(emp_atomic_file_commit(&file, err));

cleanup:
    emp_atomic_file_abort(&file);
    return st;
}

/* A line that is a keyword and a text. */
static emp_status read_text(emp_text_lines *in, const char *keyword, char *text,
                            size_t size, emp_error *err)
{
    emp_status st = emp_text_lines_next(in, keyword, err);

    if (st == EMP_OK) emp_text_lines_rest(in, text, size);
    return st;
}

static emp_status read_who(emp_text_lines *in, emp_replay_result *r, emp_error *err)
{
    EMP_CHECK(read_text(in, "workload", r->workload, sizeof r->workload, err));
    EMP_CHECK(read_text(in, "machine", r->machine, sizeof r->machine, err));
    EMP_CHECK(read_text(in, "runtime", r->runtime, sizeof r->runtime, err));
    EMP_CHECK(read_text(in, "placement", r->placement, sizeof r->placement, err));
    EMP_CHECK(emp_text_lines_next(in, "graph", err));
    EMP_CHECK(emp_text_lines_hash(in, &r->graph_hash, err));
    EMP_CHECK(emp_text_lines_next(in, "plan", err));
    EMP_CHECK(emp_text_lines_hash(in, &r->plan_hash, err));
    EMP_CHECK(emp_text_lines_next(in, "predicted_s", err));
    EMP_CHECK(emp_text_lines_number(in, &r->predicted_s, err));
    EMP_CHECK(read_text(in, "backend", r->backend, sizeof r->backend, err));
    return read_text(in, "products", r->products, sizeof r->products, err);
}

/* After its counts. */
static emp_status read_facts(emp_text_lines *in, emp_replay_result *r, emp_error *err)
{
    int32_t flag = 0;

    EMP_CHECK(emp_text_lines_next(in, "traffic", err));
    EMP_CHECK(emp_text_lines_integer(in, 0, INT64_MAX, &r->traffic_bytes, err));
    EMP_CHECK(emp_text_lines_integer(in, 0, INT64_MAX, &r->transfer_count, err));
    EMP_CHECK(emp_text_lines_next(in, "checked", err));
    EMP_CHECK(emp_text_lines_count(in, 0, 1, &flag, err));
    r->is_checked = flag != 0;
    EMP_CHECK(emp_text_lines_integer(in, 0, INT64_MAX, &r->checked_reads, err));
    EMP_CHECK(emp_text_lines_count(in, 0, INT32_MAX, &r->verified_ops, err));
    EMP_CHECK(emp_text_lines_number(in, &r->verified_error, err));
    EMP_CHECK(emp_text_lines_next(in, "memory", err));
    EMP_CHECK(emp_text_lines_count(in, 0, 1, &flag, err));
    r->is_feasible = flag != 0;
    EMP_CHECK(emp_text_lines_count(in, -1, r->device_count - 1, &r->oom_device, err));
    EMP_CHECK(emp_text_lines_integer(in, 0, MAX_BYTES, &r->oom_bytes, err));
    EMP_CHECK(emp_text_lines_integer(in, 0, MAX_BYTES, &r->oom_in_use, err));
    emp_text_lines_rest(in, r->oom_op, sizeof r->oom_op);
    for (int32_t d = 0; d < r->device_count; d++) {
        emp_replay_device_result *v = &r->device[d];
        const char               *name;
        EMP_CHECK(emp_text_lines_next(in, "device", err));
        EMP_CHECK(emp_text_lines_word(in, &name, err));
        snprintf(v->name, sizeof v->name, "%.31s", name);
        EMP_CHECK(emp_text_lines_number(in, &v->busy_s, err));
        EMP_CHECK(emp_text_lines_integer(in, 0, MAX_BYTES, &v->peak_bytes, err));
        EMP_CHECK(emp_text_lines_integer(in, 0, MAX_BYTES, &v->reach_bytes, err));
        EMP_CHECK(emp_text_lines_integer(in, 0, MAX_BYTES, &v->memory_bytes, err));
        emp_text_lines_rest(in, v->runs_on, sizeof v->runs_on);
    }
    return EMP_OK;
}

static emp_status read_times(emp_text_lines *in, emp_replay_result *r, int32_t steps,
                             emp_error *err)
{
    double value;

    for (int32_t i = 0; i < steps; i++) {
        EMP_CHECK(emp_text_lines_next(in, "step", err));
        EMP_CHECK(emp_text_lines_number(in, &r->step_s[r->step_count++], err));
    }
    for (int32_t i = 0; i < r->op_count; i++) {
        EMP_CHECK(emp_text_lines_next(in, "op", err));
        EMP_CHECK(emp_text_lines_number(in, &value, err));
        r->op_s[i] = (float)value;
    }
    for (int32_t i = 0; i < r->copy_count; i++) {
        EMP_CHECK(emp_text_lines_next(in, "copy", err));
        EMP_CHECK(emp_text_lines_number(in, &value, err));
        r->copy_s[i] = (float)value;
    }
    return emp_text_lines_next(in, "end", err);
}

emp_status emp_replay_result_load(emp_replay_result *result, const char *path,
                                  emp_error *err)
{
    emp_status        st = EMP_OK;
    emp_text_lines   *in = EMP_NEW(emp_text_lines);
    emp_replay_result r = {0};
    int32_t           devices, steps, ops, copies, warmup;

    *result = (emp_replay_result){0};
    if (in == NULL) EMP_FAIL(EMP_ENOMEM, "reading %s", path);
    EMP_TRY(emp_text_lines_open(in, path, format_name, err));
    EMP_TRY(read_who(in, &r, err));
    EMP_TRY(emp_text_lines_next(in, "counts", err));
    EMP_TRY(emp_text_lines_count(in, 1, EMP_REPLAY_MAX_DEVICES, &devices, err));
    EMP_TRY(emp_text_lines_count(in, 0, MAX_STEPS, &steps, err));
    EMP_TRY(emp_text_lines_count(in, 0, MAX_COUNT, &ops, err));
    EMP_TRY(emp_text_lines_count(in, 0, MAX_COUNT, &copies, err));
    EMP_TRY(emp_text_lines_count(in, 0, MAX_STEPS, &warmup, err));
    EMP_TRY(emp_text_lines_expect(in, (int64_t)steps + ops + copies, err));
    EMP_TRY(emp_replay_result_init(result, steps, ops, copies, err));
    r.step_s = result->step_s;
    r.op_s = result->op_s;
    r.copy_s = result->copy_s;
    r.op_count = ops;
    r.copy_count = copies;
    r.warmup = warmup;
    r.device_count = devices;
    *result = r;
    EMP_TRY(read_facts(in, result, err));
    EMP_TRY(read_times(in, result, steps, err));
    EMP_TRY(emp_replay_result_summarize(result, err));

cleanup:
    if (st != EMP_OK) emp_replay_result_clear(result);
    if (in != NULL) emp_text_lines_close(in);
    emp_free(in);
    return st;
}

static void print_memory(FILE *stream, const emp_replay_result *r)
{
    fprintf(stream,
            "memory       does not fit: %s asks for %.1f MiB on %s, which has %.1f MiB, "
            "%.1f MiB in use\n",
            r->oom_op, (double)r->oom_bytes / MIB, r->device[r->oom_device].name,
            (double)r->device[r->oom_device].memory_bytes / MIB,
            (double)r->oom_in_use / MIB);
}

void emp_replay_result_print(FILE *stream, const emp_replay_result *r)
{
    if (r->is_feasible && r->step_count > 0)
        fprintf(stream,
                "measured     %.3f ms (quartiles %.3f to %.3f) over %d step%s after %d\n",
                1e3 * r->median_s, 1e3 * r->low_s, 1e3 * r->high_s, r->step_count,
                r->step_count == 1 ? "" : "s", r->warmup);
    if (!r->is_feasible) print_memory(stream, r);
    if (r->predicted_s >= 0) {
        fprintf(stream, "predicted    %.3f ms", 1e3 * r->predicted_s);
        if (r->is_feasible && r->step_count > 0)
            fprintf(stream, " (%+.1f %%)", 100 * (r->predicted_s / r->median_s - 1));
        fputc('\n', stream);
    }
    for (int32_t d = 0; d < r->device_count; d++) {
        const emp_replay_device_result *v = &r->device[d];
        fprintf(stream, "%-12s", v->name);
        if (r->is_feasible && r->median_s > 0)
            fprintf(stream, " busy %5.1f %%,", 100 * v->busy_s / r->median_s);
        fprintf(stream, " peak memory %.1f MiB, on %s\n", (double)v->peak_bytes / MIB,
                v->runs_on);
    }
    fprintf(stream, "traffic      %.1f MiB in %" PRId64 " transfers\n",
            (double)r->traffic_bytes / MIB, r->transfer_count);
    if (r->is_checked)
        fprintf(stream,
                "checked      %" PRId64
                " reads found what was written; %d products and convolutions are right "
                "within %.1e\n",
                r->checked_reads, r->verified_ops, r->verified_error);
}

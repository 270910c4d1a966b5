// SPDX-License-Identifier: GPL-3.0-or-later
/* The text form of a plan: README.md. It ends with a hash, so that half a file is seen. */
#include <inttypes.h>
#include <string.h>

#include "base/io/atomic_file.h"
#include "base/mem.h"
#include "replay/plan/plan_internal.h"
#include "replay/plan/text_lines.h"

enum { MAX_COUNT = 100 * 1000 * 1000 };

static const char    format_name[] = "emplace-replay-plan-1";
static const int64_t MAX_BYTES = INT64_C(1) << 50;

static void write_head(FILE *f, const emp_replay_plan *p, int64_t name_bytes)
{
    fprintf(f, "%s\n", format_name);
    fprintf(f, "workload %s\nmachine %s\nruntime %s\nplacement %s\n", p->workload,
            p->machine, p->runtime, p->placement);
    fprintf(f, "graph %016" PRIx64 "\n", p->graph_hash);
    fprintf(f, "predicted_s %.9g\nreuse_inputs %d\n", p->predicted_s, p->reuse_inputs);
    fprintf(f, "counts %d %d %d %d %d %d %" PRId64 "\n", p->device_count, p->op_count,
            p->tensor_count, p->copy_count, p->input_count, p->control_count, name_bytes);
}

static void write_devices(FILE *f, const emp_replay_plan *p)
{
    for (int32_t d = 0; d < p->device_count; d++) {
        const emp_replay_device *v = &p->device[d];
        fprintf(f, "device %s %d %d %d %" PRId64 "\n", v->name, v->is_cpu, v->host,
                v->cores, v->memory_bytes);
    }
    for (int32_t i = 0; i < p->device_count * p->device_count; i++) {
        fprintf(f, "route %.17g %.17g\n", p->route[i].bytes_per_s, p->route[i].latency_s);
    }
}

static void write_op(FILE *f, const emp_replay_plan *p, int32_t op)
{
    const emp_replay_op *o = &p->op[op];

    fprintf(f, "op %s %s %d %d %d %" PRId64 " %" PRId64 " %d %d %d %s %d", o->name,
            o->type, o->device, o->is_alias, o->is_in_place, o->persistent_bytes,
            o->workspace_bytes, p->input_offset[op + 1] - p->input_offset[op],
            p->control_offset[op + 1] - p->control_offset[op],
            p->output_offset[op + 1] - p->output_offset[op],
            emp_kernel_name(o->kernel.kind), o->kernel.variant);
    for (int32_t i = 0; i < emp_kernel_size_count(o->kernel.kind); i++)
        fprintf(f, " %" PRId64, o->kernel.size[i]);
    fputc('\n', f);
    for (int32_t i = p->input_offset[op]; i < p->input_offset[op + 1]; i++) {
        const emp_replay_input *in = &p->input[i];
        fprintf(f, "in %d %" PRId64 " %d %d\n", in->place, in->bytes, in->element_bytes,
                in->on_host);
    }
    for (int32_t i = p->control_offset[op]; i < p->control_offset[op + 1]; i++)
        fprintf(f, "wait %d\n", p->control[i]);
    for (int32_t t = p->output_offset[op]; t < p->output_offset[op + 1]; t++) {
        const emp_replay_tensor *to = &p->tensor[t];
        fprintf(f, "out %d %" PRId64 " %" PRId64 " %d %d %d\n", to->storage,
                to->buffer_bytes, to->bytes, to->element_bytes, to->on_host,
                p->copy_offset[t + 1] - p->copy_offset[t]);
        for (int32_t c = p->copy_offset[t]; c < p->copy_offset[t + 1]; c++)
            fprintf(f, "copy %d %" PRId64 "\n", p->copy[c].to, p->copy[c].bytes);
    }
}

emp_status emp_replay_plan_save(const char *path, const emp_replay_plan *p,
                                emp_error *err)
{
    emp_status      st = EMP_OK;
    emp_atomic_file file = {0};
    int64_t         name_bytes = 0;

    for (int32_t op = 0; op < p->op_count; op++)
        name_bytes +=
            (int64_t)strlen(p->op[op].name) + (int64_t)strlen(p->op[op].type) + 2;
    EMP_TRY(emp_atomic_file_open(&file, path, err));
    write_head(file.stream, p, name_bytes);
    write_devices(file.stream, p);
    for (int32_t op = 0; op < p->op_count; op++) write_op(file.stream, p, op);
    fprintf(file.stream, "end %016" PRIx64 "\n", emp_replay_plan_hash(p));
    EMP_TRY(emp_atomic_file_commit(&file, err));

cleanup:
    emp_atomic_file_abort(&file);
    return st;
}

static emp_status read_flag(emp_text_lines *in, bool *flag, emp_error *err)
{
    int32_t    value = 0;
    emp_status st = emp_text_lines_count(in, 0, 1, &value, err);

    *flag = value != 0;
    return st;
}

/* What the head says, before there is a plan to put it into. */
static emp_status read_head(emp_text_lines *in, emp_replay_plan **out,
                            int64_t *name_bytes, emp_error *err)
{
    emp_status       st = EMP_OK;
    emp_replay_plan *head = EMP_NEW(emp_replay_plan), *p = NULL;
    int32_t          n[6];

    if (head == NULL) EMP_FAIL(EMP_ENOMEM, "head of %s", in->path);
    EMP_TRY(emp_text_lines_next(in, "workload", err));
    emp_text_lines_rest(in, head->workload, sizeof head->workload);
    EMP_TRY(emp_text_lines_next(in, "machine", err));
    emp_text_lines_rest(in, head->machine, sizeof head->machine);
    EMP_TRY(emp_text_lines_next(in, "runtime", err));
    emp_text_lines_rest(in, head->runtime, sizeof head->runtime);
    EMP_TRY(emp_text_lines_next(in, "placement", err));
    emp_text_lines_rest(in, head->placement, sizeof head->placement);
    EMP_TRY(emp_text_lines_next(in, "graph", err));
    EMP_TRY(emp_text_lines_hash(in, &head->graph_hash, err));
    EMP_TRY(emp_text_lines_next(in, "predicted_s", err));
    EMP_TRY(emp_text_lines_number(in, &head->predicted_s, err));
    EMP_TRY(emp_text_lines_next(in, "reuse_inputs", err));
    EMP_TRY(read_flag(in, &head->reuse_inputs, err));
    EMP_TRY(emp_text_lines_next(in, "counts", err));
    EMP_TRY(emp_text_lines_count(in, 1, EMP_REPLAY_MAX_DEVICES, &n[0], err));
    for (int i = 1; i < 6; i++)
        EMP_TRY(emp_text_lines_count(in, 0, MAX_COUNT, &n[i], err));
    EMP_TRY(emp_text_lines_integer(in, 0, INT64_C(100) * MAX_COUNT, name_bytes, err));
    EMP_TRY(emp_text_lines_expect(
        in, (int64_t)n[1] + n[2] + n[3] + n[4] + n[5] + *name_bytes / EMP_TEXT_LINE_BYTES,
        err));
    EMP_TRY(emp_replay_plan_create(&p, n[1], n[2], n[3], n[4], n[5], *name_bytes, err));
    memcpy(p->workload, head->workload, sizeof p->workload);
    memcpy(p->machine, head->machine, sizeof p->machine);
    memcpy(p->runtime, head->runtime, sizeof p->runtime);
    memcpy(p->placement, head->placement, sizeof p->placement);
    p->graph_hash = head->graph_hash;
    p->predicted_s = head->predicted_s;
    p->reuse_inputs = head->reuse_inputs;
    p->device_count = n[0];
    *out = p;

cleanup:
    emp_free(head);
    return st;
}

static emp_status read_devices(emp_text_lines *in, emp_replay_plan *p, emp_error *err)
{
    const char *name;

    for (int32_t d = 0; d < p->device_count; d++) {
        emp_replay_device *v = &p->device[d];
        EMP_CHECK(emp_text_lines_next(in, "device", err));
        EMP_CHECK(emp_text_lines_word(in, &name, err));
        snprintf(v->name, sizeof v->name, "%.31s", name);
        EMP_CHECK(read_flag(in, &v->is_cpu, err));
        EMP_CHECK(emp_text_lines_count(in, 0, p->device_count - 1, &v->host, err));
        EMP_CHECK(emp_text_lines_count(in, 1, EMP_REPLAY_MAX_CORES, &v->cores, err));
        EMP_CHECK(emp_text_lines_integer(in, 1, MAX_BYTES, &v->memory_bytes, err));
    }
    for (int32_t i = 0; i < p->device_count * p->device_count; i++) {
        EMP_CHECK(emp_text_lines_next(in, "route", err));
        EMP_CHECK(emp_text_lines_number(in, &p->route[i].bytes_per_s, err));
        EMP_CHECK(emp_text_lines_number(in, &p->route[i].latency_s, err));
    }
    return EMP_OK;
}

static emp_status read_kernel(emp_text_lines *in, emp_kernel *kernel, emp_error *err)
{
    const char *name;

    EMP_CHECK(emp_text_lines_word(in, &name, err));
    if (!emp_kernel_find(name, &kernel->kind))
        return EMP_ERROR(EMP_EFORMAT, "%s:%" PRId64 ": there is no kernel '%s'", in->path,
                         in->line, name);
    EMP_CHECK(emp_text_lines_count(in, 0, 255, &kernel->variant, err));
    for (int32_t i = 0; i < emp_kernel_size_count(kernel->kind); i++)
        EMP_CHECK(emp_text_lines_integer(in, -1, MAX_BYTES, &kernel->size[i], err));
    return EMP_OK;
}

/* Rows that the next op, and the next output, begin at; and names. */
struct ends {
    int32_t input, control, tensor, copy;
    char   *name, *names_end;
};

static emp_status take(const emp_text_lines *in, int32_t *end, int32_t count,
                       int32_t limit, const char *what, emp_error *err)
{
    if (count > limit - *end)
        return EMP_ERROR(EMP_EFORMAT, "%s:%" PRId64 ": more %s than the head says",
                         in->path, in->line, what);
    *end += count;
    return EMP_OK;
}

static emp_status take_name(const emp_text_lines *in, const char *word, struct ends *ends,
                            const char **name, emp_error *err)
{
    size_t bytes = strlen(word) + 1;

    if (bytes > (size_t)(ends->names_end - ends->name))
        return EMP_ERROR(EMP_EFORMAT, "%s:%" PRId64 ": longer names than the head says",
                         in->path, in->line);
    memcpy(ends->name, word, bytes);
    *name = ends->name;
    ends->name += bytes;
    return EMP_OK;
}

static emp_status read_output(emp_text_lines *in, emp_replay_plan *p, int32_t op,
                              int32_t tensor, struct ends *ends, emp_error *err)
{
    emp_replay_tensor *t = &p->tensor[tensor];
    int32_t            count, first = ends->copy;

    t->producer = op;
    EMP_CHECK(emp_text_lines_next(in, "out", err));
    EMP_CHECK(emp_text_lines_count(in, -1, op, &t->storage, err));
    EMP_CHECK(emp_text_lines_integer(in, 0, MAX_BYTES, &t->buffer_bytes, err));
    EMP_CHECK(emp_text_lines_integer(in, 0, MAX_BYTES, &t->bytes, err));
    EMP_CHECK(emp_text_lines_count(in, 1, 64, &t->element_bytes, err));
    EMP_CHECK(read_flag(in, &t->on_host, err));
    EMP_CHECK(emp_text_lines_count(in, 0, MAX_COUNT, &count, err));
    EMP_CHECK(take(in, &ends->copy, count, p->copy_count, "copies", err));
    for (int32_t c = first; c < ends->copy; c++) {
        p->copy[c].tensor = tensor;
        EMP_CHECK(emp_text_lines_next(in, "copy", err));
        EMP_CHECK(emp_text_lines_count(in, 0, p->device_count - 1, &p->copy[c].to, err));
        EMP_CHECK(emp_text_lines_integer(in, 0, MAX_BYTES, &p->copy[c].bytes, err));
    }
    p->copy_offset[tensor + 1] = ends->copy;
    return EMP_OK;
}

static emp_status read_op(emp_text_lines *in, emp_replay_plan *p, int32_t op,
                          struct ends *ends, emp_error *err)
{
    emp_replay_op *o = &p->op[op];
    int32_t        inputs, controls, outputs;
    const char    *word;

    EMP_CHECK(emp_text_lines_next(in, "op", err));
    EMP_CHECK(emp_text_lines_word(in, &word, err));
    EMP_CHECK(take_name(in, word, ends, &o->name, err));
    EMP_CHECK(emp_text_lines_word(in, &word, err));
    EMP_CHECK(take_name(in, word, ends, &o->type, err));
    EMP_CHECK(emp_text_lines_count(in, 0, p->device_count - 1, &o->device, err));
    EMP_CHECK(read_flag(in, &o->is_alias, err));
    EMP_CHECK(read_flag(in, &o->is_in_place, err));
    EMP_CHECK(emp_text_lines_integer(in, 0, MAX_BYTES, &o->persistent_bytes, err));
    EMP_CHECK(emp_text_lines_integer(in, 0, MAX_BYTES, &o->workspace_bytes, err));
    EMP_CHECK(emp_text_lines_count(in, 0, MAX_COUNT, &inputs, err));
    EMP_CHECK(emp_text_lines_count(in, 0, MAX_COUNT, &controls, err));
    EMP_CHECK(emp_text_lines_count(in, 0, MAX_COUNT, &outputs, err));
    EMP_CHECK(read_kernel(in, &o->kernel, err));
    EMP_CHECK(take(in, &ends->input, inputs, p->input_count, "inputs", err));
    EMP_CHECK(take(in, &ends->control, controls, p->control_count, "waits", err));
    EMP_CHECK(take(in, &ends->tensor, outputs, p->tensor_count, "outputs", err));
    p->input_offset[op + 1] = ends->input;
    p->control_offset[op + 1] = ends->control;
    p->output_offset[op + 1] = ends->tensor;
    for (int32_t i = ends->input - inputs; i < ends->input; i++) {
        emp_replay_input *to = &p->input[i];
        EMP_CHECK(emp_text_lines_next(in, "in", err));
        EMP_CHECK(emp_text_lines_count(in, -1, INT32_MAX, &to->place, err));
        EMP_CHECK(emp_text_lines_integer(in, 0, MAX_BYTES, &to->bytes, err));
        EMP_CHECK(emp_text_lines_count(in, 1, 64, &to->element_bytes, err));
        EMP_CHECK(read_flag(in, &to->on_host, err));
    }
    for (int32_t i = ends->control - controls; i < ends->control; i++) {
        EMP_CHECK(emp_text_lines_next(in, "wait", err));
        EMP_CHECK(emp_text_lines_count(in, 0, INT32_MAX, &p->control[i], err));
    }
    for (int32_t t = ends->tensor - outputs; t < ends->tensor; t++)
        EMP_CHECK(read_output(in, p, op, t, ends, err));
    return EMP_OK;
}

emp_status emp_replay_plan_load(emp_replay_plan **out, const char *path, emp_error *err)
{
    emp_status       st = EMP_OK;
    emp_text_lines  *in = EMP_NEW(emp_text_lines);
    emp_replay_plan *p = NULL;
    int64_t          name_bytes = 0;
    struct ends      ends = {0};
    uint64_t         hash = 0;

    *out = NULL;
    if (in == NULL) EMP_FAIL(EMP_ENOMEM, "reading %s", path);
    EMP_TRY(emp_text_lines_open(in, path, format_name, err));
    EMP_TRY(read_head(in, &p, &name_bytes, err));
    EMP_TRY(read_devices(in, p, err));
    ends.name = p->names;
    ends.names_end = p->names + name_bytes;
    for (int32_t op = 0; op < p->op_count; op++) EMP_TRY(read_op(in, p, op, &ends, err));
    EMP_TRY(emp_text_lines_next(in, "end", err));
    EMP_TRY(emp_text_lines_hash(in, &hash, err));
    EMP_TRY(emp_replay_plan_check(p, err));
    if (hash != emp_replay_plan_hash(p))
        EMP_FAIL(EMP_EFORMAT, "%s is not as it was written: its hash differs", path);
    *out = p;
    p = NULL;

cleanup:
    emp_replay_plan_destroy(p);
    if (in != NULL) emp_text_lines_close(in);
    emp_free(in);
    return st;
}

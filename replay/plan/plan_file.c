// SPDX-License-Identifier: GPL-3.0-or-later
/* The text form of a plan: README.md. It ends with a hash, so that half a file is seen.
 * One function goes over all lines; when writing, the arrays stay as they are. */
#include <string.h>

#include "base/io/atomic_file.h"
#include "replay/plan/plan.h"
#include "replay/plan/text_lines.h"

enum { MAX_COUNT = 100 * 1000 * 1000 };

static const char    format_name[] = "emplace-replay-plan-1";
static const int64_t MAX_BYTES = INT64_C(1) << 50;

void emp_replay_origin_lines(emp_lines *io, emp_replay_origin *origin)
{
    emp_lines_next(io, "workload");
    emp_lines_rest(io, origin->workload, sizeof origin->workload);
    emp_lines_next(io, "machine");
    emp_lines_rest(io, origin->machine, sizeof origin->machine);
    emp_lines_next(io, "runtime");
    emp_lines_rest(io, origin->runtime, sizeof origin->runtime);
    emp_lines_next(io, "placement");
    emp_lines_rest(io, origin->placement, sizeof origin->placement);
    emp_lines_next(io, "graph");
    emp_lines_hash(io, &origin->graph_hash);
}

static void head_lines(emp_lines *io, emp_replay_plan *p, int64_t *name_bytes)
{
    emp_replay_origin_lines(io, &p->origin);
    emp_lines_next(io, "predicted_s");
    emp_lines_number(io, 9, &p->origin.predicted_s);
    emp_lines_next(io, "reuse_inputs");
    emp_lines_flag(io, &p->reuse_inputs);
    emp_lines_next(io, "counts");
    emp_lines_count(io, 1, EMP_REPLAY_MAX_DEVICES, &p->device_count);
    emp_lines_count(io, 0, MAX_COUNT, &p->op_count);
    emp_lines_count(io, 0, MAX_COUNT, &p->tensor_count);
    emp_lines_count(io, 0, MAX_COUNT, &p->copy_count);
    emp_lines_count(io, 0, MAX_COUNT, &p->input_count);
    emp_lines_count(io, 0, MAX_COUNT, &p->control_count);
    emp_lines_integer(io, 0, INT64_C(100) * MAX_COUNT, name_bytes);
}

static void device_lines(emp_lines *io, emp_replay_plan *p)
{
    for (int32_t d = 0; d < p->device_count; d++) {
        emp_replay_device *v = &p->device[d];
        emp_lines_next(io, "device");
        emp_lines_name(io, v->name, sizeof v->name);
        emp_lines_flag(io, &v->is_cpu);
        emp_lines_count(io, 0, p->device_count - 1, &v->host);
        emp_lines_count(io, 1, EMP_REPLAY_MAX_CORES, &v->cores);
        emp_lines_integer(io, 1, MAX_BYTES, &v->memory_bytes);
    }
    for (int32_t i = 0; i < p->device_count * p->device_count; i++) {
        emp_lines_next(io, "route");
        emp_lines_number(io, 17, &p->route[i].bytes_per_s);
        emp_lines_number(io, 17, &p->route[i].latency_s);
    }
}

/* Where the rows of the next op, and of the next output, begin; and names. */
struct ends {
    int32_t input, control, tensor, copy;
    char   *name, *names_end;
};

/* Counts the rows of an op or output; returns the first. Values that are read go to \a end_of. */
static int32_t take(emp_lines *io, int32_t *end, int32_t count, int32_t limit,
                    const char *what, int32_t *end_of)
{
    int32_t first = *end;

    if (count > limit - first) emp_lines_fail(io, "more %s than the head says", what);
    if (io->status != EMP_OK) return first;
    *end += count;
    if (!io->is_writing) *end_of = *end;
    return first;
}

static void name_field(emp_lines *io, struct ends *ends, const char **name)
{
    const char *word = emp_lines_word(io, *name);
    size_t      bytes = strlen(word) + 1;

    if (io->is_writing) return;
    *name = "";
    if (bytes > (size_t)(ends->names_end - ends->name))
        emp_lines_fail(io, "longer names than the head says");
    if (io->status != EMP_OK) return;
    *name = memcpy(ends->name, word, bytes);
    ends->name += bytes;
}

static void kernel_fields(emp_lines *io, emp_kernel *kernel)
{
    const char *name = emp_lines_word(io, emp_kernel_name(kernel->kind));

    if (!io->is_writing && !emp_kernel_find(name, &kernel->kind))
        emp_lines_fail(io, "there is no kernel '%s'", name);
    emp_lines_count(io, 0, 255, &kernel->variant);
    for (int32_t i = 0; i < emp_kernel_size_count(kernel->kind); i++)
        emp_lines_integer(io, -1, MAX_BYTES, &kernel->size[i]);
}

static void output_lines(emp_lines *io, emp_replay_plan *p, int32_t op, int32_t tensor,
                         struct ends *ends)
{
    emp_replay_tensor *t = &p->tensor[tensor];
    int32_t            copies = p->copy_offset[tensor + 1] - p->copy_offset[tensor];

    if (!io->is_writing) t->producer = op;
    emp_lines_next(io, "out");
    emp_lines_count(io, -1, op, &t->storage);
    emp_lines_integer(io, 0, MAX_BYTES, &t->buffer_bytes);
    emp_lines_integer(io, 0, MAX_BYTES, &t->bytes);
    emp_lines_count(io, 1, 64, &t->element_bytes);
    emp_lines_flag(io, &t->on_host);
    emp_lines_count(io, 0, MAX_COUNT, &copies);
    for (int32_t c = take(io, &ends->copy, copies, p->copy_count, "copies",
                          &p->copy_offset[tensor + 1]);
         c < ends->copy; c++) {
        if (!io->is_writing) p->copy[c].tensor = tensor;
        emp_lines_next(io, "copy");
        emp_lines_count(io, 0, p->device_count - 1, &p->copy[c].to);
        emp_lines_integer(io, 0, MAX_BYTES, &p->copy[c].bytes);
    }
}

static void row_lines(emp_lines *io, emp_replay_plan *p, int32_t op,
                      const struct ends *from, struct ends *ends)
{
    for (int32_t i = from->input; i < ends->input; i++) {
        emp_replay_input *in = &p->input[i];
        emp_lines_next(io, "in");
        emp_lines_count(io, -1, INT32_MAX, &in->place);
        emp_lines_integer(io, 0, MAX_BYTES, &in->bytes);
        emp_lines_count(io, 1, 64, &in->element_bytes);
        emp_lines_flag(io, &in->on_host);
    }
    for (int32_t i = from->control; i < ends->control; i++) {
        emp_lines_next(io, "wait");
        emp_lines_count(io, 0, INT32_MAX, &p->control[i]);
    }
    for (int32_t t = from->tensor; t < ends->tensor; t++)
        output_lines(io, p, op, t, ends);
}

static void op_lines(emp_lines *io, emp_replay_plan *p, int32_t op, struct ends *ends)
{
    emp_replay_op *o = &p->op[op];
    int32_t        inputs = p->input_offset[op + 1] - p->input_offset[op];
    int32_t        controls = p->control_offset[op + 1] - p->control_offset[op];
    int32_t        outputs = p->output_offset[op + 1] - p->output_offset[op];
    struct ends    from;

    emp_lines_next(io, "op");
    name_field(io, ends, &o->name);
    name_field(io, ends, &o->type);
    emp_lines_count(io, 0, p->device_count - 1, &o->device);
    emp_lines_flag(io, &o->is_alias);
    emp_lines_flag(io, &o->is_in_place);
    emp_lines_integer(io, 0, MAX_BYTES, &o->persistent_bytes);
    emp_lines_integer(io, 0, MAX_BYTES, &o->workspace_bytes);
    emp_lines_count(io, 0, MAX_COUNT, &inputs);
    emp_lines_count(io, 0, MAX_COUNT, &controls);
    emp_lines_count(io, 0, MAX_COUNT, &outputs);
    kernel_fields(io, &o->kernel);
    from.input = take(io, &ends->input, inputs, p->input_count, "inputs",
                      &p->input_offset[op + 1]);
    from.control = take(io, &ends->control, controls, p->control_count, "waits",
                        &p->control_offset[op + 1]);
    from.tensor = take(io, &ends->tensor, outputs, p->tensor_count, "outputs",
                       &p->output_offset[op + 1]);
    row_lines(io, p, op, &from, ends);
}

/* The lines after the head. */
static void body_lines(emp_lines *io, emp_replay_plan *p, int64_t name_bytes,
                       uint64_t *hash)
{
    struct ends ends = {.name = p->names, .names_end = p->names + name_bytes};

    device_lines(io, p);
    for (int32_t op = 0; op < p->op_count && io->status == EMP_OK; op++)
        op_lines(io, p, op, &ends);
    emp_lines_next(io, "end");
    emp_lines_hash(io, hash);
}

emp_status emp_replay_plan_save(const char *path, const emp_replay_plan *plan,
                                emp_error *err)
{
    emp_status      st = EMP_OK;
    emp_atomic_file file = {0};
    emp_lines       io;
    emp_replay_plan p = *plan;
    uint64_t        hash = emp_replay_plan_hash(plan);
    int64_t         name_bytes = 0;

    for (int32_t op = 0; op < p.op_count; op++)
        name_bytes += (int64_t)strlen(p.op[op].name) + (int64_t)strlen(p.op[op].type) + 2;
    EMP_TRY(emp_atomic_file_open(&file, path, err));
    emp_lines_begin(&io, file.stream, format_name);
    head_lines(&io, &p, &name_bytes);
    body_lines(&io, &p, name_bytes, &hash);
    emp_lines_close(&io);
    EMP_TRY(emp_atomic_file_commit(&file, err));

cleanup:
    emp_atomic_file_abort(&file);
    return st;
}

/* Makes the plan when its head tells how large it is. */
static emp_status read_plan(emp_lines *io, emp_replay_plan **out, emp_error *err)
{
    emp_replay_plan n = {0}, *p = NULL;
    int64_t         name_bytes = 0;
    uint64_t        hash = 0;

    head_lines(io, &n, &name_bytes);
    emp_lines_expect(io, (int64_t)n.op_count + n.tensor_count + n.copy_count +
                             n.input_count + n.control_count +
                             name_bytes / EMP_TEXT_LINE_BYTES);
    EMP_CHECK(io->status);
    EMP_CHECK(emp_replay_plan_create(&p, n.op_count, n.tensor_count, n.copy_count,
                                     n.input_count, n.control_count, name_bytes, err));
    *out = p;
    p->origin = n.origin;
    p->reuse_inputs = n.reuse_inputs;
    p->device_count = n.device_count;
    body_lines(io, p, name_bytes, &hash);
    EMP_CHECK(io->status);
    EMP_CHECK(emp_replay_plan_check(p, err));
    if (hash != emp_replay_plan_hash(p))
        return EMP_ERROR(EMP_EFORMAT, "%s is not as it was written: its hash differs",
                         io->path);
    return EMP_OK;
}

emp_status emp_replay_plan_load(emp_replay_plan **out, const char *path, emp_error *err)
{
    emp_lines io;

    *out = NULL;
    emp_lines_open(&io, path, format_name, err);
    emp_status st = read_plan(&io, out, err);
    if (st != EMP_OK) {
        emp_replay_plan_destroy(*out);
        *out = NULL;
    }
    emp_lines_close(&io);
    return st;
}

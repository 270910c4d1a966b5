// SPDX-License-Identifier: GPL-3.0-or-later
// Field numbers: TensorFlow's config.proto and step_stats.proto.
#include "graphs/import/profiles.h"

#include "base/collections.h"
#include "base/mem.h"
#include "base/text/file.h"
#include "graphs/import/proto/wire.h"

enum { METADATA_STEP_STATS = 1, STEP_DEVICE = 1, DEVICE_NAME = 1, DEVICE_NODE = 2 };
enum {
    NODE_NAME = 1,
    NODE_START_US = 3,
    NODE_END_US = 4,
    NODE_START_NS = 14,
    NODE_END_NS = 15
};
enum { MOST_DEVICES = 4096 };

static const char stream_word[] = "/stream:", all_word[] = "/stream:all";

/* A DeviceStepStats. */
typedef struct {
    emp_slice name, body;
    emp_slice gpu; /* of a list of kernels: "/gpu:0"; data NULL = it is no such list */
    bool      is_taken; /* its kernels belong to a list of ops */
} device;

/* Times by name, in a list of their own. */
typedef struct {
    emp_strmap       index;
    emp_measured_op *op;
    int32_t          count, capacity;
} times;

typedef struct {
    const char *origin;
    device     *device;
    int32_t     device_count, device_capacity;
} file;

typedef struct {
    emp_slice name;
    double    us;
} node;

/* ---- messages ---- */

static emp_cursor cursor_on(const file *f, emp_slice bytes)
{
    return (emp_cursor){f->origin, bytes.data, bytes.data + bytes.size};
}

static bool ends_in(emp_slice text, emp_slice end)
{
    return text.size >= end.size &&
           memcmp(text.data + text.size - end.size, end.data, end.size) == 0;
}

static emp_status read_device(file *f, emp_slice body, emp_error *err)
{
    emp_cursor     c = cursor_on(f, body);
    emp_wire_field field;
    device         d = {.name = {"", 0}, .body = body};

    while (c.at < c.end) {
        EMP_CHECK(emp_wire_next(&c, &field, err));
        if (field.number == DEVICE_NAME && field.type == EMP_WIRE_BYTES)
            d.name = field.bytes;
    }
    size_t stream = emp_slice_find(d.name, stream_word);
    if (stream < d.name.size) d.gpu = (emp_slice){d.name.data, stream};
    EMP_CHECK(EMP_GROW(f->device, f->device_count + 1, f->device_capacity));
    if (f->device_count == MOST_DEVICES)
        return EMP_ERROR(EMP_EFORMAT, "more than %d devices", MOST_DEVICES);
    f->device[f->device_count++] = d;
    return EMP_OK;
}

static emp_status read_step(file *f, emp_slice body, emp_error *err)
{
    emp_cursor     c = cursor_on(f, body);
    emp_wire_field field;

    while (c.at < c.end) {
        EMP_CHECK(emp_wire_next(&c, &field, err));
        if (field.number == STEP_DEVICE && field.type == EMP_WIRE_BYTES)
            EMP_CHECK(read_device(f, field.bytes, err));
    }
    return EMP_OK;
}

static emp_status read_node(node *n, const file *f, emp_slice body, emp_error *err)
{
    emp_cursor     c = cursor_on(f, body);
    emp_wire_field field;
    int64_t        start_us = 0, end_us = 0, start_ns = 0, end_ns = 0;

    *n = (node){.name = {"", 0}};
    while (c.at < c.end) {
        EMP_CHECK(emp_wire_next(&c, &field, err));
        int64_t value = (int64_t)field.bits;
        if (field.number == NODE_NAME && field.type == EMP_WIRE_BYTES)
            n->name = field.bytes;
        if (field.type != EMP_WIRE_VARINT) continue;
        if (field.number == NODE_START_US) start_us = value;
        if (field.number == NODE_END_US) end_us = value;
        if (field.number == NODE_START_NS) start_ns = value;
        if (field.number == NODE_END_NS) end_ns = value;
    }
    if (end_us < start_us || end_ns < start_ns)
        return EMP_ERROR(EMP_EFORMAT, "op '%.*s' ends before it begins",
                         EMP_SLICE_ARG(n->name));
    n->us = end_ns > 0 ? ((double)end_ns - (double)start_ns) * 1e-3
                       : (double)end_us - (double)start_us;
    return EMP_OK;
}

/* ---- times ---- */

static emp_status add_time(times *t, emp_slice op, emp_slice where, double us,
                           emp_error *err)
{
    int32_t at = emp_strmap_get(&t->index, op.data, op.size);

    if (at >= 0) {
        t->op[at].us += us;
        return EMP_OK;
    }
    EMP_CHECK(EMP_GROW(t->op, t->count + 1, t->capacity));
    EMP_CHECK(emp_strmap_set(&t->index, op.data, op.size, t->count, err));
    t->op[t->count++] = (emp_measured_op){op, where, us};
    return EMP_OK;
}

static void clear_times(times *t)
{
    emp_strmap_clear(&t->index);
    emp_free(t->op);
}

/* The text before the ":" of "Conv2D:Conv2D": the op whose kernel it is. */
static emp_slice op_of_kernel(emp_slice name)
{
    return (emp_slice){name.data, emp_slice_find(name, ":")};
}

/* Adds the nodes of a list to the times. */
static emp_status read_nodes(times *t, const file *f, const device *d, emp_error *err)
{
    emp_cursor     c = cursor_on(f, d->body);
    emp_wire_field field;
    node           n;

    while (c.at < c.end) {
        EMP_CHECK(emp_wire_next(&c, &field, err));
        if (field.number != DEVICE_NODE || field.type != EMP_WIRE_BYTES) continue;
        EMP_CHECK(read_node(&n, f, field.bytes, err));
        emp_slice op = d->gpu.data != NULL ? op_of_kernel(n.name) : n.name;
        EMP_CHECK(add_time(t, op, d->name, n.us, err));
    }
    return EMP_OK;
}

/* Whether a list of kernels is of this GPU, and no other list of ops has them. */
static bool is_of_gpu(const device *d, const device *gpu)
{
    return d->gpu.size > 0 && !d->is_taken && ends_in(gpu->name, d->gpu);
}

/* Adds up the kernels of a GPU; *has_any: whether any list of them is there. */
static emp_status read_kernels(times *kernels, bool *has_any, file *f, const device *gpu,
                               emp_error *err)
{
    const emp_slice all = {all_word, sizeof all_word - 1};
    bool            has_all = false;

    *has_any = false;
    for (int32_t i = 0; i < f->device_count; i++) {
        const device *d = &f->device[i];
        *has_any = *has_any || is_of_gpu(d, gpu);
        has_all = has_all || (is_of_gpu(d, gpu) && ends_in(d->name, all));
    }
    for (int32_t i = 0; i < f->device_count; i++) {
        device *d = &f->device[i];
        if (!is_of_gpu(d, gpu)) continue;
        d->is_taken = true;
        if (!has_all || ends_in(d->name, all)) EMP_CHECK(read_nodes(kernels, f, d, err));
    }
    return EMP_OK;
}

static bool is_gpu(emp_slice name)
{
    return emp_slice_find(name, "gpu:") < name.size ||
           emp_slice_find(name, "GPU:") < name.size;
}

/* "/gpu:0/memcpy" and the like say nothing of ops. */
static bool is_of_ops(const device *d)
{
    emp_slice name = d->name;

    if (d->gpu.data != NULL || name.size == 0) return false;
    return name.data[name.size - 1] >= '0' && name.data[name.size - 1] <= '9';
}

static emp_status append(emp_run_metadata *out, const times *t, emp_error *err)
{
    size_t           count = (size_t)out->count + (size_t)t->count;
    emp_measured_op *larger;

    if (t->count == 0) return EMP_OK;
    if (count > INT32_MAX) return EMP_ERROR(EMP_EFORMAT, "more than 2^31 ops");
    larger = emp_realloc(out->op, count, sizeof *larger);
    if (larger == NULL) return EMP_ERROR(EMP_ENOMEM, "times of %zu ops", count);
    out->op = larger;
    memcpy(out->op + out->count, t->op, (size_t)t->count * sizeof *t->op);
    out->count = (int32_t)count;
    return EMP_OK;
}

static emp_status read_ops(emp_run_metadata *out, file *f, const device *d,
                           emp_error *err)
{
    emp_status st = EMP_OK;
    times      ops = {0}, kernels = {0};
    bool       has_kernels = false;

    EMP_TRY(read_nodes(&ops, f, d, err));
    if (is_gpu(d->name)) {
        EMP_TRY(read_kernels(&kernels, &has_kernels, f, d, err));
        for (int32_t i = 0; i < ops.count; i++) {
            emp_slice op = ops.op[i].op;
            int32_t   at = emp_strmap_get(&kernels.index, op.data, op.size);
            ops.op[i].us = at < 0 ? 0.0 : kernels.op[at].us;
        }
        if (!has_kernels) {
            out->without_kernels += ops.count;
            ops.count = 0;
        }
    }
    EMP_TRY(append(out, &ops, err));

cleanup:
    clear_times(&ops);
    clear_times(&kernels);
    return st;
}

emp_status emp_run_metadata_read(emp_run_metadata *out, emp_slice bytes, emp_error *err)
{
    emp_status     st = EMP_OK;
    file           f = {.origin = bytes.data};
    emp_cursor     c = cursor_on(&f, bytes);
    emp_wire_field field;

    while (c.at < c.end) {
        EMP_TRY(emp_wire_next(&c, &field, err));
        if (field.number == METADATA_STEP_STATS && field.type == EMP_WIRE_BYTES)
            EMP_TRY(read_step(&f, field.bytes, err));
    }
    for (int32_t i = 0; i < f.device_count; i++)
        if (is_of_ops(&f.device[i])) EMP_TRY(read_ops(out, &f, &f.device[i], err));

cleanup:
    emp_free(f.device);
    return st;
}

/* ---- files ---- */

/* Whether a message's first field is number 1 and holds bytes. */
static bool is_first(emp_slice *inner, emp_slice message)
{
    emp_cursor     c = {message.data, message.data, message.data + message.size};
    emp_wire_field field;

    if (message.size == 0 || emp_wire_next(&c, &field, NULL) != EMP_OK ||
        field.number != 1 || field.type != EMP_WIRE_BYTES)
        return false;
    *inner = field.bytes;
    return true;
}

/* A RunMetadata begins with a StepStats, which begins with a device, which begins with its name. */
static bool is_run_metadata(emp_slice bytes)
{
    emp_slice part = bytes;

    for (int i = 0; i < 3; i++)
        if (!is_first(&part, part)) return false;
    return part.size > 0 && part.data[0] == '/';
}

bool emp_run_metadata_is(const char *path)
{
    char  *bytes = NULL;
    size_t size = 0;
    bool   is = emp_file_load(path, &bytes, &size, NULL) == EMP_OK &&
              is_run_metadata((emp_slice){bytes, size});

    emp_free(bytes);
    return is;
}

emp_status emp_run_metadata_load(emp_run_metadata *out, const char *path, emp_error *err)
{
    emp_error  reason = {0};
    size_t     size = 0;
    emp_status st = emp_file_load(path, &out->bytes, &size, &reason);

    if (st == EMP_OK)
        st = emp_run_metadata_read(out, (emp_slice){out->bytes, size}, &reason);
    if (st == EMP_OK) return EMP_OK;
    return emp_error_set(err, st, reason.file, reason.line, "%s: %s", path, reason.msg);
}

void emp_run_metadata_clear(emp_run_metadata *metadata)
{
    emp_free(metadata->op);
    emp_free(metadata->bytes);
    *metadata = (emp_run_metadata){0};
}

// SPDX-License-Identifier: GPL-3.0-or-later
#include "replay/plan/plan.h"

#include <inttypes.h>
#include <string.h>

#include "base/arrays.h"
#include "base/hash.h"
#include "base/mem.h"
#include "replay/plan/plan_internal.h"

emp_status emp_replay_plan_create(emp_replay_plan **out, int32_t op_count,
                                  int32_t tensor_count, int32_t copy_count,
                                  int32_t input_count, int32_t control_count,
                                  int64_t name_bytes, emp_error *err)
{
    emp_status       st = EMP_OK;
    emp_replay_plan *p = EMP_NEW(emp_replay_plan);
    size_t           ops = (size_t)op_count, tensors = (size_t)tensor_count;

    *out = NULL;
    if (p == NULL) EMP_FAIL(EMP_ENOMEM, "plan of %d ops", op_count);
    p->op_count = op_count;
    p->tensor_count = tensor_count;
    p->copy_count = copy_count;
    p->input_count = input_count;
    p->control_count = control_count;
    p->origin.predicted_s = -1.0;
    p->route = EMP_ADD_ARRAY(&p->arrays, emp_replay_route,
                             (size_t)EMP_REPLAY_MAX_DEVICES * EMP_REPLAY_MAX_DEVICES);
    p->op = EMP_ADD_ARRAY(&p->arrays, emp_replay_op, ops);
    p->input_offset = EMP_ADD_ARRAY(&p->arrays, int32_t, ops + 1);
    p->input = EMP_ADD_ARRAY(&p->arrays, emp_replay_input, (size_t)input_count);
    p->control_offset = EMP_ADD_ARRAY(&p->arrays, int32_t, ops + 1);
    p->control = EMP_ADD_ARRAY(&p->arrays, int32_t, (size_t)control_count);
    p->output_offset = EMP_ADD_ARRAY(&p->arrays, int32_t, ops + 1);
    p->tensor = EMP_ADD_ARRAY(&p->arrays, emp_replay_tensor, tensors);
    p->copy = EMP_ADD_ARRAY(&p->arrays, emp_replay_copy, (size_t)copy_count);
    p->copy_offset = EMP_ADD_ARRAY(&p->arrays, int32_t, tensors + 1);
    p->names = EMP_ADD_ARRAY(&p->arrays, char, (size_t)name_bytes);
    if (p->arrays.is_short) EMP_FAIL(EMP_ENOMEM, "plan of %d ops", op_count);
    *out = p;
    p = NULL;

cleanup:
    emp_replay_plan_destroy(p);
    return st;
}

void emp_replay_plan_destroy(emp_replay_plan *plan)
{
    if (plan == NULL) return;
    emp_arrays_clear(&plan->arrays);
    emp_free(plan);
}

static emp_status check_devices(const emp_replay_plan *p, emp_error *err)
{
    if (p->device_count < 1 || p->device_count > EMP_REPLAY_MAX_DEVICES)
        return EMP_ERROR(EMP_EFORMAT, "%d devices; there are 1 to %d", p->device_count,
                         EMP_REPLAY_MAX_DEVICES);
    for (int32_t d = 0; d < p->device_count; d++) {
        const emp_replay_device *device = &p->device[d];
        if (device->host < 0 || device->host >= p->device_count ||
            !p->device[device->host].is_cpu || (device->is_cpu && device->host != d))
            return EMP_ERROR(EMP_EFORMAT, "device %s has no host", device->name);
        if (device->cores < 1 || device->cores > EMP_REPLAY_MAX_CORES)
            return EMP_ERROR(EMP_EFORMAT, "device %s has %d cores; there are 1 to %d",
                             device->name, device->cores, EMP_REPLAY_MAX_CORES);
        if (device->memory_bytes < 1)
            return EMP_ERROR(EMP_EFORMAT, "device %s has no memory", device->name);
    }
    return EMP_OK;
}

static emp_status check_offsets(const int32_t *offset, int32_t count, int32_t end,
                                const char *what, emp_error *err)
{
    for (int32_t i = 0; i < count; i++) {
        if (offset[i] > offset[i + 1])
            return EMP_ERROR(EMP_EFORMAT, "%s are out of order", what);
    }
    if (offset[0] != 0 || offset[count] != end)
        return EMP_ERROR(EMP_EFORMAT, "%s do not add up to %d", what, end);
    return EMP_OK;
}

static emp_status check_tensor(const emp_replay_plan *p, int32_t op, int32_t tensor,
                               emp_error *err)
{
    const emp_replay_tensor *t = &p->tensor[tensor];

    if (t->producer != op || t->bytes < 0 || t->buffer_bytes < 0 ||
        (t->buffer_bytes > 0 && t->buffer_bytes < t->bytes) || t->element_bytes < 1)
        return EMP_ERROR(EMP_EFORMAT, "op %s: output %d has impossible sizes",
                         p->op[op].name, tensor - p->output_offset[op]);
    if (t->storage < -1 || t->storage > op ||
        (t->storage >= 0 && (p->op[t->storage].persistent_bytes < 1 || t->on_host ||
                             p->op[t->storage].persistent_bytes < t->bytes ||
                             p->op[t->storage].device != p->op[op].device)))
        return EMP_ERROR(EMP_EFORMAT,
                         "op %s: output %d refers to no variable of its device",
                         p->op[op].name, tensor - p->output_offset[op]);
    for (int32_t c = p->copy_offset[tensor]; c < p->copy_offset[tensor + 1]; c++) {
        if (p->copy[c].tensor != tensor || p->copy[c].to < 0 ||
            p->copy[c].to >= p->device_count || p->copy[c].bytes < 0 ||
            p->copy[c].bytes > t->bytes)
            return EMP_ERROR(EMP_EFORMAT, "op %s: a copy of output %d goes nowhere",
                             p->op[op].name, tensor - p->output_offset[op]);
    }
    return EMP_OK;
}

/* Output 0 of an alias lies in input 0. */
static bool is_within(const emp_replay_plan *p, int32_t op)
{
    int32_t                 output = p->output_offset[op];
    const emp_replay_input *in = &p->input[p->input_offset[op]];

    return p->tensor[output].bytes <= in->bytes &&
           emp_replay_memory_of_place(p, output) ==
               emp_replay_memory_of_place(p, in->place);
}

static emp_status check_inputs(const emp_replay_plan *p, int32_t op, emp_error *err)
{
    const emp_replay_op *o = &p->op[op];

    for (int32_t i = p->input_offset[op]; i < p->input_offset[op + 1]; i++) {
        const emp_replay_input *in = &p->input[i];
        int32_t                 number = i - p->input_offset[op];
        if (in->place < EMP_REPLAY_CONSTANT ||
            in->place >= p->tensor_count + p->copy_count || in->bytes < 0 ||
            in->element_bytes < 1)
            return EMP_ERROR(EMP_EFORMAT, "op %s: input %d is nowhere", o->name, number);
        if (in->place == EMP_REPLAY_CONSTANT) continue;
        int32_t tensor = emp_replay_tensor_of_place(p, in->place);
        if (p->tensor[tensor].producer >= op)
            return EMP_ERROR(EMP_EFORMAT, "op %s: input %d is made by a later op",
                             o->name, number);
        if (emp_replay_memory_of_place(p, in->place) !=
            emp_replay_memory(p, o->device, in->on_host))
            return EMP_ERROR(EMP_EFORMAT, "op %s: input %d lies in another memory",
                             o->name, number);
        bool is_copy = in->place >= p->tensor_count;
        if (in->bytes > (is_copy ? p->copy[in->place - p->tensor_count].bytes
                                 : p->tensor[tensor].bytes))
            return EMP_ERROR(EMP_EFORMAT, "op %s: input %d is longer than what it reads",
                             o->name, number);
    }
    for (int32_t i = p->control_offset[op]; i < p->control_offset[op + 1]; i++) {
        if (p->control[i] < 0 || p->control[i] >= op)
            return EMP_ERROR(EMP_EFORMAT, "op %s waits for a later op", o->name);
    }
    if (o->is_alias && (p->input_offset[op] == p->input_offset[op + 1] ||
                        p->output_offset[op] == p->output_offset[op + 1] ||
                        p->input[p->input_offset[op]].place == EMP_REPLAY_CONSTANT))
        return EMP_ERROR(EMP_EFORMAT, "op %s is an alias of nothing", o->name);
    if (o->is_alias && !is_within(p, op))
        return EMP_ERROR(EMP_EFORMAT,
                         "op %s is an alias of something shorter, or elsewhere", o->name);
    return EMP_OK;
}

emp_status emp_replay_plan_check(const emp_replay_plan *p, emp_error *err)
{
    EMP_CHECK(check_devices(p, err));
    EMP_CHECK(check_offsets(p->input_offset, p->op_count, p->input_count, "inputs", err));
    EMP_CHECK(
        check_offsets(p->control_offset, p->op_count, p->control_count, "controls", err));
    EMP_CHECK(
        check_offsets(p->output_offset, p->op_count, p->tensor_count, "outputs", err));
    EMP_CHECK(
        check_offsets(p->copy_offset, p->tensor_count, p->copy_count, "copies", err));
    for (int32_t op = 0; op < p->op_count; op++) {
        const emp_replay_op *o = &p->op[op];
        if (o->device < 0 || o->device >= p->device_count)
            return EMP_ERROR(EMP_EFORMAT, "op %s is on no device", o->name);
        if (o->persistent_bytes < 0 || o->workspace_bytes < 0)
            return EMP_ERROR(EMP_EFORMAT, "op %s has less than no memory", o->name);
        for (int32_t t = p->output_offset[op]; t < p->output_offset[op + 1]; t++) {
            EMP_CHECK(check_tensor(p, op, t, err));
        }
        EMP_CHECK(check_inputs(p, op, err));
        EMP_CHECK(emp_replay_check_kernel(p, op, err));
    }
    return EMP_OK;
}

static uint64_t hash_kernel(uint64_t hash, const emp_kernel *k)
{
    hash = emp_hash_u64(hash, (uint64_t)k->kind << 32 | (uint32_t)k->variant);
    for (int32_t i = 0; i < EMP_KERNEL_SIZES; i++)
        hash = emp_hash_u64(hash, (uint64_t)k->size[i]);
    return hash;
}

static uint64_t hash_double(uint64_t hash, double number)
{
    uint64_t bits;

    memcpy(&bits, &number, sizeof bits);
    return emp_hash_u64(hash, bits);
}

static uint64_t hash_devices(uint64_t hash, const emp_replay_plan *p)
{
    for (int32_t d = 0; d < p->device_count; d++) {
        const emp_replay_device *device = &p->device[d];
        hash = emp_hash_u64(hash, (uint64_t)device->memory_bytes);
        hash = emp_hash_u64(hash, (uint64_t)device->cores << 32 |
                                      (uint64_t)device->host << 8 |
                                      (uint64_t)device->is_cpu);
    }
    for (int32_t i = 0; i < p->device_count * p->device_count; i++) {
        hash = hash_double(hash, p->route[i].bytes_per_s);
        hash = hash_double(hash, p->route[i].latency_s);
    }
    return hash;
}

/* With what it reads and waits for. */
static uint64_t hash_op(uint64_t hash, const emp_replay_plan *p, int32_t op)
{
    const emp_replay_op *o = &p->op[op];

    hash = hash_kernel(hash, &o->kernel);
    hash = emp_hash_u64(hash, (uint64_t)o->device << 2 | (uint64_t)o->is_alias << 1 |
                                  (uint64_t)o->is_in_place);
    hash = emp_hash_u64(hash, (uint64_t)o->persistent_bytes);
    hash = emp_hash_u64(hash, (uint64_t)o->workspace_bytes);
    hash = emp_hash_u64(hash, (uint64_t)p->output_offset[op + 1]);
    hash = emp_hash_u64(hash, (uint64_t)p->input_offset[op + 1]);
    for (int32_t i = p->input_offset[op]; i < p->input_offset[op + 1]; i++) {
        const emp_replay_input *in = &p->input[i];
        hash = emp_hash_u64(hash, (uint64_t)(uint32_t)in->place);
        hash = emp_hash_u64(hash, (uint64_t)in->bytes);
        hash =
            emp_hash_u64(hash, (uint64_t)in->element_bytes << 1 | (uint64_t)in->on_host);
    }
    hash = emp_hash_u64(hash, (uint64_t)p->control_offset[op + 1]);
    for (int32_t i = p->control_offset[op]; i < p->control_offset[op + 1]; i++)
        hash = emp_hash_u64(hash, (uint64_t)p->control[i]);
    return hash;
}

/* With its copies. */
static uint64_t hash_tensor(uint64_t hash, const emp_replay_plan *p, int32_t tensor)
{
    const emp_replay_tensor *t = &p->tensor[tensor];

    hash = emp_hash_u64(hash, (uint64_t)t->buffer_bytes);
    hash = emp_hash_u64(hash, (uint64_t)t->bytes);
    hash = emp_hash_u64(hash, (uint64_t)(uint32_t)t->storage);
    hash = emp_hash_u64(hash, (uint64_t)t->element_bytes << 1 | (uint64_t)t->on_host);
    hash = emp_hash_u64(hash, (uint64_t)p->copy_offset[tensor + 1]);
    for (int32_t c = p->copy_offset[tensor]; c < p->copy_offset[tensor + 1]; c++) {
        hash = emp_hash_u64(hash, (uint64_t)p->copy[c].to);
        hash = emp_hash_u64(hash, (uint64_t)p->copy[c].bytes);
    }
    return hash;
}

uint64_t emp_replay_plan_hash(const emp_replay_plan *p)
{
    uint64_t hash = emp_hash_u64(EMP_HASH_SEED, (uint64_t)p->op_count);

    hash = emp_hash_u64(hash, (uint64_t)p->reuse_inputs);
    hash = hash_devices(hash, p);
    for (int32_t op = 0; op < p->op_count; op++) hash = hash_op(hash, p, op);
    for (int32_t t = 0; t < p->tensor_count; t++) hash = hash_tensor(hash, p, t);
    return hash;
}

// SPDX-License-Identifier: GPL-3.0-or-later
#include "replay/plan/plan.h"

#include <stdlib.h>
#include <string.h>

#include "base/collections.h"
#include "base/mem.h"

static emp_status emp_replay_check_kernel(const emp_replay_plan *plan, int32_t op,
                                          emp_error *err);

enum { HIGHEST = 4095 };

emp_replay_options emp_replay_options_default(void)
{
    emp_replay_options o = {.warmup = 2, .steps = 5, .fault = {-1, 0, -1}};

    for (int32_t d = 0; d < EMP_REPLAY_MAX_DEVICES; d++) o.physical[d] = -1;
    return o;
}

emp_status emp_replay_options_check(const emp_replay_options *o, const char *gpus,
                                    const char *backend, emp_error *err)
{
    const bool is_cpu = strcmp(backend, "cpu") == 0;

    if (is_cpu && gpus != NULL)
        return EMP_ERROR(EMP_EINVAL,
                         "--gpus is of the backend cuda; with cpu every device "
                         "is a group of cores");
    if (!is_cpu && o->keeps_rates)
        return EMP_ERROR(EMP_EINVAL,
                         "--keep-rates is of the backend cpu; GPUs copy at the "
                         "rates of their links");
    return EMP_OK;
}

/* The device that a part of the text is about; moves behind its "=". */
static emp_status find_device(const emp_replay_plan *plan, const char **at,
                              int32_t *device, emp_error *err)
{
    size_t length = strcspn(*at, "= ");

    for (*device = 0; *device < plan->device_count; (*device)++) {
        const char *name = plan->device[*device].name;
        if (strlen(name) == length && strncmp(name, *at, length) == 0) break;
    }
    if (*device == plan->device_count)
        return EMP_ERROR(EMP_EINVAL, "the plan has no device \"%.*s\"", (int)length, *at);
    if ((*at)[length] != '=')
        return EMP_ERROR(EMP_EINVAL, "\"%s\": after the device comes =, as in gpu:0=2,3",
                         *at);
    *at += length + 1;
    return EMP_OK;
}

static emp_status parse_number(const char **at, int32_t *number, emp_error *err)
{
    char *end = NULL;
    long  value = strtol(*at, &end, 10);

    if (end == *at || value < 0 || value > HIGHEST)
        return EMP_ERROR(EMP_EINVAL, "\"%s\": a number from 0 to %d is expected", *at,
                         HIGHEST);
    *number = (int32_t)value;
    *at = end;
    return EMP_OK;
}

static emp_status add_core(emp_replay_options *o, int32_t device, int32_t core,
                           emp_error *err)
{
    for (int32_t i = 0; i < o->core_count[device]; i++)
        if (o->core[device][i] == core)
            return EMP_ERROR(EMP_EINVAL, "core %d stands twice for one device", core);
    if (o->core_count[device] == EMP_REPLAY_MAX_CORES)
        return EMP_ERROR(EMP_EINVAL, "more than %d cores for one device",
                         EMP_REPLAY_MAX_CORES);
    o->core[device][o->core_count[device]++] = (int16_t)core;
    return EMP_OK;
}

/* Parses "2,4-7" and moves behind it. */
static emp_status parse_cores(const char **at, emp_replay_options *o, int32_t device,
                              emp_error *err)
{
    for (bool is_more = true; is_more; *at += is_more) {
        const char *range = *at;
        int32_t     first = 0, last;
        EMP_CHECK(parse_number(at, &first, err));
        last = first;
        if (**at == '-') {
            ++*at;
            EMP_CHECK(parse_number(at, &last, err));
        }
        if (last < first)
            return EMP_ERROR(EMP_EINVAL, "\"%s\": a range goes up, as 4-7 does", range);
        for (int32_t core = first; core <= last; core++)
            EMP_CHECK(add_core(o, device, core, err));
        is_more = **at == ',';
    }
    return EMP_OK;
}

static emp_status refuse_twice(const emp_replay_plan *plan, int32_t device,
                               emp_error *err)
{
    return EMP_ERROR(EMP_EINVAL, "%s stands twice", plan->device[device].name);
}

emp_status emp_replay_options_cores(emp_replay_options *o, const emp_replay_plan *plan,
                                    const char *text, emp_error *err)
{
    const char *at = text + strspn(text, " ");

    while (*at != '\0') {
        int32_t device;
        EMP_CHECK(find_device(plan, &at, &device, err));
        if (o->core_count[device] > 0) return refuse_twice(plan, device, err);
        EMP_CHECK(parse_cores(&at, o, device, err));
        if (*at != '\0' && *at != ' ')
            return EMP_ERROR(EMP_EINVAL, "\"%s\": groups of cores are parted by blanks",
                             at);
        at += strspn(at, " ");
    }
    return EMP_OK;
}

emp_status emp_replay_options_gpus(emp_replay_options *o, const emp_replay_plan *plan,
                                   const char *text, emp_error *err)
{
    const char *at = text + strspn(text, " ");

    while (*at != '\0') {
        int32_t device = 0;
        EMP_CHECK(find_device(plan, &at, &device, err));
        if (plan->device[device].is_cpu)
            return EMP_ERROR(EMP_EINVAL, "%s is no GPU of the plan",
                             plan->device[device].name);
        if (o->physical[device] >= 0) return refuse_twice(plan, device, err);
        EMP_CHECK(parse_number(&at, &o->physical[device], err));
        if (*at != '\0' && *at != ' ')
            return EMP_ERROR(EMP_EINVAL, "\"%s\": GPUs are parted by blanks", at);
        at += strspn(at, " ");
    }
    return EMP_OK;
}

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

/* Do kernels stay within their operands? Compares the sizes with the bytes that
 * the op's tensors have, once, so that kernels need not look. */
enum { FLOAT_BYTES = 4, LARGEST = 1 << 30 };

struct view {
    const emp_replay_plan *plan;
    int32_t                op;
    const int64_t         *size;
    int32_t                variant;
    bool                   is_bad;
};

/* Elements of an operand, that must be there and have four bytes each. */
static int64_t input_floats(struct view *v, int64_t number)
{
    const emp_replay_plan *p = v->plan;
    int32_t                first = p->input_offset[v->op];

    if (number < 0 || number >= p->input_offset[v->op + 1] - first) {
        v->is_bad = true;
        return 0;
    }
    return p->input[first + number].bytes / FLOAT_BYTES;
}

static int64_t output_floats(struct view *v, int64_t number)
{
    const emp_replay_plan *p = v->plan;
    int32_t                first = p->output_offset[v->op];

    if (number < 0 || number >= p->output_offset[v->op + 1] - first) {
        v->is_bad = true;
        return 0;
    }
    return p->tensor[first + number].bytes / FLOAT_BYTES;
}

/* A product of sizes, that must be at least 1 each and stay below 2^60. */
static int64_t times(struct view *v, int count, const int *at)
{
    double product = 1.0;

    for (int i = 0; i < count; i++) {
        if (v->size[at[i]] < 1 || v->size[at[i]] > LARGEST) v->is_bad = true;
        product *= (double)v->size[at[i]];
    }
    if (product > 0x1p60) v->is_bad = true;
    return v->is_bad ? 0 : (int64_t)product;
}

#define PRODUCT_OF(...) \
    times(v, (int)(sizeof((int[]){__VA_ARGS__}) / sizeof(int)), (int[]){__VA_ARGS__})

static void need(struct view *v, int64_t wanted, int64_t there)
{
    if (wanted > there) v->is_bad = true;
}

static void check_product(struct view *v)
{
    need(v, PRODUCT_OF(EMP_PRODUCT_M, EMP_PRODUCT_K, EMP_PRODUCT_BATCH),
         input_floats(v, v->size[EMP_PRODUCT_A]));
    need(v, PRODUCT_OF(EMP_PRODUCT_K, EMP_PRODUCT_N, EMP_PRODUCT_BATCH),
         input_floats(v, v->size[EMP_PRODUCT_B]));
    need(v, PRODUCT_OF(EMP_PRODUCT_M, EMP_PRODUCT_N, EMP_PRODUCT_BATCH),
         output_floats(v, 0));
}

static void check_conv(struct view *v)
{
    int64_t image = PRODUCT_OF(EMP_CONV_N, EMP_CONV_H, EMP_CONV_W, EMP_CONV_C);
    int64_t filter = PRODUCT_OF(EMP_CONV_KH, EMP_CONV_KW, EMP_CONV_C, EMP_CONV_F);
    int64_t out = PRODUCT_OF(EMP_CONV_N, EMP_CONV_OH, EMP_CONV_OW, EMP_CONV_F);
    int32_t direction = v->variant & EMP_CONV_DIRECTION;

    (void)PRODUCT_OF(EMP_CONV_SH, EMP_CONV_SW);
    if (v->size[EMP_CONV_PH] < 0 || v->size[EMP_CONV_PW] < 0 ||
        v->size[EMP_CONV_PH] > v->size[EMP_CONV_KH] ||
        v->size[EMP_CONV_PW] > v->size[EMP_CONV_KW] || direction > EMP_CONV_FILTER ||
        PRODUCT_OF(EMP_CONV_KH, EMP_CONV_KW, EMP_CONV_C) + v->size[EMP_CONV_F] >
            EMP_CONV_LARGEST_ROW) {
        v->is_bad = true;
        return;
    }
    need(v, direction == EMP_CONV_INPUT ? filter : image,
         input_floats(v, direction == EMP_CONV_INPUT ? 1 : 0));
    need(v, direction == EMP_CONV_FORWARD ? filter : out,
         input_floats(v, direction == EMP_CONV_FORWARD ? 1 : 2));
    need(v,
         direction == EMP_CONV_FORWARD ? out
         : direction == EMP_CONV_INPUT ? image
                                       : filter,
         output_floats(v, 0));
}

static void check_map(struct view *v)
{
    const emp_replay_plan *p = v->plan;
    int32_t                output = p->output_offset[v->op];

    if (output == p->output_offset[v->op + 1] || v->size[0] < 0 ||
        v->size[0] > p->tensor[output].bytes / p->tensor[output].element_bytes)
        v->is_bad = true;
}

static void check_move(struct view *v)
{
    if (v->variant == EMP_MOVE_TRANSPOSE) {
        int64_t n = PRODUCT_OF(EMP_MOVE_ROWS, EMP_MOVE_COLUMNS, EMP_MOVE_BATCH);
        need(v, n, input_floats(v, 0));
        need(v, n, output_floats(v, 0));
    } else if (v->size[EMP_MOVE_RUN] < 1) {
        v->is_bad = true;
    }
}

static void check_rows(struct view *v, int64_t table, int64_t index, int64_t floats)
{
    need(v, v->size[1], input_floats(v, table)); /* a row at least */
    need(v, v->size[0] > 0, input_floats(v, index));
    need(v, PRODUCT_OF(0, 1), floats);
}

static void check_scatter(struct view *v)
{
    const int64_t *s = v->size;
    int64_t        tables = v->variant == EMP_SCATTER_STORAGE ? s[EMP_SCATTER_TABLES] : 0;

    for (int64_t i = 0; i < tables && !v->is_bad; i++) {
        need(v, s[EMP_SCATTER_WIDTH], input_floats(v, i));
    }
    if (v->variant != EMP_SCATTER_STORAGE)
        need(v, s[EMP_SCATTER_WIDTH], output_floats(v, 0));
    need(v, s[EMP_SCATTER_ROWS] > 0, input_floats(v, s[EMP_SCATTER_INDEX]));
    need(v, PRODUCT_OF(EMP_SCATTER_ROWS, EMP_SCATTER_WIDTH),
         input_floats(v, s[EMP_SCATTER_VALUE]));
}

static void check_update(struct view *v)
{
    const int64_t *s = v->size;

    if (s[EMP_UPDATE_N] < 0 || s[EMP_UPDATE_TABLES] < 1) v->is_bad = true;
    for (int64_t i = 0; i < s[EMP_UPDATE_TABLES] && !v->is_bad; i++) {
        need(v, s[EMP_UPDATE_N], input_floats(v, i));
    }
    if (s[EMP_UPDATE_VALUE] >= 0) need(v, 1, input_floats(v, s[EMP_UPDATE_VALUE]));
}

static void check_pool(struct view *v)
{
    bool    is_grad = v->variant & EMP_POOL_GRAD;
    int64_t image = PRODUCT_OF(EMP_POOL_N, EMP_POOL_H, EMP_POOL_W, EMP_POOL_C);
    int64_t out = PRODUCT_OF(EMP_POOL_N, EMP_POOL_OH, EMP_POOL_OW, EMP_POOL_C);
    bool    is_avg = v->variant & EMP_POOL_AVG;

    (void)PRODUCT_OF(EMP_POOL_KH, EMP_POOL_KW, EMP_POOL_SH, EMP_POOL_SW);
    if (!is_grad || !is_avg) need(v, image, input_floats(v, 0));
    if (is_grad) need(v, out, input_floats(v, is_avg ? 1 : 2));
    need(v, is_grad ? image : out, output_floats(v, 0));
}

static void check_softmax(struct view *v)
{
    int64_t n = PRODUCT_OF(EMP_SOFTMAX_ROWS, EMP_SOFTMAX_COLUMNS);

    need(v, n, input_floats(v, 0));
    if (v->variant == EMP_SOFTMAX_PLAIN) {
        need(v, n, output_floats(v, 0));
    } else {
        need(v, v->size[EMP_SOFTMAX_ROWS], output_floats(v, 0));
        need(v, n, output_floats(v, 1));
        need(v, 1, input_floats(v, 1));
    }
}

static void check_norm(struct view *v)
{
    int64_t n = PRODUCT_OF(EMP_NORM_OUTER, EMP_NORM_CHANNELS, EMP_NORM_INNER);

    need(v, n, input_floats(v, 0));
    if (v->variant == EMP_NORM_GRAD) need(v, n, input_floats(v, 1));
    need(v, n, output_floats(v, 0));
}

static void check_reduce(struct view *v)
{
    need(v, PRODUCT_OF(EMP_REDUCE_N), input_floats(v, 0));
    need(v, PRODUCT_OF(EMP_REDUCE_M), output_floats(v, 0));
    need(v, v->size[EMP_REDUCE_M], v->size[EMP_REDUCE_N]);
}

/* A plan file may say anything; what the kernel of op touches must be there.
 * \retval EMP_EFORMAT  The message names the op. */
static emp_status emp_replay_check_kernel(const emp_replay_plan *plan, int32_t op,
                                          emp_error *err)
{
    const emp_replay_op *o = &plan->op[op];
    struct view          view = {plan, op, o->kernel.size, o->kernel.variant, false};
    struct view         *v = &view;

    if (view.variant < 0 || view.variant >= emp_kernel_variant_count(o->kernel.kind))
        return EMP_ERROR(EMP_EFORMAT, "op %s: its kernel %s has no variant %d", o->name,
                         emp_kernel_name(o->kernel.kind), view.variant);
    switch (o->kernel.kind) {
    case EMP_KERNEL_PRODUCT: check_product(v); break;
    case EMP_KERNEL_CONV: check_conv(v); break;
    case EMP_KERNEL_MAP: check_map(v); break;
    case EMP_KERNEL_REDUCE: check_reduce(v); break;
    case EMP_KERNEL_MOVE: check_move(v); break;
    case EMP_KERNEL_LOOKUP: check_rows(v, 0, 1, output_floats(v, 0)); break;
    case EMP_KERNEL_SCATTER: check_scatter(v); break;
    case EMP_KERNEL_SOFTMAX: check_softmax(v); break;
    case EMP_KERNEL_NORM: check_norm(v); break;
    case EMP_KERNEL_POOL: check_pool(v); break;
    case EMP_KERNEL_UPDATE: check_update(v); break;
    case EMP_KERNEL_HOST: view.is_bad = o->kernel.size[EMP_HOST_ROUNDS] < 0; break;
    default: break;
    }
    if (view.is_bad)
        return EMP_ERROR(
            EMP_EFORMAT,
            "op %s: its kernel %s is larger than its tensors, as where a graph file "
            "leaves sizes open",
            o->name, emp_kernel_name(o->kernel.kind));
    return EMP_OK;
}

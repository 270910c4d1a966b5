// SPDX-License-Identifier: GPL-3.0-or-later
#include "replay/planner/planner.h"

#include <string.h>

#include "base/mem.h"

/* Numbers in the part, by numbers of the whole plan and the copy of the part; -1 = none. */
typedef struct {
    const emp_replay_plan *from;
    const emp_plan_part   *part;
    emp_replay_plan       *to;
    int32_t *op, *variable; /* [copy * ops + op]: kept ops; operands that are variables */
    int32_t *place; /* [copy * places + place]: operands, then tensors of kept ops */
    int32_t *row;   /* [copy * copies + copy] */
    int32_t *origin;
    int32_t op_count, operand_count, tensor_count, copy_count, input_count, control_count;
    int64_t name_bytes;
} parter;

static const char operand_name[] = "operand", operand_type[] = "Variable";

static int32_t places_of(const emp_replay_plan *p)
{
    return p->tensor_count + p->copy_count;
}

static bool is_kept(const parter *x, int32_t op)
{
    return x->part->is_kept[op] && x->from->op[op].persistent_bytes == 0;
}

static int32_t producer_of(const emp_replay_plan *p, int32_t place)
{
    return p->tensor[emp_replay_tensor_of_place(p, place)].producer;
}

static int32_t device_of(const parter *x, int32_t copy, int32_t device)
{
    return device == x->part->device ? x->part->devices[copy] : device;
}

static int32_t *op_at(const parter *x, int32_t copy, int32_t op)
{
    return &x->op[copy * x->from->op_count + op];
}

static int32_t *variable_at(const parter *x, int32_t copy, int32_t op)
{
    return &x->variable[copy * x->from->op_count + op];
}

static int32_t *place_at(const parter *x, int32_t copy, int32_t place)
{
    return &x->place[copy * places_of(x->from) + place];
}

/* ---- numbers ---- */

/* A variable as an operand, once for all that read it at home. */
static int32_t number_variable(parter *x, int32_t copy, int32_t op)
{
    int32_t *number = variable_at(x, copy, op);

    if (*number < 0) *number = x->operand_count++;
    return *number;
}

/* An operand of a kept op that no kept op makes. */
static void number_operand(parter *x, int32_t copy, int32_t place)
{
    const emp_replay_plan *p = x->from;
    int32_t               *number = place_at(x, copy, place);

    if (*number >= 0) return;
    bool is_home = place < p->tensor_count && p->tensor[place].storage >= 0;
    *number =
        is_home ? number_variable(x, copy, p->tensor[place].storage) : x->operand_count++;
}

/* Operands are numbered first: each is an op with one tensor of the same number. */
static void number_operands(parter *x, int32_t copy)
{
    const emp_replay_plan *p = x->from;

    for (int32_t op = 0; op < p->op_count; op++) {
        if (!is_kept(x, op)) continue;
        for (int32_t i = p->input_offset[op]; i < p->input_offset[op + 1]; i++) {
            int32_t place = p->input[i].place;
            x->input_count++;
            if (place >= 0 && !is_kept(x, producer_of(p, place)))
                number_operand(x, copy, place);
        }
        for (int32_t t = p->output_offset[op]; t < p->output_offset[op + 1]; t++)
            if (p->tensor[t].storage >= 0)
                (void)number_variable(x, copy, p->tensor[t].storage);
        for (int32_t c = p->control_offset[op]; c < p->control_offset[op + 1]; c++)
            x->control_count += is_kept(x, p->control[c]);
        x->name_bytes +=
            (int64_t)strlen(p->op[op].name) + 1 + (int64_t)strlen(p->op[op].type) + 1;
    }
}

static void number_ops(parter *x, int32_t copy)
{
    const emp_replay_plan *p = x->from;

    for (int32_t op = 0; op < p->op_count; op++) {
        if (!is_kept(x, op)) continue;
        *op_at(x, copy, op) = x->op_count++;
        for (int32_t t = p->output_offset[op]; t < p->output_offset[op + 1]; t++)
            *place_at(x, copy, t) = x->tensor_count++;
    }
}

/* Copies that kept ops read of what kept ops make. */
static void number_copies(parter *x, int32_t copy)
{
    const emp_replay_plan *p = x->from;

    for (int32_t op = 0; op < p->op_count; op++) {
        if (!is_kept(x, op)) continue;
        for (int32_t i = p->input_offset[op]; i < p->input_offset[op + 1]; i++) {
            int32_t place = p->input[i].place;
            if (place < p->tensor_count || !is_kept(x, producer_of(p, place))) continue;
            x->row[copy * p->copy_count + place - p->tensor_count] = 0; /* is wanted */
        }
    }
    for (int32_t t = 0; t < p->tensor_count; t++)
        for (int32_t c = p->copy_offset[t]; c < p->copy_offset[t + 1]; c++) {
            int32_t *row = &x->row[copy * p->copy_count + c];
            if (*row < 0) continue;
            *row = x->copy_count++;
        }
}

static emp_status number(parter *x, emp_error *err)
{
    const emp_replay_plan *p = x->from;
    size_t copies = (size_t)x->part->count, ops = copies * (size_t)p->op_count;
    size_t places = copies * (size_t)places_of(p), rows = copies * (size_t)p->copy_count;

    EMP_CHECK(EMP_ALLOC(x->op, ops));
    EMP_CHECK(EMP_ALLOC(x->variable, ops));
    EMP_CHECK(EMP_ALLOC(x->place, places));
    EMP_CHECK(EMP_ALLOC(x->row, rows));
    for (size_t i = 0; i < ops; i++) x->op[i] = x->variable[i] = -1;
    for (size_t i = 0; i < places; i++) x->place[i] = -1;
    for (size_t i = 0; i < rows; i++) x->row[i] = -1;
    for (int32_t c = 0; c < x->part->count; c++) number_operands(x, c);
    x->op_count = x->tensor_count = x->operand_count;
    for (int32_t c = 0; c < x->part->count; c++) number_ops(x, c);
    for (int32_t c = 0; c < x->part->count; c++) number_copies(x, c);
    if (x->op_count == x->operand_count)
        return EMP_ERROR(EMP_EINVAL, "no op of the plan is part of it");
    x->name_bytes += (int64_t)(sizeof operand_name + sizeof operand_type);
    return EMP_OK;
}

/* ---- rows ---- */

static char *add_name(char **end, const char *name)
{
    char  *start = *end;
    size_t size = strlen(name) + 1;

    memcpy(start, name, size);
    *end += size;
    return start;
}

static void set_operand(const parter *x, int32_t number, int32_t device, int64_t bytes,
                        int32_t element_bytes, const char *name, const char *type)
{
    emp_replay_plan *to = x->to;

    to->op[number] = (emp_replay_op){.kernel = {.kind = EMP_KERNEL_NOTHING},
                                     .device = device,
                                     .persistent_bytes = bytes > 0 ? bytes : 1,
                                     .name = name,
                                     .type = type};
    to->tensor[number] = (emp_replay_tensor){.producer = number,
                                             .storage = number,
                                             .bytes = bytes,
                                             .element_bytes = element_bytes};
    to->output_offset[number + 1] = number + 1;
    x->origin[number] = -1;
}

static int32_t element_bytes_of(const emp_replay_plan *p, int32_t variable)
{
    int32_t output = p->output_offset[variable];

    return output < p->output_offset[variable + 1] ? p->tensor[output].element_bytes : 1;
}

static void set_operands(const parter *x, int32_t copy, const char *name,
                         const char *type)
{
    const emp_replay_plan *p = x->from;

    for (int32_t op = 0; op < p->op_count; op++)
        if (*variable_at(x, copy, op) >= 0)
            set_operand(x, *variable_at(x, copy, op),
                        device_of(x, copy, p->op[op].device), p->op[op].persistent_bytes,
                        element_bytes_of(p, op), name, type);
    for (int32_t place = 0; place < places_of(p); place++) {
        const emp_replay_tensor *t = &p->tensor[emp_replay_tensor_of_place(p, place)];
        int32_t                  number = *place_at(x, copy, place);
        bool                     is_home = place < p->tensor_count && t->storage >= 0;
        if (number < 0 || number >= x->operand_count || is_home) continue;
        set_operand(x, number, device_of(x, copy, emp_replay_memory_of_place(p, place)),
                    t->bytes, t->element_bytes, name, type);
    }
}

static int32_t place_in(const parter *x, int32_t copy, int32_t place)
{
    const emp_replay_plan *p = x->from;

    if (place < p->tensor_count || !is_kept(x, producer_of(p, place)))
        return *place_at(x, copy, place);
    return x->tensor_count + x->row[copy * p->copy_count + place - p->tensor_count];
}

static void set_inputs(const parter *x, int32_t copy, int32_t op, int32_t number)
{
    const emp_replay_plan *p = x->from;
    emp_replay_plan       *to = x->to;
    int32_t at = to->input_offset[number], control = to->control_offset[number];

    for (int32_t i = p->input_offset[op]; i < p->input_offset[op + 1]; i++) {
        to->input[at] = p->input[i];
        if (p->input[i].place >= 0)
            to->input[at].place = place_in(x, copy, p->input[i].place);
        at++;
    }
    for (int32_t c = p->control_offset[op]; c < p->control_offset[op + 1]; c++)
        if (is_kept(x, p->control[c]))
            to->control[control++] = *op_at(x, copy, p->control[c]);
    to->input_offset[number + 1] = at;
    to->control_offset[number + 1] = control;
}

/* An alias of an operand is that operand, as an Identity of a variable is the variable. */
static void set_alias(const parter *x, int32_t number)
{
    emp_replay_plan   *to = x->to;
    emp_replay_op     *o = &to->op[number];
    emp_replay_tensor *t = &to->tensor[to->output_offset[number]];
    int32_t            first = to->input_offset[number];

    if (!o->is_alias || first == to->input_offset[number + 1]) return;
    int32_t place = to->input[first].place;
    if (place < 0 || place >= x->operand_count || t->on_host ||
        to->op[place].device != o->device)
        return;
    o->is_alias = false;
    t->storage = place;
    t->buffer_bytes = 0;
}

static void set_op(const parter *x, int32_t copy, int32_t op, char **names)
{
    const emp_replay_plan *p = x->from;
    emp_replay_plan       *to = x->to;
    int32_t                number = *op_at(x, copy, op);
    emp_replay_op         *o = &to->op[number];

    *o = p->op[op];
    o->device = device_of(x, copy, o->device);
    o->name = add_name(names, p->op[op].name);
    o->type = add_name(names, p->op[op].type);
    x->origin[number] = copy == 0 ? op : -2 - op;
    to->output_offset[number + 1] =
        to->output_offset[number] + p->output_offset[op + 1] - p->output_offset[op];
    for (int32_t t = p->output_offset[op]; t < p->output_offset[op + 1]; t++) {
        emp_replay_tensor *tensor = &to->tensor[*place_at(x, copy, t)];
        *tensor = p->tensor[t];
        tensor->producer = number;
        if (tensor->storage >= 0)
            tensor->storage = *variable_at(x, copy, tensor->storage);
    }
    set_inputs(x, copy, op, number);
    if (to->output_offset[number] < to->output_offset[number + 1]) set_alias(x, number);
}

/* Copies were numbered in the order of their tensors, part by part, as those are. */
static void set_copies(const parter *x)
{
    const emp_replay_plan *p = x->from;
    emp_replay_plan       *to = x->to;

    for (int32_t copy = 0; copy < x->part->count; copy++)
        for (int32_t c = 0; c < p->copy_count; c++) {
            int32_t row = x->row[copy * p->copy_count + c];
            if (row < 0) continue;
            to->copy[row] = p->copy[c];
            to->copy[row].tensor = *place_at(x, copy, p->copy[c].tensor);
            to->copy[row].to = device_of(x, copy, p->copy[c].to);
            to->copy_offset[to->copy[row].tensor + 1]++;
        }
    for (int32_t t = 0; t < x->tensor_count; t++)
        to->copy_offset[t + 1] += to->copy_offset[t];
}

static void set_head(const parter *x)
{
    const emp_replay_plan *p = x->from;
    emp_replay_plan       *to = x->to;

    to->origin = p->origin;
    to->origin.predicted_s = -1.0;
    to->reuse_inputs = p->reuse_inputs;
    to->device_count = p->device_count;
    memcpy(to->device, p->device, sizeof p->device);
    memcpy(to->route, p->route,
           (size_t)(p->device_count * p->device_count) * sizeof *p->route);
}

static emp_status fill(parter *x, emp_error *err)
{
    EMP_CHECK(emp_replay_plan_create(&x->to, x->op_count, x->tensor_count, x->copy_count,
                                     x->input_count, x->control_count, x->name_bytes,
                                     err));
    EMP_CHECK(EMP_ALLOC(x->origin, (size_t)x->op_count));
    char       *names = x->to->names;
    const char *name = add_name(&names, operand_name);
    const char *type = add_name(&names, operand_type);
    set_head(x);
    for (int32_t c = 0; c < x->part->count; c++) set_operands(x, c, name, type);
    for (int32_t c = 0; c < x->part->count; c++)
        for (int32_t op = 0; op < x->from->op_count; op++)
            if (is_kept(x, op)) set_op(x, c, op, &names);
    set_copies(x);
    return emp_replay_plan_check(x->to, err);
}

emp_status emp_replay_plan_part(emp_replay_plan **out, int32_t **origin,
                                const emp_replay_plan *plan, const emp_plan_part *part,
                                emp_error *err)
{
    emp_status st = EMP_OK;
    parter     x = {.from = plan, .part = part};

    *out = NULL;
    *origin = NULL;
    EMP_TRY(number(&x, err));
    EMP_TRY(fill(&x, err));
    *out = x.to;
    *origin = x.origin;
    x.to = NULL;
    x.origin = NULL;

cleanup:
    emp_replay_plan_destroy(x.to);
    emp_free(x.origin);
    emp_free(x.op);
    emp_free(x.variable);
    emp_free(x.place);
    emp_free(x.row);
    return st;
}

// SPDX-License-Identifier: GPL-3.0-or-later
/* Whole numbers that follow from constants: the counter of a loop, its bound and its condition. */
#include <limits.h>
#include <string.h>

#include "graphs/import/hlo/lower.h"

static const emp_hlo_scalar unknown = {false, 0};

static emp_hlo_scalar known(int64_t value) { return (emp_hlo_scalar){true, value}; }

static bool is_op(const emp_hlo_module *m, const emp_hlo_instruction *i, const char *name)
{
    return strcmp(emp_hlo_op(m, i)->type + sizeof "hlo." - 1, name) == 0;
}

static bool is_whole(const emp_tensor_info *t)
{
    return emp_shape_elements(&t->shape) == 1 &&
           (t->dtype == EMP_DTYPE_BOOL || t->dtype == EMP_DTYPE_INT8 ||
            t->dtype == EMP_DTYPE_INT16 || t->dtype == EMP_DTYPE_INT32 ||
            t->dtype == EMP_DTYPE_INT64 || t->dtype == EMP_DTYPE_UINT8 ||
            t->dtype == EMP_DTYPE_UINT16 || t->dtype == EMP_DTYPE_UINT32 ||
            t->dtype == EMP_DTYPE_UINT64);
}

/* ---- arithmetic ---- */

static emp_hlo_scalar compare(emp_slice direction, int64_t a, int64_t b)
{
    if (emp_slice_is(direction, "LT")) return known(a < b);
    if (emp_slice_is(direction, "LE")) return known(a <= b);
    if (emp_slice_is(direction, "GT")) return known(a > b);
    if (emp_slice_is(direction, "GE")) return known(a >= b);
    if (emp_slice_is(direction, "EQ")) return known(a == b);
    if (emp_slice_is(direction, "NE")) return known(a != b);
    return unknown;
}

/* A result that does not fit in 64 bits is unknown. */
static emp_hlo_scalar of_two(const emp_hlo_module *m, const emp_hlo_instruction *i,
                             int64_t a, int64_t b)
{
    int64_t out = 0;
    bool    is_division = is_op(m, i, "divide") || is_op(m, i, "remainder");

    if (is_op(m, i, "compare")) return compare(emp_hlo_attr_of(m, i, "direction"), a, b);
    if (is_op(m, i, "add"))
        return __builtin_add_overflow(a, b, &out) ? unknown : known(out);
    if (is_op(m, i, "subtract"))
        return __builtin_sub_overflow(a, b, &out) ? unknown : known(out);
    if (is_op(m, i, "multiply"))
        return __builtin_mul_overflow(a, b, &out) ? unknown : known(out);
    if (is_division && (b == 0 || (a == INT64_MIN && b == -1))) return unknown;
    if (is_division) return known(is_op(m, i, "divide") ? a / b : a % b);
    if (is_op(m, i, "minimum")) return known(a < b ? a : b);
    if (is_op(m, i, "maximum")) return known(a > b ? a : b);
    if (is_op(m, i, "and")) return known(a & b);
    if (is_op(m, i, "or")) return known(a | b);
    return unknown;
}

static emp_hlo_scalar evaluate(const emp_hlo_lowering *l, const emp_hlo_scope *scope,
                               const emp_hlo_instruction *i, int32_t tensor,
                               int32_t *steps);

/* What is false whatever the other operand is: a loop that ends early at some data ends at its bound. */
static bool is_false(const emp_hlo_module *m, const emp_hlo_instruction *i,
                     emp_hlo_scalar operand)
{
    return is_op(m, i, "and") && operand.is_known && operand.value == 0;
}

static emp_hlo_scalar compute(const emp_hlo_lowering *l, const emp_hlo_scope *scope,
                              const emp_hlo_instruction *i, int32_t *steps)
{
    emp_hlo_scalar in[3] = {{0}};
    bool           is_known = true;

    if (i->operand_count < 1 || i->operand_count > 3) return unknown;
    for (int32_t o = 0; o < i->operand_count; o++) {
        in[o] = evaluate(l, scope, emp_hlo_operand(l->m, i, o), 0, steps);
        if (is_false(l->m, i, in[o])) return known(0);
        is_known = is_known && in[o].is_known;
    }
    if (!is_known) return unknown;
    switch (i->operand_count) {
    case 1:
        if (is_op(l->m, i, "copy") || is_op(l->m, i, "convert")) return in[0];
        if (is_op(l->m, i, "negate") && in[0].value > INT64_MIN)
            return known(-in[0].value);
        return unknown;
    case 2: return of_two(l->m, i, in[0].value, in[1].value);
    default:
        return is_op(l->m, i, "select") ? (in[0].value != 0 ? in[1] : in[2]) : unknown;
    }
}

/* ---- instructions ---- */

/* The operand of a tuple that the tensor is of. */
static emp_hlo_scalar part_of_tuple(const emp_hlo_lowering *l, const emp_hlo_scope *scope,
                                    const emp_hlo_instruction *i, int32_t tensor,
                                    int32_t *steps)
{
    for (int32_t o = 0; o < i->operand_count; o++) {
        const emp_hlo_instruction *operand = emp_hlo_operand(l->m, i, o);
        if (tensor < operand->tensor_count)
            return evaluate(l, scope, operand, tensor, steps);
        tensor -= operand->tensor_count;
    }
    return unknown;
}

/* An argument of a call, in the scope of its caller, or a part of a loop's state. */
static emp_hlo_scalar parameter(const emp_hlo_lowering *l, const emp_hlo_scope *scope,
                                const emp_hlo_instruction *i, int32_t tensor,
                                int32_t *steps)
{
    if (scope == NULL) return unknown;
    if (scope->state != NULL)
        return tensor < scope->state_count ? scope->state[tensor] : unknown;
    int32_t operand = scope->first + i->number;
    return operand < scope->call->operand_count
               ? evaluate(l, scope->outer, emp_hlo_operand(l->m, scope->call, operand),
                          tensor, steps)
               : unknown;
}

static emp_hlo_scalar evaluate(const emp_hlo_lowering *l, const emp_hlo_scope *scope,
                               const emp_hlo_instruction *i, int32_t tensor,
                               int32_t *steps)
{
    const emp_hlo_module *m = l->m;

    if (--*steps < 0 || tensor >= i->tensor_count ||
        !is_whole(&m->tensor[i->first_tensor + tensor]))
        return unknown;
    switch (emp_hlo_op(m, i)->what) {
    case EMP_HLO_CONSTANT: return i->constant == INT64_MIN ? unknown : known(i->constant);
    case EMP_HLO_PARAMETER: return parameter(l, scope, i, tensor, steps);
    case EMP_HLO_VIEW: return evaluate(l, scope, emp_hlo_operand(m, i, 0), tensor, steps);
    case EMP_HLO_TUPLE: return part_of_tuple(l, scope, i, tensor, steps);
    case EMP_HLO_PART: {
        const emp_hlo_instruction *tuple = emp_hlo_operand(m, i, 0);
        return evaluate(l, scope, tuple, emp_hlo_part_begin(m, tuple, i->number) + tensor,
                        steps);
    }
    case EMP_HLO_FUSION:
    case EMP_HLO_CALL: {
        const emp_hlo_scope inner = {.outer = scope, .call = i};
        return evaluate(l, &inner, &m->instruction[m->computation[i->called].root],
                        tensor, steps);
    }
    case EMP_HLO_KERNEL: return compute(l, scope, i, steps);
    default: return unknown;
    }
}

emp_hlo_scalar emp_hlo_scalar_of(emp_hlo_lowering *l, const emp_hlo_scope *scope,
                                 const emp_hlo_instruction *i, int32_t tensor)
{
    enum { STEPS_OF_ONE = 1024 };
    int32_t steps =
        l->scalar_steps < STEPS_OF_ONE ? (int32_t)l->scalar_steps : STEPS_OF_ONE;
    int32_t before = steps;

    emp_hlo_scalar out = evaluate(l, scope, i, tensor, &steps);
    l->scalar_steps -= before - (steps > 0 ? steps : 0);
    return steps < 0 ? unknown : out;
}

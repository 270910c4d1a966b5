// SPDX-License-Identifier: GPL-3.0-or-later
// The iterations of a loop: its counter, bound and condition, as far as they follow from constants.
#include <string.h>

#include "base/mem.h"
#include "graphs/import/hlo/lower.h"
#include "graphs/import/hlo/module.h"

static const emp_hlo_scalar unknown = {false, 0};

static emp_hlo_scalar known(int64_t value) { return (emp_hlo_scalar){true, value}; }

static bool is_op(const emp_hlo_module *m, const emp_hlo_instruction *i, const char *name)
{
    return strcmp(emp_hlo_op(m, i)->type + sizeof "hlo." - 1, name) == 0;
}

static bool is_whole(const emp_tensor_info *t)
{
    return emp_shape_elements(&t->shape) == 1 &&
           (t->dtype == EMP_DTYPE_BOOL || emp_dtype_is_integer(t->dtype));
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

static emp_hlo_scalar evaluate(const emp_hlo_module *m, const emp_hlo_scope *scope,
                               const emp_hlo_instruction *i, int32_t tensor,
                               int32_t *steps);

/* True if the value is false whatever the other operand is: a loop that ends early at some data ends at its bound. */
static bool is_false(const emp_hlo_module *m, const emp_hlo_instruction *i,
                     emp_hlo_scalar operand)
{
    return is_op(m, i, "and") && operand.is_known && operand.value == 0;
}

static emp_hlo_scalar compute(const emp_hlo_module *m, const emp_hlo_scope *scope,
                              const emp_hlo_instruction *i, int32_t *steps)
{
    emp_hlo_scalar in[3] = {{0}};
    bool           is_known = true;

    if (i->operand_count < 1 || i->operand_count > 3) return unknown;
    for (int32_t o = 0; o < i->operand_count; o++) {
        in[o] = evaluate(m, scope, emp_hlo_operand(m, i, o), 0, steps);
        if (is_false(m, i, in[o])) return known(0);
        is_known = is_known && in[o].is_known;
    }
    if (!is_known) return unknown;
    switch (i->operand_count) {
    case 1:
        if (is_op(m, i, "copy") || is_op(m, i, "convert")) return in[0];
        if (is_op(m, i, "negate") && in[0].value > INT64_MIN) return known(-in[0].value);
        return unknown;
    case 2: return of_two(m, i, in[0].value, in[1].value);
    default: return is_op(m, i, "select") ? (in[0].value != 0 ? in[1] : in[2]) : unknown;
    }
}

/* ---- instructions ---- */

/* The operand of a tuple that the tensor is of. */
static emp_hlo_scalar part_of_tuple(const emp_hlo_module *m, const emp_hlo_scope *scope,
                                    const emp_hlo_instruction *i, int32_t tensor,
                                    int32_t *steps)
{
    for (int32_t o = 0; o < i->operand_count; o++) {
        const emp_hlo_instruction *operand = emp_hlo_operand(m, i, o);
        if (tensor < operand->tensor_count)
            return evaluate(m, scope, operand, tensor, steps);
        tensor -= operand->tensor_count;
    }
    return unknown;
}

/* An argument of a call, in the scope of its caller, or a part of a loop's state. */
static emp_hlo_scalar parameter(const emp_hlo_module *m, const emp_hlo_scope *scope,
                                const emp_hlo_instruction *i, int32_t tensor,
                                int32_t *steps)
{
    if (scope == NULL) return unknown;
    if (scope->state != NULL)
        return tensor < scope->state_count ? scope->state[tensor] : unknown;
    int32_t operand = scope->first + i->number;
    return operand < scope->call->operand_count
               ? evaluate(m, scope->outer, emp_hlo_operand(m, scope->call, operand),
                          tensor, steps)
               : unknown;
}

static emp_hlo_scalar evaluate(const emp_hlo_module *m, const emp_hlo_scope *scope,
                               const emp_hlo_instruction *i, int32_t tensor,
                               int32_t *steps)
{
    if (--*steps < 0 || tensor >= i->tensor_count ||
        !is_whole(m->tensor[i->first_tensor + tensor]))
        return unknown;
    switch (emp_hlo_op(m, i)->what) {
    case EMP_HLO_CONSTANT: return i->constant == INT64_MIN ? unknown : known(i->constant);
    case EMP_HLO_PARAMETER: return parameter(m, scope, i, tensor, steps);
    case EMP_HLO_VIEW: return evaluate(m, scope, emp_hlo_operand(m, i, 0), tensor, steps);
    case EMP_HLO_TUPLE: return part_of_tuple(m, scope, i, tensor, steps);
    case EMP_HLO_PART: {
        const emp_hlo_instruction *tuple = emp_hlo_operand(m, i, 0);
        return evaluate(m, scope, tuple, emp_hlo_part_begin(m, tuple, i->number) + tensor,
                        steps);
    }
    case EMP_HLO_FUSION:
    case EMP_HLO_CALL: {
        const emp_hlo_scope inner = {.outer = scope, .call = i};
        return evaluate(m, &inner, &m->instruction[m->computation[i->called].root],
                        tensor, steps);
    }
    case EMP_HLO_KERNEL: return compute(m, scope, i, steps);
    default: return unknown;
    }
}

/* A tensor of an instruction as a whole number. Calls and fusions are followed; a number that takes too many steps is
 * unknown. */
static emp_hlo_scalar scalar_of(const emp_hlo_loop *s, const emp_hlo_scope *scope,
                                const emp_hlo_instruction *i, int32_t tensor)
{
    enum { STEPS_OF_ONE = 1024 };
    int32_t left = *s->steps < STEPS_OF_ONE ? (int32_t)*s->steps : STEPS_OF_ONE;
    int32_t before = left;

    emp_hlo_scalar out = evaluate(s->m, scope, i, tensor, &left);
    *s->steps -= before - (left > 0 ? left : 0);
    return left < 0 ? unknown : out;
}

/* ---- iterations ---- */

enum { DATA_ITERATIONS_MAX = 1 << 16 };

void emp_hlo_loop_clear(emp_hlo_loop *s)
{
    emp_free(s->now);
    emp_free(s->next);
    *s = (emp_hlo_loop){0};
}

emp_status emp_hlo_loop_begin(emp_hlo_loop *s, const emp_hlo_module *m,
                              const emp_hlo_scope *outer, const emp_hlo_instruction *loop,
                              int64_t *steps, emp_error *err)
{
    s->m = m;
    s->loop = loop;
    s->steps = steps;
    EMP_CHECK(EMP_ALLOC(s->now, (size_t)loop->tensor_count));
    EMP_CHECK(EMP_ALLOC(s->next, (size_t)loop->tensor_count));
    for (int32_t t = 0; t < loop->tensor_count; t++)
        s->now[t] = scalar_of(s, outer, emp_hlo_operand(m, loop, 0), t);
    s->scope = (emp_hlo_scope){.state = s->now, .state_count = loop->tensor_count};
    return EMP_OK;
}

static const emp_hlo_instruction *root_of(const emp_hlo_module *m, int32_t computation)
{
    return &m->instruction[m->computation[computation].root];
}

void emp_hlo_loop_advance(emp_hlo_loop *s)
{
    const emp_hlo_instruction *root = root_of(s->m, s->loop->called);
    emp_hlo_scalar            *before = s->now;

    for (int32_t t = 0; t < s->loop->tensor_count; t++)
        s->next[t] = scalar_of(s, &s->scope, root, t);
    s->now = s->next;
    s->next = before;
    s->scope.state = s->now;
}

/* Iterations that XLA knows of a loop; -1: it knows none. */
static emp_status trip_count(const emp_hlo_module *m, const emp_hlo_instruction *loop,
                             int64_t *count, emp_error *err)
{
    emp_json_document config;

    EMP_CHECK(emp_hlo_config_read(&config, m, loop, err));
    *count = emp_hlo_config_number(
        emp_json_get(emp_hlo_config_find(config.root, "known_trip_count"), "n"));
    emp_json_clear(&config);
    return EMP_OK;
}

/* The computation that says whether a loop goes on; -1: there is none. */
static int32_t condition_of(const emp_hlo_module *m, const emp_hlo_instruction *i)
{
    emp_slice list = emp_hlo_text_of(m, i, "condition"), name;

    (void)emp_hlo_next_item(&list, &name);
    return emp_hlo_find(m, name);
}

emp_status emp_hlo_loop_count(const emp_hlo_module *m, const emp_hlo_scope *outer,
                              const emp_hlo_instruction *loop, int64_t *steps,
                              int64_t *count, bool *is_bound, emp_error *err)
{
    const int32_t condition = condition_of(m, loop);
    emp_hlo_loop  s = {0};
    emp_status    st = EMP_OK;

    *is_bound = false;
    EMP_CHECK(trip_count(m, loop, count, err));
    if (*count >= 0) return EMP_OK;
    *count = -1;
    *is_bound = condition < 0;
    if (condition < 0) return EMP_OK;
    EMP_TRY(emp_hlo_loop_begin(&s, m, outer, loop, steps, err));
    const emp_hlo_instruction *root = root_of(m, condition);
    for (int64_t n = 0;
         n < (*is_bound ? DATA_ITERATIONS_MAX : EMP_HLO_ITERATIONS_MAX) && *count < 0;
         n++) {
        if (*steps <= 0) { /* other loops have used the steps up */
            *is_bound = true;
            break;
        }
        emp_hlo_scalar goes_on = scalar_of(&s, &s.scope, root, 0);
        *is_bound = *is_bound || !goes_on.is_known;
        if (goes_on.is_known && goes_on.value == 0)
            *count = n;
        else
            emp_hlo_loop_advance(&s);
    }

cleanup:
    emp_hlo_loop_clear(&s);
    return st;
}

/* Whether a computation does more work than another one, or has more instructions. */
static bool is_heavier(const emp_hlo_kernels *k, int32_t computation, int32_t than)
{
    const double own = k->body[computation].cost->flops,
                 other = k->body[than].cost->flops;

    if (own != other) return own > other;
    return k->m->computation[computation].count > k->m->computation[than].count;
}

int32_t emp_hlo_heaviest_branch(const emp_hlo_kernels *k, const emp_hlo_instruction *i,
                                int32_t *place)
{
    emp_slice list = emp_hlo_text_of(k->m, i, "branch_computations"), name;
    emp_slice sides[] = {emp_hlo_text_of(k->m, i, "true_computation"),
                         emp_hlo_text_of(k->m, i, "false_computation")};
    int32_t   heaviest = -1;

    for (int32_t at = 0;; at++) {
        if (list.size == 0 && at < 2 && sides[at].size > 0) {
            (void)emp_hlo_next_item(&sides[at], &name);
        } else if (!emp_hlo_next_item(&list, &name)) {
            return heaviest;
        }
        int32_t c = emp_hlo_find(k->m, name);
        if (c < 0 || c == k->m->entry || (heaviest >= 0 && !is_heavier(k, c, heaviest)))
            continue;
        heaviest = c;
        *place = at;
    }
}

/* ---- what is looked into ---- */

static bool makes_number(const emp_hlo_module *m, const emp_hlo_instruction *i)
{
    for (int32_t t = i->first_tensor; t < i->first_tensor + i->tensor_count; t++)
        if (is_whole(m->tensor[t])) return true;
    return false;
}

static emp_status recall(emp_hlo_reader *r, int32_t computation, emp_error *err)
{
    return computation < 0 ? EMP_OK : emp_hlo_reader_recall(r, computation, err);
}

emp_status emp_hlo_recall(emp_hlo_reader *r, const emp_hlo_kernels *k, emp_error *err)
{
    const emp_hlo_module *m = r->m;
    int32_t               place;

    /* those that are recalled come last */
    for (int32_t n = 0; n < m->instruction_count; n++) {
        const emp_hlo_instruction i = m->instruction[n];
        const emp_hlo_what        what = emp_hlo_op(m, &i)->what;
        if (what == EMP_HLO_CALL || what == EMP_HLO_WHILE ||
            (what == EMP_HLO_FUSION && makes_number(m, &i)))
            EMP_CHECK(recall(r, i.called, err));
        if (what == EMP_HLO_WHILE) EMP_CHECK(recall(r, condition_of(m, &i), err));
        if (what == EMP_HLO_CONDITIONAL)
            EMP_CHECK(recall(r, emp_hlo_heaviest_branch(k, &i, &place), err));
    }
    return EMP_OK;
}

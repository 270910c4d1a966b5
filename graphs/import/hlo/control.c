// SPDX-License-Identifier: GPL-3.0-or-later
// Calls, loops and branches: computations that run in place of an instruction.
#include <string.h>

#include "base/mem.h"
#include "graphs/import/hlo/lower.h"
#include "graphs/import/hlo/module.h"

/* Whole numbers that follow from constants: the counter of a loop, its bound and its condition. */

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

/* True if the value is false whatever the other operand is: a loop that ends early at some data ends at its bound. */
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
        !is_whole(m->tensor[i->first_tensor + tensor]))
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

/* A tensor of an instruction as a whole number. Calls and fusions are followed; a number that takes too many
 * steps is unknown. */
static emp_hlo_scalar hlo_scalar_of(emp_hlo_lowering *l, const emp_hlo_scope *scope,
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

enum { DEPTH_MAX = 32, ITERATIONS_MAX = 1 << 20, DATA_ITERATIONS_MAX = 1 << 16 };

/* Runs a computation in place of an instruction, with so many of its operands from `first` on. */
static emp_status call(emp_hlo_lowering *l, const emp_hlo_frame *f,
                       const emp_hlo_instruction *i, int32_t computation,
                       const int32_t *argument, const emp_hlo_scope *scope,
                       int64_t iteration, int32_t *result, emp_error *err)
{
    char          path[EMP_HLO_OP_NAME_BYTES];
    emp_hlo_frame inner = {.c = &l->m->computation[computation],
                           .path = path,
                           .depth = f->depth + 1,
                           .argument = argument,
                           .scope = scope};

    if (inner.depth > DEPTH_MAX)
        return EMP_ERROR(EMP_EUNSUPPORTED, "line %d: more than %d calls in each other",
                         emp_hlo_line(l->m, l->m->begin + i->name_at), DEPTH_MAX);
    emp_hlo_path(path, f->path, l->m, i, iteration);
    return emp_hlo_run(l, &inner, result, err);
}

/* Whether operands from `first` on are as many, with as many tensors, as a computation's parameters. */
static bool fits(emp_hlo_lowering *l, const emp_hlo_instruction *i, int32_t first,
                 int32_t count, int32_t computation)
{
    const emp_hlo_computation *c = &l->m->computation[computation];
    bool is_right = c->parameter_count == count && first + count <= i->operand_count;

    for (int32_t p = 0; is_right && p < count; p++)
        is_right =
            emp_hlo_operand(l->m, i, first + p)->tensor_count ==
            l->m->instruction[l->m->parameter[c->first_parameter + p]].tensor_count;
    if (!is_right)
        emp_import_notes_problem(
            l->notes,
            "line %d: the operands of %.*s are not the parameters of "
            "%.*s",
            emp_hlo_line(l->m, l->m->begin + i->name_at),
            EMP_SLICE_ARG(emp_hlo_name(l->m, i)), EMP_SLICE_ARG(c->name));
    return is_right;
}

static int32_t tensors_of_root(const emp_hlo_lowering *l, int32_t computation)
{
    return l->m->instruction[l->m->computation[computation].root].tensor_count;
}

/* A call; one that has only been started makes a tuple with its result in it. */
emp_status emp_hlo_lower_call(emp_hlo_lowering *l, const emp_hlo_frame *f,
                              const emp_hlo_instruction *i, int32_t *value,
                              emp_error *err)
{
    emp_status          st = EMP_OK;
    int32_t            *argument = NULL, result = 0;
    emp_hlo_made        made = emp_hlo_made_by(l->m, i);
    const emp_hlo_scope scope = {.outer = f->scope, .call = i};
    bool                is_right = fits(l, i, 0, i->operand_count, i->called);

    if (is_right && tensors_of_root(l, i->called) != made.end - made.begin) {
        emp_hlo_note_misfit(l, i, tensors_of_root(l, i->called), made.end - made.begin);
        is_right = false;
    }
    if (!is_right) return emp_hlo_make_value(l, i, 0, 0, -1, value, err);
    EMP_TRY(EMP_ALLOC(argument, (size_t)i->operand_count));
    for (int32_t o = 0; o < i->operand_count; o++)
        argument[o] = emp_hlo_operand_value(l, f, i, o);
    EMP_TRY(call(l, f, i, i->called, argument, &scope, -1, &result, err));
    EMP_TRY(
        emp_hlo_make_value(l, i, made.begin, made.end - made.begin, result, value, err));

cleanup:
    emp_free(argument);
    return st;
}

/* ---- loops ---- */

/* The numbers among the state of a loop, before and after an iteration. */
typedef struct {
    emp_hlo_scalar *now, *next;
    emp_hlo_scope   scope; /* of its condition and body */
} loop_state;

static void clear_state(loop_state *s)
{
    emp_free(s->now);
    emp_free(s->next);
    *s = (loop_state){0};
}

static emp_status begin_state(loop_state *s, emp_hlo_lowering *l, const emp_hlo_frame *f,
                              const emp_hlo_instruction *i, emp_error *err)
{
    EMP_CHECK(EMP_ALLOC(s->now, (size_t)i->tensor_count));
    EMP_CHECK(EMP_ALLOC(s->next, (size_t)i->tensor_count));
    for (int32_t t = 0; t < i->tensor_count; t++)
        s->now[t] = hlo_scalar_of(l, f->scope, emp_hlo_operand(l->m, i, 0), t);
    s->scope = (emp_hlo_scope){.state = s->now, .state_count = i->tensor_count};
    return EMP_OK;
}

static void advance_state(loop_state *s, emp_hlo_lowering *l,
                          const emp_hlo_instruction *i)
{
    const emp_hlo_instruction *root =
        &l->m->instruction[l->m->computation[i->called].root];
    emp_hlo_scalar *before = s->now;

    for (int32_t t = 0; t < i->tensor_count; t++)
        s->next[t] = hlo_scalar_of(l, &s->scope, root, t);
    s->now = s->next;
    s->next = before;
    s->scope.state = s->now;
}

/* Iterations that XLA knows of a loop; -1: it knows none. */
static emp_status trip_count(const emp_hlo_lowering *l, const emp_hlo_instruction *i,
                             int64_t *count, emp_error *err)
{
    emp_json_document config;

    EMP_CHECK(emp_hlo_config_read(&config, l->m, i, err));
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

/* Iterations until the condition must be false, worked out from constants; -1: they depend only on data, or are so
 * many that a graph could not hold them. \a is_bound: data may make it false earlier. */
static emp_status count_iterations(emp_hlo_lowering *l, const emp_hlo_frame *f,
                                   const emp_hlo_instruction *i, int64_t *count,
                                   bool *is_bound, emp_error *err)
{
    const int32_t condition = condition_of(l->m, i);
    loop_state    s = {0};
    emp_status    st = EMP_OK;

    *count = -1;
    *is_bound = condition < 0;
    if (condition < 0) return EMP_OK;
    EMP_TRY(begin_state(&s, l, f, i, err));
    const emp_hlo_instruction *root =
        &l->m->instruction[l->m->computation[condition].root];
    for (int64_t n = 0;
         n < (*is_bound ? DATA_ITERATIONS_MAX : ITERATIONS_MAX) && *count < 0; n++) {
        if (l->scalar_steps <= 0) { /* other loops have used the steps up */
            *is_bound = true;
            break;
        }
        emp_hlo_scalar goes_on = hlo_scalar_of(l, &s.scope, root, 0);
        *is_bound = *is_bound || !goes_on.is_known;
        if (goes_on.is_known && goes_on.value == 0)
            *count = n;
        else
            advance_state(&s, l, i);
    }

cleanup:
    clear_state(&s);
    return st;
}

static bool fits_loop(emp_hlo_lowering *l, const emp_hlo_instruction *i)
{
    if (!fits(l, i, 0, 1, i->called)) return false;
    if (tensors_of_root(l, i->called) == i->tensor_count &&
        emp_hlo_operand(l->m, i, 0)->tensor_count == i->tensor_count)
        return true;
    emp_hlo_note_misfit(l, i, tensors_of_root(l, i->called), i->tensor_count);
    return false;
}

static emp_status run_loop(emp_hlo_lowering *l, const emp_hlo_frame *f,
                           const emp_hlo_instruction *i, int64_t count, int32_t *value,
                           emp_error *err)
{
    emp_status st = EMP_OK;
    loop_state s = {0};

    EMP_TRY(begin_state(&s, l, f, i, err));
    for (int64_t n = 0; n < count; n++) {
        int32_t before = *value;
        EMP_TRY(call(l, f, i, i->called, &before, &s.scope, n, value, err));
        advance_state(&s, l, i);
    }

cleanup:
    clear_state(&s);
    return st;
}

emp_status emp_hlo_lower_loop(emp_hlo_lowering *l, const emp_hlo_frame *f,
                              const emp_hlo_instruction *i, int32_t *value,
                              emp_error *err)
{
    int64_t count = -1;
    bool    is_right = fits_loop(l, i), is_bound = false;

    *value = emp_hlo_operand_value(l, f, i, 0);
    if (is_right) EMP_CHECK(trip_count(l, i, &count, err));
    if (is_right && count < 0)
        EMP_CHECK(count_iterations(l, f, i, &count, &is_bound, err));
    if (is_bound && count < 0) {
        emp_import_notes_assume(l->notes,
                                "%.*s has one iteration, as its length depends on data",
                                EMP_SLICE_ARG(emp_hlo_name(l->m, i)));
        count = 1;
    } else if (is_bound) {
        emp_import_notes_assume(
            l->notes,
            "%.*s has all of its %lld iterations, though its data may "
            "end it earlier",
            EMP_SLICE_ARG(emp_hlo_name(l->m, i)), (long long)count);
    }
    if (count >= 0) return run_loop(l, f, i, count, value, err);
    if (is_right)
        emp_import_notes_problem(
            l->notes,
            "line %d: %.*s has no known_trip_count in its backend_config, and its "
            "condition is still true after %d iterations",
            emp_hlo_line(l->m, l->m->begin + i->name_at),
            EMP_SLICE_ARG(emp_hlo_name(l->m, i)), ITERATIONS_MAX);
    return emp_hlo_make_value(l, i, 0, 0, -1, value, err);
}

/* ---- branches ---- */

/* The branch with the most instructions; its place among them all is its operand's, behind the condition. */
static int32_t longest_branch(const emp_hlo_module *m, const emp_hlo_instruction *i,
                              int32_t *place)
{
    emp_slice list = emp_hlo_text_of(m, i, "branch_computations"), name;
    emp_slice sides[] = {emp_hlo_text_of(m, i, "true_computation"),
                         emp_hlo_text_of(m, i, "false_computation")};
    int32_t   longest = -1;

    for (int32_t at = 0;; at++) {
        if (list.size == 0 && at < 2 && sides[at].size > 0) {
            (void)emp_hlo_next_item(&sides[at], &name);
        } else if (!emp_hlo_next_item(&list, &name)) {
            return longest;
        }
        int32_t c = emp_hlo_find(m, name);
        if (c < 0 ||
            (longest >= 0 && m->computation[c].count <= m->computation[longest].count))
            continue;
        longest = c;
        *place = at;
    }
}

emp_status emp_hlo_lower_conditional(emp_hlo_lowering *l, const emp_hlo_frame *f,
                                     const emp_hlo_instruction *i, int32_t *value,
                                     emp_error *err)
{
    int32_t place = 0, branch = longest_branch(l->m, i, &place);
    bool    is_right = branch >= 0 && branch != l->m->entry &&
                    fits(l, i, 1 + place, 1, branch) &&
                    tensors_of_root(l, branch) == i->tensor_count;

    if (!is_right) {
        emp_import_notes_problem(l->notes,
                                 "line %d: the branches of %.*s are no computations of "
                                 "its operands",
                                 emp_hlo_line(l->m, l->m->begin + i->name_at),
                                 EMP_SLICE_ARG(emp_hlo_name(l->m, i)));
        return emp_hlo_make_value(l, i, 0, 0, -1, value, err);
    }
    emp_import_notes_assume(l->notes, "%.*s takes the longest of its branches, %.*s",
                            EMP_SLICE_ARG(emp_hlo_name(l->m, i)),
                            EMP_SLICE_ARG(l->m->computation[branch].name));
    int32_t             argument = emp_hlo_operand_value(l, f, i, 1 + place);
    const emp_hlo_scope scope = {.outer = f->scope, .call = i, .first = 1 + place};
    return call(l, f, i, branch, &argument, &scope, -1, value, err);
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

emp_status emp_hlo_recall(emp_hlo_reader *r, emp_error *err)
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
            EMP_CHECK(recall(r, longest_branch(m, &i, &place), err));
    }
    return EMP_OK;
}

// SPDX-License-Identifier: GPL-3.0-or-later
// Calls, loops and branches: computations that run in place of an instruction.
#include "base/mem.h"
#include "graphs/import/hlo/lower.h"
#include "graphs/import/hlo/module.h"

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
                         emp_hlo_line(l->m, i->name.data), DEPTH_MAX);
    emp_hlo_path(path, f->path, i, iteration);
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
            emp_hlo_line(l->m, i->name.data), EMP_SLICE_ARG(i->name),
            EMP_SLICE_ARG(c->name));
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
        s->now[t] = emp_hlo_scalar_of(l, f->scope, emp_hlo_operand(l->m, i, 0), t);
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
        s->next[t] = emp_hlo_scalar_of(l, &s->scope, root, t);
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

/* Iterations until the condition must be false, worked out from constants; -1: they depend on data alone, or are so
 * many that a graph could not hold them. \a is_bound: data may make it false earlier. */
static emp_status count_iterations(emp_hlo_lowering *l, const emp_hlo_frame *f,
                                   const emp_hlo_instruction *i, int64_t *count,
                                   bool *is_bound, emp_error *err)
{
    emp_slice  list = emp_hlo_text_of(l->m, i, "condition"), name;
    loop_state s = {0};
    emp_status st = EMP_OK;

    (void)emp_hlo_next_item(&list, &name);
    int32_t condition = emp_hlo_find(l->m, name);
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
        emp_hlo_scalar goes_on = emp_hlo_scalar_of(l, &s.scope, root, 0);
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
                                EMP_SLICE_ARG(i->name));
        count = 1;
    } else if (is_bound) {
        emp_import_notes_assume(
            l->notes,
            "%.*s has all of its %lld iterations, though its data may "
            "end it earlier",
            EMP_SLICE_ARG(i->name), (long long)count);
    }
    if (count >= 0) return run_loop(l, f, i, count, value, err);
    if (is_right)
        emp_import_notes_problem(
            l->notes,
            "line %d: %.*s has no known_trip_count in its backend_config, and its "
            "condition is still true after %d iterations",
            emp_hlo_line(l->m, i->name.data), EMP_SLICE_ARG(i->name), ITERATIONS_MAX);
    return emp_hlo_make_value(l, i, 0, 0, -1, value, err);
}

/* ---- branches ---- */

/* The branch with the most instructions; its place among them all is its operand's, behind the condition. */
static int32_t longest_branch(const emp_hlo_lowering *l, const emp_hlo_instruction *i,
                              int32_t *place)
{
    emp_slice list = emp_hlo_text_of(l->m, i, "branch_computations"), name;
    emp_slice sides[] = {emp_hlo_text_of(l->m, i, "true_computation"),
                         emp_hlo_text_of(l->m, i, "false_computation")};
    int32_t   longest = -1;

    for (int32_t at = 0;; at++) {
        if (list.size == 0 && at < 2 && sides[at].size > 0) {
            (void)emp_hlo_next_item(&sides[at], &name);
        } else if (!emp_hlo_next_item(&list, &name)) {
            return longest;
        }
        int32_t c = emp_hlo_find(l->m, name);
        if (c < 0 || (longest >= 0 &&
                      l->m->computation[c].count <= l->m->computation[longest].count))
            continue;
        longest = c;
        *place = at;
    }
}

emp_status emp_hlo_lower_conditional(emp_hlo_lowering *l, const emp_hlo_frame *f,
                                     const emp_hlo_instruction *i, int32_t *value,
                                     emp_error *err)
{
    int32_t place = 0, branch = longest_branch(l, i, &place);
    bool    is_right = branch >= 0 && branch != l->m->entry &&
                    fits(l, i, 1 + place, 1, branch) &&
                    tensors_of_root(l, branch) == i->tensor_count;

    if (!is_right) {
        emp_import_notes_problem(l->notes,
                                 "line %d: the branches of %.*s are no computations of "
                                 "its operands",
                                 emp_hlo_line(l->m, i->name.data),
                                 EMP_SLICE_ARG(i->name));
        return emp_hlo_make_value(l, i, 0, 0, -1, value, err);
    }
    emp_import_notes_assume(l->notes, "%.*s takes the longest of its branches, %.*s",
                            EMP_SLICE_ARG(i->name),
                            EMP_SLICE_ARG(l->m->computation[branch].name));
    int32_t             argument = emp_hlo_operand_value(l, f, i, 1 + place);
    const emp_hlo_scope scope = {.outer = f->scope, .call = i, .first = 1 + place};
    return call(l, f, i, branch, &argument, &scope, -1, value, err);
}

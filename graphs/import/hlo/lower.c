// SPDX-License-Identifier: GPL-3.0-or-later
#include "graphs/import/hlo/lower.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/mem.h"
#include "graphs/import/hlo/module.h"

/* A value is as many ports, one after another, as its instruction has tensors. */
typedef struct {
    emp_graph_builder    *builder;
    const emp_hlo_module *m;
    emp_hlo_kernels      *kernels;
    emp_hlo_states       *states;
    emp_import_notes     *notes;
    emp_op_id            *constant_of; /* [instruction] a constant's op + 1 */
    emp_port             *port;        /* tensors of values; op -1: it is no op's */
    int32_t               port_count, port_capacity;
    int64_t               budget_bytes;
    int64_t               scalar_steps; /* that may still be spent on scalars */
    emp_tensor_info      *made;         /* results of the op that is declared */
    int32_t               made_capacity;
} lowering;

/* A computation that is being run. */
typedef struct {
    const emp_hlo_computation *c;
    const char                *path;     /* "while.12.3", or "" */
    int32_t                    depth;    /* of calls around it */
    const int32_t             *argument; /* [parameter] its value; NULL: they are ops */
    const emp_hlo_scope       *scope;    /* NULL: of the entry */
    int32_t                   *value;    /* [instruction - c->first] first port */
} frame;

/* ---- names of ops ---- */

enum { OP_NAME_BYTES = 1024, SCOPE_BYTES = 400, PATH_BYTES = 400, OWN_BYTES = 120 };

/* The text before the last "/" of metadata={op_name="a/b/add[x=1];c/d"}, of which the first name counts. */
static emp_slice scope_of(const emp_hlo_module *m, const emp_hlo_instruction *i)
{
    emp_slice text = emp_hlo_text_of(m, i, "metadata"), before;
    size_t    size = 0, last = 0;

    if (!emp_slice_cut(&before, &text, "op_name=\"")) return (emp_slice){"", 0};
    for (; size < text.size; size++) {
        const char c = text.data[size];
        if (c == '"' || c == ';' || c == '[' || c == '\0') break;
        if (c == '/') last = size;
    }
    return (emp_slice){text.data, last};
}

/* Adds a text, of which at most so many bytes, and a slash behind it unless it is empty or the last. */
static size_t add_text(char *name, size_t length, emp_slice text, size_t most,
                       bool is_last)
{
    const size_t size = text.size < most ? text.size : most;

    if (size > 0) memcpy(name + length, text.data, size);
    length += size;
    if (size > 0 && !is_last) name[length++] = '/';
    return length;
}

/* Writes a name that the builder does not have yet. Characters outside ASCII become "?". */
static emp_node_name hlo_op_name(char name[OP_NAME_BYTES], const emp_hlo_module *m,
                                 const emp_hlo_instruction *i, const char *path,
                                 const emp_graph_builder *builder)
{
    const emp_slice outer = {path, strlen(path)};
    size_t          length = add_text(name, 0, scope_of(m, i), SCOPE_BYTES, false);

    length = add_text(name, length, outer, PATH_BYTES, false);
    length = add_text(name, length, emp_hlo_name(m, i), OWN_BYTES, true);
    for (size_t c = 0; c < length; c++)
        if ((unsigned char)name[c] < ' ' || (unsigned char)name[c] >= '\x7f')
            name[c] = '?';
    emp_node_name expected = emp_graph_builder_expect(builder, name, length);
    if (emp_graph_builder_find_expected(builder, &expected) < 0) return expected;
    length += (size_t)snprintf(name + length, OP_NAME_BYTES - length, "#%d",
                               emp_graph_builder_op_count(builder));
    return emp_graph_builder_expect(builder, name, length);
}

static void make_path(char path[OP_NAME_BYTES], const char *outer,
                      const emp_hlo_module *m, const emp_hlo_instruction *call,
                      int64_t iteration)
{
    char            number[24] = "";
    const emp_slice name = emp_hlo_name(m, call);

    if (iteration >= 0) snprintf(number, sizeof number, ".%" PRId64, iteration);
    snprintf(path, PATH_BYTES, "%s%s%.*s%s", outer, outer[0] != '\0' ? "/" : "",
             (int)(name.size < OWN_BYTES ? name.size : OWN_BYTES), name.data, number);
}

/* ---- lowering ---- */

/* The amount taken from the budget, about the memory of a graph that is being built. */
enum { OP_BYTES = 1000, OUTPUT_BYTES = 150, INPUT_BYTES = 40, VISIT_BYTES = 64 };

/* Instructions that are looked at for the lengths of loops; a file made to take long ends there. */
enum { SCALAR_STEPS = 1 << 24 };

static emp_status charge(lowering *l, const emp_hlo_instruction *i, int64_t bytes,
                         emp_error *err)
{
    l->budget_bytes -= bytes;
    if (l->budget_bytes >= 0) return EMP_OK;
    return EMP_ERROR(EMP_EUNSUPPORTED,
                     "line %d: its loops and calls run more ops than are read, at %.*s",
                     emp_hlo_line(l->m, l->m->begin + i->name_at),
                     EMP_SLICE_ARG(emp_hlo_name(l->m, i)));
}

/* ---- values ---- */

static emp_status add_port(lowering *l, emp_port port, emp_error *err)
{
    EMP_CHECK(
        emp_hlo_grow(&l->port, l->port_count, &l->port_capacity, sizeof *l->port, err));
    l->port[l->port_count++] = port;
    return EMP_OK;
}

static int32_t value_of(const lowering *l, const frame *f, const emp_hlo_instruction *i)
{
    return f->value[(int32_t)(i - l->m->instruction) - f->c->first];
}

static int32_t operand_value(const lowering *l, const frame *f,
                             const emp_hlo_instruction *i, int32_t which)
{
    return value_of(l, f, emp_hlo_operand(l->m, i, which));
}

/* A value all of whose tensors are no op's, except tensors from `begin` on, which are those of a value. */
static emp_status make_value(lowering *l, const emp_hlo_instruction *i, int32_t begin,
                             int32_t count, int32_t from, int32_t *value, emp_error *err)
{
    *value = l->port_count;
    for (int32_t t = 0; t < i->tensor_count; t++) {
        bool is_made = from >= 0 && t >= begin && t < begin + count;
        EMP_CHECK(
            add_port(l, is_made ? l->port[from + t - begin] : (emp_port){-1, 0}, err));
    }
    return EMP_OK;
}

static emp_status make_tuple(lowering *l, const frame *f, const emp_hlo_instruction *i,
                             int32_t *value, emp_error *err)
{
    *value = l->port_count;
    for (int32_t o = 0; o < i->operand_count; o++) {
        int32_t first = operand_value(l, f, i, o);
        for (int32_t t = 0; t < emp_hlo_operand(l->m, i, o)->tensor_count; t++)
            EMP_CHECK(add_port(l, l->port[first + t], err));
    }
    return EMP_OK;
}

static void note_misfit(lowering *l, const emp_hlo_instruction *i, int32_t has,
                        int32_t wants)
{
    emp_import_notes_problem(l->notes,
                             "line %d: %.*s is given %d tensors where it has %d",
                             emp_hlo_line(l->m, l->m->begin + i->name_at),
                             EMP_SLICE_ARG(emp_hlo_name(l->m, i)), has, wants);
}

/* A start passes on its operand, or the part of it that is the result. */
static emp_status end_of_start(lowering *l, const frame *f, const emp_hlo_instruction *i,
                               int32_t *value, emp_error *err)
{
    const emp_hlo_instruction *start = emp_hlo_operand(l->m, i, 0);
    int32_t                    part = emp_hlo_op(l->m, i)->result_part, begin = 0;
    int32_t                    count = start->tensor_count;

    if (count != i->tensor_count && part >= 0) {
        begin = emp_hlo_part_begin(l->m, start, part);
        count = emp_hlo_part_end(l->m, start, part) - begin;
    }
    if (count != i->tensor_count) {
        note_misfit(l, i, count, i->tensor_count);
        return make_value(l, i, 0, 0, -1, value, err);
    }
    *value = value_of(l, f, start) + begin;
    return EMP_OK;
}

/* ---- ops ---- */

/* Reads all tensors of one operand. */
static emp_status connect_operand(lowering *l, const frame *f, emp_op_id op,
                                  const emp_hlo_instruction *i, int32_t which,
                                  emp_error *err)
{
    int32_t first = operand_value(l, f, i, which);

    for (int32_t t = 0; t < emp_hlo_operand(l->m, i, which)->tensor_count; t++)
        if (l->port[first + t].op >= 0)
            EMP_CHECK(emp_graph_builder_connect(l->builder, l->port[first + t], op, err));
    return EMP_OK;
}

/* Operands, of which the one that is written in place comes first, and what is only waited for. */
static emp_status connect(lowering *l, const frame *f, emp_op_id op,
                          const emp_hlo_instruction *i, int32_t updated, emp_error *err)
{
    if (updated >= 0) EMP_CHECK(connect_operand(l, f, op, i, updated, err));
    for (int32_t o = 0; o < i->operand_count; o++)
        if (o != updated) EMP_CHECK(connect_operand(l, f, op, i, o, err));
    for (int32_t o = i->operand_count; o < i->operand_count + i->control_count; o++) {
        const emp_hlo_instruction *before = emp_hlo_operand(l->m, i, o);
        if (before->tensor_count == 0) continue;
        emp_op_id from = l->port[value_of(l, f, before)].op;
        if (from >= 0)
            EMP_CHECK(emp_graph_builder_add_control(l->builder, from, op, err));
    }
    return EMP_OK;
}

static bool is_entry(const frame *f) { return f->argument == NULL; }

/* Arguments of the program are its caller's: they are in memory to the end of a step, and also where no op reads them. */
static void hold(emp_tensor_info *argument, int32_t count)
{
    for (int32_t t = 0; t < count; t++) argument[t].is_ref = true;
}

static emp_status declare(lowering *l, const frame *f, const emp_hlo_instruction *i,
                          const emp_op_attrs *attrs, emp_hlo_made made, emp_op_id *op,
                          emp_error *err)
{
    char        name[OP_NAME_BYTES];
    const char *type = emp_hlo_op(l->m, i)->type;
    const bool  is_argument =
        is_entry(f) && emp_hlo_op(l->m, i)->what == EMP_HLO_PARAMETER;

    if (is_argument && emp_hlo_is_state(l->states, i)) type = "hlo.state";

    const emp_node_name expected = hlo_op_name(name, l->m, i, f->path, l->builder);
    EMP_CHECK(charge(l, i,
                     OP_BYTES + 2 * (int64_t)expected.length +
                         OUTPUT_BYTES * (int64_t)i->tensor_count +
                         INPUT_BYTES * (int64_t)(i->operand_count + i->control_count),
                     err));
    EMP_CHECK(emp_graph_builder_declare_expected(l->builder, &expected, type,
                                                 strlen(type), attrs, NULL, 0, op, err));
    EMP_CHECK(EMP_GROW(l->made, i->tensor_count, l->made_capacity));
    for (int32_t t = made.begin; t < made.end; t++)
        l->made[t - made.begin] = *l->m->tensor[i->first_tensor + t];
    if (is_argument) hold(l->made, made.end - made.begin);
    return emp_graph_builder_state_outputs(l->builder, *op, l->made,
                                           made.end - made.begin, err);
}

/* An op, and its value. */
static emp_status add_op(lowering *l, const frame *f, const emp_hlo_instruction *i,
                         const emp_op_attrs *attrs, emp_op_id *op, int32_t *value,
                         emp_error *err)
{
    emp_hlo_made made = emp_hlo_made_by(l->m, i);

    EMP_CHECK(declare(l, f, i, attrs, made, op, err));
    if (is_entry(f)) emp_hlo_states_note(l->states, i, *op);
    EMP_CHECK(make_value(l, i, 0, 0, -1, value, err));
    for (int32_t t = made.begin; t < made.end; t++)
        l->port[*value + t] = (emp_port){*op, t - made.begin};
    return EMP_OK;
}

static void note_kernel(lowering *l, const emp_hlo_instruction *i)
{
    const emp_hlo_opcode *op = emp_hlo_op(l->m, i);

    if (op->entry == NULL)
        emp_import_notes_assume(
            l->notes, "the opcode \"%s\" is not known and counts as element-wise",
            op->type + sizeof "hlo." - 1);
}

/* The facts about a collective that a machine needs. Others are passes over memory. */
static emp_status tell_collective(lowering *l, const emp_hlo_instruction *i, emp_op_id op,
                                  emp_error *err)
{
    const emp_hlo_opcode *opcode = emp_hlo_op(l->m, i);
    const char           *name = opcode->type + sizeof "hlo." - 1;
    emp_collective_part   part;

    if (emp_hlo_collective_of(&part, l->m, i)) {
        emp_import_notes_assume(l->notes,
                                "the other ranks of %s and its like begin when this "
                                "device does",
                                name);
        return emp_graph_builder_set_collective(l->builder, op, &part, err);
    }
    if (opcode->what == EMP_HLO_COLLECTIVE)
        emp_import_notes_assume(
            l->notes,
            "%s and its like are copies within a device: their time on "
            "the wires is not in the graph",
            name);
    return EMP_OK;
}

static emp_status add_kernel(lowering *l, const frame *f, const emp_hlo_instruction *i,
                             int32_t *value, emp_error *err)
{
    const emp_op_cost *cost = NULL;
    emp_hlo_made       made = emp_hlo_made_by(l->m, i);
    emp_op_id          op = -1;
    int32_t            updated = emp_hlo_updated_operand(l->kernels, i);

    if (updated >= i->operand_count) updated = -1;
    bool is_in_place =
        updated >= 0 && emp_hlo_operand(l->m, i, updated)->tensor_count == 1 &&
        made.end - made.begin == 1 && l->port[operand_value(l, f, i, updated)].op >= 0;
    EMP_CHECK(emp_hlo_kernel_cost(l->kernels, i, &cost, err));
    emp_op_attrs attrs = {
        .cost = cost, .is_in_place = is_in_place, .is_compiled = l->m->is_scheduled};
    if (is_entry(f)) attrs.colocation = emp_hlo_states_colocation(l->states, i);
    EMP_CHECK(add_op(l, f, i, &attrs, &op, value, err));
    EMP_CHECK(connect(l, f, op, i, is_in_place ? updated : -1, err));
    note_kernel(l, i);
    EMP_CHECK(tell_collective(l, i, op, err));
    bool has_effect =
        emp_slice_is(emp_hlo_attr_of(l->m, i, "custom_call_has_side_effect"), "true") ||
        emp_hlo_bytes(l->m, i) == 0;
    if (has_effect) emp_graph_builder_set_target(l->builder, op);
    return EMP_OK;
}

/* One op for a constant, however often what it is in runs. */
static emp_status add_constant(lowering *l, const frame *f, const emp_hlo_instruction *i,
                               int32_t *value, emp_error *err)
{
    emp_op_id         *known = &l->constant_of[i - l->m->instruction];
    const emp_op_attrs none = {0};
    emp_op_id          op = -1;

    if (*known == 0) {
        EMP_CHECK(add_op(l, f, i, &none, &op, value, err));
        *known = op + 1;
        return EMP_OK;
    }
    *value = l->port_count;
    for (int32_t t = 0; t < i->tensor_count; t++)
        EMP_CHECK(add_port(l, (emp_port){*known - 1, t}, err));
    return EMP_OK;
}

static emp_status add_parameter(lowering *l, const frame *f, const emp_hlo_instruction *i,
                                int32_t *value, emp_error *err)
{
    emp_op_attrs attrs = {0};
    emp_op_id    op = -1;

    if (is_entry(f)) {
        attrs.colocation = emp_hlo_states_colocation(l->states, i);
        EMP_CHECK(add_op(l, f, i, &attrs, &op, value, err));
        emp_graph_builder_set_target(l->builder, op);
        return EMP_OK;
    }
    *value = f->argument[i->number];
    return EMP_OK;
}

/* ---- calls ---- */

enum { DEPTH_MAX = 32 };

static emp_status run(lowering *l, const frame *f, int32_t *result, emp_error *err);

/* Runs a computation in place of an instruction, with so many of its operands from `first` on. */
static emp_status call(lowering *l, const frame *f, const emp_hlo_instruction *i,
                       int32_t computation, const int32_t *argument,
                       const emp_hlo_scope *scope, int64_t iteration, int32_t *result,
                       emp_error *err)
{
    char  path[OP_NAME_BYTES];
    frame inner = {.c = &l->m->computation[computation],
                   .path = path,
                   .depth = f->depth + 1,
                   .argument = argument,
                   .scope = scope};

    if (inner.depth > DEPTH_MAX)
        return EMP_ERROR(EMP_EUNSUPPORTED, "line %d: more than %d calls in each other",
                         emp_hlo_line(l->m, l->m->begin + i->name_at), DEPTH_MAX);
    make_path(path, f->path, l->m, i, iteration);
    return run(l, &inner, result, err);
}

/* Whether operands from `first` on are as many, with as many tensors, as a computation's parameters. */
static bool fits(lowering *l, const emp_hlo_instruction *i, int32_t first, int32_t count,
                 int32_t computation)
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

static int32_t tensors_of_root(const lowering *l, int32_t computation)
{
    return l->m->instruction[l->m->computation[computation].root].tensor_count;
}

/* A call; one that has only been started makes a tuple with its result in it. */
static emp_status lower_call(lowering *l, const frame *f, const emp_hlo_instruction *i,
                             int32_t *value, emp_error *err)
{
    emp_status          st = EMP_OK;
    int32_t            *argument = NULL, result = 0;
    emp_hlo_made        made = emp_hlo_made_by(l->m, i);
    const emp_hlo_scope scope = {.outer = f->scope, .call = i};
    bool                is_right = fits(l, i, 0, i->operand_count, i->called);

    if (is_right && tensors_of_root(l, i->called) != made.end - made.begin) {
        note_misfit(l, i, tensors_of_root(l, i->called), made.end - made.begin);
        is_right = false;
    }
    if (!is_right) return make_value(l, i, 0, 0, -1, value, err);
    EMP_TRY(EMP_ALLOC(argument, (size_t)i->operand_count));
    for (int32_t o = 0; o < i->operand_count; o++)
        argument[o] = operand_value(l, f, i, o);
    EMP_TRY(call(l, f, i, i->called, argument, &scope, -1, &result, err));
    EMP_TRY(make_value(l, i, made.begin, made.end - made.begin, result, value, err));

cleanup:
    emp_free(argument);
    return st;
}

/* ---- loops ---- */

static bool fits_loop(lowering *l, const emp_hlo_instruction *i)
{
    if (!fits(l, i, 0, 1, i->called)) return false;
    if (tensors_of_root(l, i->called) == i->tensor_count &&
        emp_hlo_operand(l->m, i, 0)->tensor_count == i->tensor_count)
        return true;
    note_misfit(l, i, tensors_of_root(l, i->called), i->tensor_count);
    return false;
}

static emp_status run_loop(lowering *l, const frame *f, const emp_hlo_instruction *i,
                           int64_t count, int32_t *value, emp_error *err)
{
    emp_status   st = EMP_OK;
    emp_hlo_loop s = {0};

    EMP_TRY(emp_hlo_loop_begin(&s, l->m, f->scope, i, &l->scalar_steps, err));
    for (int64_t n = 0; n < count; n++) {
        int32_t before = *value;
        EMP_TRY(call(l, f, i, i->called, &before, &s.scope, n, value, err));
        emp_hlo_loop_advance(&s);
    }

cleanup:
    emp_hlo_loop_clear(&s);
    return st;
}

static emp_status lower_loop(lowering *l, const frame *f, const emp_hlo_instruction *i,
                             int32_t *value, emp_error *err)
{
    int64_t count = -1;
    bool    is_right = fits_loop(l, i), is_bound = false;

    *value = operand_value(l, f, i, 0);
    if (is_right)
        EMP_CHECK(emp_hlo_loop_count(l->m, f->scope, i, &l->scalar_steps, &count,
                                     &is_bound, err));
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
            EMP_SLICE_ARG(emp_hlo_name(l->m, i)), EMP_HLO_ITERATIONS_MAX);
    return make_value(l, i, 0, 0, -1, value, err);
}

/* ---- branches ---- */

static emp_status lower_conditional(lowering *l, const frame *f,
                                    const emp_hlo_instruction *i, int32_t *value,
                                    emp_error *err)
{
    int32_t place = 0, branch = emp_hlo_heaviest_branch(l->kernels, i, &place);
    bool    is_right = branch >= 0 && fits(l, i, 1 + place, 1, branch) &&
                    tensors_of_root(l, branch) == i->tensor_count;

    if (!is_right) {
        emp_import_notes_problem(l->notes,
                                 "line %d: the branches of %.*s are no computations of "
                                 "its operands",
                                 emp_hlo_line(l->m, l->m->begin + i->name_at),
                                 EMP_SLICE_ARG(emp_hlo_name(l->m, i)));
        return make_value(l, i, 0, 0, -1, value, err);
    }
    emp_import_notes_assume(l->notes, "%.*s takes the branch with the most work, %.*s",
                            EMP_SLICE_ARG(emp_hlo_name(l->m, i)),
                            EMP_SLICE_ARG(l->m->computation[branch].name));
    int32_t             argument = operand_value(l, f, i, 1 + place);
    const emp_hlo_scope scope = {.outer = f->scope, .call = i, .first = 1 + place};
    return call(l, f, i, branch, &argument, &scope, -1, value, err);
}

/* ---- instructions ---- */

static emp_status add_instruction(lowering *l, const frame *f,
                                  const emp_hlo_instruction *i, int32_t *value,
                                  emp_error *err)
{
    switch (emp_hlo_op(l->m, i)->what) {
    case EMP_HLO_PARAMETER: return add_parameter(l, f, i, value, err);
    case EMP_HLO_CONSTANT: return add_constant(l, f, i, value, err);
    case EMP_HLO_VIEW: *value = operand_value(l, f, i, 0); return EMP_OK;
    case EMP_HLO_TUPLE: return make_tuple(l, f, i, value, err);
    case EMP_HLO_PART:
        *value = operand_value(l, f, i, 0) +
                 emp_hlo_part_begin(l->m, emp_hlo_operand(l->m, i, 0), i->number);
        return EMP_OK;
    case EMP_HLO_NOTHING: return make_value(l, i, 0, 0, -1, value, err);
    case EMP_HLO_CALL: return lower_call(l, f, i, value, err);
    case EMP_HLO_WHILE: return lower_loop(l, f, i, value, err);
    case EMP_HLO_CONDITIONAL: return lower_conditional(l, f, i, value, err);
    case EMP_HLO_DONE: return end_of_start(l, f, i, value, err);
    case EMP_HLO_REFUSED:
        emp_import_notes_problem(l->notes, "line %d: %.*s is \"%s\", which is not read",
                                 emp_hlo_line(l->m, l->m->begin + i->name_at),
                                 EMP_SLICE_ARG(emp_hlo_name(l->m, i)),
                                 emp_hlo_op(l->m, i)->type + sizeof "hlo." - 1);
        return make_value(l, i, 0, 0, -1, value, err);
    default: return add_kernel(l, f, i, value, err);
    }
}

static emp_status run(lowering *l, const frame *f, int32_t *result, emp_error *err)
{
    emp_status st = EMP_OK;
    frame      own = *f;

    EMP_TRY(EMP_ALLOC(own.value, (size_t)own.c->count));
    for (int32_t n = 0; n < own.c->count; n++) {
        const emp_hlo_instruction *i = &l->m->instruction[own.c->first + n];
        EMP_TRY(charge(l, i, VISIT_BYTES + 8 * (int64_t)i->tensor_count, err));
        EMP_TRY(add_instruction(l, &own, i, &own.value[n], err));
    }
    *result = own.value[own.c->root - own.c->first];

cleanup:
    emp_free(own.value);
    return st;
}

static void mark_targets(const lowering *l, const emp_hlo_instruction *root,
                         int32_t value)
{
    for (int32_t t = 0; t < root->tensor_count; t++)
        if (l->port[value + t].op >= 0)
            emp_graph_builder_set_target(l->builder, l->port[value + t].op);
}

emp_status emp_hlo_lower(emp_graph_builder *builder, emp_hlo_kernels *kernels,
                         emp_hlo_states *states, int64_t budget_bytes, emp_error *err)
{
    emp_status            st = EMP_OK;
    const emp_hlo_module *m = kernels->m;
    int32_t               value = 0;
    lowering              l = {.builder = builder,
                               .m = m,
                               .kernels = kernels,
                               .states = states,
                               .notes = kernels->notes,
                               .budget_bytes = budget_bytes,
                               .scalar_steps = SCALAR_STEPS};
    const frame           entry = {.c = &m->computation[m->entry], .path = ""};

    /* XLA issues the instructions of a computation as it has scheduled them, one after another, and so are those of an
     * iteration issued before the next one's. */
    emp_graph_builder_set_program_order(builder);
    EMP_TRY(EMP_ALLOC(l.constant_of, (size_t)m->instruction_count));
    EMP_TRY(run(&l, &entry, &value, err));
    mark_targets(&l, &m->instruction[entry.c->root], value);
    EMP_TRY(emp_hlo_states_order(states, builder, err));

cleanup:
    if (st == EMP_EINVAL) st = EMP_EFORMAT;
    emp_free(l.port);
    emp_free(l.made);
    emp_free(l.constant_of);
    return st;
}

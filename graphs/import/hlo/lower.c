// SPDX-License-Identifier: GPL-3.0-or-later
#include "graphs/import/hlo/lower.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/mem.h"
#include "graphs/import/hlo/module.h"

/* ---- states of the entry ---- */

bool emp_hlo_is_state(const emp_hlo_states *s, const emp_hlo_instruction *parameter)
{
    return parameter->tensor_count == 1 && s->m->tensor[parameter->first_tensor]->is_ref;
}

int32_t emp_hlo_states_colocation(const emp_hlo_states *s, const emp_hlo_instruction *i)
{
    if (emp_hlo_op(s->m, i)->what == EMP_HLO_PARAMETER)
        return emp_hlo_is_state(s, i) ? 1 + emp_disjoint_root(s->together, i->number) : 0;
    for (int32_t t = i->first_tensor; t < i->first_tensor + i->tensor_count; t++)
        if (s->of_tensor[t] >= 0)
            return 1 + emp_disjoint_root(s->together, s->of_tensor[t]);
    return 0;
}

void emp_hlo_states_note(emp_hlo_states *s, const emp_hlo_instruction *i, emp_op_id op)
{
    if (emp_hlo_op(s->m, i)->what == EMP_HLO_PARAMETER) {
        if (emp_hlo_is_state(s, i)) s->op[i->number] = op;
        return;
    }
    for (int32_t t = i->first_tensor; t < i->first_tensor + i->tensor_count; t++)
        if (s->of_tensor[t] >= 0) s->update[s->of_tensor[t]] = op;
}

/* [op] what writes the state that the op is; -1: it is none, or nothing writes it. */
static void find_writers(const emp_hlo_states *s, emp_op_id *writer_of, int32_t op_count)
{
    for (emp_op_id op = 0; op < op_count; op++) writer_of[op] = -1;
    for (int32_t p = 0; p < s->parameter_count; p++)
        if (s->op[p] >= 0) writer_of[s->op[p]] = s->update[p];
}

emp_status emp_hlo_states_order(const emp_hlo_states *s, emp_graph_builder *builder,
                                emp_error *err)
{
    emp_status st = EMP_OK;
    emp_op_id *writer_of = NULL;
    int32_t    op_count = emp_graph_builder_op_count(builder);

    if (s->count == 0) return EMP_OK;
    EMP_TRY(EMP_ALLOC(writer_of, (size_t)op_count));
    find_writers(s, writer_of, op_count);
    for (emp_op_id op = 0; op < op_count; op++) {
        emp_op_id last = -1;
        for (int32_t n = 0; n < emp_graph_builder_input_count(builder, op); n++) {
            emp_op_id writer = writer_of[emp_graph_builder_input(builder, op, n).op];
            if (writer <= op || writer == last) continue;
            EMP_TRY(emp_graph_builder_add_control(builder, op, writer, err));
            last = writer;
        }
    }

cleanup:
    emp_free(writer_of);
    return st;
}

/* ---- ops ---- */

/* ---- names of ops ---- */

enum { SCOPE_BYTES = 400, PATH_BYTES = 400, OWN_BYTES = 120 };

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
static emp_node_name hlo_op_name(char                  name[EMP_HLO_OP_NAME_BYTES],
                                 const emp_hlo_module *m, const emp_hlo_instruction *i,
                                 const char *path, const emp_graph_builder *builder)
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
    length += (size_t)snprintf(name + length, EMP_HLO_OP_NAME_BYTES - length, "#%d",
                               emp_graph_builder_op_count(builder));
    return emp_graph_builder_expect(builder, name, length);
}

void emp_hlo_path(char path[EMP_HLO_OP_NAME_BYTES], const char *outer,
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

static emp_status charge(emp_hlo_lowering *l, const emp_hlo_instruction *i, int64_t bytes,
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

static emp_status add_port(emp_hlo_lowering *l, emp_port port, emp_error *err)
{
    EMP_CHECK(
        emp_hlo_grow(&l->port, l->port_count, &l->port_capacity, sizeof *l->port, err));
    l->port[l->port_count++] = port;
    return EMP_OK;
}

static int32_t value_of(const emp_hlo_lowering *l, const emp_hlo_frame *f,
                        const emp_hlo_instruction *i)
{
    return f->value[(int32_t)(i - l->m->instruction) - f->c->first];
}

int32_t emp_hlo_operand_value(const emp_hlo_lowering *l, const emp_hlo_frame *f,
                              const emp_hlo_instruction *i, int32_t which)
{
    return value_of(l, f, emp_hlo_operand(l->m, i, which));
}

/* A value all of whose tensors are no op's, except tensors from `begin` on, which are those of a value. */
emp_status emp_hlo_make_value(emp_hlo_lowering *l, const emp_hlo_instruction *i,
                              int32_t begin, int32_t count, int32_t from, int32_t *value,
                              emp_error *err)
{
    *value = l->port_count;
    for (int32_t t = 0; t < i->tensor_count; t++) {
        bool is_made = from >= 0 && t >= begin && t < begin + count;
        EMP_CHECK(
            add_port(l, is_made ? l->port[from + t - begin] : (emp_port){-1, 0}, err));
    }
    return EMP_OK;
}

static emp_status make_tuple(emp_hlo_lowering *l, const emp_hlo_frame *f,
                             const emp_hlo_instruction *i, int32_t *value, emp_error *err)
{
    *value = l->port_count;
    for (int32_t o = 0; o < i->operand_count; o++) {
        int32_t first = emp_hlo_operand_value(l, f, i, o);
        for (int32_t t = 0; t < emp_hlo_operand(l->m, i, o)->tensor_count; t++)
            EMP_CHECK(add_port(l, l->port[first + t], err));
    }
    return EMP_OK;
}

void emp_hlo_note_misfit(emp_hlo_lowering *l, const emp_hlo_instruction *i, int32_t has,
                         int32_t wants)
{
    emp_import_notes_problem(l->notes,
                             "line %d: %.*s is given %d tensors where it has %d",
                             emp_hlo_line(l->m, l->m->begin + i->name_at),
                             EMP_SLICE_ARG(emp_hlo_name(l->m, i)), has, wants);
}

/* A start passes on its operand, or the part of it that is the result. */
static emp_status end_of_start(emp_hlo_lowering *l, const emp_hlo_frame *f,
                               const emp_hlo_instruction *i, int32_t *value,
                               emp_error *err)
{
    const emp_hlo_instruction *start = emp_hlo_operand(l->m, i, 0);
    int32_t                    part = emp_hlo_op(l->m, i)->result_part, begin = 0;
    int32_t                    count = start->tensor_count;

    if (count != i->tensor_count && part >= 0) {
        begin = emp_hlo_part_begin(l->m, start, part);
        count = emp_hlo_part_end(l->m, start, part) - begin;
    }
    if (count != i->tensor_count) {
        emp_hlo_note_misfit(l, i, count, i->tensor_count);
        return emp_hlo_make_value(l, i, 0, 0, -1, value, err);
    }
    *value = value_of(l, f, start) + begin;
    return EMP_OK;
}

/* ---- ops ---- */

/* Reads all tensors of one operand. */
static emp_status connect_operand(emp_hlo_lowering *l, const emp_hlo_frame *f,
                                  emp_op_id op, const emp_hlo_instruction *i,
                                  int32_t which, emp_error *err)
{
    int32_t first = emp_hlo_operand_value(l, f, i, which);

    for (int32_t t = 0; t < emp_hlo_operand(l->m, i, which)->tensor_count; t++)
        if (l->port[first + t].op >= 0)
            EMP_CHECK(emp_graph_builder_connect(l->builder, l->port[first + t], op, err));
    return EMP_OK;
}

/* Operands, of which the one that is written in place comes first, and what is only waited for. */
static emp_status connect(emp_hlo_lowering *l, const emp_hlo_frame *f, emp_op_id op,
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

static bool is_entry(const emp_hlo_frame *f) { return f->argument == NULL; }

static emp_status declare(emp_hlo_lowering *l, const emp_hlo_frame *f,
                          const emp_hlo_instruction *i, const emp_op_attrs *attrs,
                          emp_hlo_made made, emp_op_id *op, emp_error *err)
{
    char        name[EMP_HLO_OP_NAME_BYTES];
    const char *type = emp_hlo_op(l->m, i)->type;

    if (is_entry(f) && emp_hlo_op(l->m, i)->what == EMP_HLO_PARAMETER &&
        emp_hlo_is_state(l->states, i))
        type = "hlo.state";

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
    return emp_graph_builder_state_outputs(l->builder, *op, l->made,
                                           made.end - made.begin, err);
}

/* An op, and its value. */
static emp_status add_op(emp_hlo_lowering *l, const emp_hlo_frame *f,
                         const emp_hlo_instruction *i, const emp_op_attrs *attrs,
                         emp_op_id *op, int32_t *value, emp_error *err)
{
    emp_hlo_made made = emp_hlo_made_by(l->m, i);

    EMP_CHECK(declare(l, f, i, attrs, made, op, err));
    if (is_entry(f)) emp_hlo_states_note(l->states, i, *op);
    EMP_CHECK(emp_hlo_make_value(l, i, 0, 0, -1, value, err));
    for (int32_t t = made.begin; t < made.end; t++)
        l->port[*value + t] = (emp_port){*op, t - made.begin};
    return EMP_OK;
}

static void note_kernel(emp_hlo_lowering *l, const emp_hlo_instruction *i)
{
    const emp_hlo_opcode *op = emp_hlo_op(l->m, i);

    if (op->entry == NULL)
        emp_import_notes_assume(
            l->notes, "the opcode \"%s\" is not known and counts as element-wise",
            op->type + sizeof "hlo." - 1);
}

/* The facts about a collective that a machine needs. Others are passes over memory. */
static emp_status tell_collective(emp_hlo_lowering *l, const emp_hlo_instruction *i,
                                  emp_op_id op, emp_error *err)
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

static emp_status add_kernel(emp_hlo_lowering *l, const emp_hlo_frame *f,
                             const emp_hlo_instruction *i, int32_t *value, emp_error *err)
{
    const emp_op_cost *cost = NULL;
    emp_hlo_made       made = emp_hlo_made_by(l->m, i);
    emp_op_id          op = -1;
    int32_t            updated = emp_hlo_updated_operand(l->kernels, i);

    if (updated >= i->operand_count) updated = -1;
    bool is_in_place = updated >= 0 &&
                       emp_hlo_operand(l->m, i, updated)->tensor_count == 1 &&
                       made.end - made.begin == 1 &&
                       l->port[emp_hlo_operand_value(l, f, i, updated)].op >= 0;
    EMP_CHECK(emp_hlo_kernel_cost(l->kernels, i, &cost, err));
    emp_op_attrs attrs = {.cost = cost, .is_in_place = is_in_place};
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
static emp_status add_constant(emp_hlo_lowering *l, const emp_hlo_frame *f,
                               const emp_hlo_instruction *i, int32_t *value,
                               emp_error *err)
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

static emp_status add_parameter(emp_hlo_lowering *l, const emp_hlo_frame *f,
                                const emp_hlo_instruction *i, int32_t *value,
                                emp_error *err)
{
    emp_op_attrs attrs = {0};
    emp_op_id    op = -1;

    if (is_entry(f)) {
        attrs.colocation = emp_hlo_states_colocation(l->states, i);
        return add_op(l, f, i, &attrs, &op, value, err);
    }
    *value = f->argument[i->number];
    return EMP_OK;
}

/* ---- instructions ---- */

static emp_status add_instruction(emp_hlo_lowering *l, const emp_hlo_frame *f,
                                  const emp_hlo_instruction *i, int32_t *value,
                                  emp_error *err)
{
    switch (emp_hlo_op(l->m, i)->what) {
    case EMP_HLO_PARAMETER: return add_parameter(l, f, i, value, err);
    case EMP_HLO_CONSTANT: return add_constant(l, f, i, value, err);
    case EMP_HLO_VIEW: *value = emp_hlo_operand_value(l, f, i, 0); return EMP_OK;
    case EMP_HLO_TUPLE: return make_tuple(l, f, i, value, err);
    case EMP_HLO_PART:
        *value = emp_hlo_operand_value(l, f, i, 0) +
                 emp_hlo_part_begin(l->m, emp_hlo_operand(l->m, i, 0), i->number);
        return EMP_OK;
    case EMP_HLO_NOTHING: return emp_hlo_make_value(l, i, 0, 0, -1, value, err);
    case EMP_HLO_CALL: return emp_hlo_lower_call(l, f, i, value, err);
    case EMP_HLO_WHILE: return emp_hlo_lower_loop(l, f, i, value, err);
    case EMP_HLO_CONDITIONAL: return emp_hlo_lower_conditional(l, f, i, value, err);
    case EMP_HLO_DONE: return end_of_start(l, f, i, value, err);
    case EMP_HLO_REFUSED:
        emp_import_notes_problem(l->notes, "line %d: %.*s is \"%s\", which is not read",
                                 emp_hlo_line(l->m, l->m->begin + i->name_at),
                                 EMP_SLICE_ARG(emp_hlo_name(l->m, i)),
                                 emp_hlo_op(l->m, i)->type + sizeof "hlo." - 1);
        return emp_hlo_make_value(l, i, 0, 0, -1, value, err);
    default: return add_kernel(l, f, i, value, err);
    }
}

emp_status emp_hlo_run(emp_hlo_lowering *l, const emp_hlo_frame *f, int32_t *result,
                       emp_error *err)
{
    emp_status    st = EMP_OK;
    emp_hlo_frame own = *f;

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

static void mark_targets(const emp_hlo_lowering *l, const emp_hlo_instruction *root,
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
    emp_hlo_lowering      l = {.builder = builder,
                               .m = m,
                               .kernels = kernels,
                               .states = states,
                               .notes = kernels->notes,
                               .budget_bytes = budget_bytes,
                               .scalar_steps = SCALAR_STEPS};
    const emp_hlo_frame   entry = {.c = &m->computation[m->entry], .path = ""};

    EMP_TRY(EMP_ALLOC(l.constant_of, (size_t)m->instruction_count));
    EMP_TRY(emp_hlo_run(&l, &entry, &value, err));
    mark_targets(&l, &m->instruction[entry.c->root], value);
    EMP_TRY(emp_hlo_states_order(states, builder, err));

cleanup:
    if (st == EMP_EINVAL) st = EMP_EFORMAT;
    emp_free(l.port);
    emp_free(l.made);
    emp_free(l.constant_of);
    return st;
}

// SPDX-License-Identifier: GPL-3.0-or-later
// Parameters of the entry that are given back in place, and what writes them.
#include <string.h>

#include "base/collections.h"
#include "base/mem.h"
#include "graphs/import/hlo/lower.h"
#include "graphs/import/hlo/module.h"

static const emp_hlo_computation *entry_of(const emp_hlo_module *m)
{
    return &m->computation[m->entry];
}

static const emp_hlo_instruction *parameter_of(const emp_hlo_module *m, int64_t number)
{
    const emp_hlo_computation *c = entry_of(m);

    if (number < 0 || number >= c->parameter_count) return NULL;
    return &m->instruction[m->parameter[c->first_parameter + number]];
}

/* ---- which results are written where ---- */

/* The instruction that makes a tensor of the entry's result, and which of its tensors that is. */
static const emp_hlo_instruction *maker_of(const emp_hlo_kernels *k, int64_t output,
                                           int32_t *tensor)
{
    const emp_hlo_module      *m = k->m;
    const emp_hlo_instruction *i = &m->instruction[k->origin[entry_of(m)->root]];

    *tensor = 0;
    if (emp_hlo_op(m, i)->what == EMP_HLO_TUPLE) {
        if (output < 0 || output >= i->operand_count) return NULL;
        i = &m->instruction[k->origin[m->operand[i->first_operand + output]]];
    }
    if (emp_hlo_op(m, i)->what == EMP_HLO_PART) {
        *tensor = emp_hlo_part_begin(m, emp_hlo_operand(m, i, 0), i->number);
        i = emp_hlo_operand(m, i, 0);
    }
    return i;
}

static bool is_kernel(const emp_hlo_module *m, const emp_hlo_instruction *i)
{
    switch (emp_hlo_op(m, i)->what) {
    case EMP_HLO_KERNEL:
    case EMP_HLO_FUSION:
    case EMP_HLO_CUSTOM:
    case EMP_HLO_UPDATE:
    case EMP_HLO_SCATTER: return !emp_hlo_op(m, i)->is_start;
    default: return false;
    }
}

static emp_status make_reference(emp_hlo_module *m, int32_t tensor, emp_error *err)
{
    emp_tensor_info info;

    memcpy(&info, m->tensor[tensor], sizeof info);
    info.is_ref = true;
    const emp_tensor_info *kept = emp_hlo_keep_tensor(m, &info);
    if (kept == NULL) return EMP_ERROR(EMP_ENOMEM, "a state of a module");
    m->tensor[tensor] = kept;
    return EMP_OK;
}

/* A parameter is a state once. */
static emp_status add_state(emp_hlo_states *s, const emp_hlo_kernels *k, int64_t output,
                            int64_t number, emp_error *err)
{
    const emp_hlo_instruction *parameter = parameter_of(s->m, number);
    int32_t                    tensor;

    if (parameter == NULL || parameter->tensor_count != 1) return EMP_OK;
    const emp_hlo_instruction *maker = maker_of(k, output, &tensor);
    if (s->m->tensor[parameter->first_tensor]->is_ref || maker == NULL) return EMP_OK;
    EMP_CHECK(make_reference(s->m, parameter->first_tensor, err));
    s->count++;
    if (!is_kernel(s->m, maker) || tensor >= emp_hlo_made_by(s->m, maker).end)
        return EMP_OK;
    const emp_tensor_info *made = s->m->tensor[maker->first_tensor + tensor];
    if (made->is_ref || emp_hlo_tensor_bytes(made) !=
                            emp_hlo_tensor_bytes(s->m->tensor[parameter->first_tensor]))
        return EMP_OK;
    EMP_CHECK(make_reference(s->m, maker->first_tensor + tensor, err));
    s->of_tensor[maker->first_tensor + tensor] = (int32_t)number;
    for (int32_t t = 0; t < maker->tensor_count; t++) {
        int32_t other = s->of_tensor[maker->first_tensor + t];
        if (other >= 0) emp_disjoint_join(s->together, (int32_t)number, other);
    }
    return EMP_OK;
}

/* {0}: (2, {}, may-alias), {1}: (0, {}): result 0 is parameter 2; tuples in them are not described. */
static emp_status read_aliases(emp_hlo_states *s, const emp_hlo_kernels *k,
                               emp_error *err)
{
    emp_slice    all = s->m->aliases, output, input, item, part;
    emp_hlo_text text = {s->m, all.data, all.data + all.size};

    while (emp_hlo_text_is(&text, '{') && emp_hlo_text_bracket(&text, &output) &&
           emp_hlo_text_take(&text, ':') && emp_hlo_text_is(&text, '(') &&
           emp_hlo_text_bracket(&text, &input)) {
        bool is_plain = emp_hlo_next_item(&input, &item) &&
                        emp_hlo_next_item(&input, &part) && emp_slice_is(part, "{}");
        if (is_plain)
            EMP_CHECK(add_state(s, k, emp_hlo_number(output, output.size == 0 ? 0 : -1),
                                emp_hlo_number(item, -1), err));
        (void)emp_hlo_text_take(&text, ',');
    }
    return EMP_OK;
}

emp_status emp_hlo_states_find(emp_hlo_states *s, emp_hlo_module *m,
                               const emp_hlo_kernels *kernels, emp_error *err)
{
    int32_t count = entry_of(m)->parameter_count;

    *s = (emp_hlo_states){.m = m, .parameter_count = count};
    s->of_tensor = EMP_ADD_ARRAY(&s->arrays, int32_t, (size_t)m->tensor_count);
    s->together = EMP_ADD_ARRAY(&s->arrays, int32_t, (size_t)count);
    s->op = EMP_ADD_ARRAY(&s->arrays, emp_op_id, (size_t)count);
    s->update = EMP_ADD_ARRAY(&s->arrays, emp_op_id, (size_t)count);
    if (s->arrays.is_short)
        return EMP_ERROR(EMP_ENOMEM, "states of %d parameters", count);
    for (int32_t t = 0; t < m->tensor_count; t++) s->of_tensor[t] = -1;
    for (int32_t p = 0; p < count; p++) s->op[p] = s->update[p] = -1;
    emp_disjoint_init(s->together, count);
    return read_aliases(s, kernels, err);
}

/* ---- ops of states ---- */

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

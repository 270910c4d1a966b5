// SPDX-License-Identifier: GPL-3.0-or-later
/* Modules of XLA as text: what jax.jit(f).lower(...).compile().as_text() prints, and the dumps of XLA. */

#include "base/collections.h"
#include "base/mem.h"
#include "base/text/units.h"
#include "graphs/import/hlo/lower.h"
#include "graphs/import/hlo/module.h"
#include "graphs/import/hlo/parse.h"
#include "graphs/import/notes/readers.h"

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

/* Makes a tensor of the module a reference. */
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

/* Marks states, and kernel results that are written in their place, as references in m. The caller clears s, also after
 * a failure. O(tensors + parameters). */
static emp_status hlo_states_find(emp_hlo_states *s, emp_hlo_module *m,
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

/* Memory that the ops of unrolled loops may take beside what the file has. */
static const int64_t BYTES_BESIDE = 56 * 1024 * 1024, BYTES_OF_BYTE = 100;

enum { SNIFFED_BYTES = 1 << 16 };

bool emp_hlo_is(emp_slice file)
{
    emp_hlo_text text = {NULL, file.data, file.data + file.size};

    return emp_hlo_text_word(&text, "HloModule");
}

/* MLIR; names of places in the source may come first. */
bool emp_stablehlo_is(emp_slice file)
{
    emp_hlo_text text = {NULL, file.data, file.data + file.size};
    bool         is_mlir = emp_hlo_text_word(&text, "module") ||
                   emp_hlo_text_word(&text, "builtin.module") ||
                   emp_hlo_text_is(&text, '#');

    if (file.size > SNIFFED_BYTES) file.size = SNIFFED_BYTES;
    return is_mlir && (emp_slice_has(file, "stablehlo.") ||
                       emp_slice_has(file, "mhlo.") || emp_slice_has(file, "func.func"));
}

static void describe(const emp_hlo_module *m, const emp_hlo_states *states,
                     emp_import_notes *notes)
{
    const emp_hlo_computation *entry = &m->computation[m->entry];
    int64_t                    devices = emp_hlo_number(m->partitions, 1);

    emp_import_notes_say(
        notes, "HLO of the module %.*s, %s, with %d instruction%s in %d computation%s",
        EMP_SLICE_ARG(m->name), m->is_scheduled ? "compiled" : "not compiled",
        m->read_count, emp_units_plural(m->read_count), m->computation_count,
        emp_units_plural(m->computation_count));
    if (!m->is_scheduled)
        emp_import_notes_assume(notes,
                                "each op is a kernel of its own, as XLA has not compiled "
                                "the module: it has no is_scheduled=true");
    if (states->count > 0)
        emp_import_notes_assume(
            notes,
            "of its %d parameters %d are given back in place and kept from "
            "step to step: all others are inputs",
            entry->parameter_count, states->count);
    else if (entry->parameter_count > 0)
        emp_import_notes_assume(
            notes,
            "the file does not say which of its %d parameters are weights: "
            "all are inputs",
            entry->parameter_count);
    if (devices > 1)
        emp_import_notes_assume(notes, "the graph is the program of one of %lld devices",
                                (long long)devices);
}

/* Costs computations as they are read, and keeps the text of kernels only. */
static emp_status read_computations(emp_hlo_reader *reader, emp_hlo_kernels *kernels,
                                    emp_error *err)
{
    bool is_there;

    for (;;) {
        EMP_CHECK(emp_hlo_reader_next(reader, &is_there, err));
        if (!is_there) return EMP_OK;
        EMP_CHECK(emp_hlo_kernels_add(kernels, err));
        emp_hlo_reader_forget(reader);
    }
}

emp_status emp_hlo_read(emp_graph_builder *builder, emp_reading *r, emp_error *err)
{
    emp_status      st = EMP_OK;
    emp_hlo_reader  reader = {0};
    emp_hlo_module  module = {0};
    emp_hlo_kernels kernels = {.m = &module, .notes = r->notes};
    emp_hlo_states  states = {0};

    EMP_TRY(emp_hlo_reader_begin(&reader, &module, r->bytes, r->notes, err));
    EMP_TRY(read_computations(&reader, &kernels, err));
    EMP_TRY(emp_import_notes_check(r->notes, err));
    EMP_TRY(emp_hlo_recall(&reader, err));
    emp_hlo_reader_clear(&reader);
    EMP_TRY(hlo_states_find(&states, &module, &kernels, err));
    describe(&module, &states, r->notes);
    EMP_TRY(emp_hlo_lower(builder, &kernels, &states,
                          BYTES_BESIDE + BYTES_OF_BYTE * (int64_t)r->bytes.size, err));
    EMP_TRY(emp_import_notes_check(r->notes, err));
    if (emp_graph_builder_op_count(builder) == 0)
        EMP_FAIL(EMP_EFORMAT, "the module computes nothing");

cleanup:
    emp_arrays_clear(&states.arrays);
    emp_hlo_kernels_clear(&kernels);
    emp_hlo_module_clear(&module);
    emp_hlo_reader_clear(&reader);
    return st;
}

// SPDX-License-Identifier: GPL-3.0-or-later
/* Modules of XLA as text: what jax.jit(f).lower(...).compile().as_text() prints, and the dumps of XLA. */

#include "base/mem.h"
#include "base/text/units.h"
#include "graphs/import/hlo/lower.h"
#include "graphs/import/hlo/module.h"
#include "graphs/import/hlo/parse.h"
#include "graphs/import/notes/readers.h"

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
    int64_t                    devices = emp_hlo_device_count(m);

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
    if (m->has_host_memory)
        emp_import_notes_warn(notes,
                              "tensors that the module keeps in host memory, S(5), "
                              "are in the device's memory, and copies between both "
                              "go at its speed");
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
    EMP_TRY(emp_hlo_recall(&reader, &kernels, err));
    emp_hlo_reader_clear(&reader);
    EMP_TRY(emp_hlo_states_find(&states, &module, &kernels, err));
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

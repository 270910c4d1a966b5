// SPDX-License-Identifier: GPL-3.0-or-later
#include "graphs/import/hlo/hlo.h"

#include <string.h>

#include "base/text/units.h"
#include "graphs/import/hlo/lower.h"
#include "graphs/import/hlo/parse.h"
#include "graphs/import/hlo/text.h"

/* Memory that the ops of unrolled loops may take beside what the file has. */
static const int64_t BYTES_BESIDE = 56 * 1024 * 1024, BYTES_OF_BYTE = 100;

enum { SNIFFED_BYTES = 1 << 16 };

static bool is_hlo(const char *bytes, size_t size)
{
    emp_hlo_text text = {NULL, bytes, bytes + size};

    return emp_hlo_text_word(&text, "HloModule");
}

static bool contains(const char *bytes, size_t size, const char *word)
{
    size_t length = strlen(word);

    for (size_t at = 0; at + length <= size; at++)
        if (bytes[at] == word[0] && memcmp(bytes + at, word, length) == 0) return true;
    return false;
}

/* MLIR; names of places in the source may come first. */
static bool is_stablehlo(const char *bytes, size_t size)
{
    emp_hlo_text text = {NULL, bytes, bytes + size};
    bool         is_mlir = emp_hlo_text_word(&text, "module") ||
                   emp_hlo_text_word(&text, "builtin.module") ||
                   emp_hlo_text_is(&text, '#');

    if (size > SNIFFED_BYTES) size = SNIFFED_BYTES;
    return is_mlir &&
           (contains(bytes, size, "stablehlo.") || contains(bytes, size, "mhlo.") ||
            contains(bytes, size, "func.func"));
}

bool emp_hlo_is(const char *bytes, size_t size)
{
    return is_hlo(bytes, size) || is_stablehlo(bytes, size);
}

static void describe(const emp_hlo_module *m, const emp_hlo_states *states,
                     emp_import_notes *notes)
{
    const emp_hlo_computation *entry = &m->computation[m->entry];
    int64_t                    devices = emp_hlo_number(m->partitions, 1);

    emp_import_notes_say(
        notes, "HLO of the module %.*s, %s, with %d instruction%s in %d computation%s",
        EMP_SLICE_ARG(m->name), m->is_scheduled ? "compiled" : "not compiled",
        m->instruction_count, emp_units_plural(m->instruction_count),
        m->computation_count, emp_units_plural(m->computation_count));
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

static emp_status refuse(const emp_import_notes *notes, emp_error *err)
{
    const char *first =
        notes->problem[0] != NULL ? notes->problem[0] : "no memory for it";

    if (notes->problem_count == 1) return EMP_ERROR(EMP_EFORMAT, "%s", first);
    return EMP_ERROR(EMP_EFORMAT, "%d problems, the first: %s", notes->problem_count,
                     first);
}

emp_status emp_hlo_read(emp_graph_builder *builder, emp_import_notes *notes,
                        const char *bytes, size_t size, emp_error *err)
{
    emp_status      st = EMP_OK;
    emp_hlo_module  module = {0};
    emp_hlo_kernels kernels = {0};
    emp_hlo_states  states = {0};

    if (is_stablehlo(bytes, size))
        EMP_FAIL(EMP_EUNSUPPORTED, "StableHLO, which XLA has not compiled: save what "
                                   "jax.jit(f).lower(...).compile().as_text() gives");
    EMP_TRY(emp_hlo_parse(&module, (emp_slice){bytes, size}, notes, err));
    EMP_TRY(emp_hlo_kernels_init(&kernels, &module, notes, err));
    if (notes->problem_count > 0) EMP_TRY(refuse(notes, err));
    EMP_TRY(emp_hlo_states_find(&states, &module, &kernels, err));
    describe(&module, &states, notes);
    EMP_TRY(emp_hlo_lower(builder, &kernels, &states,
                          BYTES_BESIDE + BYTES_OF_BYTE * (int64_t)size, err));
    if (notes->problem_count > 0) EMP_TRY(refuse(notes, err));
    if (emp_graph_builder_op_count(builder) == 0)
        EMP_FAIL(EMP_EFORMAT, "the module computes nothing");

cleanup:
    emp_hlo_states_clear(&states);
    emp_hlo_kernels_clear(&kernels);
    emp_hlo_module_clear(&module);
    return st;
}

// SPDX-License-Identifier: GPL-3.0-or-later
// A libFuzzer driver for the reader of XLA's modules.
#include "graphs/import/hlo/hlo.h"
#include "tests/support/fuzz_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    emp_import_notes   notes = {0};
    emp_graph_builder *builder = NULL;
    emp_graph         *graph = NULL;
    emp_error          err = {0};

    (void)emp_hlo_is((const char *)bytes, size);
    if (emp_graph_builder_create(&builder, &err) == EMP_OK &&
        emp_hlo_read(builder, &notes, (const char *)bytes, size, &err) == EMP_OK)
        (void)emp_graph_builder_finish(builder, &graph, &err);
    emp_graph_destroy(graph);
    emp_graph_builder_destroy(builder);
    emp_import_notes_clear(&notes);
    return 0;
}

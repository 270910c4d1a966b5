// SPDX-License-Identifier: GPL-3.0-or-later
// A libFuzzer driver for the reader of Chakra's traces.
#include "graphs/import/traces/chakra.h"
#include "tests/support/fuzz_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    emp_graph_builder *builder = NULL;
    emp_graph         *graph = NULL;
    emp_import_devices devices;
    emp_error          err = {0};
    emp_slice          file = {(const char *)bytes, size};

    if (size == 0 || !emp_chakra_is(file)) return 0;
    if (emp_graph_builder_create(&builder, &err) == EMP_OK &&
        emp_chakra_read(builder, &devices, file, &err) == EMP_OK)
        (void)emp_graph_builder_finish(builder, &graph, &err);
    emp_graph_destroy(graph);
    emp_graph_builder_destroy(builder);
    return 0;
}

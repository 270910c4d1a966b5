// SPDX-License-Identifier: GPL-3.0-or-later
// A libFuzzer driver for the reader of tables of layers.
#include "graphs/import/instances/layers_source.h"
#include "tests/support/fuzz_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    emp_graph_builder *builder = NULL;
    emp_graph         *graph = NULL;
    emp_error          err = {0};
    emp_slice          file = {(const char *)bytes, size};

    if (size == 0) return 0;
    (void)emp_layer_table_is(file);
    if (emp_graph_builder_create(&builder, &err) == EMP_OK &&
        emp_layers_read(builder, file, &err) == EMP_OK)
        (void)emp_graph_builder_finish(builder, &graph, &err);
    emp_graph_destroy(graph);
    emp_graph_builder_destroy(builder);
    return 0;
}

// SPDX-License-Identifier: GPL-3.0-or-later
// A libFuzzer driver for the reader of PyTorch's execution traces.
#include "graphs/import/instances/instance.h"
#include "graphs/import/pytorch/execution/execution.h"
#include "tests/support/fuzz_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    emp_json_document  d = {0};
    emp_graph_builder *builder = NULL;
    emp_graph         *graph = NULL;
    emp_error          err = {0};
    char               note[480];

    if (emp_json_parse(&d, (const char *)bytes, size, &err) == EMP_OK &&
        emp_graph_builder_create(&builder, &err) == EMP_OK &&
        emp_torch_execution_read(builder, note, sizeof note, d.root, &err) == EMP_OK &&
        emp_graph_builder_finish(builder, &graph, &err) == EMP_OK)
        (void)emp_instance_set_targets(graph, &err);
    emp_graph_destroy(graph);
    emp_graph_builder_destroy(builder);
    emp_json_clear(&d);
    return 0;
}

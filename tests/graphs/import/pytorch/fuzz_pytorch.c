// SPDX-License-Identifier: GPL-3.0-or-later
// A libFuzzer driver for the reader of PyTorch's graphs.
#include "graphs/import/pytorch/pytorch.h"
#include "tests/support/fuzz_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    emp_graph_builder *builder = NULL;
    emp_graph         *graph = NULL;
    emp_error          err = {0};
    char               note[480];

    if (size == 0) return 0;
    (void)emp_pytorch_is((const char *)bytes, size);
    if (emp_graph_builder_create(&builder, &err) == EMP_OK &&
        emp_pytorch_read(builder, note, sizeof note, (const char *)bytes, size, &err) ==
            EMP_OK)
        (void)emp_graph_builder_finish(builder, &graph, &err);
    emp_graph_destroy(graph);
    emp_graph_builder_destroy(builder);
    return 0;
}

// SPDX-License-Identifier: GPL-3.0-or-later
// A libFuzzer driver for the readers of graph files.
#include "tests/graphs/import/sample.h"
#include "tests/support/fuzz_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    emp_graph *graph = NULL;

    if (size > 0) (void)sample_read(&graph, bytes, size, NULL);
    emp_graph_destroy(graph);
    return 0;
}

// SPDX-License-Identifier: GPL-3.0-or-later
// A libFuzzer driver for the table of sources: whichever reader takes a file, or none.
#include <emplace/graph.h>

#include "tests/support/fuzz_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    emp_graph *graph = NULL;
    emp_error  err = {0};

    if (emp_graph_load(&graph, fuzz_file(bytes, size), &err) != EMP_OK &&
        err.msg[0] == '\0')
        __builtin_trap();
    emp_graph_destroy(graph);
    return 0;
}

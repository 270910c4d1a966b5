// SPDX-License-Identifier: GPL-3.0-or-later
// A libFuzzer driver for the reader of ONNX models; the first byte chooses what is asked of it.
#include "graphs/import/notes/readers.h"
#include "graphs/import/onnx/model.h"
#include "tests/support/fuzz_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    emp_onnx_params  params = {0};
    emp_import_notes notes = {0};
    emp_graph       *graph = NULL;

    if (size < 2) return 0;
    emp_slice body = {(const char *)bytes + 1, size - 1};
    params.is_lenient = bytes[0] & 1;
    if (bytes[0] & 2) params.train = "adam";
    if (emp_onnx_is(body)) (void)emp_onnx_build(&graph, body, &params, &notes, NULL);
    emp_graph_destroy(graph);
    emp_import_notes_clear(&notes);
    return 0;
}

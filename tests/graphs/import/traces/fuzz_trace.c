// SPDX-License-Identifier: GPL-3.0-or-later
// A libFuzzer driver for the reader of profilers' traces.
#include "graphs/import/traces/execution.h"
#include "graphs/import/traces/trace.h"
#include "tests/support/fuzz_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    emp_graph_builder *builder = NULL;
    emp_graph         *graph = NULL;
    emp_import_devices devices;
    emp_json_document  d = {0};
    emp_execution      execution = {0};
    const char        *schema;
    emp_error          err = {0};

    if (emp_json_parse(&d, (const char *)bytes, size, &err) == EMP_OK &&
        emp_trace_is(d.root) && emp_graph_builder_create(&builder, &err) == EMP_OK &&
        emp_trace_read(builder, &devices, NULL, d.root, d.root, -1, &err) == EMP_OK)
        (void)emp_graph_builder_finish(builder, &graph, &err);
    if (d.root != NULL && emp_execution_is(d.root, &schema))
        (void)emp_execution_read(&execution, d.root, &err);
    emp_execution_clear(&execution);
    emp_graph_destroy(graph);
    emp_graph_builder_destroy(builder);
    emp_json_clear(&d);
    return 0;
}

// SPDX-License-Identifier: GPL-3.0-or-later
// A libFuzzer driver for the reader of profilers' traces; the same bytes are the execution trace, too.
#include <stdio.h>

#include "tests/graphs/import/read_memory.h"
#include "tests/support/fuzz_file.h"

static emp_status read(emp_graph_builder *builder, emp_reading *r, emp_error *err)
{
    static emp_spec_parts spec;

    if (!emp_kineto_is(r->json)) return EMP_EFORMAT;
    snprintf(spec.text[1], sizeof spec.text[1], "%s",
             fuzz_file((const uint8_t *)r->bytes.data, r->bytes.size));
    r->spec = &spec;
    return emp_trace_read(builder, r, err);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    return read_memory_fuzz(bytes, size, emp_trace_options, read);
}

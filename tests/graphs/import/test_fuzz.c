// SPDX-License-Identifier: GPL-3.0-or-later
// Damage to a good file: whatever comes, the answer is a graph or an error,
// nothing is read outside the bytes (a sanitizer watches), and nothing leaks.
#include <criterion/criterion.h>

#include "tests/graphs/import/read_memory.h"
#include "tests/graphs/import/sample.h"
#include "tests/test.h"

static void fuzz(bool is_text)
{
    SCOPED(proto_writer, proto_clear) w = {.is_text = is_text};
    emp_graph *g = NULL;

    size_t graph = proto_begin(&w, 2, "graph_def");
    sample_write_nodes(&w);
    proto_end(&w, graph);
    cr_assert_eq(sample_read(&g, w.data, w.size, NULL), EMP_OK);
    emp_graph_destroy(g);
    read_memory_damaged(w.data, w.size, sample_read);
}

Test(fuzz, damaged_wire_format_is_an_error_or_a_graph) { fuzz(false); }
Test(fuzz, damaged_text_is_an_error_or_a_graph) { fuzz(true); }

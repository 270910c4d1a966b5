// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/graphs/import/hlo/sample.h"

#include "tests/graphs/graphs.h"
#include "tests/test.h"

emp_graph *hlo_graph(const char *text, emp_import_notes *notes)
{
    scratch_write("module.txt", text, strlen(text));
    return graph_keep(graph_import(scratch_path("module.txt"), notes, NULL));
}

emp_graph *hlo_file(const char *name, emp_import_notes *notes)
{
    return graph_keep(
        graph_import(graph_source_path(scratch_print("tests/graphs/import/hlo/%s", name)),
                     notes, NULL));
}

const emp_op_cost *hlo_cost(const emp_graph *g, const char *name)
{
    return g->op[graph_find(g, name)].cost;
}

// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/graphs/import/hlo/sample.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "tests/support/graphs.h"
#include "tests/support/scratch.h"

emp_graph *hlo_graph(const char *text, emp_import_notes *notes)
{
    scratch_write("module.txt", text, strlen(text));
    return graph_import(scratch_path("module.txt"), notes, NULL);
}

emp_graph *hlo_file(const char *name, emp_import_notes *notes)
{
    char path[128];

    snprintf(path, sizeof path, "tests/graphs/import/hlo/%s", name);
    return graph_import(graph_source_path(path), notes, NULL);
}

emp_op_id hlo_find(const emp_graph *g, const char *ending)
{
    emp_op_id found = -1;

    for (emp_op_id op = 0; op < g->op_count; op++) {
        size_t length = strlen(g->name[op]), size = strlen(ending);
        if (length < size || strcmp(g->name[op] + length - size, ending) != 0 ||
            (length > size && g->name[op][length - size - 1] != '/'))
            continue;
        cr_assert_lt(found, 0, "two ops are called \"%s\"", ending);
        found = op;
    }
    cr_assert_geq(found, 0, "no op is called \"%s\"", ending);
    return found;
}

const emp_op_cost *hlo_cost(const emp_graph *g, const char *ending)
{
    return g->op[hlo_find(g, ending)].cost;
}

bool hlo_reads(const emp_graph *g, const char *consumer, const char *producer)
{
    emp_op_id op = hlo_find(g, consumer), from = hlo_find(g, producer);

    for (int32_t i = g->input_offset[op]; i < g->input_offset[op + 1]; i++)
        if (g->tensor[g->input[i]].producer == from) return true;
    return false;
}

bool hlo_waits(const emp_graph *g, const char *op_name, const char *before)
{
    emp_op_id op = hlo_find(g, op_name), from = hlo_find(g, before);

    for (int32_t i = g->control_offset[op]; i < g->control_offset[op + 1]; i++)
        if (g->control[i] == from) return true;
    return false;
}

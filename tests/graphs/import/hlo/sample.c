// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/graphs/import/hlo/sample.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/scratch.h"

static emp_status read_path(emp_graph **graph, emp_import_notes *notes, const char *path,
                            emp_error *err)
{
    emp_import_params params = emp_import_params_default();

    params.notes = notes;
    return emp_import_load(graph, NULL, path, &params, err);
}

emp_status hlo_read_text(emp_graph **graph, emp_import_notes *notes, const char *text,
                         emp_error *err)
{
    char path[SCRATCH_PATH_BYTES];

    scratch_write_text(path, sizeof path, "module.txt", text);
    return read_path(graph, notes, path, err);
}

emp_status hlo_read_file(emp_graph **graph, emp_import_notes *notes, const char *name,
                         emp_error *err)
{
    const char *folder = getenv("EMP_SOURCE_DIR");
    char        path[512];

    snprintf(path, sizeof path, "%s/tests/graphs/import/hlo/%s",
             folder != NULL ? folder : ".", name);
    return read_path(graph, notes, path, err);
}

emp_graph *hlo_graph(const char *text)
{
    emp_graph       *graph = NULL;
    emp_import_notes notes = {0};
    emp_error        err = {0};

    cr_assert_eq(hlo_read_text(&graph, &notes, text, &err), EMP_OK, "%s", err.msg);
    emp_import_notes_clear(&notes);
    return graph;
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

static bool is_among(const char *const *list, int32_t count, const char *words)
{
    for (int32_t i = 0; i < count && i < EMP_NOTES_MAX; i++)
        if (list[i] != NULL && strstr(list[i], words) != NULL) return true;
    return false;
}

bool hlo_is_assumed(const emp_import_notes *notes, const char *words)
{
    return is_among(notes->assumption, notes->assumption_count, words);
}

bool hlo_is_problem(const emp_import_notes *notes, const char *words)
{
    return is_among(notes->problem, notes->problem_count, words);
}

// SPDX-License-Identifier: GPL-3.0-or-later
#include <string.h>

#include "base/arrays.h"
#include "base/mem.h"
#include "sim/graph/graph_internal.h"

/* The ops to visit: every op enters once. */
typedef struct {
    bool      *is_kept;
    emp_op_id *stack;
    int32_t    count;
} worklist;

static void visit(worklist *work, emp_op_id op)
{
    if (work->is_kept[op]) return;
    work->is_kept[op] = true;
    work->stack[work->count++] = op;
}

/* The first back edge into `op` or behind it; they are ordered by the Merge's id. */
static int32_t first_back_edge(const emp_graph *g, emp_op_id op)
{
    int32_t low = 0, high = g->back_edge_count;

    while (low < high) {
        int32_t middle = low + (high - low) / 2;
        if (g->back_edge_to[middle] < op)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void mark_ancestors(const emp_graph *g, worklist *work)
{
    for (emp_op_id op = 0; op < g->op_count; op++)
        if (g->is_target[op]) visit(work, op);
    while (work->count > 0) {
        emp_op_id op = work->stack[--work->count];
        for (int32_t i = g->input_offset[op]; i < g->input_offset[op + 1]; i++)
            visit(work, g->tensor[g->input[i]].producer);
        for (int32_t i = g->control_offset[op]; i < g->control_offset[op + 1]; i++)
            visit(work, g->control[i]);
        for (int32_t i = first_back_edge(g, op);
             i < g->back_edge_count && g->back_edge_to[i] == op; i++)
            visit(work, g->back_edge_from[i]);
    }
}

/* Sets new_of_op and new_of_type (-1 = dropped) and all counts of \a g but the classes.
 */
static void number_kept(emp_graph *g, const emp_graph *whole, const bool *is_kept,
                        int32_t *new_of_op, int32_t *new_of_type)
{
    for (int32_t t = 0; t < whole->type_count; t++) new_of_type[t] = -1;
    for (emp_op_id op = 0; op < whole->op_count; op++) {
        new_of_op[op] = -1;
        if (!is_kept[op]) continue;
        new_of_op[op] = g->op_count++;
        if (new_of_type[whole->type[op]] < 0)
            new_of_type[whole->type[op]] = g->type_count++;
        g->edge_count += whole->input_offset[op + 1] - whole->input_offset[op];
        g->control_edge_count +=
            whole->control_offset[op + 1] - whole->control_offset[op];
        g->tensor_count += whole->output_offset[op + 1] - whole->output_offset[op];
    }
}

static emp_status copy_names(emp_graph *g, const emp_graph *whole,
                             const int32_t *new_of_op, const int32_t *new_of_type,
                             emp_error *err)
{
    g->storage = EMP_NEW(emp_arena);
    if (g->storage == NULL) return EMP_ERROR(EMP_ENOMEM, "names of a step graph");
    for (int32_t t = 0; t < whole->type_count; t++) {
        if (new_of_type[t] < 0) continue;
        const char *name = whole->type_name[t];
        g->type_name[new_of_type[t]] = emp_arena_strndup(g->storage, name, strlen(name));
        g->type_entry[new_of_type[t]] = whole->type_entry[t];
        if (g->type_name[new_of_type[t]] == NULL)
            return EMP_ERROR(EMP_ENOMEM, "type names");
    }
    for (emp_op_id op = 0; op < whole->op_count; op++) {
        if (new_of_op[op] < 0) continue;
        const char *name = whole->name[op];
        g->name[new_of_op[op]] = emp_arena_strndup(g->storage, name, strlen(name));
        if (g->name[new_of_op[op]] == NULL)
            return EMP_ERROR(EMP_ENOMEM, "names of %d ops", g->op_count);
    }
    return EMP_OK;
}

/* Copies the kept ops with their rows; a kept op's producers are all kept. */
static void copy_rows(emp_graph *g, const emp_graph *whole, const int32_t *new_of_op,
                      const int32_t *new_of_type)
{
    int32_t edge = 0, control = 0, tensor = 0, place = 0;

    for (emp_op_id old = 0; old < whole->op_count; old++) {
        emp_op_id op = new_of_op[old];
        if (op < 0) continue;
        g->type[op] = new_of_type[whole->type[old]];
        g->op[op] = whole->op[old];
        if (whole->stated != NULL) g->stated[op] = whole->stated[old];
        g->is_target[op] = whole->is_target[old];
        g->output_offset[op] = tensor;
        for (int32_t i = whole->output_offset[old]; i < whole->output_offset[old + 1];
             i++) {
            g->tensor[tensor] = whole->tensor[i];
            g->tensor[tensor++].producer = op;
        }
    }
    g->output_offset[g->op_count] = tensor;
    for (emp_op_id old = 0; old < whole->op_count; old++) {
        emp_op_id op = new_of_op[old];
        if (op < 0) continue;
        g->input_offset[op] = edge;
        for (int32_t i = whole->input_offset[old]; i < whole->input_offset[old + 1];
             i++) {
            emp_op_id producer = whole->tensor[whole->input[i]].producer;
            g->input[edge++] = g->output_offset[new_of_op[producer]] + whole->input[i] -
                               whole->output_offset[producer];
        }
        g->control_offset[op] = control;
        for (int32_t i = whole->control_offset[old]; i < whole->control_offset[old + 1];
             i++)
            g->control[control++] = new_of_op[whole->control[i]];
    }
    g->input_offset[g->op_count] = edge;
    g->control_offset[g->op_count] = control;
    /* Leaving ops out of the order keeps it the lowest one: those left have their
     * producers, so each was ready at the same moments. */
    for (int32_t i = 0; i < whole->op_count; i++)
        if (new_of_op[whole->topo[i]] >= 0) g->topo[place++] = new_of_op[whole->topo[i]];
}

static emp_status copy_back_edges(emp_graph *g, const emp_graph *whole,
                                  const int32_t *new_of_op, emp_error *err)
{
    size_t count = (size_t)whole->back_edge_count;

    g->back_edge_from = EMP_ADD_ARRAY(&g->arrays, emp_op_id, count);
    g->back_edge_to = EMP_ADD_ARRAY(&g->arrays, emp_op_id, count);
    if (g->arrays.is_short) return EMP_ERROR(EMP_ENOMEM, "%zu back edges", count);
    for (int32_t i = 0; i < whole->back_edge_count; i++) {
        if (new_of_op[whole->back_edge_to[i]] < 0) continue;
        g->back_edge_from[g->back_edge_count] = new_of_op[whole->back_edge_from[i]];
        g->back_edge_to[g->back_edge_count++] = new_of_op[whole->back_edge_to[i]];
    }
    return EMP_OK;
}

emp_status emp_graph_prune(emp_graph **out, const emp_graph *whole, emp_error *err)
{
    emp_status st = EMP_OK;
    size_t     ops = (size_t)whole->op_count;
    emp_arrays scratch = {0};
    worklist   work = {EMP_ADD_ARRAY(&scratch, bool, ops),
                       EMP_ADD_ARRAY(&scratch, emp_op_id, ops), 0};
    int32_t   *new_of_op = EMP_ADD_ARRAY(&scratch, int32_t, ops);
    int32_t   *new_of_type = EMP_ADD_ARRAY(&scratch, int32_t, (size_t)whole->type_count);
    emp_graph *g = EMP_NEW(emp_graph);

    *out = NULL;
    if (scratch.is_short || g == NULL)
        EMP_FAIL(EMP_ENOMEM, "step graph of %d ops", whole->op_count);
    mark_ancestors(whole, &work);
    number_kept(g, whole, work.is_kept, new_of_op, new_of_type);
    if (g->op_count == 0)
        EMP_FAIL(EMP_EINVAL, "none of the %d ops is a target; name what a step runs",
                 whole->op_count);
    EMP_TRY(emp_graph_allocate(g, err));
    if (whole->stated != NULL) EMP_TRY(emp_graph_allocate_stated(g, err));
    EMP_TRY(copy_names(g, whole, new_of_op, new_of_type, err));
    copy_rows(g, whole, new_of_op, new_of_type);
    EMP_TRY(emp_stated_prune(g, whole, new_of_op, err));
    EMP_TRY(emp_collectives_prune(g, whole, new_of_op, err));
    EMP_TRY(copy_back_edges(g, whole, new_of_op, err));
    emp_graph_fill_consumers(g);
    EMP_TRY(emp_graph_derive(g, err));
    g->source = whole->source;

    *out = g;
    g = NULL;

cleanup:
    emp_arrays_clear(&scratch);
    emp_graph_destroy(g);
    return st;
}

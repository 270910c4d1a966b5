// SPDX-License-Identifier: GPL-3.0-or-later
#include "sim/graph/graph.h"

#include <string.h>

#include "base/arrays.h"
#include "base/mem.h"
#include "sim/graph/graph_internal.h"
#include "sim/graph/store.h"

emp_status emp_graph_allocate(emp_graph *g, emp_error *err)
{
    size_t ops = (size_t)g->op_count, tensors = (size_t)g->tensor_count;
    size_t types = (size_t)g->type_count;

    g->name = EMP_ADD_ARRAY(&g->arrays, const char *, ops);
    g->type = EMP_ADD_ARRAY(&g->arrays, int32_t, ops);
    g->type_name = EMP_ADD_ARRAY(&g->arrays, const char *, types);
    g->type_entry = EMP_ADD_ARRAY(&g->arrays, const emp_op_type *, types);
    g->op = EMP_ADD_ARRAY(&g->arrays, emp_op, ops);
    g->input_offset = EMP_ADD_ARRAY(&g->arrays, int32_t, ops + 1);
    g->input = EMP_ADD_ARRAY(&g->arrays, emp_tensor_id, (size_t)g->edge_count);
    g->control_offset = EMP_ADD_ARRAY(&g->arrays, int32_t, ops + 1);
    g->control = EMP_ADD_ARRAY(&g->arrays, emp_op_id, (size_t)g->control_edge_count);
    g->output_offset = EMP_ADD_ARRAY(&g->arrays, int32_t, ops + 1);
    g->tensor = EMP_ADD_ARRAY(&g->arrays, emp_tensor, tensors);
    g->consumer_offset = EMP_ADD_ARRAY(&g->arrays, int32_t, tensors + 1);
    g->consumer = EMP_ADD_ARRAY(&g->arrays, emp_op_id, (size_t)g->edge_count);
    g->control_out_offset = EMP_ADD_ARRAY(&g->arrays, int32_t, ops + 1);
    g->control_out = EMP_ADD_ARRAY(&g->arrays, emp_op_id, (size_t)g->control_edge_count);
    g->topo = EMP_ADD_ARRAY(&g->arrays, emp_op_id, ops);
    g->is_target = EMP_ADD_ARRAY(&g->arrays, bool, ops);
    if (g->arrays.is_short)
        return EMP_ERROR(EMP_ENOMEM, "graph of %d ops, %d edges", g->op_count,
                         g->edge_count);
    return EMP_OK;
}

emp_status emp_graph_allocate_stated(emp_graph *g, emp_error *err)
{
    g->stated = EMP_ADD_ARRAY(&g->arrays, emp_stated_cost, (size_t)g->op_count);
    if (g->arrays.is_short)
        return EMP_ERROR(EMP_ENOMEM, "stated costs of %d ops", g->op_count);
    return EMP_OK;
}

static const struct {
    const char *runtime, *why;
} of_source[] = {
#define X(source, runtime, why) {runtime, why},
    EMP_GRAPH_SOURCE_LIST(X)
#undef X
};

const char *emp_graph_default_runtime(const emp_graph *graph)
{
    return graph != NULL ? of_source[graph->source].runtime : NULL;
}

const char *emp_graph_source_why(const emp_graph *graph)
{
    return of_source[graph->source].why;
}

emp_status emp_graph_allocate_colocation(emp_graph *g, emp_error *err)
{
    g->colocation = EMP_ADD_ARRAY(&g->arrays, int32_t, (size_t)g->op_count);
    if (g->arrays.is_short)
        return EMP_ERROR(EMP_ENOMEM, "bindings of %d ops", g->op_count);
    return EMP_OK;
}

void emp_graph_destroy(emp_graph *g)
{
    if (g == NULL) return;
    emp_arrays_clear(&g->arrays);
    emp_graph_store_release(g->store);
    emp_free(g);
}

/* Turns the counts in offset[1..] of `rows` rows into the starts of the rows, shifted by
 * one: offset[row + 1] is where the next entry of the row goes, and ends as its end. */
static void start_rows(int32_t *offset, int32_t rows)
{
    int32_t start = 0;

    for (int32_t row = 0; row < rows; row++) {
        int32_t count = offset[row + 1];
        offset[row + 1] = start;
        start += count;
    }
}

void emp_graph_fill_consumers(emp_graph *g)
{
    for (int32_t i = 0; i < g->edge_count; i++) g->consumer_offset[g->input[i] + 1]++;
    for (int32_t i = 0; i < g->control_edge_count; i++)
        g->control_out_offset[g->control[i] + 1]++;
    start_rows(g->consumer_offset, g->tensor_count);
    start_rows(g->control_out_offset, g->op_count);
    for (emp_op_id op = 0; op < g->op_count; op++) {
        for (int32_t i = g->input_offset[op]; i < g->input_offset[op + 1]; i++)
            g->consumer[g->consumer_offset[g->input[i] + 1]++] = op;
        for (int32_t i = g->control_offset[op]; i < g->control_offset[op + 1]; i++)
            g->control_out[g->control_out_offset[g->control[i] + 1]++] = op;
    }
}

const emp_op_type *emp_graph_type(const emp_graph *graph, emp_op_id op)
{
    const emp_op_type *entry = graph->type_entry[graph->type[op]];

    return entry != NULL ? entry : emp_op_type_unknown();
}

emp_op_id emp_graph_find(const emp_graph *graph, const char *name)
{
    if (graph == NULL || name == NULL) return -1;
    for (emp_op_id op = 0; op < graph->op_count; op++)
        if (strcmp(graph->name[op], name) == 0) return op;
    return -1;
}

emp_op_cost *emp_graph_own_cost(emp_graph *graph, emp_op_id op)
{
    emp_op_cost *own = emp_graph_store_own(graph->store, graph->op[op].cost);

    if (own != NULL) graph->op[op].cost = own;
    return own;
}

// SPDX-License-Identifier: GPL-3.0-or-later
/* Queries of <emplace/graph.h>. */
#include "sim/graph/graph.h"

static bool has_op(const emp_graph *graph, emp_op_id op)
{
    return graph != NULL && op >= 0 && op < graph->op_count;
}

static bool has_tensor(const emp_graph *graph, emp_tensor_id tensor)
{
    return graph != NULL && tensor >= 0 && tensor < graph->tensor_count;
}

int32_t emp_graph_op_count(const emp_graph *graph)
{
    return graph != NULL ? graph->op_count : 0;
}

const char *emp_graph_op_name(const emp_graph *graph, emp_op_id op)
{
    return has_op(graph, op) ? graph->name[op] : NULL;
}

const char *emp_graph_op_type(const emp_graph *graph, emp_op_id op)
{
    return has_op(graph, op) ? graph->type_name[graph->type[op]] : NULL;
}

double emp_graph_op_flops(const emp_graph *graph, emp_op_id op)
{
    return has_op(graph, op) ? graph->op[op].cost->flops : 0.0;
}

int64_t emp_graph_op_persistent_bytes(const emp_graph *graph, emp_op_id op)
{
    return has_op(graph, op) ? graph->op[op].persistent_bytes : 0;
}

bool emp_graph_op_is_folded(const emp_graph *graph, emp_op_id op)
{
    return has_op(graph, op) && graph->op[op].is_folded;
}

/* Row \a op of compressed rows, and its length. */
static const int32_t *row_of(const int32_t *offset, const int32_t *entry, int32_t op,
                             int32_t *count)
{
    *count = offset[op + 1] - offset[op];
    return entry + offset[op];
}

const emp_tensor_id *emp_graph_inputs(const emp_graph *graph, emp_op_id op,
                                      int32_t *count)
{
    if (count == NULL) return NULL;
    *count = 0;
    return has_op(graph, op) ? row_of(graph->input_offset, graph->input, op, count)
                             : NULL;
}

const emp_op_id *emp_graph_controls(const emp_graph *graph, emp_op_id op, int32_t *count)
{
    if (count == NULL) return NULL;
    *count = 0;
    return has_op(graph, op) ? row_of(graph->control_offset, graph->control, op, count)
                             : NULL;
}

emp_tensor_id emp_graph_outputs(const emp_graph *graph, emp_op_id op, int32_t *count)
{
    if (count == NULL) return -1;
    *count = 0;
    if (!has_op(graph, op)) return -1;
    *count = graph->output_offset[op + 1] - graph->output_offset[op];
    return *count > 0 ? graph->output_offset[op] : -1;
}

const emp_op_id *emp_graph_order(const emp_graph *graph)
{
    return graph != NULL ? graph->topo : NULL;
}

emp_op_id emp_graph_tensor_producer(const emp_graph *graph, emp_tensor_id tensor)
{
    return has_tensor(graph, tensor) ? graph->tensor[tensor].producer : -1;
}

int64_t emp_graph_tensor_bytes(const emp_graph *graph, emp_tensor_id tensor)
{
    return has_tensor(graph, tensor) ? graph->tensor[tensor].copy_bytes : 0;
}

// SPDX-License-Identifier: GPL-3.0-or-later
// From nodes under construction to the frozen graph.
#include <string.h>

#include "base/arrays.h"
#include "base/mem.h"
#include "sim/graph/graph_internal.h"
#include "sim/graph/op_entry.h"

/* Edges as the builder holds them; EMP_EUNSUPPORTED when they do not fit 32-bit ids. */
static emp_status count_edges(const emp_graph_builder *b, emp_graph *g, emp_error *err)
{
    int64_t edges = 0, controls = 0, tensors = 0;

    for (emp_op_id op = 0; op < b->node_count; op++) {
        edges += b->node[op].input_count;
        controls += b->node[op].control_count;
        tensors += b->node[op].output_count;
    }
    if (edges + controls > INT32_MAX || tensors > INT32_MAX)
        return EMP_ERROR(EMP_EUNSUPPORTED,
                         "%lld edges and %lld tensors, at most %d are possible",
                         (long long)(edges + controls), (long long)tensors, INT32_MAX);
    g->edge_count = (int32_t)edges;
    g->control_edge_count = (int32_t)controls;
    g->tensor_count = (int32_t)tensors;
    return EMP_OK;
}

static bool is_back_edge(const emp_graph_builder *b, emp_op_id from, emp_op_id to)
{
    return (b->type_entry[b->node[from].type]->flags & EMP_OP_BACK_EDGE) &&
           (b->type_entry[b->node[to].type]->flags & EMP_OP_LOOP_HEAD);
}

/* Moves the edges that close loops from the nodes into the graph's list. */
static emp_status drop_back_edges(emp_graph_builder *b, emp_graph *g, emp_error *err)
{
    int32_t count = 0;

    for (emp_op_id op = 0; op < b->node_count; op++)
        for (int32_t i = 0; i < b->node[op].input_count; i++)
            count += is_back_edge(b, b->node[op].input[i].op, op);
    g->back_edge_from = EMP_ADD_ARRAY(&g->arrays, emp_op_id, (size_t)count);
    g->back_edge_to = EMP_ADD_ARRAY(&g->arrays, emp_op_id, (size_t)count);
    if (g->arrays.is_short) return EMP_ERROR(EMP_ENOMEM, "%d back edges", count);
    for (emp_op_id op = 0; count > 0 && op < b->node_count; op++) {
        emp_node *node = &b->node[op];
        int32_t   kept = 0;
        for (int32_t i = 0; i < node->input_count; i++) {
            if (is_back_edge(b, node->input[i].op, op)) {
                g->back_edge_from[g->back_edge_count] = node->input[i].op;
                g->back_edge_to[g->back_edge_count++] = op;
            } else {
                node->input[kept++] = node->input[i];
            }
        }
        node->input_count = kept;
    }
    return EMP_OK;
}

/* Infers what add() has not, producers first, and checks every edge's output. */
static emp_status infer_all(emp_graph_builder *b, const emp_op_id *topo, emp_error *err)
{
    for (int32_t i = 0; i < b->node_count; i++) {
        const emp_node *node = &b->node[topo[i]];
        for (int32_t k = 0; k < node->input_count; k++)
            EMP_CHECK(emp_node_check_output(b, node->input[k], topo[i], err));
        if (!node->is_inferred) EMP_CHECK(emp_node_infer(b, topo[i], false, err));
    }
    return EMP_OK;
}

static void fill_rows(const emp_graph_builder *b, emp_graph *g)
{
    int32_t edge = 0, control = 0, tensor = 0;

    for (emp_op_id op = 0; op < b->node_count; op++) {
        g->output_offset[op] = tensor;
        tensor += b->node[op].output_count;
    }
    g->output_offset[g->op_count] = tensor;
    for (emp_op_id op = 0; op < b->node_count; op++) {
        const emp_node *node = &b->node[op];
        g->name[op] = node->name;
        g->type[op] = node->type;
        g->is_target[op] = node->is_target;
        g->input_offset[op] = edge;
        for (int32_t i = 0; i < node->input_count; i++)
            g->input[edge++] = g->output_offset[node->input[i].op] + node->input[i].index;
        g->control_offset[op] = control;
        for (int32_t i = 0; i < node->control_count; i++)
            g->control[control++] = node->control[i];
    }
    g->input_offset[g->op_count] = edge;
    g->control_offset[g->op_count] = control;
    for (int32_t t = 0; t < b->type_count; t++) {
        g->type_name[t] = b->type_name[t];
        if (b->type_entry[t] != emp_op_type_unknown())
            g->type_entry[t] = b->type_entry[t];
    }
}

static void fill_tensors(const emp_graph_builder *b, emp_graph *g, emp_op_id op,
                         uint32_t host_output_mask)
{
    for (int32_t i = 0; i < b->node[op].output_count; i++) {
        const emp_tensor_info *info = &b->node[op].output[i];
        int64_t                bytes = emp_info_bytes(info);
        g->tensor[g->output_offset[op] + i] =
            (emp_tensor){.producer = op,
                         .shape = info->shape,
                         .dtype = info->dtype,
                         .is_ref = info->is_ref,
                         .on_host = (host_output_mask >> (i < 31 ? i : 31)) & 1,
                         .bytes = info->is_ref ? 0 : bytes,
                         .copy_bytes = bytes};
    }
}

/* The element type that decides which kernel an op gets: T, or what stands for it. */
static emp_dtype kernel_dtype(const emp_op_view *view)
{
    if (view->attrs->dtype != EMP_DTYPE_NONE) return view->attrs->dtype;
    if (view->output_count > 0 && view->output[0].dtype != EMP_DTYPE_BOOL)
        return view->output[0].dtype;
    if (view->input_count > 0) return view->input[0].dtype;
    return view->output_count > 0 ? view->output[0].dtype : EMP_DTYPE_NONE;
}

static bool touches_strings(const emp_op_view *view)
{
    for (int32_t i = 0; i < view->input_count; i++)
        if (view->input[i].dtype == EMP_DTYPE_STRING) return true;
    for (int32_t i = 0; i < view->output_count; i++)
        if (view->output[i].dtype == EMP_DTYPE_STRING) return true;
    return false;
}

/* Costs and kinds of an op; sets *host_output_mask. */
static void fill_op(const emp_op_view *view, emp_op *op, uint32_t *host_output_mask)
{
    const emp_op_type *type = view->type;
    emp_dtype          dtype = kernel_dtype(view);

    op->flags = type->flags;
    op->kinds = type->kinds;
    op->host_input_mask = type->host_input_mask;
    *host_output_mask = type->host_output_mask;
    emp_op_cost_of(view, &op->cost);
    if (type->flags & EMP_OP_IS_VARIABLE)
        op->persistent_bytes = emp_info_bytes(
            &(emp_tensor_info){.shape = view->output[0].shape, .dtype = dtype});

    if ((type->flags & EMP_OP_INT32_ON_HOST) && dtype == EMP_DTYPE_INT32) {
        op->host_input_mask = *host_output_mask = UINT32_MAX;
        op->cost.kernels = 0;
        op->cost.op_class = EMP_OP_KERNELLESS;
    } else if (type->gpu_dtypes != 0 && dtype < 32 &&
               !((type->gpu_dtypes >> dtype) & 1)) {
        op->kinds &= EMP_KIND_CPU;
    }
    if (touches_strings(view)) op->kinds &= EMP_KIND_CPU;
    op->is_alias =
        (type->flags & EMP_OP_ALIASES_INPUT) || view->attrs->is_in_place ||
        ((type->flags & EMP_OP_MAY_ALIAS) && op->cost.op_class == EMP_OP_KERNELLESS &&
         op->host_input_mask != UINT32_MAX);
    if (view->input_count == 0 || view->output_count == 0) op->is_alias = false;
}

/* What a file states of the op in place of inference; one kernel, whatever it does. */
static void fill_stated(const emp_graph_builder *b, emp_graph *g, emp_op_id op)
{
    const emp_stated_op *stated = b->node[op].stated;

    g->stated[op] = stated->cost;
    g->op[op].kinds = stated->kinds;
    g->op[op].persistent_bytes = stated->persistent_bytes;
    g->op[op].flags = stated->flags;
    g->op[op].cost = (emp_op_cost){
        .op_class = EMP_OP_ELEMENTWISE, .work = EMP_WORK_ELEMENTWISE, .kernels = 1};
    fill_tensors(b, g, op, 0);
    for (int32_t t = g->output_offset[op] + 1; t < g->output_offset[op + 1]; t++)
        g->tensor[t].bytes = 0;
    g->tensor[g->output_offset[op]].bytes = stated->held_bytes;
}

static emp_status fill_ops(emp_graph_builder *b, emp_graph *g, emp_error *err)
{
    for (emp_op_id op = 0; op < b->node_count; op++) {
        if (g->stated != NULL) {
            fill_stated(b, g, op);
            continue;
        }
        emp_op_view view;
        uint32_t    host_output_mask = 0;
        EMP_CHECK(emp_node_view(b, op, &view, err));
        fill_op(&view, &g->op[op], &host_output_mask);
        g->op[op].colocation = view.attrs->colocation;
        fill_tensors(b, g, op, host_output_mask);
    }
    return EMP_OK;
}

/* Hands the names over and leaves the builder as it was created. */
static emp_status move_names(emp_graph_builder *b, emp_graph *g, emp_error *err)
{
    emp_arena *names = EMP_NEW(emp_arena);

    if (names == NULL) return EMP_ERROR(EMP_ENOMEM, "names of a graph");
    *names = b->names;
    g->storage = names;
    b->names = (emp_arena){0};
    emp_arena_clear(&b->scratch);
    emp_strmap_clear(&b->id_of_name);
    emp_strmap_clear(&b->index_of_type);
    b->node_count = 0;
    b->type_count = 0;
    b->stated_model_count = 0;
    b->has_model_times = b->has_collectives = false;
    return EMP_OK;
}

emp_status emp_graph_builder_finish(emp_graph_builder *b, emp_graph **out, emp_error *err)
{
    emp_status st = EMP_OK;
    emp_op_id *topo = NULL;
    emp_graph *g = NULL;

    EMP_NEED(out);
    *out = NULL;
    EMP_NEED(b);
    g = EMP_NEW(emp_graph);
    if (g == NULL) EMP_FAIL(EMP_ENOMEM, "graph header");
    if (b->node_count == 0) EMP_FAIL(EMP_EINVAL, "the graph has no op, need at least 1");
    EMP_TRY(drop_back_edges(b, g, err));
    EMP_TRY(count_edges(b, g, err));
    EMP_TRY(EMP_ALLOC(topo, (size_t)b->node_count));
    EMP_TRY(emp_builder_sort(b, topo, err));
    EMP_TRY(infer_all(b, topo, err));
    EMP_TRY(count_edges(b, g, err)); /* inference has added outputs */

    g->op_count = b->node_count;
    g->type_count = b->type_count;
    EMP_TRY(emp_graph_allocate(g, err));
    if (b->node[0].stated != NULL) EMP_TRY(emp_graph_allocate_stated(g, err));
    memcpy(g->topo, topo, (size_t)g->op_count * sizeof *topo);
    fill_rows(b, g);
    EMP_TRY(fill_ops(b, g, err));
    EMP_TRY(emp_stated_finish(b, g, err));
    EMP_TRY(emp_collectives_finish(b, g, err));
    emp_graph_fill_consumers(g);
    emp_graph_fold(g);
    EMP_TRY(emp_graph_derive(g, &(emp_held_weights){0}, err));
    EMP_TRY(move_names(b, g, err));

    *out = g;
    g = NULL;

cleanup:
    emp_free(topo);
    emp_graph_destroy(g);
    return st;
}

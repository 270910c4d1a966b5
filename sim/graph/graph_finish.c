// SPDX-License-Identifier: GPL-3.0-or-later
// From nodes under construction to the frozen graph.
#include <string.h>

#include "base/mem.h"
#include "sim/graph/graph_builder_internal.h"
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

static emp_status fill_tensors(const emp_graph_builder *b, emp_graph *g, emp_op_id op,
                               uint32_t host_output_mask, emp_error *err)
{
    for (int32_t i = 0; i < b->node[op].output_count; i++) {
        const emp_tensor_info *info = &b->node[op].output[i];
        const emp_shape       *shape = emp_graph_store_shape(g->store, &info->shape);
        int64_t                bytes = emp_info_bytes(info);
        if (shape == NULL) return EMP_ERROR(EMP_ENOMEM, "shapes of %d ops", g->op_count);
        g->tensor[g->output_offset[op] + i] =
            (emp_tensor){.producer = op,
                         .shape = shape,
                         .dtype = (uint8_t)info->dtype,
                         .is_ref = info->is_ref,
                         .on_host = (host_output_mask >> (i < 31 ? i : 31)) & 1,
                         .bytes = info->is_ref ? 0 : bytes,
                         .copy_bytes = bytes};
    }
    return EMP_OK;
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

/* An op whose GPU flavour works in host memory. Where GPUs compute all types, constants alone do, which are the sizes and
 * axes that host code reads. */
static bool is_on_host(const emp_op_type *type, emp_dtype dtype, bool has_all_kernels)
{
    return (type->flags & EMP_OP_INT32_ON_HOST) && dtype == EMP_DTYPE_INT32 &&
           (!has_all_kernels || (type->flags & EMP_OP_IS_CONST));
}

/* PyTorch has fewer kernels than TensorFlow r1.3 for a softmax, a sum and a loss, which is a log-softmax, a look-up and the
 * gradients of both. The passes are those in the rows of PyTorch's own ops. */
static void cost_by_today(const emp_op_view *view, emp_op_cost *cost)
{
    const int64_t bytes = view->input_count > 0 ? emp_info_bytes(&view->input[0]) : 0;
    const bool    is_loss = cost->work == EMP_WORK_LOSS;

    if (cost->work == EMP_WORK_REDUCE && cost->kernels > 1) cost->kernels = 1;
    if (cost->work != EMP_WORK_SOFTMAX && !is_loss) return;
    cost->kernels = is_loss ? 4 : 1;
    cost->bytes_read = emp_mul_saturating(bytes, is_loss ? 5 : 2);
    cost->bytes_written = emp_mul_saturating(bytes, is_loss ? 3 : 1);
}

/* Whether all outputs are single numbers, as the counters of loops are, which no GPU computes. */
static bool makes_numbers(const emp_op_view *view)
{
    for (int32_t i = 0; i < view->output_count; i++)
        if (emp_shape_elements(&view->output[i].shape) != 1) return false;
    return true;
}

/* Costs and kinds of an op; sets *host_output_mask. */
static emp_status fill_op(const emp_graph_builder *b, emp_graph_store *store,
                          const emp_op_view *view, emp_op *op, uint32_t *host_output_mask,
                          emp_error *err)
{
    const emp_op_type *type = view->type;
    emp_dtype          dtype = kernel_dtype(view);
    emp_op_cost        cost = {0};

    op->flags = type->flags;
    if (view->attrs->is_compiled && !makes_numbers(view)) op->flags |= EMP_OP_RUNS;
    op->kinds = (uint8_t)type->kinds;
    op->host_input_mask = type->host_input_mask;
    *host_output_mask = type->host_output_mask;
    emp_op_cost_of(view, &cost);
    if (b->has_all_kernels) cost_by_today(view, &cost);
    if (type->flags & EMP_OP_IS_VARIABLE)
        op->persistent_bytes = emp_info_bytes(
            &(emp_tensor_info){.shape = view->output[0].shape, .dtype = dtype});

    if (is_on_host(type, dtype, b->has_all_kernels)) {
        op->host_input_mask = *host_output_mask = UINT32_MAX;
        cost.kernels = 0;
        cost.op_class = EMP_OP_KERNELLESS;
    } else if (!b->has_all_kernels && type->gpu_dtypes != 0 && dtype < 32 &&
               !((type->gpu_dtypes >> dtype) & 1)) {
        op->kinds &= EMP_KIND_CPU;
    }
    if (touches_strings(view)) op->kinds &= EMP_KIND_CPU;
    op->is_alias =
        (type->flags & EMP_OP_ALIASES_INPUT) || view->attrs->is_in_place ||
        ((type->flags & EMP_OP_MAY_ALIAS) && cost.op_class == EMP_OP_KERNELLESS &&
         op->host_input_mask != UINT32_MAX);
    if (view->input_count == 0 || view->output_count == 0) op->is_alias = false;
    op->cost = emp_graph_store_cost(store, &cost);
    return op->cost != NULL ? EMP_OK : EMP_ERROR(EMP_ENOMEM, "costs of ops");
}

/* The costs that a file states for the op in place of inference; one kernel, whatever its work. */
static emp_status fill_stated(const emp_graph_builder *b, emp_graph *g, emp_op_id op,
                              emp_error *err)
{
    const emp_stated_op *stated = b->node[op].stated;
    const emp_op_cost    cost = {
           .op_class = EMP_OP_ELEMENTWISE, .work = EMP_WORK_ELEMENTWISE, .kernels = 1};

    g->stated[op] = stated->cost;
    g->op[op].kinds = (uint8_t)stated->kinds;
    g->op[op].persistent_bytes = stated->persistent_bytes;
    g->op[op].flags = stated->flags;
    g->op[op].cost = emp_graph_store_cost(g->store, &cost);
    if (g->op[op].cost == NULL) return EMP_ERROR(EMP_ENOMEM, "costs of ops");
    EMP_CHECK(fill_tensors(b, g, op, 0, err));
    for (int32_t t = g->output_offset[op] + 1; t < g->output_offset[op + 1]; t++)
        g->tensor[t].bytes = 0;
    g->tensor[g->output_offset[op]].bytes = stated->held_bytes;
    return EMP_OK;
}

static bool is_any_bound(const emp_graph_builder *b)
{
    for (emp_op_id op = 0; op < b->node_count; op++)
        if (b->node[op].attrs->colocation != 0) return true;
    return false;
}

/* Equal parts of the program, in as many levels. Variables and feeds are there before its first op. */
static void set_program_order(emp_graph *g)
{
    const uint32_t is_there = EMP_OP_IS_VARIABLE | EMP_OP_FEED;
    emp_op_id      first = 0;

    while (first < g->op_count && (g->op[first].flags & is_there) != 0) first++;
    const int64_t count = g->op_count - first;
    for (emp_op_id op = first; op < g->op_count; op++)
        if ((g->op[op].flags & is_there) == 0)
            g->op[op].level = (uint8_t)((op - first) * (int64_t)EMP_LEVELS / count);
    g->in_program_order = true;
    g->has_levels = count > 1;
}

static emp_status fill_ops(emp_graph_builder *b, emp_graph *g, emp_error *err)
{
    for (emp_op_id op = 0; op < b->node_count; op++) {
        if (g->stated != NULL) {
            EMP_CHECK(fill_stated(b, g, op, err));
            continue;
        }
        emp_op_view view;
        uint32_t    host_output_mask = 0;
        EMP_CHECK(emp_node_view(b, op, &view, err));
        EMP_CHECK(fill_op(b, g->store, &view, &g->op[op], &host_output_mask, err));
        if (g->colocation != NULL) g->colocation[op] = view.attrs->colocation;
        g->op[op].level = view.attrs->level;
        g->has_levels |= view.attrs->level > 0;
        EMP_CHECK(fill_tensors(b, g, op, host_output_mask, err));
    }
    return EMP_OK;
}

/* ---- order: Kahn's algorithm (CACM 5(11), 1962), always taking the ready op of lowest id ---- */

/* A binary min-heap of op ids. */
typedef struct {
    emp_op_id *id;
    int32_t    count;
} id_heap;

static void heap_push(id_heap *heap, emp_op_id id)
{
    int32_t i = heap->count++;

    for (; i > 0 && heap->id[(i - 1) / 2] > id; i = (i - 1) / 2)
        heap->id[i] = heap->id[(i - 1) / 2];
    heap->id[i] = id;
}

static emp_op_id heap_pop(id_heap *heap)
{
    emp_op_id top = heap->id[0], last = heap->id[--heap->count];
    int32_t   i = 0;

    for (;;) {
        int32_t child = 2 * i + 1;
        if (child >= heap->count) break;
        if (child + 1 < heap->count && heap->id[child + 1] < heap->id[child]) child++;
        if (heap->id[child] >= last) break;
        heap->id[i] = heap->id[child];
        i = child;
    }
    heap->id[i] = last;
    return top;
}

/* Successors of every op by data and control edges, in compressed rows. */
typedef struct {
    int64_t   *offset; /* [op + 1] */
    emp_op_id *to;
} successor_rows;

static emp_status create_successors(const emp_graph_builder *b, successor_rows *rows,
                                    emp_error *err)
{
    int64_t edges = 0;

    EMP_CHECK(EMP_ALLOC(rows->offset, (size_t)b->node_count + 2));
    /* Count two places ahead, so that filling a row leaves its start in offset[op]. */
    for (emp_op_id op = 0; op < b->node_count; op++) {
        const emp_node *node = &b->node[op];
        for (int32_t i = 0; i < node->input_count; i++)
            rows->offset[node->input[i].op + 2]++;
        for (int32_t i = 0; i < node->control_count; i++)
            rows->offset[node->control[i] + 2]++;
        edges += node->input_count + node->control_count;
    }
    for (emp_op_id op = 0; op < b->node_count; op++)
        rows->offset[op + 2] += rows->offset[op + 1];
    EMP_CHECK(EMP_ALLOC(rows->to, (size_t)edges));
    for (emp_op_id op = 0; op < b->node_count; op++) {
        const emp_node *node = &b->node[op];
        for (int32_t i = 0; i < node->input_count; i++)
            rows->to[rows->offset[node->input[i].op + 1]++] = op;
        for (int32_t i = 0; i < node->control_count; i++)
            rows->to[rows->offset[node->control[i] + 1]++] = op;
    }
    return EMP_OK;
}

/* Walks back over unsorted producers until it meets an op again: that one is on a cycle.
 * Visited ops are marked by a negative count. */
static emp_op_id find_on_cycle(const emp_graph_builder *b, int32_t *missing)
{
    emp_op_id op = 0;

    while (missing[op] == 0) op++;
    while (missing[op] > 0) {
        const emp_node *node = &b->node[op];
        emp_op_id       previous = -1;
        for (int32_t i = 0; i < node->input_count && previous < 0; i++)
            if (missing[node->input[i].op] != 0) previous = node->input[i].op;
        for (int32_t i = 0; i < node->control_count && previous < 0; i++)
            if (missing[node->control[i]] != 0) previous = node->control[i];
        missing[op] = -missing[op];
        op = previous;
    }
    return op;
}

/* Generators add ops after their inputs: then the order of ids is the answer. */
static bool is_sorted_by_id(const emp_graph_builder *b)
{
    for (emp_op_id op = 0; op < b->node_count; op++) {
        const emp_node *node = &b->node[op];
        for (int32_t i = 0; i < node->input_count; i++)
            if (node->input[i].op >= op) return false;
        for (int32_t i = 0; i < node->control_count; i++)
            if (node->control[i] >= op) return false;
    }
    return true;
}

static emp_status sort_with_heap(const emp_graph_builder *b, emp_op_id *topo,
                                 emp_error *err)
{
    emp_status     st = EMP_OK;
    successor_rows rows = {0};
    id_heap        ready = {0};
    int32_t        done = 0;
    int32_t       *missing = NULL;

    EMP_TRY(EMP_ALLOC(ready.id, (size_t)b->node_count));
    EMP_TRY(EMP_ALLOC(missing, (size_t)b->node_count));
    EMP_TRY(create_successors(b, &rows, err));
    for (emp_op_id op = 0; op < b->node_count; op++) {
        missing[op] = b->node[op].input_count + b->node[op].control_count;
        if (missing[op] == 0) heap_push(&ready, op);
    }
    while (ready.count > 0) {
        emp_op_id op = heap_pop(&ready);
        topo[done++] = op;
        for (int64_t i = rows.offset[op]; i < rows.offset[op + 1]; i++)
            if (--missing[rows.to[i]] == 0) heap_push(&ready, rows.to[i]);
    }
    if (done < b->node_count)
        EMP_FAIL(
            EMP_ECYCLE, "op \"%s\" lies on a cycle; %d of %d ops lie on or behind one",
            b->node[find_on_cycle(b, missing)].name, b->node_count - done, b->node_count);

cleanup:
    emp_free(rows.offset);
    emp_free(rows.to);
    emp_free(ready.id);
    emp_free(missing);
    return st;
}

/* Writes a topological order of the nodes into \a topo, ties by lower id. */
static emp_status builder_sort(const emp_graph_builder *b, emp_op_id *topo,
                               emp_error *err)
{
    if (!is_sorted_by_id(b)) return sort_with_heap(b, topo, err);
    for (emp_op_id op = 0; op < b->node_count; op++) topo[op] = op;
    return EMP_OK;
}

/* Nothing is looked for by its name any more. */
static void drop_names(emp_graph_builder *b)
{
    emp_free(b->id_of_name.slot);
    b->id_of_name = (emp_node_table){0};
}

/* Leaves the builder, whose names the graph has, as it was created. */
static void empty_builder(emp_graph_builder *b)
{
    emp_arena_clear(&b->scratch);
    emp_value_set_clear(&b->values);
    emp_strmap_clear(&b->index_of_type);
    b->node_count = 0;
    b->type_count = 0;
    b->stated_model_count = 0;
    b->has_model_times = b->has_kernels = b->has_collectives = b->leaves_hash = false;
    b->in_program_order = false;
    b->has_all_kernels = false;
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
    EMP_TRY(builder_sort(b, topo, err));
    EMP_TRY(infer_all(b, topo, err));
    EMP_TRY(count_edges(b, g, err)); /* inference has added outputs */
    drop_names(b);

    g->op_count = b->node_count;
    g->type_count = b->type_count;
    EMP_TRY(emp_graph_store_create(&g->store, err));
    EMP_TRY(emp_graph_allocate(g, err));
    if (b->node[0].stated != NULL) EMP_TRY(emp_graph_allocate_stated(g, err));
    if (is_any_bound(b)) EMP_TRY(emp_graph_allocate_colocation(g, err));
    memcpy(g->topo, topo, (size_t)g->op_count * sizeof *topo);
    fill_rows(b, g);
    EMP_TRY(fill_ops(b, g, err));
    if (b->in_program_order) set_program_order(g);
    EMP_TRY(emp_stated_finish(b, g, err));
    EMP_TRY(emp_collectives_finish(b, g, err));
    emp_graph_fill_consumers(g);
    emp_graph_fold(g);
    EMP_TRY(emp_graph_derive(g, &(emp_held_weights){0}, !b->leaves_hash, err));
    emp_graph_store_seal(g->store);
    emp_graph_store_take_names(g->store, &b->names);
    empty_builder(b);

    *out = g;
    g = NULL;

cleanup:
    emp_free(topo);
    emp_graph_destroy(g);
    return st;
}

// SPDX-License-Identifier: GPL-3.0-or-later
#include "sim/graph/graph.h"

#include <stdatomic.h>
#include <string.h>

#include "base/collections.h"
#include "base/mem.h"
#include "sim/graph/graph_internal.h"

/* ---- what graphs share ---- */

struct emp_graph_store {
    atomic_int    users;
    emp_arena     names, values;
    emp_value_set kept; /* shapes and costs */
};

emp_status emp_graph_store_create(emp_graph_store **out, emp_error *err)
{
    emp_graph_store *s = *out = EMP_NEW(emp_graph_store);

    if (s == NULL) return EMP_ERROR(EMP_ENOMEM, "names of a graph");
    s->users = 1;
    return EMP_OK;
}

void emp_graph_store_take_names(emp_graph_store *store, emp_arena *names)
{
    store->names = *names;
    *names = (emp_arena){0};
}

emp_graph_store *emp_graph_store_share(emp_graph_store *store)
{
    store->users++;
    return store;
}

/* Has one user less; the last one releases it. NULL is allowed. */
static void emp_graph_store_release(emp_graph_store *store)
{
    if (store == NULL || --store->users > 0) return;
    emp_graph_store_seal(store);
    emp_arena_clear(&store->names);
    emp_arena_clear(&store->values);
    emp_free(store);
}

const emp_shape *emp_graph_store_shape(emp_graph_store *store, const emp_shape *shape)
{
    emp_shape plain; /* nothing between its members, or in sizes that it has not */

    memset(&plain, 0, sizeof plain);
    plain.rank = shape->rank;
    for (int32_t d = 0; d < shape->rank; d++) plain.dim[d] = shape->dim[d];
    return emp_value_keep(&store->kept, &store->values, &plain, sizeof plain);
}

const emp_op_cost *emp_graph_store_cost(emp_graph_store *store, const emp_op_cost *cost)
{
    return emp_value_keep(&store->kept, &store->values, cost, sizeof *cost);
}

/* A copy of the cost beside those that are shared; NULL: out of memory. */
static emp_op_cost *emp_graph_store_own(emp_graph_store *store, const emp_op_cost *cost)
{
    emp_op_cost *copy = emp_arena_alloc(&store->values, sizeof *copy);

    if (copy != NULL) *copy = *cost;
    return copy;
}

void emp_graph_store_seal(emp_graph_store *store) { emp_value_set_clear(&store->kept); }

/* ---- a graph ---- */

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

static bool is_loss(const emp_graph *g, emp_op_id op)
{
    int32_t first = g->output_offset[op];

    return g->is_target[op] && first < g->output_offset[op + 1] &&
           emp_dtype_is_float(g->tensor[first].dtype) && !g->tensor[first].is_ref &&
           emp_shape_is_known(g->tensor[first].shape) &&
           emp_shape_elements(g->tensor[first].shape) == 1;
}

/* Marks the ops that the losses need. */
static void mark_forward(const emp_graph *g, bool *is_forward)
{
    for (int32_t i = g->op_count - 1; i >= 0; i--) {
        emp_op_id op = g->topo[i];
        is_forward[op] = is_forward[op] || is_loss(g, op);
        for (int32_t k = g->input_offset[op];
             is_forward[op] && k < g->input_offset[op + 1]; k++)
            is_forward[g->tensor[g->input[k]].producer] = true;
    }
}

/* The tensor whose buffer this one is. */
static emp_tensor_id buffer_of(const emp_graph *g, emp_tensor_id tensor)
{
    for (;;) {
        emp_op_id op = g->tensor[tensor].producer;
        if (!g->op[op].is_alias || tensor != g->output_offset[op]) return tensor;
        tensor = g->input[g->input_offset[op]];
    }
}

static bool is_made(const emp_graph *g, emp_op_id op)
{
    return !g->op[op].is_folded &&
           !(g->op[op].flags & (EMP_OP_IS_VARIABLE | EMP_OP_FEED | EMP_OP_IS_CONST));
}

emp_status emp_graph_activation_bytes(int64_t *bytes, const emp_graph *step,
                                      emp_error *err)
{
    emp_status st = EMP_OK;
    bool      *is_forward = NULL, *is_counted = NULL;

    *bytes = 0;
    EMP_TRY(EMP_ALLOC(is_forward, (size_t)step->op_count));
    EMP_TRY(EMP_ALLOC(is_counted, (size_t)step->tensor_count + 1));
    if (step->stated != NULL) goto cleanup;
    mark_forward(step, is_forward);
    for (emp_op_id op = 0; op < step->op_count; op++) {
        if (is_forward[op] || step->op[op].cost->kernels == 0) continue;
        for (int32_t k = step->input_offset[op]; k < step->input_offset[op + 1]; k++) {
            emp_tensor_id tensor = buffer_of(step, step->input[k]);
            emp_op_id     maker = step->tensor[tensor].producer;
            if (is_counted[tensor] || !is_forward[maker] || !is_made(step, maker))
                continue;
            is_counted[tensor] = true;
            *bytes += step->tensor[tensor].bytes;
        }
    }

cleanup:
    emp_free(is_forward);
    emp_free(is_counted);
    return st;
}

// SPDX-License-Identifier: GPL-3.0-or-later
#include <string.h>

#include "base/collections.h"
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
    int32_t low;

    EMP_COUNT_FIRST(low, g->back_edge_count, i, g->back_edge_to[i] < op);
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

/* True of an op whose output is the buffer of the tensor, which it would lose with that input. */
static bool is_alias_of(const emp_graph *g, emp_op_id op, emp_tensor_id t)
{
    return g->op[op].is_alias && g->input[g->input_offset[op]] == t;
}

/* The only kept op that reads the weights, if it reads them once, does not hand them on, and stays; else -1. */
static emp_op_id only_reader(const emp_graph *g, const bool *is_kept, emp_op_id weights)
{
    const emp_tensor_id t = g->output_offset[weights];
    emp_op_id           reader = -1;

    if (g->is_target[weights] ||
        g->control_out_offset[weights] < g->control_out_offset[weights + 1])
        return -1;
    for (int32_t i = g->consumer_offset[t]; i < g->consumer_offset[t + 1]; i++) {
        if (!is_kept[g->consumer[i]]) continue;
        if (reader >= 0 || is_alias_of(g, g->consumer[i], t)) return -1;
        reader = g->consumer[i];
    }
    return reader;
}

/* Weights that nothing updates are no op of a step but bytes that their reader holds. Sets holder_of_op
 * (-1 = it stays an op), and drops what is held. */
static emp_held_weights hold_weights(const emp_graph *g, bool *is_kept,
                                     emp_op_id *holder_of_op)
{
    emp_held_weights held = {0};

    for (emp_op_id op = 0; op < g->op_count; op++) {
        bool is_weights = is_kept[op] && (g->op[op].flags & EMP_OP_IS_WEIGHTS);
        holder_of_op[op] = is_weights ? only_reader(g, is_kept, op) : -1;
    }
    for (emp_op_id op = 0; op < g->op_count; op++) {
        if (holder_of_op[op] < 0) continue;
        const emp_shape *shape = g->tensor[g->output_offset[op]].shape;
        is_kept[op] = false;
        held.elements = emp_add_saturating(held.elements, emp_shape_elements(shape));
        held.bytes = emp_add_saturating(held.bytes, g->op[op].persistent_bytes);
    }
    return held;
}

/* Bit i of a mask of inputs says of input i, bit 31 of all further ones: without input \a i. */
static uint32_t without_input(uint32_t mask, int32_t i)
{
    if (i >= 31) return mask;
    uint32_t below = mask & ((1u << i) - 1),
             above = (uint32_t)((uint64_t)mask >> (i + 1));

    return below | above << i | (mask & 1u << 31);
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
        for (int32_t i = whole->input_offset[op]; i < whole->input_offset[op + 1]; i++)
            g->edge_count += is_kept[whole->tensor[whole->input[i]].producer];
        g->control_edge_count +=
            whole->control_offset[op + 1] - whole->control_offset[op];
        g->tensor_count += whole->output_offset[op + 1] - whole->output_offset[op];
    }
}

/* Names lie in the store that both graphs share. */
static void copy_names(emp_graph *g, const emp_graph *whole, const int32_t *new_of_op,
                       const int32_t *new_of_type)
{
    g->store = emp_graph_store_share(whole->store);
    for (int32_t t = 0; t < whole->type_count; t++) {
        if (new_of_type[t] < 0) continue;
        g->type_name[new_of_type[t]] = whole->type_name[t];
        g->type_entry[new_of_type[t]] = whole->type_entry[t];
    }
    for (emp_op_id op = 0; op < whole->op_count; op++)
        if (new_of_op[op] >= 0) g->name[new_of_op[op]] = whole->name[op];
}

/* The inputs of an op that are no weights; the bytes of those it holds. \return where its row ends. */
static int32_t copy_inputs(emp_graph *g, const emp_graph *whole, const int32_t *new_of_op,
                           emp_op_id old, int32_t edge)
{
    emp_op *op = &g->op[new_of_op[old]];
    int32_t first = edge;

    for (int32_t i = whole->input_offset[old]; i < whole->input_offset[old + 1]; i++) {
        emp_op_id producer = whole->tensor[whole->input[i]].producer;
        if (new_of_op[producer] < 0) {
            op->persistent_bytes = emp_add_saturating(
                op->persistent_bytes, whole->op[producer].persistent_bytes);
            op->host_input_mask = without_input(op->host_input_mask, edge - first);
            continue;
        }
        g->input[edge++] = g->output_offset[new_of_op[producer]] + whole->input[i] -
                           whole->output_offset[producer];
    }
    return edge;
}

/* Copies the kept ops with their rows; a kept op's producers are all kept, or weights that it holds. */
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
        if (whole->colocation != NULL) g->colocation[op] = whole->colocation[old];
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
        edge = copy_inputs(g, whole, new_of_op, old, edge);
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
    emp_op_id *holder_of_op = EMP_ADD_ARRAY(&scratch, emp_op_id, ops);
    int32_t   *new_of_op = EMP_ADD_ARRAY(&scratch, int32_t, ops);
    int32_t   *new_of_type = EMP_ADD_ARRAY(&scratch, int32_t, (size_t)whole->type_count);
    emp_graph *g = EMP_NEW(emp_graph);
    emp_held_weights held;

    *out = NULL;
    if (scratch.is_short || g == NULL)
        EMP_FAIL(EMP_ENOMEM, "step graph of %d ops", whole->op_count);
    mark_ancestors(whole, &work);
    held = hold_weights(whole, work.is_kept, holder_of_op);
    number_kept(g, whole, work.is_kept, new_of_op, new_of_type);
    if (g->op_count == 0)
        EMP_FAIL(EMP_EINVAL, "none of the %d ops is a target; name what a step runs",
                 whole->op_count);
    EMP_TRY(emp_graph_allocate(g, err));
    if (whole->stated != NULL) EMP_TRY(emp_graph_allocate_stated(g, err));
    if (whole->colocation != NULL) EMP_TRY(emp_graph_allocate_colocation(g, err));
    copy_names(g, whole, new_of_op, new_of_type);
    copy_rows(g, whole, new_of_op, new_of_type);
    EMP_TRY(emp_stated_prune(g, whole, new_of_op, err));
    EMP_TRY(emp_collectives_prune(g, whole, new_of_op, err));
    EMP_TRY(copy_back_edges(g, whole, new_of_op, err));
    emp_graph_fill_consumers(g);
    EMP_TRY(emp_graph_derive(g, &held, true, err));
    g->source = whole->source;
    g->has_levels = whole->has_levels;
    g->in_program_order = whole->in_program_order;

    *out = g;
    g = NULL;

cleanup:
    emp_arrays_clear(&scratch);
    emp_graph_destroy(g);
    return st;
}

// SPDX-License-Identifier: GPL-3.0-or-later
// Kahn's algorithm (CACM 5(11), 1962), always taking the ready op of lowest id.
#include "base/mem.h"
#include "sim/graph/graph_internal.h"

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

emp_status emp_builder_sort(const emp_graph_builder *b, emp_op_id *topo, emp_error *err)
{
    if (!is_sorted_by_id(b)) return sort_with_heap(b, topo, err);
    for (emp_op_id op = 0; op < b->node_count; op++) topo[op] = op;
    return EMP_OK;
}

// SPDX-License-Identifier: GPL-3.0-or-later
#include "baselines/schedulers/fusion.h"

#include "base/collections.h"
#include "base/mem.h"

emp_status emp_fusion_init(emp_fusion *f, const emp_graph *graph, emp_error *err)
{
    size_t ops = (size_t)graph->op_count;

    *f = (emp_fusion){.graph = graph};
    f->parent = EMP_ADD_ARRAY(&f->arrays, int32_t, ops);
    f->next = EMP_ADD_ARRAY(&f->arrays, emp_op_id, ops);
    f->last = EMP_ADD_ARRAY(&f->arrays, emp_op_id, ops);
    f->root_of_set = EMP_ADD_ARRAY(&f->arrays, emp_op_id, ops);
    if (f->arrays.is_short)
        return EMP_ERROR(EMP_ENOMEM, "tasks of %d ops", graph->op_count);
    for (emp_op_id op = 0; op < graph->op_count; op++) {
        f->parent[op] = graph->op[op].is_folded ? -1 : op;
        f->next[op] = -1;
        f->last[op] = op;
    }
    return EMP_OK;
}

void emp_fusion_clear(emp_fusion *f) { emp_arrays_clear(&f->arrays); }

/* The producers' set joins the readers' at its front, so that members stay in an order in
 * which they can run. */
static void unite(emp_fusion *f, emp_op_id producer, emp_op_id reader)
{
    f->parent[reader] = producer;
    f->next[f->last[producer]] = reader;
    f->last[producer] = f->last[reader];
}

enum { NONE = -1, SEVERAL = -2 };

/* Of a set's neighbours so far and one more op. */
static emp_op_id add_neighbor(const emp_fusion *f, emp_op_id known, emp_op_id own,
                              emp_op_id op)
{
    if (f->parent[op] < 0) return known; /* folded */
    emp_op_id root = emp_disjoint_root(f->parent, op);
    if (root == own || root == known) return known;
    return known == NONE ? root : SEVERAL;
}

/* The one set that waits for this one; NONE or SEVERAL. */
static emp_op_id only_reader(const emp_fusion *f, emp_op_id root)
{
    const emp_graph *g = f->graph;
    emp_op_id        found = NONE;

    for (emp_op_id op = root; op >= 0 && found != SEVERAL; op = f->next[op]) {
        int32_t from = g->consumer_offset[g->output_offset[op]];
        int32_t to = g->consumer_offset[g->output_offset[op + 1]];
        for (int32_t i = from; i < to && found != SEVERAL; i++)
            found = add_neighbor(f, found, root, g->consumer[i]);
        from = g->control_out_offset[op], to = g->control_out_offset[op + 1];
        for (int32_t i = from; i < to && found != SEVERAL; i++)
            found = add_neighbor(f, found, root, g->control_out[i]);
    }
    return found;
}

/* The one set that this one waits for. */
static emp_op_id only_producer(const emp_fusion *f, emp_op_id root)
{
    const emp_graph *g = f->graph;
    emp_op_id        found = NONE;

    for (emp_op_id op = root; op >= 0 && found != SEVERAL; op = f->next[op]) {
        int32_t from = g->input_offset[op], to = g->input_offset[op + 1];
        for (int32_t i = from; i < to && found != SEVERAL; i++)
            found = add_neighbor(f, found, root, g->tensor[g->input[i]].producer);
        from = g->control_offset[op], to = g->control_offset[op + 1];
        for (int32_t i = from; i < to && found != SEVERAL; i++)
            found = add_neighbor(f, found, root, g->control[i]);
    }
    return found;
}

void emp_fusion_run(emp_fusion *f, const int32_t *pin_of_op)
{
    const emp_graph *g = f->graph;
    bool             has_changed = true;

    while (has_changed) {
        has_changed = false;
        for (int32_t i = g->op_count - 1; i >= 0; i--) {
            emp_op_id op = g->topo[i];
            if (f->parent[op] != op) continue;
            emp_op_id reader = only_reader(f, op);
            if (reader < 0 || pin_of_op[reader] != pin_of_op[op]) continue;
            unite(f, op, reader);
            has_changed = true;
        }
        for (int32_t i = 0; i < g->op_count; i++) {
            emp_op_id op = g->topo[i];
            if (f->parent[op] != op) continue;
            emp_op_id producer = only_producer(f, op);
            if (producer < 0 || pin_of_op[producer] != pin_of_op[op]) continue;
            unite(f, producer, op);
            has_changed = true;
        }
    }
}

/* An edge from one set to another is seen (change +1) or gone (-1). */
static void count_edge(emp_fusion *f, int32_t *missing, emp_op_id own, emp_op_id reader,
                       int32_t change)
{
    if (f->parent[reader] < 0) return;
    emp_op_id root = emp_disjoint_root(f->parent, reader);
    if (root == own) return;
    missing[root] += change;
    if (change < 0 && missing[root] == 0) f->root_of_set[f->set_count++] = root;
}

static void count_edges(emp_fusion *f, int32_t *missing, emp_op_id root, int32_t change)
{
    const emp_graph *g = f->graph;

    for (emp_op_id op = root; op >= 0; op = f->next[op]) {
        int32_t from = g->consumer_offset[g->output_offset[op]];
        int32_t to = g->consumer_offset[g->output_offset[op + 1]];
        for (int32_t i = from; i < to; i++)
            count_edge(f, missing, root, g->consumer[i], change);
        for (int32_t i = g->control_out_offset[op]; i < g->control_out_offset[op + 1];
             i++)
            count_edge(f, missing, root, g->control_out[i], change);
    }
}

emp_status emp_fusion_sort(emp_fusion *f, emp_error *err)
{
    emp_status       st = EMP_OK;
    const emp_graph *g = f->graph;
    int32_t         *missing = EMP_NEW_ARRAY(int32_t, (size_t)g->op_count);

    f->set_count = 0;
    if (missing == NULL) EMP_FAIL(EMP_ENOMEM, "order of %d ops", g->op_count);
    for (emp_op_id op = 0; op < g->op_count; op++) {
        if (f->parent[op] == op) count_edges(f, missing, op, 1);
    }
    for (int32_t i = 0; i < g->op_count; i++) {
        emp_op_id op = g->topo[i];
        if (f->parent[op] == op && missing[op] == 0) f->root_of_set[f->set_count++] = op;
    }
    for (int32_t i = 0; i < f->set_count; i++)
        count_edges(f, missing, f->root_of_set[i], -1);

cleanup:
    emp_free(missing);
    return st;
}

// SPDX-License-Identifier: GPL-3.0-or-later
/* Nodes, edges, and the pieces of threads. */
#include "base/mem.h"
#include "graphs/import/traces/kineto/step_internal.h"

emp_status emp_splitter_add_node(int32_t *out, emp_traced_step *step,
                                 emp_traced_node node, emp_error *err)
{
    EMP_CHECK(EMP_GROW(step->node, step->node_count + 1, step->node_capacity));
    *out = step->node_count;
    step->node[step->node_count++] = node;
    return EMP_OK;
}

/* \a from -1 is no edge. */
emp_status emp_splitter_add_edge(emp_traced_step *step, int32_t from, int32_t to,
                                 bool is_stream_order, emp_error *err)
{
    if (from < 0) return EMP_OK;
    EMP_CHECK(EMP_GROW(step->edge, step->edge_count + 1, step->edge_capacity));
    step->edge[step->edge_count++] = (emp_traced_edge){from, to, is_stream_order};
    return EMP_OK;
}

/* ---- threads ---- */

/* The piece of a thread up to a moment, which \a event ends. */
emp_status emp_splitter_cut(emp_splitter *s, int32_t lane, int64_t time_ns, int32_t event,
                            emp_error *err)
{
    emp_step_lane *l = &s->lane[lane];
    int32_t        op = event < 0 ? -1 : s->step->parent[event], node = -1;
    int64_t        end_ns = time_ns > l->at_ns ? time_ns : l->at_ns;

    EMP_CHECK(emp_splitter_add_node(
        &node, s->step,
        (emp_traced_node){EMP_TRACED_HOST, lane, event, op, end_ns - l->at_ns, end_ns},
        err));
    EMP_CHECK(emp_splitter_add_edge(s->step, l->last, node, false, err));
    for (int32_t i = 0; i < l->pending_count; i++)
        EMP_CHECK(emp_splitter_add_edge(s->step, l->pending[i], node, false, err));
    l->pending_count = 0;
    l->at_ns = end_ns;
    l->last = node;
    return EMP_OK;
}

/* The thread goes on at a moment, when \a node is done. */
emp_status emp_splitter_resume(emp_splitter *s, int32_t lane, int64_t time_ns,
                               int32_t node, emp_error *err)
{
    emp_step_lane *l = &s->lane[lane];

    if (l->pending_count == EMP_STEP_PENDING_MAX)
        EMP_CHECK(emp_splitter_cut(s, lane, l->at_ns, -1, err));
    if (time_ns > l->at_ns) l->at_ns = time_ns;
    l->pending[l->pending_count++] = node;
    return EMP_OK;
}

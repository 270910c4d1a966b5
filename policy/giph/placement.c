// SPDX-License-Identifier: GPL-3.0-or-later
#include "policy/giph/placement.h"

void emp_giph_placement_time(const emp_giph_placement *p, const emp_giph_world *w,
                             const emp_score *score)
{
    const emp_time_ns *start_ns = score->start_ns, *end_ns = score->end_ns;

    for (int32_t v = 0; v < w->node_count; v++) {
        p->start_ns[v] = -1;
        p->end_ns[v] = 0;
    }
    for (int32_t i = 0; i < w->edge_count; i++) p->sent_ns[i] = 0;
    for (int32_t i = 0; i < w->crossing_count; i++) {
        emp_giph_crossing c = w->crossing[i];
        emp_time_ns      *start = &p->start_ns[w->edge[c.edge].to];
        if (*start < 0 || start_ns[c.to] < *start) *start = start_ns[c.to];
        p->sent_ns[c.edge] = emp_time_later(p->sent_ns[c.edge], end_ns[c.from]);
    }
    for (emp_op_id op = 0; op < w->nodes->op_count; op++) {
        int32_t v = w->node_of_op[op];
        bool    is_input = v >= 0 && w->in_first[v] == w->in_first[v + 1];
        if (v < 0) continue;
        if (is_input && (p->start_ns[v] < 0 || start_ns[op] < p->start_ns[v]))
            p->start_ns[v] = start_ns[op];
        p->end_ns[v] = emp_time_later(p->end_ns[v], end_ns[op]);
    }
}

void emp_giph_placement_write(const emp_giph_placement *p, const emp_giph_world *w,
                              emp_device_id *device_of_op)
{
    for (emp_op_id op = 0; op < w->nodes->op_count; op++) {
        int32_t v = w->node_of_op[op];
        device_of_op[op] = v < 0 ? 0 : w->device_of_pair[p->pivot[v]];
    }
}

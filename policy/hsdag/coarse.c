// SPDX-License-Identifier: GPL-3.0-or-later
#include "policy/hsdag/coarse.h"

static void put_nodes(emp_hsdag_coarse *c, const emp_node_graph *n, uint64_t *allowed)
{
    const emp_node_edges *before = &n->predecessors;

    for (int32_t i = 0; i < n->node_count; i++) {
        int32_t v = n->order[i], set = -1;
        if (before->first[v + 1] - before->first[v] == 1)
            set = c->set_of_node[before->node[before->first[v]]];
        if (set < 0 || (allowed[set] & n->devices[v]) == 0) {
            set = c->set_count++;
            allowed[set] = n->devices[v];
            c->position[set] = (float)i / (float)n->node_count;
        }
        c->set_of_node[v] = set;
        allowed[set] &= n->devices[v];
    }
}

/* Sets that a set's nodes lead to by these edges, each once. */
static void count_degrees(int32_t *degree, const emp_hsdag_coarse *c,
                          const emp_node_edges *edges, const emp_members *nodes_of_set,
                          int32_t *seen)
{
    for (int32_t a = 0; a < c->set_count; a++) seen[a] = -1;
    for (int32_t a = 0; a < c->set_count; a++) {
        seen[a] = a;
        for (int32_t i = nodes_of_set->first[a]; i < nodes_of_set->first[a + 1]; i++) {
            int32_t v = nodes_of_set->member[i];
            for (int32_t e = edges->first[v]; e < edges->first[v + 1]; e++) {
                int32_t b = c->set_of_node[edges->node[e]];
                degree[a] += seen[b] != a;
                seen[b] = a;
            }
        }
    }
}

static emp_status count_all_degrees(emp_hsdag_coarse *c, const emp_node_graph *n,
                                    int32_t *seen, emp_error *err)
{
    emp_members nodes_of_set = {0};

    EMP_CHECK(emp_members_init(&nodes_of_set, c->set_of_node, n->node_count, c->set_count,
                               err));
    count_degrees(c->in_degree, c, &n->predecessors, &nodes_of_set, seen);
    count_degrees(c->out_degree, c, &n->successors, &nodes_of_set, seen);
    emp_members_clear(&nodes_of_set);
    return EMP_OK;
}

emp_status emp_hsdag_coarse_init(emp_hsdag_coarse *c, const emp_node_graph *n,
                                 emp_error *err)
{
    emp_status            st = EMP_OK;
    size_t                nodes = (size_t)n->node_count;
    emp_arrays            temporary = {0};
    emp_hsdag_scratch     scratch;
    uint64_t             *allowed = EMP_ADD_ARRAY(&temporary, uint64_t, nodes);
    const emp_hsdag_graph all = {.node_count = n->node_count,
                                 .edge_count = n->neighbors.count,
                                 .first = n->neighbors.first,
                                 .node = n->neighbors.node,
                                 .devices = n->devices};

    *c = (emp_hsdag_coarse){.node_count = n->node_count};
    c->set_of_node = EMP_ADD_ARRAY(&c->arrays, int32_t, nodes);
    c->in_degree = EMP_ADD_ARRAY(&c->arrays, int32_t, nodes);
    c->out_degree = EMP_ADD_ARRAY(&c->arrays, int32_t, nodes);
    c->position = EMP_ADD_ARRAY(&c->arrays, float, nodes);
    emp_hsdag_graph_allocate(&c->graph, n->node_count, n->neighbors.count, &c->arrays);
    emp_hsdag_scratch_allocate(&scratch, n->node_count, n->neighbors.count, &temporary);
    if (c->arrays.is_short || temporary.is_short)
        EMP_FAIL(EMP_ENOMEM, "sets of %d nodes", n->node_count);
    put_nodes(c, n, allowed);
    emp_hsdag_contract(&c->graph, c->set_count, &all, c->set_of_node, &scratch);
    EMP_TRY(count_all_degrees(c, n, scratch.seen, err));

cleanup:
    emp_arrays_clear(&temporary);
    if (st != EMP_OK) emp_hsdag_coarse_clear(c);
    return st;
}

void emp_hsdag_coarse_clear(emp_hsdag_coarse *c)
{
    emp_arrays_clear(&c->arrays);
    *c = (emp_hsdag_coarse){0};
}

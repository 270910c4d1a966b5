// SPDX-License-Identifier: GPL-3.0-or-later
#include "policy/hsdag/pooling.h"

void emp_hsdag_graph_allocate(emp_hsdag_graph *g, int32_t max_nodes, int32_t max_edges,
                              emp_arrays *arrays)
{
    g->first = EMP_ADD_ARRAY(arrays, int32_t, (size_t)max_nodes + 1);
    g->node = EMP_ADD_ARRAY(arrays, int32_t, (size_t)max_edges);
    g->devices = EMP_ADD_ARRAY(arrays, uint64_t, (size_t)max_nodes);
}

void emp_hsdag_scratch_allocate(emp_hsdag_scratch *s, int32_t max_nodes,
                                int32_t max_edges, emp_arrays *arrays)
{
    s->member = EMP_ADD_ARRAY(arrays, int32_t, (size_t)max_nodes);
    s->begin = EMP_ADD_ARRAY(arrays, int32_t, (size_t)max_nodes + 1);
    s->seen = EMP_ADD_ARRAY(arrays, int32_t, (size_t)max_nodes);
    s->other = EMP_ADD_ARRAY(arrays, int32_t, (size_t)max_edges);
}

/* ---- who joins whom ---- */

int32_t emp_hsdag_best_edge(const emp_hsdag_graph *g, const emp_real *score, int32_t node)
{
    int32_t best = -1;

    for (int32_t e = g->first[node]; e < g->first[node + 1]; e++)
        if (best < 0 || score[e] > score[best]) best = e;
    return best;
}

/* Until groups are numbered, parent[v] <= v leads to the lowest node of v's group. */
static int32_t find(int32_t *parent, int32_t v)
{
    while (parent[v] != v) v = parent[v] = parent[parent[v]];
    return v;
}

static void unite(int32_t *parent, uint64_t *allowed, int32_t u, int32_t v)
{
    int32_t a = find(parent, u), b = find(parent, v), low = a < b ? a : b;

    if (a == b || (allowed[a] & allowed[b]) == 0) return;
    allowed[low] = allowed[a] & allowed[b];
    parent[a < b ? b : a] = low;
}

int32_t emp_hsdag_join(int32_t *group_of_node, uint64_t *allowed,
                       const emp_hsdag_graph *g, const emp_real *score)
{
    int32_t *parent = group_of_node, groups = 0;

    for (int32_t v = 0; v < g->node_count; v++) {
        parent[v] = v;
        allowed[v] = g->devices[v];
    }
    for (int32_t v = 0; v < g->node_count; v++) {
        int32_t best = emp_hsdag_best_edge(g, score, v);
        if (best >= 0) unite(parent, allowed, v, g->node[best]);
    }
    for (int32_t v = 0; v < g->node_count; v++) parent[v] = find(parent, v);
    for (int32_t v = 0; v < g->node_count; v++)
        group_of_node[v] = parent[v] == v ? groups++ : group_of_node[parent[v]];
    return groups;
}

/* ---- the graph of groups ---- */

static void list_members(const emp_hsdag_scratch *s, int32_t group_count,
                         const emp_hsdag_graph *g, const int32_t *group_of_node)
{
    for (int32_t a = 0; a <= group_count; a++) s->begin[a] = 0;
    for (int32_t v = 0; v < g->node_count; v++) s->begin[group_of_node[v] + 1]++;
    for (int32_t a = 0; a < group_count; a++) {
        s->begin[a + 1] += s->begin[a];
        s->seen[a] = s->begin[a];
    }
    for (int32_t v = 0; v < g->node_count; v++)
        s->member[s->seen[group_of_node[v]]++] = v;
}

/* Neighbours of each group, in the order in which they are met. */
static void list_neighbours(emp_hsdag_graph *groups, const emp_hsdag_graph *g,
                            const int32_t *group_of_node, const emp_hsdag_scratch *s)
{
    int32_t count = 0;

    for (int32_t a = 0; a < groups->node_count; a++) s->seen[a] = -1;
    for (int32_t a = 0; a < groups->node_count; a++) {
        groups->first[a] = count;
        s->seen[a] = a;
        for (int32_t i = s->begin[a]; i < s->begin[a + 1]; i++) {
            int32_t v = s->member[i];
            for (int32_t e = g->first[v]; e < g->first[v + 1]; e++) {
                int32_t b = group_of_node[g->node[e]];
                if (s->seen[b] == a) continue;
                s->seen[b] = a;
                s->other[count++] = b;
            }
        }
    }
    groups->first[groups->node_count] = count;
    groups->edge_count = count;
}

/* The graph is symmetric: who lists a's neighbours, a ascending, lists a in their rows. */
static void sort_neighbours(emp_hsdag_graph *groups, const emp_hsdag_scratch *s)
{
    int32_t *next = s->seen;

    for (int32_t a = 0; a < groups->node_count; a++) next[a] = groups->first[a];
    for (int32_t a = 0; a < groups->node_count; a++)
        for (int32_t i = groups->first[a]; i < groups->first[a + 1]; i++)
            groups->node[next[s->other[i]]++] = a;
}

void emp_hsdag_contract(emp_hsdag_graph *groups, int32_t group_count,
                        const emp_hsdag_graph *g, const int32_t *group_of_node,
                        const emp_hsdag_scratch *s)
{
    groups->node_count = group_count;
    for (int32_t a = 0; a < group_count; a++) groups->devices[a] = ~UINT64_C(0);
    for (int32_t v = 0; v < g->node_count; v++)
        groups->devices[group_of_node[v]] &= g->devices[v];
    list_members(s, group_count, g, group_of_node);
    list_neighbours(groups, g, group_of_node, s);
    sort_neighbours(groups, s);
}

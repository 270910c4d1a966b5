// SPDX-License-Identifier: GPL-3.0-or-later
#include "policy/hsdag/hsdag.h"

#include <math.h>

#include "base/mem.h"

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

/* The edge of greatest score [edge] of a node, of equals the first; -1: it has none. */
static int32_t best_edge(const emp_hsdag_graph *g, const emp_real *score, int32_t node)
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
        int32_t best = best_edge(g, score, v);
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

enum { DEGREES = 8, WAVES = 8, COST_INPUTS = 10 };

/* The values that are filled in. */
typedef struct {
    const emp_hsdag_coarse *coarse;
    const emp_node_graph   *nodes;
    const emp_op_features  *ops;
    int32_t                *count; /* [set] rows of ops */
    int32_t                 width;
    emp_real               *value;
} filling;

static emp_real *row_of(const filling *f, int32_t set)
{
    return &f->value[(int64_t)set * f->width];
}

static int32_t set_of_row(const filling *f, int32_t row)
{
    return f->coarse->set_of_node[f->nodes->node_of_op[f->ops->op_of_row[row]]];
}

/* ---- as the paper and its code have it ---- */

static void fill_types(const filling *f)
{
    for (int32_t r = 0; r < f->ops->row_count; r++) {
        int32_t set = set_of_row(f, r);
        row_of(f, set)[f->ops->type[r]] += (emp_real)(1.0 / f->count[set]);
    }
}

double emp_hsdag_fractal_dimension(const emp_hsdag_graph *g, int32_t node,
                                   int32_t *distance, int32_t *queue)
{
    int32_t count = 0, points = 0;
    double  x = 0.0, y = 0.0, xx = 0.0, xy = 0.0;

    for (int32_t v = 0; v < g->node_count; v++) distance[v] = -1;
    queue[count++] = node;
    distance[node] = 0;
    for (int32_t i = 0; i < count; i++) {
        int32_t v = queue[i];
        for (int32_t e = g->first[v]; e < g->first[v + 1]; e++) {
            if (distance[g->node[e]] >= 0) continue;
            distance[g->node[e]] = distance[v] + 1;
            queue[count++] = g->node[e];
        }
    }
    for (int32_t i = 1; i < count; i++) {
        bool is_last = i + 1 == count || distance[queue[i + 1]] > distance[queue[i]];
        if (!is_last) continue;
        double lx = log(distance[queue[i]]), ly = log(i);
        x += lx, y += ly, xx += lx * lx, xy += lx * ly;
        points++;
    }
    return points < 2 ? 0.0 : (points * xy - x * y) / (points * xx - x * x);
}

static void fill_code(const filling *f)
{
    fill_types(f);
    for (int32_t a = 0; a < f->coarse->set_count; a++)
        row_of(f, a)[f->ops->type_count] = (emp_real)a;
}

static int32_t degree_index(int32_t degree)
{
    return degree < DEGREES ? degree : DEGREES - 1;
}

static void fill_shapes(const filling *f, int32_t at)
{
    for (int32_t r = 0; r < f->ops->row_count; r++) {
        int32_t   set = set_of_row(f, r);
        emp_real *row = row_of(f, set);
        for (int32_t i = 0; i < EMP_FEATURE_DIMS; i++) {
            double size = (double)f->ops->sizes[(int64_t)r * EMP_ROW_SIZES + i];
            row[at + i] += (emp_real)(log1p(size) / 10.0 / f->count[set]);
        }
    }
}

static void fill_paper(const filling *f, int32_t *distance, int32_t *queue)
{
    const emp_hsdag_coarse *c = f->coarse;
    const int32_t           types = f->ops->type_count;

    fill_types(f);
    for (int32_t a = 0; a < c->set_count; a++) {
        emp_real *row = row_of(f, a) + types;
        row[degree_index(c->in_degree[a])] = 1;
        row[DEGREES + degree_index(c->out_degree[a])] = 1;
        row[2 * DEGREES] =
            (emp_real)emp_hsdag_fractal_dimension(&c->graph, a, distance, queue);
        for (int32_t i = 0; i < WAVES; i++) {
            double angle = a / pow(10000.0, (double)i / WAVES);
            row[2 * DEGREES + 1 + 2 * i] = (emp_real)sin(angle);
            row[2 * DEGREES + 2 + 2 * i] = (emp_real)cos(angle);
        }
    }
    fill_shapes(f, types + 2 * DEGREES + 1 + 2 * WAVES);
}

/* ---- costs ---- */

/* The sums over a set's nodes. */
typedef struct {
    double cpu_s, gpu_s, output_bytes, persistent_bytes;
} set_costs;

static int32_t device_of_kind(const emp_machine *m, emp_device_kind kind)
{
    for (emp_device_id d = 0; d < m->device_count; d++)
        if (m->device[d].kind == kind) return d;
    return 0;
}

static double smallest_memory(const emp_machine *m)
{
    double least = INFINITY;

    for (emp_device_id d = 0; d < m->device_count; d++)
        if (m->device[d].kind == EMP_DEVICE_GPU || m->device_count == 1)
            least = fmin(least, (double)m->device[d].memory_bytes);
    return least > 0.0 ? least : INFINITY;
}

static double add_costs(const filling *f, set_costs *costs, const emp_machine *m)
{
    const emp_node_graph *n = f->nodes;
    int32_t               cpu = device_of_kind(m, EMP_DEVICE_CPU),
            gpu = device_of_kind(m, EMP_DEVICE_GPU);
    double all = 0.0;

    for (int32_t v = 0; v < n->node_count; v++) {
        set_costs    *s = &costs[f->coarse->set_of_node[v]];
        const double *time = &n->time_s[(int64_t)v * n->device_count];
        s->cpu_s += time[cpu];
        s->gpu_s += time[gpu];
        s->output_bytes += (double)n->output_bytes[v];
        s->persistent_bytes += (double)n->persistent_bytes[v];
        all += time[gpu];
    }
    return all > 0.0 ? all : 1.0;
}

static void fill_costs(const filling *f, const set_costs *costs, double all_gpu_s,
                       double memory)
{
    const emp_hsdag_coarse *c = f->coarse;

    for (int32_t a = 0; a < c->set_count; a++) {
        const set_costs *s = &costs[a];
        const double     row[COST_INPUTS] = {log1p(1e6 * s->cpu_s) / 15.0,
                                             log1p(1e6 * s->gpu_s) / 15.0,
                                             log1p(c->set_count * s->gpu_s / all_gpu_s),
                                             log1p(s->output_bytes) / 20.0,
                                             log1p(s->persistent_bytes) / 20.0,
                                             s->persistent_bytes / memory,
                                             log1p(c->in_degree[a]) / 5.0,
                                             log1p(c->out_degree[a]) / 5.0,
                                             (double)c->position[a],
                                             log1p(f->count[a]) / 5.0};
        for (int32_t i = 0; i < COST_INPUTS; i++) row_of(f, a)[i] = (emp_real)row[i];
    }
}

/* ---- all of them ---- */

static int32_t width_of(emp_hsdag_inputs_form form, int32_t types)
{
    switch (form) {
    case EMP_HSDAG_INPUTS_PAPER:
        return types + 2 * DEGREES + 1 + 2 * WAVES + EMP_FEATURE_DIMS;
    case EMP_HSDAG_INPUTS_CODE: return types + 1;
    case EMP_HSDAG_INPUTS_COSTS: return COST_INPUTS;
    }
    return 0;
}

static emp_status fill(const filling *f, emp_hsdag_inputs_form form, const emp_machine *m,
                       emp_arrays *scratch, emp_error *err)
{
    size_t     sets = (size_t)f->coarse->set_count;
    int32_t   *distance = EMP_ADD_ARRAY(scratch, int32_t, sets);
    int32_t   *queue = EMP_ADD_ARRAY(scratch, int32_t, sets);
    set_costs *costs = EMP_ADD_ARRAY(scratch, set_costs, sets);

    if (scratch->is_short) return EMP_ERROR(EMP_ENOMEM, "inputs of %zu sets", sets);
    for (int32_t r = 0; r < f->ops->row_count; r++) f->count[set_of_row(f, r)]++;
    switch (form) {
    case EMP_HSDAG_INPUTS_PAPER: fill_paper(f, distance, queue); break;
    case EMP_HSDAG_INPUTS_CODE: fill_code(f); break;
    case EMP_HSDAG_INPUTS_COSTS:
        fill_costs(f, costs, add_costs(f, costs, m), smallest_memory(m));
        break;
    }
    return EMP_OK;
}

emp_status emp_hsdag_inputs_init(emp_hsdag_inputs_table *t, emp_hsdag_inputs_form form,
                                 const emp_hsdag_coarse *coarse,
                                 const emp_node_graph *nodes, const emp_op_features *ops,
                                 const emp_machine *machine, emp_error *err)
{
    emp_status st = EMP_OK;
    emp_arrays scratch = {0};
    filling    f = {.coarse = coarse,
                    .nodes = nodes,
                    .ops = ops,
                    .count = EMP_ADD_ARRAY(&scratch, int32_t, (size_t)coarse->set_count),
                    .width = width_of(form, ops->type_count)};

    *t = (emp_hsdag_inputs_table){.width = f.width};
    if (scratch.is_short) EMP_FAIL(EMP_ENOMEM, "inputs of %d sets", coarse->set_count);
    EMP_TRY(EMP_ALLOC(t->value, (size_t)coarse->set_count * (size_t)f.width));
    f.value = t->value;
    EMP_TRY(fill(&f, form, machine, &scratch, err));

cleanup:
    emp_arrays_clear(&scratch);
    if (st != EMP_OK) emp_hsdag_inputs_clear(t);
    return st;
}

void emp_hsdag_inputs_clear(emp_hsdag_inputs_table *t)
{
    emp_free(t->value);
    *t = (emp_hsdag_inputs_table){0};
}

// SPDX-License-Identifier: GPL-3.0-or-later
#include "policy/giph/world.h"

#include <math.h>

/* ---- nodes and edges --------------------------------------------------------------- */

static emp_status add_nodes(emp_giph_world *w, const emp_node_graph *nodes,
                            emp_error *err)
{
    size_t   count = (size_t)nodes->node_count;
    int32_t *place = EMP_ADD_ARRAY(&w->arrays, int32_t, count);

    w->nodes = nodes;
    w->node_count = nodes->node_count;
    w->node_of_op = EMP_ADD_ARRAY(&w->arrays, int32_t, (size_t)nodes->op_count);
    if (w->arrays.is_short) return EMP_ERROR(EMP_ENOMEM, "%zu nodes", count);
    for (int32_t v = 0; v < w->node_count; v++) place[nodes->order[v]] = v;
    for (emp_op_id op = 0; op < nodes->op_count; op++) {
        int32_t node = nodes->node_of_op[op];
        w->node_of_op[op] = node < 0 ? -1 : place[node];
    }
    return EMP_OK;
}

/* Edges in the order of the nodes that they come in to, and of those they leave. */
static emp_status add_edges(emp_giph_world *w, emp_error *err)
{
    const emp_node_edges *before = &w->nodes->predecessors;
    size_t                count = (size_t)before->count, nodes = (size_t)w->node_count;
    int32_t              *place = EMP_ADD_ARRAY(&w->arrays, int32_t, nodes), at = 0;

    w->edge_count = before->count;
    w->edge = EMP_ADD_ARRAY(&w->arrays, emp_giph_edge, count);
    w->in_first = EMP_ADD_ARRAY(&w->arrays, int32_t, nodes + 1);
    w->in_edge = EMP_ADD_ARRAY(&w->arrays, int32_t, count);
    w->out_first = EMP_ADD_ARRAY(&w->arrays, int32_t, nodes + 1);
    w->out_edge = EMP_ADD_ARRAY(&w->arrays, int32_t, count);
    if (w->arrays.is_short) return EMP_ERROR(EMP_ENOMEM, "%zu edges", count);
    for (int32_t v = 0; v < w->node_count; v++) place[w->nodes->order[v]] = v;
    for (int32_t v = 0; v < w->node_count; v++) {
        int32_t node = w->nodes->order[v];
        for (int32_t i = before->first[node]; i < before->first[node + 1]; i++) {
            w->in_edge[at] = at;
            w->edge[at++] = (emp_giph_edge){.from = place[before->node[i]],
                                            .to = v,
                                            .bytes = (double)before->bytes[i],
                                            .stated_ns = -1.0};
        }
        w->in_first[v + 1] = at;
    }
    for (int32_t i = 0; i < w->edge_count; i++) w->out_first[w->edge[i].from + 1]++;
    for (int32_t v = 0; v < w->node_count; v++) w->out_first[v + 1] += w->out_first[v];
    for (int32_t v = 0; v < w->node_count; v++) place[v] = w->out_first[v];
    for (int32_t i = 0; i < w->edge_count; i++) w->out_edge[place[w->edge[i].from]++] = i;
    return EMP_OK;
}

/* -1: there is none. */
static int32_t find_edge(const emp_giph_world *w, int32_t from, int32_t to)
{
    for (int32_t i = w->in_first[to]; i < w->in_first[to + 1]; i++)
        if (w->edge[w->in_edge[i]].from == from) return w->in_edge[i];
    return -1;
}

static void add_crossing(emp_giph_world *w, const emp_graph *g, emp_op_id from,
                         emp_op_id to, bool is_data)
{
    int32_t p = w->node_of_op[from], v = w->node_of_op[to];
    int32_t edge = p < 0 || v < 0 || p == v ? -1 : find_edge(w, p, v);
    double  stated_ns = (double)emp_graph_stated_copy_ns(g, from);

    if (edge < 0) return;
    w->crossing[w->crossing_count++] = (emp_giph_crossing){from, to, edge};
    if (is_data) w->edge[edge].stated_ns = fmax(w->edge[edge].stated_ns, stated_ns);
}

static emp_status add_crossings(emp_giph_world *w, const emp_graph *g, emp_error *err)
{
    size_t most = (size_t)g->edge_count + (size_t)g->control_edge_count;

    w->crossing = EMP_ADD_ARRAY(&w->arrays, emp_giph_crossing, most);
    if (w->crossing == NULL) return EMP_ERROR(EMP_ENOMEM, "%zu edges of ops", most);
    for (emp_op_id op = 0; op < g->op_count; op++) {
        for (int32_t i = g->input_offset[op]; i < g->input_offset[op + 1]; i++)
            add_crossing(w, g, g->tensor[g->input[i]].producer, op, true);
        for (int32_t i = g->control_offset[op]; i < g->control_offset[op + 1]; i++)
            add_crossing(w, g, g->control[i], op, false);
    }
    return EMP_OK;
}

/* ---- pairs and links --------------------------------------------------------------- */

static int32_t device_count_of(const emp_giph_world *w, int32_t node)
{
    return __builtin_popcountll(w->nodes->devices[w->nodes->order[node]]);
}

static void list_pairs(emp_giph_world *w, int32_t node)
{
    int32_t original = w->nodes->order[node], pair = w->pair_first[node];

    for (emp_device_id d = 0; d < w->device_count; d++) {
        if (!(w->nodes->devices[original] >> d & 1)) continue;
        w->node_of_pair[pair] = node;
        w->device_of_pair[pair] = d;
        w->time_ns[pair] = 1e9 * w->nodes->time_s[original * w->device_count + d];
        w->compute_ns[node] += w->time_ns[pair] / device_count_of(w, node);
        pair++;
    }
    w->pair_first[node + 1] = pair;
}

static emp_status add_pairs(emp_giph_world *w, emp_error *err)
{
    size_t nodes = (size_t)w->node_count, pairs = 0;

    for (int32_t v = 0; v < w->node_count; v++) pairs += (size_t)device_count_of(w, v);
    w->pair_count = (int32_t)pairs;
    w->pair_first = EMP_ADD_ARRAY(&w->arrays, int32_t, nodes + 1);
    w->node_of_pair = EMP_ADD_ARRAY(&w->arrays, int32_t, pairs);
    w->device_of_pair = EMP_ADD_ARRAY(&w->arrays, emp_device_id, pairs);
    w->time_ns = EMP_ADD_ARRAY(&w->arrays, double, pairs);
    w->compute_ns = EMP_ADD_ARRAY(&w->arrays, double, nodes);
    w->link_first = EMP_ADD_ARRAY(&w->arrays, int32_t, (size_t)w->edge_count + 1);
    if (w->arrays.is_short) return EMP_ERROR(EMP_ENOMEM, "%zu pairs", pairs);
    for (int32_t v = 0; v < w->node_count; v++) list_pairs(w, v);
    for (int32_t i = 0; i < w->edge_count; i++)
        w->link_first[i + 1] = w->link_first[i] + device_count_of(w, w->edge[i].to) +
                               device_count_of(w, w->edge[i].from) - 1;
    w->link_count = w->link_first[w->edge_count];
    return EMP_OK;
}

/* ---- devices ----------------------------------------------------------------------- */

static emp_status add_devices(emp_giph_world *w, const emp_machine *m, emp_error *err)
{
    size_t  devices = (size_t)m->device_count;
    double *means = EMP_ADD_ARRAY(&w->arrays, double, devices);

    w->rate = EMP_ADD_ARRAY(&w->arrays, double, devices);
    w->delay_ns = EMP_ADD_ARRAY(&w->arrays, double, devices *devices);
    w->ns_per_byte = EMP_ADD_ARRAY(&w->arrays, double, devices *devices);
    if (w->arrays.is_short) return EMP_ERROR(EMP_ENOMEM, "%zu devices", devices);
    for (int32_t q = 0; q < w->pair_count; q++) {
        w->rate[w->device_of_pair[q]] += w->time_ns[q];
        means[w->device_of_pair[q]] += w->compute_ns[w->node_of_pair[q]];
    }
    for (emp_device_id d = 0; d < m->device_count; d++)
        w->rate[d] = means[d] > 0.0 ? w->rate[d] / means[d] : 1.0;
    for (emp_device_id a = 0; a < m->device_count; a++) {
        for (emp_device_id b = 0; b < m->device_count; b++) {
            if (a == b) continue;
            w->delay_ns[a * m->device_count + b] = 1e9 * m->route[a][b].latency_s;
            w->ns_per_byte[a * m->device_count + b] = 1e9 / m->route[a][b].bytes_per_s;
        }
    }
    return EMP_OK;
}

static double least_time(const emp_giph_world *w, int32_t node)
{
    double least = w->time_ns[w->pair_first[node]];

    for (int32_t q = w->pair_first[node]; q < w->pair_first[node + 1]; q++)
        least = fmin(least, w->time_ns[q]);
    return least;
}

static emp_status measure_path(emp_giph_world *w, emp_error *err)
{
    double *end = EMP_ADD_ARRAY(&w->arrays, double, (size_t)w->node_count);

    if (end == NULL) return EMP_ERROR(EMP_ENOMEM, "paths of %d nodes", w->node_count);
    w->least_ns = 1.0;
    for (int32_t v = 0; v < w->node_count; v++) {
        for (int32_t i = w->in_first[v]; i < w->in_first[v + 1]; i++)
            end[v] = fmax(end[v], end[w->edge[w->in_edge[i]].from]);
        end[v] += least_time(w, v);
        w->least_ns = fmax(w->least_ns, end[v]);
    }
    return EMP_OK;
}

/* ------------------------------------------------------------------------------------ */

emp_status emp_giph_world_init(emp_giph_world *w, const emp_node_graph *nodes,
                               const emp_problem *problem, emp_error *err)
{
    *w = (emp_giph_world){.device_count = problem->machine->device_count};
    EMP_CHECK(add_nodes(w, nodes, err));
    EMP_CHECK(add_edges(w, err));
    EMP_CHECK(add_crossings(w, problem->graph, err));
    EMP_CHECK(add_pairs(w, err));
    EMP_CHECK(add_devices(w, problem->machine, err));
    return measure_path(w, err);
}

void emp_giph_world_clear(emp_giph_world *w)
{
    emp_arrays_clear(&w->arrays);
    *w = (emp_giph_world){0};
}

double emp_giph_message_ns(const emp_giph_world *w, int32_t edge, emp_device_id from,
                           emp_device_id to)
{
    const emp_giph_edge *e = &w->edge[edge];
    int32_t              between = from * w->device_count + to;

    if (from == to) return 0.0;
    if (e->stated_ns >= 0.0) return e->stated_ns;
    return w->delay_ns[between] + e->bytes * w->ns_per_byte[between];
}

// SPDX-License-Identifier: GPL-3.0-or-later
#include "policy/giph/giph.h"

#include <math.h>
#include <string.h>

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

/* The time of an edge's message between two devices; 0 on one. */
static double message_ns_of(const emp_giph_world *w, int32_t edge, emp_device_id from,
                            emp_device_id to)
{
    const emp_giph_edge *e = &w->edge[edge];
    int32_t              between = from * w->device_count + to;

    if (from == to) return 0.0;
    if (e->stated_ns >= 0.0) return e->stated_ns;
    return w->delay_ns[between] + e->bytes * w->ns_per_byte[between];
}

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

static const double SHARPNESS = 10.0; /* of the first softmax */

/* Bytes over the most, 1 when no edge of the node carries any. */
static double weight(const emp_giph_world *w, int32_t edge, double most)
{
    return exp(SHARPNESS * (most > 0.0 ? w->edge[edge].bytes / most : 1.0));
}

void emp_criticality_begin(const emp_criticality *c, const emp_giph_world *w)
{
    for (int32_t v = 0; v < w->node_count; v++) {
        double most = 0.0, sum = 0.0;
        for (int32_t i = w->out_first[v]; i < w->out_first[v + 1]; i++)
            most = fmax(most, w->edge[w->out_edge[i]].bytes);
        for (int32_t i = w->out_first[v]; i < w->out_first[v + 1]; i++)
            sum += weight(w, w->out_edge[i], most);
        for (int32_t i = w->out_first[v]; i < w->out_first[v + 1]; i++)
            c->edge[w->out_edge[i]] = weight(w, w->out_edge[i], most) / sum;
    }
    emp_criticality_spread(c, w);
}

void emp_criticality_spread(const emp_criticality *c, const emp_giph_world *w)
{
    for (int32_t v = 0; v < w->node_count; v++) {
        double sum = 0.0;
        for (int32_t i = w->in_first[v]; i < w->in_first[v + 1]; i++)
            sum += c->node[w->edge[w->in_edge[i]].from] * c->edge[w->in_edge[i]];
        c->node[v] = w->in_first[v] < w->in_first[v + 1] ? sum : 1.0;
    }
}

/* The edge by which the last input of a node came; -1 = it has none. */
static int32_t last_input(const emp_giph_world *w, const emp_giph_placement *p,
                          int32_t node)
{
    int32_t last = -1;
    double  last_ns = -1.0;

    for (int32_t i = w->in_first[node]; i < w->in_first[node + 1]; i++) {
        int32_t edge = w->in_edge[i], from = w->edge[edge].from;
        double  at_ns = (double)p->sent_ns[edge] +
                       message_ns_of(w, edge, w->device_of_pair[p->pivot[from]],
                                     w->device_of_pair[p->pivot[node]]);
        if (at_ns <= last_ns) continue;
        last = edge;
        last_ns = at_ns;
    }
    return last;
}

/* The edges out of the node learn that the path took one of them. */
static void take(const emp_criticality *c, const emp_giph_world *w, int32_t taken,
                 double share)
{
    int32_t node = w->edge[taken].from;

    for (int32_t i = w->out_first[node]; i < w->out_first[node + 1]; i++) {
        int32_t edge = w->out_edge[i];
        c->edge[edge] += share * ((edge == taken ? 1.0 : 0.0) - c->edge[edge]);
    }
}

void emp_criticality_learn(const emp_criticality *c, const emp_giph_world *w,
                           const emp_giph_placement *p, double share)
{
    int32_t node = 0;

    for (int32_t v = 1; v < w->node_count; v++)
        if (p->end_ns[v] > p->end_ns[node]) node = v;
    for (int32_t edge; (edge = last_input(w, p, node)) >= 0; node = w->edge[edge].from)
        take(c, w, edge, share);
}

enum { X = EMP_GIPH_NODE_FEATURES, E = EMP_GIPH_EDGE_FEATURES };

/* Columns. */
enum { COMPUTE, RATE, TIME, POTENTIAL, CRITICALITY };
enum { BYTES, DELAY, MESSAGE, BYTE_TIME, EDGE_CRITICALITY };

emp_status emp_gpnet_init(emp_gpnet *net, const emp_giph_world *world, emp_error *err)
{
    size_t pairs = (size_t)world->pair_count, links = (size_t)world->link_count;

    *net = (emp_gpnet){.world = world};
    net->x = EMP_ADD_ARRAY(&net->arrays, emp_real, pairs * X);
    net->e = EMP_ADD_ARRAY(&net->arrays, emp_real, links * E);
    net->source = EMP_ADD_ARRAY(&net->arrays, int32_t, links);
    net->target = EMP_ADD_ARRAY(&net->arrays, int32_t, links);
    net->in_degree = EMP_ADD_ARRAY(&net->arrays, int32_t, pairs);
    net->out_degree = EMP_ADD_ARRAY(&net->arrays, int32_t, pairs);
    net->raw = EMP_ADD_ARRAY(&net->arrays, double, (pairs + links) * (X > E ? X : E));
    if (net->arrays.is_short)
        return EMP_ERROR(EMP_ENOMEM, "a gpNet of %zu pairs and %zu links", pairs, links);
    return EMP_OK;
}

void emp_gpnet_clear(emp_gpnet *net)
{
    emp_arrays_clear(&net->arrays);
    *net = (emp_gpnet){0};
}

/* ---- structure --------------------------------------------------------------------- */

static void add_link(emp_gpnet *net, int32_t link, int32_t source, int32_t target)
{
    net->source[link] = source;
    net->target[link] = target;
    net->out_degree[source]++;
    net->in_degree[target]++;
}

static void connect(emp_gpnet *net, const int32_t *pivot)
{
    const emp_giph_world *w = net->world;
    size_t                bytes = (size_t)w->pair_count * sizeof *net->in_degree;

    memset(net->in_degree, 0, bytes);
    memset(net->out_degree, 0, bytes);
    for (int32_t i = 0; i < w->edge_count; i++) {
        int32_t link = w->link_first[i], from = w->edge[i].from, to = w->edge[i].to;
        for (int32_t q = w->pair_first[to]; q < w->pair_first[to + 1]; q++)
            add_link(net, link++, pivot[from], q);
        for (int32_t q = w->pair_first[from]; q < w->pair_first[from + 1]; q++)
            if (q != pivot[from]) add_link(net, link++, q, pivot[to]);
    }
}

/* ---- features ---------------------------------------------------------------------- */

static void scale(emp_real *to, const double *from, int32_t rows, int32_t columns,
                  int32_t column)
{
    double low = from[column], high = low;

    for (int32_t i = 0; i < rows; i++) {
        double value = from[i * columns + column];
        low = value < low ? value : low;
        high = value > high ? value : high;
    }
    for (int32_t i = 0; i < rows; i++) {
        int32_t at = i * columns + column;
        to[at] = high > low ? (emp_real)((from[at] - low) * 2.0 / (high - low) - 1.0) : 0;
    }
}

/* When the last input of a node would be there, were the node on the device of the pair. */
static double inputs_ns(const emp_giph_world *w, const emp_giph_placement *at,
                        int32_t pair)
{
    int32_t node = w->node_of_pair[pair];
    double  last_ns = 0.0;

    for (int32_t i = w->in_first[node]; i < w->in_first[node + 1]; i++) {
        int32_t edge = w->in_edge[i], from = w->edge[edge].from;
        double  ns = (double)at->sent_ns[edge] +
                    message_ns_of(w, edge, w->device_of_pair[at->pivot[from]],
                                  w->device_of_pair[pair]);
        last_ns = ns > last_ns ? ns : last_ns;
    }
    return last_ns;
}

static void fill_pairs(emp_gpnet *net, const emp_giph_placement *at,
                       const emp_criticality *criticality)
{
    const emp_giph_world *w = net->world;

    for (int32_t q = 0; q < w->pair_count; q++) {
        int32_t node = w->node_of_pair[q];
        bool    is_pivot = at->pivot[node] == q;
        double *x = &net->raw[q * X];
        x[COMPUTE] = w->compute_ns[node];
        x[RATE] = w->rate[w->device_of_pair[q]];
        x[TIME] = w->time_ns[q];
        x[POTENTIAL] = is_pivot ? 0.0 : inputs_ns(w, at, q) - (double)at->start_ns[node];
        x[CRITICALITY] = criticality->node[node];
    }
    for (int32_t i = 0; i < X; i++) scale(net->x, net->raw, w->pair_count, X, i);
}

static void fill_links(emp_gpnet *net, const emp_criticality *criticality)
{
    const emp_giph_world *w = net->world;

    for (int32_t i = 0; i < w->edge_count; i++) {
        for (int32_t l = w->link_first[i]; l < w->link_first[i + 1]; l++) {
            emp_device_id from = w->device_of_pair[net->source[l]],
                          to = w->device_of_pair[net->target[l]];
            double *e = &net->raw[l * E];
            e[BYTES] = w->edge[i].bytes;
            e[DELAY] = w->delay_ns[from * w->device_count + to];
            e[MESSAGE] = message_ns_of(w, i, from, to);
            e[BYTE_TIME] = w->ns_per_byte[from * w->device_count + to];
            e[EDGE_CRITICALITY] = criticality->edge[i];
        }
    }
    for (int32_t i = 0; i < E; i++) scale(net->e, net->raw, w->link_count, E, i);
}

void emp_gpnet_fill(emp_gpnet *net, const emp_giph_placement *placement,
                    const emp_criticality *criticality)
{
    connect(net, placement->pivot);
    fill_pairs(net, placement, criticality);
    fill_links(net, criticality);
}

// SPDX-License-Identifier: GPL-3.0-or-later
#include "policy/giph/gpnet.h"

#include <string.h>

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
                    emp_giph_message_ns(w, edge, w->device_of_pair[at->pivot[from]],
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
            e[MESSAGE] = emp_giph_message_ns(w, i, from, to);
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

// SPDX-License-Identifier: GPL-3.0-or-later
#include "search/acyclic/acyclic_start.h"

#include <math.h>

#include "base/mem.h"
#include "search/partition/metis_cut.h"

static const double least_share = 0.01; /* that METIS is asked for */

void emp_acyclic_start_order(const emp_flow_graph *g, const int32_t *order, double share,
                             int8_t *side)
{
    double wanted = share * (double)emp_flow_graph_load(g), load = 0.0;

    for (int32_t i = 0; i < g->vertex_count; i++) {
        double own = (double)g->load[order[i]];
        side[order[i]] = load + 0.5 * own > wanted;
        load += own;
    }
}

/* Weights of 32 bits, at least 1, whose sums stay within METIS's. */
static void scale(const int64_t *from, int32_t count, int64_t limit, int32_t *to)
{
    int64_t total = 0;

    for (int32_t i = 0; i < count; i++) total += from[i];
    int64_t unit = total / limit + 1;
    for (int32_t i = 0; i < count; i++)
        to[i] = (int32_t)fmax(1.0, (double)(from[i] / unit));
}

emp_status emp_acyclic_start_metis(const emp_flow_graph *g, double share, uint64_t seed,
                                   const atomic_int *stop, int8_t *side, emp_error *err)
{
    emp_status          st = EMP_OK;
    int32_t             arc_count = g->row[g->vertex_count];
    double              first = fmin(fmax(share, least_share), 1.0 - least_share);
    double              shares[2] = {first, 1.0 - first};
    const emp_metis_cut halves = {.share = shares, .stop = stop};
    int32_t            *part = EMP_NEW_ARRAY(int32_t, (size_t)g->vertex_count);
    emp_partition_graph undirected = {
        .vertex_count = g->vertex_count,
        .row = g->row,
        .neighbor = g->neighbor,
        .load = EMP_NEW_ARRAY(int32_t, (size_t)g->vertex_count),
        .traffic = EMP_NEW_ARRAY(int32_t, (size_t)arc_count)};

    if (!part || !undirected.load || !undirected.traffic)
        EMP_FAIL(EMP_ENOMEM, "undirected graph of %d vertices", g->vertex_count);
    scale(g->load, g->vertex_count, EMP_PARTITION_LOAD_LIMIT, undirected.load);
    scale(g->traffic, arc_count, 2 * EMP_PARTITION_TRAFFIC_LIMIT, undirected.traffic);
    EMP_TRY(emp_metis_parts(&undirected, 2, &halves, seed, part, err));
    for (int32_t v = 0; v < g->vertex_count; v++) side[v] = (int8_t)part[v];

cleanup:
    emp_free(part);
    emp_free(undirected.load);
    emp_free(undirected.traffic);
    return st;
}

void emp_acyclic_start_mend(const emp_flow_graph *g, const int32_t *order,
                            bool joins_first, int8_t *side)
{
    int8_t which = joins_first ? 0 : 1, flow = joins_first ? -1 : 1;

    for (int32_t k = 0; k < g->vertex_count; k++) {
        int32_t v = order[joins_first ? g->vertex_count - 1 - k : k];
        for (int32_t i = g->row[v]; side[v] == which && i < g->row[v + 1]; i++)
            if (g->flow[i] == flow) side[g->neighbor[i]] = which;
    }
}

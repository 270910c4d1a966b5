// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/search/partition/ring_graph.h"

#include <stdlib.h>

enum { CHORD = 5000, ARCS = 4 };

emp_partition_graph ring_graph_make(void)
{
    static const int32_t step[ARCS] = {1, RING_VERTICES - 1, CHORD,
                                       RING_VERTICES - CHORD};
    const size_t         count = RING_VERTICES;
    emp_partition_graph  g = {.vertex_count = RING_VERTICES,
                              .row = malloc((count + 1) * sizeof(int32_t)),
                              .load = malloc(count * sizeof(int32_t)),
                              .is_cpu_only = calloc(count, sizeof *g.is_cpu_only),
                              .neighbor = malloc(ARCS * count * sizeof(int32_t)),
                              .traffic = malloc(ARCS * count * sizeof(int32_t))};

    for (int32_t v = 0; v <= RING_VERTICES; v++) g.row[v] = ARCS * v;
    for (int32_t v = 0; v < RING_VERTICES; v++) {
        g.load[v] = 1;
        for (int32_t i = 0; i < ARCS; i++) {
            g.neighbor[ARCS * v + i] = (v + step[i]) % RING_VERTICES;
            g.traffic[ARCS * v + i] = 1;
        }
    }
    return g;
}

void ring_graph_free(emp_partition_graph *g)
{
    free(g->row);
    free(g->load);
    free(g->is_cpu_only);
    free(g->neighbor);
    free(g->traffic);
}

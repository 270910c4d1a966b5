// SPDX-License-Identifier: GPL-3.0-or-later
#include "policy/giph/criticality.h"

#include <math.h>

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
                       emp_giph_message_ns(w, edge, w->device_of_pair[p->pivot[from]],
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

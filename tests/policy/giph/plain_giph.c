// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/policy/giph/plain_giph.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { OPS = PLAIN_OPS, DEVICES = PLAIN_DEVICES };

plain_problem plain_read(const emp_problem *problem)
{
    const emp_graph   *g = problem->graph;
    const emp_machine *m = problem->machine;
    plain_problem      p = {.ops = g->op_count, .devices = m->device_count};

    if (p.ops > OPS || p.devices > DEVICES) abort();
    for (int i = 0; i < p.ops; i++) {
        p.compute[i] = (double)g->stated[i].gpu_ns;
        for (int j = 0; j < p.ops; j++) p.bytes[i][j] = -1.0;
    }
    for (int j = 0; j < p.ops; j++) {
        for (int i = g->input_offset[j]; i < g->input_offset[j + 1]; i++) {
            const emp_tensor *t = &g->tensor[g->input[i]];
            p.bytes[t->producer][j] = (double)t->copy_bytes;
        }
    }
    for (int a = 0; a < p.devices; a++) {
        p.factor[a] = m->device[a].time_factor;
        for (int b = 0; b < p.devices; b++) {
            p.delay[a][b] = a == b ? 0.0 : 1e9 * m->route[a][b].latency_s;
            p.rate[a][b] = a == b ? 0.0 : 1e9 / m->route[a][b].bytes_per_s;
        }
    }
    return p;
}

static double message(const plain_problem *p, int i, int j, int a, int b)
{
    return a == b ? 0.0 : p->delay[a][b] + p->rate[a][b] * p->bytes[i][j];
}

static bool is_edge(const plain_problem *p, int i, int j)
{
    return p->bytes[i][j] >= 0.0;
}

/* ---- criticality ---- */

void plain_begin(const plain_problem *p, double critical[OPS][OPS])
{
    for (int i = 0; i < p->ops; i++) {
        double most = 0.0, sum = 0.0;
        for (int j = 0; j < p->ops; j++) most = fmax(most, p->bytes[i][j]);
        for (int j = 0; j < p->ops; j++)
            sum += is_edge(p, i, j) ? exp(10.0 * p->bytes[i][j] / most) : 0.0;
        for (int j = 0; j < p->ops; j++)
            critical[i][j] =
                is_edge(p, i, j) ? exp(10.0 * p->bytes[i][j] / most) / sum : 0.0;
    }
}

void plain_learn(const plain_problem *p, const plain_state *s, double critical[OPS][OPS])
{
    int at = 0;

    for (int i = 0; i < p->ops; i++)
        if (s->end[i] > s->end[at]) at = i;
    for (;;) {
        int    from = -1;
        double latest = -1.0;
        for (int i = 0; i < p->ops; i++) {
            if (!is_edge(p, i, at)) continue;
            double t = s->end[i] + message(p, i, at, s->device[i], s->device[at]);
            if (t > latest) {
                latest = t;
                from = i;
            }
        }
        if (from < 0) return;
        for (int j = 0; j < p->ops; j++)
            critical[from][j] = 0.9 * critical[from][j] + (j == at ? 0.1 : 0.0);
        at = from;
    }
}

static double criticality_of(const plain_problem *p, const plain_state *s, int op)
{
    double sum = 0.0;
    bool   has_input = false;

    for (int i = 0; i < p->ops; i++) {
        if (!is_edge(p, i, op)) continue;
        has_input = true;
        sum += criticality_of(p, s, i) * s->critical[i][op];
    }
    return has_input ? sum : 1.0;
}

/* ---- gpNet ---- */

/* Pair (i, a) is number i DEVICES + a. */
enum { PAIRS = OPS * DEVICES };

typedef struct {
    const plain_problem *p;
    const plain_state   *s;
    double               x[PAIRS][5];
    bool                 link[PAIRS][PAIRS];
    double               e[PAIRS][PAIRS][5];
} net;

static void scale(double *value[], int count)
{
    double low = INFINITY, high = -INFINITY;

    for (int i = 0; i < count; i++) {
        low = fmin(low, *value[i]);
        high = fmax(high, *value[i]);
    }
    for (int i = 0; i < count; i++)
        *value[i] = high > low ? 2.0 * (*value[i] - low) / (high - low) - 1.0 : 0.0;
}

static double potential(const net *n, int op, int device)
{
    double latest = 0.0;

    if (n->s->device[op] == device) return 0.0;
    for (int i = 0; i < n->p->ops; i++)
        if (is_edge(n->p, i, op))
            latest = fmax(latest,
                          n->s->end[i] + message(n->p, i, op, n->s->device[i], device));
    return latest - n->s->start[op];
}

static void add_pairs(net *n)
{
    const plain_problem *p = n->p;
    double              *column[PAIRS];

    for (int i = 0; i < p->ops; i++) {
        for (int a = 0; a < p->devices; a++) {
            double *x = n->x[i * DEVICES + a];
            x[0] = p->compute[i];
            x[1] = p->factor[a];
            x[2] = p->compute[i] * p->factor[a];
            x[3] = potential(n, i, a);
            x[4] = criticality_of(p, n->s, i);
        }
    }
    for (int f = 0; f < 5; f++) {
        int count = 0;
        for (int i = 0; i < p->ops; i++)
            for (int a = 0; a < p->devices; a++)
                column[count++] = &n->x[i * DEVICES + a][f];
        scale(column, count);
    }
}

static void add_links(net *n)
{
    const plain_problem *p = n->p;
    static double       *column[PAIRS * PAIRS];

    for (int i = 0; i < p->ops; i++) {
        for (int j = 0; j < p->ops; j++) {
            for (int a = 0; is_edge(p, i, j) && a < p->devices; a++) {
                for (int b = 0; b < p->devices; b++) {
                    if (n->s->device[i] != a && n->s->device[j] != b) continue;
                    double *e = n->e[i * DEVICES + a][j * DEVICES + b];
                    n->link[i * DEVICES + a][j * DEVICES + b] = true;
                    e[0] = p->bytes[i][j];
                    e[1] = p->delay[a][b];
                    e[2] = message(p, i, j, a, b);
                    e[3] = p->rate[a][b];
                    e[4] = n->s->critical[i][j];
                }
            }
        }
    }
    for (int f = 0; f < 5; f++) {
        int count = 0;
        for (int q = 0; q < PAIRS; q++)
            for (int r = 0; r < PAIRS; r++)
                if (n->link[q][r]) column[count++] = &n->e[q][r][f];
        if (count > 0) scale(column, count);
    }
}

/* ---- network ---- */

static double relu(double x) { return x > 0.0 ? x : 0.0; }

static void encode(const plain_params *w, const double *x, double *y)
{
    double hidden[5];

    for (int j = 0; j < 5; j++) {
        hidden[j] = w->a1_b[j];
        for (int i = 0; i < 5; i++) hidden[j] += x[i] * w->a1[i][j];
    }
    for (int j = 0; j < 5; j++) {
        y[j] = w->a2_b[j];
        for (int i = 0; i < 5; i++) y[j] += relu(hidden[i]) * w->a2[i][j];
    }
}

/* y of a pair in one direction, by recursion to the pairs before it. */
static void pass(const net *n, const plain_params *w, int way, int pair,
                 double known[PAIRS][5], bool is_known[PAIRS])
{
    double mean[10] = {0}, y[5];
    int    count = 0;

    if (is_known[pair]) return;
    for (int q = 0; q < PAIRS; q++) {
        bool is_in = way == 0 ? n->link[q][pair] : n->link[pair][q];
        if (!is_in) continue;
        const double *e = way == 0 ? n->e[q][pair] : n->e[pair][q];
        pass(n, w, way, q, known, is_known);
        count++;
        for (int j = 0; j < 10; j++) {
            double m = w->way[way].u_b[j];
            for (int i = 0; i < 5; i++)
                m += known[q][i] * w->way[way].u[i][j] + e[i] * w->way[way].u[5 + i][j];
            mean[j] += relu(m);
        }
    }
    encode(w, n->x[pair], y);
    for (int j = 0; j < 5; j++) {
        double rise = w->way[way].w_b[j];
        for (int i = 0; count > 0 && i < 10; i++)
            rise += mean[i] / count * w->way[way].w[i][j];
        known[pair][j] = y[j] + relu(rise);
    }
    is_known[pair] = true;
}

void plain_scores(const plain_problem *p, const plain_params *w, const plain_state *s,
                  double score[OPS][DEVICES])
{
    static net    n;
    static double y[2][PAIRS][5];
    bool          is_known[2][PAIRS] = {{false}};

    memset(&n, 0, sizeof n);
    n.p = p;
    n.s = s;
    add_pairs(&n);
    add_links(&n);
    for (int i = 0; i < p->ops; i++) {
        for (int a = 0; a < p->devices; a++) {
            int q = i * DEVICES + a;
            for (int way = 0; way < 2; way++) pass(&n, w, way, q, y[way], is_known[way]);
            score[i][a] = w->s2_b;
            for (int j = 0; j < 16; j++) {
                double hidden = w->s1_b[j];
                for (int k = 0; k < 5; k++)
                    hidden += y[0][q][k] * w->s1[k][j] + y[1][q][k] * w->s1[5 + k][j];
                score[i][a] += relu(hidden) * w->s2[j];
            }
        }
    }
}

double plain_log_p(const plain_problem *p, const plain_params *w, const plain_state *s,
                   int last, int op, int device)
{
    double score[OPS][DEVICES], sum = 0.0;

    plain_scores(p, w, s, score);
    for (int i = 0; i < p->ops; i++)
        for (int a = 0; a < p->devices; a++)
            if (i != last && a != s->device[i]) sum += exp(score[i][a]);
    return score[op][device] - log(sum);
}

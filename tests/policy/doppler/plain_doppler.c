// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/policy/doppler/plain_doppler.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

enum { H = PLAIN_WIDTH, G = H / 2, F = 5, MOST = PLAIN_OPS };

static void scale(double *x, int count, double equal)
{
    double mean = 0.0, squares = 0.0;

    for (int i = 0; i < count; i++) mean += x[i] / count;
    for (int i = 0; i < count; i++) squares += (x[i] - mean) * (x[i] - mean) / count;
    for (int i = 0; i < count; i++)
        x[i] = sqrt(squares) <= equal ? 0.0 : (x[i] - mean) / (sqrt(squares) + 1e-6);
}

static void scale_columns(double *x, int rows, int columns, double equal)
{
    double column[MOST];

    for (int c = 0; c < columns; c++) {
        for (int r = 0; r < rows; r++) column[r] = x[r * columns + c];
        scale(column, rows, equal);
        for (int r = 0; r < rows; r++) x[r * columns + c] = column[r];
    }
}

static const double *slice(const emp_params *p, const char *name)
{
    for (int32_t i = 0; i < p->slice_count; i++)
        if (strcmp(p->slice[i].name, name) == 0) return emp_params_value(p, i);
    cr_assert_fail("no slice %s", name);
    return NULL;
}

static double leaky(double x) { return x > 0.0 ? x : 0.1 * x; }
static double relu(double x) { return x > 0.0 ? x : 0.0; }
static double logistic(double x) { return 1.0 / (1.0 + exp(-x)); }

static double affine(const emp_params *p, const char *w, const char *b, const double *x,
                     int inputs, int outputs, int k)
{
    double sum = slice(p, b)[k];

    for (int i = 0; i < inputs; i++) sum += x[i] * slice(p, w)[i * outputs + k];
    return sum;
}

/* ---- what is known before ---- */

static double level(const plain_graph *g, int v, bool below, int *next)
{
    double longest = -1.0;

    *next = -1;
    for (int u = 0; u < g->ops; u++) {
        int    further;
        double there;
        if (!(below ? g->reads[u][v] : g->reads[v][u])) continue;
        there = level(g, u, below, &further);
        if (there > longest) longest = there, *next = u;
    }
    return g->compute[v] + (*next < 0 ? 0.0 : g->message[v] + longest);
}

static void node_features(const plain_graph *g, double *f)
{
    for (int v = 0; v < g->ops; v++) {
        int next;
        f[v * F + 0] = g->compute[v];
        f[v * F + 1] = level(g, v, true, &next);
        f[v * F + 2] = level(g, v, false, &next);
        f[v * F + 3] = f[v * F + 4] = 0.0;
        for (int u = 0; u < g->ops; u++) {
            f[v * F + 3] += g->reads[v][u] ? g->message[u] : 0.0;
            f[v * F + 4] += g->reads[u][v] ? g->message[v] : 0.0;
        }
    }
}

/* The sender's message on each edge of either direction, scaled over these. */
static double message_feature(const plain_graph *g, int sender)
{
    double mean = 0.0, squares = 0.0;
    int    count = 0;

    for (int u = 0; u < g->ops; u++)
        for (int v = 0; v < g->ops; v++)
            if (g->reads[u][v] || g->reads[v][u]) mean += g->message[u], count++;
    mean /= count;
    for (int u = 0; u < g->ops; u++)
        for (int v = 0; v < g->ops; v++)
            if (g->reads[u][v] || g->reads[v][u])
                squares += pow(g->message[u] - mean, 2) / count;
    return (g->message[sender] - mean) / (sqrt(squares) + 1e-6);
}

/* ---- messages ---- */

/* The message that u makes of its state: a matrix, and a vector that is added. */
static void make_message(const plain_graph *g, const emp_params *p, bool is_gated, int u,
                         double matrix[H * H], double vector[H])
{
    const double e = message_feature(g, u);

    for (int k = 0; k < H; k++) vector[k] = is_gated ? e * slice(p, "message_e")[k] : 0.0;
    for (int i = 0; i < H * H; i++)
        matrix[i] = is_gated ? slice(p, "message_w")[i] : slice(p, "matrix_b")[i];
    for (int j = 0; j < H && !is_gated; j++) {
        const double  hidden = relu(e * slice(p, "edge_w")[j] + slice(p, "edge_b")[j]);
        const double *w = slice(p, "matrix_w") + j * H * H;
        for (int i = 0; i < H * H; i++) matrix[i] += hidden * w[i];
    }
}

static void gru(const emp_params *p, const double *m, const double *h, double *next)
{
    double a[3 * H], u[3 * H];

    for (int k = 0; k < 3 * H; k++) {
        a[k] = affine(p, "gru_x_w", "gru_x_b", m, H, 3 * H, k);
        u[k] = affine(p, "gru_h_w", "gru_h_b", h, H, 3 * H, k);
    }
    for (int k = 0; k < H; k++) {
        double r = logistic(a[k] + u[k]), z = logistic(a[H + k] + u[H + k]);
        double n = tanh(a[2 * H + k] + r * u[2 * H + k]);
        next[k] = (1.0 - z) * n + z * h[k];
    }
}

static void embed(const plain_graph *g, const emp_params *p, bool is_gated, double *x)
{
    double f[MOST * F], h[MOST * H], next[MOST * H];
    double matrix[MOST][H * H], vector[MOST][H];

    node_features(g, f);
    scale_columns(f, g->ops, F, 0.0);
    for (int u = 0; u < g->ops; u++)
        make_message(g, p, is_gated, u, matrix[u], vector[u]);
    for (int v = 0; v < g->ops; v++)
        for (int k = 0; k < H; k++)
            h[v * H + k] = relu(affine(p, "node_w", "node_b", f + v * F, F, H, k));
    for (int t = 0; t < PLAIN_STEPS; t++) {
        for (int v = 0; v < g->ops; v++) {
            double m[H];
            for (int k = 0; k < H; k++) {
                m[k] = slice(p, "sum_b")[k];
                for (int u = 0; u < g->ops; u++) {
                    if (!g->reads[u][v] && !g->reads[v][u]) continue;
                    m[k] += vector[u][k];
                    for (int i = 0; i < H; i++)
                        m[k] += h[u * H + i] * matrix[u][i * H + k];
                }
                m[k] = relu(m[k]);
            }
            gru(p, m, h + v * H, next + v * H);
        }
        memcpy(h, next, sizeof h);
    }
    for (int i = 0; i < g->ops * H; i++) x[i] = leaky(h[i]);
}

/* Sums of x along longest paths, scaled over the nodes. */
static void sum_paths(const plain_graph *g, const double *x, bool below, double *sum)
{
    for (int v = 0; v < g->ops; v++) {
        for (int k = 0; k < H; k++) sum[v * H + k] = 0.0;
        for (int u = v, next; u >= 0; u = next) {
            level(g, u, below, &next);
            for (int k = 0; k < H; k++) sum[v * H + k] += x[u * H + k];
        }
    }
    scale_columns(sum, g->ops, H, 1e-5);
}

/* ---- choices ---- */

typedef struct {
    int    count;
    double feature[MOST * F], block[3][MOST * H];
    double p[MOST];
    double entropy;
} choices;

static void score(const emp_params *p, choices *c)
{
    double top = -1e300, total = 0.0;

    for (int i = 0; i < c->count; i++) {
        double row[4 * H], hidden[G];
        for (int k = 0; k < H; k++) {
            row[k] =
                leaky(affine(p, "feature_w", "feature_b", c->feature + i * F, F, H, k));
            for (int b = 0; b < 3; b++) row[(1 + b) * H + k] = c->block[b][i * H + k];
        }
        for (int k = 0; k < G; k++)
            hidden[k] = leaky(affine(p, "row_w", "row_b", row, 4 * H, G, k));
        c->p[i] = affine(p, "out_w", "out_b", hidden, G, 1, 0);
        top = fmax(top, c->p[i]);
    }
    for (int i = 0; i < c->count; i++) total += exp(c->p[i] - top);
    c->entropy = 0.0;
    for (int i = 0; i < c->count; i++) {
        c->p[i] = exp(c->p[i] - top) / total;
        c->entropy -= c->p[i] * log(c->p[i]);
    }
}

/* ---- an episode ---- */

typedef struct {
    const plain_graph *g;
    int                device[MOST]; /* -1: none */
    double             start[MOST], end[MOST];
} schedule;

static bool is_ready(const schedule *s, int v)
{
    if (s->device[v] >= 0) return false;
    for (int u = 0; u < s->g->ops; u++)
        if (s->g->reads[v][u] && s->device[u] < 0) return false;
    return true;
}

static double earliest(const schedule *s, int v, int d)
{
    double start = 0.0;

    for (int u = 0; u < s->g->ops; u++) {
        double way = s->device[u] == d ? 0.0 : s->g->message[u];
        if (s->device[u] == d) start = fmax(start, s->end[u]);
        if (s->g->reads[v][u]) start = fmax(start, s->end[u] + way);
    }
    return start;
}

static void device_features(const schedule *s, int v, int d, double *f)
{
    bool has_input = false;

    for (int i = 0; i < F; i++) f[i] = 0.0;
    for (int u = 0; u < s->g->ops; u++) {
        if (s->device[u] != d) continue;
        f[0] += s->g->compute[u];
        if (!s->g->reads[v][u]) continue;
        f[1] += s->g->compute[u];
        f[2] = has_input ? fmin(f[2], s->start[u]) : s->start[u];
        f[3] = fmax(f[3], s->end[u]);
        has_input = true;
    }
    f[4] = earliest(s, v, d);
}

static double choose_op(const schedule *s, const emp_params *p, const double *x,
                        int chosen, double *imitated, double *entropy)
{
    choices c = {0};
    double  sum[2][MOST * H], f[MOST * F], top = 0.0, log_prob = 0.0;
    int     op[MOST];

    node_features(s->g, f);
    for (int b = 0; b < 2; b++) sum_paths(s->g, x, b == 0, sum[b]);
    for (int v = 0; v < s->g->ops; v++) {
        if (!is_ready(s, v)) continue;
        op[c.count] = v;
        memcpy(c.feature + c.count * F, f + v * F, F * sizeof *f);
        memcpy(c.block[0] + c.count * H, x + v * H, H * sizeof *x);
        for (int b = 0; b < 2; b++)
            memcpy(c.block[1 + b] + c.count * H, sum[b] + v * H, H * sizeof *x);
        top = fmax(top, f[v * F + 1]);
        c.count++;
    }
    scale_columns(c.feature, c.count, F, 0.0);
    for (int b = 1; b < 3; b++) scale_columns(c.block[b], c.count, H, 1e-5);
    score(p, &c);
    for (int i = 0; i < c.count; i++) {
        if (f[op[i] * F + 1] == top) *imitated += log(c.p[i]);
        if (op[i] == chosen) log_prob = log(c.p[i]);
    }
    *entropy += c.entropy;
    return log_prob;
}

static double choose_device(const schedule *s, const emp_params *p, const double *x,
                            int v, int chosen, double *imitated, double *entropy)
{
    choices c = {.count = PLAIN_DEVICES};
    double  f[MOST * F], best = 1e300;

    node_features(s->g, f);
    scale_columns(f, s->g->ops, F, 0.0);
    for (int d = 0; d < PLAIN_DEVICES; d++) {
        device_features(s, v, d, c.feature + d * F);
        best = fmin(best, earliest(s, v, d));
        for (int k = 0; k < H; k++) {
            c.block[0][d * H + k] =
                leaky(affine(p, "latent_w", "latent_b", f + v * F, F, H, k));
            c.block[1][d * H + k] = x[v * H + k];
            for (int u = 0; u < s->g->ops; u++)
                if (s->device[u] == d) c.block[2][d * H + k] += x[u * H + k];
        }
    }
    scale_columns(c.feature, c.count, F, 0.0);
    scale_columns(c.block[2], c.count, H, 1e-5);
    score(p, &c);
    for (int d = 0; d < PLAIN_DEVICES; d++)
        if (earliest(s, v, d) == best) *imitated += log(c.p[d]);
    *entropy += c.entropy;
    return log(c.p[chosen]);
}

plain_sums plain_play(const plain_graph *g, const plain_episode *e,
                      const emp_params *selector, const emp_params *placer, bool is_gated,
                      double gamma)
{
    schedule   s = {.g = g};
    plain_sums sums = {0};
    double     x_selector[MOST * H], x_placer[MOST * H];

    embed(g, selector, is_gated, x_selector);
    embed(g, placer, is_gated, x_placer);
    for (int v = 0; v < g->ops; v++) s.device[v] = -1;
    for (int t = 0; t < g->ops; t++) {
        const int    v = e->op[t], d = e->device[t];
        const double factor = pow(gamma, g->ops - 1 - t);
        cr_assert(is_ready(&s, v), "op %d at step %d", v, t);
        sums.log_prob += factor * choose_op(&s, selector, x_selector, v, &sums.imitated,
                                            &sums.entropy);
        sums.log_prob += factor * choose_device(&s, placer, x_placer, v, d,
                                                &sums.imitated, &sums.entropy);
        s.start[v] = earliest(&s, v, d);
        s.end[v] = s.start[v] + g->compute[v];
        s.device[v] = d;
    }
    return sums;
}

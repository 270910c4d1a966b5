// SPDX-License-Identifier: GPL-3.0-or-later
/* Is an update that of the stated method? The network is computed again from the lines at the
 * comment of hsdag.h, with dense matrices and loops; its gradient comes from central
 * differences, rewards, clipping and Adam from their formulas. All in the double build. */
#include <stdlib.h>

#include "policy/hsdag/hsdag.h"
#include "policy/nn/layers.h"
#include "policy/nn/threads.h"
#include "tests/policy/differences.h"
#include "tests/support/problems.h"
#include "tests/support/status.h"

enum { LAYERS = 4, SAMPLES = 3, MAX_NODES = 24, MAX_WIDTH = 16, MAX_PARAMETERS = 4000 };

static const double STEP = 1e-6, LR = 0.01, EPSILON = 1e-3;

static task            h;
static emp_hsdag_agent agent;

static void create_agent(const char *preset, const char *text)
{
    emp_hsdag_options options = {0};

    hand_graph_comb(&h, LAYERS);
    MUST(emp_hsdag_options_parse(&options, preset, text, &why));
    MUST(emp_hsdag_agent_init(&agent, h.problem, &options, 1, 1, &why));
    cr_assert_leq(agent.coarse.set_count, MAX_NODES);
    cr_assert_leq(agent.net.params.count, MAX_PARAMETERS);
}

static void destroy_agent(void)
{
    emp_hsdag_agent_clear(&agent);
    task_destroy(&h);
}

TestSuite(hsdag_update, .fini = destroy_agent);

/* ---- the network in plain words ---- */

typedef double matrix[MAX_NODES][MAX_WIDTH];

typedef struct {
    int  n;
    bool edge[MAX_NODES][MAX_NODES];
} dense;

static const double *parameter(const char *name, int *rows, int *cols)
{
    const emp_params *p = &agent.net.params;

    for (int32_t s = 0; s < p->slice_count; s++) {
        if (strcmp(p->slice[s].name, name) != 0) continue;
        *rows = p->slice[s].rows;
        *cols = p->slice[s].cols;
        return p->value + p->slice[s].offset;
    }
    cr_assert_fail("no parameter %s", name);
    return NULL;
}

static const double *parameter_of(const char *layer, const char *part, int *rows,
                                  int *cols)
{
    char name[64];

    snprintf(name, sizeof name, "%s%s", layer, part);
    return parameter(name, rows, cols);
}

static void affine_row(double *y, const double *x, const char *layer)
{
    int           rows, cols, one;
    const double *w = parameter_of(layer, "", &rows, &cols);
    const double *b = parameter_of(layer, "_bias", &one, &cols);
    double        sum[MAX_WIDTH];

    for (int k = 0; k < cols; k++) {
        sum[k] = b[k];
        for (int c = 0; c < rows; c++) sum[k] += x[c] * w[c * cols + k];
    }
    memcpy(y, sum, (size_t)cols * sizeof *y);
}

static void norm_row(double *x, const char *layer)
{
    int           one, W;
    const double *gain = parameter_of(layer, "_gain", &one, &W);
    const double *shift = parameter_of(layer, "_shift", &one, &W);
    double        mean = 0.0, variance = 0.0;

    for (int i = 0; i < W; i++) mean += x[i] / W;
    for (int i = 0; i < W; i++) variance += (x[i] - mean) * (x[i] - mean) / W;
    for (int i = 0; i < W; i++)
        x[i] = gain[i] * (x[i] - mean) / sqrt(variance + 1e-5) + shift[i];
}

static void relu_row(double *x, int width)
{
    for (int i = 0; i < width; i++) x[i] = x[i] > 0 ? x[i] : 0;
}

static int width(void) { return agent.net.shape.width; }

static void mix(matrix y, matrix x, const dense *g)
{
    double degree[MAX_NODES];

    for (int v = 0; v < g->n; v++) {
        degree[v] = 1;
        for (int u = 0; u < g->n; u++) degree[v] += g->edge[v][u];
    }
    for (int v = 0; v < g->n; v++) {
        for (int i = 0; i < width(); i++) {
            y[v][i] = x[v][i] / degree[v];
            for (int u = 0; u < g->n; u++)
                if (g->edge[v][u]) y[v][i] += x[u][i] / sqrt(degree[u] * degree[v]);
        }
    }
}

/* D(affine(S h)). */
static void convolve(matrix y, matrix x, const dense *g, const char *layer)
{
    matrix mixed;

    mix(mixed, x, g);
    for (int v = 0; v < g->n; v++) {
        affine_row(y[v], mixed[v], layer);
        relu_row(y[v], width());
    }
}

static void add_and_norm(matrix y, matrix x, int n, const char *layer)
{
    for (int v = 0; v < n; v++) {
        for (int i = 0; i < width(); i++) y[v][i] += x[v][i];
        norm_row(y[v], layer);
    }
}

static double score_of(matrix g, int u, int v)
{
    double product[MAX_WIDTH], y[MAX_WIDTH], s[MAX_WIDTH];

    for (int i = 0; i < width(); i++) product[i] = g[u][i] * g[v][i];
    affine_row(y, product, "edge");
    norm_row(y, "edge");
    relu_row(y, width());
    affine_row(s, y, "score");
    return 1 / (1 + exp(-s[0]));
}

/* Components of nodes and their best neighbours, by labels that spread. */
static int join(int *group, const dense *g, double s[MAX_NODES][MAX_NODES])
{
    int  best[MAX_NODES], label[MAX_NODES], groups = 0;
    bool is_moving = true;

    for (int v = 0; v < g->n; v++) {
        best[v] = v;
        label[v] = v;
        for (int u = 0; u < g->n; u++)
            if (g->edge[v][u] && (best[v] == v || s[v][u] > s[v][best[v]])) best[v] = u;
    }
    while (is_moving) {
        is_moving = false;
        for (int v = 0; v < g->n; v++) {
            int low = label[v] < label[best[v]] ? label[v] : label[best[v]];
            is_moving = is_moving || label[v] != low || label[best[v]] != low;
            label[v] = label[best[v]] = low;
        }
    }
    for (int v = 0; v < g->n; v++) group[v] = label[v] == v ? groups++ : group[label[v]];
    return groups;
}

static void pool(matrix pooled, matrix q, const dense *g, const int *group, int groups,
                 double s[MAX_NODES][MAX_NODES])
{
    matrix sum = {{0}}, mapped;

    for (int v = 0; v < g->n; v++) {
        double y[MAX_WIDTH];
        affine_row(y, q[v], "member");
        for (int i = 0; i < width(); i++) y[i] += q[v][i];
        norm_row(y, "member");
        for (int i = 0; i < width(); i++) sum[group[v]][i] += y[i];
    }
    for (int a = 0; a < groups; a++) {
        double mean = 0.0;
        int    inside = 0;
        for (int u = 0; u < g->n; u++)
            for (int v = 0; v < g->n; v++)
                if (g->edge[u][v] && group[u] == a && group[v] == a)
                    mean += s[u][v], inside++;
        affine_row(mapped[a], sum[a], "pool");
        for (int i = 0; i < width(); i++) mapped[a][i] += sum[a][i];
        norm_row(mapped[a], "pool");
        for (int i = 0; i < width(); i++)
            pooled[a][i] = mapped[a][i] * (inside > 0 ? mean / inside : 1) *
                           (inside > 0 ? inside : 1);
    }
}

static dense contract(const dense *g, const int *group, int groups)
{
    dense out = {.n = groups};

    for (int u = 0; u < g->n; u++)
        for (int v = 0; v < g->n; v++)
            if (g->edge[u][v] && group[u] != group[v])
                out.edge[group[u]][group[v]] = true;
    return out;
}

/* A level; false: it pools nothing. */
static bool run_level(matrix x, dense *g, int *group)
{
    static double s[MAX_NODES][MAX_NODES];
    matrix        hidden, conv, q;
    int           groups;

    convolve(hidden, x, g, "convolve_1");
    convolve(conv, hidden, g, "convolve_2");
    add_and_norm(conv, x, g->n, "g");
    for (int u = 0; u < g->n; u++)
        for (int v = 0; v < g->n; v++)
            if (g->edge[u][v]) s[u][v] = score_of(conv, u, v);
    groups = join(group, g, s);
    if (groups == g->n || groups < agent.net.shape.min_groups) return false;
    convolve(q, x, g, "single");
    add_and_norm(q, x, g->n, "q");
    pool(x, q, g, group, groups, s);
    *g = contract(g, group, groups);
    return true;
}

/* log-probability of the devices of sets; x += codes if asked. */
static double plain(matrix x, const int32_t *device_of_set, bool is_advancing)
{
    const emp_hsdag_graph *graph = &agent.coarse.graph;
    dense                  g = {.n = graph->node_count};
    int    X = agent.inputs.width, D = agent.net.shape.devices, of_set[MAX_NODES];
    int    sets = g.n;
    double sum = 0.0;
    matrix hidden, code;

    for (int v = 0; v < g.n; v++) {
        of_set[v] = v;
        for (int e = graph->first[v]; e < graph->first[v + 1]; e++)
            g.edge[v][graph->node[e]] = true;
        for (int layer = 1; layer <= 2; layer++) {
            affine_row(hidden[v], layer == 1 ? x[v] : hidden[v],
                       layer == 1 ? "input_1" : "input_2");
            norm_row(hidden[v], layer == 1 ? "input_1" : "input_2");
            relu_row(hidden[v], width());
        }
    }
    for (int level = 0; level < agent.options.levels; level++) {
        int group[MAX_NODES];
        if (!run_level(hidden, &g, group)) break;
        for (int v = 0; v < sets; v++) of_set[v] = group[of_set[v]];
    }
    for (int a = 0; a < g.n; a++) {
        double  y[MAX_WIDTH], z = 0.0;
        int32_t device = -1;
        affine_row(y, hidden[a], "code_1");
        relu_row(y, width());
        affine_row(code[a], y, "code_2");
        relu_row(code[a], X);
        affine_row(y, code[a], "device_1");
        relu_row(y, width());
        affine_row(y, y, "device_2");
        for (int d = 0; d < D; d++) z += exp(y[d]);
        for (int v = 0; v < sets; v++)
            if (of_set[v] == a) {
                cr_assert(device < 0 || device == device_of_set[v], "a group is split");
                device = device_of_set[v];
            }
        sum += y[device] - log(z);
    }
    for (int v = 0; v < sets && is_advancing; v++)
        for (int i = 0; i < X; i++) x[v][i] += code[of_set[v]][i];
    return sum;
}

/* ---- an update ---- */

static emp_device_id            storage[SAMPLES][64];
static const emp_owned_decision candidates[SAMPLES] = {{.device_of_op = storage[0]},
                                                       {.device_of_op = storage[1]},
                                                       {.device_of_op = storage[2]}};
static matrix                   input[SAMPLES]; /* of each step */

static void draw_and_check(void)
{
    matrix  x = {{0}};
    int32_t count = 0, sets = agent.coarse.set_count;

    cr_assert_leq(h.graph->op_count, 64);
    MUST(emp_learner_ask(&agent, candidates, SAMPLES, &count, NULL));
    cr_assert_eq(count, SAMPLES);
    cr_assert_lt(agent.net.group_count, sets, "nothing is pooled");
    cr_assert_gt(agent.net.group_count, 1);
    for (int v = 0; v < sets; v++)
        memcpy(x[v], &agent.inputs.value[v * agent.inputs.width],
               (size_t)agent.inputs.width * sizeof(double));
    for (int k = 0; k < SAMPLES; k++) {
        memcpy(input[k], x, sizeof x);
        double want = plain(x, &agent.device[k * sets], true);
        cr_assert_float_eq(agent.log_prob[k], want, 1e-9, "step %d: %.12g, want %.12g", k,
                           agent.log_prob[k], want);
    }
}

static const double *weight_of_step;

static double objective(void)
{
    double sum = 0.0;

    for (int k = 0; k < SAMPLES; k++)
        sum += weight_of_step[k] *
               plain(input[k], &agent.device[k * agent.coarse.set_count], false);
    return sum;
}

static void expect_update(const emp_score *scores, const double *weight)
{
    static plain_block b;
    emp_params        *p = &agent.net.params;

    weight_of_step = weight;
    memcpy(b.value, p->value, p->count * sizeof *b.value);
    cr_assert_gt(differentiate(b.gradient, p->value, p->count, STEP, objective), 1e-3);
    plain_adam(&b, p->count, LR, EPSILON, agent.options.learner.clip, 1);
    MUST(emp_learner_tell(&agent, scores, SAMPLES, NULL));
    expect_block(p, &b, 1e-6, "parameter");
}

#define TINY "width=6,features=costs,samples=3,lr=0.01,epsilon=1e-3,nodes=0,"

static const emp_score scores[SAMPLES] = {{.step_time_s = 0.7, .is_feasible = true},
                                          {.step_time_s = 2.0, .is_feasible = false},
                                          {.step_time_s = 1.3, .is_feasible = true}};

Test(hsdag_update, each_step_has_its_own_advantage)
{
    create_agent("emplace", TINY "levels=2,groups_per_device=1,clip=0.05,failure=5");
    double s_ref = agent.reference_s, weight[SAMPLES],
           reward[SAMPLES] = {-sqrt(0.7 / s_ref), -5.0, -sqrt(1.3 / s_ref)};

    for (int k = 0; k < SAMPLES; k++)
        weight[k] = (reward[k] - (reward[0] + reward[2]) / 2) / SAMPLES;
    draw_and_check();
    expect_update(scores, weight);
}

Test(hsdag_update, an_episode_has_one_number)
{
    create_agent("paper", TINY "levels=1,groups_per_device=1,dropout=0,discount=0.5");
    double weight[SAMPLES], total = 0.0;

    draw_and_check();
    for (int k = 0; k < SAMPLES; k++) {
        const int32_t *device = &agent.device[k * agent.coarse.set_count];
        bool           is_single = true;
        for (int v = 0; v < agent.coarse.set_count; v++)
            is_single = is_single && device[v] == device[0];
        total = 0.5 * total + (is_single || k == 1 ? 1e-10 : 1 / scores[k].step_time_s);
    }
    cr_assert_gt(total, 0.3);
    for (int k = 0; k < SAMPLES; k++) weight[k] = total;
    expect_update(scores, weight);
}

static int32_t device_of_group[MAX_NODES];

static double drop_objective(void)
{
    emp_hsdag_net *net = &agent.net;
    emp_rng        rng;

    emp_rng_init(&rng, 5, 0, 0);
    emp_hsdag_net_forward(net, agent.inputs.value, &rng);
    return 2.0 * emp_hsdag_net_log_prob(net, device_of_group) + 0.3 * net->entropy;
}

/* Also of masks of devices, and of the entropy. */
Test(hsdag_update, gradients_with_dropout_are_those_of_the_masks_drawn)
{
    static double want[MAX_PARAMETERS];

    create_agent("paper", TINY "levels=2,groups_per_device=1,dropout=0.2");
    emp_hsdag_net *net = &agent.net;

    net->level[0].graph.devices[1] = 6; /* not on device 0 */
    drop_objective();
    for (int a = 0; a < net->group_count; a++) device_of_group[a] = 1 + a % 2;
    drop_objective();
    emp_params_zero_gradient(&net->params);
    emp_hsdag_net_backward(net, agent.inputs.value, device_of_group, 2.0, 0.3);
    const double largest =
        differentiate(want, net->params.value, net->params.count, STEP, drop_objective);
    expect_gradient(&net->params, want, 1.0, 1e-5 * fmax(1, largest));
}

/* More nodes and edges than go through layers together. */
enum { MANY = 1100, MANY_INPUTS = 5, MANY_DEVICES = 3 };

static emp_hsdag_net many;
static double        many_x[MANY * MANY_INPUTS];
static int32_t       many_device[MANY];

static void create_many(double dropout)
{
    const emp_hsdag_shape shape = {.inputs = MANY_INPUTS,
                                   .width = 16,
                                   .devices = MANY_DEVICES,
                                   .levels = 2,
                                   .min_groups = 4,
                                   .dropout = dropout};
    static const int32_t  offset[] = {-17, -1, 1, 17};
    emp_hsdag_graph       graph = {.node_count = MANY};
    emp_arrays            arrays = {0};
    emp_rng               rng;

    emp_hsdag_graph_allocate(&graph, MANY, 4 * MANY, &arrays);
    cr_assert(!arrays.is_short);
    graph.node_count = MANY;
    for (int32_t v = 0; v < MANY; v++) {
        graph.devices[v] = 7;
        for (int k = 0; k < 4; k++)
            if (v + offset[k] >= 0 && v + offset[k] < MANY)
                graph.node[graph.edge_count++] = v + offset[k];
        graph.first[v + 1] = graph.edge_count;
    }
    MUST(emp_hsdag_net_init(&many, &shape, &graph, 1, &why));
    emp_arrays_clear(&arrays);
    emp_rng_init(&rng, 5, 0, 0);
    emp_hsdag_net_randomize(&many, &rng);
    fill(many_x, MANY * MANY_INPUTS, 51);
    for (size_t i = 0; i < many.params.count; i++) /* no unit is just at 0 */
        many.params.value[i] += 0.05 * sin((double)i);
}

static double many_loss(void)
{
    emp_rng rng;

    emp_rng_init(&rng, 6, 0, 0);
    emp_hsdag_net_forward(&many, many_x, &rng);
    return emp_hsdag_net_log_prob(&many, many_device);
}

static double loss_along(const double *direction, double step)
{
    emp_params *p = &many.params;

    emp_vector_add_scaled(p->value, direction, step, (int64_t)p->count);
    const double loss = many_loss();
    emp_vector_add_scaled(p->value, direction, -step, (int64_t)p->count);
    return loss;
}

Test(hsdag_net, of_many_nodes_has_the_gradient_on_any_threads)
{
    for (int k = 0; k < 2; k++) {
        create_many(k == 0 ? 0.0 : 0.2);
        const size_t count = many.params.count;
        double      *got = calloc(3 * count, sizeof *got), *again = got + count,
               *direction = got + 2 * count;
        emp_rng rng;
        cr_assert_not_null(got);
        fill(direction, (int)count, 52);
        many_loss();
        cr_expect_eq(many.depth, 2);
        emp_rng_init(&rng, 7, 0, 0);
        emp_hsdag_net_draw(&many, many_device, &rng);
        emp_hsdag_net_gradient(&many, many_x, many_device, got);
        emp_team_set_least(1);
        many.threads = 3;
        many_loss();
        emp_hsdag_net_gradient(&many, many_x, many_device, again);
        cr_expect_arr_eq(got, again, count * sizeof *got, "on three threads");
        emp_team_set_least(0);
        const double want =
            (loss_along(direction, STEP) - loss_along(direction, -STEP)) / (2 * STEP);
        cr_expect_float_eq(dot(got, direction, (int)count), want, 1e-4 * fabs(want));
        free(got);
        emp_hsdag_net_clear(&many);
    }
}

Test(hsdag_update, of_18_inputs_and_2_devices_has_141_thousand_parameters)
{
    create_agent("paper", TINY "dropout=0");
    const emp_hsdag_shape shape = {.inputs = 18, .width = 128, .devices = 2, .levels = 2};
    emp_hsdag_net         net;
    int64_t               count = 0;

    MUST(emp_hsdag_net_init(&net, &shape, &agent.coarse.graph, 1, NULL));
    for (int32_t s = 0; s < net.params.slice_count; s++)
        count += (int64_t)net.params.slice[s].rows * net.params.slice[s].cols;
    cr_expect_eq(count, 141461, "%d", (int)count);
    emp_hsdag_net_clear(&net);
}

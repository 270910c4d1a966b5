// SPDX-License-Identifier: GPL-3.0-or-later
/* Are two whole updates those of the stated method? The network is written down here a second
 * time, in plain loops over dense matrices, after placeto.h. Its probabilities, the gradients that central
 * differences of it give, returns, baselines, clipping and Adam are those of the agent, in the
 * double build. */
#include "policy/placeto/placeto.h"
#include "tests/policy/differences.h"
#include "tests/support/problems.h"
#include "tests/support/status.h"

enum { OPS = 9, D = 2, INPUTS = 5 + D, ROLLOUTS = 3, PASSES = 2, EPISODES = 2 };
enum { STRIDE = 29 /* every so many parameters are looked at */ };

static const double STEP = 1e-6, GAMMA = 0.9, CLIP = 0.4;

/* A bridge, two components, and a node with no edge. */
static const stated_edge edges[] = {{0, 1}, {0, 2}, {1, 3}, {2, 3},
                                    {3, 4}, {5, 6}, {6, 7}, {0, 4}};

static task               t;
static emp_placeto_agent *agent;
static emp_rng            rng;

static void create(void)
{
    static stated_op        ops[OPS];
    const emp_method_params params = {
        .seed = 3,
        .threads = 1,
        .preset = "emplace",
        .options = "rollouts=3,passes=2,window=2,updates=3,gamma=0.9,clip=0.4,lr=0.01,"
                   "start=once,lr_last=0.002,entropy=0.3,entropy_last=0.1,epsilon=1e-3"};
    void *state = NULL;

    for (int i = 0; i < OPS; i++) ops[i] = (stated_op){.gpu_us = 1 + i % 4, .cpu_us = 9};
    task_create_stated(&t, ops, OPS, edges, COUNT(edges), 1, D, INT64_C(1) << 40,
                       "msr-latency");
    for (int i = 0; i < OPS; i++)
        t.graph->tensor[t.graph->output_offset[i]].copy_bytes = 100 * (i % 3);
    MUST(emp_method_create(&state, &emp_method_placeto, t.problem, &params, &why));
    agent = (emp_placeto_agent *)state;
    cr_assert_eq(agent->graph->node_count, OPS);
    cr_assert_eq(agent->net.params.slice_count, 2 * EMP_PLACETO_LAYERS);
    emp_rng_init(&rng, 11, 0, 0);
    /* Nothing is at the kink of a ReLU that biases of 0 leave there. */
    for (int i = 1; i < 2 * EMP_PLACETO_LAYERS; i += 2)
        for (int c = 0; c < agent->net.params.slice[i].cols; c++)
            emp_params_value(&agent->net.params, i)[c] = 0.2 * emp_rng_normal(&rng);
}

static void destroy(void)
{
    emp_method_destroy(&emp_method_placeto, agent);
    task_destroy(&t);
    expect_all_freed();
}

TestSuite(placeto_update, .init = create, .fini = destroy);

/* ---- the network, plainly ---- */

static const double *weights; /* the block of parameters */

static void map(int layer, const double *x, double *y, bool has_relu)
{
    const emp_param_slice *w = &agent->net.params.slice[2 * layer];
    const double          *b = &weights[agent->net.params.slice[2 * layer + 1].offset];

    for (int k = 0; k < w->cols; k++) {
        double sum = b[k];
        for (int c = 0; c < w->rows; c++)
            sum += x[c] * weights[w->offset + (size_t)(c * w->cols + k)];
        y[k] = has_relu ? fmax(sum, 0.0) : sum;
    }
}

enum { WIDE = 16 * INPUTS };

/* relu(FNN(sum over the set of relu(FNN(y)))) */
static void aggregate(int layer, double y[OPS][WIDE], const bool *set, int width,
                      double *out)
{
    double sum[WIDE] = {0}, inner[WIDE], message[WIDE];

    for (int u = 0; u < OPS; u++) {
        if (!set[u]) continue;
        map(layer, y[u], inner, true);
        map(layer + 1, inner, message, true);
        for (int c = 0; c < width; c++) sum[c] += message[c];
    }
    map(layer + 2, sum, inner, true);
    map(layer + 3, inner, out, true);
}

static bool is_edge(int u, int v)
{
    for (size_t i = 0; i < COUNT(edges); i++)
        if (edges[i].from == u && edges[i].to == v) return true;
    return false;
}

static bool reaches(int u, int v)
{
    for (int w = u + 1; w <= v; w++)
        if (is_edge(u, w) && (w == v || reaches(w, v))) return true;
    return false;
}

static void pass(int layer, bool is_forward, double z[OPS][WIDE], double y[OPS][WIDE])
{
    double next[OPS][WIDE];

    for (int v = 0; v < OPS; v++) {
        bool   set[OPS], has_any = false;
        double out[WIDE];
        for (int u = 0; u < OPS; u++) {
            set[u] = is_forward ? is_edge(u, v) : is_edge(v, u);
            has_any = has_any || set[u];
        }
        aggregate(layer, y, set, INPUTS, out);
        for (int c = 0; c < INPUTS; c++) next[v][c] = z[v][c] + (has_any ? out[c] : 0.0);
    }
    memcpy(y, next, sizeof next);
}

static void plain_odds(double x[OPS][INPUTS], int v, double p[D])
{
    static double z[OPS][WIDE], y[2][OPS][WIDE], e[OPS][WIDE];
    double        a[WIDE], b[WIDE], u[WIDE], largest, sum = 0.0;

    for (int n = 0; n < OPS; n++) {
        map(0, x[n], a, true);
        map(1, a, b, true);
        map(2, b, z[n], false);
    }
    for (int way = 0; way < 2; way++) {
        memcpy(y[way], z, sizeof z);
        for (int i = 0; i < PASSES; i++) pass(3 + 4 * way, way == 0, z, y[way]);
    }
    for (int n = 0; n < OPS; n++)
        for (int c = 0; c < INPUTS; c++) {
            e[n][c] = y[0][n][c];
            e[n][INPUTS + c] = y[1][n][c];
        }
    for (int k = 0; k < 3; k++) {
        bool set[OPS];
        for (int n = 0; n < OPS; n++) {
            bool is_before = reaches(n, v), is_after = reaches(v, n);
            set[n] = k == 0   ? is_before
                     : k == 1 ? is_after
                              : n != v && !is_before && !is_after;
        }
        aggregate(11 + 4 * k, e, set, 2 * INPUTS, &u[2 * INPUTS * k]);
    }
    memcpy(&u[6 * INPUTS], e[v], 2 * INPUTS * sizeof *u);
    map(23, u, a, true);
    map(24, a, b, true);
    map(25, b, p, false);
    largest = fmax(p[0], p[1]);
    for (int i = 0; i < D; i++) sum += p[i] = exp(p[i] - largest);
    for (int i = 0; i < D; i++) p[i] /= sum;
}

/* ---- episodes, plainly ---- */

static struct {
    int device[OPS + 1][ROLLOUTS][OPS]; /* before each step, from 0; of the last after */
    double start[OPS + 1][ROLLOUTS][OPS]; /* ms */
    double seconds[OPS + 1][ROLLOUTS];
    double unit;
} told;

static double largest_of(const double *column)
{
    double largest = 0.0;

    for (int v = 0; v < OPS; v++) largest = fmax(largest, fabs(column[v]));
    return largest > 0.0 ? largest : 1.0;
}

/* Ops stand in their order, which is topological; op i is node i. */
static void plain_state(int step, int rollout, double x[OPS][INPUTS])
{
    double cost[OPS], bytes[OPS], start[OPS];

    for (int v = 0; v < OPS; v++) {
        bool is_read = false;
        for (int u = 0; u < OPS; u++) is_read = is_read || is_edge(v, u);
        cost[v] = 1 + v % 4;
        bytes[v] = is_read ? 100 * (v % 3) : 0;
        start[v] = told.start[step][rollout][v] -
                   told.start[step][rollout][agent->graph->order[step]];
    }
    memset(x, 0, sizeof(double[OPS][INPUTS]));
    for (int v = 0; v < OPS; v++) {
        x[v][0] = cost[v] / largest_of(cost);
        x[v][1] = bytes[v] / largest_of(bytes);
        x[v][4] = start[v] / largest_of(start);
        x[v][5 + told.device[step][rollout][v]] = 1;
    }
    for (int i = 0; i < step; i++) x[agent->graph->order[i]][2] = 1;
    x[agent->graph->order[step]][3] = 1;
}

static double weight[OPS][ROLLOUTS];

static double plain_objective(double entropy)
{
    double sum = 0.0;

    for (int k = 0; k < ROLLOUTS; k++) {
        for (int step = 0; step < OPS; step++) {
            double x[OPS][INPUTS], p[WIDE];
            int    v = agent->graph->order[step];
            plain_state(step, k, x);
            plain_odds(x, v, p);
            sum += weight[step][k] * log(p[told.device[step + 1][k][v]]);
            for (int i = 0; i < D; i++) sum -= entropy * p[i] * log(p[i]);
        }
    }
    return sum;
}

/* The baseline knows of two episodes; `before` are the means of the last one. */
static void plain_weights(double before[OPS], int episode)
{
    for (int step = 0; step < OPS; step++) {
        double mean = 0.0;
        for (int k = 0; k < ROLLOUTS; k++) {
            double sum = 0.0;
            for (int i = step; i < OPS; i++)
                sum += pow(GAMMA, i - step) *
                       (told.seconds[i][k] - told.seconds[i + 1][k]) / told.unit;
            weight[step][k] = sum;
            mean += sum / ROLLOUTS;
        }
        for (int k = 0; k < ROLLOUTS; k++)
            weight[step][k] -= episode == 0 ? mean : 0.5 * (mean + before[step]);
        before[step] = mean;
    }
}

/* ---- the method, driven ---- */

static emp_device_id            storage[ROLLOUTS][OPS];
static const emp_owned_decision candidates[ROLLOUTS] = {{.device_of_op = storage[0]},
                                                        {.device_of_op = storage[1]},
                                                        {.device_of_op = storage[2]}};

/* Asks, and draws a score for each candidate; all of them are kept as of `step`. */
static int32_t ask_and_score(int step, emp_score score[ROLLOUTS],
                             emp_time_ns start_ns[ROLLOUTS][OPS])
{
    int32_t count = 0;

    MUST(emp_method_placeto.ask(agent, candidates, ROLLOUTS, &count, NULL));
    for (int k = 0; k < count; k++) {
        for (int v = 0; v < OPS; v++) {
            start_ns[k][v] = emp_rng_below(&rng, 1000000);
            told.start[step][k][v] = 1e-6 * (double)start_ns[k][v];
            told.device[step][k][v] = storage[k][v] - 1; /* only GPUs */
        }
        told.seconds[step][k] = 0.5 + emp_rng_uniform(&rng);
        score[k] = (emp_score){.step_time_s = told.seconds[step][k],
                               .is_feasible = true,
                               .start_ns = start_ns[k]};
    }
    return count;
}

/* Steps but the last one's tell; the last one's scores are left in `score`. */
static void run_episode(emp_score score[ROLLOUTS], emp_time_ns start_ns[ROLLOUTS][OPS])
{
    for (int k = 1; k < ROLLOUTS; k++) { /* all begin at the start */
        memcpy(told.device[0][k], told.device[0][0], sizeof told.device[0][0]);
        memcpy(told.start[0][k], told.start[0][0], sizeof told.start[0][0]);
        told.seconds[0][k] = told.seconds[0][0];
    }
    for (int step = 1; step <= OPS; step++) {
        cr_assert_eq(ask_and_score(step, score, start_ns), ROLLOUTS);
        if (step < OPS) MUST(emp_method_placeto.tell(agent, score, ROLLOUTS, NULL));
    }
}

static void check_gradient(double entropy)
{
    emp_params          *params = &agent->net.params;
    OWN_EMP_FREE double *probe = EMP_NEW_ARRAY(double, params->count);

    memcpy(probe, params->value, params->count * sizeof *probe);
    weights = probe;
    for (size_t i = 0; i < params->count; i += STRIDE) {
        probe[i] = params->value[i] + STEP;
        double up = plain_objective(entropy);
        probe[i] = params->value[i] - STEP;
        double down = plain_objective(entropy);
        probe[i] = params->value[i];
        cr_assert_float_eq(params->gradient[i], (up - down) / (2.0 * STEP), 2e-7,
                           "parameter %zu: %.9g, want %.9g", i, params->gradient[i],
                           (up - down) / (2.0 * STEP));
    }
}

Test(placeto_update, two_updates_follow_the_formulas)
{
    static plain_block  b;
    static const double lr[] = {0.01, 0.006}, entropy[] = {0.3, 0.2};
    emp_params         *params = &agent->net.params;
    emp_score           score[ROLLOUTS];
    emp_time_ns         start_ns[ROLLOUTS][OPS];
    double              before[OPS];

    memcpy(b.value, params->value, params->count * sizeof *b.value);
    cr_assert_eq(ask_and_score(0, score, start_ns), 1, "the start alone");
    told.unit = told.seconds[0][0];
    MUST(emp_method_placeto.tell(agent, score, 1, NULL));
    for (int episode = 0; episode < EPISODES; episode++) {
        run_episode(score, start_ns);
        plain_weights(before, episode);
        /* The last tell, taken apart: its gradient, before the parameters change. */
        emp_placeto_agent kept = *agent;
        for (int k = 0; k < ROLLOUTS; k++)
            agent->value[OPS * ROLLOUTS + k] = told.seconds[OPS][k] / told.unit;
        emp_placeto_weigh(agent);
        emp_params_zero_gradient(params);
        weights = params->value;
        double loss = emp_placeto_add_gradients(agent, entropy[episode]);
        cr_expect_float_eq(-loss, plain_objective(entropy[episode]), 1e-9);
        check_gradient(entropy[episode]);
        memcpy(b.gradient, params->gradient, params->count * sizeof *b.gradient);
        plain_adam(&b, params->count, lr[episode], 1e-3, CLIP, episode + 1);
        *agent = kept;

        MUST(emp_method_placeto.tell(agent, score, ROLLOUTS, NULL));
        expect_block(params, &b, 1e-9, "parameter");
    }
    cr_expect_eq(agent->episode, EPISODES);
    for (int i = 0; i < 2 * EMP_PLACETO_LAYERS; i++) {
        const emp_param_slice *s = &params->slice[i];
        const double          *g = emp_params_gradient(params, i);
        cr_expect_gt(dot(g, g, s->rows * s->cols), 0.0, "slice %d has no gradient", i);
    }
}

// SPDX-License-Identifier: GPL-3.0-or-later
/* Are whole updates of both stages those of the stated method? Objectives come from a plain
 * second implementation, gradients from central differences of these, rewards, baseline and Adam
 * from their formulas, all in the double build. */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "policy/doppler/doppler.h"
#include "policy/doppler/net.h"
#include "tests/policy/doppler/plain_doppler.h"
#include "tests/support/problems.h"

enum { OPS = 7, EDGES = 8, SAMPLES = 3, MAX_PARAMETERS = 1024 };

static const double STEP = 1e-6, LR = 0.01, GAMMA = 0.9, ENTROPY = 0.03;

static const stated_op op[OPS] = {
    {.gpu_us = 3, .cpu_us = 3, .copy_us = 2}, {.gpu_us = 5, .cpu_us = 5, .copy_us = 4},
    {.gpu_us = 2, .cpu_us = 2, .copy_us = 2}, {.gpu_us = 4, .cpu_us = 4, .copy_us = 3},
    {.gpu_us = 6, .cpu_us = 6, .copy_us = 4}, {.gpu_us = 1, .cpu_us = 1, .copy_us = 2},
    {.gpu_us = 3, .cpu_us = 3, .copy_us = 5}};
static const stated_edge edge[EDGES] = {{0, 2}, {0, 3}, {1, 3}, {1, 4},
                                        {2, 5}, {3, 5}, {3, 6}, {4, 6}};

static task              t;
static emp_doppler_agent agent;
static plain_graph       graph;
static double            weight[SAMPLES];
static bool              is_imitation;

static void pose(void)
{
    task_create_stated(&t, op, OPS, edge, EDGES, 1, PLAIN_DEVICES - 1, 1 << 20, "edges");
    graph = (plain_graph){.ops = OPS};
    for (int v = 0; v < OPS; v++) {
        graph.compute[v] = 1000.0 * (double)op[v].gpu_us;
        graph.message[v] = 1000.0 * (double)op[v].copy_us;
    }
    for (int i = 0; i < EDGES; i++) graph.reads[edge[i].to][edge[i].from] = true;
}

static void create_agent(const char *messages)
{
    emp_doppler_options options = {0};
    char                text[256];

    snprintf(text, sizeof text,
             "width=%d,steps=%d,samples=%d,imitation=0,lr=0.01,gamma=0.9,entropy=0.03,"
             "explore=softmax,adam_epsilon=1e-3,mpnn=%s",
             PLAIN_WIDTH, PLAIN_STEPS, SAMPLES, messages);
    const emp_method_params params = {.options = text};
    cr_assert_eq(emp_method_options_parse(&options, &emp_method_doppler, &params, NULL),
                 EMP_OK);
    cr_assert_eq(emp_doppler_agent_init(&agent, t.problem, &options, 5, 0, 1, NULL),
                 EMP_OK);
    cr_assert_eq(agent.scene.graph->node_count, OPS);
    for (int i = 0; i < 2; i++) cr_assert_leq(agent.net[i].params.count, MAX_PARAMETERS);
}

static void destroy(void)
{
    emp_doppler_agent_clear(&agent);
    task_destroy(&t);
}

TestSuite(doppler_update, .init = pose, .fini = destroy);

/* ---- objectives, plainly ---- */

/* The mean over episodes, as a function of the parameters' values. */
static double objective(void)
{
    double sum = 0.0;

    for (int k = 0; k < SAMPLES; k++) {
        plain_episode e;
        for (int i = 0; i < OPS; i++) {
            e.op[i] = agent.run[k].node_of_step[i];
            e.device[i] = agent.run[k].device_of_step[i];
        }
        const plain_sums s =
            plain_play(&graph, &e, &agent.net[0].params, &agent.net[1].params,
                       agent.options.mpnn == EMP_DOPPLER_GATED, GAMMA);
        sum += ENTROPY * s.entropy / SAMPLES;
        sum += is_imitation ? s.imitated / SAMPLES : weight[k] * s.log_prob;
    }
    return sum;
}

static void differentiate(emp_params *params, double *gradient)
{
    for (size_t i = 0; i < params->count; i++) {
        const double kept = params->value[i];
        params->value[i] = kept + STEP;
        const double up = objective();
        params->value[i] = kept - STEP;
        const double down = objective();
        params->value[i] = kept;
        gradient[i] = (up - down) / (2.0 * STEP);
    }
}

static void expect_gradients(void)
{
    static double gradient[MAX_PARAMETERS];

    for (int n = 0; n < 2; n++) {
        const emp_params *p = &agent.net[n].params;
        double            largest = 0.0;
        differentiate(&agent.net[n].params, gradient);
        for (size_t i = 0; i < p->count; i++) largest = fmax(largest, fabs(gradient[i]));
        cr_assert_gt(largest, 1e-3, "net %d has no gradient", n);
        for (int32_t s = 0; s < p->slice_count; s++) {
            for (int32_t i = 0; i < p->slice[s].rows * p->slice[s].cols; i++) {
                const size_t at = p->slice[s].offset + (size_t)i;
                cr_assert_float_eq(p->gradient[at], gradient[at], 2e-6 * largest,
                                   "net %d, %s[%d]: %.9g, differences say %.9g", n,
                                   p->slice[s].name, i, p->gradient[at], gradient[at]);
            }
        }
    }
}

/* ---- tests ---- */

static void expect_imitation(const char *messages)
{
    create_agent(messages);
    emp_doppler_agent_propose(&agent, SAMPLES);
    is_imitation = true;
    const double value = emp_doppler_agent_imitation(&agent, SAMPLES, ENTROPY);
    expect_gradients();
    double entropy = 0.0;
    for (int k = 0; k < SAMPLES; k++)
        entropy += (agent.run[k].entropy[0] + agent.run[k].entropy[1]) / SAMPLES;
    cr_expect_float_eq(value + ENTROPY * entropy, objective(), 1e-9);
}

Test(doppler_update, imitation_has_the_plain_gradients) { expect_imitation("matrices"); }

Test(doppler_update, gated_messages_have_the_plain_gradients)
{
    expect_imitation("gated");
}

/* R = -t; b is the mean of all so far, these included; a failure counts as 100 s. */
static void weigh(const emp_score *score, double *sum, int *ran)
{
    double reward[SAMPLES];

    for (int k = 0; k < SAMPLES; k++) {
        reward[k] = score[k].is_feasible ? -score[k].step_time_s : -100.0;
        if (score[k].is_feasible) *sum += reward[k], ++*ran;
    }
    for (int k = 0; k < SAMPLES; k++) weight[k] = (reward[k] - *sum / *ran) / SAMPLES;
}

/* What Adam makes of a block. */
typedef struct {
    double gradient[MAX_PARAMETERS], value[MAX_PARAMETERS];
    double moment1[MAX_PARAMETERS], moment2[MAX_PARAMETERS];
} expected;

static void ascend_plainly(expected *e, const emp_params *p, int number)
{
    for (size_t i = 0; i < p->count; i++) {
        const double g = e->gradient[i];
        e->moment1[i] = 0.9 * e->moment1[i] + 0.1 * g;
        e->moment2[i] = 0.999 * e->moment2[i] + 0.001 * g * g;
        const double mean = e->moment1[i] / (1.0 - pow(0.9, number));
        const double square = e->moment2[i] / (1.0 - pow(0.999, number));
        e->value[i] = p->value[i] + LR * mean / (sqrt(square) + 1e-3);
    }
}

Test(doppler_update, two_updates_follow_the_formulas)
{
    static expected want[2];
    const emp_score score[2][SAMPLES] = {{{.step_time_s = 0.7, .is_feasible = true},
                                          {.step_time_s = 2.0, .is_feasible = false},
                                          {.step_time_s = 1.3, .is_feasible = true}},
                                         {{.step_time_s = 3.1, .is_feasible = true},
                                          {.step_time_s = 0.4, .is_feasible = true},
                                          {.step_time_s = 1.0, .is_feasible = true}}};
    double          sum = 0.0;
    int             ran = 0;

    create_agent("matrices");
    for (int number = 1; number <= 2; number++) {
        emp_doppler_agent_propose(&agent, SAMPLES);
        weigh(score[number - 1], &sum, &ran);
        for (int n = 0; n < 2; n++) differentiate(&agent.net[n].params, want[n].gradient);
        for (int n = 0; n < 2; n++)
            ascend_plainly(&want[n], &agent.net[n].params, number);
        cr_assert_eq(emp_learner_tell(&agent, score[number - 1], SAMPLES, NULL), EMP_OK);
        for (int n = 0; n < 2; n++)
            for (size_t i = 0; i < agent.net[n].params.count; i++)
                cr_assert_float_eq(agent.net[n].params.value[i], want[n].value[i], 1e-6,
                                   "update %d, net %d, [%d]: %.9g, want %.9g", number, n,
                                   (int)i, agent.net[n].params.value[i],
                                   want[n].value[i]);
        cr_expect_float_eq(agent.learner.baseline.value, sum / ran, 1e-12);
    }
}

/* ---- columns scaled over a set ---- */

enum { ROWS = 5, COLUMNS = 40, STRIDE = 43, EQUAL = 7 };

static double x[ROWS * STRIDE], y[ROWS * STRIDE], r[ROWS * STRIDE], deviation[COLUMNS];

static double scaled_sum(void)
{
    double sum = 0.0;

    memcpy(y, x, sizeof y);
    emp_zscore_forward(y, STRIDE, deviation, ROWS, COLUMNS);
    for (int i = 0; i < ROWS * STRIDE; i++) sum += r[i] * y[i];
    return sum;
}

/* Column EQUAL is all the same, and what is behind the columns stays as it is. */
Test(zscore, gradients_are_those_of_differences)
{
    static double dx[ROWS * STRIDE];
    emp_rng       rng;

    emp_rng_init(&rng, 3, 0, 0);
    for (int i = 0; i < ROWS * STRIDE; i++) {
        const int column = i % STRIDE;
        x[i] = column == EQUAL ? 0.25 : emp_rng_normal(&rng);
        r[i] = column < COLUMNS ? emp_rng_normal(&rng) : 0.0;
    }
    scaled_sum();
    memcpy(dx, r, sizeof dx);
    emp_zscore_backward(dx, y, STRIDE, deviation, ROWS, COLUMNS);
    for (int i = 0; i < ROWS * STRIDE; i++) {
        const int    column = i % STRIDE;
        const double kept = x[i];
        if (column >= COLUMNS) cr_expect_eq(y[i], x[i]);
        if (column == EQUAL) cr_expect(y[i] == 0.0 && dx[i] == 0.0);
        if (column == EQUAL || column >= COLUMNS) continue;
        x[i] = kept + STEP;
        const double up = scaled_sum();
        x[i] = kept - STEP;
        const double down = scaled_sum();
        x[i] = kept;
        cr_expect_float_eq(dx[i], (up - down) / (2.0 * STEP), 1e-7, "[%d]", i);
        scaled_sum();
    }
}

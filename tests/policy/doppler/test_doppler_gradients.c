// SPDX-License-Identifier: GPL-3.0-or-later
/* Are whole updates of both stages those of the stated method? Objectives come from a plain
 * second implementation, gradients from central differences of these, rewards, baseline and Adam
 * from their formulas, all in the double build. */
#include "policy/doppler/doppler.h"
#include "policy/doppler/net.h"
#include "tests/policy/differences.h"
#include "tests/policy/doppler/plain_doppler.h"
#include "tests/support/problems.h"
#include "tests/support/status.h"

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

static void create_agent(const char *more)
{
    emp_doppler_options options = {0};
    char                text[256];

    snprintf(text, sizeof text,
             "width=%d,steps=%d,samples=%d,imitation=3,lr=0.01,gamma=0.9,entropy=0.03,"
             "explore=softmax,adam_epsilon=1e-3,%s",
             PLAIN_WIDTH, PLAIN_STEPS, SAMPLES, more);
    const emp_method_params params = {.options = text};
    MUST(emp_method_options_parse(&options, &emp_method_doppler, &params, NULL));
    MUST(emp_doppler_agent_init(&agent, t.problem, &options, 5, 0, 1, NULL));
    cr_assert_eq(agent.scene.graph->node_count, OPS);
    for (int i = 0; i < 2; i++) cr_assert_leq(agent.net[i].params.count, MAX_PARAMETERS);
}

static void destroy(void)
{
    emp_doppler_agent_clear(&agent);
    task_destroy(&t);
}

TestSuite(doppler_update, .init = pose, .fini = destroy);

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

/* \a sign is -1 after a step of Adam up the gradient. */
static void expect_gradients(double sign)
{
    static double gradient[MAX_PARAMETERS];

    for (int n = 0; n < 2; n++) {
        emp_params  *p = &agent.net[n].params;
        const double largest =
            differentiate(gradient, p->value, p->count, STEP, objective);
        cr_assert_gt(largest, 1e-3, "net %d has no gradient", n);
        expect_gradient(p, gradient, sign, 2e-6 * largest);
    }
}

Test(doppler_update, imitation_has_the_plain_gradients)
{
    static const struct {
        const char *messages;
        int32_t     most_steps; /* that go backward together */
    } cases[] = {{"mpnn=matrices", 64}, {"mpnn=gated", 64}, {"mpnn=gated", 2}};

    for (int i = 0; i < 3; i++) {
        double entropy = 0.0;
        create_agent(cases[i].messages);
        for (int k = 0; k < 2 * SAMPLES; k++)
            agent.run[k / 2].choices[k % 2].most_steps = cases[i].most_steps;
        emp_doppler_agent_propose(&agent, SAMPLES);
        is_imitation = true;
        const double value = emp_doppler_agent_imitation(&agent, SAMPLES, ENTROPY);
        expect_gradients(1.0);
        for (int k = 0; k < SAMPLES; k++)
            entropy += (agent.run[k].entropy[0] + agent.run[k].entropy[1]) / SAMPLES;
        cr_expect_float_eq(value + ENTROPY * entropy, objective(), 1e-9);
        if (i < 2) emp_doppler_agent_clear(&agent);
    }
}

/* The one update of the stage draws its episodes and learns from them in one pass. */
Test(doppler_update, imitation_learns_from_episodes_while_it_draws_them)
{
    create_agent("mpnn=matrices,imitation_lr=0,imitation_entropy=0.03");
    emp_doppler_agent_imitate(&agent);
    cr_assert_eq(agent.imitated, SAMPLES);
    is_imitation = true;
    expect_gradients(1.0);
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

Test(doppler_update, two_updates_follow_the_formulas)
{
    static plain_block want[2];
    const emp_score    score[2][SAMPLES] = {{{.step_time_s = 0.7, .is_feasible = true},
                                             {.step_time_s = 2.0, .is_feasible = false},
                                             {.step_time_s = 1.3, .is_feasible = true}},
                                            {{.step_time_s = 3.1, .is_feasible = true},
                                             {.step_time_s = 0.4, .is_feasible = true},
                                             {.step_time_s = 1.0, .is_feasible = true}}};
    double             sum = 0.0;
    int                ran = 0;

    create_agent("mpnn=matrices");
    for (int number = 1; number <= 2; number++) {
        emp_doppler_agent_propose(&agent, SAMPLES);
        weigh(score[number - 1], &sum, &ran);
        for (int n = 0; n < 2; n++) {
            emp_params *p = &agent.net[n].params;
            memcpy(want[n].value, p->value, p->count * sizeof *p->value);
            differentiate(want[n].gradient, p->value, p->count, STEP, objective);
            plain_adam(&want[n], p->count, LR, 1e-3, INFINITY, number);
        }
        MUST(emp_learner_tell(&agent, score[number - 1], SAMPLES, NULL));
        expect_block(&agent.net[0].params, &want[0], 1e-6, "selector");
        expect_block(&agent.net[1].params, &want[1], 1e-6, "placer");
        cr_expect_float_eq(agent.learner.baseline.value, sum / ran, 1e-12);
    }
}

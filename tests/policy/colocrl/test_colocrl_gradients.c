// SPDX-License-Identifier: GPL-3.0-or-later
/* Are two whole updates those of the stated method? Gradients of network and type embedding
 * come from central differences of the objective, rewards, baseline, clipping and Adam from
 * their formulas, all in the double build. */
#include "policy/colocrl/colocrl.h"
#include "search/groups/colocation_groups.h"
#include "tests/policy/differences.h"
#include "tests/support/problems.h"
#include "tests/support/status.h"

enum { LAYERS = 3, SAMPLES = 3, MAX_STEPS = 16 };

static const double STEP = 1e-5, LR = 0.01, EPSILON = 1e-3, CLIP = 0.05;

static task              h;
static emp_colocrl_agent agent;
static int32_t           device[SAMPLES * MAX_STEPS];
static double            weight[SAMPLES];

static void create_agent(void)
{
    emp_colocrl_options options = {0};
    emp_op_features    *ops = NULL;
    int32_t             group_of_row[64], group_of_class[64], group_count;

    hand_graph_comb(&h, LAYERS);
    const emp_method_params params = {.options =
                                          "hidden=5,type_width=3,lr=0.01,epsilon=1e-3,"
                                          "clip=0.05,updates_failures=1,samples=3"};
    MUST(emp_method_options_parse(&options, &emp_method_colocrl, &params, NULL));
    MUST(emp_op_features_create(&ops, h.problem, NULL));
    cr_assert_leq(h.graph->class_count, 64);
    MUST(emp_colocation_groups(group_of_class, &group_count, h.problem, NULL));
    cr_assert_leq(ops->row_count, 64);
    for (int32_t r = 0; r < ops->row_count; r++)
        group_of_row[r] = group_of_class[h.graph->op[ops->op_of_row[r]].colocation_class];
    MUST(emp_colocrl_agent_init(&agent, ops, group_of_row, group_count, 3, &options, 1, 1,
                                NULL));
    cr_assert_leq(agent.groups.steps, MAX_STEPS);
}

static void destroy_agent(void)
{
    emp_colocrl_agent_clear(&agent);
    task_destroy(&h);
}

TestSuite(colocrl_update, .init = create_agent, .fini = destroy_agent);

static double objective(void)
{
    double sum = 0.0;

    emp_colocrl_agent_propose(&agent, SAMPLES, device);
    for (int k = 0; k < SAMPLES; k++) sum += weight[k] * agent.net.log_prob[k];
    return sum;
}

/* R = -sqrt(t), -10 for a failure, which takes part in the first update only. */
static void weigh(const emp_score *scores, int number, double *baseline)
{
    double ran_sum = 0.0;
    int    ran = 0, count = 0;

    for (int k = 0; k < SAMPLES; k++) {
        ran += scores[k].is_feasible;
        ran_sum -= scores[k].is_feasible ? sqrt(scores[k].step_time_s) : 0.0;
    }
    count = number == 1 ? SAMPLES : ran;
    for (int k = 0; k < SAMPLES; k++) {
        double reward = scores[k].is_feasible ? -sqrt(scores[k].step_time_s) : -10.0;
        bool   counts = number == 1 || scores[k].is_feasible;
        weight[k] = counts ? (reward - *baseline) / count : 0.0;
    }
    *baseline = 0.9 * *baseline + 0.1 * ran_sum / ran;
}

Test(colocrl_update, two_updates_follow_the_formulas)
{
    static plain_block net, types;
    double             baseline = -10.0;
    const emp_score    scores[2][SAMPLES] = {{{.step_time_s = 0.7, .is_feasible = true},
                                              {.step_time_s = 2.0, .is_feasible = false},
                                              {.step_time_s = 1.3, .is_feasible = true}},
                                             {{.step_time_s = 3.1, .is_feasible = true},
                                              {.step_time_s = 0.4, .is_feasible = true},
                                              {.step_time_s = 1.0, .is_feasible = false}}};
    emp_params        *nets = &agent.net.params, *groups = &agent.groups.params;
    emp_rng            rng;

    memcpy(net.value, nets->value, nets->count * sizeof *net.value);
    memcpy(types.value, groups->value, groups->count * sizeof *types.value);
    emp_rng_init(&rng, 4, 0, 0);
    for (int number = 1; number <= 2; number++) {
        for (int i = 0; i < SAMPLES * agent.groups.steps; i++)
            device[i] = (int32_t)emp_rng_below(&rng, 3);
        weigh(scores[number - 1], number, &baseline);
        differentiate(net.gradient, nets->value, nets->count, STEP, objective);
        differentiate(types.gradient, groups->value, groups->count, STEP, objective);
        plain_adam(&net, nets->count, LR, EPSILON, CLIP, number);
        plain_adam(&types, groups->count, LR, EPSILON, CLIP, number);

        emp_colocrl_agent_propose(&agent, SAMPLES, device);
        MUST(emp_learner_backward(&agent, scores[number - 1], agent.net.samples, 0,
                                  agent.net.samples, NULL));
        emp_learner_step(&agent);
        expect_block(nets, &net, 1e-7, "network");
        expect_block(groups, &types, 1e-7, "type embedding");
        cr_expect_float_eq(agent.learner.baseline.value, baseline, 1e-12);
    }
}

/* Rows are [mean embedding of the group's types | ln(1 + sizes) | neighbours]. */
Test(colocrl_update, rows_are_as_stated)
{
    const emp_group_embedding *g = &agent.groups;
    const emp_op_features     *ops = agent.learner.ops;
    const double              *embedding = g->params.value;

    emp_colocrl_agent_propose(&agent, SAMPLES, NULL);
    cr_expect_eq(g->inputs, 3 + EMP_ROW_SIZES + g->steps);
    for (int32_t s = 0; s < g->steps; s++) {
        double mean[3] = {0}, sizes[EMP_ROW_SIZES] = {0};
        int    members = 0;
        for (int32_t r = 0; r < ops->row_count; r++) {
            if (g->step_of_row[r] != s) continue;
            members++;
            for (int i = 0; i < 3; i++) mean[i] += embedding[ops->type[r] * 3 + i];
            for (int i = 0; i < EMP_ROW_SIZES; i++)
                sizes[i] += (double)ops->sizes[r * EMP_ROW_SIZES + i];
        }
        const double *x = &g->x[s * g->inputs];
        for (int i = 0; i < 3; i++) cr_expect_float_eq(x[i], mean[i] / members, 1e-12);
        for (int i = 0; i < EMP_ROW_SIZES; i++)
            cr_expect_float_eq(x[3 + i], log1p(sizes[i]), 1e-9);
        for (int32_t t = 0; t < g->steps; t++) {
            bool share = false;
            for (int32_t e = 0; e < ops->edge_count; e++) {
                int32_t a = g->step_of_row[ops->edge[e][0]],
                        b = g->step_of_row[ops->edge[e][1]];
                share = share || (a != b && ((a == s && b == t) || (a == t && b == s)));
            }
            cr_expect_eq(x[3 + EMP_ROW_SIZES + t], share ? 1.0 : 0.0, "%d and %d", s, t);
        }
    }
}

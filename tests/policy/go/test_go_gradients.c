// SPDX-License-Identifier: GPL-3.0-or-later
/* Are network and update those of the stated method? Gradients of all parameters come from central
 * differences of the objective, computed sample by sample, in the double build. */
#include "policy/go/go.h"
#include "tests/policy/differences.h"
#include "tests/support/problems.h"
#include "tests/support/status.h"

enum {
    LAYERS = 4,
    SAMPLES = 4,
    DRAWN = SAMPLES - 1,
    DEVICES = 3,
    ALL = EMP_DECIDES_DEVICES | EMP_DECIDES_ORDER | EMP_DECIDES_FUSION,
    MAX_PARAMETERS = 20000
};

#define SMALL                                                        \
    "samples=4,width=4,heads=2,hidden=5,type_width=2,max_devices=3," \
    "head_gain=1,draws=independent,failure=fixed,graph_layers=2,"

static const double STEP = 1e-6;

static task         h;
static emp_go_agent agent;
static double       advantage[DRAWN] = {1.3, -0.7, 0.4}, entropy_weight = 0.05;

static void create_deciding(const char *options, int32_t decides,
                            const emp_device_id *start)
{
    emp_go_options          parsed;
    const emp_method_params params = {
        .options = options, .seed = 3, .threads = 1, .decides = decides, .start = start};

    MUST(emp_method_options_parse(&parsed, &emp_method_go, &params, NULL));
    MUST(emp_go_agent_init(&agent, h.problem, &parsed, &params, NULL));
}

static void create_agent(const char *options)
{
    create_deciding(options, EMP_DECIDES_DEVICES, NULL);
}

static void create_problem(void) { hand_graph_comb(&h, LAYERS); }

static void destroy_problem(void)
{
    emp_go_agent_clear(&agent);
    task_destroy(&h);
    expect_all_freed();
}

TestSuite(go_update, .init = create_problem, .fini = destroy_problem);

/* Gates and biases begin at 0, where mistakes would not show. */
static void disturb(void)
{
    emp_rng rng;

    emp_rng_init(&rng, 8, 0, 0);
    for (size_t i = 0; i < agent.net.params.count; i++)
        agent.net.params.value[i] += 0.3 * emp_rng_normal(&rng);
}

/* Proposals of weights that then change, so that some ratios are beyond the clip. */
static void draw_and_change(void)
{
    disturb();
    emp_go_agent_propose(&agent, SAMPLES);
    for (size_t n = 0; n < agent.net.params.count; n += 3)
        agent.net.params.value[n] += 0.05;
}

/* J as the header of row_ppo.h has it, sample by sample. */
static double objective_of(const emp_go_task *t)
{
    const int32_t rows = agent.features.count, choices = t->ppo.choices;
    double        sum = 0.0, entropy = 0.0;

    for (int k = 0; k < DRAWN; k++) {
        for (int32_t v = 0; v < rows; v++) {
            int    at = v * choices + t->choice[(k + 1) * rows + v];
            double r = t->p[at] / t->drawn_from[at], c = agent.options.clip_ratio;
            double held = r < 1.0 - c ? 1.0 - c : r > 1.0 + c ? 1.0 + c : r;
            sum += fmin(r * advantage[k], held * advantage[k]);
        }
    }
    for (int32_t i = 0; i < rows * choices; i++)
        entropy -= t->p[i] > 0 ? t->p[i] * log(t->p[i]) : 0.0;
    return sum / (DRAWN * rows) + entropy_weight * entropy / rows;
}

/* Devices that stay have no part in it. */
static double objective(void)
{
    double sum = 0.0;

    emp_go_net_forward(&agent.net);
    for (int32_t k = agent.start != NULL; k < agent.task_count; k++)
        sum += objective_of(&agent.task[k]);
    return sum;
}

static void set_logits(void)
{
    for (int32_t k = 0; k < agent.task_count; k++) {
        emp_go_task *t = &agent.task[k];
        emp_row_ppo_gather(&t->ppo, t->choice + agent.features.count, advantage, DRAWN);
        emp_row_ppo_gradient(&t->ppo, t->d_logits, t->p, t->drawn_from, DRAWN,
                             entropy_weight);
        for (int32_t i = 0;
             k == 0 && agent.start != NULL && i < agent.features.count * DEVICES; i++)
            t->d_logits[i] = 0.0;
    }
}

static void compare_gradients(void)
{
    static double want[MAX_PARAMETERS];
    emp_params   *p = &agent.net.params;

    cr_assert_leq(p->count, MAX_PARAMETERS);
    const double largest = differentiate(want, p->value, p->count, STEP, objective);
    cr_assert_gt(largest, 1e-4, "the gradient is all but zero");
    objective();
    set_logits();
    emp_go_net_backward(&agent.net);
    expect_gradient(p, want, 1.0, 1e-5 * largest);
}

/* One segment of all nodes, so that memory as a constant is no difference. Some ratios are beyond
 * the clip. */
Test(go_update, gradients_are_those_of_the_objective)
{
    static const char *const modulation[] = {SMALL "segment=4096,modulate=node",
                                             SMALL "segment=4096,modulate=graph",
                                             SMALL "segment=4096,modulate=none"};

    for (size_t i = 0; i < COUNT(modulation); i++) {
        create_agent(modulation[i]);
        draw_and_change();
        compare_gradients();
        emp_go_agent_clear(&agent);
    }
}

/* All three tasks, over several segments that do not see each other; and with devices that stay. */
Test(go_update, gradients_of_order_and_fusion_are_those_of_the_objective)
{
    static const char *const options[] = {SMALL "segment=4096,layers=1",
                                          SMALL "segment=3,layers=1,memory=0"};
    static emp_device_id     start[64];

    for (size_t op = 0; op < 64; op++) start[op] = (emp_device_id)(op % DEVICES);
    for (int i = 0; i < 4; i++) {
        cr_assert_leq(h.graph->op_count, 64);
        create_deciding(options[i % 2], ALL, i < 2 ? NULL : start);
        cr_assert_eq(agent.task_count, 3);
        cr_assert_gt(agent.features.count, 2 * 3);
        draw_and_change();
        compare_gradients();
        emp_go_agent_clear(&agent);
    }
}

/* As objective_of(), of each round: the first for all samples, and the others sample by sample. */
static double objective_of_rounds(void)
{
    const emp_go_rounds *r = &agent.rounds;
    const emp_go_task   *t = &agent.task[0];
    const int32_t        rows = agent.features.count;
    const double         c = agent.options.clip_ratio;
    double               sum = 0.0, entropy = 0.0;

    for (int32_t round = 0; round < r->count; round++) {
        for (int k = 1; k < SAMPLES; k++) {
            const int32_t  at = ((round - 1) * SAMPLES + k) * rows;
            const uint8_t *drawn = round == r->count - 1
                                       ? t->choice + k * rows
                                       : r->seen + (at + SAMPLES * rows);
            emp_go_net_show(&agent.net, round == 0 ? NULL : r->seen + at);
            emp_go_net_forward(&agent.net);
            for (int32_t v = 0; v < rows; v++) {
                const double *p = t->p + v * DEVICES, a = advantage[k - 1];
                double        q = round == 0 ? t->drawn_from[v * DEVICES + drawn[v]]
                                             : r->likelihood[at + v];
                sum += fmin(p[drawn[v]] / q * a,
                            fmin(fmax(p[drawn[v]] / q, 1.0 - c), 1.0 + c) * a);
                for (int d = 0; d < DEVICES; d++)
                    entropy -= p[d] > 0 ? p[d] * log(p[d]) : 0.0;
            }
        }
    }
    return (sum + entropy_weight * entropy) / (DRAWN * rows);
}

/* At a rate of 0 steps leave the weights. */
Test(go_update, gradients_of_rounds_are_those_of_the_objective)
{
    static double want[MAX_PARAMETERS];
    double        norm = 0.0, most = 0.0;
    emp_params   *p = &agent.net.params;

    create_agent(SMALL "segment=4096,layers=1,rounds=3");
    draw_and_change();
    cr_assert_leq(p->count, MAX_PARAMETERS);
    const double largest =
        differentiate(want, p->value, p->count, STEP, objective_of_rounds);
    const emp_go_climb climb = {
        .samples = DRAWN, .epochs = 1, .clip = 1e9, .entropy = entropy_weight};
    emp_go_rounds_climb(&agent.rounds, &climb, &agent.net, agent.task, advantage, &norm);
    expect_gradient(p, want, 1.0, 1e-5 * largest);
    for (int32_t s = 0; s < p->slice_count; s++)
        if (strcmp(p->slice[s].name, "devices before") == 0)
            for (int32_t i = 0; i < p->slice[s].rows * p->slice[s].cols; i++)
                most = fmax(most, fabs(want[p->slice[s].offset + (size_t)i]));
    cr_expect_gt(most, 1e-4, "what was drawn before has no effect");
}

Test(go_update, a_round_sees_the_one_before)
{
    create_agent(SMALL "segment=4,rounds=2");
    disturb();
    emp_go_agent_propose(&agent, SAMPLES);
    const emp_go_rounds *r = &agent.rounds;
    const int32_t        rows = agent.features.count;
    for (int k = 0; k < SAMPLES; k++) {
        emp_go_net_show(&agent.net, r->seen + k * rows);
        emp_go_net_forward(&agent.net);
        for (int32_t v = 0; v < rows; v++)
            cr_assert_eq(r->likelihood[k * rows + v],
                         agent.net.p[v * DEVICES + agent.task[0].choice[k * rows + v]]);
    }
    cr_expect_neq(
        memcmp(r->likelihood, r->likelihood + rows, (size_t)rows * sizeof(double)), 0);
}

static emp_owned_decision example;

static double likelihood(void)
{
    double loss = 0.0;

    cr_expect_eq(emp_go_agent_imitate(&agent, &example, &loss), EMP_OK);
    return -loss * agent.task_count * agent.rounds.count;
}

/* Its objective is the mean ln p of the example's decisions, added up over tasks. At a rate of 0 a
 * step leaves the weights, and its gradient can be looked at. */
static void compare_imitation(void)
{
    static double want[MAX_PARAMETERS];
    emp_params   *p = &agent.net.params;

    MUST(emp_decision_init(&example, h.graph->op_count, ALL, NULL));
    for (emp_op_id op = 0; op < h.graph->op_count; op++) {
        example.device_of_op[op] = (emp_device_id)(1 + op % 2);
        example.level_of_op[op] = (uint8_t)(op % EMP_LEVELS);
        example.leader_of_op[op] = op % 3 == 0 ? EMP_JOINS_READERS : op;
    }
    cr_assert_leq(p->count, MAX_PARAMETERS);
    const double largest = differentiate(want, p->value, p->count, STEP, likelihood);
    cr_assert_gt(largest, 1e-3, "the gradient is all but zero");
    likelihood();
    expect_gradient(p, want, 1.0, 1e-5 * largest);
    emp_decision_clear(&example);
    emp_go_agent_clear(&agent);
}

Test(go_update, gradients_of_imitation_are_those_of_the_likelihood)
{
    create_deciding(SMALL "segment=4096,layers=1,lr=0,clip=1e9", ALL, NULL);
    disturb();
    compare_imitation();
    create_agent(SMALL "segment=4096,layers=1,lr=0,clip=1e9,rounds=3");
    disturb();
    compare_imitation();
}

Test(go_update, an_update_follows_the_formulas)
{
    static double   want[MAX_PARAMETERS];
    const emp_score scores[SAMPLES] = {{.step_time_s = 9.0, .is_feasible = true},
                                       {.step_time_s = 1.0, .is_feasible = true},
                                       {.step_time_s = 4.0, .is_feasible = true},
                                       {.step_time_s = 2.0, .is_feasible = false}};
    const double    reward[DRAWN] = {-1.0, -2.0, -10.0}, mean = -13.0 / 3.0;
    emp_params     *p = &agent.net.params;
    double          square = 0.0, norm = 0.0;

    create_agent(SMALL "segment=4,epochs=1,lr=0.01,epsilon=1e-3,clip=0.001,entropy=0.05");
    disturb();
    emp_go_agent_propose(&agent, SAMPLES);
    for (int k = 0; k < DRAWN; k++) square += (reward[k] - mean) * (reward[k] - mean);
    for (int k = 0; k < DRAWN; k++)
        advantage[k] = (reward[k] - mean) / sqrt(square / DRAWN);
    entropy_weight = 0.05;
    set_logits();
    emp_go_net_backward(&agent.net);
    for (size_t i = 0; i < p->count; i++) norm += p->gradient[i] * p->gradient[i];
    norm = sqrt(norm);
    cr_assert_gt(norm, 0.001, "nothing is clipped");
    for (size_t i = 0; i < p->count; i++) {
        double g = p->gradient[i] * 0.001 / norm;
        want[i] = p->value[i] + 0.01 * g / (fabs(g) + 1e-3); /* Adam's first step */
    }
    emp_go_agent_learn(&agent, scores);
    for (size_t i = 0; i < p->count; i++)
        cr_assert_float_eq(p->value[i], want[i], 1e-9, "%d: %.12g, want %.12g", (int)i,
                           p->value[i], want[i]);
    cr_expect_float_eq(agent.rewards.mean, mean, 1e-12);
}

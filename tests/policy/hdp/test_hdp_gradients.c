// SPDX-License-Identifier: GPL-3.0-or-later
/* Are the gradients of both whole networks those of their log-probabilities? Central
 * differences by every parameter, in the double build. */
#include "policy/hdp/hdp.h"
#include "policy/nn/recurrent.h"
#include "policy/seq2seq/device_net.h"
#include "tests/policy/differences.h"
#include "tests/support/status.h"

static const emp_draw draw = {.seed = 3, .update = 1, .threads = 1};

static void check_slices(const emp_params *p, loss_function *loss)
{
    static double gradient[20000];

    cr_assert_leq(p->count, COUNT(gradient));
    memcpy(gradient, p->gradient, p->count * sizeof *gradient);
    for (int32_t s = 0; s < p->slice_count; s++)
        check(p->slice[s].name, loss, p->value + p->slice[s].offset,
              gradient + p->slice[s].offset, p->slice[s].rows * p->slice[s].cols);
}

static emp_op_features *draw_ops(int32_t rows, emp_rng *rng)
{
    emp_op_features *ops = NULL;

    emp_rng_init(rng, 9, 0, 0);
    MUST(emp_op_features_create_empty(&ops, rows, rows, 0, NULL));
    ops->type_count = 3;
    for (int32_t i = 0; i < rows; i++) ops->type[i] = (int32_t)emp_rng_below(rng, 3);
    for (int32_t i = 0; i < rows * ops->width; i++)
        ops->value[i] = emp_rng_normal(rng) * 0.5;
    return ops;
}

static emp_grouper grouper;
static int32_t     groups[5000];

static double grouping_log_prob(void)
{
    emp_grouper_run(&grouper, &draw, groups);
    return grouper.log_prob;
}

/* The last has more rows than one block in each of the chunks that rows are cut into. */
Test(grouper, gradients)
{
    static const struct {
        int32_t        rows;
        emp_activation activation;
    } cases[] = {{40, EMP_ACTIVATION_TANH},
                 {40, EMP_ACTIVATION_RELU},
                 {5000, EMP_ACTIVATION_TANH}};

    for (int i = 0; i < 3; i++) {
        emp_rng          rng;
        emp_op_features *ops = draw_ops(cases[i].rows, &rng);
        for (int32_t r = 0; r < cases[i].rows; r++)
            groups[r] = (int32_t)emp_rng_below(&rng, 4);
        MUST(emp_grouper_init(
            &grouper, &(emp_grouper_shape){3, 4, 2, cases[i].activation}, ops, NULL));
        emp_grouper_randomize(&grouper, &rng);
        grouping_log_prob();
        check_slices(&grouper.params, grouping_log_prob);
        emp_grouper_clear(&grouper);
        emp_op_features_destroy(ops);
    }
}

/* Without groups: each sample's own gradient is kept until its score is known. */
static emp_op_agent op_agent;
static int32_t      sample;

static double sample_log_prob(void)
{
    emp_grouper_run(&op_agent.net, &draw,
                    &op_agent.device[sample * op_agent.learner.ops->row_count]);
    return op_agent.net.log_prob;
}

/* Times are 1 and 4 s, so rewards are -1 and -2: against their mean each weighs 1/4. */
Test(op_agent, keeps_the_gradient_of_each_sample)
{
    static double   total[20000];
    const emp_score scores[2] = {{.step_time_s = 1.0, .is_feasible = true},
                                 {.step_time_s = 4.0, .is_feasible = true}};
    emp_hdp_options options = {0};
    emp_rng         rng;

    MUST(emp_hdp_options_parse(
        &options, "paper", "grouper_hidden=3,type_width=2,lr=0,clip=1e9,cap=0", NULL));
    MUST(emp_op_agent_init(&op_agent, draw_ops(40, &rng), 3, &options, 1, 1, NULL));
    emp_params *params = &op_agent.net.params;
    emp_op_agent_propose(&op_agent, 2);
    for (sample = 0; sample < 2; sample++) {
        const double *kept = &op_agent.gradient[(size_t)sample * params->count];
        memcpy(params->gradient, kept, params->count * sizeof *kept);
        check_slices(params, sample_log_prob);
    }
    for (size_t i = 0; i < params->count; i++)
        total[i] = 0.25 * (op_agent.gradient[i] - op_agent.gradient[params->count + i]);
    MUST(emp_learner_backward(&op_agent, scores, 2, 0, 2, NULL));
    for (size_t i = 0; i < params->count; i++)
        cr_assert_float_eq(params->gradient[i], total[i], 1e-9);
    emp_op_agent_clear(&op_agent);
}

static double mean_entropy(void)
{
    emp_grouper_run(&op_agent.net, &draw, op_agent.device);
    return op_agent.net.entropy;
}

/* With equal scores nothing but the entropy has a gradient. */
Test(op_agent, entropy_counts)
{
    const emp_score scores[2] = {{.step_time_s = 1.0, .is_feasible = true},
                                 {.step_time_s = 1.0, .is_feasible = true}};
    static double   once[20000];
    emp_hdp_options options = {0};
    emp_rng         rng;

    MUST(emp_hdp_options_parse(
        &options, "paper",
        "grouper_hidden=3,type_width=2,lr=0,clip=1e9,cap=0,entropy=0.5", NULL));
    MUST(emp_op_agent_init(&op_agent, draw_ops(5000, &rng), 3, &options, 1, 1, NULL));
    emp_params *params = &op_agent.net.params;
    emp_op_agent_propose(&op_agent, 2);
    MUST(emp_learner_backward(&op_agent, scores, 2, 0, 2, NULL));
    for (size_t i = 0; i < params->count; i++) once[i] = params->gradient[i];
    for (size_t i = 0; i < params->count; i++) params->gradient[i] *= 2.0;
    check_slices(params, mean_entropy);
    op_agent.learner.threads = 3;
    MUST(emp_learner_backward(&op_agent, scores, 2, 0, 2, NULL));
    cr_expect_arr_eq(params->gradient, once, params->count * sizeof *once);
    emp_op_agent_clear(&op_agent);
}

enum {
    INPUTS = 9,
    HIDDEN = 6,
    DEVICES = 3,
    STEPS = 5,
    SAMPLES = 3,
    LEARNED = 4,
    ELITES = 2
};

static emp_device_net net;
static double         x[STEPS * INPUTS], entropy_weight, lesson_weight;
static const double   weight[SAMPLES] = {0.7, -1.3, 0.4};
static int32_t        device[SAMPLES * STEPS], taught[ELITES * STEPS];

static double objective(void)
{
    double sum = 0.0;

    emp_device_net_run(&net, x, STEPS, SAMPLES, &draw, &(emp_exploration){0}, device);
    for (int k = 0; k < SAMPLES; k++) {
        sum += weight[k] * net.log_prob[k] + entropy_weight * net.entropy[k] / SAMPLES;
        for (int i = 0; i < ELITES * STEPS; i++)
            sum += lesson_weight / SAMPLES *
                   log(net.p[(k * STEPS + i % STEPS) * DEVICES + taught[i]]);
    }
    return sum;
}

/* Also by the first inputs of each step, of which the backward pass leaves the gradient. */
static void check_net(double entropy, double lesson, bool is_aligned)
{
    const emp_device_net_shape shape = {INPUTS, HIDDEN, DEVICES, STEPS + 2,  SAMPLES,
                                        1.5,    2.0,    LEARNED, is_aligned, 0.0};
    const emp_device_lesson    elites = {taught, ELITES, lesson};
    double                     want[STEPS * INPUTS];
    emp_rng                    rng;

    entropy_weight = entropy;
    lesson_weight = lesson;
    emp_rng_init(&rng, 11, 0, 0);
    fill(x, STEPS * INPUTS, 11);
    for (int i = 0; i < SAMPLES * STEPS; i++)
        device[i] = (int32_t)emp_rng_below(&rng, DEVICES);
    for (int i = 0; i < ELITES * STEPS; i++)
        taught[i] = (int32_t)emp_rng_below(&rng, DEVICES);
    MUST(emp_device_net_init(&net, &shape, NULL));
    emp_device_net_randomize(&net, 1.0, &rng);
    objective();
    if (lesson > 0)
        emp_device_net_teach(&net, weight, entropy, &elites, 1);
    else
        emp_device_net_backward(&net, weight, entropy, 1);
    check_slices(&net.params, objective);
    differentiate(want, x, STEPS * INPUTS, 1e-5, objective);
    for (int i = 0; i < STEPS * LEARNED; i++)
        cr_expect_float_eq(net.d_x[i], want[i / LEARNED * INPUTS + i % LEARNED], 1e-8,
                           "input %d", i);
    emp_device_net_clear(&net);
}

Test(device_net, gradients)
{
    check_net(0.0, 0.0, false);
    check_net(0.8, 0.0, false);
}

Test(device_net, gradients_of_a_lesson_and_aligned_outputs) { check_net(0.8, 1.7, true); }

/* Largest gradient of the gates of a cell that stays half open for 40 steps, with weights that
 * make the gradient grow from step to step. */
static double largest_gradient(double bound)
{
    enum { T = 40, H = 4 };
    const emp_lstm_shape shape = {
        .count = 1, .T = T, .H = H, .threads = 1, .bound = bound};
    double gates[T * 4 * H], dh[T * H] = {0}, dc[H] = {0}, cell[(T + 1) * H],
                                    w[H * 4 * H];
    double     largest = 0.0;
    emp_panels panels;

    for (int i = 0; i < T * 4 * H; i++) gates[i] = 0.5;
    for (int i = 0; i < (T + 1) * H; i++) cell[i] = 0.5;
    for (int i = 0; i < H * 4 * H; i++) w[i] = 2.0;
    dh[(T - 1) * H] = 0.004;
    MUST(emp_panels_init(&panels, 4 * H, H, NULL));
    emp_panels_pack(&panels, w, true);
    emp_lstm_backward(gates, dh, H, dc, cell, &panels, &shape);
    emp_panels_clear(&panels);
    for (int i = 0; i < T * 4 * H; i++) largest = fmax(largest, fabs(gates[i]));
    return largest;
}

Test(device_net, gradients_are_bounded)
{
    double unlimited = largest_gradient(0.0), bounded = largest_gradient(0.01);

    cr_expect_gt(unlimited, 1e9, "%g", unlimited);
    cr_expect_lt(bounded, 0.01, "%g", bounded);
    cr_expect_gt(bounded, 1e-3, "%g", bounded);
    cr_expect_eq(largest_gradient(1e300), unlimited, "a bound that is never reached");
}

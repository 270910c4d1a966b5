// SPDX-License-Identifier: GPL-3.0-or-later
/* Are the gradients of both whole networks those of their log-probabilities? Central
 * differences by every parameter, in the double build. */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "policy/hdp/hdp.h"
#include "policy/nn/recurrent.h"
#include "policy/hdp/options.h"
#include "policy/seq2seq/device_net.h"

static const double STEP = 1e-5, TOLERANCE = 1e-6;

/* Compares the gradients in `params` with differences of `loss`. */
static void check(emp_params *params, double (*loss)(void *), void *context)
{
    static double gradient[20000];

    cr_assert_leq(params->count, sizeof gradient / sizeof *gradient);
    memcpy(gradient, params->gradient, params->count * sizeof *gradient);
    for (int32_t s = 0; s < params->slice_count; s++) {
        const emp_param_slice *slice = &params->slice[s];
        double                 largest = 0.0;
        for (int i = 0; i < slice->rows * slice->cols; i++) {
            largest = fmax(largest, fabs(gradient[slice->offset + (size_t)i]));
        }
        cr_assert_gt(largest, 1e-6, "%s: the gradient is all but zero", slice->name);
        for (int i = 0; i < slice->rows * slice->cols; i++) {
            double *x = &params->value[slice->offset + (size_t)i], kept = *x, up, down;
            *x = kept + STEP;
            up = loss(context);
            *x = kept - STEP;
            down = loss(context);
            *x = kept;
            double got = gradient[slice->offset + (size_t)i];
            double want = (up - down) / (2.0 * STEP);
            cr_assert_lt(fabs(got - want), TOLERANCE * fmax(largest, fabs(want)),
                         "%s[%d]: %.12g, differences say %.12g", slice->name, i, got,
                         want);
        }
    }
}

static const emp_draw draw = {.seed = 3, .update = 1, .threads = 1};

typedef struct {
    emp_grouper grouper;
    int32_t    *group_of_row;
} grouper_case;

static double grouping_log_prob(void *context)
{
    grouper_case *c = (grouper_case *)context;

    emp_grouper_run(&c->grouper, &draw, c->group_of_row);
    return c->grouper.log_prob;
}

static void check_grouper(int32_t rows, emp_activation activation)
{
    static int32_t   groups[5000];
    grouper_case     c = {.group_of_row = groups};
    emp_op_features *ops = NULL;
    emp_rng          rng;

    emp_rng_init(&rng, 9, 0, 0);
    cr_assert_eq(emp_op_features_create_empty(&ops, rows, rows, 0, NULL), EMP_OK);
    ops->type_count = 3;
    for (int32_t i = 0; i < rows; i++) {
        ops->type[i] = (int32_t)emp_rng_below(&rng, 3);
        groups[i] = (int32_t)emp_rng_below(&rng, 4);
    }
    for (int32_t i = 0; i < rows * EMP_OP_FEATURES; i++) {
        ops->value[i] = emp_rng_normal(&rng) * 0.5;
    }
    cr_assert_eq(emp_grouper_init(&c.grouper, &(emp_grouper_shape){3, 4, 2, activation},
                                  ops, NULL),
                 EMP_OK);
    emp_grouper_randomize(&c.grouper, &rng);
    grouping_log_prob(&c);
    check(&c.grouper.params, grouping_log_prob, &c);
    emp_grouper_clear(&c.grouper);
    emp_op_features_destroy(ops);
}

Test(grouper, gradients_with_tanh) { check_grouper(40, EMP_ACTIVATION_TANH); }
Test(grouper, gradients_with_relu) { check_grouper(40, EMP_ACTIVATION_RELU); }

/* More rows than one block in each of the chunks that rows are cut into. */
Test(grouper, gradients_over_many_blocks) { check_grouper(5000, EMP_ACTIVATION_TANH); }

/* Without groups: each sample's own gradient, kept until its score is known. */
typedef struct {
    emp_op_agent agent;
    int32_t      sample;
} op_case;

static double sample_log_prob(void *context)
{
    op_case *c = (op_case *)context;

    emp_grouper_run(&c->agent.net, &draw,
                    &c->agent.device[c->sample * c->agent.learner.ops->row_count]);
    return c->agent.net.log_prob;
}

Test(op_agent, keeps_the_gradient_of_each_sample)
{
    enum { ROWS = 40, OP_DEVICES = 3 };
    static double    total[20000];
    op_case          c = {.sample = 0};
    emp_op_features *ops = NULL;
    emp_hdp_options  options;
    emp_rng          rng;

    emp_rng_init(&rng, 9, 0, 0);
    cr_assert_eq(emp_op_features_create_empty(&ops, ROWS, ROWS, 0, NULL), EMP_OK);
    ops->type_count = 3;
    for (int32_t i = 0; i < ROWS; i++) ops->type[i] = (int32_t)emp_rng_below(&rng, 3);
    for (int32_t i = 0; i < ROWS * ops->width; i++)
        ops->value[i] = emp_rng_normal(&rng) * 0.5;
    cr_assert_eq(emp_hdp_options_parse(&options, "paper",
                                       "grouper_hidden=3,type_width=2,lr=0,clip=1e9,cap=0",
                                       NULL),
                 EMP_OK);
    cr_assert_eq(emp_op_agent_init(&c.agent, ops, OP_DEVICES, &options, 1, 1, NULL),
                 EMP_OK);
    emp_params *params = &c.agent.net.params;
    emp_op_agent_propose(&c.agent, 2);
    for (c.sample = 0; c.sample < 2; c.sample++) {
        const double *kept = &c.agent.gradient[(size_t)c.sample * params->count];
        memcpy(params->gradient, kept, params->count * sizeof *kept);
        check(params, sample_log_prob, &c);
    }

    /* Times 1 and 4 s, so rewards -1 and -2: against their mean each weighs 1/4. */
    const emp_score scores[2] = {{.step_time_s = 1.0, .is_feasible = true},
                                 {.step_time_s = 4.0, .is_feasible = true}};
    for (size_t i = 0; i < params->count; i++)
        total[i] = 0.25 * (c.agent.gradient[i] - c.agent.gradient[params->count + i]);
    cr_assert_eq(emp_learner_backward(&c.agent, scores, 2, 0, 2, NULL), EMP_OK);
    for (size_t i = 0; i < params->count; i++)
        cr_assert_float_eq(params->gradient[i], total[i], 1e-9);
    emp_op_agent_clear(&c.agent);
}

enum { INPUTS = 9, HIDDEN = 6, DEVICES = 3, STEPS = 5, SAMPLES = 3, LEARNED = 4, ELITES = 2 };

typedef struct {
    emp_device_net net;
    double         x[STEPS * INPUTS];
    double         weight[SAMPLES];
    double         entropy_weight;
    int32_t        device[SAMPLES * STEPS];
    int32_t        taught[ELITES * STEPS];
    double         lesson_weight;
} net_case;

static double objective(void *context)
{
    net_case *c = (net_case *)context;
    double    sum = 0.0;

    emp_device_net_run(&c->net, c->x, STEPS, SAMPLES, &draw, &(emp_exploration){0},
                       c->device);
    for (int k = 0; k < SAMPLES; k++) {
        sum += c->weight[k] * c->net.log_prob[k] +
               c->entropy_weight * c->net.entropy[k] / SAMPLES;
        for (int i = 0; i < ELITES * STEPS; i++)
            sum += c->lesson_weight / SAMPLES *
                   log(c->net.p[(k * STEPS + i % STEPS) * DEVICES + c->taught[i]]);
    }
    return sum;
}

/* The first inputs of each step, of which the backward pass leaves the gradient. */
static void check_inputs(net_case *c)
{
    for (int s = 0; s < STEPS; s++) {
        for (int i = 0; i < LEARNED; i++) {
            double *x = &c->x[s * INPUTS + i], kept = *x, up, down;
            *x = kept + STEP;
            up = objective(c);
            *x = kept - STEP;
            down = objective(c);
            *x = kept;
            cr_expect_float_eq(c->net.d_x[s * LEARNED + i], (up - down) / (2.0 * STEP),
                               1e-8, "input %d of step %d", i, s);
        }
    }
}

static void check_net(double entropy_weight, double lesson_weight, bool is_aligned)
{
    net_case c = {.weight = {0.7, -1.3, 0.4},
                  .entropy_weight = entropy_weight,
                  .lesson_weight = lesson_weight};
    const emp_device_net_shape shape = {INPUTS, HIDDEN, DEVICES, STEPS + 2,  SAMPLES,
                                        1.5,    2.0,    LEARNED, is_aligned, 0.0};
    const emp_device_lesson    lesson = {c.taught, ELITES, lesson_weight};
    emp_rng                    rng;

    emp_rng_init(&rng, 11, 0, 0);
    for (int i = 0; i < STEPS * INPUTS; i++) c.x[i] = emp_rng_normal(&rng);
    for (int i = 0; i < SAMPLES * STEPS; i++) {
        c.device[i] = (int32_t)emp_rng_below(&rng, DEVICES);
    }
    for (int i = 0; i < ELITES * STEPS; i++)
        c.taught[i] = (int32_t)emp_rng_below(&rng, DEVICES);
    cr_assert_eq(emp_device_net_init(&c.net, &shape, NULL), EMP_OK);
    emp_device_net_randomize(&c.net, 1.0, &rng);
    objective(&c);
    if (lesson_weight > 0)
        emp_device_net_teach(&c.net, c.weight, entropy_weight, &lesson, 1);
    else
        emp_device_net_backward(&c.net, c.weight, entropy_weight, 1);
    check(&c.net.params, objective, &c);
    check_inputs(&c);
    emp_device_net_clear(&c.net);
}

Test(device_net, gradients) { check_net(0.0, 0.0, false); }
Test(device_net, gradients_with_entropy) { check_net(0.8, 0.0, false); }
Test(device_net, gradients_of_a_lesson_and_aligned_outputs) { check_net(0.8, 1.7, true); }

/* Largest gradient of the gates of a cell that stays half open for 40 steps, with weights that
 * make the gradient grow from step to step. */
static double largest_gradient(double bound)
{
    enum { T = 40, H = 4 };
    const emp_lstm_shape shape = {.count = 1, .T = T, .H = H, .threads = 1, .bound = bound};
    double     gates[T * 4 * H], dh[T * H] = {0}, dc[H] = {0}, cell[(T + 1) * H], w[H * 4 * H];
    double     largest = 0.0;
    emp_panels panels;

    for (int i = 0; i < T * 4 * H; i++) gates[i] = 0.5;
    for (int i = 0; i < (T + 1) * H; i++) cell[i] = 0.5;
    for (int i = 0; i < H * 4 * H; i++) w[i] = 2.0;
    dh[(T - 1) * H] = 0.004;
    cr_assert_eq(emp_panels_init(&panels, 4 * H, H, NULL), EMP_OK);
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

// SPDX-License-Identifier: GPL-3.0-or-later
/* Options and presets, and what the preset "literal" does as the released code does. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "policy/hdp/hdp.h"
#include "tests/policy/hdp/planner.h"

TestSuite(hdp_literal, .init = planner_problem_create, .fini = planner_problem_destroy);

/* The mean of all rewards, failures among them, is averaged in as long as those teach. */
Test(hdp_literal, the_literal_baseline_starts_at_a_failure_and_averages_all)
{
    void *state =
        planner_create_preset(3, 1, "literal", PLANNER_LEARNED ",updates_failures=2");
    double want = -10.0;

    for (int u = 0; u < 4; u++) {
        bool has_ran = u != 1 && u != 3;
        planner_update(state, has_ran);
        if (u < 2 || has_ran) want = 0.9 * want + 0.1 * planner_metric(state, "reward");
        cr_expect_float_eq(planner_metric(state, "baseline"), want, 1e-12, "update %d",
                           u);
    }
    emp_method_destroy(&emp_method_hdp, state);
}

/* The same placements are measured; but others are learned, which their rewards say nothing
 * of. */
Test(hdp_literal, redrawing_teaches_nothing)
{
    const char *const options =
        PLANNER_LEARNED ",lr=0.01,noise=0,epsilon=1e-8,run_longest=0";
    static emp_device_id first[PLANNER_SAMPLES][PLANNER_MAX_OPS];
    char                 redraw[400];
    double               last[2] = {0.0, 0.0}, weights[2];

    snprintf(redraw, sizeof redraw, "%s,redraw=1", options);
    for (int i = 0; i < 2; i++) {
        void *state = planner_create(5, 1, i == 0 ? options : redraw);
        planner_update(state, true);
        if (i == 0) memcpy(first, planner_storage, sizeof first);
        cr_expect_eq(memcmp(first, planner_storage, sizeof first), 0);
        planner_update(state, true);
        weights[i] = planner_weight_sum(state);
        for (int u = 0; u < 200; u++) planner_update(state, true);
        for (int u = 0; u < 10; u++) last[i] += planner_update(state, true) / 10;
        emp_method_destroy(&emp_method_hdp, state);
    }
    cr_expect_neq(weights[0], weights[1]);
    cr_expect_lt(last[0], 1.15);
    cr_expect_gt(last[1], last[0] + 0.2, "%g redrawn, %g not", last[1], last[0]);
}

/* What remains of the noise in the probabilities of given devices: of D numbers, D - 1. */
Test(hdp_literal, gaussian_noise_of_the_placer_is_as_large_as_its_logits)
{
    enum { UPDATES = 99 };
    void *clean = planner_create(3, 1, PLANNER_LEARNED ",noise=0,lr=0,placer_gain=300");
    void *noisy =
        planner_create(3, 1,
                       PLANNER_LEARNED ",noise=0.5,noise_form=gaussian,updates_noise=99,"
                                     "lr=0,placer_gain=300");
    emp_hdp_agent *a = (emp_hdp_agent *)clean, *b = (emp_hdp_agent *)noisy;
    int32_t        rows = a->learner.ops->row_count, group[PLANNER_MAX_OPS];
    int32_t        device[PLANNER_SAMPLES * 12];
    double         want = 0.0, got = 0.0;

    for (int32_t r = 0; r < rows; r++) group[r] = r % 12;
    for (int i = 0; i < PLANNER_SAMPLES * 12; i++) device[i] = i % 3;
    for (int u = 0; u < UPDATES; u++) {
        a->learner.update = b->learner.update = u;
        emp_hdp_agent_propose(a, PLANNER_SAMPLES, group, device);
        emp_hdp_agent_propose(b, PLANNER_SAMPLES, group, device);
        for (int64_t step = 0; step < PLANNER_SAMPLES * 12; step++) {
            double sum = 0.0, squares = 0.0;
            for (int64_t d = 3 * step; d < 3 * step + 3; d++) {
                double logit = 5.0 * (double)a->net.squashed[d];
                double difference = log((double)b->net.p[d] / (double)a->net.p[d]);
                want += 0.25 * logit * logit / 3.0 * 2.0;
                sum += difference;
                squares += difference * difference;
            }
            got += squares - sum * sum / 3.0;
        }
    }
    cr_expect_gt(want, 1.0);
    cr_expect_float_eq(got, want, 0.05 * want, "%g, not %g", got, want);
    emp_method_destroy(&emp_method_hdp, clean);
    emp_method_destroy(&emp_method_hdp, noisy);
}

/* The mean of ln sigmoid(x) over normal x of a deviation, by the trapezoidal rule. */
static double mean_log_sigmoid(double deviation)
{
    const double step = 0.01;
    double       sum = 0.0;

    for (double z = -8.0; z <= 8.0; z += step)
        sum -= log1p(exp(-deviation * z)) * exp(-z * z / 2) * step;
    return sum / sqrt(2 * acos(-1.0));
}

/* Two groups whose logits are 2 and 2 for every op: their root mean square is 2, and what noise
 * puts between them has the deviation 0.5 x 2 x sqrt(2). */
Test(hdp_literal, gaussian_noise_of_the_grouper_is_as_large_as_its_logits)
{
    enum { UPDATES = 100, OUT_WEIGHT = 4, OUT_BIAS = 5 };
    void          *state = planner_create(3, 1,
                                          "groups=2,hidden=4,grouper_hidden=3,grouping=learned,noise_form=gaussian,"
                                                   "updates_noise=100");
    emp_hdp_agent *a = (emp_hdp_agent *)state;
    emp_params    *p = &a->grouper.params;
    int32_t        rows = a->learner.ops->row_count, group[PLANNER_MAX_OPS];
    double         got = 0.0, want = mean_log_sigmoid(sqrt(2.0));

    for (int32_t r = 0; r < rows; r++) group[r] = r % 2;
    for (int32_t i = 0; i < 3 * 2; i++) emp_params_value(p, OUT_WEIGHT)[i] = 0;
    for (int32_t i = 0; i < 2; i++) emp_params_value(p, OUT_BIAS)[i] = 2;
    for (int u = 0; u < UPDATES; u++) {
        a->learner.update = u;
        emp_hdp_agent_propose(a, 1, group, NULL);
        got += a->grouper.log_prob / ((double)UPDATES * rows);
    }
    cr_expect_float_eq(got, want, 0.02, "%g, not %g", got, want);
    cr_expect_lt(want, log(0.5) - 0.1, "without noise it is ln 1/2");
    a->learner.update = UPDATES;
    emp_hdp_agent_propose(a, 1, group, NULL);
    cr_expect_float_eq(a->grouper.log_prob / rows, log(0.5), 1e-6, "noise has ended");
    emp_method_destroy(&emp_method_hdp, state);
}

static void expect_refusal(const char *preset, const char *text, const char *start)
{
    emp_hdp_options options;
    emp_error       err = {0};

    cr_assert_eq(emp_hdp_options_parse(&options, preset, text, &err), EMP_EINVAL);
    cr_expect_eq(strncmp(err.msg, start, strlen(start)), 0, "%s", err.msg);
}

Test(hdp_options, name_what_is_wrong)
{
    expect_refusal(NULL, "lrr=1",
                   "hdp has no option \"lrr\" (did you mean \"lr\"?); it has groups, "
                   "grouper_hidden");
    expect_refusal(NULL, "lr=0.1,groups=-1",
                   "hdp: option groups is -1, must be a whole number in 0..4096");
    expect_refusal(NULL, "groups=0,grouping=chunks", "hdp: groups=0 leaves the number");
    expect_refusal("literal", "groups=0", "hdp: groups=0 leaves the number");
    expect_refusal(NULL, "grouping=kahip",
                   "hdp: option grouping is kahip, must be one of learned|random|chunks");
    expect_refusal("best", NULL, "hdp has no preset \"best\"; it has paper");
    expect_refusal("emplace", NULL, "hdp has no preset \"emplace\" any more");
}

Test(hdp_options, paper_preset_holds_the_paper_constants)
{
    emp_hdp_options o;

    cr_assert_eq(emp_hdp_options_parse(&o, NULL, NULL, NULL), EMP_OK);
    cr_expect(o.groups == 256 && o.grouper_hidden == 64 && o.hidden == 256);
    cr_expect(o.type_width == 20 && o.learner.samples == 4 && o.temperature == 10);
    cr_expect(o.tanh_constant == 5 && o.learner.clip == 1 &&
              o.learner.rules.failure == 10);
    cr_expect(o.learner.rules.baseline_decay == 0.9 &&
              o.learner.rules.updates_failures == 500);
    cr_expect(o.learner.entropy == 0, "the paper has no entropy bonus");
}

/* What differs from "paper", and nothing else. */
Test(hdp_options, literal_preset_holds_what_the_released_code_does)
{
    emp_hdp_options paper, o;

    cr_assert_eq(emp_hdp_options_parse(&paper, "paper", NULL, NULL), EMP_OK);
    cr_assert_eq(emp_hdp_options_parse(&o, "literal", NULL, NULL), EMP_OK);
    cr_expect(o.learner.adam.epsilon == 1e-8 && o.learner.adam.epsilon_hat,
              "tf.train.AdamOptimizer's defaults");
    cr_expect(o.learner.adam.learning_rate == 0.1 && o.updates_noise == 500,
              "of the paper");
    cr_expect(o.grouping == EMP_GROUPING_LEARNED && o.learner.rules.cap == 0 &&
              o.learner.rules.failures_share == 0);
    cr_expect(o.heat.first == 0 && o.stretches == 0 && o.elites == 0 &&
              o.gradient_bound == 0);
    cr_expect(!o.costs && !o.standardize && !o.aligned);
    cr_expect(o.run_shortest == 0 && o.run_longest == 0, "independent draws");
    cr_expect_not(o.ranges, "Glorot weights");
    cr_expect_not(o.learner.rules.baseline_first);
    cr_expect(o.learner.rules.baseline_failures);
    cr_expect(o.noise_form == EMP_NOISE_GAUSSIAN && o.noise == 0.5);
    cr_expect(o.order == EMP_ORDER_NUMBER && o.empty_groups);
    cr_expect(o.absent == EMP_ABSENT_MINUS_1);
    cr_expect_not(o.redraw, "a defect");
    for (const emp_option *i = emp_hdp_option_list; i->name != NULL; i++) {
        static const char differ[] =
            " epsilon epsilon_hat run_shortest run_longest ranges baseline_first "
            "baseline_failures noise_form order empty_groups absent lr updates_noise "
            "grouping cap failures_share heat stretches elites gradient_bound costs "
            "standardize aligned ";
        char text[EMP_OPTION_TEXT_BYTES], other[EMP_OPTION_TEXT_BYTES], name[64];
        emp_option_write_default(text, i, 0);
        emp_option_write_default(other, i, 1);
        snprintf(name, sizeof name, " %s ", i->name);
        cr_expect_eq(strcmp(text, other) != 0, strstr(differ, name) != NULL,
                     "%s is %s and %s", i->name, text, other);
    }
}

/* Whoever reads the list of options has no source at hand. */
Test(hdp_options, help_names_no_files)
{
    for (const emp_option *i = emp_hdp_option_list; i->name != NULL; i++)
        cr_expect(strstr(i->help, ".h") == NULL && strstr(i->help, ".c") == NULL,
                  "%s: %s", i->name, i->help);
}

Test(hdp_options, single_options_change_a_preset)
{
    emp_hdp_options o;

    cr_assert_eq(emp_hdp_options_parse(&o, "paper", "lr=0.01,groups=64", NULL), EMP_OK);
    cr_expect(o.learner.adam.learning_rate == 0.01 && o.groups == 64 &&
              o.learner.samples == 4);
}

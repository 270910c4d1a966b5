// SPDX-License-Identifier: GPL-3.0-or-later
/* Statistics against values worked out by hand; placements to judge by. */
#include "bench/validate/diverse.h"
#include "bench/validate/validate.h"
#include "replay/planner/planner.h"
#include "tests/support/problems.h"
#include "tests/test.h"

TestSuite(validate, .fini = expect_all_freed);

static emp_validation_case timed(double predicted_s, double measured_s)
{
    return (emp_validation_case){.is_predicted_feasible = true,
                                 .is_feasible = true,
                                 .predicted_s = predicted_s,
                                 .measured_s = measured_s,
                                 .device_count = 1};
}

static emp_validation_summary summarize(const emp_validation_case *cases, int32_t count)
{
    emp_validation_summary s;

    ASSERT_OK(emp_validation_summarize(&s, cases, count, &err));
    return s;
}

/* Errors +10 %, -20 %, +50 %, 0. Ranks predicted 1 2 4 3, measured 1 3 2 4: differences
 * 0 1 2 1, Spearman 1 - 6 * 6 / (4 * 15) = 0.4; of 6 pairs (2, 3) and (3, 4) are wrong,
 * Kendall (4 - 2) / 6. */
Test(validate, errors_and_ranks_are_as_worked_out_by_hand)
{
    emp_validation_case c[] = {timed(1.1, 1.0), timed(2.4, 3.0), timed(3.75, 2.5),
                               timed(3.5, 3.5)};

    c[0].predicted_busy_s[0] = 0.5, c[0].busy_s[0] = 0.4;
    c[1].predicted_busy_s[0] = 0.5, c[1].busy_s[0] = 1.6;
    c[0].predicted_peak_bytes[0] = 110, c[0].peak_bytes[0] = 100;
    c[1].predicted_peak_bytes[0] = 60, c[1].peak_bytes[0] = 80;
    emp_validation_summary s = summarize(c, 4);
    cr_expect_eq(s.timed_count, 4);
    cr_expect_float_eq(s.mean_abs_error_frac, 0.2, 1e-12);
    cr_expect_float_eq(s.bias_frac, 0.1, 1e-12);
    cr_expect_float_eq(s.worst_error_frac, 0.5, 1e-12);
    cr_expect_float_eq(s.spearman, 0.4, 1e-12);
    cr_expect_float_eq(s.kendall, 1.0 / 3.0, 1e-12);
    cr_expect_float_eq(s.busy_error_frac, (0.1 + 1.1) / 2.0, 1e-12);
    cr_expect_float_eq(s.peak_error_frac, (0.1 + 0.25) / 2.0, 1e-12);
    cr_expect_float_eq(s.worst_peak_error_frac, -0.25, 1e-12);
}

/* The first two of three steps of 1.00, 1.05 and 1.20 s count as equal. */
Test(validate, pairs_that_are_apart_count_if_they_are_in_order)
{
    emp_validation_case c[] = {timed(1.1, 1.0), timed(1.0, 1.05), timed(1.05, 1.2)};

    emp_validation_summary s = summarize(c, 3);
    cr_expect_eq(s.apart_count, 2);
    cr_expect_eq(s.apart_in_order, 1);
}

Test(validate, steps_that_do_not_fit_count_for_verdicts_alone)
{
    emp_validation_case c[] = {timed(1.1, 1.0), timed(9.0, 0.0), timed(9.0, 1.0),
                               timed(9.0, 0.0), timed(9.0, 0.0)};

    c[1].is_feasible = false;
    c[2].is_predicted_feasible = false;
    c[3].is_feasible = c[3].is_predicted_feasible = false;
    c[4].is_feasible = c[4].is_predicted_feasible = false;
    emp_validation_summary s = summarize(c, 5);
    cr_expect_eq(s.timed_count, 1);
    cr_expect_eq(s.both_fit, 1);
    cr_expect_eq(s.missed_oom, 1);
    cr_expect_eq(s.false_oom, 1);
    cr_expect_eq(s.both_oom, 2);
    cr_expect_float_eq(s.mean_abs_error_frac, 0.1, 1e-12);
    cr_expect(isnan(s.spearman), "one value has no rank");
}

Test(validate, devices_on_shared_cores_count_for_memory_alone)
{
    emp_sim_result      predicted = {.is_feasible = true, .step_time_ns = 1000000000};
    emp_replay_result   r = {.device_count = 2, .is_feasible = true, .median_s = 2.0};
    emp_validation_case c[2];

    strcpy(r.device[0].runs_on, "core 0");
    strcpy(r.device[1].runs_on, "core 0");
    r.device[0].busy_s = 1.0;
    r.device[1].busy_s = 0.03; /* less than 2 % of the step */
    r.device[0].peak_bytes = 1000;
    r.device[1].peak_bytes = 9; /* less than 1 % of the bytes */
    predicted.peak_bytes[0] = 900;
    emp_validation_case_measured(&c[0], "apart", &r);
    emp_validation_case_predicted(&c[0], &predicted);
    r.device[1].busy_s = 1.0;
    emp_validation_case_measured(&c[1], "shared", &r);
    emp_validation_case_predicted(&c[1], &predicted);
    emp_validation_summary s = summarize(c, 2);
    cr_expect_eq(s.timed_count, 1);
    cr_expect_eq(s.shared_count, 1);
    cr_expect_float_eq(s.shared_error_frac, 0.5, 1e-12);
    cr_expect_float_eq(s.mean_abs_error_frac, 0.5, 1e-12);
    cr_expect_float_eq(s.peak_error_frac, 0.1, 1e-12);
    strcpy(r.device[1].runs_on, "core 1");
    emp_validation_case_measured(&c[1], "apart", &r);
    emp_validation_case_predicted(&c[1], &predicted);
    s = summarize(c, 2);
    cr_expect_eq(s.shared_count, 0);
}

/* For 1, 2 and 4 s the constant 2 is wrong by 1, 0 and 1/2; 1 by 0, 1/2 and 3/4; 4 by 3, 1
 * and 0. 1 is best: 1.25 / 3. No other constant is better. */
Test(validate, the_best_constant_is_as_worked_out_by_hand)
{
    emp_validation_case c[] = {timed(1.0, 4.0), timed(1.0, 1.0), timed(1.0, 2.0)};
    double              error, times[] = {4.0, 1.0, 2.0}, alike[] = {1.0, 1.0, 1.0};

    cr_expect_eq(emp_guess_scale(&error, alike, times, 3), 1.0);
    cr_expect_float_eq(error, 1.25 / 3.0, 1e-12);
    for (double other = 0.5; other < 5.0; other += 0.03125) {
        double sum = 0.0;
        for (int i = 0; i < 3; i++) sum += fabs(other / times[i] - 1.0);
        cr_expect_geq(sum / 3.0, error - 1e-12, "%g is better", other);
    }
    emp_validation_summary s = summarize(c, 3);
    cr_expect_eq(s.constant_s, 1.0);
    cr_expect_float_eq(s.constant_error_frac, s.mean_abs_error_frac, 1e-12,
                       "a model that says the same of all is no better");
    cr_expect_eq(s.least_s, 1.0);
    cr_expect_eq(s.most_s, 4.0);
    cr_expect(isnan(emp_guess_scale(&error, alike, times, 0)) && isnan(error));
}

/* Guesses of 1, 2 and 3 s for 2, 4 and 9 s: twice is right of two, and a third off of the last. */
Test(validate, one_factor_takes_the_bias_out_of_predictions)
{
    emp_validation_case c[] = {timed(1.0, 2.0), timed(2.0, 4.0), timed(3.0, 9.0)};

    emp_validation_summary s = summarize(c, 3);
    cr_expect_eq(s.scale, 2.0);
    cr_expect_float_eq(s.scaled_error_frac, 1.0 / 9.0, 1e-12);
    cr_expect_gt(s.mean_abs_error_frac, s.scaled_error_frac);
}

Test(validate, guesses_are_judged_as_the_model_is)
{
    emp_validation_case c[] = {timed(1.0, 1.0), timed(2.0, 2.0), timed(4.0, 4.0)};

    c[0].roofline_s = 0.5, c[1].roofline_s = 3.0, c[2].roofline_s = 1.0;
    c[0].copies_s = 3.0, c[1].copies_s = 2.0, c[2].copies_s = 1.0;
    emp_validation_summary s = summarize(c, 3);
    cr_expect_eq(s.mean_abs_error_frac, 0.0);
    cr_expect_float_eq(s.spearman, 1.0, 1e-12);
    cr_expect_float_eq(s.roofline_error_frac, (0.5 + 0.5 + 0.75) / 3.0, 1e-12);
    cr_expect_float_eq(s.roofline_spearman, 0.5, 1e-12); /* ranks 1 3 2 */
    cr_expect_float_eq(s.copies_spearman, -1.0, 1e-12);
}

/* Kernels 2 and 1.25 times too long, schedules a tenth too short and a fifth too long; the third is not known. */
Test(validate, errors_of_kernels_and_schedules_stand_apart)
{
    emp_validation_case c[] = {timed(1.8, 1.0), timed(1.5, 1.0), timed(1.0, 1.0)};

    c[0].scheduled_s = 0.9;
    c[1].scheduled_s = 1.2;
    c[2].scheduled_s = NAN;
    emp_validation_summary s = summarize(c, 3);
    cr_expect_eq(s.scheduled_count, 2);
    cr_expect_float_eq(s.kernel_error_frac, (1.0 + 0.25) / 2.0, 1e-12);
    cr_expect_float_eq(s.schedule_error_frac, 0.15, 1e-12);
    cr_expect_float_eq(s.schedule_bias_frac, 0.05, 1e-12);
    c[0].scheduled_s = c[1].scheduled_s = 0.0;
    s = summarize(c, 3);
    cr_expect_eq(s.scheduled_count, 0);
    cr_expect(isnan(s.kernel_error_frac) && isnan(s.schedule_error_frac));
    cr_expect(isnan(s.repeat_error_frac));
}

/* Two placements; the third round ended after the first of them. Medians 2 and 3.5 s; single rounds are off by 1/2, 0,
 * 1/2 and 1/7, 1/7. */
Test(validate, rounds_become_medians_and_their_noise)
{
    emp_validation_case c[] = {timed(1.5, 1.0), timed(4.0, 3.0), timed(1.5, 2.0),
                               timed(4.0, 4.0), timed(1.5, 3.0)};
    int32_t             count = 5;
    double              noise;

    for (int32_t i = 0; i < count; i++) {
        c[i].scheduled_s = 1.1 * c[i].measured_s;
        c[i].busy_s[0] = 0.5 * c[i].measured_s;
        c[i].peak_bytes[0] = 100 + i;
    }
    ASSERT_OK(emp_validation_pool(&noise, c, &count, 2, &err));
    cr_assert_eq(count, 2);
    cr_expect_float_eq(noise, (0.5 + 0.0 + 0.5 + 1.0 / 7.0 + 1.0 / 7.0) / 5.0, 1e-12);
    cr_expect_float_eq(c[0].measured_s, 2.0, 1e-12);
    cr_expect_float_eq(c[0].low_s, 1.5, 1e-12);
    cr_expect_float_eq(c[0].high_s, 2.5, 1e-12);
    cr_expect_float_eq(c[1].measured_s, 3.5, 1e-12);
    cr_expect_float_eq(c[1].scheduled_s, 3.85, 1e-12);
    cr_expect_float_eq(c[1].busy_s[0], 1.75, 1e-12);
    cr_expect_eq(c[0].peak_bytes[0], 104);
}

Test(validate, a_factor_changes_all_times_that_were_measured)
{
    emp_validation_case c = timed(1.5, 2.0);

    c.device_count = 1;
    c.busy_s[0] = 1.0;
    c.peak_bytes[0] = 7;
    c.scheduled_s = 1.75;
    c.low_s = 1.5;
    c.high_s = 3.0;
    emp_validation_case_rescale(&c, 0.5);
    cr_expect_float_eq(c.predicted_s, 1.5, 1e-12);
    cr_expect_float_eq(c.measured_s, 1.0, 1e-12);
    cr_expect_float_eq(c.low_s, 0.75, 1e-12);
    cr_expect_float_eq(c.high_s, 1.5, 1e-12);
    cr_expect_float_eq(c.scheduled_s, 0.875, 1e-12);
    cr_expect_float_eq(c.busy_s[0], 0.5, 1e-12);
    cr_expect_eq(c.peak_bytes[0], 7);
}

Test(validate, a_placement_fits_if_it_did_in_each_round)
{
    emp_validation_case c[] = {timed(1.5, 1.0), timed(1.5, 0.0)};
    int32_t             count = 2;
    double              noise;

    c[1].is_feasible = false;
    ASSERT_OK(emp_validation_pool(&noise, c, &count, 1, &err));
    cr_assert_eq(count, 1);
    cr_expect(!c[0].is_feasible);
    cr_expect(isnan(noise));
}

Test(validate, a_measured_time_of_nothing_is_an_error)
{
    emp_validation_summary s;
    emp_validation_case    c = timed(1.0, 0.0);

    strcpy(c.name, "metis");
    EXPECT_REFUSED(emp_validation_summarize(&s, &c, 1, &err), EMP_EINVAL, "metis");
}

static task             net;
static const emp_graph *step;
static emp_device_id   *base, *first, *second;

static emp_device_id *room(void)
{
    return EMP_NEW_ARRAY(emp_device_id, (size_t)step->op_count);
}

static void create_problem(void)
{
    task_create(&net, "nmt:layers=2,units=32,batch=4,steps=3,vocab=200", "cpu2",
                "replay-cpu");
    step = net.graph;
    base = net.device_of_op;
    first = room();
    second = room();
    for (int32_t op = 0; op < step->op_count; op++) base[op] = 1;
    emp_problem_legalize(net.problem, base);
}

static void destroy_problem(void)
{
    task_destroy(&net);
    emp_free(first);
    emp_free(second);
    expect_all_freed();
}

TestSuite(diverse, .init = create_problem, .fini = destroy_problem);

static void deal(emp_device_id *out, char *name, int32_t index, uint64_t seed)
{
    ASSERT_OK(emp_diverse_placement(out, name, net.problem, base, index, seed, &err));
}

static int32_t moved(const emp_device_id *a, const emp_device_id *b)
{
    int32_t count = 0;

    for (int32_t op = 0; op < step->op_count; op++) count += a[op] != b[op];
    return count;
}

Test(diverse, placements_differ_are_legal_and_come_again)
{
    char    name[EMP_DIVERSE_NAME_BYTES], other[EMP_DIVERSE_NAME_BYTES];
    size_t  bytes = (size_t)step->op_count * sizeof *first;
    int32_t same = 0;

    for (int32_t i = 0; i < 30; i++) {
        deal(first, name, i, 1);
        deal(second, other, i, 1);
        cr_expect_arr_eq(first, second, bytes, "%s", name);
        emp_problem_legalize(net.problem, second);
        cr_expect_arr_eq(first, second, bytes, "%s is not legal", name);
        for (int32_t k = 0; k < i; k++) {
            deal(second, other, k, 1);
            cr_expect_str_neq(name, other);
            same += moved(first, second) == 0;
        }
    }
    cr_expect_leq(same, 2, "%d pairs are the same", same);
}

/* All on one device, its sum; and each device has its own. */
Test(diverse, rooflines_are_sums_of_each_device)
{
    const emp_device *gpu = &net.machine->device[1];
    double            sum_s = 0.0, half_s[3] = {0};

    for (int32_t op = 0; op < step->op_count; op++) {
        const emp_op_cost *c = step->op[op].cost;
        second[op] = 1 + op % 2;
        if (step->op[op].is_folded || c->op_class == EMP_OP_KERNELLESS) continue;
        double s = c->flops / gpu->peak_flops_per_s +
                   (double)(c->bytes_read + c->bytes_written) / gpu->memory_bytes_per_s;
        sum_s += s;
        half_s[second[op]] += s;
    }
    for (int32_t op = 0; op < step->op_count; op++) first[op] = 1;
    cr_expect_float_eq(emp_guess_roofline_s(net.problem, first), sum_s, 1e-12);
    cr_expect_float_eq(emp_guess_roofline_s(net.problem, second),
                       fmax(half_s[1], half_s[2]), 1e-12);
    cr_expect_lt(fmax(half_s[1], half_s[2]), sum_s);
}

Test(diverse, copies_take_their_links_one_after_the_other)
{
    emp_replay_plan *plan = NULL;
    double           sum_s = 0.0;

    for (int32_t op = 0; op < step->op_count; op++) first[op] = 1 + op / 8 % 2;
    emp_problem_legalize(net.problem, first);
    ASSERT_OK(emp_replay_plan_from_problem(&plan, net.problem, first, &err));
    cr_assert_gt(plan->copy_count, 10);
    for (int32_t c = 0; c < plan->copy_count; c++) {
        int32_t          from = emp_replay_memory_of_place(plan, plan->copy[c].tensor);
        const emp_route *r = &net.machine->route[from][plan->copy[c].to];
        sum_s += r->latency_s + (double)plan->copy[c].bytes / r->bytes_per_s;
    }
    cr_expect_float_eq(emp_guess_copies_s(plan), sum_s, 1e-12);
    emp_replay_plan_destroy(plan);
}

/* Constants of the machine change nothing of what is dealt. */
Test(diverse, placements_dealt_on_a_plain_machine_do_not_change_with_constants)
{
    emp_runtime  runtime = net.problem->runtime;
    emp_machine *plain[2];
    emp_problem *dealt[2];
    char         name[EMP_DIVERSE_NAME_BYTES];
    size_t       bytes = (size_t)step->op_count * sizeof *first;

    for (int i = 0; i < 2; i++) {
        plain[i] = emp_diverse_machine(net.machine);
        cr_assert_not_null(plain[i]);
        ASSERT_OK(emp_problem_create(&dealt[i], step, plain[i], &runtime, "nmt", &err));
        net.machine->device[1].gemm_per_wave_s *= 3.0;
        net.machine->device[1].kernel_minimum_s *= 9.0;
        net.machine->link[0].bytes_per_s *= 0.1;
        net.machine->link[0].latency_s += 1e-3;
    }
    for (int32_t i = 0; i < 20; i++) {
        ASSERT_OK(emp_diverse_placement(first, name, dealt[0], base, i, 1, &err));
        ASSERT_OK(emp_diverse_placement(second, name, dealt[1], base, i, 1, &err));
        cr_expect_arr_eq(first, second, bytes, "%s", name);
    }
    for (int i = 0; i < 2; i++) {
        emp_problem_destroy(dealt[i]);
        emp_machine_destroy(plain[i]);
    }
}

Test(diverse, op_times_are_summed_by_type)
{
    emp_replay_result    r = {0};
    emp_validation_types types = {0};
    int32_t              live = 0, at = 0, products = 0;
    double               predicted_s = 0.0;

    for (int32_t op = 0; op < step->op_count; op++) live += !step->op[op].is_folded;
    ASSERT_OK(emp_replay_result_init(&r, 1, live, 0, &err));
    r.op_count = live;
    for (int32_t i = 0; i < step->op_count; i++) {
        emp_op_id op = step->topo[i];
        if (step->op[op].is_folded) continue;
        bool is_product = strcmp(step->type_name[step->type[op]], "MatMul") == 0;
        r.op_s[at++] = is_product ? 0.25f : -1.0f;
        products += is_product;
        if (is_product)
            predicted_s += 1e-9 * (double)net.problem->costs->gpu[op].compute_ns;
    }
    ASSERT_OK(emp_validation_add_ops(&types, net.problem, base, &r, 1.0, &err));
    cr_expect_eq(types.count, 1, "the others were not timed");
    cr_expect_str_eq(types.type[0].type, "MatMul");
    cr_expect_eq(types.type[0].count, products);
    cr_expect_float_eq(types.type[0].measured_s, 0.25 * products, 1e-9);
    cr_expect_float_eq(types.type[0].predicted_s, predicted_s, 1e-12);
    r.op_count--;
    cr_expect_eq(emp_validation_add_ops(&types, net.problem, base, &r, 1.0, NULL),
                 EMP_EINVAL);
    emp_replay_result_clear(&r);
}

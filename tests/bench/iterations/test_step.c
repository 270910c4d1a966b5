// SPDX-License-Identifier: GPL-3.0-or-later
/* Pipelines of one forward and one backward pass in turn: do steps of the oracle take what a hand
 * computes, in time and in memory? Times are in seconds. */
#include <string.h>

#include "bench/iterations/step.h"
#include "tests/support/survive.h"

enum { MANY = 40 };

static emp_step_result simulate(int32_t stages, int32_t replicas, int32_t micro_batches,
                                const emp_stage_cost *stage)
{
    const emp_step  step = {stages, replicas, micro_batches, stage};
    emp_step_result result = {0};

    MUST(emp_step_simulate(&result, &step, &why));
    cr_expect_eq(emp_mem_live_blocks(), 0);
    return result;
}

static void expect_s(emp_step_result result, double seconds)
{
    cr_expect_float_eq(result.step_s, seconds, 1e-9, "%.9f, not %.9f", result.step_s,
                       seconds);
}

/* (m + S - 1) (F + B), for stages that are alike and exchange nothing. */
Test(step, stages_that_are_alike_take_their_closed_form)
{
    const emp_stage_cost cost = {.forward_s = 1.0, .backward_s = 2.0};
    const emp_stage_cost stage[] = {cost, cost, cost, cost};

    for (int32_t stages = 1; stages <= 4; stages++)
        for (int32_t n = 1; n <= 6; n++)
            expect_s(simulate(stages, 1, n, stage), 3.0 * (n + stages - 1));
}

/* A stage alone adds gradients n - 1 times. With two stages and four micro-batches, the second adds them
 * three times before the first one's last backward pass, which adds them once more. */
Test(step, gradients_are_added_from_the_second_micro_batch_on)
{
    const emp_stage_cost cost = {
        .forward_s = 1.0, .backward_s = 2.0, .accumulate_s = 0.25};
    const emp_stage_cost stage[] = {cost, cost};

    for (int32_t n = 1; n <= 6; n++)
        expect_s(simulate(1, 1, n, stage), 3.0 * n + 0.25 * (n - 1));
    expect_s(simulate(2, 1, 1, stage), 6.0);
    expect_s(simulate(2, 1, 4, stage), 15.0 + 0.25 * 3 + 0.25);
}

/* One micro-batch goes forth and back: F0, send, F1, B1, send, B0, then sum and update. */
Test(step, one_micro_batch_waits_for_every_exchange)
{
    const emp_stage_cost stage[] = {{.forward_s = 1.0,
                                     .backward_s = 2.0,
                                     .output_s = 0.25,
                                     .reduce_s = 0.5,
                                     .update_s = 0.125},
                                    {.forward_s = 3.0,
                                     .backward_s = 4.0,
                                     .gradient_s = 0.75,
                                     .reduce_s = 0.5,
                                     .update_s = 0.125}};

    expect_s(simulate(2, 1, 1, stage), 1.0 + 0.25 + 3.0 + 4.0 + 0.75 + 2.0 + 0.625);
}

/* The first stage: F0 to 1, sends to 1.25, F1 to 2.25. The second has done F0 and B0 by 2.25. They
 * exchange the gradient to 2.5 and the output to 2.75. B0 lasts to 4.75, when the second has long done
 * F1 and B1; the gradient is there at 5, and B1 ends at 7. */
Test(step, a_blocking_exchange_keeps_both_neighbours)
{
    const emp_stage_cost stage[] = {
        {.forward_s = 1.0, .backward_s = 2.0, .output_s = 0.25},
        {.forward_s = 0.5, .backward_s = 0.5, .gradient_s = 0.25}};

    expect_s(simulate(2, 1, 2, stage), 7.0);
}

/* Nothing keeps the first stage from its passes but the first gradient, which is there at 2.5. */
Test(step, a_buffered_message_leaves_its_sender_at_once)
{
    const emp_stage_cost stage[] = {{.forward_s = 1.0,
                                     .backward_s = 2.0,
                                     .output_s = 0.25,
                                     .is_output_buffered = true},
                                    {.forward_s = 0.5,
                                     .backward_s = 0.5,
                                     .gradient_s = 0.25,
                                     .is_gradient_buffered = true}};

    expect_s(simulate(2, 1, 2, stage), 6.5);
}

/* The sum of gradients waits for the slower replica. */
Test(step, replicas_wait_for_the_slowest)
{
    const emp_stage_cost stage[] = {
        {.forward_s = 1.0, .backward_s = 2.0, .reduce_s = 0.5, .update_s = 0.125},
        {.forward_s = 2.0, .backward_s = 4.0, .reduce_s = 0.5, .update_s = 0.125}};

    expect_s(simulate(1, 2, 2, stage), 12.625);
}

/* Stage s of S keeps S - s micro-batches at most, as far as there are as many. */
Test(step, memory_is_that_of_the_micro_batches_under_way)
{
    const emp_stage_cost cost = {.forward_s = 1.0,
                                 .backward_s = 2.0,
                                 .stored_bytes = 1 << 20,
                                 .state_bytes = 1 << 22};
    const emp_stage_cost stage[] = {cost, cost, cost};

    cr_expect_eq(simulate(3, 1, 8, stage).peak_bytes, (1 << 22) + 3 * (1 << 20));
    cr_expect_eq(simulate(3, 1, 2, stage).peak_bytes, (1 << 22) + 2 * (1 << 20));
    cr_expect_eq(simulate(1, 1, 8, stage).peak_bytes, (1 << 22) + (1 << 20));
}

Test(step, what_no_machine_holds_is_refused)
{
    emp_stage_cost  stage[MANY] = {0};
    const emp_step  step = {MANY, 1, 1, stage};
    emp_step_result result;

    for (int32_t i = 0; i < MANY; i++)
        stage[i].is_output_buffered = stage[i].is_gradient_buffered = true;
    MUST_FAIL(emp_step_simulate(&result, &step, &why), EMP_EUNSUPPORTED, "more than 64");
    stage[0] = (emp_stage_cost){.forward_s = -1.0};
    const emp_step negative = {1, 1, 1, stage};
    MUST_FAIL(emp_step_simulate(&result, &negative, &why), EMP_EINVAL, "-1 s");
    cr_expect_eq(emp_mem_live_blocks(), 0);
}

Test(step, every_allocation_failure_is_reported)
{
    const emp_stage_cost stage[] = {{.forward_s = 1.0}, {.forward_s = 1.0}};
    const emp_step       step = {2, 1, 2, stage};
    emp_step_result      result;

    SURVIVES_EVERY_ALLOCATION_FAILURE(emp_step_simulate(&result, &step, NULL), );
}

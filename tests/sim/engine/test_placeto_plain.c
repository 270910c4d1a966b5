// SPDX-License-Identifier: GPL-3.0-or-later
/* Does the plain simulator of Placeto's rules compute what those rules give by hand? */
#include <criterion/criterion.h>
#include <inttypes.h>

#include "base/mem.h"
#include "tests/sim/engine/random_problem.h"
#include "tests/support/plain/placeto_plain.h"

enum { GAP = 5700, BUS = 25000, SEEDS = 300 };

#define COUNT(array) ((int32_t)(sizeof(array) / sizeof *(array)))

static plain_result run(const plain_step *step, int64_t *start_ns)
{
    plain_result result;

    placeto_plain_run(step, start_ns, &result);
    cr_expect_eq(emp_mem_live_blocks(), 0);
    return result;
}

Test(placeto_plain, rounds_transfers_to_the_nearest_nanosecond)
{
    cr_expect_eq(placeto_transfer_ns(0), 0);
    cr_expect_eq(placeto_transfer_ns(38), 5);
    cr_expect_eq(placeto_transfer_ns(1), 0);  /* 0.13 */
    cr_expect_eq(placeto_transfer_ns(4), 1);  /* 0.53 */
    cr_expect_eq(placeto_transfer_ns(19), 3); /* 2.5 */
    cr_expect_eq(placeto_transfer_ns(INT64_C(76) << 54), INT64_C(10) << 54);
}

/* 10 us, 0, 20 us on one device. The gap follows the first and the third:
 * 0 .. 10, gap to 15.7; 15.7 .. 15.7; 15.7 .. 35.7, gap to 41.4 us. */
Test(placeto_plain, leaves_a_gap_after_ops_that_cost_something)
{
    plain_step step = {.op_count = 3,
                       .device_count = 1,
                       .edge_count = 2,
                       .is_cpu = (bool[]){false},
                       .cost_ns = (int64_t[]){10000, 0, 20000},
                       .edge =
                           (plain_edge[]){{0, 1, PLAIN_CONTROL}, {1, 2, PLAIN_CONTROL}},
                       .device_of_op = (int32_t[]){0, 0, 0}};
    int64_t    start_ns[3];

    plain_result r = run(&step, start_ns);
    cr_expect_eq(r.step_time_ns, 10000 + GAP + 0 + 20000 + GAP);
    cr_expect_eq(start_ns[1], 15700);
    cr_expect_eq(start_ns[2], 15700);
    cr_expect_eq(r.busy_ns[0], 30000);
    cr_expect_eq(r.transfer_count, 0);
}

/* Op 0 on device 0 takes 10 us and has two outputs: A of 76,000 B (10 us on the bus) and
 * B of 38 B (5 ns). Ops 1 and 2, on devices 1 and 2, read A; op 3 on device 1 reads B; op
 * 4 on device 0 reads A.
 *
 *     device 0   op 0 0 .. 10, gap to 15.7; op 4 (6 us) 15.7 .. 21.7, gap to 27.4
 *     bus 0      A 10 .. 20 to both devices at once, busy to 45; B 45 .. 45.005, to 70.005
 *     device 1   op 1 (2 us) 20 .. 22; op 3 (1 us) 45.005 .. 46.005, gap to 51.705
 *     device 2   op 2 (4 us) 20 .. 24
 *
 * The step ends with the bus. Memory of device 0: A and B from 0 until op 3's end less
 * 1 us; op 4's output of 100 B, which nobody reads, at 15.7 on top. */
Test(placeto_plain, sends_an_output_once_and_keeps_the_bus)
{
    enum { DEVICES = 3 };
    const int64_t cost_ns[] = {10000, 2000, 4000, 1000, 6000};
    int64_t       cost[COUNT(cost_ns) * DEVICES];
    plain_edge    edges[] = {{0, 1, 0}, {0, 2, 0}, {0, 3, 1}, {0, 4, 0}};
    plain_step    step = {
           .op_count = 5,
           .device_count = DEVICES,
           .tensor_count = 3,
           .edge_count = COUNT(edges),
           .is_cpu = (bool[]){false, false, false},
           .cost_ns = cost,
           .tensor = (plain_tensor[]){{0, 76000, 76000}, {0, 38, 38}, {4, 100, 100}},
           .edge = edges,
           .device_of_op = (int32_t[]){0, 1, 2, 1, 0}};
    int64_t start_ns[5];

    for (int i = 0; i < COUNT(cost); i++) cost[i] = cost_ns[i / DEVICES];
    plain_result r = run(&step, start_ns);
    cr_expect_eq(start_ns[1], 20000);
    cr_expect_eq(start_ns[2], 20000);
    cr_expect_eq(start_ns[3], 10000 + 10000 + BUS + 5);
    cr_expect_eq(start_ns[4], 10000 + GAP);
    cr_expect_eq(r.step_time_ns, 10000 + 10000 + BUS + 5 + BUS);
    cr_expect_eq(r.transfer_count, 2);
    cr_expect_eq(r.traffic_bytes, 76038);
    cr_expect_eq(r.peak_bytes[0], 76138);
    cr_expect_eq(r.peak_bytes[1], 0);
    cr_expect_eq(r.busy_ns[1], 3000);
}

/* Ops 0 and 1, on devices 0 and 1, end at 10 us and send 38 B each; both arrive at device
 * 2 at 10.005. Op 3 reads op 0, op 2 reads op 1: releases go by producer, so that op 3
 * runs first, 10.005 .. 11.005, gap to 16.705, then op 2. */
Test(placeto_plain, takes_simultaneous_arrivals_by_producer)
{
    plain_step step = {.op_count = 4,
                       .device_count = 3,
                       .tensor_count = 2,
                       .edge_count = 2,
                       .is_cpu = (bool[]){false, false, false},
                       .cost_ns =
                           (int64_t[]){10000, 0, 0, 0, 10000, 0, 0, 0, 1000, 0, 0, 1000},
                       .tensor = (plain_tensor[]){{0, 38, 38}, {1, 38, 38}},
                       .edge = (plain_edge[]){{0, 3, 0}, {1, 2, 1}},
                       .device_of_op = (int32_t[]){0, 1, 2, 2}};
    int64_t    start_ns[4];

    plain_result r = run(&step, start_ns);
    cr_expect_eq(start_ns[3], 10005);
    cr_expect_eq(start_ns[2], 10005 + 1000 + GAP);
    cr_expect_eq(r.step_time_ns, 10005 + BUS);
}

/* Op 0 has no outputs and op 1 waits for it on another device: a transfer of 0 B, which
 * takes no time but keeps the bus. Op 2 waits for op 1, whose output 0 of 76,000 B the
 * control edge carries. */
Test(placeto_plain, lets_a_control_edge_carry_output_0)
{
    plain_step step = {.op_count = 3,
                       .device_count = 2,
                       .tensor_count = 1,
                       .edge_count = 2,
                       .is_cpu = (bool[]){false, false},
                       .cost_ns = (int64_t[]){10000, 0, 0, 10000, 10000, 0},
                       .tensor = (plain_tensor[]){{1, 76000, 76000}},
                       .edge =
                           (plain_edge[]){{0, 1, PLAIN_CONTROL}, {1, 2, PLAIN_CONTROL}},
                       .device_of_op = (int32_t[]){0, 1, 0}};
    int64_t    start_ns[3];

    plain_result r = run(&step, start_ns);
    cr_expect_eq(start_ns[1], 10000);
    cr_expect_eq(start_ns[2], 30000);
    cr_expect_eq(r.step_time_ns, 30000 + BUS); /* bus 1 sent at 20 .. 30 us */
    cr_expect_eq(r.transfer_count, 2);
    cr_expect_eq(r.traffic_bytes, 76000);
}

/* A chain of 10 us ops with outputs of 100, 200, 50 B: starts 0, 15.7, 31.4. The first is
 * held until 24.7, the second until 40.4: 300 B at 15.7, 250 B at 31.4. If the second op
 * takes only 0.5 us, 15.7 .. 16.2, the first is freed at 15.2, before the second's output
 * is there: 200, then (the third starts at 21.9 and holds the second) 250 B. */
Test(placeto_plain, frees_outputs_before_their_last_reader_ends)
{
    plain_step step = {.op_count = 3,
                       .device_count = 1,
                       .tensor_count = 3,
                       .edge_count = 2,
                       .is_cpu = (bool[]){false},
                       .cost_ns = (int64_t[]){10000, 10000, 10000},
                       .tensor = (plain_tensor[]){{0, 100, 0}, {1, 200, 0}, {2, 50, 0}},
                       .edge = (plain_edge[]){{0, 1, 0}, {1, 2, 1}},
                       .device_of_op = (int32_t[]){0, 0, 0}};

    cr_expect_eq(run(&step, NULL).peak_bytes[0], 300);
    step.cost_ns[1] = 500;
    cr_expect_eq(run(&step, NULL).peak_bytes[0], 250);
    step.op_count = 2, step.tensor_count = 2, step.edge_count = 1;
    cr_expect_eq(run(&step, NULL).peak_bytes[0], 200);
}

/* On one device nothing is ever idle: the step is the sum of costs and gaps. */
Test(placeto_plain, adds_up_costs_on_one_device)
{
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        task         r;
        plain_step   step;
        plain_result got;
        int64_t      sum_ns = 0;
        random_problem_create(&r, seed);
        for (int op = 0; op < r.graph->op_count; op++) r.device_of_op[op] = 0;
        plain_step_create(&step, r.problem, r.device_of_op);
        for (int op = 0; op < step.op_count; op++) {
            int64_t cost_ns = plain_step_cost_ns(&step, op);
            sum_ns += cost_ns + (cost_ns > 0 ? GAP : 0);
        }
        placeto_plain_run(&step, NULL, &got);
        cr_expect_eq(got.step_time_ns, sum_ns, "seed %" PRIu64, seed);
        plain_step_destroy(&step);
        task_destroy(&r);
    }
    cr_expect_eq(emp_mem_live_blocks(), 0);
}

Test(placeto_plain, does_not_see_unused_devices)
{
    int64_t transfers = 0;

    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        task         r;
        plain_step   step;
        plain_result got, want;
        random_problem_create(&r, seed);
        plain_step_create(&step, r.problem, r.device_of_op);
        placeto_plain_run(&step, NULL, &want);
        plain_step_destroy(&step);
        r.machine->device[r.machine->device_count++].kind = EMP_DEVICE_GPU;
        plain_step_create(&step, r.problem, r.device_of_op);
        placeto_plain_run(&step, NULL, &got);
        plain_step_destroy(&step);
        cr_expect_eq(got.step_time_ns, want.step_time_ns, "seed %" PRIu64, seed);
        cr_expect_arr_eq(got.peak_bytes, want.peak_bytes, sizeof got.peak_bytes);
        cr_expect_arr_eq(got.busy_ns, want.busy_ns, sizeof got.busy_ns);
        cr_expect_eq(got.traffic_bytes, want.traffic_bytes, "seed %" PRIu64, seed);
        transfers += got.transfer_count;
        task_destroy(&r);
    }
    cr_expect_gt(transfers, SEEDS);
    cr_expect_eq(emp_mem_live_blocks(), 0);
}

// SPDX-License-Identifier: GPL-3.0-or-later
/* Does the plain simulator of Baechi's rules compute what those rules give by hand? */
#include <criterion/criterion.h>
#include <inttypes.h>

#include "base/mem.h"
#include "tests/sim/engine/random_problem.h"
#include "tests/support/plain/baechi_plain.h"

enum { BYTES = 10000, COPY = 1754 + 134000, SEEDS = 300 };

static plain_result run(const plain_step *step, int64_t *start_ns)
{
    plain_result result;

    baechi_plain_run(step, start_ns, &result);
    cr_expect_eq(emp_mem_live_blocks(), 0);
    return result;
}

/* The same cost on every device. */
static void spread(int64_t *cost, const int64_t *cost_ns, int32_t ops, int32_t devices)
{
    for (int i = 0; i < ops * devices; i++) cost[i] = cost_ns[i / devices];
}

Test(baechi_plain, rounds_transfers_to_the_nearest_nanosecond)
{
    cr_expect_eq(baechi_transfer_ns(0), 134000);
    cr_expect_eq(baechi_transfer_ns(BYTES), COPY);
    cr_expect_eq(baechi_transfer_ns(2), 134000);    /* 0.35 */
    cr_expect_eq(baechi_transfer_ns(3), 134001);    /* 0.53 */
    cr_expect_eq(baechi_transfer_ns(2500), 134439); /* 438.5 */
}

/* Op 0 (10 us, device 0) has one output of 10,000 B that takes K = 135.754 us. Ops 1 and 2
 * (5 us each) read it on device 1, op 3 (5 us) on device 2.
 *
 *     channel of 0   to device 1 10 .. 10 + K, to device 2 10 + K .. 10 + 2K
 *     device 1       op 1 10 + K .. 15 + K; op 2, from the cache, 15 + K .. 20 + K
 *     device 2       op 3 10 + 2K .. 15 + 2K */
Test(baechi_plain, sends_once_per_device_and_one_after_another)
{
    int64_t    cost[12], start_ns[4];
    plain_step step = {.op_count = 4,
                       .device_count = 3,
                       .tensor_count = 1,
                       .edge_count = 3,
                       .is_cpu = (bool[]){false, false, false},
                       .cost_ns = cost,
                       .temporary_bytes = (int64_t[]){0, 0, 0, 0},
                       .persistent_bytes = (int64_t[]){0, 0, 0, 0},
                       .tensor = (plain_tensor[]){{0, BYTES, BYTES}},
                       .edge = (plain_edge[]){{0, 1, 0}, {0, 2, 0}, {0, 3, 0}},
                       .device_of_op = (int32_t[]){0, 1, 1, 2}};

    spread(cost, (int64_t[]){10000, 5000, 5000, 5000}, 4, 3);
    plain_result r = run(&step, start_ns);
    cr_expect_eq(start_ns[1], 10000 + COPY);
    cr_expect_eq(start_ns[2], 15000 + COPY);
    cr_expect_eq(start_ns[3], 10000 + 2 * COPY);
    cr_expect_eq(r.step_time_ns, 15000 + 2 * COPY);
    cr_expect_eq(r.transfer_count, 2);
    cr_expect_eq(r.traffic_bytes, 2 * BYTES);
    cr_expect_eq(r.busy_ns[1], 10000);
    cr_expect_eq(r.peak_bytes[0], BYTES);
    cr_expect_eq(r.peak_bytes[1], 0);
}

/* Op 0 (500 us, device 0) sends to op 2 on device 2; op 1 (10 us, device 1) sends to op 3
 * on device 2 and op 4 on device 3. Ops 0 and 1 are ready at 0, so that op 0 is served
 * first and books device 2's channel for 500 .. 500 + K. Op 1 then sends from 10, is
 * received there 500 + K .. 500 + 2K, but its own channel is free at 10 + K, when it sends
 * to device 3, 10 + K .. 10 + 2K. */
Test(baechi_plain, books_channels_in_the_order_of_service)
{
    int64_t    cost[20], start_ns[5];
    plain_step step = {.op_count = 5,
                       .device_count = 4,
                       .tensor_count = 2,
                       .edge_count = 3,
                       .is_cpu = (bool[]){false, false, false, false},
                       .cost_ns = cost,
                       .temporary_bytes = (int64_t[]){0, 0, 0, 0, 0},
                       .persistent_bytes = (int64_t[]){0, 0, 0, 0, 0},
                       .tensor = (plain_tensor[]){{0, BYTES, BYTES}, {1, BYTES, BYTES}},
                       .edge = (plain_edge[]){{0, 2, 0}, {1, 3, 1}, {1, 4, 1}},
                       .device_of_op = (int32_t[]){0, 1, 2, 2, 3}};

    spread(cost, (int64_t[]){500000, 10000, 1000, 1000, 1000}, 5, 4);
    plain_result r = run(&step, start_ns);
    cr_expect_eq(start_ns[2], 500000 + COPY);
    cr_expect_eq(start_ns[3], 500000 + 2 * COPY);
    cr_expect_eq(start_ns[4], 10000 + 2 * COPY);
    cr_expect_eq(r.step_time_ns, 501000 + 2 * COPY);
}

/* One channel for both directions: ops 0 and 1 (no cost) on devices 0 and 1 send to each
 * other's device. Op 0 is served first: 0 .. K. Op 1 sends from K. */
Test(baechi_plain, is_half_duplex)
{
    int64_t    start_ns[4];
    plain_step step = {.op_count = 4,
                       .device_count = 2,
                       .tensor_count = 2,
                       .edge_count = 2,
                       .is_cpu = (bool[]){false, false},
                       .cost_ns = (int64_t[8]){0},
                       .temporary_bytes = (int64_t[]){0, 0, 0, 0},
                       .persistent_bytes = (int64_t[]){0, 0, 0, 0},
                       .tensor = (plain_tensor[]){{0, BYTES, BYTES}, {1, BYTES, BYTES}},
                       .edge = (plain_edge[]){{0, 2, 0}, {1, 3, 1}},
                       .device_of_op = (int32_t[]){0, 1, 1, 0}};

    plain_result r = run(&step, start_ns);
    cr_expect_eq(start_ns[2], COPY);
    cr_expect_eq(start_ns[3], 2 * COPY);
    cr_expect_eq(r.step_time_ns, 2 * COPY);
}

/* Two ops on device 1 wait for op 0 on device 0: one tensor of 4 B, 0.70 -> 1 ns. */
Test(baechi_plain, sends_four_bytes_for_control_edges)
{
    int64_t    start_ns[3];
    plain_step step = {.op_count = 3,
                       .device_count = 2,
                       .edge_count = 2,
                       .is_cpu = (bool[]){false, false},
                       .cost_ns = (int64_t[]){10000, 10000, 5000, 5000, 5000, 5000},
                       .temporary_bytes = (int64_t[]){0, 0, 0},
                       .persistent_bytes = (int64_t[]){0, 0, 0},
                       .edge =
                           (plain_edge[]){{0, 1, PLAIN_CONTROL}, {0, 2, PLAIN_CONTROL}},
                       .device_of_op = (int32_t[]){0, 1, 1}};

    plain_result r = run(&step, start_ns);
    cr_expect_eq(start_ns[1], 10000 + 134001);
    cr_expect_eq(start_ns[2], 15000 + 134001);
    cr_expect_eq(r.transfer_count, 1);
    cr_expect_eq(r.traffic_bytes, 4);
}

/* A chain on one device:
 *
 *     op 0: outputs 100, keeps 7, temporary 50    107, 157, 107
 *     op 1: outputs 30, temporary 500             137, 637, 137, less op 0's 100: 37
 *     op 2: outputs 600, nobody reads them        637, less op 1's 30: 607
 *     op 3: outputs 40                            647 */
Test(baechi_plain, counts_memory_in_the_order_of_service)
{
    plain_step step = {
        .op_count = 4,
        .device_count = 1,
        .tensor_count = 4,
        .edge_count = 3,
        .is_cpu = (bool[]){false},
        .cost_ns = (int64_t[]){1, 1, 1, 1},
        .temporary_bytes = (int64_t[]){50, 500, 0, 0},
        .persistent_bytes = (int64_t[]){7, 0, 0, 0},
        .tensor = (plain_tensor[]){{0, 100, 0}, {1, 30, 0}, {2, 600, 0}, {3, 40, 0}},
        .edge = (plain_edge[]){{0, 1, 0}, {1, 2, 1}, {2, 3, PLAIN_CONTROL}},
        .device_of_op = (int32_t[]){0, 0, 0, 0}};

    cr_expect_eq(run(&step, NULL).peak_bytes[0], 647);
    step.op_count = 3, step.tensor_count = 3, step.edge_count = 2;
    cr_expect_eq(run(&step, NULL).peak_bytes[0], 637);
}

Test(baechi_plain, adds_up_costs_on_one_device)
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
            sum_ns += plain_step_cost_ns(&step, op);
        }
        baechi_plain_run(&step, NULL, &got);
        cr_expect_eq(got.step_time_ns, sum_ns, "seed %" PRIu64, seed);
        plain_step_destroy(&step);
        task_destroy(&r);
    }
    cr_expect_eq(emp_mem_live_blocks(), 0);
}

Test(baechi_plain, does_not_see_unused_devices)
{
    int64_t transfers = 0;

    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        task         r;
        plain_step   step;
        plain_result got, want;
        random_problem_create(&r, seed);
        plain_step_create(&step, r.problem, r.device_of_op);
        baechi_plain_run(&step, NULL, &want);
        plain_step_destroy(&step);
        r.machine->device[r.machine->device_count++].kind = EMP_DEVICE_GPU;
        plain_step_create(&step, r.problem, r.device_of_op);
        baechi_plain_run(&step, NULL, &got);
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

// SPDX-License-Identifier: GPL-3.0-or-later
/* Does the plain simulator of GiPH and DOPPLER compute what their rules give by hand? */
#include <criterion/criterion.h>
#include <inttypes.h>

#include "base/mem.h"
#include "tests/sim/engine/random_problem.h"
#include "tests/support/plain/edges_plain.h"

enum { SEEDS = 200 };

static plain_result run(plain_step *step, const int64_t *message_ns, int64_t *start_ns)
{
    plain_result result;
    int64_t      no_bytes[8] = {0};

    step->temporary_bytes = step->persistent_bytes = no_bytes;
    edges_plain_run(step, message_ns, start_ns, &result);
    cr_expect_eq(emp_mem_live_blocks(), 0);
    return result;
}

/* Op 0 (10, device 0) is read by ops 1 and 2 (5 each, device 1) and 3 (5, device 2); its
 * messages take 7, 8 and 9, side by side.
 *
 *     device 1   op 1 17 .. 22, op 2, there at 18, 22 .. 27
 *     device 2   op 3 19 .. 24 */
Test(edges_plain, sends_a_message_for_every_edge)
{
    int64_t    start_ns[4];
    plain_step step = {.op_count = 4,
                       .device_count = 3,
                       .tensor_count = 1,
                       .edge_count = 3,
                       .is_cpu = (bool[]){false, false, false},
                       .cost_ns = (int64_t[]){10, 10, 10, 5, 5, 5, 5, 5, 5, 5, 5, 5},
                       .tensor = (plain_tensor[]){{0, 64, 100}},
                       .edge = (plain_edge[]){{0, 1, 0}, {0, 2, 0}, {0, 3, 0}},
                       .device_of_op = (int32_t[]){0, 1, 1, 2}};

    plain_result r = run(&step, (const int64_t[]){7, 8, 9}, start_ns);
    cr_expect_eq(start_ns[1], 17);
    cr_expect_eq(start_ns[2], 22);
    cr_expect_eq(start_ns[3], 19);
    cr_expect_eq(r.step_time_ns, 27);
    cr_expect_eq(r.transfer_count, 3);
    cr_expect_eq(r.traffic_bytes, 300);
    cr_expect_eq(r.busy_ns[1], 10);
    cr_expect_eq(r.peak_bytes[0], 64);
}

/* Ops 0 (device 0, 10), 1 (device 1, 4); op 2 (device 0) reads op 1 by a message of 3, op 3
 * (device 0) has no inputs. Device 0: ops 0 and 3 are ready at 0, op 2 at 7; so 0, 3, 2. */
Test(edges_plain, serves_the_op_that_was_ready_first)
{
    int64_t    start_ns[4];
    plain_step step = {.op_count = 4,
                       .device_count = 2,
                       .tensor_count = 1,
                       .edge_count = 1,
                       .is_cpu = (bool[]){false, false},
                       .cost_ns = (int64_t[]){10, 10, 4, 4, 5, 5, 20, 20},
                       .tensor = (plain_tensor[]){{1, 0, 1}},
                       .edge = (plain_edge[]){{1, 2, 0}},
                       .device_of_op = (int32_t[]){0, 1, 0, 0}};

    plain_result r = run(&step, (const int64_t[]){3}, start_ns);
    cr_expect_eq(start_ns[3], 10);
    cr_expect_eq(start_ns[2], 30);
    cr_expect_eq(r.step_time_ns, 35);
    step.device_of_op[1] = 0; /* all on one device: no message, in the order of ids */
    r = run(&step, (const int64_t[]){3}, start_ns);
    cr_expect_eq(start_ns[3], 14);
    cr_expect_eq(start_ns[2], 34);
    cr_expect_eq(r.transfer_count, 0);
}

/* On one device nothing waits but for the device. */
Test(edges_plain, adds_up_costs_on_one_device)
{
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        task         r;
        plain_step   step;
        plain_result got;
        random_problem_create(&r, seed);
        int last = r.machine->device_count - 1;
        for (int op = 0; op < r.graph->op_count; op++) r.device_of_op[op] = last;
        plain_step_create(&step, r.problem, r.device_of_op);
        int64_t  sum_ns = 0;
        int64_t *message_ns = EMP_NEW_ARRAY(int64_t, (size_t)step.edge_count);
        for (int op = 0; op < step.op_count; op++)
            sum_ns += plain_step_cost_ns(&step, op);
        edges_plain_messages(&step, r.problem, message_ns);
        edges_plain_run(&step, message_ns, NULL, &got);
        cr_expect_eq(got.step_time_ns, sum_ns, "seed %" PRIu64, seed);
        cr_expect_eq(got.busy_ns[last], sum_ns, "seed %" PRIu64, seed);
        cr_expect_eq(got.transfer_count, 0);
        emp_free(message_ns);
        plain_step_destroy(&step);
        task_destroy(&r);
    }
    cr_expect_eq(emp_mem_live_blocks(), 0);
}

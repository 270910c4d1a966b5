// SPDX-License-Identifier: GPL-3.0-or-later
/* Does the guess hold what the oracle holds where both run ops in one order, and is it near where
 * they do not? */
#include "search/room.h"

#include "sim/engine/sim.h"
#include "tests/support/problems.h"
#include "tests/support/survive.h"

enum { CPU = 0, FIRST = 1, SECOND = 2, TENSOR = 256 };

static task        t;
static emp_room    room;
static emp_runtime list;

static void set_up(void) { list = tiny_list_scheduling(); }

static void tear_down(void)
{
    emp_room_clear(&room);
    task_destroy(&t);
    expect_all_freed();
}

TestSuite(room, .init = set_up, .fini = tear_down);

static double missing(void)
{
    ASSERT_OK(emp_room_init(&room, t.problem, &err));
    return emp_room_missing(&room, t.device_of_op);
}

static void simulate(int64_t peak[EMP_MAX_DEVICES])
{
    OWN_SIM         sim = NULL;
    emp_sim_result *result = NULL;

    ASSERT_OK(emp_sim_create(&sim, t.problem, &err));
    ASSERT_OK(emp_sim_result_create(&result, &err));
    ASSERT_OK(emp_sim_run(sim, t.device_of_op, result, &err));
    for (int d = 0; d < t.machine->device_count; d++)
        peak[d] = emp_sim_result_peak_bytes(result, d);
    emp_sim_result_destroy(result);
}

static void expect_oracle(void)
{
    int64_t peak[EMP_MAX_DEVICES];

    cr_expect_eq(missing(), 0.0);
    simulate(peak);
    for (int d = 0; d < t.machine->device_count; d++)
        cr_expect_eq(room.peak_bytes[d], peak[d],
                     "device %d: %lld bytes, the oracle %lld", d,
                     (long long)room.peak_bytes[d], (long long)peak[d]);
}

/* The first tensor waits for the last op, as activations do. */
Test(room, keeps_what_is_read_later)
{
    const tiny_op ops[] = {{.device = FIRST},
                           {.device = FIRST, .input_count = 1, .input = {0}},
                           {.device = FIRST, .input_count = 1, .input = {1}},
                           {.device = FIRST, .input_count = 2, .input = {2, 0}}};

    task_create_tiny(&t, ops, 4, &list);
    expect_oracle();
    cr_expect_eq(room.peak_bytes[FIRST], 3 * TENSOR);
}

Test(room, counts_variables_from_the_start_and_one_copy_a_memory)
{
    const tiny_op ops[] = {{.device = SECOND, .is_variable = true},
                           {.device = FIRST},
                           {.device = SECOND, .input_count = 1, .input = {1}},
                           {.device = SECOND, .input_count = 2, .input = {1, 2}}};

    task_create_tiny(&t, ops, 4, &list);
    cr_expect_eq(missing(), 0.0);
    cr_expect_eq(room.peak_bytes[FIRST], TENSOR);
    cr_expect_eq(room.peak_bytes[SECOND] - t.graph->op[0].persistent_bytes, 3 * TENSOR);
}

/* The alias has no bytes and keeps those of the first op, but for a copy on another device. */
Test(room, of_an_alias_is_that_of_its_input)
{
    tiny_op ops[] = {{.device = FIRST},
                     {.device = FIRST, .input_count = 1, .input = {0}, .is_alias = true},
                     {.device = FIRST, .input_count = 1, .input = {0}},
                     {.device = FIRST, .input_count = 2, .input = {1, 2}}};

    task_create_tiny(&t, ops, 4, &list);
    expect_oracle();
    cr_expect_eq(room.peak_bytes[FIRST], 3 * TENSOR);
    t.device_of_op[1] = SECOND;
    emp_room_missing(&room, t.device_of_op);
    cr_expect_eq(room.peak_bytes[SECOND], 2 * TENSOR, "its copy and its own");
}

Test(room, outputs_in_host_memory_are_the_hosts)
{
    const tiny_op ops[] = {{.device = FIRST, .is_on_host = true},
                           {.device = FIRST, .input_count = 1, .input = {0}}};

    task_create_tiny(&t, ops, 2, &list);
    cr_expect_eq(missing(), 0.0);
    cr_expect_eq(room.peak_bytes[CPU], TENSOR);
    cr_expect_eq(room.peak_bytes[FIRST], 2 * TENSOR, "a copy, and what is made of it");
}

Test(room, says_how_much_is_missing)
{
    t = task_chain(INT64_C(1) << 32); /* 16 GiB a tensor */
    cr_expect_eq(missing(), 0.0);
    for (emp_op_id op = 0; op < t.graph->op_count; op++) t.device_of_op[op] = 1;
    const double over = emp_room_missing(&room, t.device_of_op);
    const double memory = (double)t.machine->device[1].memory_bytes;
    cr_expect_lt(fabs(over - ((double)room.peak_bytes[1] / memory - 1.0)), 1e-9);
    cr_expect_gt(over, 0.0);
}

/* The oracle runs several ops at once, reuses buffers in place and has workspaces. */
Test(room, of_a_training_step_is_near_the_oracles)
{
    int64_t peak[EMP_MAX_DEVICES];

    task_create(&t, "nmt:layers=2,steps=4,batch=32,units=64,vocab=1000", "k40x2",
                "tf-r1.3");
    for (emp_op_id op = 0; op < t.graph->op_count; op++) t.device_of_op[op] = 1;
    emp_problem_legalize(t.problem, t.device_of_op);
    missing();
    simulate(peak);
    const double ratio = (double)room.peak_bytes[1] / (double)peak[1];
    cr_expect(ratio > 0.8 && ratio < 1.25, "%g times", ratio);
}

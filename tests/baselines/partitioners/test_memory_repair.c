// SPDX-License-Identifier: GPL-3.0-or-later
/* Placements that lack memory, on machines as small as that takes: repaired ones fit and
 * add no more traffic than they must, those that fit stay as they are, and what cannot be
 * repaired is said in a sentence. */
#include "baselines/partitioners/memory_repair.h"
#include "sim/engine/sim.h"
#include "tests/support/problems.h"
#include "tests/support/status.h"

enum { TENSOR_BYTES = 256 };

static emp_sim_result simulate(const task *t)
{
    OWN_SIM        sim = NULL;
    emp_sim_result result;

    MUST(emp_sim_create(&sim, t->problem, NULL));
    MUST(emp_sim_run(sim, t->device_of_op, &result, NULL));
    return result;
}

static void limit_gpus(task *t, int first, int second)
{
    t->machine->device[1].memory_bytes = first * TENSOR_BYTES;
    t->machine->device[2].memory_bytes = second * TENSOR_BYTES;
}

static emp_status repair(task *t, emp_error *err)
{
    return emp_memory_repair(t->problem, "metis", 1, NULL, t->device_of_op, err);
}

/* A variable each, all on the first GPU. */
static const tiny_op variables[] = {{.device = 1, .is_variable = true},
                                    {.device = 1, .is_variable = true},
                                    {.device = 1, .is_variable = true},
                                    {.device = 1, .is_variable = true}};

Test(memory_repair, moves_what_is_too_much_to_where_there_is_room)
{
    emp_runtime runtime = tiny_serial();
    task        t;

    task_create_tiny(&t, variables, 4, &runtime);
    for (int first = 1; first <= 4; first++) {
        for (int op = 0; op < 4; op++) t.device_of_op[op] = 1;
        limit_gpus(&t, first, 4);
        cr_expect_eq(simulate(&t).is_feasible, first == 4);
        MUST(repair(&t, NULL));
        cr_expect(simulate(&t).is_feasible);
        int moved = 0;
        for (int op = 0; op < 4; op++) moved += t.device_of_op[op] != 1;
        cr_expect_eq(moved, 4 - first, "no more than needed");
    }
    task_destroy(&t);
    cr_expect_eq(emp_mem_live_blocks(), 0);
}

Test(memory_repair, ends_when_its_caller_is_to_stop)
{
    emp_runtime      runtime = tiny_serial();
    const atomic_int stop = 1;
    task             t;

    task_create_tiny(&t, variables, 4, &runtime);
    limit_gpus(&t, 2, 4);
    cr_expect_eq(emp_memory_repair(t.problem, "metis", 1, &stop, t.device_of_op, NULL),
                 EMP_EINTERRUPTED);
    for (int op = 0; op < 4; op++) cr_expect_eq(t.device_of_op[op], 1);
    task_destroy(&t);
    cr_expect_eq(emp_mem_live_blocks(), 0);
}

Test(memory_repair, leaves_alone_what_fits)
{
    const tiny_op ops[] = {{.device = 1},
                           {.device = 2, .input_count = 1, .input = {0}},
                           {.device = 0, .input_count = 2, .input = {0, 1}}};
    emp_runtime   runtime = tiny_serial();
    OWN_TASK      t;
    emp_device_id before[3];

    task_create_tiny(&t, ops, 3, &runtime);
    memcpy(before, t.device_of_op, sizeof before);
    MUST(repair(&t, NULL));
    cr_expect_eq(memcmp(before, t.device_of_op, sizeof before), 0);
}

/* Two variables on the first GPU, of which one is read on the other: that one goes, as its
 * copy is there already. */
Test(memory_repair, moves_first_what_adds_least_traffic)
{
    const tiny_op ops[] = {{.device = 1, .is_variable = true},
                           {.device = 1, .is_variable = true},
                           {.device = 1, .input_count = 1, .input = {0}},
                           {.device = 2, .input_count = 1, .input = {1}}};
    emp_runtime   runtime = tiny_serial();
    OWN_TASK      t;

    task_create_tiny(&t, ops, 4, &runtime);
    limit_gpus(&t, 2, 8);
    cr_assert_not(simulate(&t).is_feasible);
    MUST(repair(&t, NULL));
    cr_expect(simulate(&t).is_feasible);
    cr_expect_eq(t.device_of_op[0], 1);
    cr_expect_eq(t.device_of_op[1], 2);
    cr_expect_eq(simulate(&t).traffic_bytes, 0);
}

Test(memory_repair, takes_the_cpu_where_no_gpu_has_room)
{
    emp_runtime runtime = tiny_serial();
    OWN_TASK    t;
    int         count[3] = {0};

    task_create_tiny(&t, variables, 4, &runtime);
    limit_gpus(&t, 2, 1);
    MUST(repair(&t, NULL));
    cr_expect(simulate(&t).is_feasible);
    for (int op = 0; op < 4; op++) count[t.device_of_op[op]]++;
    cr_expect_eq(count[1], 2);
    cr_expect_eq(count[2], 1);
    cr_expect_eq(count[0], 1);
}

Test(memory_repair, says_what_is_missing_when_nothing_helps)
{
    emp_runtime runtime = tiny_serial();
    OWN_TASK    t;

    task_create_tiny(&t, variables, 4, &runtime);
    limit_gpus(&t, 1, 1);
    t.machine->device[0].memory_bytes = TENSOR_BYTES;
    MUST_FAIL(repair(&t, &why), EMP_EINFEASIBLE, "256 B missing on gpu:0");
    for (int op = 0; op < 4; op++) cr_expect_eq(t.device_of_op[op], 1, "as it was");
}

Test(memory_repair, survives_every_allocation_failure)
{
    emp_runtime runtime = tiny_serial();
    OWN_TASK    t;

    task_create_tiny(&t, variables, 4, &runtime);
    limit_gpus(&t, 1, 4);
    SURVIVES_EVERY_ALLOCATION_FAILURE(repair(&t, NULL), );
}

// SPDX-License-Identifier: GPL-3.0-or-later
/* Groups of one computer's cores hold each other up as docs/simulator.md says: schedules worked
 * out by hand. An op takes 10 ns on a group, 20 on the host; a copy takes 4 ns of a core, and
 * 261 of its link. */
#include <criterion/criterion.h>

#include "base/mem.h"
#include "sim/engine/sim.h"
#include "tests/support/expect.h"
#include "tests/support/problems.h"

enum { CPU, FIRST, SECOND };

static task           t;
static emp_sim_result result;

static void tear_down(void) { cr_expect_eq(emp_mem_live_blocks(), 0); }

TestSuite(sharing, .fini = tear_down);

/* Two groups and a host of one core each, on a computer of \a cores; 0: each has its own. An op of
 * a group takes \a more ns while another device works. */
static void create(const tiny_op *ops, int count, const emp_runtime *runtime, int cores,
                   int more)
{
    task_create_tiny(&t, ops, count, runtime);
    emp_cost_table *c = t.problem->costs;
    c->gpu_beside_ns = EMP_NEW_ARRAY(emp_time_ns, (size_t)count);
    cr_assert_not_null(c->gpu_beside_ns);
    for (int i = 0; i < count; i++) c->gpu_beside_ns[i] = c->gpu[i].compute_ns + more;
    t.machine->core_count = cores;
    t.machine->device[CPU].cores = 1;
    for (int d = FIRST; d <= SECOND; d++) {
        t.machine->device[d].multiprocessors = 1;
        t.machine->device[d].has_sharing = true;
        t.machine->device[d].sharing = (emp_sharing){
            .copy_bytes_per_s = 256e9, .hand_over_s = 3e-9}; /* 256 bytes: 1 ns */
    }
}

/* Simulates, traced or not: both must agree. */
static void simulate(void)
{
    emp_sim       *sim = NULL;
    emp_sim_result traced;
    emp_sim_trace  nothing = {0};

    ASSERT_OK(emp_sim_create(&sim, t.problem, &err));
    ASSERT_OK(emp_sim_run(sim, t.device_of_op, &result, &err));
    ASSERT_OK(emp_sim_run_traced(sim, t.device_of_op, &nothing, &traced, &err));
    cr_expect_eq(traced.step_time_ns, result.step_time_ns);
    emp_sim_destroy(sim);
    task_destroy(&t);
}

static emp_runtime with_pool(void)
{
    emp_runtime runtime = tiny_list_scheduling();

    runtime.events.cpu_pool = true;
    return runtime;
}

/* The first op starts alone: 10. Its rival takes 13, and all that start later do too, until the
 * last: 10 + 13 = 23 here, 13 + 13 = 26 there. */
static void expect_contention(void)
{
    simulate();
    cr_expect_eq(result.step_time_ns, 26);
    cr_expect_eq(result.busy_ns[FIRST], 23);
    cr_expect_eq(result.busy_ns[SECOND], 26);
}

Test(sharing, ops_take_longer_while_another_core_works)
{
    const tiny_op waiting[] = {
        {.device = FIRST}, {.device = FIRST}, {.device = SECOND}, {.device = SECOND}};
    const tiny_op chains[] = {{.device = FIRST},
                              {.device = SECOND},
                              {.device = FIRST, .input_count = 1, .input = {0}},
                              {.device = SECOND, .input_count = 1, .input = {1}}};
    emp_runtime   runtime = tiny_list_scheduling();

    create(waiting, 4, &runtime, 2, 3);
    expect_contention();
    create(chains, 4, &runtime, 0, 3);
    expect_contention();
}

Test(sharing, an_op_that_works_alone_takes_no_longer)
{
    const tiny_op ops[] = {{.device = FIRST},
                           {.device = FIRST, .input_count = 1, .input = {0}},
                           {.device = FIRST, .input_count = 1, .input = {1}}};
    emp_runtime   runtime = tiny_list_scheduling();

    create(ops, 3, &runtime, 2, 3);
    simulate();
    cr_expect_eq(result.step_time_ns, 30);
}

/* The op on the second group takes 50. The copy begins at 10, when the sender goes on with
 * another op: the receiver is held up by 4, to 54. What is copied is read at 10 + 261. */
Test(sharing, a_copy_holds_up_the_receiver_if_both_ends_work)
{
    const tiny_op ops[] = {{.device = FIRST},
                           {.device = SECOND, .weight = 5},
                           {.device = FIRST, .weight = 5},
                           {.device = SECOND, .input_count = 1, .input = {0}}};
    emp_runtime   runtime = tiny_list_scheduling();

    create(ops, 4, &runtime, 2, 0);
    simulate();
    cr_expect_eq(result.step_time_ns, 281);
    cr_expect_eq(result.busy_ns[FIRST], 60);
    cr_expect_eq(result.busy_ns[SECOND], 54 + 10);
}

Test(sharing, a_copy_made_by_an_idle_core_holds_up_nobody)
{
    const tiny_op ops[] = {{.device = FIRST},
                           {.device = SECOND, .weight = 5},
                           {.device = SECOND, .input_count = 1, .input = {0}}};
    emp_runtime   runtime = tiny_list_scheduling();

    create(ops, 3, &runtime, 2, 0);
    simulate();
    cr_expect_eq(result.step_time_ns, 281);
    cr_expect_eq(result.busy_ns[SECOND], 60);
}

/* The groups have cores 0 and 1, so the host has core 0 again: its task of 20 comes before the op
 * of the first group. With a third core it has its own. */
Test(sharing, a_host_holds_up_the_group_whose_core_it_has)
{
    const tiny_op ops[] = {{.device = CPU}, {.device = FIRST}, {.device = SECOND}};
    emp_runtime   runtime = with_pool();

    create(ops, 3, &runtime, 2, 0);
    simulate();
    cr_expect_eq(result.step_time_ns, 30);
    cr_expect_eq(result.busy_ns[CPU], 20);
    cr_expect_eq(result.busy_ns[FIRST], 30);
    cr_expect_eq(result.busy_ns[SECOND], 10);
    create(ops, 3, &runtime, 3, 0);
    simulate();
    cr_expect_eq(result.step_time_ns, 20);
    cr_expect_eq(result.busy_ns[FIRST], 10);
}

/* The host has the core until 20. The op that may start at 10 ends at 10 + 10 + 10. It is not
 * slowed by the host, which works on no other core. */
Test(sharing, an_op_waits_for_a_core_that_the_host_has)
{
    const tiny_op ops[] = {
        {.device = CPU}, {.device = SECOND}, {.device = FIRST, .control = 2}};
    emp_runtime runtime = with_pool();

    create(ops, 3, &runtime, 2, 3);
    simulate();
    cr_expect_eq(result.step_time_ns, 30);
    cr_expect_eq(result.busy_ns[FIRST], 20);
}

/* Cores 0 1, 2 0 and 1 of three: the host's task holds up half of the first group, which has a
 * core in common with the second, too. So no op is beside another. */
Test(sharing, groups_of_several_cores_are_held_up_for_their_share)
{
    const tiny_op ops[] = {{.device = CPU}, {.device = FIRST}, {.device = SECOND}};
    emp_runtime   runtime = with_pool();

    create(ops, 3, &runtime, 3, 3);
    for (int d = FIRST; d <= SECOND; d++) t.machine->device[d].multiprocessors = 2;
    simulate();
    cr_expect_eq(result.busy_ns[FIRST], 20);
    cr_expect_eq(result.busy_ns[SECOND], 10);
}

Test(sharing, runtimes_with_host_threads_have_none_of_it)
{
    const tiny_op ops[] = {{.device = CPU},
                           {.device = FIRST},
                           {.device = SECOND, .input_count = 1, .input = {1}},
                           {.device = FIRST}};
    emp_runtime   runtime = tiny_serial();
    emp_time_ns   shared_ns;

    create(ops, 4, &runtime, 2, 3);
    simulate();
    shared_ns = result.step_time_ns;
    task_create_tiny(&t, ops, 4, &runtime);
    t.machine->device[CPU].cores = 1;
    simulate();
    cr_expect_eq(result.step_time_ns, shared_ns);
}

/* Devices that share cores refuse an order of ops, but here nothing is ordered. */
Test(sharing, a_step_without_ops_has_no_order)
{
    const tiny_op ops[] = {{.device = FIRST, .is_folded = true}};
    const uint8_t level = 3;
    emp_runtime   runtime = tiny_list_scheduling();
    emp_error     err = {0};
    emp_sim      *sim = NULL;

    create(ops, 1, &runtime, 2, 3);
    const emp_decision decision = {.device_of_op = t.device_of_op, .level_of_op = &level};
    cr_assert_eq(emp_sim_create(&sim, t.problem, &err), EMP_OK, "%s", err.msg);
    cr_expect_eq(emp_sim_run_decision(sim, &decision, &result, &err), EMP_OK, "%s",
                 err.msg);
    emp_sim_destroy(sim);
    task_destroy(&t);
}

Test(sharing, every_allocation_may_fail)
{
    const tiny_op ops[] = {{.device = FIRST},
                           {.device = SECOND, .input_count = 1, .input = {0}}};
    emp_runtime   runtime = tiny_list_scheduling();
    emp_status    st = EMP_ENOMEM;

    create(ops, 2, &runtime, 2, 3);
    for (long successes = 0; st != EMP_OK; successes++) {
        emp_sim *sim = NULL;
        emp_mem_fail_after(successes);
        st = emp_sim_create(&sim, t.problem, NULL);
        emp_mem_fail_after(-1);
        cr_assert(st == EMP_OK || st == EMP_ENOMEM);
        emp_sim_destroy(sim);
    }
    task_destroy(&t);
}

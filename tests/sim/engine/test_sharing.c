// SPDX-License-Identifier: GPL-3.0-or-later
/* Groups of one computer's cores hold each other up as docs/simulator.md says: schedules worked
 * out by hand. An op takes 10 ns on a group, 20 on the host; a copy takes 4 ns of a core, and
 * 261 of its link. Ranks of collectives and copies wait for each other's links. */
#include "tests/support/problems.h"
#include "tests/support/survive.h"

enum { CPU, FIRST, SECOND };

static task           t;
static emp_sim_result result;

TestSuite(sharing, .fini = expect_all_freed);

/* Two groups and a host of one core each, on a computer of \a cores; 0: each has its own. An op of
 * a group takes \a more ns while another device works. */
static void create(const char *ops, const emp_runtime *runtime, int cores, int more)
{
    task_create_ops(&t, ops, runtime);
    const int       count = t.graph->op_count;
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

static void simulate(void)
{
    result = task_run(&t);
    cr_expect_eq(task_trace(&t, NULL).step_time_ns, result.step_time_ns);
    task_destroy(&t);
}

/* Expects a step on a computer of \a cores where an op of a group takes \a more ns beside others. */
static void expect_step(const char *ops, int cores, int more, emp_time_ns step_ns,
                        emp_time_ns first_ns, emp_time_ns second_ns)
{
    emp_runtime runtime = tiny_list_scheduling();

    runtime.events.cpu_pool = ops[0] == '0';
    create(ops, &runtime, cores, more);
    simulate();
    cr_expect_eq(result.step_time_ns, step_ns, "%d", (int)result.step_time_ns);
    cr_expect_eq(result.busy_ns[FIRST], first_ns, "%d", (int)result.busy_ns[FIRST]);
    cr_expect_eq(result.busy_ns[SECOND], second_ns, "%d", (int)result.busy_ns[SECOND]);
}

/* The first op starts alone: 10. Its rival takes 13, and all that start later do too, until the
 * last: 10 + 13 = 23 here, 13 + 13 = 26 there. */
Test(sharing, ops_take_longer_while_another_core_works)
{
    const char waiting[] = "1; 1; 2; 2";
    const char chains[] = "1; 2; 1<0; 2<1";
    const char alone[] = "1; 1<0; 1<1";

    expect_step(waiting, 2, 3, 26, 23, 26);
    expect_step(chains, 0, 3, 26, 23, 26);
    expect_step(alone, 2, 3, 30, 30, 0);
}

/* The op on the second group takes 50. The copy begins at 10, when the sender goes on with
 * another op: the receiver is held up by 4, to 54. The copied tensor is read at 10 + 261. An idle
 * sender makes the copy and holds up nobody. */
Test(sharing, a_copy_holds_up_the_receiver_if_both_ends_work)
{
    const char both[] = "1; 2*5; 1*5; 2<0";
    const char one[] = "1; 2*5; 2<0";

    expect_step(both, 2, 0, 281, 60, 54 + 10);
    expect_step(one, 2, 0, 281, 10, 60);
}

/* The groups have cores 0 and 1, so the host has core 0 again: its task of 20 comes before the op
 * of the first group. With a third core it has its own. Where the op of the first group may start
 * at 10 it ends at 10 + 10 + 10, and is not slowed by the host, which works on no other core. */
Test(sharing, a_host_holds_up_the_group_whose_core_it_has)
{
    const char ops[] = "0; 1; 2";
    const char later[] = "0; 2; 1!1";

    expect_step(ops, 2, 0, 30, 30, 10);
    cr_expect_eq(result.busy_ns[CPU], 20);
    expect_step(ops, 3, 0, 20, 10, 10);
    expect_step(later, 2, 3, 30, 20, 10);
}

/* Cores 0 1, 2 0 and 1 of three: the host's task holds up half of the first group, which has a
 * core in common with the second, too. So no op is beside another. */
Test(sharing, groups_of_several_cores_are_held_up_for_their_share)
{
    const char  ops[] = "0; 1; 2";
    emp_runtime runtime = tiny_list_scheduling();

    runtime.events.cpu_pool = true;
    create(ops, &runtime, 3, 3);
    for (int d = FIRST; d <= SECOND; d++) t.machine->device[d].multiprocessors = 2;
    simulate();
    cr_expect_eq(result.busy_ns[FIRST], 20);
    cr_expect_eq(result.busy_ns[SECOND], 10);
}

Test(sharing, runtimes_with_host_threads_have_none_of_it)
{
    const char  ops[] = "0; 1; 2<1; 1";
    emp_runtime runtime = tiny_serial();
    emp_time_ns shared_ns;

    create(ops, &runtime, 2, 3);
    simulate();
    shared_ns = result.step_time_ns;
    task_create_ops(&t, ops, &runtime);
    t.machine->device[CPU].cores = 1;
    simulate();
    cr_expect_eq(result.step_time_ns, shared_ns);
}

/* Devices that share cores refuse an order of ops, but here nothing is ordered. */
Test(sharing, a_step_without_ops_has_no_order)
{
    const char    ops[] = "1f";
    const uint8_t level = 3;
    emp_runtime   runtime = tiny_list_scheduling();

    create(ops, &runtime, 2, 3);
    const emp_decision decision = {.device_of_op = t.device_of_op, .level_of_op = &level};
    OWN_SIM            sim = task_sim(&t);
    ASSERT_OK(emp_sim_run_decision(sim, &decision, &result, &err));
    task_destroy(&t);
}

Test(sharing, every_allocation_may_fail)
{
    const char  ops[] = "1; 2<0";
    emp_runtime runtime = tiny_list_scheduling();
    OWN_SIM     sim = NULL;

    create(ops, &runtime, 2, 3);
    SURVIVES_EVERY_ALLOCATION_FAILURE(emp_sim_create(&sim, t.problem, NULL), );
    task_destroy(&t);
}

/* Device 0 is the CPU. A copy takes 5 + 256 ns, an op 10 ns on a GPU and 20 ns on a core. */
enum { COPY_NS = 261 };

/* An op is copied from GPU 1 to GPU 2, and both GPUs exchange what it made. */
static const char copy_first[] = "1; 2<0; 1!0; 2!0";

/* The GPUs exchange for 100 ns; meanwhile the CPU has something for GPU 2. */
static const char ranks_first[] = "0; 2<0; 1*10; 2*10";
enum { OPS = 4, FIRST_RANK = 2 };

static void bind_ranks(emp_collective op, int32_t set_of_first, int32_t set)
{
    emp_graph *g = t.graph;

    g->collective = EMP_ADD_ARRAY(&g->arrays, emp_collective_part, OPS);
    cr_assert_not_null(g->collective);
    for (int32_t i = FIRST_RANK; i < OPS; i++)
        g->collective[i] =
            (emp_collective_part){op, 2, 256, i == FIRST_RANK ? set_of_first : set};
}

static emp_sim_result simulate_ranks(const char *ops, int32_t set_of_first, int32_t set,
                                     bool shares_links)
{
    emp_runtime runtime = tiny_list_scheduling();

    runtime.events.shared_links = shares_links;
    task_create_ops(&t, ops, &runtime);
    bind_ranks(EMP_COLLECTIVE_ALL_REDUCE, set_of_first, set);
    result = task_run(&t);
    task_destroy(&t);
    return result;
}

/* The copy has the link from 10 on, so both ranks take from 10 to 281; then comes what was copied. */
Test(collective_links, ranks_wait_for_a_copy_together)
{
    emp_sim_result r = simulate_ranks(copy_first, 1, 1, true);

    cr_expect_eq(r.step_time_ns, 10 + COPY_NS + 10 + 10, "%ld", (long)r.step_time_ns);
    cr_expect_eq(r.busy_ns[1], 10 + COPY_NS + 10);
    cr_expect_eq(r.busy_ns[2], COPY_NS + 10 + 10);
}

/* Ranks of two collectives, and links that no rule shares, are nobody's. */
Test(collective_links, a_rank_by_itself_keeps_none)
{
    cr_expect_eq(simulate_ranks(copy_first, 1, 2, true).step_time_ns, 10 + COPY_NS + 10);
    cr_expect_eq(simulate_ranks(copy_first, 0, 0, true).step_time_ns, 10 + COPY_NS + 10);
    cr_expect_eq(simulate_ranks(copy_first, 1, 1, false).step_time_ns, 10 + COPY_NS + 10);
}

/* The CPU is done at 20, and the ranks leave the link into GPU 2 at 100. */
Test(collective_links, a_copy_waits_for_ranks)
{
    cr_expect_eq(simulate_ranks(ranks_first, 1, 1, true).step_time_ns,
                 100 + COPY_NS + 10);
    cr_expect_eq(simulate_ranks(ranks_first, 0, 0, true).step_time_ns, 20 + COPY_NS + 10);
}

// SPDX-License-Identifier: GPL-3.0-or-later
/* Copies over the network, their waits and their memory, by hand: a
 * tensor of 256 B takes 20 + 512 ns from host to host, 5 more from or to a GPU. */
#include "tests/support/problems.h"
#include "tests/support/survive.h"

enum { CPU_0, GPU_0, CPU_1, GPU_1, GPU_2 };

TestSuite(several_hosts, .fini = expect_all_freed);

static emp_sim_result run(const char *ops, int64_t memory_bytes)
{
    emp_runtime runtime = tiny_list_scheduling();
    OWN_TASK    t;

    task_create_ops(&t, ops, &runtime);
    task_split_hosts(&t);
    t.machine->device[CPU_1].memory_bytes = memory_bytes;
    return task_run(&t);
}

Test(several_hosts, copies_cross_the_network_from_host_to_host)
{
    static const char between[] = "1; 3<0";
    static const char within[] = "3; 4<0";
    emp_sim_result    r = run(between, 1 << 20);

    cr_expect_eq(r.step_time_ns, 10 + 25 + 512 + 10);
    cr_expect_eq(r.transfer_count, 1);
    cr_expect_eq(run(within, 1 << 20).step_time_ns, 10 + 5 + 256 + 10);
}

/* Both take the link of host 0 to the network, though their GPUs and CPUs are others; the
 * copy of the other direction goes meanwhile. */
Test(several_hosts, copies_wait_for_the_network)
{
    static const char ops[] = "1; 0; 4; 3<0; 2<1; 1<2";
    emp_sim_result    r = run(ops, 1 << 20);

    cr_expect_eq(r.step_time_ns, 10 + (25 + 512) + (20 + 512) + 20);
    cr_expect_eq(r.busy_ns[GPU_0], 20);
    cr_expect_eq(r.transfer_count, 3);
}

/* The output of a GPU's op in host memory lies in that of its own host. */
Test(several_hosts, host_memory_is_that_of_the_own_host)
{
    static const char ops[] = "3h; 2<0; 0<0";
    emp_sim_result    r = run(ops, 1 << 20);

    cr_expect_eq(r.transfer_count, 1, "to the other host only");
    cr_expect_eq(r.step_time_ns, 10 + 20 + 512 + 20);
    cr_expect_eq(r.peak_bytes[CPU_1], 256 + 256, "the tensor, and what reads it makes");
    cr_expect_eq(r.peak_bytes[CPU_0], 256 + 256, "its copy, and the same");
    cr_expect_eq(r.peak_bytes[GPU_1], 0);
    cr_expect(r.is_feasible);
    r = run(ops, 300);
    cr_expect_eq(r.oom_device, CPU_1);
    cr_expect_eq(r.oom_op, 1);
}

/* ---- a program that drives the devices of both ---- */

enum { HOP_NS = 100, COPY = 25 + 512 };

typedef struct {
    bool is_client, has_hop;
    int  weight; /* of ops on the server */
} how;

/* Each round makes something on the client's host and reads it on the server. */
static const char    two_rounds[] = "0; 3<0; 0; 3<2";
static const uint8_t rounds[] = {0, 0, 1, 1};

static void add_hops(task *t)
{
    t->problem->runtime.events.host_hop_s = HOP_NS * 1e-9;
    for (int32_t a = 0; a < t->machine->device_count; a++)
        for (int32_t b = 0; b < t->machine->device_count; b++)
            t->machine->route[a][b].latency_s += emp_problem_hop_s(t->problem, a, b);
}

static void create(task *t, const char *ops, const uint8_t *level, how h)
{
    emp_runtime runtime = tiny_list_scheduling();
    tiny_op     op[TINY_MAX_OPS];

    const int count = tiny_parse(op, ops);
    for (int i = 0; i < count; i++) {
        if (op[i].device >= CPU_1) op[i].weight = h.weight;
    }
    task_create_tiny(t, op, count, &runtime);
    task_split_hosts(t);
    t->problem->runtime.events.client = h.is_client;
    for (int i = 0; i < count; i++) t->graph->op[i].level = level[i];
    t->graph->has_levels = true;
    if (h.has_hop) add_hops(t);
}

TestSuite(client, .fini = expect_all_freed);

static int64_t step_ns(const char *ops, const uint8_t *level, how h)
{
    OWN_TASK       t;
    emp_sim_result r = {0}, again = {0};

    create(&t, ops, level, h);
    OWN_SIM sim = task_sim(&t);
    ASSERT_OK(emp_sim_run(sim, t.device_of_op, &r, &err));
    ASSERT_OK(emp_sim_run(sim, t.device_of_op, &again, &err));
    cr_expect(r.is_feasible && again.step_time_ns == r.step_time_ns);
    return r.step_time_ns;
}

static int64_t two_ns(how h) { return step_ns(two_rounds, rounds, h); }

Test(client, waits_for_copies_between_hosts)
{
    /* both first ops are done at 40, and the copies leave one after the other */
    cr_expect_eq(two_ns((how){.weight = 1}), 20 + COPY + COPY + 10);
    /* the second round begins when the copy of the first has left the link */
    cr_expect_eq(two_ns((how){true, false, 1}), 2 * (20 + COPY) + 10);
    /* it does not wait for the hop, in which the server takes the copy: only the last one counts */
    cr_expect_eq(two_ns((how){true, true, 1}), 2 * (20 + COPY) + HOP_NS + 10);
    /* the server works on the first round until 557 + 100 + 1000 and takes the second copy then */
    cr_expect_eq(two_ns((how){true, true, 100}), 20 + COPY + 2 * (HOP_NS + 1000));
}

/* The critical path of the last step above, from its end: the op on the server, the hop, the wait for the server since 1114, the copy, and
 * before that the copy for which the client waited, each with its op. */
Test(client, is_explained)
{
    OWN_TASK t;

    create(&t, two_rounds, rounds, (how){true, true, 100});
    OWN_EXPLANATION why = task_explain(&t);
    cr_expect_eq(why->cause_ns[EMP_CAUSE_GPU_OP], 1000);
    cr_expect_eq(why->cause_ns[EMP_CAUSE_RECEIVE], HOP_NS);
    cr_expect_eq(why->cause_ns[EMP_CAUSE_HOST_WAIT], 1657 - 1114);
    cr_expect_eq(why->cause_ns[EMP_CAUSE_TRANSFER], 2 * COPY);
    cr_expect_eq(why->cause_ns[EMP_CAUSE_CPU_OP], 2 * 20);
}

/* A copy to another host keeps no link in its hop: two that leave one after the other arrive so. */
Test(client, copies_share_a_hop)
{
    static const uint8_t one_round[] = {0, 0, 0, 0};

    cr_expect_eq(step_ns(two_rounds, one_round, (how){.has_hop = true, .weight = 1}),
                 20 + COPY + COPY + HOP_NS + 10);
}

/* An op that reads all rounds belongs to the last one. It has level 0, and nothing waits for it. A copy to the client has no hop. */
Test(client, what_reads_all_rounds_is_last)
{
    static const char    ops[] = "0; 3<0; 0; 3<2; 0<1,3";
    static const uint8_t levels[] = {0, 0, 1, 1, 0};

    cr_expect_eq(
        step_ns(ops, levels, (how){.is_client = true, .has_hop = true, .weight = 1}),
        2 * (20 + COPY) + HOP_NS + 10 + COPY + 20);
}

/* The copy of a tensor that only the third round reads arrives first and waits for the server. Copies for the second round
 * arrive behind it and are received before it. */
Test(client, a_copy_of_a_later_round_holds_up_none_before_it)
{
    static const char    ops[] = "0; 0; 3<1; 0; 3<3; 3<0,4";
    static const uint8_t levels[] = {0, 0, 0, 1, 1, 2};

    /* one copy after the other leaves the link, and then each round is a hop and an op of the server */
    cr_expect_eq(
        step_ns(ops, levels, (how){.is_client = true, .has_hop = true, .weight = 100}),
        20 + 2 * COPY + 3 * (HOP_NS + 1000));
}

/* The order of a program is no row of rounds: the first op of the server reads what was made late, and the client waits for
 * no copy, so that only the order of its ops counts. */
Test(client, takes_the_order_of_a_program_for_one_round)
{
    OWN_TASK       t;
    emp_sim_result r = {0};

    create(&t, two_rounds, rounds, (how){.is_client = true, .weight = 1});
    t.graph->in_program_order = true;
    r = task_run(&t);
    cr_expect_eq(r.step_time_ns, two_ns((how){.weight = 1}));
    cr_expect_eq(r.step_time_ns, 20 + COPY + COPY + 10);
}

Test(client, survives_every_allocation_failure)
{
    OWN_TASK  t;
    OWN_SIM   sim = NULL;
    emp_error err = {0};

    create(&t, two_rounds, rounds, (how){.is_client = true, .weight = 1});
    SURVIVES_EVERY_ALLOCATION_FAILURE(emp_sim_create(&sim, t.problem, &err), (void)0);
}

Test(client, waits_for_no_copy_within_a_host)
{
    static const char ops[] = "0; 1<0; 0; 1<2";
    const int64_t     with = step_ns(ops, rounds, (how){.is_client = true});

    cr_expect_eq(with, step_ns(ops, rounds, (how){.is_client = false}));
    cr_expect_eq(with, 20 + 2 * (5 + 256) + 10);
}

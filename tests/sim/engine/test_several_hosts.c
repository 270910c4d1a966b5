// SPDX-License-Identifier: GPL-3.0-or-later
/* What crosses the network, what waits for it and in whose memory it lies, by hand: a
 * tensor of 256 B takes 20 + 512 ns from host to host, 5 more from or to a GPU. */
#include <criterion/criterion.h>

#include "tests/support/problems.h"
#include "tests/support/survive.h"

enum { CPU_0, GPU_0, CPU_1, GPU_1, GPU_2 };

TestSuite(several_hosts, .fini = expect_no_leak);

static emp_sim_result run(const char *ops, int64_t memory_bytes)
{
    emp_runtime runtime = tiny_list_scheduling();
    task        t;

    task_create_ops(&t, ops, &runtime);
    task_split_hosts(&t);
    t.machine->device[CPU_1].memory_bytes = memory_bytes;
    emp_sim_result r = task_run(&t);
    task_destroy(&t);
    return r;
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

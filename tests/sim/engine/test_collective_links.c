// SPDX-License-Identifier: GPL-3.0-or-later
/* Do ranks of collectives and copies wait for each other's links as a hand computes? */
#include <criterion/criterion.h>

#include "tests/support/problems.h"

/* Device 0 is the CPU. A copy takes 5 + 256 ns, an op 10 ns on a GPU and 20 ns on a core. */
enum { COPY = 261 };

/* An op is copied from GPU 1 to GPU 2, and both GPUs exchange what it made. */
static const char copy_first[] = "1; 2<0; 1!0; 2!0";

/* The GPUs exchange for 100 ns; meanwhile the CPU has something for GPU 2. */
static const char ranks_first[] = "0; 2<0; 1*10; 2*10";
enum { OPS = 4, FIRST_RANK = 2 };

/* Makes the last ops ranks of the sets; 0 = of none. */
static void bind_ranks(task *t, emp_collective op, int32_t set_of_first, int32_t set)
{
    emp_graph *g = t->graph;

    g->collective = EMP_ADD_ARRAY(&g->arrays, emp_collective_part, OPS);
    cr_assert_not_null(g->collective);
    for (int32_t i = FIRST_RANK; i < OPS; i++)
        g->collective[i] =
            (emp_collective_part){op, 2, 256, i == FIRST_RANK ? set_of_first : set};
}

static emp_sim_result simulate(const char *ops, int32_t set_of_first, int32_t set,
                               bool shares_links)
{
    emp_runtime runtime = tiny_list_scheduling();
    task        t;

    runtime.events.shared_links = shares_links;
    task_create_ops(&t, ops, &runtime);
    bind_ranks(&t, EMP_COLLECTIVE_ALL_REDUCE, set_of_first, set);
    emp_sim_result result = task_run(&t);
    task_destroy(&t);
    return result;
}

/* The copy has the link from 10 on, so both ranks take from 10 to 281; then comes what was copied. */
Test(collective_links, ranks_wait_for_a_copy_together)
{
    emp_sim_result r = simulate(copy_first, 1, 1, true);

    cr_expect_eq(r.step_time_ns, 10 + COPY + 10 + 10, "%ld", (long)r.step_time_ns);
    cr_expect_eq(r.busy_ns[1], 10 + COPY + 10);
    cr_expect_eq(r.busy_ns[2], COPY + 10 + 10);
}

/* Ranks of two collectives, and links that no rule shares, are nobody's. */
Test(collective_links, a_rank_by_itself_keeps_none)
{
    cr_expect_eq(simulate(copy_first, 1, 2, true).step_time_ns, 10 + COPY + 10);
    cr_expect_eq(simulate(copy_first, 0, 0, true).step_time_ns, 10 + COPY + 10);
    cr_expect_eq(simulate(copy_first, 1, 1, false).step_time_ns, 10 + COPY + 10);
}

/* The CPU is done at 20, and the ranks leave the link into GPU 2 at 100. */
Test(collective_links, a_copy_waits_for_ranks)
{
    cr_expect_eq(simulate(ranks_first, 1, 1, true).step_time_ns, 100 + COPY + 10);
    cr_expect_eq(simulate(ranks_first, 0, 0, true).step_time_ns, 20 + COPY + 10);
}

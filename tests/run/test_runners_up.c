// SPDX-License-Identifier: GPL-3.0-or-later
/* Which placements a search keeps beside its best. */
#include "run/loop.h"

#include "tests/support/survive.h"

enum { OPS = 200 };

static emp_runners_up r;

static void set_up(void) { r = (emp_runners_up){.limit = 3}; }

static void tear_down(void)
{
    emp_runners_up_clear(&r);
    expect_all_freed();
}

TestSuite(runners_up, .init = set_up, .fini = tear_down);

/* The first \a moved ops are on device 1. */
static emp_status note(int32_t moved, emp_time_ns step_time_ns, bool is_feasible)
{
    emp_device_id            device[OPS] = {0};
    const emp_owned_decision d = {.device_of_op = device, .op_count = OPS};
    const emp_sim_result     result = {.step_time_ns = step_time_ns,
                                       .is_feasible = is_feasible};

    for (int32_t op = 0; op < moved; op++) device[op] = 1;
    return emp_runners_up_note(&r, &d, &result, NULL);
}

static void expect_steps(const char *want)
{
    char text[128] = "";

    for (int32_t i = 0; i < r.count; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text), "%s%lld%s",
                 i > 0 ? " " : "", (long long)r.place[i].step_time_ns,
                 r.place[i].is_feasible ? "" : "!");
    cr_expect_str_eq(text, want);
}

Test(runners_up, are_the_best_in_order)
{
    note(0, 50, true);
    note(20, 30, true);
    note(40, 10, false);
    expect_steps("30 50 10!");
    note(60, 40, true);
    expect_steps("30 40 50");
    cr_expect_eq(r.place[1].decision.device_of_op[59], 1, "a copy of the decision");
    note(80, 60, true);
    expect_steps("30 40 50");
}

/* One op in 200 is 0.5 %, two are 1 %. */
Test(runners_up, are_distinct)
{
    note(100, 50, true);
    note(101, 60, true);
    expect_steps("50");
    note(102, 60, true);
    expect_steps("50 60");
    note(101, 40, true); /* like both */
    expect_steps("40");
    note(0, 40, true); /* as two equal GPUs exchanged */
    expect_steps("40");
    cr_expect_eq(r.place[0].decision.device_of_op[100], 1);
}

Test(runners_up, stay_when_memory_is_out)
{
    note(0, 50, true);
    emp_mem_fail_after(0);
    cr_expect_eq(note(50, 20, true), EMP_ENOMEM);
    emp_mem_fail_after(-1);
    expect_steps("50");
}

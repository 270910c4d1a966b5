// SPDX-License-Identifier: GPL-3.0-or-later
/* Are GiPH's networks those that its released generator draws? Its numbers are written out here. */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "sim/machine/machine.h"
#include "tests/support/expect.h"
#include "tests/support/problems.h"
#include "tests/support/survive.h"

static emp_machine *load(const char *spec)
{
    emp_machine *m = NULL;

    ASSERT_OK(emp_machine_load(&m, spec, &err));
    return m;
}

/* A route of \a delay_ms and of \a ms_per_mb for a megabyte. */
static void expect_route(const emp_machine *m, int32_t from, int32_t to, double delay_ms,
                         double ms_per_mb)
{
    const emp_route *r = &m->route[from][to];

    cr_expect_float_eq(r->latency_s, delay_ms * 1e-3, 1e-15);
    cr_expect_float_eq(1e9 / r->bytes_per_s, ms_per_mb, 1e-15);
    cr_expect_eq(r->link_count, 1);
    cr_expect_eq(r->link[0], m->route[to][from].link[0]);
}

Test(giph_machine, is_the_released_programs)
{
    emp_machine *m = load("giph:seed=1");

    cr_assert_eq(m->device_count, 20);
    cr_expect_eq(m->link_count, 190);
    cr_expect_float_eq(1 / m->device[0].time_factor, 6.553545737581544, 1e-14);
    cr_expect_float_eq(1 / m->device[19].time_factor, 5.797230494787257, 1e-14);
    expect_route(m, 0, 1, 16.014891373510732, 0.007147384389361959);
    expect_route(m, 19, 18, 10.222829565942565, 0.009903371934441619);
    emp_machine_destroy(m);
    m = load("giph:devices=5,seed=3");
    cr_assert_eq(m->device_count, 5);
    cr_expect_float_eq(1 / m->device[0].time_factor, 3.82164137841995, 1e-14);
    expect_route(m, 4, 3, 3.1373547694992654, 0.008223820052988811);
    emp_machine_destroy(m);
    cr_expect_eq(emp_mem_live_blocks(), 0);
}

Test(giph_machine, hash_tells_networks_apart)
{
    emp_machine *a = load("giph"), *b = load("giph:seed=1"), *c = load("giph:seed=0");

    cr_expect_neq(a->hash, b->hash);
    cr_expect_eq(a->hash, c->hash);
    emp_machine_destroy(a);
    emp_machine_destroy(b);
    emp_machine_destroy(c);
}

static void expect_times(const char *runtime)
{
    task t;

    task_create(&t, "giph", "giph:devices=3", runtime);
    for (emp_op_id op = 0; op < t.graph->op_count; op++) {
        for (emp_device_id d = 0; d < t.machine->device_count; d++)
            cr_expect_float_eq((double)emp_problem_op_time_ns(t.problem, op, d),
                               (double)t.graph->stated[op].gpu_ns *
                                   t.machine->device[d].time_factor,
                               0.51);
    }
    task_destroy(&t);
}

Test(giph_machine, has_times_of_its_own_on_each_device, .fini = expect_no_leak)
{
    expect_times("ideal");
    expect_times("edges");
}

Test(giph_machine, refuses_what_is_out_of_range)
{
    static const char *const specs[] = {"giph:devices=1", "giph:devices=24",
                                        "giph:speed=0", "giph:b_speed=2",
                                        "giph:colour=1"};

    for (size_t i = 0; i < sizeof specs / sizeof *specs; i++) {
        emp_machine *m = NULL;
        emp_error    err = {0};
        cr_expect_eq(emp_machine_load(&m, specs[i], &err), EMP_EINVAL, "%s", specs[i]);
        cr_expect_null(m);
        cr_expect_neq(err.msg[0], '\0');
    }
}

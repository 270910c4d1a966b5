// SPDX-License-Identifier: GPL-3.0-or-later
/* Do collectives take what tables say, and else what a ring takes? */
#include <criterion/criterion.h>

#include "base/mem.h"
#include "sim/cost/kernel.h"
#include "tests/support/expect.h"

static emp_machine *load(const char *name)
{
    emp_machine *machine = NULL;

    ASSERT_OK(emp_machine_load(&machine, name, &err));
    return machine;
}

/* The RTX 3060 has 6.3 GB/s, and a small copy takes 24 us: a part of a third takes 1.024 ms. */
Test(collective_cost, without_a_table_it_is_a_ring)
{
    emp_machine        *m = load("rtx4090x2+rtx3060");
    emp_collective_part part = {EMP_COLLECTIVE_ALL_REDUCE, 3, 3 * 6300000, 0};

    for (int32_t d = 0; d < m->device_count; d++) {
        part.op = EMP_COLLECTIVE_ALL_REDUCE;
        part.ranks = 3;
        cr_expect_float_eq(emp_collective_s(&part, m, &m->device[d]), 4.096e-3, 1e-12);
        part.op = EMP_COLLECTIVE_ALL_TO_ALL;
        cr_expect_float_eq(emp_collective_s(&part, m, &m->device[d]), 2.048e-3, 1e-12);
        part.ranks = EMP_RANKS_ALL;
        cr_expect_float_eq(emp_collective_s(&part, m, &m->device[d]), 2.048e-3, 1e-12);
        part.ranks = 1;
        cr_expect_eq(emp_collective_s(&part, m, &m->device[d]), 0.0);
    }
    emp_machine_destroy(m);
    cr_expect_eq(emp_mem_live_blocks(), 0);
}

/* Nothing is there to send it by but memory. */
Test(collective_cost, a_cpu_by_itself_copies)
{
    emp_machine              *m = NULL;
    const emp_collective_part part = {EMP_COLLECTIVE_ALL_GATHER, 4, 4000000, 0};

    cr_assert_eq(emp_machine_create(&m, "cpu", 1, 0, 1 << 30, NULL), EMP_OK);
    m->device[0].core_bytes_per_s = 1e9;
    cr_expect_float_eq(emp_collective_s(&part, m, &m->device[0]), 3e-3, 1e-12);
    emp_machine_destroy(m);
}

Test(collective_cost, a_table_counts_as_far_as_it_goes)
{
    emp_machine      *m = load("dgx-h100");
    const emp_device *gpu = emp_machine_first(m, EMP_DEVICE_GPU);

    for (int32_t op = 0; op < EMP_COLLECTIVES; op++) {
        emp_collective_part part = {(emp_collective)op, 8, 1 << 24, 0};
        emp_exchange        e = {(emp_collective)op, EMP_FORMAT_FP16, 8, 1 << 24};
        double              seconds;
        emp_form            form;
        cr_assert_eq(emp_exchange_time(&seconds, &form, gpu, &e, NULL), EMP_OK);
        cr_expect_eq(form, EMP_FORM_TABLE);
        cr_expect_eq(emp_collective_s(&part, m, gpu), seconds);
        part.ranks = 64; /* a ring of its links */
        cr_expect_gt(emp_collective_s(&part, m, gpu), 0.0);
        cr_expect_neq(emp_collective_s(&part, m, gpu), seconds);
    }
    emp_machine_destroy(m);
}

/* What is known of all-reduces alone serves for the others, which send half as much. */
Test(collective_cost, another_table_stands_in_and_says_so)
{
    emp_machine *m = load("dgx-h100");
    emp_device   gpu = *emp_machine_first(m, EMP_DEVICE_GPU);
    emp_tables   all = *gpu.tables, own = {0};
    emp_exchange e = {EMP_COLLECTIVE_ALL_REDUCE, EMP_FORMAT_BF16, 4, 1 << 20};
    double       reduce_s, seconds;
    emp_form     form;

    gpu.tables = &own;
    own.collective[EMP_COLLECTIVE_ALL_REDUCE][EMP_FORMAT_BF16] =
        all.collective[EMP_COLLECTIVE_ALL_REDUCE][EMP_FORMAT_BF16];
    cr_assert_eq(emp_exchange_time(&reduce_s, &form, &gpu, &e, NULL), EMP_OK);
    cr_expect_eq(form, EMP_FORM_TABLE);
    for (int32_t op = EMP_COLLECTIVE_ALL_REDUCE + 1; op < EMP_COLLECTIVES; op++) {
        e.op = (emp_collective)op;
        cr_assert_eq(emp_exchange_time(&seconds, &form, &gpu, &e, NULL), EMP_OK);
        cr_expect_eq(form, EMP_FORM_LIKE);
        cr_expect_float_eq(seconds, reduce_s / 2.0, 1e-15);
    }
    cr_expect_str_eq(emp_form_name(EMP_FORM_LIKE), "like");
    emp_machine_destroy(m);
}

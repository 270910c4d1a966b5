// SPDX-License-Identifier: GPL-3.0-or-later
/* Orders as levels: by rank of keys, and by bottom levels that are worked out by hand. */
#include "search/order.h"
#include "sim/problem/problem.h"
#include "tests/support/problems.h"
#include "tests/support/survive.h"

static void expect_no_leak(void) { expect_all_freed(); }

TestSuite(orders, .fini = expect_no_leak);

Test(orders, keys_are_cut_into_levels_of_equal_length)
{
    enum { OPS = 10 * EMP_LEVELS };
    double  key[OPS];
    uint8_t level[OPS];

    for (int op = 0; op < OPS; op++) key[op] = -3.0 * op;
    ASSERT_OK(emp_order_of_keys(level, key, OPS, NULL));
    for (int op = 0; op < OPS; op++) cr_expect_eq(level[op], (OPS - 1 - op) / 10);
}

Test(orders, ops_of_one_key_share_a_level)
{
    const double  key[] = {5, 1, 5, 1, 9, 5};
    const uint8_t want[] = {2 * EMP_LEVELS / 6, 0,
                            2 * EMP_LEVELS / 6, 0,
                            5 * EMP_LEVELS / 6, 2 * EMP_LEVELS / 6};
    uint8_t       level[6];

    ASSERT_OK(emp_order_of_keys(level, key, 6, NULL));
    cr_expect_arr_eq(level, want, sizeof want);
}

/* Ops take 10 ns on a GPU, times their weight; a copy 5 + 256 ns. The bottom levels are
 * 10 + 261 + 20, 10 + 20 (no copy within a device), 20, 20 and 10. */
Test(orders, bottom_levels_count_ops_and_copies)
{
    static const tiny_op ops[] = {
        {.device = 2},
        {.device = 1},
        {.device = 1, .input_count = 2, .input = {0, 1}, .weight = 2},
        {.device = 1, .weight = 2},
        {.device = 1}};
    const emp_runtime list = tiny_list_scheduling();
    /* By falling length: op 0, op 1, then ops 2 and 3, then op 4. */
    const uint8_t want[] = {0, EMP_LEVELS / 5, 2 * EMP_LEVELS / 5, 2 * EMP_LEVELS / 5,
                            4 * EMP_LEVELS / 5};
    uint8_t       level[5];
    OWN_TASK      t;

    task_create_tiny(&t, ops, 5, &list);
    ASSERT_OK(emp_order_of_bottom_levels(level, t.problem, t.device_of_op, NULL));
    cr_expect_arr_eq(level, want, sizeof want);
    SURVIVES_EVERY_ALLOCATION_FAILURE(
        emp_order_of_bottom_levels(level, t.problem, t.device_of_op, NULL), );
}

Test(orders, proposals_have_what_is_decided)
{
    emp_owned_decision with, without;

    ASSERT_OK(emp_decision_init(&with, 3, EMP_DECIDES_MORE, NULL));
    ASSERT_OK(emp_decision_init(&without, 3, EMP_DECIDES_DEVICES, NULL));
    cr_expect_null(without.level_of_op);
    cr_expect_null(without.leader_of_op);
    cr_expect_eq(with.leader_of_op[2], 2);
    with.leader_of_op[2] = EMP_JOINS_READERS;
    with.device_of_op[1] = without.device_of_op[2] = 2;
    with.level_of_op[2] = 7;
    emp_decision_copy(&without, &with);
    cr_expect_arr_eq(without.device_of_op, with.device_of_op, 3 * sizeof(emp_device_id));
    cr_expect(emp_decision_is_valid(&with, 3));
    cr_expect_not(emp_decision_is_valid(&with, 2));
    with.level_of_op[0] = EMP_LEVELS;
    cr_expect_not(emp_decision_is_valid(&with, 3));
    with.level_of_op[0] = 0;
    with.leader_of_op[0] = 3;
    cr_expect_not(emp_decision_is_valid(&with, 3));
    emp_decision_clear(&with);
    emp_decision_clear(&without);
    SURVIVES_EVERY_ALLOCATION_FAILURE(emp_decision_init(&with, 3, EMP_DECIDES_MORE, NULL),
                                      emp_decision_clear(&with));
    emp_decision_clear(&with);
}

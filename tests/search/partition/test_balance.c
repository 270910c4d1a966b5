// SPDX-License-Identifier: GPL-3.0-or-later
/* What a partitioner minimises, of placements worked out by hand. */
#include <criterion/criterion.h>

#include "base/mem.h"
#include "search/partition/partition_graph.h"
#include "tests/baselines/fixture.h"
#include "tests/support/expect.h"
#include "tests/support/survive.h"

/* a -30-> b -10-> c, and d alone: each 1 ms on a GPU. Weights are one more than bytes.
 * CPU and both GPUs are equally strong: each may have a third of the load. */
Test(balance, counts_cut_traffic_and_the_fullest_device)
{
    fixture          *f = fixture_create(2);
    emp_op_id         a = fixture_op(f, NULL, 30), b = fixture_op(f, NULL, 10);
    emp_op_id         c = fixture_op(f, NULL, 0), folded;
    emp_balance       balance;
    emp_balance_score score;

    fixture_op(f, NULL, 0);
    folded = fixture_op(f, NULL, 99);
    f->op[folded].is_folded = true;
    fixture_edge(f, a, b);
    fixture_edge(f, b, c);
    MUST(emp_balance_init(&balance, fixture_problem(f), NULL));

    score = emp_balance_judge(&balance, (const emp_device_id[]){1, 1, 1, 1, 0});
    cr_expect_eq(score.cut_frac, 0.0);
    cr_expect_float_eq(score.imbalance, 3 - 1, 1e-6, "three times its third");
    cr_expect_float_eq(emp_balance_cost(score), 1.95, 1e-6);

    score = emp_balance_judge(&balance, (const emp_device_id[]){1, 2, 2, 0, 1});
    cr_expect_float_eq(score.cut_frac, 31.0 / (31 + 11), 1e-12);
    cr_expect_float_eq(score.imbalance, 2.0 / 4 * 3 - 1, 1e-6);
    cr_expect_float_eq(emp_balance_cost(score), 31.0 / 42 + 0.45, 1e-6);

    score = emp_balance_judge(&balance, (const emp_device_id[]){1, 1, 0, 2, 2});
    cr_expect_float_eq(score.cut_frac, 11.0 / 42, 1e-12);
    emp_balance_clear(&balance);
    fixture_destroy(f);
    cr_expect_eq(emp_mem_live_blocks(), 0);
}

Test(balance, a_class_is_where_its_leader_is)
{
    fixture    *f = fixture_create(2);
    emp_op_id   a = fixture_op(f, NULL, 5), read = fixture_op(f, NULL, 5);
    emp_op_id   b = fixture_op(f, NULL, 0);
    emp_balance balance;

    fixture_colocate(f, read, a);
    fixture_edge(f, a, read);
    fixture_edge(f, read, b);
    MUST(emp_balance_init(&balance, fixture_problem(f), NULL));
    cr_expect_eq(emp_balance_judge(&balance, (const emp_device_id[]){1, 1, 1}).cut_frac,
                 0.0);
    cr_expect_eq(emp_balance_judge(&balance, (const emp_device_id[]){2, 2, 1}).cut_frac,
                 1.0);
    emp_balance_clear(&balance);
    fixture_destroy(f);
}

/* Up to the tolerance of 5 % balance costs nothing. */
Test(balance, tolerance_is_free)
{
    cr_expect_eq(emp_balance_cost((emp_balance_score){0.25, 0.04}), 0.25);
    cr_expect_float_eq(emp_balance_cost((emp_balance_score){0.25, 0.15}), 0.35, 1e-12);
}

Test(balance, survives_every_allocation_failure)
{
    fixture           *f = fixture_create(2);
    emp_balance        balance;
    const emp_problem *problem;

    fixture_clique(f, 4, 100);
    problem = fixture_problem(f);
    SURVIVES_EVERY_ALLOCATION_FAILURE(emp_balance_init(&balance, problem, NULL), );
    emp_balance_clear(&balance);
    fixture_destroy(f);
}

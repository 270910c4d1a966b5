// SPDX-License-Identifier: GPL-3.0-or-later
/* A walk by itself: are its samples one move away, and are the members of groups listed as
 * given? */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "baselines/searches/walk.h"
#include "tests/support/problems.h"

static task w;

static void set_up(void) { task_create(&w, "rnnlm:steps=4", "k40x2", "tf-r1.3"); }

static void tear_down(void)
{
    task_destroy(&w);
    cr_expect_eq(emp_mem_live_blocks(), 0);
}

TestSuite(walk, .init = set_up, .fini = tear_down);

/* A walk past its start, with groups by names alone, which need no METIS. */
static void begin(emp_walk *walk, emp_device_id *candidate)
{
    struct options {
        emp_walk_options walk;
    } options = {0};
    static const emp_option list[] = {
        EMP_WALK_OPTIONS(struct options, walk, EMP_MOVES_MIXED, 768), EMP_NO_OPTION};
    const emp_option_table table = {"test", NULL, list};
    emp_device_id         *candidates[1] = {candidate};
    const emp_score        score = {.step_time_s = 1.0, .is_feasible = true};
    int32_t                count;
    bool                   is_new;
    emp_error              err = {0};

    cr_assert_eq(emp_options_parse(&options, &table, NULL, NULL, &err), EMP_OK);
    options.walk.samples = 1;
    options.walk.moves.groups = 3; /* names */
    cr_assert_eq(emp_walk_init(walk, w.problem, &options.walk, 9, &err), EMP_OK, "%s",
                 err.msg);
    cr_assert_eq(emp_walk_ask(walk, "test", candidates, 1, &count, &err), EMP_OK);
    cr_assert_eq(emp_walk_begin(walk, &score, count, &is_new, &err), EMP_OK);
    cr_assert(is_new);
}

Test(walk, goes_where_its_sample_was)
{
    const int32_t  ops = w.graph->op_count;
    emp_walk       walk;
    emp_device_id *candidate = EMP_NEW_ARRAY(emp_device_id, (size_t)ops);
    int32_t        count;

    begin(&walk, candidate);
    for (int i = 0; i < 50; i++) {
        const emp_score faster = {.step_time_s = 0.9 - 0.01 * i, .is_feasible = true};
        bool            is_new;
        cr_assert_eq(emp_walk_ask(&walk, "test", &candidate, 1, &count, NULL), EMP_OK);
        cr_expect_neq(memcmp(candidate, walk.here, (size_t)ops * sizeof *candidate), 0);
        cr_assert_eq(emp_walk_begin(&walk, &faster, count, &is_new, NULL), EMP_OK);
        cr_expect_not(is_new);
        cr_expect_eq(emp_walk_metropolis(&walk, &faster, count, 0.0), 1);
        cr_expect_arr_eq(candidate, walk.here, (size_t)ops * sizeof *candidate);
        cr_expect_arr_eq(candidate, walk.best, (size_t)ops * sizeof *candidate);
        cr_expect_eq(walk.cost.here_s, faster.step_time_s);
    }
    emp_walk_clear(&walk);
    emp_free(candidate);
}

/* ---- members ---- */

Test(members, are_listed_by_group_and_empty_groups_dropped)
{
    const int32_t group[] = {2, -1, 0, 2, 4, 2}, value[] = {10, 11, 12};
    int32_t       spread[] = {7, 7, 7, 7, 7, 7};
    const int32_t wanted[] = {11, 7, 10, 11, 12, 11};
    emp_members   m;

    cr_assert_eq(emp_members_init(&m, group, 6, 5, NULL), EMP_OK);
    cr_assert_eq(m.group_count, 3);
    const int32_t first[] = {0, 1, 4, 5}, member[] = {2, 0, 3, 5, 4};
    cr_expect_arr_eq(m.first, first, sizeof first);
    cr_expect_arr_eq(m.member, member, sizeof member);
    emp_members_spread(&m, value, spread);
    cr_expect_arr_eq(spread, wanted, sizeof wanted);
    emp_members_clear(&m);
    cr_expect_eq(emp_mem_live_blocks(), 0);
}

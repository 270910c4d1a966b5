// SPDX-License-Identifier: GPL-3.0-or-later
/* Do groups list the members that they were given, and do groups of classes keep to their
 * counts and borders? */
#include "base/rng.h"
#include "search/groups/class_groups.h"
#include "tests/baselines/fixture.h"
#include "tests/support/survive.h"

Test(members, of_random_groups_are_those_of_a_plain_search)
{
    for (uint64_t seed = 0; seed < 50; seed++) {
        int32_t     group_of_item[40], next = 0, number = 0;
        emp_rng     rng;
        emp_members m;
        emp_rng_init(&rng, seed, 0, 0);
        for (int32_t i = 0; i < 40; i++)
            group_of_item[i] = (int32_t)emp_rng_below(&rng, 12) - 1;
        ASSERT_OK(emp_members_init(&m, group_of_item, 40, 11, NULL));
        for (int32_t g = 0; g < 11; g++) {
            int32_t begin = next;
            for (int32_t i = 0; i < 40; i++)
                if (group_of_item[i] == g) cr_assert_eq(m.member[next++], i);
            if (next == begin) continue;
            cr_assert_eq(m.first[number], begin);
            cr_assert_eq(m.first[++number], next);
        }
        cr_expect_eq(m.group_count, number);
        emp_members_clear(&m);
    }
}

Test(members, of_classes_are_their_live_ops)
{
    OWN_FIXTURE   three = fixture_create(2);
    const int32_t group_of_class[] = {1, 0};
    SCOPED(emp_members, emp_members_clear) m;

    emp_op_id leader = fixture_op(three, NULL, 1);
    fixture_op(three, NULL, 1);
    fixture_colocate(three, fixture_op(three, NULL, 1), leader);
    ASSERT_OK(
        emp_members_init_ops(&m, fixture_problem(three)->graph, group_of_class, 2, NULL));
    cr_assert_eq(m.group_count, 2);
    cr_expect_arr_eq(m.first, ((int32_t[]){0, 1, 3}), 3 * sizeof(int32_t));
    cr_expect_arr_eq(m.member, ((int32_t[]){1, 0, 2}), 3 * sizeof(int32_t));
}

Test(members, survive_every_allocation_failure)
{
    const int32_t group_of_item[] = {2, 0, -1, 2};
    emp_members   m;

    SURVIVES_EVERY_ALLOCATION_FAILURE(emp_members_init(&m, group_of_item, 4, 3, NULL),
                                      emp_members_clear(&m));
    emp_members_clear(&m);
}

static fixture           *f;
static const emp_problem *p;

/* Four cliques of five, each joined to the next by a thin tensor, and an op of the CPU. */
static void set_up(void)
{
    f = fixture_create(2);
    for (int32_t k = 0; k < 4; k++) {
        emp_op_id first = fixture_clique(f, 5, 100000);
        if (k > 0) fixture_edge(f, first - 1, first);
        f->tensor[first + 4].bytes = 1;
    }
    fixture_cpu_only(f, fixture_op(f, NULL, 1));
    p = fixture_problem(f);
}

static void tear_down(void)
{
    fixture_destroy(f);
    expect_all_freed();
}

TestSuite(clusters, .init = set_up, .fini = tear_down);
TestSuite(class_groups, .init = set_up, .fini = tear_down);

Test(clusters, are_the_cliques_and_pairs_of_them)
{
    emp_clusters *c = NULL;

    ASSERT_OK(emp_clusters_create(&c, p, 4, 2, 1.1, 3, NULL, NULL));
    cr_expect_eq(c->fine_count, 4);
    cr_expect_eq(c->coarse_count, 2);
    cr_assert_eq(c->class_count, 21);
    cr_expect_eq(c->fine_of_class[20], -1, "it can only run on the CPU");
    for (int32_t i = 0; i < 20; i++)
        cr_expect_eq(c->fine_of_class[i], c->fine_of_class[i / 5 * 5], "class %d", i);
    for (int32_t k = 0; k < 4; k++)
        for (int32_t l = 0; l < k; l++)
            cr_expect_neq(c->fine_of_class[5 * k], c->fine_of_class[5 * l]);
    emp_clusters_destroy(c);
}

Test(clusters, with_room_for_all_are_single_classes)
{
    emp_clusters *c = NULL;

    ASSERT_OK(emp_clusters_create(&c, p, 100, 1, 1.1, 3, NULL, NULL));
    cr_expect_eq(c->fine_count, 20);
    cr_expect_eq(c->coarse_count, 1);
    for (int32_t i = 0; i < 20; i++) cr_expect_eq(c->fine_of_class[i], i);
    for (int32_t i = 0; i < 20; i++) cr_expect_eq(c->coarse_of_fine[i], 0);
    emp_clusters_destroy(c);
}

Test(clusters, are_not_made_when_the_caller_is_to_stop)
{
    const atomic_int stop = 1;
    emp_clusters    *c = NULL;

    cr_expect_eq(emp_clusters_create(&c, p, 4, 2, 1.1, 3, &stop, NULL), EMP_EINTERRUPTED);
    cr_expect_null(c);
}

Test(class_groups, by_cuts_keep_to_their_number)
{
    for (int kind = EMP_CLASS_GROUPS_METIS; kind <= EMP_CLASS_GROUPS_SCOTCH; kind++) {
        const emp_class_groups_params params = {
            .kind = (emp_class_grouping)kind, .count = 4, .imbalance = 1.1, .seed = 1};
        int32_t     group_of_class[21], count = 0;
        uint64_t    hash = 1, again = 1;
        emp_members ops;
        ASSERT_OK(emp_class_groups(group_of_class, &count, p, &params, NULL));
        cr_expect_leq(count, 4);
        cr_expect_eq(group_of_class[20], -1);
        for (int32_t i = 0; i < 20; i++) {
            cr_expect(group_of_class[i] >= 0 && group_of_class[i] < count);
            cr_expect_eq(group_of_class[i], group_of_class[i / 5 * 5], "kind %d: %d",
                         kind, i);
        }
        ASSERT_OK(emp_class_groups_ops(&ops, &hash, p, &params, NULL));
        cr_expect_eq(ops.group_count, 4);
        cr_expect_eq(ops.first[4], 20);
        emp_members_clear(&ops);
        ASSERT_OK(emp_class_groups_ops(&ops, &again, p, &params, NULL));
        cr_expect(hash == again && hash != 1, "equal groups leave equal hashes");
        emp_members_clear(&ops);
    }
}

Test(class_groups, survive_every_allocation_failure)
{
    const emp_class_groups_params params = {
        .kind = EMP_CLASS_GROUPS_METIS, .count = 4, .imbalance = 1.1, .seed = 1};
    uint64_t hash = 0;
    SCOPED(emp_members, emp_members_clear) ops = {0};
    emp_clusters *c = NULL;

    SURVIVES_EVERY_ALLOCATION_FAILURE(emp_class_groups_ops(&ops, &hash, p, &params, NULL),
                                      emp_members_clear(&ops));
    SURVIVES_EVERY_ALLOCATION_FAILURE(
        emp_clusters_create(&c, p, 4, 2, 1.1, 3, NULL, NULL), cr_assert_null(c));
    emp_clusters_destroy(c);
}

// SPDX-License-Identifier: GPL-3.0-or-later
/* Do moves touch what they should, all of it and nothing else, and with the shares that
 * the options say? */
#include "search/moves.h"
#include "tests/baselines/fixture.h"
#include "tests/support/survive.h"

enum { CLIQUES = 6, CLIQUE_OPS = 5, OPS = CLIQUES * CLIQUE_OPS, DRAWS = 4000 };

static fixture *f;

static void set_up(void)
{
    f = fixture_create(2);
    for (int i = 0; i < CLIQUES; i++) {
        emp_op_id first = fixture_clique(f, CLIQUE_OPS, 1000000);
        if (i > 0) fixture_edge(f, first - 1, first);
    }
}

static void tear_down(void)
{
    fixture_destroy(f);
    expect_all_freed();
}

TestSuite(moves, .init = set_up, .fini = tear_down);

static emp_moves create(const char *text)
{
    struct options {
        emp_move_options moves;
    } options = {0};
    static const emp_option list[] = {
        EMP_MOVE_OPTIONS(struct options, moves, EMP_MOVES_MIXED, 768), EMP_NO_OPTION};
    const emp_option_table table = {"test", NULL, list};
    emp_moves              moves;

    ASSERT_OK(emp_options_parse(&options, &table, NULL, text, &err));
    ASSERT_OK(emp_moves_init(&moves, fixture_problem(f), &options.moves, 1, &err));
    return moves;
}

/* How many ops draw number i has moved, from all on device 1; and where to. */
static int draw(const emp_moves *m, uint32_t i, emp_device_id *device)
{
    emp_rng rng;
    int     moved = 0;

    for (int op = 0; op < OPS; op++) device[op] = 1;
    emp_rng_init(&rng, 1, i, 0);
    bool said = emp_moves_draw(m, &rng, device);
    for (int op = 0; op < OPS; op++) moved += device[op] != 1;
    cr_expect_eq(said, moved > 0);
    return moved;
}

Test(moves, of_single_ops_move_a_class)
{
    int moved[OPS] = {0};

    fixture_colocate(f, 7, 2);
    SCOPED(emp_moves, emp_moves_clear) m = create("moves=ops,near=0,propagate=0");
    for (uint32_t i = 0; i < DRAWS; i++) {
        emp_device_id device[OPS];
        int           count = draw(&m, i, device);
        cr_assert_eq(count, device[2] != 1 ? 2 : 1);
        cr_expect_eq(device[2], device[7]);
        for (int op = 0; op < OPS; op++) moved[op] += device[op] != 1;
    }
    for (int op = 0; op < OPS; op++) /* 29 classes: 138 each, standard deviation 12 */
        cr_expect(moved[op] > 80 && moved[op] < 200, "op %d moved %d times", op,
                  moved[op]);
}

Test(moves, of_groups_move_cliques)
{
    emp_moves m =
        create("moves=groups,groups=metis,coarsest=6,finest=6,near=0,propagate=0");

    cr_assert_eq(m.level_count, 1);
    cr_assert_eq(m.level[0].group_count, CLIQUES);
    for (uint32_t i = 0; i < 100; i++) {
        emp_device_id device[OPS];
        cr_expect_eq(draw(&m, i, device), CLIQUE_OPS);
        for (int op = 0; op < OPS; op++)
            cr_expect_eq(device[op], device[op / CLIQUE_OPS * CLIQUE_OPS]);
    }
    emp_moves_clear(&m);
}

Test(moves, come_in_sizes_and_mixed_ones_in_all)
{
    int       count[OPS + 1] = {0};
    emp_moves m = create("groups=metis,coarsest=3,finest=6,near=0,propagate=0");

    cr_assert_eq(m.level_count, 2);
    for (uint32_t i = 0; i < DRAWS; i++) {
        emp_device_id device[OPS];
        count[draw(&m, i, device)]++;
    }
    cr_expect_lt(abs(count[1] - DRAWS / 3), 150); /* standard deviation 30 */
    cr_expect_lt(abs(count[CLIQUE_OPS] - DRAWS / 3), 150);
    cr_expect_lt(abs(count[2 * CLIQUE_OPS] - DRAWS / 3), 150);
    emp_moves_clear(&m);
}

/* All on device 1: a neighbour is nowhere else, so that moves are drawn by power. With all
 * on device 0 but one op on device 2, near moves go there or take it back. */
Test(moves, go_where_a_neighbor_is_or_by_power)
{
    int count[3] = {0}, moved = 0;

    f->machine->device[0].peak_flops_per_s = 0.5e12; /* 1 : 2 beside device 2 */
    emp_moves m = create("moves=ops,near=0.5,propagate=0");
    for (uint32_t i = 0; i < DRAWS; i++) {
        emp_device_id device[OPS];
        moved += draw(&m, i, device);
        for (int op = 0; op < OPS; op++) count[device[op]]++;
    }
    cr_expect_eq(count[0] + count[2], moved);
    cr_expect_gt(moved, DRAWS - 40, "some draw a neighbour's device twenty times");
    cr_expect_lt(abs(count[0] - DRAWS / 3), 150);
    emp_moves_clear(&m);

    m = create("moves=ops,near=1,propagate=0");
    for (uint32_t i = 0; i < 200; i++) {
        emp_device_id device[OPS] = {0}, before[OPS] = {0};
        emp_rng       rng;
        device[7] = before[7] = 2;
        emp_rng_init(&rng, 1, i, 0);
        if (!emp_moves_draw(&m, &rng, device)) continue; /* 20 draws far away */
        for (int op = 0; op < OPS; op++) {
            if (device[op] == before[op]) continue;
            cr_expect(op >= 5 && op < 10, "op %d is no neighbour of op 7", op);
            cr_expect_eq(device[op], op == 7 ? 0 : 2);
        }
    }
    emp_moves_clear(&m);
}

/* From one op on device 2 its device spreads along edges: to three others of ten on
 * average, as a path goes on with probability 3/4. */
Test(moves, along_edges_copy_a_device_to_neighbors)
{
    int       copies = 0, draws = 0, others = 0;
    emp_moves m = create("propagate=1");

    for (uint32_t i = 0; i < DRAWS; i++) {
        emp_device_id device[OPS] = {0};
        emp_rng       rng;
        int           count = 0;
        device[7] = 2;
        emp_rng_init(&rng, 1, i, 0);
        if (!emp_moves_draw(&m, &rng, device)) continue;
        for (int op = 0; op < OPS; op++) count += device[op] == 2;
        draws += count > 1;
        copies += count > 1 ? count - 1 : 0;
        others += count == 0;
        cr_expect(count <= 1 || device[7] == 2, "op 7 spreads and stays");
        cr_expect(count >= 0 && device[7] != 1);
    }
    cr_expect_gt(draws, 500);
    cr_expect_gt(others, 500, "its neighbours' device comes to op 7, too");
    /* At most 1 / (1 - 3/4) = 4, less as paths end where they have been. */
    cr_expect((double)copies / draws > 1.5 && (double)copies / draws < 4.0, "%g",
              (double)copies / draws);
    emp_moves_clear(&m);
}

Test(moves, that_are_counted_are_each_made_once)
{
    SCOPED(emp_moves, emp_moves_clear) m = create("groups=metis,coarsest=6,finest=6");
    int changed[OPS][3] = {{0}};

    cr_assert_eq(emp_moves_count(&m), (OPS + CLIQUES) * 3);
    for (int64_t i = 0; i < emp_moves_count(&m); i++) {
        emp_device_id device[OPS];
        bool          has_changed = false;
        for (int op = 0; op < OPS; op++) device[op] = 1;
        bool said = emp_moves_make(&m, i, device);
        for (int op = 0; op < OPS; op++) {
            changed[op][device[op]]++;
            has_changed |= device[op] != 1;
        }
        cr_expect_eq(said, has_changed);
    }
    for (int op = 0; op < OPS; op++) { /* alone, and with its clique */
        cr_expect_eq(changed[op][0], 2);
        cr_expect_eq(changed[op][2], 2);
    }
    emp_device_id device[OPS] = {0};
    cr_expect_not(emp_moves_make(&m, emp_moves_count(&m), device));
}

Test(moves, scatter_keeps_the_coarsest_groups_together)
{
    SCOPED(emp_moves, emp_moves_clear) m = create("groups=metis,coarsest=6,finest=24");
    emp_device_id device[OPS];
    emp_rng       rng;
    int           seen = 0;

    emp_rng_init(&rng, 1, 0, 0);
    for (int i = 0; i < 20; i++) {
        emp_moves_scatter(&m, &rng, device);
        for (int op = 0; op < OPS; op++) {
            cr_expect_eq(device[op], device[op / CLIQUE_OPS * CLIQUE_OPS]);
            seen |= 1 << device[op];
        }
    }
    cr_expect_eq(seen, 7, "all devices are used");
}

static void expect_off_the_cpu(const emp_device_id *device)
{
    for (int op = 0; op < OPS; op++) cr_expect_neq(device[op], 0, "op %d", op);
}

Test(moves, send_no_op_to_a_forbidden_cpu)
{
    emp_device_id device[OPS];
    emp_rng       rng;

    fixture_problem(f);
    ASSERT_OK(emp_problem_forbid_cpus(f->problem, NULL, NULL));
    SCOPED(emp_moves, emp_moves_clear) m = create("groups=metis,coarsest=6,finest=6");
    cr_assert_eq(emp_moves_count(&m), (OPS + CLIQUES) * 2);
    emp_rng_init(&rng, 1, 0, 0);
    emp_moves_scatter(&m, &rng, device);
    expect_off_the_cpu(device);
    for (uint32_t i = 0; i < 200; i++) {
        draw(&m, i, device);
        expect_off_the_cpu(device);
    }
    for (int64_t i = 0; i < emp_moves_count(&m); i++) {
        for (int op = 0; op < OPS; op++) device[op] = 1;
        emp_moves_make(&m, i, device);
        expect_off_the_cpu(device);
    }
}

Test(moves, leave_alone_what_has_no_choice)
{
    fixture_cpu_only(f, 3);
    SCOPED(emp_moves, emp_moves_clear) m = create("propagate=0.2");
    for (uint32_t i = 0; i < 500; i++) {
        emp_device_id device[OPS] = {0};
        emp_rng       rng;
        for (int op = 0; op < OPS; op++) device[op] = op % 3;
        emp_rng_init(&rng, 1, i, 0);
        cr_expect(emp_moves_draw(&m, &rng, device));
        cr_expect_eq(device[3], 0);
    }
}

/* The six cliques are no more groups when 12 are asked for: 12 and 24 are spare in both cuts. */
Test(moves, may_be_made_a_level_at_a_time)
{
    const emp_move_options at_once = {
        .groups = EMP_CLASS_GROUPS_NAMES, .coarsest = 3, .finest = 24, .cuts = 2};
    emp_move_options gradual = at_once;
    emp_moves        m, all;
    int              calls = 0;

    gradual.at_once = 4;
    ASSERT_OK(emp_moves_init(&all, fixture_problem(f), &at_once, 1, NULL));
    ASSERT_OK(emp_moves_init(&m, fixture_problem(f), &gradual, 1, NULL));
    cr_expect_eq(m.grown, 4);
    cr_expect_eq(m.size_count, 8);
    cr_expect_eq(2 * m.level_count, all.level_count);
    cr_expect_lt(all.level_count, 8);
    for (; m.grown < m.size_count; calls++) ASSERT_OK(emp_moves_grow(&m, NULL));
    cr_expect_eq(calls, 4);
    cr_assert_eq(m.level_count, all.level_count);
    cr_expect_eq(m.groups_hash, all.groups_hash);
    cr_assert_eq(emp_moves_grow(&m, NULL), EMP_OK, "there is no further one");
    cr_expect_eq(m.level_count, all.level_count);
    emp_moves_clear(&m);
    emp_moves_clear(&all);
}

/* Compares how often each of a grouping into three is drawn. */
static void expect_shares(const emp_moves *m, const double share[3])
{
    enum { PICKS = 20000 };
    const emp_device_id device[OPS] = {0};
    int                 times[3] = {0};
    emp_rng             rng;

    emp_rng_init(&rng, 3, 0, 0);
    for (int i = 0; i < PICKS; i++) {
        const emp_move move = emp_moves_pick(m, &rng, device);
        cr_assert_eq(move.groups, &m->level[0]);
        times[move.group]++;
    }
    for (int g = 0; g < 3; g++)
        cr_expect_float_eq((double)times[g] / PICKS, share[g], 0.015, "group %d: %d", g,
                           times[g]);
}

Test(moves, of_groups_are_drawn_by_their_weight)
{
    double    weight[OPS] = {0};
    emp_moves m = create("moves=groups,groups=metis,coarsest=3,finest=3");

    cr_assert_eq(m.level[0].group_count, 3);
    expect_shares(&m, (double[]){1.0 / 3, 1.0 / 3, 1.0 / 3});
    ASSERT_OK(emp_moves_weigh(&m, weight, 0.0, NULL)); /* all of them 0 */
    expect_shares(&m, (double[]){1.0 / 3, 1.0 / 3, 1.0 / 3});
    for (int g = 0; g < 3; g++) weight[m.level[0].member[m.level[0].first[g]]] = g;
    ASSERT_OK(emp_moves_weigh(&m, weight, 0.0, NULL));
    expect_shares(&m, (double[]){0.0, 1.0 / 3, 2.0 / 3});
    ASSERT_OK(emp_moves_weigh(&m, weight, 0.6, NULL));
    expect_shares(&m, (double[]){0.2, 0.2 + 0.4 / 3, 0.2 + 0.8 / 3});
    emp_moves_clear(&m);
}

enum { ALL = EMP_KIND_CPU | EMP_KIND_GPU };

/* Odds are running sums of shares; each number falls to the first device whose sum is above it. */
Test(odds, draw_devices_by_their_share_of_power)
{
    static const struct {
        int32_t  count, device_count;
        uint32_t of_kinds;
        double   peak[4], up_to[4]; /* devices 1 and 3 are GPUs */
    } cases[] = {{3, 3, ALL, {1e12, 3e12, 4e12}, {0.125, 0.5, 1}},
                 {4, 4, ALL, {1e12, 0, 3e12, 4e12}, {0.125, 0.125, 0.5, 1}},
                 {4, 2, EMP_KIND_GPU, {8e12, 1e12, 8e12, 3e12}, {0.25, 1}},
                 {1, 1, ALL, {7}, {1}}};

    for (size_t i = 0; i < COUNT(cases); i++) {
        emp_machine m = {.device_count = cases[i].count};
        emp_rng     rng, same;
        for (int d = 0; d < cases[i].count; d++) {
            m.device[d].peak_flops_per_s = cases[i].peak[d];
            m.device[d].kind = d % 2 == 1 ? EMP_DEVICE_GPU : EMP_DEVICE_CPU;
        }
        const emp_device_odds odds = emp_device_odds_of(&m, cases[i].of_kinds);
        cr_assert_eq(odds.device_count, cases[i].device_count, "case %zu", i);
        for (int d = 0; d < odds.device_count; d++)
            cr_expect_eq(odds.up_to[d], cases[i].up_to[d], "case %zu, device %d", i, d);
        emp_rng_init(&rng, 5, 0, 0);
        emp_rng_init(&same, 5, 0, 0);
        for (int draw = 0; draw < 1000; draw++) {
            const double  u = emp_rng_uniform(&same);
            emp_device_id want = 0;
            while (u >= odds.up_to[want]) want++;
            if (cases[i].of_kinds == EMP_KIND_GPU) want = 2 * want + 1;
            cr_assert_eq(emp_device_odds_draw(&odds, &rng), want, "case %zu, %g", i, u);
        }
    }
}

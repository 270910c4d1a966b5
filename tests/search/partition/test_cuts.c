// SPDX-License-Identifier: GPL-3.0-or-later
/* Do METIS and Scotch get the graph, the shares and the seed that they are meant to get? Their
 * cuts of small graphs are those that brute force finds. */
#include "search/partition/metis_cut.h"
#include "search/partition/scotch_cut.h"
#include "tests/baselines/fixture.h"
#include "tests/support/survive.h"

enum { SIDE = 6, VERTICES = 2 * SIDE };

/* Two cliques of SIDE ops that exchange much, joined by one thin tensor; two GPUs. */
static fixture             *f;
static emp_partition_graph *graph;
static emp_partition_target target;

static void set_up(void)
{
    f = fixture_create(2);
    emp_op_id first = fixture_clique(f, SIDE, 1000);
    emp_op_id second = fixture_clique(f, SIDE, 1000);
    fixture_edge(f, first, second);
    f->tensor[first].bytes = 10;
    ASSERT_OK(emp_partition_graph_create(&graph, fixture_problem(f), false, &err));
    cr_assert_eq(graph->vertex_count, VERTICES);
    ASSERT_OK(emp_partition_target_init(&target, f->machine, false, "test", &err));
}

static void tear_down(void)
{
    emp_partition_graph_destroy(graph);
    fixture_destroy(f);
    expect_all_freed();
}

TestSuite(metis, .init = set_up, .fini = tear_down);
TestSuite(scotch, .init = set_up, .fini = tear_down);

static int64_t cut_of(const emp_partition_graph *g, const int32_t *part)
{
    int64_t cut = 0;

    for (int32_t v = 0; v < g->vertex_count; v++)
        for (int32_t i = g->row[v]; i < g->row[v + 1]; i++)
            if (part[v] < part[g->neighbor[i]]) cut += g->traffic[i];
    return cut;
}

static int64_t load_of(const emp_partition_graph *g, const int32_t *part, int32_t of)
{
    int64_t load = 0;

    for (int32_t v = 0; v < g->vertex_count; v++) load += part[v] == of ? g->load[v] : 0;
    return load;
}

/* The least cut with a given number of vertices, which weigh the same, in part 0. */
static int64_t least_cut(const emp_partition_graph *g, int32_t in_first)
{
    int64_t least = INT64_MAX;

    for (int32_t mask = 0; mask < 1 << VERTICES; mask++) {
        int32_t part[VERTICES], zeros = 0;
        for (int32_t v = 0; v < VERTICES; v++) {
            part[v] = mask >> v & 1;
            zeros += part[v] == 0;
        }
        if (zeros == in_first && cut_of(g, part) < least) least = cut_of(g, part);
    }
    return least;
}

static const double equal_shares[] = {0.5, 0.5};

Test(metis, cuts_where_brute_force_does)
{
    int32_t part[VERTICES];

    for (int is_kway = 0; is_kway < 2; is_kway++) {
        const emp_metis_cut cut = {.share = equal_shares, .is_kway = is_kway};
        ASSERT_OK(emp_metis_parts(graph, 2, &cut, 1, part, NULL));
        cr_expect_eq(cut_of(graph, part), least_cut(graph, SIDE));
        cr_expect_eq(load_of(graph, part, 0), load_of(graph, part, 1));
    }
}

Test(metis, follows_shares)
{
    const double        shares[] = {0.25, 0.75};
    const emp_metis_cut cut = {.share = shares};
    int32_t             part[VERTICES], count = 0;

    ASSERT_OK(emp_metis_parts(graph, 2, &cut, 1, part, NULL));
    for (int32_t v = 0; v < VERTICES; v++) count += part[v] == 0;
    cr_expect_eq(count, VERTICES / 4);
    cr_expect_eq(cut_of(graph, part), least_cut(graph, VERTICES / 4));
}

/* All memory is in one clique: half of each clique must go to each part. */
Test(metis, shares_memory_too)
{
    int32_t             part[VERTICES], memory[VERTICES], held = 0;
    const emp_metis_cut cut = {
        .share = equal_shares, .memory = memory, .memory_share = equal_shares};

    for (int32_t v = 0; v < VERTICES; v++) memory[v] = v < SIDE ? 100 : 0;
    ASSERT_OK(emp_metis_parts(graph, 2, &cut, 1, part, NULL));
    for (int32_t v = 0; v < VERTICES; v++) held += part[v] == 0 ? memory[v] : 0;
    cr_expect_eq(held, 100 * SIDE / 2);
}

/* A torus whose edges have traffic from 1 to 100 has many cuts that no move improves. */
Test(metis, keeps_the_best_of_several_cuts)
{
    enum { WIDTH = 60, COUNT = WIDTH * WIDTH, ARCS = 4 };
    static int32_t      row[COUNT + 1], load[COUNT], neighbor[ARCS * COUNT];
    static int32_t      traffic[ARCS * COUNT], part[COUNT];
    static bool         is_cpu_only[COUNT];
    emp_partition_graph torus = {.vertex_count = COUNT,
                                 .row = row,
                                 .load = load,
                                 .is_cpu_only = is_cpu_only,
                                 .neighbor = neighbor,
                                 .traffic = traffic};
    int64_t             sum[2] = {0, 0};

    for (int32_t v = 0; v < COUNT; v++) {
        const int32_t to[ARCS] = {v / WIDTH * WIDTH + (v + 1) % WIDTH,
                                  v / WIDTH * WIDTH + (v + WIDTH - 1) % WIDTH,
                                  (v + WIDTH) % COUNT, (v + COUNT - WIDTH) % COUNT};
        row[v + 1] = ARCS * (v + 1);
        load[v] = 1;
        for (int32_t i = 0; i < ARCS; i++) {
            neighbor[ARCS * v + i] = to[i];
            traffic[ARCS * v + i] = 1 + v * to[i] % 9973 % 100; /* alike both ways */
        }
    }
    for (int32_t several = 0; several < 2; several++) {
        const emp_metis_cut cut = {.share = equal_shares, .cut_count = several ? 20 : 0};
        for (uint64_t seed = 1; seed <= 5; seed++) {
            ASSERT_OK(emp_metis_parts(&torus, 2, &cut, seed, part, NULL));
            sum[several] += cut_of(&torus, part);
        }
    }
    cr_expect_lt(sum[1], sum[0], "%lld with 20 cuts, %lld with one", (long long)sum[1],
                 (long long)sum[0]);
}

Test(metis, k_way_keeps_to_its_imbalance)
{
    int32_t part[VERTICES];

    for (uint64_t seed = 0; seed < 5; seed++) {
        ASSERT_OK(emp_metis_kway(graph, 3, 1.1, seed, NULL, part, NULL));
        for (int32_t p = 0; p < 3; p++)
            cr_expect_leq(load_of(graph, part, p) * VERTICES,
                          (VERTICES / 3 + 1) * load_of(graph, (int32_t[VERTICES]){0}, 0));
    }
}

Test(metis, and_scotch_depend_on_their_seed_alone)
{
    int32_t once[VERTICES], again[VERTICES];

    ASSERT_OK(emp_metis_kway(graph, 4, 1.3, 7, NULL, once, &err));
    ASSERT_OK(emp_metis_kway(graph, 4, 1.3, 8, NULL, again, &err));
    ASSERT_OK(emp_metis_kway(graph, 4, 1.3, 7, NULL, again, &err));
    cr_expect_arr_eq(once, again, sizeof once);
    ASSERT_OK(emp_scotch_parts(graph, 4, 0.1, 7, NULL, once, &err));
    ASSERT_OK(emp_scotch_parts(graph, 4, 0.1, 8, NULL, again, &err));
    ASSERT_OK(emp_scotch_parts(graph, 4, 0.1, 7, NULL, again, &err));
    cr_expect_arr_eq(once, again, sizeof once);
}

Test(metis, survives_every_allocation_failure)
{
    int32_t             part[VERTICES], memory[VERTICES] = {1};
    const emp_metis_cut cut = {
        .share = equal_shares, .memory = memory, .memory_share = equal_shares};

    SURVIVES_EVERY_ALLOCATION_FAILURE(emp_metis_parts(graph, 2, &cut, 1, part, NULL), );
    SURVIVES_EVERY_ALLOCATION_FAILURE(
        emp_metis_kway(graph, 2, 1.1, 1, NULL, part, NULL), );
}

Test(scotch, maps_where_brute_force_does)
{
    int32_t part[VERTICES];

    for (int architecture = 0; architecture < 2; architecture++) {
        const emp_scotch_options options = {
            .architecture = (emp_scotch_architecture)architecture, .imbalance = 0.05};
        ASSERT_OK(emp_scotch_map(graph, &target, &options, 1, NULL, part, NULL));
        cr_expect_eq(cut_of(graph, part), least_cut(graph, SIDE));
    }
    ASSERT_OK(emp_scotch_parts(graph, 2, 0.05, 1, NULL, part, NULL));
    cr_expect_eq(cut_of(graph, part), least_cut(graph, SIDE));
}

Test(scotch, follows_powers)
{
    const emp_scotch_options options = {.imbalance = 0.01};
    int32_t                  part[VERTICES];

    target.power[0] = 0.25;
    target.power[1] = 0.75;
    ASSERT_OK(emp_scotch_map(graph, &target, &options, 1, NULL, part, NULL));
    int64_t first = load_of(graph, part, 0), second = load_of(graph, part, 1);
    cr_expect(2 * first < second && 4 * first > second, "%lld and %lld", (long long)first,
              (long long)second);
}

Test(scotch, fixes_what_only_runs_on_the_cpu)
{
    const emp_scotch_options options = {.imbalance = 0.05};
    int32_t                  part[VERTICES];

    tear_down();
    f = fixture_create(2);
    fixture_clique(f, VERTICES, 1000);
    fixture_cpu_only(f, 3);
    fixture_cpu_only(f, 8);
    ASSERT_OK(emp_partition_graph_create(&graph, fixture_problem(f), true, &err));
    ASSERT_OK(emp_partition_target_init(&target, f->machine, true, "test", &err));
    ASSERT_OK(emp_scotch_map(graph, &target, &options, 1, NULL, part, &err));
    cr_expect(part[3] == 0 && part[8] == 0);
}

Test(scotch, survives_every_allocation_failure)
{
    const emp_scotch_options options = {.imbalance = 0.05};
    emp_partition_graph     *other = NULL;
    int32_t                  part[VERTICES];

    SURVIVES_EVERY_ALLOCATION_FAILURE(
        emp_scotch_map(graph, &target, &options, 1, NULL, part, NULL), );
    SURVIVES_EVERY_ALLOCATION_FAILURE(
        emp_partition_graph_create(&other, f->problem, true, NULL), );
    emp_partition_graph_destroy(other);
}

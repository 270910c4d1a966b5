// SPDX-License-Identifier: GPL-3.0-or-later
/* Acyclic partitions: what flows and what returns, clusters that close no cycle, moves that
 * keep the direction, and parts of many random graphs: acyclic, balanced, and no worse than
 * chunks of an order. */
#include "base/rng.h"
#include "baselines/baselines.h"
#include "search/acyclic/acyclic_cut.h"
#include "tests/baselines/fixture.h"
#include "tests/support/survive.h"

EMP_OWNS(emp_flow_graph, emp_flow_graph_destroy)
#define OWN_FLOW EMP_OWNER(emp_flow_graph)

enum { MOST = 160, RANDOM_GRAPHS = 300 };

/* A graph in a matrix: traffic[u][v] > 0 is an edge that flows from u to v. */
typedef struct {
    int32_t count;
    int64_t load[MOST];
    int64_t traffic[MOST][MOST];
} matrix;

static matrix m;

static emp_flow_graph *flow_graph_of(void)
{
    emp_flow_graph *g = EMP_NEW(emp_flow_graph);
    size_t          n = (size_t)m.count;

    g->vertex_count = m.count;
    g->load = EMP_ADD_ARRAY(&g->arrays, int64_t, n);
    g->row = EMP_ADD_ARRAY(&g->arrays, int32_t, n + 1);
    g->neighbor = EMP_ADD_ARRAY(&g->arrays, int32_t, n * n);
    g->traffic = EMP_ADD_ARRAY(&g->arrays, int64_t, n * n);
    g->flow = EMP_ADD_ARRAY(&g->arrays, int8_t, n * n);
    for (int32_t v = 0; v < m.count; v++) {
        int32_t at = g->row[v];
        g->load[v] = m.load[v];
        for (int32_t u = 0; u < m.count; u++) {
            if (m.traffic[v][u] == 0 && m.traffic[u][v] == 0) continue;
            g->neighbor[at] = u;
            g->traffic[at] = m.traffic[v][u] + m.traffic[u][v];
            g->flow[at++] = m.traffic[v][u] > 0 ? 1 : -1;
        }
        g->row[v + 1] = at;
    }
    return g;
}

/* A random graph whose vertices feed higher ones, mostly near; loads 1 .. \a most_load. */
static emp_flow_graph *draw_graph(uint64_t seed, int64_t most_load)
{
    emp_rng rng;

    memset(&m, 0, sizeof m);
    emp_rng_init(&rng, seed, 1, 0);
    m.count = 20 + (int32_t)emp_rng_below(&rng, MOST - 20 + 1);
    uint32_t near = 2 + emp_rng_below(&rng, 40), edges = 1 + emp_rng_below(&rng, 4);
    for (int32_t v = 0; v < m.count; v++) {
        m.load[v] = 1 + emp_rng_below(&rng, (uint32_t)most_load);
        for (uint32_t k = 0; v > 0 && k < edges; k++) {
            int32_t back = 1 + (int32_t)emp_rng_below(&rng, near);
            int32_t u =
                v - back >= 0 ? v - back : (int32_t)emp_rng_below(&rng, (uint32_t)v);
            m.traffic[u][v] = 1 + emp_rng_below(&rng, 100);
        }
    }
    return flow_graph_of();
}

static bool is_in_order(const int32_t *part)
{
    for (int32_t u = 0; u < m.count; u++)
        for (int32_t v = 0; v < m.count; v++)
            if (m.traffic[u][v] > 0 && part[u] > part[v]) return false;
    return true;
}

static int64_t cut_of(const int32_t *part)
{
    int64_t cut = 0;

    for (int32_t u = 0; u < m.count; u++)
        for (int32_t v = 0; v < m.count; v++)
            if (part[u] != part[v]) cut += m.traffic[u][v];
    return cut;
}

static int64_t load_of(const int32_t *part, int32_t which)
{
    int64_t load = 0;

    for (int32_t v = 0; v < m.count; v++)
        if (which < 0 || part[v] == which) load += m.load[v];
    return load;
}

static int8_t flow(const emp_flow_graph *g, int32_t u, int32_t v)
{
    for (int32_t i = g->row[u]; i < g->row[u + 1]; i++)
        if (g->neighbor[i] == v) return g->flow[i];
    return 2;
}

static fixture *create_chain(int32_t gpu_count, int32_t op_count)
{
    fixture *f = fixture_create(gpu_count);

    for (int32_t i = 0; i < op_count; i++) {
        fixture_op(f, NULL, 10 * (i + 1));
        if (i > 0) fixture_edge(f, i - 1, i);
    }
    return f;
}

/* variable -> forward -> loss -> gradient -> update, the update in the class of the variable. Data that come
 * back to a class bind no order, and groups stand where their first op does. */
Test(flow_graph, follows_data_from_classes_to_classes)
{
    fixture             *f = create_chain(2, 5);
    const int32_t        group[] = {0, 1, 2, 1}; /* the gradient with its forward op */
    emp_partition_graph *vertices = NULL;
    emp_flow_graph      *g = NULL, *grouped = NULL;
    int32_t              order[4], level[4];
    int64_t              traffic = 0; /* of vertex 0 */

    fixture_colocate(f, 4, 0);
    fixture_edge(f, 1, 3);
    const emp_problem *problem = fixture_problem(f);
    ASSERT_OK(emp_partition_graph_create(&vertices, problem, false, &err));
    ASSERT_OK(emp_flow_graph_create(&g, vertices, problem, NULL, 0, &err));
    cr_expect_eq(g->vertex_count, 4);
    cr_expect(flow(g, 0, 1) == 1 && flow(g, 1, 0) == -1 && flow(g, 1, 3) == 1);
    cr_expect(flow(g, 0, 3) == 0 && flow(g, 3, 0) == 0, "the gradient returns");
    cr_assert(emp_flow_graph_sort(g, order, level));
    for (int32_t v = 0; v < 4; v++) cr_expect(order[v] == v && level[v] == v);
    for (int32_t i = g->row[0]; i < g->row[1]; i++) traffic += g->traffic[i];
    cr_expect_eq(traffic, 1 + 10 + 1 + 40, "traffic that returns counts");
    ASSERT_OK(emp_flow_graph_create(&grouped, vertices, problem, group, 3, &err));
    cr_expect_eq(grouped->vertex_count, 3);
    cr_expect_eq(grouped->load[1], vertices->load[1] + vertices->load[3]);
    cr_expect_eq(flow(grouped, 0, 1), 1);
    cr_expect_eq(flow(grouped, 1, 2), 1, "not back to the gradient");
    cr_expect_eq(flow(grouped, 0, 2), 2, "no edge");
    emp_flow_graph_destroy(g);
    emp_flow_graph_destroy(grouped);
    emp_partition_graph_destroy(vertices);
    fixture_destroy(f);
    cr_expect_eq(emp_mem_live_blocks(), 0);
}

Test(flow_graph, sort_finds_cycles)
{
    int32_t order[3], level[3], part[3];

    m = (matrix){.count = 3, .load = {1, 1, 1}};
    m.traffic[0][1] = m.traffic[1][2] = m.traffic[2][0] = 5;
    emp_flow_graph *g = flow_graph_of();
    cr_expect_not(emp_flow_graph_sort(g, order, level));
    EXPECT_REFUSED(
        emp_acyclic_cut(g, 2, (const double[]){0.5, 0.5}, 0.1, 1, NULL, part, &err),
        EMP_ECYCLE, "flows of 3 vertices form a cycle");
    emp_flow_graph_destroy(g);
    cr_expect_eq(emp_mem_live_blocks(), 0);
}

/* ---- parts of the method ----------------------------------------------------------- */

Test(flow_clusters, close_no_cycle_and_keep_to_the_limit)
{
    int32_t order[MOST], level[MOST], cluster[MOST], count, fewer = 0;

    for (uint64_t seed = 0; seed < 100; seed++) {
        int64_t  load[MOST] = {0}, total = 0;
        OWN_FLOW coarse = NULL;
        OWN_FLOW g = draw_graph(seed, 9);
        cr_assert(emp_flow_graph_sort(g, order, level));
        ASSERT_OK(emp_flow_clusters(cluster, &count, g, level, 30, seed, 0, NULL));
        for (int32_t v = 0; v < m.count; v++) load[cluster[v]] += m.load[v];
        for (int32_t c = 0; c < count; c++) cr_expect_leq(load[c], 30);
        ASSERT_OK(emp_flow_graph_contract(&coarse, g, cluster, count, NULL));
        for (int32_t c = 0; c < count; c++) {
            cr_expect_eq(coarse->load[c], load[c]);
            for (int32_t i = coarse->row[c]; i < coarse->row[c + 1]; i++)
                total += coarse->traffic[i];
        }
        cr_expect_eq(total, 2 * cut_of(cluster));
        cr_expect(emp_flow_graph_sort(coarse, order, level), "seed %d", (int)seed);
        fewer += count < m.count * 9 / 10;
    }
    cr_expect_geq(fewer, 90, "only %d of 100 became smaller by a tenth", fewer);
    cr_expect_eq(emp_mem_live_blocks(), 0);
}

Test(gain_queue, gives_vertices_in_the_order_of_their_gains)
{
    enum { COUNT = 50 };
    int64_t        gain[COUNT];
    bool           is_in[COUNT] = {false};
    emp_gain_queue q;
    emp_rng        rng;

    emp_rng_init(&rng, 3, 0, 0);
    for (int32_t v = 0; v < COUNT; v++) gain[v] = 0;
    ASSERT_OK(emp_gain_queue_init(&q, gain, COUNT, NULL));
    for (int32_t step = 0; step < 5000; step++) {
        int32_t v = (int32_t)emp_rng_below(&rng, COUNT), best = -1;
        switch (emp_rng_below(&rng, 3)) {
        case 0:
            emp_gain_queue_push(&q, v);
            is_in[v] = true;
            break;
        case 1:
            emp_gain_queue_remove(&q, v);
            is_in[v] = false;
            break;
        default:
            gain[v] = (int64_t)emp_rng_below(&rng, 20) - 10;
            emp_gain_queue_fix(&q, v);
        }
        for (int32_t u = 0; u < COUNT; u++)
            if (is_in[u] && (best < 0 || gain[u] > gain[best])) best = u;
        cr_assert_eq(emp_gain_queue_top(&q), best, "step %d", step);
    }
    emp_gain_queue_empty(&q);
    cr_expect_eq(emp_gain_queue_top(&q), -1);
    emp_gain_queue_clear(&q);
    cr_expect_eq(emp_mem_live_blocks(), 0);
}

/* From all on one side, and from METIS's sides mended either way. */
Test(acyclic_refine, keeps_the_direction_and_counts_what_it_says)
{
    int8_t  side[MOST];
    int32_t part[MOST], order[MOST], level[MOST];

    for (uint64_t seed = 0; seed < 50; seed++) {
        OWN_FLOW g = draw_graph(seed, 3);
        int64_t  half = load_of(NULL, -1) / 2 + 3;
        cr_assert(emp_flow_graph_sort(g, order, level));
        for (int start = 0; start < 4; start++) {
            emp_acyclic_score score;
            memset(side, start, (size_t)m.count);
            if (start >= 2) {
                ASSERT_OK(emp_acyclic_start_metis(g, 0.5, seed, NULL, side, NULL));
                emp_acyclic_start_mend(g, order, start == 2, side);
            }
            for (int32_t v = 0; v < m.count; v++) part[v] = side[v];
            cr_expect(is_in_order(part), "start %d", start);
            ASSERT_OK(
                emp_acyclic_refine(g, (const int64_t[]){half, half}, side, &score, NULL));
            for (int32_t v = 0; v < m.count; v++) part[v] = side[v];
            cr_expect(is_in_order(part));
            cr_expect_eq(score.excess, 0);
            cr_expect_leq(load_of(part, 0), half);
            cr_expect_leq(load_of(part, 1), half);
            cr_expect_eq(score.cut, cut_of(part));
        }
    }
    cr_expect_eq(emp_mem_live_blocks(), 0);
}

/* ---- partitions -------------------------------------------------------------------- */

/* The cut by chunks of the order of vertices: part p ends with the vertex that reaches its
 * share. */
static int64_t cut_of_chunks(int32_t part_count)
{
    int32_t part[MOST];
    double  total = (double)load_of(NULL, -1), before = 0.0;

    for (int32_t v = 0; v < m.count; v++) {
        part[v] = (int32_t)((before + 0.5 * (double)m.load[v]) / total * part_count);
        before += (double)m.load[v];
    }
    cr_assert(is_in_order(part));
    return cut_of(part);
}

Test(acyclic_cut, of_random_graphs_is_acyclic_balanced_and_no_worse_than_chunks)
{
    int32_t part[MOST];
    double  better = 0.0;

    for (uint64_t seed = 0; seed < RANDOM_GRAPHS; seed++) {
        int32_t         part_count = 2 + (int32_t)(seed % 4);
        double          share[] = {1.0 / part_count, 1.0 / part_count, 1.0 / part_count,
                                   1.0 / part_count, 1.0 / part_count};
        emp_flow_graph *g =
            draw_graph(seed, 1); /* unit loads: any order can be cut anywhere */
        double limit = 1.1 * m.count / part_count;
        ASSERT_OK(emp_acyclic_cut(g, part_count, share, 0.1, seed, NULL, part, NULL));
        cr_expect(is_in_order(part), "graph %d", (int)seed);
        for (int32_t p = 0; p < part_count; p++)
            cr_expect_leq((double)load_of(part, p), ceil(limit), "graph %d", (int)seed);
        int64_t chunks = cut_of_chunks(part_count);
        cr_expect_leq(cut_of(part), chunks, "graph %d: %lld against %lld", (int)seed,
                      (long long)cut_of(part), (long long)chunks);
        better += (double)cut_of(part) / (double)chunks / RANDOM_GRAPHS;
        emp_flow_graph_destroy(g);
    }
    cr_expect_lt(better, 0.8, "cuts are %.2f of those of chunks in the mean", better);
    cr_expect_eq(emp_mem_live_blocks(), 0);
}

/* Large vertices: a part may be over its limit by less than the largest. */
Test(acyclic_cut, follows_shares_as_far_as_vertices_allow)
{
    const double share[] = {0.5, 0.3, 0.2};
    int32_t      part[MOST];

    for (uint64_t seed = 0; seed < 50; seed++) {
        OWN_FLOW g = draw_graph(seed, 12);
        double   total = (double)load_of(NULL, -1);
        ASSERT_OK(emp_acyclic_cut(g, 3, share, 0.05, seed, NULL, part, NULL));
        cr_expect(is_in_order(part));
        for (int32_t p = 0; p < 3; p++)
            cr_expect_leq((double)load_of(part, p), 1.05 * share[p] * total + 12.0);
    }
}

/* Three rows of 30, each fed along itself by heavy edges and by the row above by light ones:
 * the least acyclic cut into three is between the rows, and a breadth-first order hides it. */
Test(acyclic_cut, finds_rows_of_a_grid)
{
    enum { ROW = 30 };
    const double third[] = {1.0 / 3, 1.0 / 3, 1.0 / 3};
    int32_t      part[MOST];

    m = (matrix){.count = 3 * ROW};
    for (int32_t v = 0; v < m.count; v++) {
        m.load[v] = 10;
        if (v % 3 != 2) m.traffic[v][v + 1] = 1; /* v % 3 is the row */
        if (v >= 3) m.traffic[v - 3][v] = 50;
    }
    OWN_FLOW g = flow_graph_of();
    ASSERT_OK(emp_acyclic_cut(g, 3, third, 0.02, 1, NULL, part, NULL));
    for (int32_t v = 0; v < m.count; v++) cr_expect_eq(part[v], v % 3, "vertex %d", v);
}

Test(acyclic_cut, depends_on_its_seed_alone)
{
    const double half[] = {0.5, 0.5};
    int32_t      part[MOST], again[MOST], differing = 0;

    for (uint64_t graph = 0; graph < 20; graph++) {
        OWN_FLOW g = draw_graph(graph, 5);
        size_t   bytes = (size_t)m.count * sizeof *part;
        ASSERT_OK(emp_acyclic_cut(g, 2, half, 0.1, 1, NULL, part, NULL));
        ASSERT_OK(emp_acyclic_cut(g, 2, half, 0.1, 1, NULL, again, NULL));
        cr_expect_eq(memcmp(part, again, bytes), 0);
        ASSERT_OK(emp_acyclic_cut(g, 2, half, 0.1, 2, NULL, again, NULL));
        differing += memcmp(part, again, bytes) != 0;
    }
    cr_expect_gt(differing, 0, "the seed is ignored");
}

Test(acyclic_cut, stops_when_told_and_survives_every_allocation_failure)
{
    const double     quarter[] = {0.25, 0.25, 0.25, 0.25};
    const atomic_int stop = 1;
    int32_t          part[MOST];

    emp_flow_graph *g = draw_graph(1, 5);
    EXPECT_REFUSED(emp_acyclic_cut(g, 4, quarter, 0.1, 1, &stop, part, &err),
                   EMP_EINTERRUPTED, "");
    SURVIVES_EVERY_ALLOCATION_FAILURE(
        emp_acyclic_cut(g, 4, quarter, 0.1, 1, NULL, part, NULL), );
    emp_flow_graph_destroy(g);
    cr_expect_eq(emp_mem_live_blocks(), 0);
}

static void expect_devices(const fixture *f, const char *options,
                           const emp_device_id *want, int32_t count)
{
    emp_device_id device[FIXTURE_MAX_OPS];

    fixture_place(&emp_method_acyclic, f->problem, 1, options, device);
    for (int32_t i = 0; i < count; i++) cr_expect_eq(device[i], want[i], "op %d", i);
}

/* A chain of 99 on three GPUs, of which each third is a stage; ops without GPU kernels stay. Without layers
 * a chain of 10 is one group, which would be all on one device. */
Test(acyclic, makes_stages_of_a_pipeline)
{
    fixture      *f = create_chain(3, 99), *small = create_chain(2, 10);
    emp_device_id device[FIXTURE_MAX_OPS];
    int32_t       count[4] = {0};

    fixture_cpu_only(f, 50);
    fixture_place(&emp_method_acyclic, fixture_problem(f), 1, "units=classes", device);
    for (int32_t i = 0; i < 99; i++) count[device[i]]++;
    cr_expect_eq(device[50], 0);
    cr_expect_eq(count[0], 1);
    for (int32_t d = 1; d <= 3; d++) cr_expect(count[d] >= 30 && count[d] <= 35);
    for (int32_t i = 1; i < 50; i++) cr_expect_geq(device[i], device[i - 1]);
    for (int32_t i = 52; i < 99; i++) cr_expect_geq(device[i], device[i - 1]);
    fixture_problem(small);
    expect_devices(small, NULL, (const emp_device_id[]){1, 1, 1, 1, 1, 2, 2, 2, 2, 2},
                   10);
    fixture_destroy(f);
    fixture_destroy(small);
}

/* Four poolings, each a layer, and the gradients of each. */
Test(acyclic, puts_gradients_where_their_forward_ops_are)
{
    static const char *const names[] = {"a/p",
                                        "b/p",
                                        "c/p",
                                        "d/p",
                                        "gradients/d/p_grad/x",
                                        "gradients/c/p_grad/x",
                                        "gradients/b/p_grad/x",
                                        "gradients/a/p_grad/x"};
    OWN_FIXTURE              f = fixture_create(2);

    for (int32_t i = 0; i < 8; i++) {
        fixture_op(f, names[i], 100);
        if (i < 4) f->op[i].flags |= EMP_OP_LAYER;
        if (i > 0) fixture_edge(f, i - 1, i);
        if (i > 4) fixture_edge(f, 7 - i, i); /* what it differentiates */
    }
    fixture_problem(f);
    expect_devices(f, NULL, (const emp_device_id[]){1, 1, 2, 2, 2, 2, 1, 1}, 8);
    expect_devices(f, "units=classes", (const emp_device_id[]){1, 1, 1, 1, 2, 2, 2, 2},
                   8);
}

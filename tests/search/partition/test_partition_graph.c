// SPDX-License-Identifier: GPL-3.0-or-later
/* The graph that partitioners see: which ops make a vertex, what edges weigh, that the
 * rows are sorted and symmetric and the weights fit 32 bits. */
#include <criterion/criterion.h>

#include "base/mem.h"
#include "search/partition/partition_graph.h"
#include "tests/baselines/fixture.h"
#include "tests/support/expect.h"

/* The traffic of the edge u - v; 0 = no edge. */
static int32_t traffic(const emp_partition_graph *g, int32_t u, int32_t v)
{
    for (int32_t i = g->row[u]; i < g->row[u + 1]; i++) {
        if (g->neighbor[i] == v) return g->traffic[i];
    }
    return 0;
}

static void expect_sorted_and_symmetric(const emp_partition_graph *g)
{
    for (int32_t u = 0; u < g->vertex_count; u++) {
        for (int32_t i = g->row[u]; i < g->row[u + 1]; i++) {
            cr_expect_neq(g->neighbor[i], u, "vertex %d is its own neighbour", u);
            cr_expect_eq(traffic(g, g->neighbor[i], u), g->traffic[i]);
            cr_expect_geq(g->traffic[i], 1);
            if (i > g->row[u]) cr_expect_gt(g->neighbor[i], g->neighbor[i - 1]);
        }
    }
}

static emp_partition_graph *create(const emp_problem *problem, bool with_cpu)
{
    emp_partition_graph *g = NULL;

    MUST(emp_partition_graph_create(&g, problem, with_cpu, &why));
    expect_sorted_and_symmetric(g);
    return g;
}

Test(partition_graph, a_tensor_counts_once_per_reading_vertex)
{
    fixture  *f = fixture_create(2);
    emp_op_id a = fixture_op(f, NULL, 100), b = fixture_op(f, NULL, 7);
    emp_op_id c = fixture_op(f, NULL, 0);

    fixture_edge(f, a, b);
    fixture_edge(f, a, b); /* read twice by one op: sent once */
    fixture_edge(f, a, c);
    fixture_control(f, b, c);
    emp_partition_graph *g = create(fixture_problem(f), true);
    cr_assert_eq(g->vertex_count, 3);
    cr_expect_eq(traffic(g, a, b), 1 + 100);
    cr_expect_eq(traffic(g, a, c), 1 + 100);
    cr_expect_eq(traffic(g, b, c), 1, "a control edge weighs least");
    emp_partition_graph_destroy(g);
    fixture_destroy(f);
    cr_expect_eq(emp_mem_live_blocks(), 0);
}

Test(partition_graph, classes_merge_their_ops_and_parallel_edges)
{
    fixture  *f = fixture_create(2);
    emp_op_id variable = fixture_op(f, NULL, 10), read = fixture_op(f, NULL, 20);
    emp_op_id user = fixture_op(f, NULL, 30), update = fixture_op(f, NULL, 0);

    fixture_colocate(f, read, variable);
    fixture_colocate(f, update, variable);
    fixture_edge(f, variable, read);
    fixture_edge(f, read, user);
    fixture_edge(f, user, update);
    emp_partition_graph *g = create(fixture_problem(f), true);
    cr_assert_eq(g->vertex_count, 2);
    cr_expect_eq(g->row[2], 2, "one edge, no loop");
    cr_expect_eq(traffic(g, 0, 1), 1 + 20 + 30);
    cr_expect_eq(g->load[0] - 1, 3 * (g->load[1] - 1), "three ops weigh three times one");
    emp_partition_graph_destroy(g);
    fixture_destroy(f);
}

Test(partition_graph, folded_ops_have_no_vertex_and_no_edges)
{
    fixture  *f = fixture_create(2);
    emp_op_id constant = fixture_op(f, NULL, 1000), a = fixture_op(f, NULL, 5);
    emp_op_id b = fixture_op(f, NULL, 0);

    f->op[constant].is_folded = true;
    fixture_edge(f, constant, a);
    fixture_edge(f, a, b);
    emp_partition_graph *g = create(fixture_problem(f), true);
    cr_expect_eq(g->vertex_count, 2);
    cr_expect_eq(g->vertex_of_class[constant], -1);
    cr_expect_eq(traffic(g, g->vertex_of_class[a], g->vertex_of_class[b]), 1 + 5);
    emp_partition_graph_destroy(g);
    fixture_destroy(f);
}

Test(partition_graph, cpu_only_classes_are_marked_or_left_out)
{
    fixture  *f = fixture_create(2);
    emp_op_id a = fixture_op(f, NULL, 5), host = fixture_op(f, NULL, 5);
    emp_op_id b = fixture_op(f, NULL, 5);

    fixture_cpu_only(f, host);
    fixture_edge(f, a, host);
    fixture_edge(f, host, b);
    const emp_problem   *problem = fixture_problem(f);
    emp_partition_graph *g = create(problem, true);
    cr_assert_eq(g->vertex_count, 3);
    cr_expect(!g->is_cpu_only[a] && g->is_cpu_only[host] && !g->is_cpu_only[b]);
    /* 4 ms on a CPU as strong as a GPU against 1 ms. */
    cr_expect_eq(g->load[host] - 1, 4 * (g->load[a] - 1));
    emp_partition_graph_destroy(g);

    g = create(problem, false);
    cr_assert_eq(g->vertex_count, 2);
    cr_expect_eq(g->vertex_of_class[host], -1);
    cr_expect_eq(g->row[2], 0, "the edges to the CPU are gone");
    emp_partition_graph_destroy(g);
    fixture_destroy(f);
}

Test(partition_graph, huge_weights_are_scaled_into_32_bits)
{
    fixture  *f = fixture_create(2);
    emp_op_id first = fixture_clique(f, 40, INT64_C(1) << 40);
    int64_t   load = 0, both_ways = 0;

    f->tensor[first].bytes = 4;
    for (emp_op_id op = 0; op < 40; op++) f->gpu_cost[op].compute_ns = INT64_C(1) << 40;
    emp_partition_graph *g = create(fixture_problem(f), true);
    for (int32_t v = 0; v < g->vertex_count; v++) load += g->load[v];
    for (int32_t i = 0; i < g->row[g->vertex_count]; i++) both_ways += g->traffic[i];
    cr_expect_leq(load, EMP_PARTITION_LOAD_LIMIT + g->vertex_count);
    cr_expect_geq(load, EMP_PARTITION_LOAD_LIMIT / 2,
                  "no more precision lost than needed");
    cr_expect_leq(both_ways, 2 * (EMP_PARTITION_TRAFFIC_LIMIT + g->row[40] / 2));
    cr_expect_geq(both_ways, EMP_PARTITION_TRAFFIC_LIMIT);
    cr_expect_eq(traffic(g, first, first + 1), 1, "a small tensor still weighs 1");
    emp_partition_graph_destroy(g);
    fixture_destroy(f);
}

Test(partition_graph, target_lists_devices_with_their_share_of_power)
{
    fixture             *f = fixture_create(3);
    emp_partition_target target;

    f->machine->device[0].peak_flops_per_s = 0.5e12; /* and three GPUs of 1e12 */
    MUST(emp_partition_target_init(&target, f->machine, true, "x", NULL));
    cr_expect_eq(target.count, 4);
    cr_expect_float_eq(target.power[0], 0.5 / 3.5, 1e-12);
    cr_expect_float_eq(target.power[3], 1.0 / 3.5, 1e-12);
    MUST(emp_partition_target_init(&target, f->machine, false, "x", NULL));
    cr_expect_eq(target.count, 3);
    cr_expect_eq(target.device[0], 1);
    fixture_destroy(f);
}

Test(partition_graph, target_needs_a_gpu)
{
    fixture             *f = fixture_create(0);
    emp_partition_target target;

    for (int with_cpu = 0; with_cpu < 2; with_cpu++) {
        MUST_FAIL(
            EMP_EUNSUPPORTED, "method metis: machine test0 has no GPU",
            emp_partition_target_init(&target, f->machine, with_cpu, "metis", &why));
    }
    fixture_destroy(f);
}

// SPDX-License-Identifier: GPL-3.0-or-later
/* The graph that partitioners see: which ops make a vertex, what edges weigh, that the rows are
 * sorted and symmetric and the weights fit 32 bits. The objective of partitioners, their costs of ops,
 * and Scotch's view of a machine: all worked out by hand. */
#include "search/partition/partition_graph.h"
#include "search/partition/scotch_cut.h"
#include "tests/baselines/fixture.h"
#include "tests/sim/graph/kit.h"
#include "tests/support/survive.h"

EMP_OWNS(emp_partition_graph, emp_partition_graph_destroy)
#define OWN_PARTITION EMP_OWNER(emp_partition_graph)

static fixture *f; /* on two GPUs if nothing else is said */

static void set_gpus(int32_t count)
{
    fixture_destroy(f);
    f = fixture_create(count);
}

static void set_up(void) { f = fixture_create(2); }

static void tear_down(void)
{
    fixture_destroy(f);
    expect_all_freed();
}

TestSuite(partition_graph, .init = set_up, .fini = tear_down);
TestSuite(balance, .init = set_up, .fini = tear_down);
TestSuite(op_costs, .init = set_up, .fini = tear_down);
TestSuite(scotch_arch, .init = set_up, .fini = tear_down);

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

    ASSERT_OK(emp_partition_graph_create(&g, problem, with_cpu, &err));
    expect_sorted_and_symmetric(g);
    return g;
}

/* A variable that is read and updated, a folded constant, and an op of the CPU alone:
 *
 *     {variable -> read, update} =30= user -30-> host -7-> last; user ..> last by a control edge */
Test(partition_graph, has_a_vertex_a_class_and_a_weight_a_tensor)
{
    emp_op_id variable = fixture_op(f, NULL, 10), read = fixture_op(f, NULL, 20);
    emp_op_id constant = fixture_op(f, NULL, 1000), user = fixture_op(f, NULL, 30);
    emp_op_id host = fixture_op(f, NULL, 7), last = fixture_op(f, NULL, 0);
    emp_op_id update = fixture_op(f, NULL, 0);

    fixture_colocate(f, read, variable);
    fixture_colocate(f, update, variable);
    fixture_cpu_only(f, host);
    f->op[constant].is_folded = true;
    fixture_edge(f, constant, user);
    fixture_edge(f, variable, read);
    fixture_edge(f, read, user);
    fixture_edge(f, read, user); /* read twice by one op: sent once */
    fixture_edge(f, user, update);
    fixture_edge(f, user, host);
    fixture_edge(f, host, last);
    fixture_control(f, user, last);
    emp_partition_graph *g = create(fixture_problem(f), true);
    cr_assert_eq(g->vertex_count, 4);
    cr_expect_eq(g->vertex_of_class[f->op[constant].colocation_class], -1,
                 "it is folded");
    cr_expect_eq(traffic(g, 0, 1), 1 + 20 + 30, "one edge, and no loop");
    cr_expect_eq(traffic(g, 1, 2), 1 + 30);
    cr_expect_eq(traffic(g, 2, 3), 1 + 7);
    cr_expect_eq(traffic(g, 1, 3), 1, "a control edge weighs least");
    cr_expect(!g->is_cpu_only[0] && !g->is_cpu_only[1] && g->is_cpu_only[2]);
    cr_expect_eq(g->load[0] - 1, 3 * (g->load[1] - 1), "three ops weigh three times one");
    /* 4 ms on a CPU as strong as a GPU against 1 ms. */
    cr_expect_eq(g->load[2] - 1, 4 * (g->load[1] - 1));
    emp_partition_graph_destroy(g);

    g = create(f->problem, false);
    cr_assert_eq(g->vertex_count, 3);
    cr_expect_eq(g->row[3], 4, "the edges to the CPU are gone");
    emp_partition_graph_destroy(g);
}

enum { CHAINS = 4, LINKS = 12, LEAVES = 8 };

/* Chains that begin at one hub, which LEAVES more read, and an op of the CPU alone. */
static void make_star_of_chains(void)
{
    const emp_op_id hub = fixture_op(f, NULL, 10);

    for (int32_t chain = 0; chain < CHAINS; chain++) {
        emp_op_id last = hub;
        for (int32_t i = 0; i < LINKS; i++) {
            const emp_op_id next = fixture_op(f, NULL, 100 + 10 * i + chain);
            fixture_edge(f, last, next);
            last = next;
        }
    }
    for (int32_t i = 0; i < LEAVES; i++) fixture_edge(f, hub, fixture_op(f, NULL, 1));
    const emp_op_id host = fixture_op(f, NULL, 1);
    fixture_cpu_only(f, host);
    fixture_edge(f, hub, host);
}

/* What bundle `b` must be, from the vertices in it. */
static void expect_bundle(const emp_partition_graph *g,
                          const emp_partition_graph *bundles,
                          const int32_t *bundle_of_vertex, int32_t b)
{
    int64_t load = 0, traffic_out = 0, found = 0;

    for (int32_t v = 0; v < g->vertex_count; v++) {
        if (bundle_of_vertex[v] != b) continue;
        cr_expect_eq(g->is_cpu_only[v], bundles->is_cpu_only[b]);
        load += g->load[v];
        for (int32_t i = g->row[v]; i < g->row[v + 1]; i++)
            if (bundle_of_vertex[g->neighbor[i]] != b) traffic_out += g->traffic[i];
    }
    for (int32_t i = bundles->row[b]; i < bundles->row[b + 1]; i++)
        found += bundles->traffic[i];
    cr_expect_gt(load, 0, "bundle %d is empty", b);
    cr_expect_eq(bundles->load[b], load);
    cr_expect_eq(found, traffic_out, "bundle %d", b);
}

Test(partition_graph, bundles_keep_loads_and_the_traffic_between_them)
{
    OWN_PARTITION bundles = NULL;
    int32_t       bundle[1 + CHAINS * LINKS + LEAVES + 1];
    const int32_t most = 12;

    make_star_of_chains();
    OWN_PARTITION g = create(fixture_problem(f), true);
    cr_assert_eq((size_t)g->vertex_count, COUNT(bundle));
    ASSERT_OK(emp_partition_graph_bundle(&bundles, g, most, bundle, &err));
    cr_expect_leq(bundles->vertex_count, most, "%d bundles", bundles->vertex_count);
    cr_expect_geq(bundles->vertex_count, most / 3, "%d bundles", bundles->vertex_count);
    expect_sorted_and_symmetric(bundles);
    for (int32_t b = 0; b < bundles->vertex_count; b++)
        expect_bundle(g, bundles, bundle, b);
}

Test(partition_graph, bundles_survive_every_allocation_failure)
{
    int32_t       bundle[1 + CHAINS * LINKS + LEAVES + 1];
    OWN_PARTITION bundles = NULL;

    make_star_of_chains();
    OWN_PARTITION g = create(fixture_problem(f), true);
    SURVIVES_EVERY_ALLOCATION_FAILURE(
        emp_partition_graph_bundle(&bundles, g, 12, bundle, NULL), );
}

Test(partition_graph, huge_weights_are_scaled_into_32_bits)
{
    emp_op_id first = fixture_clique(f, 40, INT64_C(1) << 40);
    int64_t   load = 0, both_ways = 0;

    f->tensor[first].bytes = 4;
    for (emp_op_id op = 0; op < 40; op++) f->gpu_cost[op].compute_ns = INT64_C(1) << 40;
    OWN_PARTITION g = create(fixture_problem(f), true);
    for (int32_t v = 0; v < g->vertex_count; v++) load += g->load[v];
    for (int32_t i = 0; i < g->row[g->vertex_count]; i++) both_ways += g->traffic[i];
    cr_expect_leq(load, EMP_PARTITION_LOAD_LIMIT + g->vertex_count);
    cr_expect_geq(load, EMP_PARTITION_LOAD_LIMIT / 2,
                  "no more precision lost than needed");
    cr_expect_leq(both_ways, 2 * (EMP_PARTITION_TRAFFIC_LIMIT + g->row[40] / 2));
    cr_expect_geq(both_ways, EMP_PARTITION_TRAFFIC_LIMIT);
    cr_expect_eq(traffic(g, first, first + 1), 1, "a small tensor still weighs 1");
}

Test(partition_graph, target_lists_devices_with_their_share_of_power)
{
    emp_partition_target target;

    set_gpus(3);
    f->machine->device[0].peak_flops_per_s = 0.5e12; /* and three GPUs of 1e12 */
    ASSERT_OK(emp_partition_target_init(&target, f->machine, true, "x", &err));
    cr_expect_eq(target.count, 4);
    cr_expect_float_eq(target.power[0], 0.5 / 3.5, 1e-12);
    cr_expect_float_eq(target.power[3], 1.0 / 3.5, 1e-12);
    ASSERT_OK(emp_partition_target_init(&target, f->machine, false, "x", &err));
    cr_expect_eq(target.count, 3);
    cr_expect_eq(target.device[0], 1);
    set_gpus(0);
    for (int with_cpu = 0; with_cpu < 2; with_cpu++)
        EXPECT_REFUSED(
            emp_partition_target_init(&target, f->machine, with_cpu, "metis", &err),
            EMP_EUNSUPPORTED, "test0 has no GPU");
}

/* a -30-> b -10-> c, and d alone: each 1 ms on a GPU. Weights are one more than bytes.
 * CPU and both GPUs are equally strong: each may have a third of the load. */
Test(balance, counts_cut_traffic_and_the_fullest_device)
{
    emp_op_id a = fixture_op(f, NULL, 30), b = fixture_op(f, NULL, 10);
    emp_op_id c = fixture_op(f, NULL, 0), folded;
    SCOPED(emp_balance, emp_balance_clear) balance;
    emp_balance_score score;

    fixture_op(f, NULL, 0);
    folded = fixture_op(f, NULL, 99);
    f->op[folded].is_folded = true;
    fixture_edge(f, a, b);
    fixture_edge(f, b, c);
    ASSERT_OK(emp_balance_init(&balance, fixture_problem(f), NULL));

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
}

Test(balance, survives_every_allocation_failure)
{
    emp_balance        balance;
    const emp_problem *problem;

    fixture_clique(f, 4, 100);
    problem = fixture_problem(f);
    SURVIVES_EVERY_ALLOCATION_FAILURE(emp_balance_init(&balance, problem, NULL), );
    emp_balance_clear(&balance);
}

Test(balance, a_class_is_where_its_leader_is)
{
    emp_op_id a = fixture_op(f, NULL, 5), read = fixture_op(f, NULL, 5);
    emp_op_id b = fixture_op(f, NULL, 0);
    SCOPED(emp_balance, emp_balance_clear) balance;

    fixture_colocate(f, read, a);
    fixture_edge(f, a, read);
    fixture_edge(f, read, b);
    ASSERT_OK(emp_balance_init(&balance, fixture_problem(f), NULL));
    cr_expect_eq(emp_balance_judge(&balance, (const emp_device_id[]){1, 1, 1}).cut_frac,
                 0.0);
    cr_expect_eq(emp_balance_judge(&balance, (const emp_device_id[]){2, 2, 1}).cut_frac,
                 1.0);
}

static double cost_of(const emp_graph *g, const char *name, const emp_device *device)
{
    return emp_grappler_cost_ns(g, kit_find(g, name), device);
}

/* A GPU of 1 operation and 2 bytes a ns; a CPU of 2 cores with 1 cycle a ns each, which reads
 * 32 bytes a ns. */
Test(grappler_cost, is_arithmetic_plus_bytes)
{
    const emp_device gpu = {
        .kind = EMP_DEVICE_GPU, .peak_flops_per_s = 1e9, .memory_bytes_per_s = 2e9};
    const emp_device   cpu = {.kind = EMP_DEVICE_CPU, .cores = 2, .clock_hz = 1e9};
    const emp_op_attrs attrs = {.dtype = EMP_DTYPE_FLOAT};
    emp_graph_builder *b = NULL;

    ASSERT_OK(emp_graph_builder_create(&b, NULL));
    emp_port x = kit_tensor(b, "x", "f[2,3]"), y = kit_tensor(b, "y", "f[3,5]");
    emp_port product = kit_op(b, "product", "MatMul", &attrs, 2, x, y);
    kit_op(b, "tanh", "Tanh", &attrs, 1, product);
    kit_op(b, "same", "Identity", &attrs, 1, product);
    kit_op(b, "shape", "Shape", &attrs, 1, product);
    OWN_GRAPH g = kit_finish(b);

    /* 2 x 2 x 3 x 5 operations; 6, 15 and 10 floats */
    cr_expect_eq(cost_of(g, "product", &gpu), 60 + 31 * 4 / 2);
    cr_expect_eq(cost_of(g, "product", &cpu), 60 / 2 + 4, "124 bytes take 3.875 ns");
    /* 22 cycles for each of 10 elements */
    cr_expect_eq(cost_of(g, "tanh", &gpu), 220 + 20 * 4 / 2);
    cr_expect_eq(cost_of(g, "tanh", &cpu), 220 / 2 + 3, "80 bytes take 2.5 ns");
    cr_expect_eq(cost_of(g, "same", &gpu), 0.0);
    cr_expect_eq(cost_of(g, "shape", &gpu), 1.0);
}

Test(op_costs, are_times_or_arithmetic)
{
    set_gpus(1);
    emp_op_id a = fixture_op(f, NULL, 8), host = fixture_op(f, NULL, 8);

    f->cost[a].flops = 500.0;
    f->gpu_cost[a].issue_ns = 7;
    fixture_cpu_only(f, host);
    f->cpu_cost[host].compute_ns = 123456789; /* counts for no ratio of speeds */
    const emp_problem *p = fixture_problem(f);
    cr_expect_eq(emp_op_costs_of(p, a, EMP_OP_COSTS_TIME, EMP_DEVICE_GPU), 1000007.0);
    cr_expect_eq(emp_op_costs_of(p, a, EMP_OP_COSTS_TIME, EMP_DEVICE_CPU), 4000000.0);
    cr_expect_eq(emp_op_costs_of(p, a, EMP_OP_COSTS_FLOPS, EMP_DEVICE_CPU), 500.0);
    cr_expect_eq(emp_op_costs_cpu_speed(p), 1000007.0 / 4000000.0);
    f->op[a].is_folded = true;
    cr_expect_eq(emp_op_costs_cpu_speed(p), 1.0, "there is nothing to measure");
}

/* A CPU of a tenth of the power of two GPUs. 1 MiB at 10^10 bytes/s and 10 us is 115 us; the
 * GPUs are thrice as far from each other as each is from the CPU. */
Test(scotch_arch, is_written_as_stated)
{
    emp_partition_target target;
    OWN_FREE char       *text = NULL;
    size_t               size = 0;
    FILE                *file = open_memstream(&text, &size);

    f->machine->device[0].peak_flops_per_s = 1e11;
    f->machine->route[1][2] = f->machine->route[2][1] =
        (emp_route){.bytes_per_s = 1e10 / 3, .latency_s = 3e-5};
    ASSERT_OK(emp_partition_target_init(&target, f->machine, true, "x", NULL));
    emp_scotch_arch_write(&target, file);
    fclose(file);
    /* Domains: {cpu:0, gpu:0} is node 2 with leaves 4 and 5, gpu:1 is node 3. */
    cr_expect_str_eq(text, "deco 0\n3 5\n0 10 4\n1 100 5\n2 100 3\n4 \n4 12 \n", "%s",
                     text);
}

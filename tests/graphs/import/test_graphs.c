// SPDX-License-Identifier: GPL-3.0-or-later
/* Training graphs as GraphDefs: does the reader find every op, edge, parameter and shape of
 * TensorFlow's own, and are steps of the sizes that others counted? The files are workloads
 * written as GraphDefs; with EMP_PEERS=1 they are TensorFlow's. */
#include <criterion/criterion.h>
#include <criterion/parameterized.h>

#include "base/collections.h"
#include "base/mem.h"
#include "graphs/workloads/workloads.h"
#include "tests/graphs/graphs.h"
#include "tests/graphs/import/contradictions.h"
#include "tests/support/facts.h"
#include "tests/support/problems.h"
#include "tests/test.h"

TestSuite(made, .init = scratch_create, .fini = graph_tear_down);

static emp_graph *load(const fact_graph *g)
{
    return graph_import(fact_graph_path(g), NULL, NULL);
}

/* Each test is run on each graph. */
#define GRAPH_TEST(test)                                                    \
    ParameterizedTestParameters(made, test)                                 \
    {                                                                       \
        return cr_make_param_array(fact_graph, fact_graphs(), FACT_GRAPHS); \
    }                                                                       \
    ParameterizedTest(fact_graph *g, made, test, .init = scratch_create,    \
                      .fini = graph_tear_down)

static void expect_variable(const emp_graph *graph, const char *name, const char *shape)
{
    char      text[64] = "-";
    emp_op_id op = emp_graph_find(graph, name);

    cr_assert_geq(op, 0, "no variable %s", name);
    const emp_shape *has = graph->tensor[graph->output_offset[op]].shape;
    for (int32_t d = 0, used = 0; d < has->rank; d++)
        used += snprintf(text + used, sizeof text - (size_t)used, "%s%lld",
                         d > 0 ? "," : "", (long long)has->dim[d]);
    cr_expect_str_eq(text, shape, "%s: %s, not %s", name, text, shape);
}

static int32_t expect_variable_and_slots(const emp_graph *graph, const fact_table *t)
{
    int32_t count = 1;
    char   *slots = t->cell[3];

    expect_variable(graph, t->cell[1], t->cell[2]);
    for (char *slot; strcmp(t->cell[3], "-") != 0 && (slot = strsep(&slots, ",")) != NULL;
         count++)
        expect_variable(graph, scratch_print("%s/%s", t->cell[1], slot), t->cell[2]);
    return count;
}

static void expect_same_variables(const emp_graph *graph, const char *name)
{
    fact_table t;
    int32_t    expected = 0, count = graph_count_type(graph, "VariableV2");

    for (fact_table_open(&t, "tensorflow_variables.tsv"); fact_table_next(&t);)
        if (strcmp(t.cell[0], name) == 0)
            expected += expect_variable_and_slots(graph, &t);
    cr_expect_eq(count, expected, "%s: %d variables, not %d", name, count, expected);
}

GRAPH_TEST(have_the_counts_of_their_histograms)
{
    emp_graph *graph = load(g);

    cr_expect_eq(graph->op_count, g->nodes, "%s", g->name);
    cr_expect_eq(graph->edge_count + graph->back_edge_count + graph->control_edge_count,
                 g->inputs, "%s", g->name);
    cr_expect_eq(graph->control_edge_count, g->controls, "%s", g->name);
    cr_expect_eq(graph->parameter_count, g->parameters, "%s", g->name);
    cr_expect_eq(graph->unknown_op_count, 0, "%s", g->name);
    fact_graph_expect_types(g, graph);
    fact_expect_nodes(g->name, g->digest, graph);
    expect_same_variables(graph, g->name);
    emp_graph_destroy(graph);
}

/* A step was counted by a script that knows no op table: ancestors of the updates, of the
 * sinks behind them, and of the loss. */
GRAPH_TEST(have_steps_of_the_right_size_with_known_shapes)
{
    emp_graph *whole = load(g), *step = NULL;

    cr_assert_eq(emp_graph_prune(&step, whole, NULL), EMP_OK);
    cr_expect_eq(step->op_count, g->step_ops, "%s: %d ops", g->name, step->op_count);
    cr_expect_eq(step->edge_count, g->step_edges, "%s: %d edges", g->name,
                 step->edge_count);
    cr_expect_eq(step->control_edge_count, g->step_controls, "%s: %d controls", g->name,
                 step->control_edge_count);
    cr_expect_eq(step->parameter_count, g->parameters, "%s", g->name);
    cr_expect_eq(step->unknown_op_count, 0, "%s", g->name);
    cr_expect_eq(step->unknown_shape_count, g->unknown_shapes, "%s: %d unknown shapes",
                 g->name, step->unknown_shape_count);
    emp_graph_destroy(step);
    emp_graph_destroy(whole);
}

static void check_within(const char *name, const char *what, double got, double want,
                         double tolerance)
{
    cr_expect(fabs(got - want) <= tolerance * want, "%s: %g %s, want %g within %g %%",
              name, got, what, want, 100 * tolerance);
}

/* An independent prototype kept some regularizer gradients that fold here, hence 7 %. */
GRAPH_TEST(have_the_work_that_a_prototype_found)
{
    emp_graph *whole = load(g), *step = NULL;
    int32_t    live = 0, launching = 0, kernels = 0;
    double     flops = 0.0;

    cr_assert_eq(emp_graph_prune(&step, whole, NULL), EMP_OK);
    for (emp_op_id v = 0; v < step->op_count; v++) {
        const emp_op *op = &step->op[v];
        bool          launches = (op->kinds & EMP_KIND_GPU) && op->cost->kernels > 0;
        if (op->is_folded) continue;
        live++;
        launching += launches;
        kernels += launches ? op->cost->kernels : 0;
        if (op->cost->op_class == EMP_OP_GEMM || op->cost->op_class == EMP_OP_CONV)
            flops += op->cost->flops;
    }
    check_within(g->name, "GFLOP", step->flops / 1e9, g->step_gflop, 0.01);
    if (g->live_ops > 0) {
        check_within(g->name, "live ops", live, (double)g->live_ops, 0.07);
        check_within(g->name, "launching ops", launching, (double)g->launching_ops, 0.05);
        check_within(g->name, "kernels", kernels, (double)g->kernels, 0.05);
        check_within(g->name, "GFLOP in products", flops / 1e9, g->product_gflop, 0.002);
    }
    emp_graph_destroy(step);
    emp_graph_destroy(whole);
}

GRAPH_TEST(have_the_shapes_that_inference_finds)
{
    expect_no_contradiction(fact_graph_path(g));
}

/* A hash is that of structure, types, shapes and names. Which op is fetched besides the
 * updates is the reader's guess. */
GRAPH_TEST(are_the_workload_once_more)
{
    emp_graph *graph = load(g), *workload = NULL;
    bool      *is_target = EMP_NEW_ARRAY(bool, (size_t)graph->op_count);

    cr_assert_eq(emp_workload_build(&workload, g->spec, NULL), EMP_OK);
    emp_graph_set_targets(graph, is_target);
    emp_graph_set_targets(workload, is_target);
    if (!fact_is_peer()) cr_expect_eq(graph->hash, workload->hash, "%s", g->name);
    emp_free(is_target);
    emp_graph_destroy(graph);
    emp_graph_destroy(workload);
}

/* Placements depend on op names only, so both graphs get the same one. */
enum { RULES = 3 }; /* all on the CPU, all on a GPU, scattered by a hash of the name */

static void apply_rule(int rule, const emp_problem *p, emp_device_id *device)
{
    for (emp_op_id op = 0; op < p->graph->op_count; op++) {
        const char *name = p->graph->name[op];
        uint64_t    hash = emp_hash_bytes(EMP_HASH_SEED, name, strlen(name));
        device[op] = rule < 2 ? rule : (emp_device_id)(hash % 3);
    }
    emp_problem_legalize(p, device);
}

static void simulate(const emp_graph *whole, emp_time_ns *time_ns, double *flops)
{
    OWN_TASK    t = {0};
    emp_runtime runtime;

    ASSERT_OK(emp_graph_prune(&t.graph, whole, &err));
    ASSERT_OK(emp_machine_load(&t.machine, "k40x2", &err));
    ASSERT_OK(emp_runtime_init(&runtime, "tf-r1.3", &err));
    task_pose(&t, &runtime, "twin");
    for (int rule = 0; rule < RULES; rule++) {
        apply_rule(rule, t.problem, t.device_of_op);
        time_ns[rule] = task_run(&t).step_time_ns;
    }
    *flops = t.graph->flops;
}

static double apart(double a, double b) { return fabs(a / b - 1.0); }

GRAPH_TEST(equal_their_generated_twins)
{
    emp_graph  *imported = load(g), *generated = NULL;
    emp_time_ns time_imported[RULES], time_generated[RULES];
    double      flops_imported, flops_generated;
    double      tolerance = fact_is_peer() ? 1.0 : 0.0;

    ASSERT_OK(emp_workload_build(&generated, g->spec, &err));
    simulate(imported, time_imported, &flops_imported);
    simulate(generated, time_generated, &flops_generated);

    cr_expect_leq(apart(flops_generated, flops_imported), 0.01 * tolerance,
                  "%s: %g FLOPs, %g imported", g->spec, flops_generated, flops_imported);
    for (int rule = 0; rule < RULES; rule++) {
        double mine = (double)time_generated[rule], theirs = (double)time_imported[rule];
        cr_expect_leq(apart(mine, theirs), 0.03 * tolerance,
                      "%s, rule %d: %g ns, %g imported", g->spec, rule, mine, theirs);
    }
    emp_graph_destroy(imported);
    emp_graph_destroy(generated);
}

/* Small graphs of each attention and architecture. */
Test(variants, equal_what_tensorflow_made)
{
    fact_table t;
    int32_t    count = 0;

    for (fact_table_open(&t, "tensorflow_variants.tsv"); fact_table_next(&t); count++) {
        emp_graph  *graph = NULL;
        const char *digest = t.cell[0], *spec = t.cell[2];
        ASSERT_OK(emp_workload_build(&graph, spec, &err));
        cr_expect_eq(graph->op_count, strtol(t.cell[1], NULL, 10), "%s: %d nodes", spec,
                     graph->op_count);
        fact_expect_nodes(spec, digest, graph);
        emp_graph_destroy(graph);
    }
    cr_expect_eq(count, 9);
}

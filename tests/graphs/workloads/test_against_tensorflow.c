// SPDX-License-Identifier: GPL-3.0-or-later
/* Whole graphs against those that TensorFlow's own Python front end made with the same
 * settings: every node and every edge is equal, not close. */
#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "graphs/workloads/workloads.h"
#include "tests/support/facts.h"

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

/* A variable, and its slots, which have its shape; returns their number. */
static int32_t expect_variable_and_slots(const emp_graph *graph, const fact_table *t)
{
    int32_t count = 1;
    char   *slots = t->cell[3], name[512];

    expect_variable(graph, t->cell[1], t->cell[2]);
    for (char *slot; strcmp(t->cell[3], "-") != 0 && (slot = strsep(&slots, ",")) != NULL;
         count++) {
        snprintf(name, sizeof name, "%s/%s", t->cell[1], slot);
        expect_variable(graph, name, t->cell[2]);
    }
    return count;
}

static void expect_same_variables(const emp_graph *graph, const char *name)
{
    fact_table t;
    int32_t    expected = 0, count = 0;

    for (fact_table_open(&t, "tensorflow_variables.tsv"); fact_table_next(&t);)
        if (strcmp(t.cell[0], name) == 0)
            expected += expect_variable_and_slots(graph, &t);
    for (emp_op_id op = 0; op < graph->op_count; op++)
        count += strcmp(graph->type_name[graph->type[op]], "VariableV2") == 0;
    cr_expect_eq(count, expected, "%s: %d variables, not %d", name, count, expected);
}

ParameterizedTestParameters(workloads, equal_what_tensorflow_made)
{
    return cr_make_param_array(fact_graph, fact_graphs(), FACT_GRAPHS);
}

ParameterizedTest(fact_graph *g, workloads, equal_what_tensorflow_made)
{
    emp_error  err = {0};
    emp_graph *graph = NULL;

    cr_assert_eq(emp_workload_build(&graph, g->spec, &err), EMP_OK, "%s: %s", g->spec,
                 err.msg);
    cr_expect_eq(graph->op_count, g->nodes, "%s: %d nodes", g->spec, graph->op_count);
    cr_expect_eq(graph->edge_count, g->inputs - g->controls, "%s: %d data edges", g->spec,
                 graph->edge_count);
    cr_expect_eq(graph->control_edge_count, g->controls, "%s: %d control edges", g->spec,
                 graph->control_edge_count);
    cr_expect_eq(graph->parameter_count, g->parameters, "%s: %lld parameters", g->spec,
                 (long long)graph->parameter_count);
    cr_expect_eq(graph->unknown_op_count, 0);
    fact_graph_expect_types(g, graph);
    fact_expect_nodes(g->name, g->digest, graph);
    expect_same_variables(graph, g->name);
    emp_graph_destroy(graph);
}

/* Small graphs of each attention and architecture. */
Test(workloads, variants_equal_what_tensorflow_made)
{
    fact_table t;
    int32_t    count = 0;

    for (fact_table_open(&t, "tensorflow_variants.tsv"); fact_table_next(&t); count++) {
        emp_error   err = {0};
        emp_graph  *graph = NULL;
        const char *digest = t.cell[0], *spec = t.cell[2];
        cr_assert_eq(emp_workload_build(&graph, spec, &err), EMP_OK, "%s: %s", spec,
                     err.msg);
        cr_expect_eq(graph->op_count, strtol(t.cell[1], NULL, 10), "%s: %d nodes", spec,
                     graph->op_count);
        fact_expect_nodes(spec, digest, graph);
        emp_graph_destroy(graph);
    }
    cr_expect_eq(count, 9);
}

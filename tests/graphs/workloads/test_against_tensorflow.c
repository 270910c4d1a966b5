// SPDX-License-Identifier: GPL-3.0-or-later
/* Whole graphs against those that TensorFlow's own Python front end made with the same
 * settings: every count is equal, not close. */
#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "graphs/workloads/workloads.h"

struct file_case {
    char file[96];
    char spec[96];
};

/* clang-format off */
static struct file_case file_cases[] = {
    {"inception_v3_b32_rmsprop_unfusedbn_r13",
     "inception_v3:batch=32"},
    {"resnet_v1_152_b32_momentum",
     "resnet:depth=152,old_broadcast_grads=0,const_zeros=0"},
    {"rnnlm_2x2048_b64_t40_sampled_adagrad_r13g",
     "rnnlm:units=2048,vocab=793470,sampled=8192"},
    {"nmt_2l_h1024_b64_t40_std_bahdanau_adam_batched_r13g",
     "nmt:layers=2,residual=0,bidirectional=0,per_step_softmax=0,vocab=32000"},
    {"nmt_2l_h1024_b64_t40_std_bahdanau_adam_batched_res_r13g",
     "nmt:layers=2,residual=1,bidirectional=0,per_step_softmax=0,vocab=32000"},
    {"nmt_8l_h1024_b64_t40_std_bahdanau_adam_batched_r13g",
     "nmt:layers=8,residual=0,bidirectional=0,per_step_softmax=0,vocab=32000"},
};
/* clang-format on */

static int64_t integer(const json_t *object, const char *key)
{
    return json_integer_value(json_object_get(object, key));
}

static int32_t count_type(const emp_graph *graph, const char *type)
{
    int32_t count = 0;

    for (emp_op_id op = 0; op < graph->op_count; op++) {
        count += strcmp(graph->type_name[graph->type[op]], type) == 0;
    }
    return count;
}

/* Equal counts of the file's types, and no type besides them. */
static void expect_same_types(const emp_graph *graph, json_t *hist)
{
    const char *type;
    json_t     *expected;
    int64_t     total = 0;

    cr_expect_gt(json_object_size(hist), 40);
    json_object_foreach(hist, type, expected)
    {
        cr_expect_eq(count_type(graph, type), json_integer_value(expected),
                     "%s: %d, not %d", type, count_type(graph, type),
                     (int)json_integer_value(expected));
        total += json_integer_value(expected);
    }
    cr_expect_eq(graph->op_count, total, "there are types that the file does not have");
}

static void expect_same_variables(const emp_graph *graph, json_t *variables)
{
    size_t  i;
    json_t *entry;

    cr_expect_eq(count_type(graph, "VariableV2"), (int32_t)json_array_size(variables));
    json_array_foreach(variables, i, entry)
    {
        const char   *name = json_string_value(json_array_get(entry, 0));
        const json_t *sizes = json_array_get(entry, 1);
        emp_op_id     op = emp_graph_find(graph, name);
        cr_assert_geq(op, 0, "no variable %s", name);
        const emp_shape *shape = &graph->tensor[graph->output_offset[op]].shape;
        cr_assert_eq(shape->rank, (int32_t)json_array_size(sizes), "%s has rank %d", name,
                     shape->rank);
        for (int32_t d = 0; d < shape->rank; d++) {
            cr_expect_eq(shape->dim[d],
                         json_integer_value(json_array_get(sizes, (size_t)d)),
                         "%s: dimension %d is %lld", name, d, (long long)shape->dim[d]);
        }
    }
}

ParameterizedTestParameters(workloads, equal_what_tensorflow_made)
{
    return cr_make_param_array(struct file_case, file_cases,
                               sizeof file_cases / sizeof file_cases[0]);
}

ParameterizedTest(struct file_case *c, workloads, equal_what_tensorflow_made)
{
    char       path[512];
    emp_error  err = {0};
    emp_graph *graph = NULL;

    snprintf(path, sizeof path, "%s/../shared/graphs/%s.hist.json",
             getenv("EMP_SOURCE_DIR"), c->file);
    if (access(path, R_OK) != 0) cr_skip_test("no %s", path);
    json_t *file = json_load_file(path, 0, NULL);
    cr_assert_not_null(file, "%s is not JSON", path);
    cr_assert_eq(emp_workload_build(&graph, c->spec, &err), EMP_OK, "%s: %s", c->spec,
                 err.msg);

    cr_expect_eq(graph->op_count, integer(file, "nodes"), "%s: %d nodes", c->spec,
                 graph->op_count);
    cr_expect_eq(graph->edge_count, integer(file, "edges") - integer(file, "ctrl"),
                 "%s: %d data edges", c->spec, graph->edge_count);
    cr_expect_eq(graph->control_edge_count, integer(file, "ctrl"), "%s: %d control edges",
                 c->spec, graph->control_edge_count);
    cr_expect_eq(graph->parameter_count, integer(file, "params"), "%s: %lld parameters",
                 c->spec, (long long)graph->parameter_count);
    cr_expect_eq(graph->unknown_op_count, 0);
    expect_same_types(graph, json_object_get(file, "hist"));
    expect_same_variables(graph, json_object_get(file, "vars"));
    emp_graph_destroy(graph);
    json_decref(file);
}

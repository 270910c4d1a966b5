// SPDX-License-Identifier: GPL-3.0-or-later
/* Is a graph in its file what it is in memory, as another reader sees it? */
#include "base/text/csv.h"
#include "tests/cli/emplace.h"
#include "tests/support/problems.h"
#include "tests/test.h"

#define WORKLOAD "nmt:layers=1,src_steps=2,tgt_steps=2"

static task               net;
static const emp_graph   *graph;
static const emp_problem *problem;

static void set_up(void)
{
    emplace_set_up();
    task_create(&net, WORKLOAD, "k40x2", "tf-r1.3");
    graph = net.graph;
    problem = net.problem;
}

static void tear_down(void)
{
    task_destroy(&net);
    emplace_tear_down();
}

TestSuite(graph_output, .init = set_up, .fini = tear_down);

static void expect_output(const json_t *output, const emp_tensor *t)
{
    const json_t *shape = json_at(output, "shape");

    cr_expect_str_eq(text_at(output, "dtype"), emp_dtype_name(t->dtype));
    cr_expect_eq((int64_t)number_at(output, "bytes"), t->copy_bytes);
    cr_assert_eq((int32_t)json_array_size(shape), t->shape->rank);
    for (int32_t d = 0; d < t->shape->rank; d++)
        cr_expect_eq(json_integer_value(json_array_get(shape, (size_t)d)),
                     t->shape->dim[d]);
}

static void expect_seconds(const json_t *op, const char *model, emp_time_ns ns, bool runs)
{
    const json_t *value = json_object_get(json_object_get(op, "seconds"), model);

    cr_assert_not_null(value, "%s", model);
    cr_expect_eq(json_is_real(value), runs);
    if (runs)
        cr_expect_float_eq(json_real_value(value), (double)ns * 1e-9, 1e-12, "%s", model);
}

static void expect_op(const json_t *entry, emp_op_id id)
{
    const emp_op *op = &graph->op[id];
    const json_t *outputs = json_object_get(entry, "outputs");
    int32_t       first = graph->output_offset[id];
    bool          on_gpu = (problem->kinds_of_class[op->colocation_class] & EMP_KIND_GPU);

    cr_assert_eq((int64_t)number_at(entry, "id"), id);
    cr_expect_str_eq(text_at(entry, "name"), graph->name[id]);
    cr_expect_str_eq(text_at(entry, "type"), graph->type_name[graph->type[id]]);
    cr_assert_eq((int32_t)json_array_size(outputs), graph->output_offset[id + 1] - first);
    for (size_t i = 0; i < json_array_size(outputs); i++)
        expect_output(json_array_get(outputs, i), &graph->tensor[first + (int32_t)i]);
    cr_expect_float_eq(number_at(entry, "flops"), op->cost->flops,
                       1e-12 * op->cost->flops);
    cr_expect_eq((int64_t)number_at(entry, "bytes_read"), op->cost->bytes_read);
    cr_expect_eq((int64_t)number_at(entry, "bytes_written"), op->cost->bytes_written);
    cr_expect_eq((int64_t)number_at(entry, "persistent_bytes"), op->persistent_bytes);
    cr_expect_eq((int64_t)number_at(entry, "colocation_class"), op->colocation_class);
    cr_expect_eq(json_is_true(json_object_get(entry, "folded")), op->is_folded);
    cr_expect_eq(json_array_size(json_object_get(entry, "devices")),
                 op->is_folded || on_gpu ? 3 : 1, "%s", graph->name[id]);
    expect_seconds(entry, "k40", problem->costs->gpu[id].compute_ns,
                   op->kinds & EMP_KIND_GPU);
    expect_seconds(entry, "haswell-18", problem->costs->cpu[id].compute_ns,
                   op->kinds & EMP_KIND_CPU);
}

/* The edges into each op, in the order of its inputs, then its control inputs. */
static void expect_edges(const json_t *edges)
{
    size_t at = 0;

    cr_assert_eq((int32_t)json_array_size(edges),
                 graph->edge_count + graph->control_edge_count);
    for (emp_op_id op = 0; op < graph->op_count; op++) {
        for (int32_t i = graph->input_offset[op]; i < graph->input_offset[op + 1]; i++) {
            const json_t     *e = json_array_get(edges, at++);
            const emp_tensor *t = &graph->tensor[graph->input[i]];
            cr_assert(json_is_false(json_object_get(e, "control")));
            cr_expect_eq((int32_t)number_at(e, "from"), t->producer);
            cr_expect_eq((int32_t)number_at(e, "output"),
                         graph->input[i] - graph->output_offset[t->producer]);
            cr_expect_eq((int32_t)number_at(e, "to"), op);
            cr_expect_eq((int32_t)number_at(e, "input"), i - graph->input_offset[op]);
            cr_expect_eq((int64_t)number_at(e, "bytes"), t->copy_bytes);
        }
        for (int32_t i = graph->control_offset[op]; i < graph->control_offset[op + 1];
             i++) {
            const json_t *e = json_array_get(edges, at++);
            cr_assert(json_is_true(json_object_get(e, "control")));
            cr_expect_eq((int32_t)number_at(e, "from"), graph->control[i]);
            cr_expect_eq((int32_t)number_at(e, "to"), op);
        }
    }
}

Test(graph_output, json_holds_the_graph_with_its_costs)
{
    emplace_ok("graph " WORKLOAD " --machine k40x2 --out g.json");
    json_t       *root = emplace_load("g.json");
    const json_t *ops = json_object_get(root, "ops");

    cr_expect_str_eq(text_at(root, "graph_hash"),
                     scratch_print("%016llx", (unsigned long long)graph->hash));
    cr_expect_str_eq(text_at(root, "machine"), "k40x2");
    cr_assert_eq((int32_t)json_array_size(ops), graph->op_count);
    for (emp_op_id op = 0; op < graph->op_count; op++)
        expect_op(json_array_get(ops, (size_t)op), op);
    expect_edges(json_object_get(root, "edges"));
}

static void read_csv(emp_csv *csv, const char *name)
{
    ASSERT_OK(emp_csv_load(csv, scratch_path(name), &err));
}

static int64_t count_of(const emp_csv *csv, int32_t row, const char *key)
{
    int32_t column = 0;
    int64_t value = -1;

    cr_assert_eq(emp_csv_find(&column, csv, key, NULL), EMP_OK, "%s", key);
    cr_assert_eq(emp_csv_count(&value, csv, row, column, NULL), EMP_OK, "%s", key);
    return value;
}

Test(graph_output, csv_holds_ops_and_edges)
{
    emp_csv ops = {0}, edges = {0};
    int32_t name = 0, column = 0, control = 0;

    emplace_ok("graph " WORKLOAD " --out g.csv");
    read_csv(&ops, "g.csv");
    read_csv(&edges, "g.edges.csv");
    cr_assert_eq(ops.row_count, graph->op_count);
    ASSERT_OK(emp_csv_find(&name, &ops, "name", &err));
    cr_expect_neq(emp_csv_find(&column, &ops, "seconds_k40", NULL), EMP_OK,
                  "there is no machine");
    for (emp_op_id op = 0; op < graph->op_count; op++) {
        cr_expect_str_eq(emp_csv_text(&ops, op, name), graph->name[op]);
        cr_expect_eq(count_of(&ops, op, "bytes_read"), graph->op[op].cost->bytes_read);
    }
    cr_assert_eq(edges.row_count, graph->edge_count + graph->control_edge_count);
    for (int32_t row = 0; row < edges.row_count; row++)
        control += count_of(&edges, row, "control") == 1;
    cr_expect_eq(control, graph->control_edge_count);
    emp_csv_clear(&ops);
    emp_csv_clear(&edges);
}

Test(graph_output, a_graph_with_stated_costs_is_written)
{
    emplace_ok("graph instance.json --machine instance --out g.json");
    json_t *root = emplace_load("g.json");

    cr_expect_float_eq(number_at(root, "ops/0/seconds/gpu"), 9e-3, 1e-12);
    cr_expect_float_eq(number_at(root, "ops/0/seconds/cpu"), 90e-3, 1e-12);
}

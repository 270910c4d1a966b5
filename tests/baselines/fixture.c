// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/baselines/fixture.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"

enum { GPU_NS = 1000000, CPU_NS = 4000000 };

fixture *fixture_create(int32_t gpu_count)
{
    fixture     *f = EMP_NEW(fixture);
    emp_machine *m = &f->machine;

    snprintf(m->name, sizeof m->name, "test%d", gpu_count);
    m->device_count = 1 + gpu_count;
    for (int32_t d = 0; d <= gpu_count; d++) {
        m->device[d].kind = d == 0 ? EMP_DEVICE_CPU : EMP_DEVICE_GPU;
        m->device[d].peak_flops_per_s = 1e12;
        m->device[d].memory_bytes = 1 << 30;
        for (int32_t e = 0; e <= gpu_count; e++)
            m->route[d][e] = (emp_route){.bytes_per_s = 1e10, .latency_s = 1e-5};
    }
    return f;
}

emp_op_id fixture_op(fixture *f, const char *name, int64_t output_bytes)
{
    emp_op_id op = f->graph.op_count++;

    cr_assert_lt(op, FIXTURE_MAX_OPS);
    snprintf(f->default_name[op], sizeof f->default_name[op], "op%d", op);
    f->name[op] = name != NULL ? name : f->default_name[op];
    f->op[op] = (emp_op){.kinds = EMP_KIND_CPU | EMP_KIND_GPU, .colocation_class = op};
    f->tensor[op] = (emp_tensor){.producer = op, .bytes = output_bytes};
    f->gpu_cost[op] = (emp_gpu_cost){.compute_ns = GPU_NS};
    f->cpu_cost[op] = (emp_cpu_cost){.compute_ns = CPU_NS, .lanes = 1};
    return op;
}

void fixture_edge(fixture *f, emp_op_id from, emp_op_id to)
{
    cr_assert(from < to && f->graph.edge_count < FIXTURE_MAX_EDGES);
    f->from[f->graph.edge_count] = from;
    f->to[f->graph.edge_count++] = to;
}

void fixture_control(fixture *f, emp_op_id from, emp_op_id to)
{
    cr_assert(from < to && f->graph.control_edge_count < FIXTURE_MAX_EDGES);
    f->control_from[f->graph.control_edge_count] = from;
    f->control_to[f->graph.control_edge_count++] = to;
}

void fixture_colocate(fixture *f, emp_op_id op, emp_op_id leader)
{
    f->op[op].colocation_class = f->op[leader].colocation_class;
}

void fixture_cpu_only(fixture *f, emp_op_id op) { f->op[op].kinds = EMP_KIND_CPU; }

emp_op_id fixture_clique(fixture *f, int32_t count, int64_t bytes)
{
    emp_op_id first = f->graph.op_count;

    for (int32_t i = 0; i < count; i++) {
        fixture_op(f, NULL, bytes);
        for (int32_t j = 0; j < i; j++) fixture_edge(f, first + j, first + i);
    }
    return first;
}

/* end[row[key[i]] ..] gets the value[i] of each key, in order of i. */
static void build_rows(int32_t op_count, int32_t count, const int32_t *key,
                       const int32_t *value, int32_t *row, int32_t *end)
{
    int32_t filled = 0;

    for (int32_t op = 0; op < op_count; op++) {
        row[op] = filled;
        for (int32_t i = 0; i < count; i++) {
            if (key[i] == op) end[filled++] = value[i];
        }
    }
    row[op_count] = filled;
}

/* Renumbers classes densely in order of their leaders. */
static void build_classes(fixture *f)
{
    emp_graph *g = &f->graph;
    int32_t    class_of_leader[FIXTURE_MAX_OPS];

    for (emp_op_id op = 0; op < g->op_count; op++) {
        emp_op_id leader = f->op[op].colocation_class; /* fixture_op numbers them so */
        if (leader == op) {
            f->leader_of_class[g->class_count] = op;
            f->kinds_of_class[g->class_count] = EMP_KIND_CPU | EMP_KIND_GPU;
            class_of_leader[op] = g->class_count++;
        }
        f->op[op].colocation_class = f->class_of_op[op] = class_of_leader[leader];
        f->kinds_of_class[class_of_leader[leader]] &= f->op[op].kinds;
    }
}

const emp_problem *fixture_problem(fixture *f)
{
    emp_graph *g = &f->graph;
    int32_t    n = g->op_count;

    build_classes(f);
    f->type_name[0] = "Add";
    build_rows(n, g->edge_count, f->to, f->from, f->offset[0], f->end[0]);
    build_rows(n, g->edge_count, f->from, f->to, f->offset[1], f->end[1]);
    build_rows(n, g->control_edge_count, f->control_to, f->control_from, f->offset[2],
               f->end[2]);
    build_rows(n, g->control_edge_count, f->control_from, f->control_to, f->offset[3],
               f->end[3]);
    for (int32_t i = 0; i <= n; i++) f->offset[4][i] = i; /* op i has output i */
    for (int32_t i = 0; i < n; i++) f->topo[i] = i;
    g->tensor_count = n;
    g->name = f->name;
    g->type = f->type;
    g->type_name = f->type_name;
    g->type_entry = f->type_entry;
    g->type_count = 1;
    g->op = f->op;
    g->tensor = f->tensor;
    g->topo = f->topo;
    g->output_offset = f->offset[4];
    g->input_offset = f->offset[0];
    g->input = f->end[0];
    g->consumer_offset = f->offset[1];
    g->consumer = f->end[1];
    g->control_offset = f->offset[2];
    g->control = f->end[2];
    g->control_out_offset = f->offset[3];
    g->control_out = f->end[3];
    f->costs = (emp_cost_table){.op_count = n, .gpu = f->gpu_cost, .cpu = f->cpu_cost};
    f->problem = (emp_problem){.graph = g,
                               .machine = &f->machine,
                               .costs = &f->costs,
                               .kinds_of_class = f->kinds_of_class,
                               .leader_of_class = f->leader_of_class,
                               .class_of_op = f->class_of_op};
    return &f->problem;
}

void fixture_place(const emp_method *type, const emp_problem *problem, uint64_t seed,
                   const char *options, emp_device_id *device_of_op)
{
    emp_error         err = {0};
    emp_method_params params = {.seed = seed, .threads = 1, .options = options};
    emp_device_id    *candidate[1] = {device_of_op};
    void             *state = NULL;
    int32_t           count = 0;

    cr_assert_eq(emp_method_create(&state, type, problem, &params, &err), EMP_OK,
                 "%s: %s", type->name, err.msg);
    cr_assert_eq(emp_method_ask(type, state, candidate, 1, &count, &err), EMP_OK);
    cr_assert_eq(count, 1, "%s gives a placement", type->name);
    emp_method_destroy(type, state);
}

// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/baselines/fixture.h"

#include "tests/support/status.h"

enum { GPU_NS = 1000000, CPU_NS = 4000000 };

static void expect(emp_status st, const emp_error *err)
{
    cr_assert_eq(st, EMP_OK, "%s", err->msg);
}

fixture *fixture_create(int32_t gpu_count)
{
    fixture *f = EMP_NEW(fixture);

    cr_assert_not_null(f);
    f->machine = task_machine(gpu_count, 1e10, 1e-5);
    snprintf(f->machine->name, sizeof f->machine->name, "test%d", gpu_count);
    expect(emp_graph_builder_create(&f->builder, &why), &why);
    f->op = f->stated_op;
    f->tensor = f->stated_tensor;
    f->gpu_cost = f->stated_gpu_cost;
    f->cpu_cost = f->stated_cpu_cost;
    return f;
}

void fixture_destroy(fixture *f)
{
    task t = {.graph = f->graph, .machine = f->machine, .problem = f->problem};

    emp_graph_builder_destroy(f->builder);
    task_destroy(&t);
    emp_free(f);
}

emp_op_id fixture_op(fixture *f, const char *name, int64_t output_bytes)
{
    char               number[8];
    emp_op_id          op;
    const emp_op_attrs attrs = {.dtype = EMP_DTYPE_FLOAT};
    const emp_shape    shape = EMP_SHAPE(1);

    cr_assert_lt(f->op_count, FIXTURE_MAX_OPS);
    snprintf(number, sizeof number, "op%d", f->op_count++);
    if (name == NULL) name = number;
    expect(emp_graph_builder_declare(f->builder, name, strlen(name), "Thing", 5, &attrs,
                                     &shape, 1, &op, &why),
           &why);
    emp_graph_builder_set_target(f->builder, op);
    f->op[op] = (emp_op){.cost = &f->cost[op],
                         .kinds = EMP_KIND_CPU | EMP_KIND_GPU,
                         .colocation_class = op};
    static const emp_shape scalar = {0};
    f->tensor[op] = (emp_tensor){.shape = &scalar, .producer = op, .bytes = output_bytes};
    f->gpu_cost[op] = (emp_gpu_cost){.compute_ns = GPU_NS};
    f->cpu_cost[op] = (emp_cpu_cost){.compute_ns = CPU_NS, .lanes = 1};
    return op;
}

void fixture_edge(fixture *f, emp_op_id from, emp_op_id to)
{
    cr_assert(from < to && f->edge_count < FIXTURE_MAX_EDGES);
    f->from[f->edge_count] = from;
    f->to[f->edge_count++] = to;
    expect(emp_graph_builder_connect(f->builder, (emp_port){from, 0}, to, &why), &why);
}

void fixture_control(fixture *f, emp_op_id from, emp_op_id to)
{
    expect(emp_graph_builder_add_control(f->builder, from, to, &why), &why);
}

void fixture_colocate(fixture *f, emp_op_id op, emp_op_id leader)
{
    f->op[op].colocation_class = f->op[leader].colocation_class;
}

void fixture_cpu_only(fixture *f, emp_op_id op) { f->op[op].kinds = EMP_KIND_CPU; }

emp_op_id fixture_clique(fixture *f, int32_t count, int64_t bytes)
{
    emp_op_id first = f->op_count;

    for (int32_t i = 0; i < count; i++) {
        fixture_op(f, NULL, bytes);
        for (int32_t j = 0; j < i; j++) fixture_edge(f, first + j, first + i);
    }
    return first;
}

/* Facts as stated, and classes numbered densely in order of their leaders. */
static void state_facts(fixture *f)
{
    emp_graph *g = f->graph;

    memcpy(g->op, f->op, (size_t)f->op_count * sizeof *f->op);
    memcpy(g->tensor, f->tensor, (size_t)f->op_count * sizeof *f->tensor);
    g->class_count = 0;
    for (emp_op_id op = 0; op < f->op_count; op++) {
        emp_op_id leader = f->op[op].colocation_class; /* fixture_op() numbers them so */
        g->op[op].colocation_class =
            leader == op ? g->class_count++ : g->op[leader].colocation_class;
    }
    f->op = g->op;
    f->tensor = g->tensor;
}

const emp_problem *fixture_problem(fixture *f)
{
    const emp_runtime plain = {.name = "", .check_memory = true};

    if (f->problem != NULL) return f->problem;
    expect(emp_graph_builder_finish(f->builder, &f->graph, &why), &why);
    state_facts(f);
    task t = {.graph = f->graph, .machine = f->machine};
    task_pose(&t, &plain, "");
    emp_free(t.device_of_op);
    f->problem = t.problem;
    memcpy(f->problem->costs->gpu, f->gpu_cost,
           (size_t)f->op_count * sizeof *f->gpu_cost);
    memcpy(f->problem->costs->cpu, f->cpu_cost,
           (size_t)f->op_count * sizeof *f->cpu_cost);
    f->gpu_cost = f->problem->costs->gpu;
    f->cpu_cost = f->problem->costs->cpu;
    return f->problem;
}

void fixture_place(const emp_method *type, const emp_problem *problem, uint64_t seed,
                   const char *options, emp_device_id *device_of_op)
{
    emp_method_params  params = {.seed = seed, .threads = 1, .options = options};
    emp_owned_decision candidate = {.device_of_op = device_of_op};
    void              *state = NULL;
    int32_t            count = 0;

    cr_assert_eq(emp_method_create(&state, type, problem, &params, &why), EMP_OK,
                 "%s: %s", type->name, why.msg);
    MUST(emp_method_ask(type, state, &candidate, 1, &count, &why));
    cr_assert_eq(count, 1, "%s gives a placement", type->name);
    emp_method_destroy(type, state);
}

// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/policy/hdp/small_problem.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "sim/graph/graph_builder.h"

static emp_op_id add(emp_graph_builder *b, const char *type, int32_t number,
                     const emp_op_attrs *attrs, const emp_port *inputs, int32_t count)
{
    emp_error err = {0};
    emp_op_id op = -1;
    char      name[64];

    snprintf(name, sizeof name, "%s_%d", type, number);
    cr_assert_eq(
        emp_graph_builder_add(b, name, type, attrs, inputs, count, NULL, 0, &op, &err),
        EMP_OK, "%s: %s", name, err.msg);
    return op;
}

static void build_graph(emp_graph **graph, int32_t layers)
{
    emp_graph_builder *b = NULL;
    emp_error          err = {0};
    const emp_op_attrs plain = {.dtype = EMP_DTYPE_FLOAT};
    const emp_op_attrs input = {
        .dtype = EMP_DTYPE_FLOAT, .shape = EMP_SHAPE(8, 16), .has_shape = true};
    const emp_op_attrs weight = {
        .dtype = EMP_DTYPE_FLOAT, .shape = EMP_SHAPE(16, 16), .has_shape = true};
    emp_op_id before;

    cr_assert_eq(emp_graph_builder_create(&b, &err), EMP_OK, "%s", err.msg);
    before = add(b, "Placeholder", 0, &input, NULL, 0);
    for (int32_t i = 0; i < layers; i++) {
        emp_op_id w = add(b, "VariableV2", i, &weight, NULL, 0);
        emp_op_id read = add(b, "Identity", i, &plain, &(emp_port){w, 0}, 1);
        emp_op_id product =
            add(b, "MatMul", i, &plain, (const emp_port[]){{before, 0}, {read, 0}}, 2);
        before = add(b, "Relu", i, &plain, &(emp_port){product, 0}, 1);
    }
    emp_graph_builder_set_target(b, before);
    cr_assert_eq(emp_graph_builder_finish(b, graph, &err), EMP_OK, "%s", err.msg);
    emp_graph_builder_destroy(b);
}

void small_machine_init(emp_machine *machine)
{
    memset(machine, 0, sizeof *machine);
    machine->device_count = 3;
    for (int32_t d = 0; d < 3; d++) {
        machine->device[d] =
            (emp_device){.kind = d == 0 ? EMP_DEVICE_CPU : EMP_DEVICE_GPU,
                         .memory_bytes = 1 << 30,
                         .peak_flops_per_s = 1e12,
                         .memory_bytes_per_s = 1e11,
                         .gemm_per_wave_s = 1e-6,
                         .multiprocessors = 15,
                         .gemm_tile_rows = 128,
                         .conv_tile_rows = 64,
                         .split_limit = 32,
                         .conv_factor = 1,
                         .gemm_skinny_factor = 1,
                         .cores = 4,
                         .clock_hz = 2e9,
                         .gemm_core_flops_per_s = 1e10,
                         .conv_core_flops_per_s = 1e10,
                         .scaling_exponent = 1,
                         .core_bytes_per_s = 1e10,
                         .bandwidth_cores = 2,
                         .thread_cycles = 1e5,
                         .cycles_per_byte = 1};
    }
    machine->link_count = 1;
    machine->link[0] = (emp_link){.name = "bus", .bytes_per_s = 1e10, .latency_s = 1e-6};
    for (int32_t from = 0; from < 3; from++)
        for (int32_t to = 0; to < 3; to++)
            if (from != to)
                machine->route[from][to] =
                    (emp_route){.link_count = 1, .bytes_per_s = 1e10, .latency_s = 1e-6};
}

void small_problem_init(small_problem *p, int32_t layers)
{
    emp_error         err = {0};
    const emp_runtime runtime = {.name = "ideal"};

    memset(p, 0, sizeof *p);
    small_machine_init(&p->machine);
    build_graph(&p->graph, layers);
    cr_assert_eq(
        emp_problem_create(&p->problem, p->graph, &p->machine, &runtime, "small", &err),
        EMP_OK, "%s", err.msg);
}

void small_problem_clear(small_problem *p)
{
    emp_problem_destroy(p->problem);
    emp_graph_destroy(p->graph);
}

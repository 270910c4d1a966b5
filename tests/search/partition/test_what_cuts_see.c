// SPDX-License-Identifier: GPL-3.0-or-later
/* What partitioners take ops to cost, and what Scotch is told of a machine, by hand. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "search/partition/op_costs.h"
#include "search/partition/scotch_cut.h"
#include "tests/baselines/fixture.h"
#include "tests/sim/graph/kit.h"
#include "tests/support/expect.h"

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

    MUST(emp_graph_builder_create(&b, NULL));
    emp_port x = kit_tensor(b, "x", "f[2,3]"), y = kit_tensor(b, "y", "f[3,5]");
    emp_port product = kit_op(b, "product", "MatMul", &attrs, 2, x, y);
    kit_op(b, "tanh", "Tanh", &attrs, 1, product);
    kit_op(b, "same", "Identity", &attrs, 1, product);
    kit_op(b, "shape", "Shape", &attrs, 1, product);
    emp_graph *g = kit_finish(b);

    /* 2 x 2 x 3 x 5 operations; 6, 15 and 10 floats */
    cr_expect_eq(cost_of(g, "product", &gpu), 60 + 31 * 4 / 2);
    cr_expect_eq(cost_of(g, "product", &cpu), 60 / 2 + 4, "124 bytes take 3.875 ns");
    /* 22 cycles for each of 10 elements */
    cr_expect_eq(cost_of(g, "tanh", &gpu), 220 + 20 * 4 / 2);
    cr_expect_eq(cost_of(g, "tanh", &cpu), 220 / 2 + 3, "80 bytes take 2.5 ns");
    cr_expect_eq(cost_of(g, "same", &gpu), 0.0);
    cr_expect_eq(cost_of(g, "shape", &gpu), 1.0);
    emp_graph_destroy(g);
    cr_expect_eq(emp_mem_live_blocks(), 0);
}

Test(op_costs, are_times_or_arithmetic)
{
    fixture  *f = fixture_create(1);
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
    fixture_destroy(f);
}

/* A CPU of a tenth of the power of two GPUs. 1 MiB at 10^10 bytes/s and 10 us is 115 us; the
 * GPUs are thrice as far from each other as each is from the CPU. */
Test(scotch_arch, is_written_as_stated)
{
    fixture             *f = fixture_create(2);
    emp_partition_target target;
    char                *text = NULL;
    size_t               size = 0;
    FILE                *file = open_memstream(&text, &size);

    f->machine->device[0].peak_flops_per_s = 1e11;
    f->machine->route[1][2] = f->machine->route[2][1] =
        (emp_route){.bytes_per_s = 1e10 / 3, .latency_s = 3e-5};
    MUST(emp_partition_target_init(&target, f->machine, true, "x", NULL));
    emp_scotch_arch_write(&target, file);
    fclose(file);
    /* Domains: {cpu:0, gpu:0} is node 2 with leaves 4 and 5, gpu:1 is node 3. */
    cr_expect_str_eq(text, "deco 0\n3 5\n0 10 4\n1 100 5\n2 100 3\n4 \n4 12 \n", "%s",
                     text);
    free(text);
    fixture_destroy(f);
}

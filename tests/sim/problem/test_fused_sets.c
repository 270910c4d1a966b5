// SPDX-License-Identifier: GPL-3.0-or-later
/* Which ops may fuse, and does a set cost what its formula says? */
#include <criterion/criterion.h>
#include <math.h>

#include "base/mem.h"
#include "sim/problem/fusion.h"
#include "tests/support/expect.h"
#include "tests/support/problems.h"
#include "tests/support/survive.h"

TestSuite(fused_sets, .fini = expect_no_leak);

static emp_fusion *fusion_of(const task *t)
{
    emp_fusion *fusion = NULL;

    ASSERT_OK(emp_fusion_create(&fusion, t->problem, &err));
    return fusion;
}

/* Everything that may; the caller frees the leaders. */
static emp_op_id *fuse_all(const task *t, emp_fusion *fusion)
{
    emp_op_id *leader = EMP_NEW_ARRAY(emp_op_id, (size_t)t->graph->op_count);

    for (emp_op_id op = 0; op < t->graph->op_count; op++) leader[op] = -1;
    emp_fusion_legalize(fusion, t->device_of_op, leader);
    return leader;
}

/* On each device what the table says of it. */
static void expect_costs(const task *t, emp_op_id op, const emp_op_cost *cost,
                         emp_op_id product)
{
    const emp_cost_table     *costs = t->problem->costs;
    const emp_runtime_events *events = &t->problem->runtime.events;

    for (int32_t d = 0; d < t->machine->device_count; d++) {
        const emp_device *device = &t->machine->device[d];
        const size_t      row = emp_cost_row(costs, d, op);
        if (device->kind == EMP_DEVICE_CPU) {
            const emp_op_cost on_cpu = emp_fusion_cost_on_cpu(cost, device);
            cr_expect_eq(emp_cost_lanes(&on_cpu, device), costs->cpu[row].lanes, "op %s",
                         t->graph->name[op]);
            continue;
        }
        emp_gpu_cost got = emp_cost_on_gpu(cost, t->graph, product, device, events);
        cr_expect_eq(got.issue_ns, costs->gpu[row].issue_ns);
        cr_expect_leq(llabs(got.compute_ns - costs->gpu[row].compute_ns), 2,
                      "op %s on %s", t->graph->name[op], device->name);
    }
}

static void expect_one_op_costs_what_it_costs(const char *machine)
{
    task        t;
    emp_op_cost cost;

    task_create(&t, "nmt:layers=2,steps=4", machine, "tf-r1.3");
    emp_fusion *fusion = fusion_of(&t);
    emp_op_id  *alone = EMP_NEW_ARRAY(emp_op_id, (size_t)t.graph->op_count);
    for (emp_op_id op = 0; op < t.graph->op_count; op++) alone[op] = op;
    for (emp_op_id op = 0; op < t.graph->op_count; op++) {
        if (t.graph->op[op].cost->op_class == EMP_OP_OPTIMIZER) continue;
        emp_op_id product = emp_fusion_cost(fusion, &op, 1, alone, &cost);
        expect_costs(&t, op, &cost, product);
    }
    emp_free(alone);
    emp_fusion_destroy(fusion);
    task_destroy(&t);
}

Test(fused_sets, one_op_costs_what_it_costs)
{
    expect_one_op_costs_what_it_costs("k40x2");
    expect_one_op_costs_what_it_costs("a100x4+v100x4");
}

/* Four element-wise ops one after another read their first input and write their last output. */
Test(fused_sets, a_chain_reads_and_writes_once)
{
    const int64_t elements = 1000;
    task          t = task_chain(elements);
    emp_fusion   *fusion = fusion_of(&t);
    emp_op_id    *leader = fuse_all(&t, fusion);
    emp_op_cost   cost;

    for (emp_op_id op = 1; op <= CHAIN_OPS; op++) cr_expect_eq(leader[op], CHAIN_OPS);
    cr_expect_eq(leader[0], 0); /* what the step is fed */
    emp_fusion_cost(fusion, (const emp_op_id[]){1, 2, 3, 4}, 4, leader, &cost);
    cr_expect_eq(cost.bytes_read, 4 * elements);
    cr_expect_eq(cost.bytes_written, 4 * elements);
    cr_expect_eq(cost.kernels, 1);
    cr_expect_eq(cost.cpu_cycles, 4 * t.graph->op[1].cost->cpu_cycles);
    emp_free(leader);
    emp_fusion_destroy(fusion);
    task_destroy(&t);
}

/* x -> relu -> product -> bias -> relu: what feeds the product stays alone. */
Test(fused_sets, a_product_takes_element_wise_ops_behind_it)
{
    task t;

    hand_graph_begin(&t);
    emp_op_id x = hand_graph_op(&t, "x", "Placeholder", -1);
    emp_op_id before = hand_graph_op(&t, "before", "Relu", x);
    emp_op_id w = hand_graph_op(&t, "w", "VariableV2", -1);
    emp_op_id read = hand_graph_op(&t, "read", "Identity", w);
    emp_op_id product =
        hand_graph_add(&t, "product", "MatMul", (emp_op_id[]){before, read}, 2);
    emp_op_id relu = hand_graph_op(&t, "relu", "Relu", product);
    emp_op_id last = hand_graph_op(&t, "last", "Tanh", relu);
    hand_graph_finish(&t);
    emp_fusion *fusion = fusion_of(&t);
    emp_op_id  *leader = fuse_all(&t, fusion);
    cr_expect_eq(leader[before], before);
    cr_expect_eq(leader[read], read);
    cr_expect_eq(leader[product], last);
    cr_expect_eq(leader[relu], last);
    emp_op_cost        cost;
    const emp_op_cost *alone = t.graph->op[product].cost;
    cr_expect_eq(emp_fusion_cost(fusion, (const emp_op_id[]){product, relu, last}, 3,
                                 leader, &cost),
                 product);
    cr_expect_eq(cost.op_class, alone->op_class);
    cr_expect_eq(cost.m, alone->m);
    cr_expect_eq(cost.bytes_read, alone->bytes_read);
    cr_expect_eq(cost.bytes_written, t.graph->op[last].cost->bytes_written);
    cr_expect_eq(cost.flops, alone->flops);
    cost = emp_fusion_cost_on_cpu(&cost, &t.machine->device[0]);
    cr_expect_gt(cost.flops, alone->flops); /* the cycles of the others */
    cr_expect_eq(cost.cpu_cycles, 0.0);
    emp_free(leader);
    emp_fusion_destroy(fusion);
    task_destroy(&t);
}

/* A wish that is not granted leaves its op alone; what is legal stays. */
Test(fused_sets, wishes_become_legal_and_stay_so)
{
    task t;

    task_create(&t, "rnnlm:steps=4", "k40x2", "tf-r1.3");
    emp_fusion *fusion = fusion_of(&t);
    for (emp_op_id op = 0; op < t.graph->op_count; op++) t.device_of_op[op] = op / 50 % 3;
    emp_problem_legalize(t.problem, t.device_of_op);
    emp_op_id *leader = fuse_all(&t, fusion);
    int32_t    fused = 0;
    cr_expect_eq(emp_fusion_check(fusion, t.device_of_op, leader, NULL), EMP_OK);
    for (emp_op_id op = 0; op < t.graph->op_count; op++) {
        const emp_op_id was = leader[op];
        fused += was != op;
        if (!t.graph->op[op].is_folded)
            cr_expect_eq(t.device_of_op[op], t.device_of_op[was]);
    }
    cr_expect_gt(fused, 20);
    emp_op_id *again = EMP_NEW_ARRAY(emp_op_id, (size_t)t.graph->op_count);
    for (emp_op_id op = 0; op < t.graph->op_count; op++) again[op] = leader[op];
    emp_fusion_legalize(fusion, t.device_of_op, again);
    for (emp_op_id op = 0; op < t.graph->op_count; op++)
        cr_expect_eq(again[op], leader[op]);
    emp_free(leader);
    emp_free(again);
    emp_fusion_destroy(fusion);
    task_destroy(&t);
}

static void expect_unsupported(const task *t, const char *message)
{
    emp_fusion *fusion = NULL;

    EXPECT_REFUSED(emp_fusion_create(&fusion, t->problem, &err), EMP_EUNSUPPORTED,
                   message);
    cr_expect_null(fusion);
}

Test(fused_sets, nothing_is_known_elsewhere)
{
    task t;

    task_create(&t, "rnnlm:steps=4", "k40x2", "baechi");
    expect_unsupported(&t, "the rules \"events\" only");
    task_destroy(&t);
    task_create(&t, "rnnlm:steps=4", "k40x2", "ideal");
    t.machine->device[1].has_core = true;
    expect_unsupported(&t, "device gpu:0 is a group of cores");
    task_destroy(&t);
}

Test(fused_sets, survive_allocation_failures)
{
    task        t = task_chain(10);
    emp_fusion *fusion = NULL;

    SURVIVES_EVERY_ALLOCATION_FAILURE(emp_fusion_create(&fusion, t.problem, NULL), );
    emp_fusion_destroy(fusion);
    task_destroy(&t);
}

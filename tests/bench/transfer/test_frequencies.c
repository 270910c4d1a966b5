// SPDX-License-Identifier: GPL-3.0-or-later
/* Does the table put ops where most of their kind were, whatever the GPUs were called? */
#include "bench/transfer/transfer.h"

#include "tests/support/problems.h"
#include "tests/test.h"

enum { SMALL = 6, LARGE = 11, EXAMPLES = 2 };

static task               shown, target;
static emp_owned_decision example[EXAMPLES];

static void set_up(void)
{
    hand_graph_layers(&shown, SMALL);
    hand_graph_layers(&target, LARGE);
    for (int i = 0; i < EXAMPLES; i++)
        ASSERT_OK(emp_decision_init(&example[i], shown.graph->op_count, 0, NULL));
}

static void tear_down(void)
{
    for (int i = 0; i < EXAMPLES; i++) emp_decision_clear(&example[i]);
    task_destroy(&shown);
    task_destroy(&target);
    expect_all_freed();
}

TestSuite(frequencies, .init = set_up, .fini = tear_down);

static emp_status place(int32_t count, emp_error *err)
{
    const emp_problem *problem[EXAMPLES] = {shown.problem, shown.problem};

    return emp_frequencies_place(target.device_of_op, target.problem, problem, example,
                                 count, err);
}

static bool is_product(const emp_graph *g, emp_op_id op)
{
    return strcmp(emp_graph_op_type(g, op), "MatMul") == 0;
}

/* Products on one GPU and all else on another. */
static void part(emp_owned_decision *to, emp_device_id products, emp_device_id rest)
{
    for (emp_op_id op = 0; op < shown.graph->op_count; op++)
        to->device_of_op[op] = is_product(shown.graph, op) ? products : rest;
}

static emp_op_id first_product(void)
{
    for (emp_op_id op = 0; op < target.graph->op_count; op++)
        if (is_product(target.graph, op)) return op;
    return -1;
}

Test(frequencies, a_larger_graph_is_placed_by_type)
{
    part(&example[0], 1, 2);
    ASSERT_OK(place(1, &err));
    const emp_device_id products = target.device_of_op[first_product()];
    for (emp_op_id op = 0; op < target.graph->op_count; op++) {
        const bool is_here = target.device_of_op[op] == products;
        if (!target.graph->op[op].is_folded)
            cr_expect_eq(is_here, is_product(target.graph, op), "%s",
                         emp_graph_op_name(target.graph, op));
    }
}

/* Swapped names would leave no kind with a majority. */
Test(frequencies, names_of_gpus_do_not_count)
{
    emp_device_id once[256];

    cr_assert_leq(target.graph->op_count, 256);
    part(&example[0], 1, 2);
    ASSERT_OK(place(1, &err));
    memcpy(once, target.device_of_op, (size_t)target.graph->op_count * sizeof *once);
    part(&example[1], 2, 1);
    ASSERT_OK(place(2, &err));
    cr_expect_arr_eq(target.device_of_op, once,
                     (size_t)target.graph->op_count * sizeof *once);
}

/* The first half of the layers is on one GPU, the other half on the next. */
Test(frequencies, depth_counts)
{
    const emp_graph *g = shown.graph;
    int32_t          changes = 0;

    for (emp_op_id op = 0, seen = 0; op < g->op_count; op++) {
        seen += is_product(g, op);
        example[0].device_of_op[op] = seen > SMALL / 2 ? 2 : 1;
    }
    ASSERT_OK(place(1, &err));
    emp_device_id last = target.device_of_op[first_product()];
    for (emp_op_id op = 0; op < target.graph->op_count; op++) {
        if (!is_product(target.graph, op)) continue;
        changes += target.device_of_op[op] != last;
        last = target.device_of_op[op];
    }
    cr_expect_eq(changes, 1, "products change their device %d times", changes);
}

Test(frequencies, survive_failed_allocations)
{
    SURVIVES_EVERY_ALLOCATION_FAILURE(place(2, NULL), (void)0);
}

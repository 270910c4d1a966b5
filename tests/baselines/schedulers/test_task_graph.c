// SPDX-License-Identifier: GPL-3.0-or-later
/* The view of list schedulers on a problem: examples by hand, and properties of any graph. */
#include "baselines/schedulers/task_graph.h"
#include "tests/baselines/fixture.h"
#include "tests/support/status.h"

EMP_OWNS(emp_task_graph, emp_task_graph_destroy)
#define OWN_TASK_GRAPH EMP_OWNER(emp_task_graph)

static emp_task_graph *create(const emp_problem *problem, emp_task_units units)
{
    emp_task_graph *t = NULL;

    MUST(emp_task_graph_create(&t, problem, units, NULL));
    return t;
}

/* 0 is read by 1 and 2, both by 3; 3 lets 4 go, which runs only on the CPU. */
static fixture *create_diamond(void)
{
    fixture *f = fixture_create(2);

    for (int32_t i = 0; i < 5; i++) fixture_op(f, NULL, 1000 * (i + 1));
    for (int32_t i = 0; i < 5; i++) f->tensor[i].copy_bytes = 100 * (i + 1);
    fixture_edge(f, 0, 1);
    fixture_edge(f, 0, 2);
    fixture_edge(f, 1, 3);
    fixture_edge(f, 2, 3);
    fixture_control(f, 3, 4);
    fixture_cpu_only(f, 4);
    f->op[2].persistent_bytes = 70;
    f->cost[3].workspace_bytes = 11;
    f->gpu_cost[1] = (emp_gpu_cost){.compute_ns = 5, .issue_ns = 9};
    return f;
}

Test(task_graph, ops_are_tasks_as_they_are)
{
    OWN_FIXTURE    f = create_diamond();
    OWN_TASK_GRAPH t = create(fixture_problem(f), EMP_TASKS_OPS);

    cr_assert_eq(t->task_count, 5);
    cr_assert_eq(t->tensor_count, 4,
                 "nobody reads output 3; control makes one of its own");
    for (int32_t op = 0; op < 5; op++) cr_expect_eq(t->task_of_op[op], op);
    const emp_task_tensor expected[4] = {{0, 0, 1000, 100, -1},
                                         {1, 2, 2000, 200, -1},
                                         {2, 3, 3000, 300, -1},
                                         {3, 4, 0, 0, -1}};
    for (int32_t k = 0; k < 4; k++)
        cr_expect_eq(memcmp(&t->tensor[k], &expected[k], sizeof expected[k]), 0, "%d", k);
    const int32_t reader[5] = {1, 2, 3, 3, 4}, input[5] = {0, 0, 1, 2, 3};
    cr_expect_eq(memcmp(t->reader, reader, sizeof reader), 0);
    cr_expect_eq(memcmp(t->input, input, sizeof input), 0);
    cr_expect_eq(t->tensor[4].reader, 5);
    cr_expect_eq(t->workspace_bytes[3], 11 + 4000, "with the output that nobody reads");
    cr_expect_eq(t->workspace_bytes[0], 0);
    cr_expect_eq(t->persistent_bytes[t->pin_of_task[2]], 70);
    cr_expect_eq(t->devices_of_pin[t->pin_of_task[4]], 1);
    cr_expect_eq(t->devices_of_pin[t->pin_of_task[0]], 7);
    cr_expect_eq(t->time_ns[3 * 1 + 0], 4000000);
    cr_expect_eq(t->time_ns[3 * 1 + 2], 9, "issue takes longer than the kernel");
}

/* All that may use a GPU flows into op 3: one group, and the diamond is one task, in which
 * op 3 holds most: 2000 + 3000 in, 4000 out, 11. The CPU's op stays apart. */
Test(task_graph, a_diamond_is_fused)
{
    OWN_FIXTURE    f = create_diamond();
    OWN_TASK_GRAPH t = create(fixture_problem(f), EMP_TASKS_FUSED);

    cr_assert_eq(t->task_count, 2);
    for (int32_t op = 0; op < 5; op++) cr_expect_eq(t->task_of_op[op], op == 4);
    cr_expect_eq(t->workspace_bytes[0], 9011);
    cr_expect_eq(t->persistent_bytes[t->pin_of_task[0]], 70);
    cr_expect_eq(t->devices_of_pin[t->pin_of_task[0]], 6, "GPUs alone");
    cr_expect_eq(t->devices_of_pin[t->pin_of_task[1]], 1);
    cr_expect_eq(t->time_ns[0], 4 * 4000000);
    cr_expect_eq(t->time_ns[1], 3 * 1000000 + 9);
    cr_expect_eq(t->tensor_count, 1, "the control edge");
}

Test(task_graph, gpus_alone_where_there_are_kernels)
{
    OWN_FIXTURE    f = create_diamond();
    OWN_TASK_GRAPH t = create(fixture_problem(f), EMP_TASKS_GPU_OPS);

    cr_assert_eq(t->task_count, 5);
    for (int32_t op = 0; op < 5; op++)
        cr_expect_eq(t->devices_of_pin[t->pin_of_task[op]], op == 4 ? 1 : 6);
}

/* An output that is a variable's buffer takes nothing where the variable is. */
Test(task_graph, what_is_read_of_a_variable_takes_no_memory_at_home)
{
    OWN_FIXTURE f = fixture_create(1);
    emp_op_id   variable = fixture_op(f, NULL, 0), read = fixture_op(f, NULL, 800);
    emp_op_id   user = fixture_op(f, NULL, 8);

    f->tensor[variable].is_ref = true;
    f->op[variable].persistent_bytes = 800;
    f->op[read].is_alias = true;
    f->tensor[read].copy_bytes = 800;
    fixture_colocate(f, read, variable);
    fixture_edge(f, variable, read);
    fixture_edge(f, read, user);
    OWN_TASK_GRAPH t = create(fixture_problem(f), EMP_TASKS_OPS);
    cr_expect_eq(t->tensor[1].home_bytes, 0);
    cr_expect_eq(t->tensor[1].copy_bytes, 800);
    cr_expect_eq(t->pin_of_task[0], t->pin_of_task[1]);
}

/* Random ops in random classes, one in eight on the CPU. */
static fixture *create_random(uint32_t seed)
{
    fixture *f = fixture_create(2);
    uint32_t x = seed * 2654435761u + 1;

    for (int32_t i = 0; i < 60; i++) {
        fixture_op(f, NULL, 10);
        for (int32_t k = 0; i > 0 && k < 2; k++) {
            x = x * 1664525u + 1013904223u;
            int32_t from = i - 1 - (int32_t)((x >> 8) % (uint32_t)(i < 9 ? i : 9));
            if ((x >> 24) % 3 == 0) fixture_edge(f, from, i);
            if ((x >> 24) % 17 == 1) fixture_control(f, from, i);
        }
        if ((x >> 16) % 8 == 0) fixture_cpu_only(f, i);
        if ((x >> 12) % 5 == 1 && i > 4)
            fixture_colocate(f, i, f->op[i - 4].colocation_class);
        f->op[i].is_folded = (x >> 20) % 11 == 0;
    }
    return f;
}

/* No edge is left between tasks of a pin that is its producer's only way out or its reader's
 * only way in. */
static void expect_fused(const emp_task_graph *t)
{
    static bool edge[60 * 60];
    int32_t     n = t->task_count;

    memset(edge, 0, sizeof edge);
    for (int32_t k = 0; k < t->tensor_count; k++) {
        for (int32_t i = t->tensor[k].reader; i < t->tensor[k + 1].reader; i++)
            edge[t->tensor[k].producer * n + t->reader[i]] = true;
    }
    for (int32_t a = 0; a < n; a++) {
        for (int32_t b = 0; b < n; b++) {
            int32_t out = 0, in = 0;
            if (!edge[a * n + b] || t->pin_of_task[a] != t->pin_of_task[b]) continue;
            for (int32_t c = 0; c < n; c++) {
                out += edge[a * n + c];
                in += edge[c * n + b];
            }
            cr_expect(out > 1 && in > 1, "%d and %d could be one", a, b);
        }
    }
}

Test(task_graph, any_graph_is_fused_without_cycles_and_to_the_end)
{
    int32_t fused = 0;

    for (uint32_t seed = 0; seed < 200; seed++) {
        OWN_FIXTURE        f = create_random(seed);
        const emp_problem *problem = fixture_problem(f);
        OWN_TASK_GRAPH     t = create(problem, EMP_TASKS_FUSED);
        emp_time_ns        total = 0;
        int32_t            live = 0;
        for (emp_op_id op = 0; op < 60; op++) {
            cr_expect_eq(t->task_of_op[op] < 0, f->op[op].is_folded);
            live += !f->op[op].is_folded;
        }
        for (int32_t i = 0; i < f->edge_count; i++) {
            int32_t a = t->task_of_op[f->from[i]], b = t->task_of_op[f->to[i]];
            if (a >= 0 && b >= 0) cr_expect_leq(a, b, "tasks are in topological order");
        }
        for (int32_t i = 0; i < t->task_count; i++) total += t->time_ns[3 * i + 1];
        cr_expect_eq(total, live * INT64_C(1000000), "every op is in one task");
        expect_fused(t);
        fused += live - t->task_count;
    }
    cr_expect_gt(fused, 1000);
}

Test(task_graph, every_failed_allocation_is_reported)
{
    fixture           *f = create_random(3);
    const emp_problem *problem = fixture_problem(f);
    emp_task_graph    *t = NULL;

    for (int units = EMP_TASKS_OPS; units <= EMP_TASKS_FUSED; units++) {
        SURVIVES_EVERY_ALLOCATION_FAILURE(
            emp_task_graph_create(&t, problem, (emp_task_units)units, NULL),
            cr_assert_null(t));
        emp_task_graph_destroy(t);
        t = NULL;
    }
    fixture_destroy(f);
}

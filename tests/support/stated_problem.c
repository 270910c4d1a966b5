// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/support/stated_problem.h"

#include <criterion/criterion.h>
#include <stdio.h>

static void add(emp_graph_builder *b, const stated_op *op, int32_t number)
{
    char          name[32];
    emp_op_id     id;
    emp_error     err = {0};
    emp_stated_op stated = {.cost = {.gpu_ns = 1000 * op->gpu_us,
                                     .cpu_ns = 1000 * op->cpu_us,
                                     .copy_ns = 1000 * op->copy_us,
                                     .colocation = op->color > 0 ? op->color : -1},
                            .kinds = EMP_KIND_CPU | (op->is_cpu_only ? 0 : EMP_KIND_GPU),
                            .persistent_bytes = op->bytes};

    snprintf(name, sizeof name, "node%d", number);
    cr_assert_eq(emp_graph_builder_state(b, op->name != NULL ? op->name : name, "Op",
                                         &stated, &id, &err),
                 EMP_OK, "%s", err.msg);
}

void stated_problem_init(stated_problem *p, const stated_op *ops, int32_t op_count,
                         const stated_edge *edges, int32_t edge_count, int32_t cpu_count,
                         int32_t gpu_count, int64_t gpu_bytes, const char *runtime)
{
    emp_graph_builder *b = NULL;
    emp_runtime        rules;
    emp_error          err = {0};

    cr_assert_eq(emp_graph_builder_create(&b, &err), EMP_OK);
    for (int32_t i = 0; i < op_count; i++) add(b, &ops[i], i);
    for (int32_t i = 0; i < edge_count; i++)
        cr_assert_eq(
            emp_graph_builder_connect(b, (emp_port){edges[i].from, 0}, edges[i].to, &err),
            EMP_OK, "%s", err.msg);
    cr_assert_eq(emp_graph_builder_finish(b, &p->graph, &err), EMP_OK, "%s", err.msg);
    emp_graph_builder_destroy(b);
    cr_assert_eq(
        emp_machine_create(&p->machine, "tiny", cpu_count, gpu_count, gpu_bytes, &err),
        EMP_OK, "%s", err.msg);
    cr_assert_eq(emp_runtime_load(&rules, runtime, &err), EMP_OK, "%s", err.msg);
    cr_assert_eq(
        emp_problem_create(&p->problem, p->graph, p->machine, &rules, "tiny", &err),
        EMP_OK, "%s", err.msg);
}

void stated_problem_clear(stated_problem *p)
{
    emp_problem_destroy(p->problem);
    emp_machine_destroy(p->machine);
    emp_graph_destroy(p->graph);
    *p = (stated_problem){0};
}

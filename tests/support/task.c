// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/support/task.h"

#include <criterion/criterion.h>

#include "base/mem.h"
#include "graphs/load.h"

void task_create(task *t, const char *source, const char *machine, const char *runtime)
{
    emp_error   err = {0};
    emp_runtime r;

    *t = (task){0};
    cr_assert_eq(emp_graph_load(&t->graph, NULL, NULL, source, &err), EMP_OK, "%s",
                 err.msg);
    cr_assert_eq(emp_machine_load(&t->machine, machine, &err), EMP_OK, "%s", err.msg);
    cr_assert_eq(emp_runtime_load(&r, runtime, &err), EMP_OK, "%s", err.msg);
    cr_assert_eq(emp_problem_create(&t->problem, t->graph, t->machine, &r, source, &err),
                 EMP_OK, "%s", err.msg);
    t->device_of_op = EMP_NEW_ARRAY(emp_device_id, (size_t)t->graph->op_count);
    cr_assert_not_null(t->device_of_op);
}

void task_destroy(task *t)
{
    emp_free(t->device_of_op);
    emp_problem_destroy(t->problem);
    emp_machine_destroy(t->machine);
    emp_graph_destroy(t->graph);
}

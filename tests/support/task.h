/** \file tests/support/task.h
 * A workload on a machine under a runtime, all by name.
 */
#ifndef EMP_TESTS_SUPPORT_TASK_H
#define EMP_TESTS_SUPPORT_TASK_H

#include "sim/problem/problem.h"

typedef struct {
    emp_graph     *graph; /**< the step */
    emp_machine   *machine;
    emp_problem   *problem;
    emp_device_id *device_of_op; /**< all on device 0 */
} task;

/** \a source: a spec, or the path of a graph file. Fails the test on an error. */
void task_create(task *t, const char *source, const char *machine, const char *runtime);
void task_destroy(task *t);

#endif /* EMP_TESTS_SUPPORT_TASK_H */

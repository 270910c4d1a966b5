/** \file bench/speed/stand_task.h
 * A random graph of GiPH's generator on a random network of devices, for networks that look at a
 * problem: its nodes, edges and devices follow from the seed.
 */
#ifndef EMP_BENCH_SPEED_STAND_TASK_H
#define EMP_BENCH_SPEED_STAND_TASK_H

#include "run/tasks/task.h"

enum { EMP_STAND_DEVICES = 8 };

/** Of about so many nodes, at most 500; \a task is zeroed before. \retval EMP_ENOMEM */
emp_status emp_stand_task_load(emp_loaded_task *task, int32_t nodes, uint64_t seed,
                               emp_error *err);

#endif /* EMP_BENCH_SPEED_STAND_TASK_H */

/** \file baselines/partitioners/by_memory.h
 * Splits of a model that know memory and no times; `memory-split` is one.
 */
#ifndef EMP_BASELINES_PARTITIONERS_BY_MEMORY_H
#define EMP_BASELINES_PARTITIONERS_BY_MEMORY_H

#include "sim/problem/problem.h"

/** Gives each GPU a contiguous share of the bytes that is its share of all GPUs' memory. There is a GPU.
 * \param is_left_out  [class] Those that go to the CPU and are not weighed; NULL: none.
 * \param[out] device_of_op  [op]; need not be legal. O(V + E). \retval EMP_ENOMEM */
emp_status emp_split_by_memory(emp_device_id *device_of_op, const emp_problem *problem,
                               const bool *is_left_out, emp_error *err);

#endif /* EMP_BASELINES_PARTITIONERS_BY_MEMORY_H */

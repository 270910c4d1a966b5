/** \file search/order.h
 * Orders of ops as levels (emp_decision): what runs first of all that waits for a device.
 *
 * A priority of each op becomes one of EMP_LEVELS levels, by rank: ops by rising key are cut into
 * as many runs of equal length, and ops of one key share a level. So few levels tell ops apart that
 * are far from each other in the order; ops of one level are served as they come.
 */
#ifndef EMP_SEARCH_ORDER_H
#define EMP_SEARCH_ORDER_H

#include "sim/problem/problem.h"

/** Levels by rising \a key [op]; the least is served first. O(ops log ops).
 * \retval EMP_ENOMEM */
emp_status emp_order_of_keys(uint8_t *level_of_op, const double *key, int32_t op_count,
                             emp_error *err);

/** Levels by falling bottom level (critical-path scheduling; Hu, 1961; Adam, Chandy and Dickson,
 * 1974): the longest way from the start of an op to the end of the step, with the times of ops on
 * their devices, and with the time of the route where devices change. O(E + ops log ops).
 * \param device_of_op  [op], legal.
 * \retval EMP_ENOMEM */
emp_status emp_order_of_bottom_levels(uint8_t *level_of_op, const emp_problem *problem,
                                      const emp_device_id *device_of_op, emp_error *err);

#endif /* EMP_SEARCH_ORDER_H */

/** \file bench/studies/orders.h
 * What a decision beside devices is worth: placements of Table 1's tasks are simulated without the
 * decision, and then with it and the same devices. The decision is an order of ops, or which ops
 * fuse. For comparison, annealing changes the devices, or both, with as many evaluations.
 */
#ifndef EMP_BENCH_STUDIES_ORDERS_H
#define EMP_BENCH_STUDIES_ORDERS_H

#include "bench/trials/trials.h"
#include "run/sheet/sheet.h"

/** The decision. */
typedef enum { EMP_ORDERS_ORDER, EMP_ORDERS_FUSION, EMP_ORDERS_PARTS } emp_orders_part;

/** Finds placements of each task by the methods that `arms` of the parameters lists, with seed 1,
 * anneals from each with every seed, and makes the table; clear it also after a failure. Seeds, budget
 * and arms must be given.
 * \retval EMP_EINVAL       An unknown task or method; the message lists what there is.
 * \retval EMP_EUNSUPPORTED The runtime does not have event rules.
 * \retval EMP_EINTERRUPTED \a stop was set; the table has what was ready. */
emp_status emp_orders_make(emp_sheet *sheet, emp_orders_part part,
                           const emp_trials_params *params, emp_error *err);

#endif /* EMP_BENCH_STUDIES_ORDERS_H */

/** \file search/partition/balance.h
 * A placement as a graph partitioner judges it: how much traffic it cuts, and how far the
 * fullest device is over its share of the load.
 *
 * The graph is that of partition_graph.h with the CPU, shares are those of the peak
 * FLOP/s: what the method "scotch" minimises. Time, order and memory play no part.
 */
#ifndef EMP_SEARCH_PARTITION_BALANCE_H
#define EMP_SEARCH_PARTITION_BALANCE_H

#include "search/partition/partition_graph.h"

typedef struct {
    emp_partition_target target;
    emp_partition_graph *graph;
    const emp_op_id     *leader_of_class;    /**< borrowed from the problem */
    int32_t part_of_device[EMP_MAX_DEVICES]; /**< every device is one of the parts */
    double  total_load, total_traffic;
} emp_balance;

typedef struct {
    double cut_frac;  /**< weight of the edges between devices over that of all */
    double imbalance; /**< largest load / (share x all load) of a device, minus 1; >= 0 */
} emp_balance_score;

/** \a problem is borrowed and must outlive \a balance. O(V + E log E).
 * \retval EMP_ENOMEM \retval EMP_EUNSUPPORTED  The machine has no GPU. */
emp_status emp_balance_init(emp_balance *balance, const emp_problem *problem,
                            emp_error *err);
void       emp_balance_clear(emp_balance *balance); /**< legal after a failed init */

/** Judges a legal placement. O(V + E), allocates nothing. */
emp_balance_score emp_balance_judge(const emp_balance   *balance,
                                    const emp_device_id *device_of_op);

/** One number to minimise: cut_frac + what imbalance is above the tolerance of 5 % that
 * is Scotch's custom. 0 for one device alone that is the whole machine. */
double emp_balance_cost(emp_balance_score score);

#endif /* EMP_SEARCH_PARTITION_BALANCE_H */

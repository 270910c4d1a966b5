/** \file baselines/schedulers/fusion.h
 * Which ops make up a task: sets of ops that share a pin, such that the graph of the sets
 * has no cycle (task_graph.h says by which rule), in a topological order.
 */
#ifndef EMP_BASELINES_SCHEDULERS_FUSION_H
#define EMP_BASELINES_SCHEDULERS_FUSION_H

#include "base/mem.h"
#include "sim/graph/graph.h"

typedef struct {
    const emp_graph *graph;  /**< borrowed */
    int32_t         *parent; /**< [op] towards the root of its set; -1: folded */
    emp_op_id       *next;   /**< [op] the next member of its set; -1 = the last */
    emp_op_id       *last;   /**< [root] the last member; the root is the first */
    int32_t          set_count;
    emp_op_id       *root_of_set; /**< [set] in topological order */
    emp_arrays       arrays;      /**< all of these */
} emp_fusion;

/** Sets of one op each. \retval EMP_ENOMEM */
emp_status emp_fusion_init(emp_fusion *fusion, const emp_graph *graph, emp_error *err);
void       emp_fusion_clear(emp_fusion *fusion); /**< legal after a failed init */

/** Unites sets of ops of equal \a pin_of_op until nothing changes. O(V + E) a round. */
void emp_fusion_run(emp_fusion *fusion, const int32_t *pin_of_op);

/** Fills set_count and root_of_set. O(V + E). \retval EMP_ENOMEM */
emp_status emp_fusion_sort(emp_fusion *fusion, emp_error *err);

#endif /* EMP_BASELINES_SCHEDULERS_FUSION_H */

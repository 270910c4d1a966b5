/** \file sim/exact/exact.h
 * The best placement of a small problem, and a proof of how far it is from the optimum: branch and bound.
 *
 *     emp_exact_options options = {.gap = 0.01, .most_nodes = 100000, .start = device_of_op};
 *     emp_exact_result  result;
 *     EMP_TRY(emp_exact_solve(&result, device_of_op, problem, &options, err));
 *     ... result.best_ns / result.bound_ns - 1, 0.01 at most if result.is_proven ...
 *
 * The tree fixes the device of one colocation class after the other, the heaviest first. A node ends where no step that
 * takes at most a target time has its devices (relax.h). A leaf is simulated, with all permutations of its GPUs, because
 * nodes that differ in equal GPUs only are visited once. If a tree ends, no placement takes at most the target, but for
 * those that were found. Targets rise from the bound of sim/bounds to the best step time found less the gap, so that a
 * search that is cut short has a bound, too.
 *
 * Deterministic. One thread.
 */
#ifndef EMP_SIM_EXACT_EXACT_H
#define EMP_SIM_EXACT_EXACT_H

#include <stdatomic.h>

#include "sim/problem/problem.h"

typedef struct {
    double gap; /**< relative, that is to be proven; 0 = the optimum itself */
    int64_t
        most_nodes; /**< of all trees; each device that is probed counts as one, and a leaf as one */
    const emp_device_id *
        start; /**< [op] a legal placement to begin with; NULL: all on the first GPU, or the CPU */
    const atomic_int *
        stop; /**< OPTIONAL: the search ends, as if it had no nodes left, once it is not 0 */
} emp_exact_options;

typedef struct {
    emp_time_ns
        best_ns; /**< the least step time found; -1 = no placement that was tried fits */
    emp_time_ns bound_ns; /**< no placement that fits takes less */
    emp_time_ns root_ns;  /**< the bound of sim/bounds */
    int64_t     nodes, leaves;
    bool        is_proven; /**< best_ns is at most (1 + gap) bound_ns */
} emp_exact_result;

/** \param[in,out] device_of_op  [op] The best placement found.
 * O(nodes x (V + E) devices^2).
 * \retval EMP_EUNSUPPORTED  The machine has more than EMP_EXACT_MOST_DEVICES devices, the rules follow no edges, or
 *                           classes are units of a pipeline.
 * \retval EMP_ENOMEM, EMP_EEXTERNAL */
emp_status emp_exact_solve(emp_exact_result *out, emp_device_id *device_of_op,
                           const emp_problem *problem, const emp_exact_options *options,
                           emp_error *err);

enum { EMP_EXACT_MOST_DEVICES = 5 };

#endif /* EMP_SIM_EXACT_EXACT_H */

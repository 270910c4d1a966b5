/** \file tests/support/branch_bound.h
 * The best placement of a problem that has too many placements to try all: branch and
 * bound over colocation classes, for rules `events`.
 *
 * A partial placement is given up when no step of any completion can be shorter than the
 * best one found: by the longest path and the busiest device with what is placed. Both are
 * inequalities that every schedule satisfies, as the oracle is not monotone; they are
 * worked out here only from docs/simulator.md, without sim/bounds, which this is to test.
 */
#ifndef EMP_TESTS_SUPPORT_BRANCH_BOUND_H
#define EMP_TESTS_SUPPORT_BRANCH_BOUND_H

#include "sim/engine/sim.h"

typedef struct {
    emp_time_ns best_ns;  /**< least step time; -1 = no placement fits */
    bool        is_exact; /**< false: the limit was reached, best_ns is what was found */
    int64_t     steps;    /**< simulated */
} branch_bound_result;

/** Simulates at most \a limit steps. Aborts by assert() when out of memory.
 * O(nodes of the tree x (V + E)). */
branch_bound_result branch_bound_solve(const emp_problem *problem, int64_t limit);

#endif /* EMP_TESTS_SUPPORT_BRANCH_BOUND_H */

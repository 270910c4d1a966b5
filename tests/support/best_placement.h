/** \file tests/support/best_placement.h
 * The best placement of a small problem, by trying all: the oracle is not monotone, so
 * nothing is cut off.
 */
#ifndef EMP_TESTS_SUPPORT_BEST_PLACEMENT_H
#define EMP_TESTS_SUPPORT_BEST_PLACEMENT_H

#include "sim/engine/sim.h"

/** Legal placements, at most \a limit + 1. O(V). */
int64_t best_placement_count(const emp_problem *problem, int64_t limit);

/** The least step time of placements that fit in memory; -1 if none does. Aborts by
 * assert() when out of memory. O(placements x step). */
emp_time_ns best_placement_find(const emp_problem *problem);

#endif /* EMP_TESTS_SUPPORT_BEST_PLACEMENT_H */

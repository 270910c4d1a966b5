/** \file sim/problem/variant.h
 * A copy of a problem whose costs, machine and runtime may be changed, for studies of what
 * the same placements would cost if.
 *
 * Colocation, devices that ops may use, and hashes stay those of the original.
 */
#ifndef EMP_SIM_PROBLEM_VARIANT_H
#define EMP_SIM_PROBLEM_VARIANT_H

#include "sim/problem/problem.h"

/** Zero-initialise. Change what `costs`, `machine` and `problem.runtime` hold, but for the
 * offsets of tasks, before a simulator is created. */
typedef struct {
    const emp_problem *original; /**< borrowed */
    emp_problem        problem;  /**< to be simulated; graph and classes are borrowed */
    emp_cost_table     costs;    /**< owned, but for cpu_offset */
    emp_machine       *machine;  /**< owned */
} emp_problem_variant;

/** A variant that is like \a original, which must outlive it. O(V).
 * \retval EMP_ENOMEM  Clear it also then. */
emp_status emp_problem_variant_init(emp_problem_variant *variant,
                                    const emp_problem *original, emp_error *err);

/** Back to the original. O(V). */
void emp_problem_variant_restore(emp_problem_variant *variant);
void emp_problem_variant_clear(emp_problem_variant *variant);

#endif /* EMP_SIM_PROBLEM_VARIANT_H */

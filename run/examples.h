/** \file run/examples.h
 * What a learner imitates: a placement a problem, the best that a method has found.
 */
#ifndef EMP_RUN_EXAMPLES_H
#define EMP_RUN_EXAMPLES_H

#include "run/loop.h"

/** Zero-initialise. */
typedef struct {
    int32_t       count;
    emp_record   *record;   /**< [count] owned */
    emp_proposal *proposal; /**< [count] what the records have, borrowed from them */
} emp_examples;

/** Runs the method on each problem, with the same parameters. Clear the examples also after a
 * failure.
 * \retval EMP_EINFEASIBLE   It finds nothing for a problem that fits in memory; the message names
 *                           the problem.
 * \retval EMP_EINTERRUPTED  \a params->stop was set. Else as emp_run(). */
emp_status emp_examples_make(emp_examples *examples, const emp_problem *const *problem,
                             int32_t count, const emp_run_params *params, emp_error *err);
void       emp_examples_clear(emp_examples *examples);

#endif /* EMP_RUN_EXAMPLES_H */

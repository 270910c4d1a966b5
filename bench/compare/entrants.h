/** \file bench/compare/entrants.h
 * Who takes part in a comparison: every method of run/methods.h, with each of its
 * presets. A portfolio does not, as its members do.
 */
#ifndef EMP_BENCH_COMPARE_ENTRANTS_H
#define EMP_BENCH_COMPARE_ENTRANTS_H

#include "bench/compare/comparison.h"

/** Fills in all entrants, in the order of the methods; returns their number. */
int32_t emp_entrants_list(emp_entrant entrants[EMP_COMPARISON_ENTRANTS]);

/** Gives an entrant its options, as "KEY:NAME=VALUE,..." says, which must outlive it. O(entrants).
 * \retval EMP_EINVAL  There is no such entrant, it has options already, or its method does not
 *                     take these. \retval EMP_ENOMEM */
emp_status emp_entrants_set_options(emp_entrant *entrants, int32_t count,
                                    const char *text, emp_error *err);

#endif /* EMP_BENCH_COMPARE_ENTRANTS_H */

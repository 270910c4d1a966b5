/** \file bench/compare/entrants.h
 * Who takes part in a comparison: every method of run/methods.h, with each of its
 * presets. A portfolio does not, as its members do.
 */
#ifndef EMP_BENCH_COMPARE_ENTRANTS_H
#define EMP_BENCH_COMPARE_ENTRANTS_H

#include "bench/compare/comparison.h"

/** Fills in all entrants, in the order of the methods; returns their number. */
int32_t emp_entrants_list(emp_entrant entrants[EMP_COMPARISON_ENTRANTS]);

#endif /* EMP_BENCH_COMPARE_ENTRANTS_H */

/** \file sim/surrogate/agreement.h
 * How well the surrogate ranks, by the oracle's word; and an order of sweep learned from
 * the oracle. Who filters with the surrogate reports the former beside the result.
 */
#ifndef EMP_SIM_SURROGATE_AGREEMENT_H
#define EMP_SIM_SURROGATE_AGREEMENT_H

#include "sim/engine/sim.h"
#include "sim/surrogate/surrogate.h"

/** Agreement of estimates with exact values. Correlations are NaN when all values of one
 * side are equal. */
typedef struct {
    double spearman; /**< correlation of ranks; ties have their mean rank */
    double kendall;  /**< tau-b: of pairs, correctly ordered - wrongly ordered */
    double mean_relative_error; /**< mean of |estimate / exact - 1| */
} emp_agreement;

/** Kendall's tau-b of \a count pairs; NaN when all of one side are equal. Infinite values of
 * one sign are equal to each other. O(count^2). */
double emp_kendall_of(const double *x, const double *y, int32_t count);

/** Compares \a count >= 2 values; exact ones are above 0. O(count^2).
 * \retval EMP_EINVAL  Fewer than two values. */
emp_status emp_agreement_of(emp_agreement *out, const double *estimate,
                            const double *exact, int32_t count, emp_error *err);

/** Evaluates \a placements by both; memory limits are ignored. Both borrow one problem. */
emp_status emp_surrogate_rank_correlation(emp_agreement *out, emp_surrogate *s,
                                          emp_sim *sim, emp_device_id *const *placements,
                                          int32_t count, emp_error *err);

/** Sets the order of the sweep to that in which ops end in the oracle's runs of \a count
 * placements like those to come: by the mean share of the step that has passed. */
emp_status emp_surrogate_follow(emp_surrogate *s, emp_sim *sim,
                                emp_device_id *const *placements, int32_t count,
                                emp_error *err);

#endif /* EMP_SIM_SURROGATE_AGREEMENT_H */

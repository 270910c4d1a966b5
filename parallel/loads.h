/** \file parallel/loads.h
 * How many tokens each expert of each layer takes, and what the busiest rank takes when experts are placed on ranks.
 *
 *     EMP_TRY(emp_expert_loads_load(&loads, "loads.csv", err));
 *     EMP_TRY(emp_expert_loads_busiest(&busiest, emp_expert_loads_of(&loads, 0), 256, &degrees, err));
 *     // busiest: the tokens of the busiest rank over those of the mean one, 1 where all take the same
 */
#ifndef EMP_PARALLEL_LOADS_H
#define EMP_PARALLEL_LOADS_H

#include "parallel/degrees.h"

/** Zero-initialise; emp_expert_loads_clear() releases it, also after a failure. */
typedef struct {
    int32_t rows, experts; /**< one row for each layer that has experts, or one for all */
    double *share;         /**< [row][expert]; the mean of a row is 1 */
} emp_expert_loads;

/** Reads a table: a column an expert, a row a layer, any unit. A column `layer` is for the reader's eyes.
 * \retval EMP_EIO, EMP_EFORMAT  As emp_csv_load().
 * \retval EMP_EINVAL            A negative number, or a layer without tokens. \retval EMP_ENOMEM */
emp_status emp_expert_loads_load(emp_expert_loads *loads, const char *path,
                                 emp_error *err);

/** Makes loads by a power law of the rank of an expert whose greatest one is \a skew times the mean. Each row has the experts in
 * another order, the same in every run. \retval EMP_EINVAL  skew is not below experts. \retval EMP_ENOMEM */
emp_status emp_expert_loads_make(emp_expert_loads *loads, int32_t rows, int32_t experts,
                                 double skew, emp_error *err);

void emp_expert_loads_clear(emp_expert_loads *loads);

/** The shares of routed layer \a row. */
static inline const double *emp_expert_loads_of(const emp_expert_loads *loads,
                                                int32_t                 row)
{
    return &loads->share[loads->rows > 1 ? (size_t)row * (size_t)loads->experts : 0];
}

/** Places experts and `redundant` copies of the busiest ones on the ranks of ep, each with as many, in order or balanced, as
 * the degrees say. A copy takes an equal part of its expert's tokens. O(slots ep), and of balanced ones O(slots^3 / ep) at worst.
 * \param share  NULL: all alike. */
emp_status emp_expert_loads_busiest(double *busiest, const double *share, int32_t experts,
                                    const emp_degrees *d, emp_error *err);

#endif /* EMP_PARALLEL_LOADS_H */

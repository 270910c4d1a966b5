/** \file parallel/serving/stages.h
 * Cuts of layers into stages that follow one another, by a cost of each run of layers.
 */
#ifndef EMP_PARALLEL_SERVING_STAGES_H
#define EMP_PARALLEL_SERVING_STAGES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

/** The cost of layers [first, first + count) as one stage, above zero; INFINITY: they do not fit. */
typedef double (*emp_stage_cost)(const void *context, int32_t first, int32_t count);

/** Finds the cut whose costliest stage costs least, and among such cuts one whose squared costs have the least sum. Each stage
 * has one layer at least and about three times the mean at most. O(layers^2).
 * \param[out] stage_layers  [stages]; untouched where no cut fits.
 * \param[out] fits          False: no cut does.
 * \retval EMP_ENOMEM */
emp_status emp_stages_cut(int32_t *stage_layers, bool *fits, int32_t layers,
                          int32_t stages, emp_stage_cost cost, const void *context,
                          emp_error *err);

#endif /* EMP_PARALLEL_SERVING_STAGES_H */

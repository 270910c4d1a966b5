/** \file sim/bounds/area_lp.h
 * The highest point below planes over prices and rents.
 */
#ifndef EMP_SIM_BOUNDS_AREA_LP_H
#define EMP_SIM_BOUNDS_AREA_LP_H

#include "sim/bounds/area.h"

enum { EMP_AREA_PLANES = 60 };

/** value <= constant + sum of slope x price. */
typedef struct {
    double constant;
    double slope[EMP_AREA_PRICES];
} emp_area_plane;

/** \param capacity  What prices of resources are normed by.
 * \param most  No rent is above it.
 * \param[out] price, height  Of the highest point.
 * \retval EMP_EEXTERNAL */
emp_status emp_area_lp_solve(const emp_area_plane *plane, int32_t count,
                             const double *capacity, double most, double *price,
                             double *height, emp_error *err);

#endif /* EMP_SIM_BOUNDS_AREA_LP_H */

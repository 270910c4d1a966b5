/** \file sim/machine/tables/grid.h
 * Times that were measured at the points of a grid of sizes, and what lies between them.
 *
 * Between two points the logarithm of the time is linear in the logarithm of each size. Beyond
 * the greatest point of an axis it goes on as in the axis's last cell; below the least point the
 * time is that of the least point.
 *
 * Threads. Immutable after creation.
 */
#ifndef EMP_SIM_MACHINE_TABLES_GRID_H
#define EMP_SIM_MACHINE_TABLES_GRID_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

enum { EMP_GRID_AXES = 3 };

typedef struct {
    int32_t axes; /**< 1 .. EMP_GRID_AXES */
    int32_t points[EMP_GRID_AXES];
    double *knot[EMP_GRID_AXES]; /**< [points] logarithms of sizes, ascending */
    double *log_s;               /**< [product of points], the last axis fastest */
} emp_grid;

/** A time at a place: what a grid is made from. */
typedef struct {
    double  size[EMP_GRID_AXES];
    double  us;
    int32_t row; /**< where it stands, for messages */
} emp_grid_sample;

/** Makes a grid of samples in any order. O(samples log samples).
 * \param unordered  Along that many of the first axes times may fall.
 * \retval EMP_EFORMAT  A sample is missing or is there twice, or a time falls as a size grows; the
 *                      message names \a path, the row and the sizes by their \a names.
 * \retval EMP_ENOMEM */
emp_status emp_grid_create(emp_grid **out, int32_t axes, int32_t unordered,
                           const emp_grid_sample *sample, int32_t count, const char *path,
                           const char *const *names, emp_error *err);
void       emp_grid_destroy(emp_grid *grid);

/** Seconds at sizes above zero. O(2^axes + log points). */
double emp_grid_at(const emp_grid *grid, const double *size);

/** Whether no size is beyond the greatest or below the least of its axis. */
bool emp_grid_covers(const emp_grid *grid, const double *size);

#endif /* EMP_SIM_MACHINE_TABLES_GRID_H */

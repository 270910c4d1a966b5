/** \file policy/nn/panels.h
 * Products of a few rows with one large matrix, for recurrent steps; and of any number
 * with one that fits a near cache.
 *
 * With up to 16 rows a matrix product is a stream of its weights. BLAS repacks them at
 * every call; here they are packed once per update into panels of some columns each,
 * which are read front to back; all rows share a pass.
 *
 * A row's result does not depend on the rows beside it, nor a column's on the pass.
 */
#ifndef EMP_POLICY_NN_PANELS_H
#define EMP_POLICY_NN_PANELS_H

#include <stdbool.h>

#include "base/error.h"
#include "policy/nn/real.h"

enum {
    EMP_PANEL_LANES =
        64 / (int)sizeof(emp_real),      /**< columns of the panel of a narrow matrix */
    EMP_PANEL_COLS = 4 * EMP_PANEL_LANES /**< columns of any other panel */
};

/** A (rows x cols) matrix, packed. */
typedef struct {
    emp_real *data; /**< [panel][row][column in panel], padded with zeros */
    int32_t   rows, cols;
    int32_t   width; /**< columns of a panel */
} emp_panels;

/** Which panels a call multiplies: one of so many nearly equal parts, one per thread. Who
 * alternates the direction finds the panels that came last still in the nearer cache. */
typedef struct {
    int32_t part, parts;
    bool    descends;
} emp_panels_pass;

emp_status emp_panels_init(emp_panels *panels, int32_t rows, int32_t cols,
                           emp_error *err);
void       emp_panels_clear(emp_panels *panels);

/** Packs \a w, stored row-major as (rows x cols), or as (cols x rows) if \a transpose. */
void emp_panels_pack(emp_panels *panels, const emp_real *w, bool transpose);

/** y[r] += x[r] W for \a count rows and the columns of \a pass; row r starts at
 * y + r y_stride and x + r x_stride. */
void emp_panels_multiply(const emp_panels *panels, emp_real *y, int64_t y_stride,
                         const emp_real *x, int64_t x_stride, int32_t count,
                         emp_panels_pass pass);

/** y[r] = bias + x[r] W for \a count rows. */
void emp_panels_affine(const emp_panels *panels, emp_real *y, int64_t y_stride,
                       const emp_real *bias, const emp_real *x, int64_t x_stride,
                       int32_t count);

/** y[r] = start[r] + the part of x[r] W of \a depth rows of W from \a first on. The start may be y, and is
 * zeros if NULL. */
void emp_panels_part(const emp_panels *panels, emp_real *y, int64_t y_stride,
                     const emp_real *start, int64_t start_stride, const emp_real *x,
                     int64_t x_stride, int32_t count, int32_t first, int32_t depth);

#endif /* EMP_POLICY_NN_PANELS_H */

/** \file policy/nn/outer.h
 * Gradients of weights that many rows share: sums of outer products of rows.
 *
 * BLAS packs both operands at every call, which costs as much as a fifth of a product
 * whose result is narrow. Here the result is summed tile by tile in registers, straight
 * from rows that are still in a near cache.
 */
#ifndef EMP_POLICY_NN_OUTER_H
#define EMP_POLICY_NN_OUTER_H

#include "policy/nn/real.h"

/** Rows of \a dy end after a multiple of so many reals; what stands behind the last
 * column may be anything. */
enum { EMP_OUTER_ALIGN = 16 };

/** dw += x' dy over \a rows rows. x is (rows, m) and dy is (rows, n), row r at
 * x + r x_stride and dy + r dy_stride; dw is (m, n). Each element's products are added
 * up from row 0 on, then added to dw. */
void emp_outer_add(emp_real *dw, const emp_real *x, int64_t x_stride, int32_t m,
                   const emp_real *dy, int64_t dy_stride, int32_t n, int32_t rows);

/** The same where dw is part of a wider matrix, whose rows are \a dw_stride apart. */
void emp_outer_add_part(emp_real *dw, int64_t dw_stride, const emp_real *x,
                        int64_t x_stride, int32_t m, const emp_real *dy,
                        int64_t dy_stride, int32_t n, int32_t rows);

/** db += the rows of dy, one after another. */
void emp_outer_add_rows(emp_real *db, const emp_real *dy, int64_t dy_stride, int32_t n,
                        int32_t rows);

#endif /* EMP_POLICY_NN_OUTER_H */

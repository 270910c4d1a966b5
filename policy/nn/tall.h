/** \file policy/nn/tall.h
 * Products of many rows with one small matrix, and the sums of outer products that are the
 * gradients of such a matrix.
 *
 * BLAS packs both operands, and of these one is as large as the result. A product packs the small one
 * alone, and a sum of outer products packs neither. Long sums are cut where OpenBLAS cuts them, so results
 * are as close to its own as can be. They do not depend on the number of threads.
 */
#ifndef EMP_POLICY_NN_TALL_H
#define EMP_POLICY_NN_TALL_H

#include <stdbool.h>

#include "policy/nn/real.h"

/** Whether the products of \a rows rows with a matrix of \a depth rows and \a cols columns are made
 * faster here than by BLAS. */
bool emp_tall_suits(int32_t rows, int32_t depth, int32_t cols);

/** y[r] = start[r] + x[r] W for \a rows rows without gaps, those of the start \a start_stride apart;
 * it may be y, one row with a stride of 0, or NULL for zeros. W is (depth, cols), stored
 * as (cols, depth) if \a transpose. \return false, and nothing is done, where memory for W is out. */
bool emp_tall_multiply(emp_real *y, const emp_real *start, int64_t start_stride,
                       const emp_real *x, const emp_real *w, bool transpose, int32_t rows,
                       int32_t depth, int32_t cols, int32_t threads);

/** Whether emp_tall_add_outer() is faster than BLAS. */
bool emp_tall_suits_outer(int32_t rows, int32_t m, int32_t n);

/** dw += x' dy, with x (rows, m), dy (rows, n) and dw (m, n) without gaps. */
void emp_tall_add_outer(emp_real *dw, const emp_real *x, const emp_real *dy, int32_t rows,
                        int32_t m, int32_t n, int32_t threads);

#endif /* EMP_POLICY_NN_TALL_H */

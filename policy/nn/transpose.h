/** \file policy/nn/transpose.h
 * Transposes of matrices.
 */
#ifndef EMP_POLICY_NN_TRANSPOSE_H
#define EMP_POLICY_NN_TRANSPOSE_H

#include "policy/nn/real.h"

/** y[c][r] = x[r][c] for \a rows rows and \a cols columns of x. Rows of x and of y begin every so many numbers. */
void emp_transpose(emp_real *y, int64_t y_stride, const emp_real *x, int64_t x_stride,
                   int64_t rows, int64_t cols);

#endif /* EMP_POLICY_NN_TRANSPOSE_H */

/** \file policy/doppler/zscore.h
 * Columns shifted and scaled over the rows of a set: y = (x - mean) / (s + 1e-6), with s the
 * deviation over the set. A column that is all but equal, s at most EMP_ZSCORE_EQUAL, becomes 0
 * and has no gradient: otherwise rounding errors would be scaled up a million times.
 *
 * B rows of K columns. Rows begin \a stride reals apart.
 */
#ifndef EMP_POLICY_DOPPLER_ZSCORE_H
#define EMP_POLICY_DOPPLER_ZSCORE_H

#include "policy/nn/real.h"

#define EMP_ZSCORE_EQUAL 1e-5

/** In place. \a deviation [K]: s of each column, 0 where it counts as equal. */
void emp_zscore_forward(emp_real *x, int64_t stride, emp_real *deviation, int32_t B,
                        int32_t K);

/** \a dy: the gradient of y in, of x out. \a y has the same stride. */
void emp_zscore_backward(emp_real *dy, const emp_real *y, int64_t stride,
                         const emp_real *deviation, int32_t B, int32_t K);

#endif /* EMP_POLICY_DOPPLER_ZSCORE_H */

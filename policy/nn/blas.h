/** \file policy/nn/blas.h
 * Matrix products by OpenBLAS. Who makes a network calls emp_openblas_open() first
 * (base/blas/openblas.h), which can fail.
 */
#ifndef EMP_POLICY_NN_BLAS_H
#define EMP_POLICY_NN_BLAS_H

#include <stdbool.h>

#include "policy/nn/real.h"

/** c = a b + beta c, row-major; a is (m, k) and b is (k, n) after the transpositions
 * asked for. The lengths of the stored rows are lda, ldb, ldc. */
void emp_blas_gemm(bool transpose_a, bool transpose_b, int32_t m, int32_t n, int32_t k,
                   const emp_real *a, int32_t lda, const emp_real *b, int32_t ldb,
                   emp_real beta, emp_real *c, int32_t ldc);

/** The same on several threads if it is large, in tasks that do not depend on their number. */
void emp_blas_gemm_shared(bool transpose_a, bool transpose_b, int32_t m, int32_t n,
                          int32_t k, const emp_real *a, int32_t lda, const emp_real *b,
                          int32_t ldb, emp_real beta, emp_real *c, int32_t ldc,
                          int32_t threads);

#endif /* EMP_POLICY_NN_BLAS_H */

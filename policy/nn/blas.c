// SPDX-License-Identifier: GPL-3.0-or-later
#include "policy/nn/blas.h"

#include "base/blas/openblas.h"
#include "policy/nn/flush.h"
#include "policy/nn/tall.h"
#include "policy/nn/team.h"

void emp_blas_gemm(bool transpose_a, bool transpose_b, int32_t m, int32_t n, int32_t k,
                   const emp_real *a, int32_t lda, const emp_real *b, int32_t ldb,
                   emp_real beta, emp_real *c, int32_t ldc)
{
    if (m == 0 || n == 0) return;
#ifdef EMP_REAL_DOUBLE
    emp_openblas_dgemm(
#else
    emp_openblas_sgemm(
#endif
        transpose_a, transpose_b, m, n, k, 1, a, lda, b, ldb, beta, c, ldc);
}

void emp_blas_gemm_shared(bool transpose_a, bool transpose_b, int32_t m, int32_t n,
                          int32_t k, const emp_real *a, int32_t lda, const emp_real *b,
                          int32_t ldb, emp_real beta, emp_real *c, int32_t ldc,
                          int32_t threads)
{
    enum { BLOCK = 256 };
    bool is_whole =
        ldc == n && lda == (transpose_a ? m : k) && ldb == (transpose_b ? k : n);

    if (is_whole && !transpose_a && (beta == 0 || beta == 1) && emp_tall_suits(m, k, n) &&
        emp_tall_multiply(c, beta == 0 ? NULL : c, n, a, b, transpose_b, m, k, n,
                          threads))
        return;
    if (is_whole && transpose_a && !transpose_b && beta == 1 &&
        emp_tall_suits_outer(k, m, n)) {
        emp_tall_add_outer(c, a, b, k, m, n, threads);
        return;
    }
    bool    by_rows = m > n;
    int32_t size = by_rows ? m : n;
    int32_t team = size > BLOCK ? emp_team_size((int64_t)m * n * k, threads) : 1;

#pragma omp parallel for num_threads(team)
    for (int32_t first = 0; first < size; first += BLOCK) {
        unsigned saved = emp_flush_begin();
        int32_t  count = size - first < BLOCK ? size - first : BLOCK;
        if (by_rows) {
            emp_blas_gemm(transpose_a, transpose_b, count, n, k,
                          a + (transpose_a ? first : (int64_t)first * lda), lda, b, ldb,
                          beta, c + (int64_t)first * ldc, ldc);
        } else {
            emp_blas_gemm(transpose_a, transpose_b, m, count, k, a, lda,
                          b + (transpose_b ? (int64_t)first * ldb : first), ldb, beta,
                          c + first, ldc);
        }
        emp_flush_end(saved);
    }
}

// SPDX-License-Identifier: GPL-3.0-or-later
/* Products where there is no library. */
#include "replay/cpu/gemm.h"

void emp_gemm(bool transpose_a, bool transpose_b, int64_t m, int64_t n, int64_t k,
              float alpha, const float *a, int64_t lda, const float *b, int64_t ldb,
              float beta, float *c, int64_t ldc)
{
    emp_gemm_plain(transpose_a, transpose_b, m, n, k, alpha, a, lda, b, ldb, beta, c,
                   ldc);
}

emp_status emp_gemm_init(emp_error *err)
{
    (void)err;
    return EMP_OK;
}

const char *emp_gemm_name(void) { return "own kernel"; }

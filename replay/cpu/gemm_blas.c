// SPDX-License-Identifier: GPL-3.0-or-later
/* Products through CBLAS; the full build has this file in place of cpu_gemm_own.c. */
#include <cblas.h>
#include <stdio.h>

#include "replay/cpu/gemm.h"

void emp_gemm(bool transpose_a, bool transpose_b, int64_t m, int64_t n, int64_t k,
              float alpha, const float *a, int64_t lda, const float *b, int64_t ldb,
              float beta, float *c, int64_t ldc)
{
    cblas_sgemm(CblasRowMajor, transpose_a ? CblasTrans : CblasNoTrans,
                transpose_b ? CblasTrans : CblasNoTrans, (blasint)m, (blasint)n,
                (blasint)k, alpha, a, (blasint)lda, b, (blasint)ldb, beta, c,
                (blasint)ldc);
}

void emp_gemm_init(void) { openblas_set_num_threads(1); }

const char *emp_gemm_name(void)
{
    static char name[64];

    snprintf(name, sizeof name, "OpenBLAS %s", openblas_get_corename());
    return name;
}

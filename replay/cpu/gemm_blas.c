// SPDX-License-Identifier: GPL-3.0-or-later
/* Products by OpenBLAS; the full build has this file in place of gemm_own.c. */
#include <stdio.h>

#include "base/blas/openblas.h"
#include "replay/cpu/gemm.h"

void emp_gemm(bool transpose_a, bool transpose_b, int64_t m, int64_t n, int64_t k,
              float alpha, const float *a, int64_t lda, const float *b, int64_t ldb,
              float beta, float *c, int64_t ldc)
{
    emp_openblas_sgemm(transpose_a, transpose_b, (int32_t)m, (int32_t)n, (int32_t)k,
                       alpha, a, (int32_t)lda, b, (int32_t)ldb, beta, c, (int32_t)ldc);
}

emp_status emp_gemm_init(emp_error *err) { return emp_openblas_open(err); }

const char *emp_gemm_name(void)
{
    static char name[64];
    const char *core = emp_openblas_core_name();

    snprintf(name, sizeof name, "OpenBLAS %s", core != NULL ? core : "not loaded");
    return name;
}

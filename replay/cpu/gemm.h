/** \file replay/cpu/gemm.h
 * Matrix products on one core: OpenBLAS in the full build, else a blocked routine of our
 * own that needs no library.
 */
#ifndef EMP_REPLAY_CPU_GEMM_H
#define EMP_REPLAY_CPU_GEMM_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

/** c = alpha a b + beta c, row-major; a is (m, k) and b is (k, n) after the transpositions
 * asked for. The lengths of the stored rows are lda, ldb, ldc. Runs on the calling thread. */
void emp_gemm(bool transpose_a, bool transpose_b, int64_t m, int64_t n, int64_t k,
              float alpha, const float *a, int64_t lda, const float *b, int64_t ldb,
              float beta, float *c, int64_t ldc);

/** The same by the routine of our own, in every build. */
void emp_gemm_plain(bool transpose_a, bool transpose_b, int64_t m, int64_t n, int64_t k,
                    float alpha, const float *a, int64_t lda, const float *b, int64_t ldb,
                    float beta, float *c, int64_t ldc);

/** Before the first product.
 * \retval EMP_EEXTERNAL, EMP_ENOMEM  As emp_openblas_open(). */
emp_status emp_gemm_init(emp_error *err);

/** "OpenBLAS SkylakeX", "own kernel"; static storage. */
const char *emp_gemm_name(void);

#endif /* EMP_REPLAY_CPU_GEMM_H */

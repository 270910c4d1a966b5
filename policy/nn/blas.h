/** \file policy/nn/blas.h
 * Matrix products through CBLAS, and the cure for an OpenBLAS that does not know its CPU.
 *
 * OpenBLAS 0.3.21 takes recent Xeons for a Prescott and then runs at a fifth of its
 * speed. It reads OPENBLAS_CORETYPE when it is loaded, which is before main(): hence
 * emp_blas_fix(), which starts the program again with the variable set.
 */
#ifndef EMP_POLICY_NN_BLAS_H
#define EMP_POLICY_NN_BLAS_H

#include <stdbool.h>

#include "policy/nn/real.h"

/** The kernels that OpenBLAS chose ("Prescott", "SkylakeX"); static storage. */
const char *emp_blas_core_name(void);

/** The kernels it had chosen before emp_blas_fix() started the program again, or NULL. */
const char *emp_blas_mistaken_core_name(void);

/** Re-executes the running program once with OPENBLAS_CORETYPE set to what CPUID says and
 * OPENBLAS_NUM_THREADS=1, when OpenBLAS chose lesser kernels than the CPU has and the
 * user did not choose. Call it first in main(); on any failure it returns and nothing
 * changed but the speed. */
void emp_blas_fix(char *const argv[]);

/** Keeps OpenBLAS from starting threads of its own; process-wide and idempotent. */
void emp_blas_single_thread(void);

/** c = a b + beta c, row-major; a is (m, k) and b is (k, n) after the transpositions
 * asked for. The lengths of the stored rows are lda, ldb, ldc. */
void emp_blas_gemm(bool transpose_a, bool transpose_b, int32_t m, int32_t n, int32_t k,
                   const emp_real *a, int32_t lda, const emp_real *b, int32_t ldb,
                   emp_real beta, emp_real *c, int32_t ldc);

/** The same on several threads, in tasks that do not depend on their number. */
void emp_blas_gemm_shared(bool transpose_a, bool transpose_b, int32_t m, int32_t n,
                          int32_t k, const emp_real *a, int32_t lda, const emp_real *b,
                          int32_t ldb, emp_real beta, emp_real *c, int32_t ldc,
                          int32_t threads);

#endif /* EMP_POLICY_NN_BLAS_H */

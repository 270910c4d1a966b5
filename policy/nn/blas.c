// SPDX-License-Identifier: GPL-3.0-or-later
#define _POSIX_C_SOURCE 200809L /* setenv, execv */
#include "policy/nn/blas.h"

#include <cblas.h>
#include <stdlib.h>
#include <string.h>
#include <threads.h>
#include <unistd.h>

#include "policy/nn/flush.h"

/* Tells the program that was started again why it was. */
static const char MISTAKEN[] = "EMPLACE_OPENBLAS_MISTAKEN";

const char *emp_blas_core_name(void) { return openblas_get_corename(); }

const char *emp_blas_mistaken_core_name(void) { return getenv(MISTAKEN); }

static void set_single_thread(void) { openblas_set_num_threads(1); }

void emp_blas_single_thread(void)
{
    static once_flag once = ONCE_FLAG_INIT;

    call_once(&once, set_single_thread);
}

/* The oldest core that OpenBLAS knows and that has all the instructions this CPU has. */
static const char *core_of_cpu(void)
{
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl")) {
        return "SKYLAKEX";
    }
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return "HASWELL";
#endif
    return NULL;
}

void emp_blas_fix(char *const argv[])
{
    /* Cores with neither AVX2 nor AVX-512 kernels, as OpenBLAS names them. */
    static const char *const slow[] = {"Prescott", "Core2",   "Nehalem",    "Sandybridge",
                                       "Katmai",   "Penryn",  "Dunnington", "Atom",
                                       "Nano",     "Generic", "Unknown"};
    const char              *core = core_of_cpu(), *chosen = openblas_get_corename();
    int                      is_slow = 0;

    for (size_t i = 0; i < sizeof slow / sizeof slow[0]; i++) {
        if (strcmp(chosen, slow[i]) == 0) is_slow = 1;
    }
    if (!is_slow || core == NULL || getenv("OPENBLAS_CORETYPE") != NULL) return;
    if (setenv(MISTAKEN, chosen, 1) != 0) return;
    if (setenv("OPENBLAS_CORETYPE", core, 1) != 0) return;
    if (setenv("OPENBLAS_NUM_THREADS", "1", 0) != 0) return;
    execv("/proc/self/exe", argv);
}

void emp_blas_gemm(bool transpose_a, bool transpose_b, int32_t m, int32_t n, int32_t k,
                   const emp_real *a, int32_t lda, const emp_real *b, int32_t ldb,
                   emp_real beta, emp_real *c, int32_t ldc)
{
    if (m == 0 || n == 0) return;
#ifdef EMP_REAL_DOUBLE
    cblas_dgemm(
#else
    cblas_sgemm(
#endif
        CblasRowMajor, transpose_a ? CblasTrans : CblasNoTrans,
        transpose_b ? CblasTrans : CblasNoTrans, m, n, k, 1, a, lda, b, ldb, beta, c,
        ldc);
}

void emp_blas_gemm_shared(bool transpose_a, bool transpose_b, int32_t m, int32_t n,
                          int32_t k, const emp_real *a, int32_t lda, const emp_real *b,
                          int32_t ldb, emp_real beta, emp_real *c, int32_t ldc,
                          int32_t threads)
{
    enum { BLOCK = 256 };
    bool    by_rows = m > n;
    int32_t size = by_rows ? m : n;

#pragma omp parallel for num_threads(threads)
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

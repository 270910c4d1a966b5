/** \file base/blas/openblas.h
 * OpenBLAS, loaded when the first learner or the first replayed step needs it: no other command pays
 * for it, and it starts as it should.
 *
 * OpenBLAS reads the settings of its start from the environment while it is loaded. By itself it starts a
 * thread for each core, and its threads then wait for ever for address space that a limit keeps
 * from them. OpenBLAS 0.3.21 also takes recent Xeons for a Prescott and then runs at a fifth of its
 * speed. So it is started without threads of its own, and, if it chose lesser kernels than the
 * CPU has, loaded once more with the kernels named, unless the user said it (OPENBLAS_CORETYPE).
 *
 * Threads. All functions may be called from any thread; products run on the calling one.
 */
#ifndef EMP_BASE_BLAS_OPENBLAS_H
#define EMP_BASE_BLAS_OPENBLAS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

/** Loads the library unless it is there. Each product that runs beside others takes 128 MiB of
 * addresses. Under a limit of address space the first call takes them for as many as there are cores, or
 * for fewer; then products wait for each other.
 * \retval EMP_EEXTERNAL  The library is not there, or is not one.
 * \retval EMP_ENOMEM     A limit of address space leaves no room for one product. */
emp_status emp_openblas_open(emp_error *err);

/** c = alpha a b + beta c, row-major; a is (m, k) and b is (k, n) after the transpositions asked
 * for. The lengths of the stored rows are lda, ldb, ldc. After emp_openblas_open(). */
void emp_openblas_sgemm(bool transpose_a, bool transpose_b, int32_t m, int32_t n,
                        int32_t k, float alpha, const float *a, int32_t lda,
                        const float *b, int32_t ldb, float beta, float *c, int32_t ldc);
void emp_openblas_dgemm(bool transpose_a, bool transpose_b, int32_t m, int32_t n,
                        int32_t k, double alpha, const double *a, int32_t lda,
                        const double *b, int32_t ldb, double beta, double *c,
                        int32_t ldc);

/** Whether the library is loaded, by whatever has needed it so far. */
bool emp_openblas_is_open(void);

/** The kernels that run ("Haswell", "SkylakeX"), or NULL if the library cannot be loaded; static
 * storage. */
const char *emp_openblas_core_name(void);

/** The kernels that the library had chosen by itself, if others were named, or NULL. */
const char *emp_openblas_mistaken_core_name(void);

#endif /* EMP_BASE_BLAS_OPENBLAS_H */

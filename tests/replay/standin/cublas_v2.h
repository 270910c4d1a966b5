/** \file tests/replay/standin/cublas_v2.h
 * The part of cuBLAS that replay/cuda uses (standin.h).
 */
#ifndef EMP_TESTS_REPLAY_STANDIN_CUBLAS_V2_H
#define EMP_TESTS_REPLAY_STANDIN_CUBLAS_V2_H

#include "tests/replay/standin/cuda_runtime_api.h"

#define CUBLAS_VER_MAJOR 0
#define CUBLAS_VER_MINOR 0

typedef struct standin_products *cublasHandle_t;

typedef enum {
    CUBLAS_STATUS_SUCCESS = 0,
    CUBLAS_STATUS_ALLOC_FAILED = 3,
    CUBLAS_STATUS_INVALID_VALUE = 7,
    CUBLAS_STATUS_EXECUTION_FAILED = 13
} cublasStatus_t;

typedef enum { CUBLAS_OP_N, CUBLAS_OP_T } cublasOperation_t;
typedef enum { CUBLAS_DEFAULT_MATH } cublasMath_t;

const char    *cublasGetStatusString(cublasStatus_t code);
cublasStatus_t cublasCreate(cublasHandle_t *handle);
cublasStatus_t cublasDestroy(cublasHandle_t handle);
cublasStatus_t cublasSetStream(cublasHandle_t handle, cudaStream_t stream);
cublasStatus_t cublasSetMathMode(cublasHandle_t handle, cublasMath_t mode);

cublasStatus_t cublasSgemm(cublasHandle_t handle, cublasOperation_t op_a,
                           cublasOperation_t op_b, int m, int n, int k,
                           const float *alpha, const float *a, int lda, const float *b,
                           int ldb, const float *beta, float *c, int ldc);
cublasStatus_t cublasSgemmStridedBatched(cublasHandle_t handle, cublasOperation_t op_a,
                                         cublasOperation_t op_b, int m, int n, int k,
                                         const float *alpha, const float *a, int lda,
                                         long long stride_a, const float *b, int ldb,
                                         long long stride_b, const float *beta, float *c,
                                         int ldc, long long stride_c, int batch);

#endif /* EMP_TESTS_REPLAY_STANDIN_CUBLAS_V2_H */

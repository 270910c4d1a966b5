// SPDX-License-Identifier: GPL-3.0-or-later
/* Matrix products of the stand-in, by a BLAS of the host on the stream's thread. */
#include "tests/replay/standin/products.h"

#include <stdlib.h>

#include "tests/replay/standin/cublas_v2.h"
#include "tests/replay/standin/internal.h"

struct standin_products {
    cudaStream_t stream;
};

const char *cublasGetStatusString(cublasStatus_t code)
{
    switch (code) {
    case CUBLAS_STATUS_SUCCESS: return "success";
    case CUBLAS_STATUS_ALLOC_FAILED: return "allocation failed";
    case CUBLAS_STATUS_INVALID_VALUE: return "invalid value";
    default: return "execution failed";
    }
}

cublasStatus_t cublasCreate(cublasHandle_t *handle)
{
    if (standin_fails()) return CUBLAS_STATUS_ALLOC_FAILED;
    *handle = calloc(1, sizeof **handle);
    if (*handle == NULL) return CUBLAS_STATUS_ALLOC_FAILED;
    standin_count(1);
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasDestroy(cublasHandle_t handle)
{
    free(handle);
    standin_count(-1);
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSetStream(cublasHandle_t handle, cudaStream_t stream)
{
    if (standin_fails()) return CUBLAS_STATUS_EXECUTION_FAILED;
    handle->stream = stream;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSetMathMode(cublasHandle_t handle, cublasMath_t mode)
{
    (void)handle;
    if (standin_fails()) return CUBLAS_STATUS_EXECUTION_FAILED;
    return mode == CUBLAS_DEFAULT_MATH ? CUBLAS_STATUS_SUCCESS
                                       : CUBLAS_STATUS_INVALID_VALUE;
}

struct batch {
    standin_product one;
    long long       stride_a, stride_b, stride_c;
    int             count;
};

static void multiply(void *data)
{
    struct batch *b = data;

    for (int i = 0; i < b->count; i++) {
        standin_multiply(&b->one);
        b->one.a += b->stride_a;
        b->one.b += b->stride_b;
        b->one.c += b->stride_c;
    }
    free(b);
}

static void plant(standin_product *p)
{
    const int lda = p->lda;

    if (standin_planted() == STANDIN_WRONG_STRIDE) {
        p->lda = p->ldb;
        p->ldb = lda;
    }
    if (standin_planted() == STANDIN_NOT_TRANSPOSED) p->is_a_transposed = false;
}

/* Checks that cuBLAS refuses: leading dimensions that are shorter than the columns of an operand. */
static bool is_legal(const standin_product *p)
{
    return p->m > 0 && p->n > 0 && p->k > 0 &&
           p->lda >= (p->is_a_transposed ? p->k : p->m) &&
           p->ldb >= (p->is_b_transposed ? p->n : p->k) && p->ldc >= p->m;
}

cublasStatus_t cublasSgemmStridedBatched(cublasHandle_t handle, cublasOperation_t op_a,
                                         cublasOperation_t op_b, int m, int n, int k,
                                         const float *alpha, const float *a, int lda,
                                         long long stride_a, const float *b, int ldb,
                                         long long stride_b, const float *beta, float *c,
                                         int ldc, long long stride_c, int batch)
{
    struct batch *work;

    if (standin_fails() || standin_stream_device(handle->stream) != standin_device())
        return CUBLAS_STATUS_EXECUTION_FAILED;
    work = calloc(1, sizeof *work);
    if (work == NULL) return CUBLAS_STATUS_ALLOC_FAILED;
    *work = (struct batch){{op_a == CUBLAS_OP_T, op_b == CUBLAS_OP_T, m, n, k, *alpha, a,
                            lda, b, ldb, *beta, c, ldc},
                           stride_a,
                           stride_b,
                           stride_c,
                           batch};
    plant(&work->one);
    if (!is_legal(&work->one)) {
        free(work);
        return CUBLAS_STATUS_INVALID_VALUE;
    }
    standin_enqueue(handle->stream, multiply, work);
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSgemm(cublasHandle_t handle, cublasOperation_t op_a,
                           cublasOperation_t op_b, int m, int n, int k,
                           const float *alpha, const float *a, int lda, const float *b,
                           int ldb, const float *beta, float *c, int ldc)
{
    return cublasSgemmStridedBatched(handle, op_a, op_b, m, n, k, alpha, a, lda, 0, b,
                                     ldb, 0, beta, c, ldc, 0, 1);
}

// SPDX-License-Identifier: GPL-3.0-or-later
#include "replay/cuda/work.h"

#include <cublas_v2.h>
#include <math.h>
#include <stdio.h>

#include "base/mem.h"
#include "replay/cuda/kernels.h"

/* Memory beside the pool for im2col, where an op has no workspace that suffices. */
enum { SCRATCH_BYTES = 64 << 20 };

struct emp_cuda_work {
    cublasHandle_t products;
    emp_cuda_conv *conv; /* NULL without cuDNN */
    cudaStream_t   stream;
    const char    *device;
    float         *scratch; /* NULL where no op is a convolution */
};

#define CUBLAS_CHECK(call) \
    EMP_CUDA_LIBRARY_CHECK(w->device, cublasStatus_t, cublasGetStatusString, call)

static bool has_convolutions(const emp_replay_plan *p)
{
    for (int32_t op = 0; op < p->op_count; op++) {
        if (p->op[op].kernel.kind == EMP_KERNEL_CONV) return true;
    }
    return false;
}

static emp_status open_libraries(emp_cuda_work *w, const emp_replay_plan *plan,
                                 emp_error *err)
{
    CUBLAS_CHECK(cublasCreate(&w->products));
    CUBLAS_CHECK(cublasSetStream(w->products, w->stream));
    CUBLAS_CHECK(cublasSetMathMode(w->products, CUBLAS_DEFAULT_MATH)); /* no TF32 */
    if (!has_convolutions(plan)) return EMP_OK;
    EMP_CUDA_CHECK(w->device, cudaMalloc((void **)&w->scratch, SCRATCH_BYTES));
    return emp_cuda_conv_create(&w->conv, plan->op_count, w->device, w->stream, err);
}

emp_status emp_cuda_work_create(emp_cuda_work **out, const emp_replay_plan *plan,
                                const char *device, cudaStream_t stream, emp_error *err)
{
    emp_cuda_work *w = EMP_NEW(emp_cuda_work);

    *out = NULL;
    if (w == NULL) return EMP_ERROR(EMP_ENOMEM, "work of %s", device);
    w->device = device;
    w->stream = stream;
    emp_status st = open_libraries(w, plan, err);
    if (st == EMP_OK)
        *out = w;
    else
        emp_cuda_work_destroy(w);
    return st;
}

void emp_cuda_work_destroy(emp_cuda_work *w)
{
    if (w == NULL) return;
    emp_cuda_conv_destroy(w->conv);
    if (w->products != NULL) cublasDestroy(w->products);
    cudaFree(w->scratch);
    emp_free(w);
}

/* c = alpha a b + beta c for row-major matrices: cuBLAS's are column-major, and of those it
 * is the product of the transposed ones, in the other order. */
static emp_status multiply(emp_cuda_work *w, bool ta, bool tb, int64_t m, int64_t n,
                           int64_t k, float alpha, const float *a, const float *b,
                           float beta, float *c, int64_t batch, emp_error *err)
{
    cublasOperation_t op_a = ta ? CUBLAS_OP_T : CUBLAS_OP_N;
    cublasOperation_t op_b = tb ? CUBLAS_OP_T : CUBLAS_OP_N;
    int               lda = (int)(ta ? m : k), ldb = (int)(tb ? k : n);

    if (batch == 1)
        CUBLAS_CHECK(cublasSgemm(w->products, op_b, op_a, (int)n, (int)m, (int)k, &alpha,
                                 b, ldb, a, lda, &beta, c, (int)n));
    else
        CUBLAS_CHECK(cublasSgemmStridedBatched(
            w->products, op_b, op_a, (int)n, (int)m, (int)k, &alpha, b, ldb, k * n, a,
            lda, m * k, &beta, c, (int)n, m * n, (int)batch));
    return EMP_OK;
}

static float scale_of(int64_t terms) { return 1.0f / sqrtf((float)terms); }

static emp_status product(emp_cuda_work *w, const emp_kernel_call *call, emp_error *err)
{
    const int64_t *s = call->kernel->size;

    return multiply(w, call->kernel->variant & EMP_PRODUCT_TRANSPOSE_A,
                    call->kernel->variant & EMP_PRODUCT_TRANSPOSE_B, s[EMP_PRODUCT_M],
                    s[EMP_PRODUCT_N], s[EMP_PRODUCT_K], scale_of(s[EMP_PRODUCT_K]),
                    (const float *)call->input[s[EMP_PRODUCT_A]].data,
                    (const float *)call->input[s[EMP_PRODUCT_B]].data, 0.0f,
                    (float *)call->output[0].data, s[EMP_PRODUCT_BATCH], err);
}

/* A convolution as products over blocks of pixels. */
struct blocks {
    int64_t k, f, pixels, size; /* size: pixels of a block */
    float  *rows, *results;
};

static struct blocks blocks_of(const emp_cuda_work *w, const emp_kernel_call *call)
{
    const int64_t *s = call->kernel->size;
    struct blocks  b = {.k = s[EMP_CONV_KH] * s[EMP_CONV_KW] * s[EMP_CONV_C],
                        .f = s[EMP_CONV_F],
                        .pixels = s[EMP_CONV_N] * s[EMP_CONV_OH] * s[EMP_CONV_OW]};
    bool           is_large = call->workspace_bytes > SCRATCH_BYTES;
    int64_t        floats = (is_large ? call->workspace_bytes : SCRATCH_BYTES) / 4;

    b.rows = is_large ? (float *)call->workspace : w->scratch;
    b.size = floats / (b.k + b.f);
    if (b.size > b.pixels) b.size = b.pixels;
    b.results = b.rows + b.size * b.k;
    return b;
}

static emp_status conv_block(emp_cuda_work *w, const emp_kernel_call *call,
                             const struct blocks *b, int64_t first, emp_error *err)
{
    int64_t      count = b->pixels - first < b->size ? b->pixels - first : b->size;
    const float *in0 = (const float *)call->input[0].data;
    const float *in1 = (const float *)call->input[1].data;
    const float *in2 = call->input_count > 2 ? (const float *)call->input[2].data : NULL;
    float       *to = (float *)call->output[0].data;
    const int64_t *s = call->kernel->size;
    int64_t        taps = s[EMP_CONV_KH] * s[EMP_CONV_KW];

    switch (call->kernel->variant & EMP_CONV_DIRECTION) {
    case EMP_CONV_FORWARD:
        EMP_CUDA_CHECK(w->device, emp_cuda_im2col(w->stream, call->kernel, in0, first,
                                                  count, b->rows));
        EMP_CHECK(multiply(w, false, false, count, b->f, b->k, scale_of(b->k), b->rows,
                           in1, 0.0f, b->results, 1, err));
        EMP_CUDA_CHECK(w->device, emp_cuda_rows_to(w->stream, call->kernel, b->results,
                                                   first, count, to));
        break;
    case EMP_CONV_INPUT:
        EMP_CUDA_CHECK(w->device, emp_cuda_rows_of(w->stream, call->kernel, in2, first,
                                                   count, b->results));
        EMP_CHECK(multiply(w, false, true, count, b->k, b->f, scale_of(taps * b->f),
                           b->results, in1, 0.0f, b->rows, 1, err));
        EMP_CUDA_CHECK(w->device, emp_cuda_col2im(w->stream, call->kernel, b->rows, first,
                                                  count, to));
        break;
    default:
        EMP_CUDA_CHECK(w->device, emp_cuda_im2col(w->stream, call->kernel, in0, first,
                                                  count, b->rows));
        EMP_CUDA_CHECK(w->device, emp_cuda_rows_of(w->stream, call->kernel, in2, first,
                                                   count, b->results));
        EMP_CHECK(multiply(w, true, false, b->k, b->f, count, scale_of(b->pixels),
                           b->rows, b->results, first == 0 ? 0.0f : 1.0f, to, 1, err));
    }
    return EMP_OK;
}

static emp_status conv(emp_cuda_work *w, int32_t op, const emp_kernel_call *call,
                       emp_error *err)
{
    bool          is_done = false;
    struct blocks b = blocks_of(w, call);

    if (w->conv != NULL)
        EMP_CHECK(emp_cuda_conv_enqueue(w->conv, op, call, &is_done, err));
    if (is_done) return EMP_OK;
    if ((call->kernel->variant & EMP_CONV_DIRECTION) == EMP_CONV_INPUT)
        EMP_CUDA_CHECK(w->device,
                       cudaMemsetAsync(call->output[0].data, 0,
                                       (size_t)call->output[0].bytes, w->stream));
    for (int64_t first = 0; first < b.pixels; first += b.size)
        EMP_CHECK(conv_block(w, call, &b, first, err));
    return EMP_OK;
}

emp_status emp_cuda_work_enqueue(emp_cuda_work *w, int32_t op,
                                 const emp_kernel_call *call, emp_error *err)
{
    switch (call->kernel->kind) {
    case EMP_KERNEL_PRODUCT: EMP_CHECK(product(w, call, err)); break;
    case EMP_KERNEL_CONV: EMP_CHECK(conv(w, op, call, err)); break;
    case EMP_KERNEL_MAP: EMP_CUDA_CHECK(w->device, emp_cuda_map(w->stream, call)); break;
    case EMP_KERNEL_REDUCE:
        EMP_CUDA_CHECK(w->device, emp_cuda_reduce(w->stream, call));
        break;
    case EMP_KERNEL_MOVE:
        EMP_CUDA_CHECK(w->device, emp_cuda_move(w->stream, call));
        break;
    case EMP_KERNEL_LOOKUP:
        EMP_CUDA_CHECK(w->device, emp_cuda_lookup(w->stream, call));
        break;
    case EMP_KERNEL_SCATTER:
        EMP_CUDA_CHECK(w->device, emp_cuda_scatter(w->stream, call));
        break;
    case EMP_KERNEL_FILL:
        EMP_CUDA_CHECK(w->device, emp_cuda_fill(w->stream, call));
        break;
    case EMP_KERNEL_SOFTMAX:
        EMP_CUDA_CHECK(w->device, emp_cuda_softmax(w->stream, call));
        break;
    case EMP_KERNEL_NORM:
        EMP_CUDA_CHECK(w->device, emp_cuda_norm(w->stream, call));
        break;
    case EMP_KERNEL_POOL:
        EMP_CUDA_CHECK(w->device, emp_cuda_pool(w->stream, call));
        break;
    case EMP_KERNEL_UPDATE:
        EMP_CUDA_CHECK(w->device, emp_cuda_update(w->stream, call));
        break;
    default: break; /* nothing, and what the host does */
    }
    return EMP_OK;
}

const char *emp_cuda_work_libraries(void)
{
    static char text[64];

    snprintf(text, sizeof text, "cuBLAS %d.%d%s", CUBLAS_VER_MAJOR, CUBLAS_VER_MINOR,
             emp_cuda_conv_version() > 0 ? ", cuDNN" : "");
    return text;
}

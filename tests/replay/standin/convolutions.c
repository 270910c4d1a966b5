// SPDX-License-Identifier: GPL-3.0-or-later
/* Convolutions of the stand-in: a matrix product for each image and each place of the window. */
#include <stdlib.h>
#include <string.h>

#include "tests/replay/standin/cudnn.h"
#include "tests/replay/standin/internal.h"
#include "tests/replay/standin/products.h"

struct standin_convolutions {
    cudaStream_t stream;
};

struct standin_tensor {
    int n, c, h, w; /* of a filter: results, inputs, height, width */
};

struct standin_window {
    int             pad_h, pad_w, stride_h, stride_w;
    cudnnMathType_t math;
};

size_t cudnnGetVersion(void) { return 9000; }

const char *cudnnGetErrorString(cudnnStatus_t code)
{
    switch (code) {
    case CUDNN_STATUS_SUCCESS: return "success";
    case CUDNN_STATUS_ALLOC_FAILED: return "allocation failed";
    case CUDNN_STATUS_BAD_PARAM: return "bad parameter";
    case CUDNN_STATUS_NOT_SUPPORTED: return "not supported";
    default: return "execution failed";
    }
}

/* ---- handles and descriptors ---- */

static cudnnStatus_t make(void **thing, size_t bytes)
{
    if (standin_fails()) return CUDNN_STATUS_ALLOC_FAILED;
    *thing = calloc(1, bytes);
    if (*thing == NULL) return CUDNN_STATUS_ALLOC_FAILED;
    standin_count(1);
    return CUDNN_STATUS_SUCCESS;
}

static cudnnStatus_t destroy(void *thing)
{
    free(thing);
    standin_count(-1);
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnCreate(cudnnHandle_t *handle)
{
    return make((void **)handle, sizeof **handle);
}

cudnnStatus_t cudnnDestroy(cudnnHandle_t handle) { return destroy(handle); }

cudnnStatus_t cudnnSetStream(cudnnHandle_t handle, cudaStream_t stream)
{
    if (standin_fails()) return CUDNN_STATUS_EXECUTION_FAILED;
    handle->stream = stream;
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnCreateTensorDescriptor(cudnnTensorDescriptor_t *tensor)
{
    return make((void **)tensor, sizeof **tensor);
}

cudnnStatus_t cudnnDestroyTensorDescriptor(cudnnTensorDescriptor_t tensor)
{
    return destroy(tensor);
}

cudnnStatus_t cudnnCreateFilterDescriptor(cudnnFilterDescriptor_t *filter)
{
    return make((void **)filter, sizeof **filter);
}

cudnnStatus_t cudnnDestroyFilterDescriptor(cudnnFilterDescriptor_t filter)
{
    return destroy(filter);
}

cudnnStatus_t cudnnCreateConvolutionDescriptor(cudnnConvolutionDescriptor_t *conv)
{
    return make((void **)conv, sizeof **conv);
}

cudnnStatus_t cudnnDestroyConvolutionDescriptor(cudnnConvolutionDescriptor_t conv)
{
    return destroy(conv);
}

cudnnStatus_t cudnnSetTensor4dDescriptor(cudnnTensorDescriptor_t tensor,
                                         cudnnTensorFormat_t format, cudnnDataType_t type,
                                         int n, int c, int h, int w)
{
    if (standin_fails()) return CUDNN_STATUS_EXECUTION_FAILED;
    if (format != CUDNN_TENSOR_NCHW || type != CUDNN_DATA_FLOAT || n < 1 || c < 1 ||
        h < 1 || w < 1)
        return CUDNN_STATUS_BAD_PARAM;
    *tensor = (struct standin_tensor){n, c, h, w};
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnSetFilter4dDescriptor(cudnnFilterDescriptor_t filter,
                                         cudnnDataType_t type, cudnnTensorFormat_t format,
                                         int k, int c, int h, int w)
{
    return cudnnSetTensor4dDescriptor(filter, format, type, k, c, h, w);
}

cudnnStatus_t cudnnSetConvolution2dDescriptor(cudnnConvolutionDescriptor_t conv,
                                              int pad_h, int pad_w, int stride_h,
                                              int stride_w, int dilation_h,
                                              int dilation_w, cudnnConvolutionMode_t mode,
                                              cudnnDataType_t type)
{
    if (standin_fails()) return CUDNN_STATUS_EXECUTION_FAILED;
    if (pad_h < 0 || pad_w < 0 || stride_h < 1 || stride_w < 1 ||
        type != CUDNN_DATA_FLOAT)
        return CUDNN_STATUS_BAD_PARAM;
    if (dilation_h != 1 || dilation_w != 1 || mode != CUDNN_CROSS_CORRELATION)
        return CUDNN_STATUS_NOT_SUPPORTED;
    *conv = (struct standin_window){pad_h, pad_w, stride_h, stride_w, CUDNN_DEFAULT_MATH};
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnSetConvolutionMathType(cudnnConvolutionDescriptor_t conv,
                                          cudnnMathType_t              type)
{
    if (standin_fails()) return CUDNN_STATUS_EXECUTION_FAILED;
    conv->math = type;
    return CUDNN_STATUS_SUCCESS;
}

/* ---- algorithms ---- */

/* Where a window's row or column meets the image; cuDNN's rule for sizes. */
static int result_size(int size, int pad, int window, int stride)
{
    return (size + 2 * pad - window) / stride + 1;
}

static bool do_sizes_agree(const struct standin_tensor *x, const struct standin_tensor *w,
                           const struct standin_window *v, const struct standin_tensor *y)
{
    return x->n == y->n && x->c == w->c && y->c == w->n &&
           y->h == result_size(x->h, v->pad_h, w->h, v->stride_h) &&
           y->w == result_size(x->w, v->pad_w, w->w, v->stride_w);
}

/* First come those that must not be chosen: one that is not supported, one that takes tensor
 * cores, one that wants more memory than there is. */
#define RANK(ranked, wanted, count, algorithm)                       \
    do {                                                             \
        const size_t endless = SIZE_MAX / 4;                         \
        const struct {                                               \
            cudnnStatus_t   status;                                  \
            size_t          memory;                                  \
            cudnnMathType_t math;                                    \
        } list[] = {{CUDNN_STATUS_NOT_SUPPORTED, 0, CUDNN_FMA_MATH}, \
                    {CUDNN_STATUS_SUCCESS, 0, CUDNN_TENSOR_OP_MATH}, \
                    {CUDNN_STATUS_SUCCESS, endless, CUDNN_FMA_MATH}, \
                    {CUDNN_STATUS_SUCCESS, 0, CUDNN_FMA_MATH}};      \
        *(count) = (wanted) < 4 ? (wanted) : 4;                      \
        for (int i_ = 0; i_ < *(count); i_++) {                      \
            (ranked)[i_].algo = (algorithm);                         \
            (ranked)[i_].status = list[i_].status;                   \
            (ranked)[i_].memory = list[i_].memory;                   \
            (ranked)[i_].mathType = list[i_].math;                   \
        }                                                            \
    } while (0)

cudnnStatus_t cudnnGetConvolutionForwardAlgorithm_v7(
    cudnnHandle_t handle, cudnnTensorDescriptor_t x, cudnnFilterDescriptor_t w,
    cudnnConvolutionDescriptor_t conv, cudnnTensorDescriptor_t y, int wanted, int *count,
    cudnnConvolutionFwdAlgoPerf_t *ranked)
{
    (void)handle;
    if (standin_fails()) return CUDNN_STATUS_EXECUTION_FAILED;
    if (!do_sizes_agree(x, w, conv, y)) return CUDNN_STATUS_BAD_PARAM;
    RANK(ranked, wanted, count, STANDIN_FORWARD_ALGORITHM);
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnGetConvolutionBackwardDataAlgorithm_v7(
    cudnnHandle_t handle, cudnnFilterDescriptor_t w, cudnnTensorDescriptor_t dy,
    cudnnConvolutionDescriptor_t conv, cudnnTensorDescriptor_t dx, int wanted, int *count,
    cudnnConvolutionBwdDataAlgoPerf_t *ranked)
{
    (void)handle;
    if (standin_fails()) return CUDNN_STATUS_EXECUTION_FAILED;
    if (!do_sizes_agree(dx, w, conv, dy)) return CUDNN_STATUS_BAD_PARAM;
    RANK(ranked, wanted, count, STANDIN_INPUT_ALGORITHM);
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnGetConvolutionBackwardFilterAlgorithm_v7(
    cudnnHandle_t handle, cudnnTensorDescriptor_t x, cudnnTensorDescriptor_t dy,
    cudnnConvolutionDescriptor_t conv, cudnnFilterDescriptor_t dw, int wanted, int *count,
    cudnnConvolutionBwdFilterAlgoPerf_t *ranked)
{
    (void)handle;
    if (standin_fails()) return CUDNN_STATUS_EXECUTION_FAILED;
    if (!do_sizes_agree(x, dw, conv, dy)) return CUDNN_STATUS_BAD_PARAM;
    RANK(ranked, wanted, count, STANDIN_FILTER_ALGORITHM);
    return CUDNN_STATUS_SUCCESS;
}

/* ---- work ---- */

enum direction { FORWARD, TO_INPUT, TO_FILTER };

struct convolution {
    enum direction        direction;
    float                 alpha;
    struct standin_tensor x, w, y;
    struct standin_window window;
    float                *x_data, *w_data, *y_data;
};

/* Pixels of an image under one place of the window, (inputs, results); or adds them back. */
static void gather(const struct convolution *v, float *image, int ky, int kx,
                   float *pixels, bool is_back)
{
    for (int c = 0; c < v->x.c; c++) {
        for (int oy = 0; oy < v->y.h; oy++) {
            int y = oy * v->window.stride_h + ky - v->window.pad_h;
            for (int ox = 0; ox < v->y.w; ox++, pixels++) {
                int    x = ox * v->window.stride_w + kx - v->window.pad_w;
                bool   is_inside = y >= 0 && y < v->x.h && x >= 0 && x < v->x.w;
                float *at = image +
                            ((size_t)c * (size_t)v->x.h + (size_t)(is_inside ? y : 0)) *
                                (size_t)v->x.w +
                            (is_inside ? x : 0);
                if (is_back && is_inside) *at += *pixels;
                if (!is_back) *pixels = is_inside ? *at : 0.0f;
            }
        }
    }
}

/* One place of the window of all filters, (results, inputs); or adds it back. */
static void take_tap(const struct convolution *v, int tap, float *taps, bool is_back)
{
    const int count = v->w.h * v->w.w;

    for (int i = 0; i < v->w.n * v->w.c; i++) {
        float *at = v->w_data + (size_t)i * (size_t)count + tap;
        if (is_back)
            *at += taps[i];
        else
            taps[i] = *at;
    }
}

/* Row-major c [m x n] of operands of so many columns each, by a product with columns first. */
static void multiply(bool ta, bool tb, int m, int n, int k, float alpha, const float *a,
                     const float *b, float beta, float *c)
{
    const standin_product p = {tb,         ta, n,          m,    k, alpha, b,
                               tb ? k : n, a,  ta ? m : k, beta, c, n};

    standin_multiply(&p);
}

static void convolve_image(const struct convolution *v, int image, float *pixels,
                           float *taps)
{
    const int    p = v->y.h * v->y.w, f = v->w.n, c = v->w.c;
    float *const x = v->x_data + (size_t)image * (size_t)(v->x.c * v->x.h * v->x.w);
    float *const y = v->y_data + (size_t)image * (size_t)(f * p);

    for (int tap = 0; tap < v->w.h * v->w.w; tap++) {
        const int ky = tap / v->w.w, kx = tap % v->w.w;
        if (v->direction != TO_FILTER) take_tap(v, tap, taps, false);
        if (v->direction != TO_INPUT) gather(v, x, ky, kx, pixels, false);
        if (v->direction == FORWARD) {
            multiply(false, false, f, p, c, v->alpha, taps, pixels, tap > 0 ? 1.0f : 0.0f,
                     y);
        } else if (v->direction == TO_INPUT) {
            multiply(true, false, c, p, f, v->alpha, taps, y, 0.0f, pixels);
            gather(v, x, ky, kx, pixels, true);
        } else {
            multiply(false, true, f, c, p, v->alpha, y, pixels, 0.0f, taps);
            take_tap(v, tap, taps, true);
        }
    }
}

static size_t size_of(const struct standin_tensor *t)
{
    return (size_t)t->n * (size_t)t->c * (size_t)t->h * (size_t)t->w;
}

static void convolve(void *data)
{
    struct convolution *v = data;
    float              *pixels =
        calloc((size_t)v->x.c * (size_t)v->y.h * (size_t)v->y.w, sizeof *pixels);
    float *taps = calloc((size_t)v->w.n * (size_t)v->w.c, sizeof *taps);

    if (pixels == NULL || taps == NULL) abort();
    if (v->direction == TO_INPUT)
        memset(v->x_data, 0, size_of(&v->x) * sizeof *v->x_data);
    if (v->direction == TO_FILTER)
        memset(v->w_data, 0, size_of(&v->w) * sizeof *v->w_data);
    for (int image = 0; image < v->x.n; image++) convolve_image(v, image, pixels, taps);
    free(pixels);
    free(taps);
    free(v);
}

static cudnnStatus_t enqueue(cudnnHandle_t handle, struct convolution what,
                             const void *beta)
{
    struct convolution *v;

    if (standin_fails() || standin_stream_device(handle->stream) != standin_device())
        return CUDNN_STATUS_EXECUTION_FAILED;
    if (!do_sizes_agree(&what.x, &what.w, &what.window, &what.y) ||
        *(const float *)beta != 0.0f || what.window.math != CUDNN_FMA_MATH)
        return CUDNN_STATUS_BAD_PARAM;
    v = malloc(sizeof *v);
    if (v == NULL) return CUDNN_STATUS_ALLOC_FAILED;
    *v = what;
    standin_enqueue(handle->stream, convolve, v);
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnConvolutionForward(cudnnHandle_t handle, const void *alpha,
                                      cudnnTensorDescriptor_t x, const void *x_data,
                                      cudnnFilterDescriptor_t w, const void *w_data,
                                      cudnnConvolutionDescriptor_t conv,
                                      cudnnConvolutionFwdAlgo_t algorithm, void *room,
                                      size_t room_bytes, const void *beta,
                                      cudnnTensorDescriptor_t y, void *y_data)
{
    (void)algorithm, (void)room, (void)room_bytes;
    return enqueue(handle,
                   (struct convolution){FORWARD, *(const float *)alpha, *x, *w, *y, *conv,
                                        (float *)x_data, (float *)w_data,
                                        (float *)y_data},
                   beta);
}

cudnnStatus_t cudnnConvolutionBackwardData(
    cudnnHandle_t handle, const void *alpha, cudnnFilterDescriptor_t w,
    const void *w_data, cudnnTensorDescriptor_t dy, const void *dy_data,
    cudnnConvolutionDescriptor_t conv, cudnnConvolutionBwdDataAlgo_t algorithm,
    void *room, size_t room_bytes, const void *beta, cudnnTensorDescriptor_t dx,
    void *dx_data)
{
    (void)algorithm, (void)room, (void)room_bytes;
    return enqueue(handle,
                   (struct convolution){TO_INPUT, *(const float *)alpha, *dx, *w, *dy,
                                        *conv, (float *)dx_data, (float *)w_data,
                                        (float *)dy_data},
                   beta);
}

cudnnStatus_t cudnnConvolutionBackwardFilter(
    cudnnHandle_t handle, const void *alpha, cudnnTensorDescriptor_t x,
    const void *x_data, cudnnTensorDescriptor_t dy, const void *dy_data,
    cudnnConvolutionDescriptor_t conv, cudnnConvolutionBwdFilterAlgo_t algorithm,
    void *room, size_t room_bytes, const void *beta, cudnnFilterDescriptor_t dw,
    void *dw_data)
{
    (void)algorithm, (void)room, (void)room_bytes;
    return enqueue(handle,
                   (struct convolution){TO_FILTER, *(const float *)alpha, *x, *dw, *dy,
                                        *conv, (float *)x_data, (float *)dw_data,
                                        (float *)dy_data},
                   beta);
}

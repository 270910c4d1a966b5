// SPDX-License-Identifier: GPL-3.0-or-later
/* cuDNN's legacy convolution interface, which versions 7 to 9 have. NCHW throughout:
 * it is the layout that all its algorithms take. */
#include "replay/cuda/work.h"

#include <cudnn.h>
#include <math.h>

#include "base/mem.h"
#include "replay/cuda/kernels.h"

enum { MOST_ALGORITHMS = 16 };

/* The facts that are determined about an op when it is first enqueued. */
struct form {
    bool                         is_known, is_possible;
    cudnnTensorDescriptor_t      image, out;
    cudnnFilterDescriptor_t      filter;
    cudnnConvolutionDescriptor_t conv;
    int                          algorithm;                   /* of its direction */
    int64_t filter_at, image_at, out_at, rest_at, rest_bytes; /* in the workspace */
};

struct emp_cuda_conv {
    cudnnHandle_t handle;
    cudaStream_t  stream;
    const char   *device;
    struct form  *form; /* [op] */
    int32_t       op_count;
};

#define CUDNN_CHECK(call) \
    EMP_CUDA_LIBRARY_CHECK(v->device, cudnnStatus_t, cudnnGetErrorString, call)

/* cuDNN 9 has a thousand codes for it, by reason. */
static bool is_unsupported(cudnnStatus_t code)
{
    const int first = (int)CUDNN_STATUS_NOT_SUPPORTED;

    return (int)code == first || (first >= 1000 && (int)code / 1000 == first / 1000);
}

/* As CUDNN_CHECK, but what cuDNN does not support is no error: the op is not possible
 * here. */
#define CUDNN_CHECK_IF_SUPPORTED(form, call)                                \
    do {                                                                    \
        cudnnStatus_t answer = (call);                                      \
        if (is_unsupported(answer)) {                                       \
            (form)->is_possible = false;                                    \
            return EMP_OK;                                                  \
        }                                                                   \
        if (answer != CUDNN_STATUS_SUCCESS)                                 \
            return EMP_ERROR(EMP_EEXTERNAL, "%s: %s: %s", v->device, #call, \
                             cudnnGetErrorString(answer));                  \
    } while (0)

static emp_status open_library(emp_cuda_conv *v, emp_error *err)
{
    CUDNN_CHECK(cudnnCreate(&v->handle));
    CUDNN_CHECK(cudnnSetStream(v->handle, v->stream));
    return EMP_OK;
}

emp_status emp_cuda_conv_create(emp_cuda_conv **out, int32_t op_count, const char *device,
                                cudaStream_t stream, emp_error *err)
{
    emp_status     st = EMP_OK;
    emp_cuda_conv *v = EMP_NEW(emp_cuda_conv);

    *out = NULL;
    if (v == NULL) EMP_FAIL(EMP_ENOMEM, "convolutions of %s", device);
    v->device = device;
    v->stream = stream;
    v->op_count = op_count;
    EMP_TRY(EMP_ALLOC(v->form, (size_t)op_count));
    EMP_TRY(open_library(v, err));
    *out = v;
    v = NULL;

cleanup:
    emp_cuda_conv_destroy(v);
    return st;
}

void emp_cuda_conv_destroy(emp_cuda_conv *v)
{
    if (v == NULL) return;
    for (int32_t op = 0; v->form != NULL && op < v->op_count; op++) {
        struct form *f = &v->form[op];
        if (f->image != NULL) cudnnDestroyTensorDescriptor(f->image);
        if (f->out != NULL) cudnnDestroyTensorDescriptor(f->out);
        if (f->filter != NULL) cudnnDestroyFilterDescriptor(f->filter);
        if (f->conv != NULL) cudnnDestroyConvolutionDescriptor(f->conv);
    }
    if (v->handle != NULL) cudnnDestroy(v->handle);
    emp_free(v->form);
    emp_free(v);
}

/* cuDNN pads both sides alike. */
static bool has_even_padding(const int64_t *s)
{
    return (s[EMP_CONV_H] + 2 * s[EMP_CONV_PH] - s[EMP_CONV_KH]) / s[EMP_CONV_SH] + 1 ==
               s[EMP_CONV_OH] &&
           (s[EMP_CONV_W] + 2 * s[EMP_CONV_PW] - s[EMP_CONV_KW]) / s[EMP_CONV_SW] + 1 ==
               s[EMP_CONV_OW];
}

/* The workspace: the filter in cuDNN's layout, NHWC operands as NCHW, cuDNN's own. */
static bool lay_out(struct form *f, const emp_kernel_call *call)
{
    const int64_t *s = call->kernel->size;
    bool           is_nchw = call->kernel->variant & EMP_CONV_NCHW;
    int64_t filter = 4 * s[EMP_CONV_KH] * s[EMP_CONV_KW] * s[EMP_CONV_C] * s[EMP_CONV_F];
    int64_t image = 4 * s[EMP_CONV_N] * s[EMP_CONV_C] * s[EMP_CONV_H] * s[EMP_CONV_W];
    int64_t out = 4 * s[EMP_CONV_N] * s[EMP_CONV_F] * s[EMP_CONV_OH] * s[EMP_CONV_OW];

    f->filter_at = 0;
    f->image_at = emp_replay_round_up(filter);
    f->out_at = f->image_at + (is_nchw ? 0 : emp_replay_round_up(image));
    f->rest_at = f->out_at + (is_nchw ? 0 : emp_replay_round_up(out));
    f->rest_bytes = emp_replay_round_up(call->workspace_bytes) - f->rest_at;
    return call->workspace != NULL && f->rest_bytes >= 0;
}

static emp_status describe(emp_cuda_conv *v, struct form *f, const int64_t *s,
                           emp_error *err)
{
    CUDNN_CHECK(cudnnCreateTensorDescriptor(&f->image));
    CUDNN_CHECK(cudnnCreateTensorDescriptor(&f->out));
    CUDNN_CHECK(cudnnCreateFilterDescriptor(&f->filter));
    CUDNN_CHECK(cudnnCreateConvolutionDescriptor(&f->conv));
    CUDNN_CHECK_IF_SUPPORTED(
        f, cudnnSetTensor4dDescriptor(f->image, CUDNN_TENSOR_NCHW, CUDNN_DATA_FLOAT,
                                      (int)s[EMP_CONV_N], (int)s[EMP_CONV_C],
                                      (int)s[EMP_CONV_H], (int)s[EMP_CONV_W]));
    CUDNN_CHECK_IF_SUPPORTED(
        f, cudnnSetTensor4dDescriptor(f->out, CUDNN_TENSOR_NCHW, CUDNN_DATA_FLOAT,
                                      (int)s[EMP_CONV_N], (int)s[EMP_CONV_F],
                                      (int)s[EMP_CONV_OH], (int)s[EMP_CONV_OW]));
    CUDNN_CHECK_IF_SUPPORTED(
        f, cudnnSetFilter4dDescriptor(f->filter, CUDNN_DATA_FLOAT, CUDNN_TENSOR_NCHW,
                                      (int)s[EMP_CONV_F], (int)s[EMP_CONV_C],
                                      (int)s[EMP_CONV_KH], (int)s[EMP_CONV_KW]));
    CUDNN_CHECK_IF_SUPPORTED(f, cudnnSetConvolution2dDescriptor(
                                    f->conv, (int)s[EMP_CONV_PH], (int)s[EMP_CONV_PW],
                                    (int)s[EMP_CONV_SH], (int)s[EMP_CONV_SW], 1, 1,
                                    CUDNN_CROSS_CORRELATION, CUDNN_DATA_FLOAT));
    CUDNN_CHECK_IF_SUPPORTED(f, cudnnSetConvolutionMathType(f->conv, CUDNN_FMA_MATH));
    return EMP_OK;
}

/* The first of cuDNN's own ranking whose workspace there is, without tensor cores;
 * algorithms are numbered per direction. Whether there is one. */
#define CHOOSE(results, count, chosen, is_found)                          \
    do {                                                                  \
        for (int i = 0; i < (count) && !(is_found); i++) {                \
            (is_found) = (results)[i].status == CUDNN_STATUS_SUCCESS &&   \
                         (int64_t)(results)[i].memory <= f->rest_bytes && \
                         ((results)[i].mathType == CUDNN_FMA_MATH ||      \
                          (results)[i].mathType == CUDNN_DEFAULT_MATH);   \
            if (is_found) *(chosen) = (int)(results)[i].algo;             \
        }                                                                 \
    } while (0)

static emp_status choose(emp_cuda_conv *v, struct form *f, int32_t direction,
                         emp_error *err)
{
    int                                 count = 0;
    cudnnConvolutionFwdAlgoPerf_t       forward[MOST_ALGORITHMS];
    cudnnConvolutionBwdDataAlgoPerf_t   input[MOST_ALGORITHMS];
    cudnnConvolutionBwdFilterAlgoPerf_t filter[MOST_ALGORITHMS];

    if (direction == EMP_CONV_FORWARD) {
        CUDNN_CHECK_IF_SUPPORTED(f, cudnnGetConvolutionForwardAlgorithm_v7(
                                        v->handle, f->image, f->filter, f->conv, f->out,
                                        MOST_ALGORITHMS, &count, forward));
        CHOOSE(forward, count, &f->algorithm, f->is_possible);
    } else if (direction == EMP_CONV_INPUT) {
        CUDNN_CHECK_IF_SUPPORTED(f, cudnnGetConvolutionBackwardDataAlgorithm_v7(
                                        v->handle, f->filter, f->out, f->conv, f->image,
                                        MOST_ALGORITHMS, &count, input));
        CHOOSE(input, count, &f->algorithm, f->is_possible);
    } else {
        CUDNN_CHECK_IF_SUPPORTED(f, cudnnGetConvolutionBackwardFilterAlgorithm_v7(
                                        v->handle, f->image, f->out, f->conv, f->filter,
                                        MOST_ALGORITHMS, &count, filter));
        CHOOSE(filter, count, &f->algorithm, f->is_possible);
    }
    return EMP_OK;
}

static emp_status learn(emp_cuda_conv *v, struct form *f, const emp_kernel_call *call,
                        emp_error *err)
{
    const int64_t *s = call->kernel->size;

    f->is_known = true;
    if (!has_even_padding(s) || !lay_out(f, call)) return EMP_OK;
    f->is_possible = true;
    EMP_CHECK(describe(v, f, s, err));
    if (!f->is_possible) return EMP_OK;
    f->is_possible = false; /* until there is an algorithm */
    return choose(v, f, call->kernel->variant & EMP_CONV_DIRECTION, err);
}

/* Operands where cuDNN finds them. */
struct operands {
    float *image, *filter, *out;
};

/* NHWC -> NCHW is a transposition of (pixels, channels) for each image. */
static emp_status change_images(emp_cuda_conv *v, const float *from, float *to,
                                int64_t images, int64_t pixels, int64_t channels,
                                bool is_back, emp_error *err)
{
    EMP_CUDA_CHECK(v->device, emp_cuda_transpose(v->stream, from, to, images,
                                                 is_back ? channels : pixels,
                                                 is_back ? pixels : channels));
    return EMP_OK;
}

static emp_status run(emp_cuda_conv *v, struct form *f, const emp_kernel *kernel,
                      const struct operands *at, void *rest, emp_error *err)
{
    int32_t     direction = kernel->variant & EMP_CONV_DIRECTION;
    const float zero = 0.0f;
    const float scale = (float)(1.0 / sqrt(emp_kernel_terms(kernel)));
    size_t      bytes = (size_t)f->rest_bytes;

    if (direction == EMP_CONV_FORWARD)
        CUDNN_CHECK_IF_SUPPORTED(
            f, cudnnConvolutionForward(v->handle, &scale, f->image, at->image, f->filter,
                                       at->filter, f->conv,
                                       (cudnnConvolutionFwdAlgo_t)f->algorithm, rest,
                                       bytes, &zero, f->out, at->out));
    else if (direction == EMP_CONV_INPUT)
        CUDNN_CHECK_IF_SUPPORTED(
            f, cudnnConvolutionBackwardData(v->handle, &scale, f->filter, at->filter,
                                            f->out, at->out, f->conv,
                                            (cudnnConvolutionBwdDataAlgo_t)f->algorithm,
                                            rest, bytes, &zero, f->image, at->image));
    else
        CUDNN_CHECK_IF_SUPPORTED(f, cudnnConvolutionBackwardFilter(
                                        v->handle, &scale, f->image, at->image, f->out,
                                        at->out, f->conv,
                                        (cudnnConvolutionBwdFilterAlgo_t)f->algorithm,
                                        rest, bytes, &zero, f->filter, at->filter));
    return EMP_OK;
}

/* Changes layouts there, runs, changes the result back. Where cuDNN cannot run it after all
 * only the workspace has changed, and the form is not possible. */
static emp_status enqueue(emp_cuda_conv *v, struct form *f, const emp_kernel_call *call,
                          emp_error *err)
{
    const int64_t  *s = call->kernel->size;
    int32_t         direction = call->kernel->variant & EMP_CONV_DIRECTION;
    bool            is_nhwc = !(call->kernel->variant & EMP_CONV_NCHW);
    int64_t         n = s[EMP_CONV_N], c = s[EMP_CONV_C], k = s[EMP_CONV_F];
    int64_t         in_pixels = s[EMP_CONV_H] * s[EMP_CONV_W];
    int64_t         out_pixels = s[EMP_CONV_OH] * s[EMP_CONV_OW];
    float          *room = (float *)call->workspace;
    float          *image = (float *)(direction == EMP_CONV_INPUT ? call->output[0].data
                                                                  : call->input[0].data);
    float          *filter = (float *)(direction == EMP_CONV_FILTER ? call->output[0].data
                                                                    : call->input[1].data);
    float          *out = (float *)(direction == EMP_CONV_FORWARD ? call->output[0].data
                                                                  : call->input[2].data);
    struct operands at = {is_nhwc ? room + f->image_at / 4 : image, room,
                          is_nhwc ? room + f->out_at / 4 : out};
    void           *rest = (char *)call->workspace + f->rest_at;

    if (direction != EMP_CONV_FILTER)
        EMP_CUDA_CHECK(v->device, emp_cuda_filter_layout(v->stream, call->kernel, filter,
                                                         room, false));
    if (is_nhwc && direction != EMP_CONV_INPUT)
        EMP_CHECK(change_images(v, image, at.image, n, in_pixels, c, false, err));
    if (is_nhwc && direction != EMP_CONV_FORWARD)
        EMP_CHECK(change_images(v, out, at.out, n, out_pixels, k, false, err));
    EMP_CHECK(run(v, f, call->kernel, &at, rest, err));
    if (!f->is_possible) return EMP_OK;
    if (direction == EMP_CONV_FILTER)
        EMP_CUDA_CHECK(v->device, emp_cuda_filter_layout(v->stream, call->kernel, room,
                                                         filter, true));
    if (is_nhwc && direction == EMP_CONV_INPUT)
        EMP_CHECK(change_images(v, at.image, image, n, in_pixels, c, true, err));
    if (is_nhwc && direction == EMP_CONV_FORWARD)
        EMP_CHECK(change_images(v, at.out, out, n, out_pixels, k, true, err));
    return EMP_OK;
}

emp_status emp_cuda_conv_enqueue(emp_cuda_conv *v, int32_t op,
                                 const emp_kernel_call *call, bool *is_done,
                                 emp_error *err)
{
    struct form *f = &v->form[op];

    if (!f->is_known) EMP_CHECK(learn(v, f, call, err));
    if (f->is_possible) EMP_CHECK(enqueue(v, f, call, err));
    *is_done = f->is_possible;
    return EMP_OK;
}

long emp_cuda_conv_version(void) { return (long)cudnnGetVersion(); }

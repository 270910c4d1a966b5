/** \file tests/replay/standin/cudnn.h
 * The part of cuDNN that replay/cuda uses (standin.h).
 */
#ifndef EMP_TESTS_REPLAY_STANDIN_CUDNN_H
#define EMP_TESTS_REPLAY_STANDIN_CUDNN_H

#include <stddef.h>

#include "tests/replay/standin/cuda_runtime_api.h"

typedef struct standin_convolutions *cudnnHandle_t;
typedef struct standin_tensor       *cudnnTensorDescriptor_t;
typedef struct standin_tensor       *cudnnFilterDescriptor_t;
typedef struct standin_window       *cudnnConvolutionDescriptor_t;

typedef enum {
    CUDNN_STATUS_SUCCESS = 0,
    CUDNN_STATUS_ALLOC_FAILED = 1001,
    CUDNN_STATUS_BAD_PARAM = 2000,
    CUDNN_STATUS_NOT_SUPPORTED = 3000,
    CUDNN_STATUS_EXECUTION_FAILED = 5000
} cudnnStatus_t;

typedef enum { CUDNN_TENSOR_NCHW } cudnnTensorFormat_t;
typedef enum { CUDNN_DATA_FLOAT } cudnnDataType_t;
typedef enum { CUDNN_CONVOLUTION, CUDNN_CROSS_CORRELATION } cudnnConvolutionMode_t;
typedef enum {
    CUDNN_DEFAULT_MATH,
    CUDNN_TENSOR_OP_MATH,
    CUDNN_FMA_MATH = 3
} cudnnMathType_t;
typedef enum { STANDIN_FORWARD_ALGORITHM } cudnnConvolutionFwdAlgo_t;
typedef enum { STANDIN_INPUT_ALGORITHM } cudnnConvolutionBwdDataAlgo_t;
typedef enum { STANDIN_FILTER_ALGORITHM } cudnnConvolutionBwdFilterAlgo_t;

/* An algorithm in cuDNN's ranking. */
#define STANDIN_RANKED(algorithm_type) \
    struct {                           \
        algorithm_type  algo;          \
        cudnnStatus_t   status;        \
        size_t          memory;        \
        cudnnMathType_t mathType;      \
    }
typedef STANDIN_RANKED(cudnnConvolutionFwdAlgo_t) cudnnConvolutionFwdAlgoPerf_t;
typedef STANDIN_RANKED(cudnnConvolutionBwdDataAlgo_t) cudnnConvolutionBwdDataAlgoPerf_t;
typedef STANDIN_RANKED(cudnnConvolutionBwdFilterAlgo_t)
    cudnnConvolutionBwdFilterAlgoPerf_t;

size_t        cudnnGetVersion(void);
const char   *cudnnGetErrorString(cudnnStatus_t code);
cudnnStatus_t cudnnCreate(cudnnHandle_t *handle);
cudnnStatus_t cudnnDestroy(cudnnHandle_t handle);
cudnnStatus_t cudnnSetStream(cudnnHandle_t handle, cudaStream_t stream);

cudnnStatus_t cudnnCreateTensorDescriptor(cudnnTensorDescriptor_t *tensor);
cudnnStatus_t cudnnDestroyTensorDescriptor(cudnnTensorDescriptor_t tensor);
cudnnStatus_t cudnnSetTensor4dDescriptor(cudnnTensorDescriptor_t tensor,
                                         cudnnTensorFormat_t format, cudnnDataType_t type,
                                         int n, int c, int h, int w);
cudnnStatus_t cudnnCreateFilterDescriptor(cudnnFilterDescriptor_t *filter);
cudnnStatus_t cudnnDestroyFilterDescriptor(cudnnFilterDescriptor_t filter);
cudnnStatus_t cudnnSetFilter4dDescriptor(cudnnFilterDescriptor_t filter,
                                         cudnnDataType_t type, cudnnTensorFormat_t format,
                                         int k, int c, int h, int w);
cudnnStatus_t cudnnCreateConvolutionDescriptor(cudnnConvolutionDescriptor_t *conv);
cudnnStatus_t cudnnDestroyConvolutionDescriptor(cudnnConvolutionDescriptor_t conv);
cudnnStatus_t cudnnSetConvolution2dDescriptor(cudnnConvolutionDescriptor_t conv,
                                              int pad_h, int pad_w, int stride_h,
                                              int stride_w, int dilation_h,
                                              int dilation_w, cudnnConvolutionMode_t mode,
                                              cudnnDataType_t type);
cudnnStatus_t cudnnSetConvolutionMathType(cudnnConvolutionDescriptor_t conv,
                                          cudnnMathType_t              type);

cudnnStatus_t cudnnGetConvolutionForwardAlgorithm_v7(
    cudnnHandle_t handle, cudnnTensorDescriptor_t x, cudnnFilterDescriptor_t w,
    cudnnConvolutionDescriptor_t conv, cudnnTensorDescriptor_t y, int wanted, int *count,
    cudnnConvolutionFwdAlgoPerf_t *ranked);
cudnnStatus_t cudnnGetConvolutionBackwardDataAlgorithm_v7(
    cudnnHandle_t handle, cudnnFilterDescriptor_t w, cudnnTensorDescriptor_t dy,
    cudnnConvolutionDescriptor_t conv, cudnnTensorDescriptor_t dx, int wanted, int *count,
    cudnnConvolutionBwdDataAlgoPerf_t *ranked);
cudnnStatus_t cudnnGetConvolutionBackwardFilterAlgorithm_v7(
    cudnnHandle_t handle, cudnnTensorDescriptor_t x, cudnnTensorDescriptor_t dy,
    cudnnConvolutionDescriptor_t conv, cudnnFilterDescriptor_t dw, int wanted, int *count,
    cudnnConvolutionBwdFilterAlgoPerf_t *ranked);

cudnnStatus_t cudnnConvolutionForward(cudnnHandle_t handle, const void *alpha,
                                      cudnnTensorDescriptor_t x, const void *x_data,
                                      cudnnFilterDescriptor_t w, const void *w_data,
                                      cudnnConvolutionDescriptor_t conv,
                                      cudnnConvolutionFwdAlgo_t algorithm, void *room,
                                      size_t room_bytes, const void *beta,
                                      cudnnTensorDescriptor_t y, void *y_data);
cudnnStatus_t cudnnConvolutionBackwardData(
    cudnnHandle_t handle, const void *alpha, cudnnFilterDescriptor_t w,
    const void *w_data, cudnnTensorDescriptor_t dy, const void *dy_data,
    cudnnConvolutionDescriptor_t conv, cudnnConvolutionBwdDataAlgo_t algorithm,
    void *room, size_t room_bytes, const void *beta, cudnnTensorDescriptor_t dx,
    void *dx_data);
cudnnStatus_t cudnnConvolutionBackwardFilter(
    cudnnHandle_t handle, const void *alpha, cudnnTensorDescriptor_t x,
    const void *x_data, cudnnTensorDescriptor_t dy, const void *dy_data,
    cudnnConvolutionDescriptor_t conv, cudnnConvolutionBwdFilterAlgo_t algorithm,
    void *room, size_t room_bytes, const void *beta, cudnnFilterDescriptor_t dw,
    void *dw_data);

#endif /* EMP_TESTS_REPLAY_STANDIN_CUDNN_H */

/** \file replay/cuda/kernels.h
 * Element-wise kernels and data movement on a GPU, for C. Every function puts work on a
 * stream and returns cudaError_t as an int (0: fine); pointers are device memory. The kernels
 * compute the same as cpu/elements.c and cpu/layers.c; but EMP_SCATTER_OUTPUT adds its
 * rows up, atomically and without a bound, where the CPU mixes them one after the other.
 */
#ifndef EMP_REPLAY_CUDA_KERNELS_H
#define EMP_REPLAY_CUDA_KERNELS_H

#include <cuda_runtime_api.h>
#include <stdbool.h>

#include "replay/plan/kernel.h"

#ifdef __cplusplus
extern "C" {
#endif

int emp_cuda_map(cudaStream_t stream, const emp_kernel_call *call);
int emp_cuda_reduce(cudaStream_t stream, const emp_kernel_call *call);
int emp_cuda_move(cudaStream_t stream, const emp_kernel_call *call);
int emp_cuda_lookup(cudaStream_t stream, const emp_kernel_call *call);
int emp_cuda_scatter(cudaStream_t stream, const emp_kernel_call *call);
int emp_cuda_fill(cudaStream_t stream, const emp_kernel_call *call);
int emp_cuda_softmax(cudaStream_t stream, const emp_kernel_call *call);
int emp_cuda_norm(cudaStream_t stream, const emp_kernel_call *call);
int emp_cuda_pool(cudaStream_t stream, const emp_kernel_call *call);
int emp_cuda_update(cudaStream_t stream, const emp_kernel_call *call);

/** Outputs from \a first on, which no kernel of the op writes. */
int emp_cuda_fill_outputs(cudaStream_t stream, const emp_kernel_call *call,
                          int32_t first);

/* Parts of convolutions; sizes as for EMP_KERNEL_CONV. */

/** Windows of \a count pixels of the out images, from \a first on, as rows. */
int emp_cuda_im2col(cudaStream_t stream, const emp_kernel *conv, const float *image,
                    int64_t first, int64_t count, float *rows);
/** Adds such rows where their windows meet the image. */
int emp_cuda_col2im(cudaStream_t stream, const emp_kernel *conv, const float *rows,
                    int64_t first, int64_t count, float *image);
/** Pixels of the out images as rows of channels, and back. */
int emp_cuda_rows_of(cudaStream_t stream, const emp_kernel *conv, const float *out,
                     int64_t first, int64_t count, float *rows);
int emp_cuda_rows_to(cudaStream_t stream, const emp_kernel *conv, const float *rows,
                     int64_t first, int64_t count, float *out);
/** A filter from (KH, KW, C, F) to cuDNN's (F, C, KH, KW), or back. */
int emp_cuda_filter_layout(cudaStream_t stream, const emp_kernel *conv, const float *from,
                           float *to, bool is_back);
/** (batch, rows, columns) -> (batch, columns, rows). */
int emp_cuda_transpose(cudaStream_t stream, const float *from, float *to, int64_t batch,
                       int64_t rows, int64_t columns);

#ifdef __cplusplus
}
#endif

#endif /* EMP_REPLAY_CUDA_KERNELS_H */

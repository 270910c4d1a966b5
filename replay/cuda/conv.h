/** \file replay/cuda/conv.h
 * Convolutions by cuDNN. Without it (no EMP_REPLAY_CUDNN) there is nothing to call, and
 * cuda_work.c takes im2col.
 */
#ifndef EMP_REPLAY_CUDA_CONV_H
#define EMP_REPLAY_CUDA_CONV_H

#include <cuda_runtime_api.h>

#include "replay/plan/plan.h"

typedef struct emp_cuda_conv emp_cuda_conv;

/** On the current GPU, for a stream of it; \a op_count plans are kept. */
emp_status emp_cuda_conv_create(emp_cuda_conv **out, int32_t op_count, const char *device,
                                cudaStream_t stream, emp_error *err);
void       emp_cuda_conv_destroy(emp_cuda_conv *conv);

/** Enqueues a convolution. \a is_done: false where cuDNN cannot do it as it is: padding
 * that differs at the two sides, or a workspace without room for the changes of layout. */
emp_status emp_cuda_conv_enqueue(emp_cuda_conv *conv, int32_t op,
                                 const emp_kernel_call *call, bool *is_done,
                                 emp_error *err);

/** cuDNN's version as a number; 0 without it. */
long emp_cuda_conv_version(void);

#endif /* EMP_REPLAY_CUDA_CONV_H */

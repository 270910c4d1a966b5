/** \file replay/cuda/work.h
 * The work of ops on one GPU: matrix products by cuBLAS, convolutions by cuDNN where it is
 * there and the step's workspace suffices, else by im2col and cuBLAS; the rest by kernels
 * of our own. In single precision without tensor cores, as TensorFlow r1.3 computes.
 *
 * cuDNN works on NCHW data with filters of its own layout, as it did for TensorFlow:
 * operands in other layouts are changed on the way, in the op's workspace.
 *
 * Threads. An emp_cuda_work is confined to the thread that enqueues on its device.
 */
#ifndef EMP_REPLAY_CUDA_WORK_H
#define EMP_REPLAY_CUDA_WORK_H

#include <cuda_runtime_api.h>

#include "replay/plan/plan.h"

typedef struct emp_cuda_work emp_cuda_work;

/** On the current GPU, for a stream of it. \a device, for messages, is borrowed. */
emp_status emp_cuda_work_create(emp_cuda_work **out, const emp_replay_plan *plan,
                                const char *device, cudaStream_t stream, emp_error *err);
/** On the same current GPU; NULL is allowed. */
void emp_cuda_work_destroy(emp_cuda_work *work);

/** Enqueues an op of the plan. */
emp_status emp_cuda_work_enqueue(emp_cuda_work *work, int32_t op,
                                 const emp_kernel_call *call, emp_error *err);

/** "cuBLAS 13.1, cuDNN 9.19"; static storage. */
const char *emp_cuda_work_libraries(void);

#endif /* EMP_REPLAY_CUDA_WORK_H */

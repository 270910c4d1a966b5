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

#include "base/error.h"
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

/* Convolutions by cuDNN; conv_none.c stands in where it is not there, and work.c takes im2col. */

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

/* From codes of CUDA and its libraries to statuses and sentences. The macros need a local `emp_error *err`. */

/** "gpu:1: cudaMalloc(...): out of memory". */
static inline emp_status emp_cuda_complain(const char *device, const char *what,
                                           cudaError_t code, emp_error *err)
{
    emp_status st = code == cudaErrorMemoryAllocation ? EMP_ENOMEM : EMP_EEXTERNAL;

    return emp_error_set(err, st, __FILE__, __LINE__, "%s: %s: %s", device, what,
                         cudaGetErrorString(code));
}

/** Returns when a call fails that returns cudaError_t, or one as an int, as kernels of our
 * own do. */
#define EMP_CUDA_CHECK(device, call)                                                     \
    do {                                                                                 \
        cudaError_t code = (cudaError_t)(call);                                          \
        if (code != cudaSuccess) return emp_cuda_complain((device), #call, code, (err)); \
    } while (0)

/** The same for a library with codes of its own, of which 0 is success. */
#define EMP_CUDA_LIBRARY_CHECK(device, code_type, text_of, call)           \
    do {                                                                   \
        code_type code = (call);                                           \
        if ((int)code != 0)                                                \
            return EMP_ERROR(EMP_EEXTERNAL, "%s: %s: %s", (device), #call, \
                             text_of(code));                               \
    } while (0)

#endif /* EMP_REPLAY_CUDA_WORK_H */

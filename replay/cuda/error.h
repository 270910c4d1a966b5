/** \file replay/cuda/error.h
 * From codes of CUDA and its libraries to statuses and sentences. The macros need a local
 * `emp_error *err`.
 */
#ifndef EMP_REPLAY_CUDA_ERROR_H
#define EMP_REPLAY_CUDA_ERROR_H

#include <cuda_runtime_api.h>

#include "base/error.h"

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

#endif /* EMP_REPLAY_CUDA_ERROR_H */

/** \file tests/replay/standin/kernel.hpp
 * What CUDA's compiler adds to C++, for kernels.cu (standin.h). A launch
 * `kernel<<<grid, block, 0, stream>>>(arguments)` is rewritten as
 * `standin_kernel(kernel)(grid, block, 0, stream)(arguments)` before it gets here.
 */
#ifndef EMP_TESTS_REPLAY_STANDIN_KERNEL_HPP
#define EMP_TESTS_REPLAY_STANDIN_KERNEL_HPP

#include <cmath>
#include <cstdint>
#include <functional>

#include "tests/replay/standin/internal.h"

#define __global__
#define __device__
#define __shared__ static thread_local /* blocks of a stream run one after another */

struct dim3 {
    unsigned x, y, z;
    dim3(unsigned x_ = 1, unsigned y_ = 1, unsigned z_ = 1) : x(x_), y(y_), z(z_) {}
};

/** Where the thread is that runs. */
struct standin_place {
    dim3 gridDim, blockDim, blockIdx, threadIdx;
};
extern thread_local standin_place standin_here;
#define gridDim   (standin_here.gridDim)
#define blockDim  (standin_here.blockDim)
#define blockIdx  (standin_here.blockIdx)
#define threadIdx (standin_here.threadIdx)

void  __syncthreads();
float __shfl_down_sync(unsigned mask, float x, int offset);
float atomicAdd(float *to, float x);

static inline float rsqrtf(float x) { return 1.0f / sqrtf(x); }

/** Which kernel it is: its address. */
typedef uintptr_t standin_kernel_id;

/** Enqueues a grid of \a kernel, each thread of which calls \a thread. */
void standin_launch_grid(cudaStream_t stream, dim3 grid, dim3 block,
                         standin_kernel_id kernel, std::function<void()> thread);

template <typename... Parameters> struct standin_launcher {
    void (*kernel)(Parameters...);
    dim3         grid, block;
    cudaStream_t stream;

    void operator()(Parameters... arguments) const
    {
        auto run = kernel;
        standin_launch_grid(stream, grid, block, reinterpret_cast<standin_kernel_id>(run),
                            [=] { run(arguments...); });
    }
};

template <typename... Parameters> struct standin_callable {
    void (*kernel)(Parameters...);

    standin_launcher<Parameters...> operator()(dim3 grid, dim3 block, size_t,
                                               cudaStream_t stream) const
    {
        return {kernel, grid, block, stream};
    }
};

template <typename... Parameters>
standin_callable<Parameters...> standin_kernel(void (*kernel)(Parameters...))
{
    return {kernel};
}

#endif /* EMP_TESTS_REPLAY_STANDIN_KERNEL_HPP */

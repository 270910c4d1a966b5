// SPDX-License-Identifier: GPL-3.0-or-later
#include "replay/cpu/kernels.h"

#if defined(__SSE__)
#include <xmmintrin.h>
#endif

#include "replay/cpu/kernels_internal.h"

/* Work of one more core, in nanoseconds or so: bytes and a sixteenth of the FLOPs. */
enum { LANE_WORK = 40000, FLOPS_PER_UNIT = 16 };

static emp_cpu_kernel *const kernels[EMP_KERNEL_KINDS] = {
    [EMP_KERNEL_PRODUCT] = emp_cpu_product, [EMP_KERNEL_CONV] = emp_cpu_conv,
    [EMP_KERNEL_MAP] = emp_cpu_map,         [EMP_KERNEL_REDUCE] = emp_cpu_reduce,
    [EMP_KERNEL_MOVE] = emp_cpu_move,       [EMP_KERNEL_LOOKUP] = emp_cpu_lookup,
    [EMP_KERNEL_SCATTER] = emp_cpu_scatter, [EMP_KERNEL_FILL] = emp_cpu_fill,
    [EMP_KERNEL_SOFTMAX] = emp_cpu_softmax, [EMP_KERNEL_NORM] = emp_cpu_norm,
    [EMP_KERNEL_POOL] = emp_cpu_pool,       [EMP_KERNEL_UPDATE] = emp_cpu_update,
    [EMP_KERNEL_HOST] = emp_cpu_host,
};

/* Sums into rows that any part may name, and chains of arithmetic, stay whole. */
static bool is_whole(const emp_kernel *k)
{
    return k->kind == EMP_KERNEL_SCATTER || k->kind == EMP_KERNEL_HOST ||
           (k->kind == EMP_KERNEL_REDUCE && k->size[EMP_REDUCE_M] == 1);
}

int32_t emp_cpu_kernel_lanes(const emp_kernel_call *call, int32_t most)
{
    double work = emp_kernel_flops(call->kernel) / FLOPS_PER_UNIT;

    if (is_whole(call->kernel)) return 1;
    for (int32_t i = 0; i < call->input_count; i++) work += (double)call->input[i].bytes;
    for (int32_t i = 0; i < call->output_count; i++)
        work += (double)call->output[i].bytes;
    return work < 2.0 * LANE_WORK                    ? 1
           : work < (double)most * (double)LANE_WORK ? (int32_t)(work / LANE_WORK)
                                                     : most;
}

void emp_cpu_kernel_run(const emp_kernel_call *call, int32_t part, int32_t parts,
                        float *scratch)
{
    emp_cpu_kernel *run = kernels[call->kernel->kind];

    if (run != NULL) run(call, part, parts, scratch);
}

void emp_cpu_flush_denormals(void)
{
#if defined(__SSE__)
    _mm_setcsr(_mm_getcsr() | 0x8040u);
#elif defined(__aarch64__)
    uint64_t control;

    __asm__ volatile("mrs %0, fpcr" : "=r"(control));
    __asm__ volatile("msr fpcr, %0" : : "r"(control | UINT64_C(1) << 24));
#endif
}

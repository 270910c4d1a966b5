/** \file replay/cpu/kernels.h
 * The work of ops on cores: real loops over real memory. A call is cut into parts that
 * may run at once, each on one core; together they do exactly the work of the call.
 */
#ifndef EMP_REPLAY_CPU_KERNELS_H
#define EMP_REPLAY_CPU_KERNELS_H

#include <stdbool.h>
#include <string.h>

#include "replay/plan/kernel.h"

/** Memory of a core for what a kernel needs beside its operands: im2col and the like. */
enum { EMP_CPU_SCRATCH_BYTES = 16 << 20 };

/** How many cores the call is worth, 1 .. \a most; 1 for what cannot be cut. */
int32_t emp_cpu_kernel_lanes(const emp_kernel_call *call, int32_t most);

/** Does part \a part of \a parts. Results do not depend on \a parts but for rounding. */
void emp_cpu_kernel_run(const emp_kernel_call *call, int32_t part, int32_t parts,
                        float *scratch);

/** Denormal numbers are zero on this thread, as on a GPU: they would cost many times as
 * much and depend on values, which are not the network's. */
void emp_cpu_flush_denormals(void);

/* The element-wise work that kernels of several files, and the set-up of memory, share. */

/** Floats between 0 and 1 that follow from their places; bytes of an unfinished one are 0. */
void emp_cpu_fill_random(void *data, int64_t bytes);

/** The same for all outputs from \a first on, which no loop of the kernel writes. */
void emp_cpu_fill_outputs(const emp_kernel_call *call, int32_t first);

/** e^x within 0.01 %, for x cut at +-80: 2^(x / ln 2) as an exponent and a polynomial.
 * The compiler makes vector code of it. */
static inline float emp_fast_exp(float x)
{
    float y = x * 1.44269504f;

    y = y > 115.0f ? 115.0f : y < -115.0f ? -115.0f : y;
    int32_t whole = (int32_t)(y + (y < 0.0f ? -0.5f : 0.5f));
    float   f = y - (float)whole;
    float   p = 1.0f +
              f * (0.69314718f + f * (0.24022651f + f * (0.05550411f + f * 0.00961813f)));
    uint32_t bits = (uint32_t)(whole + 127) << 23;
    float    power;
    memcpy(&power, &bits, sizeof power);
    return p * power;
}

#endif /* EMP_REPLAY_CPU_KERNELS_H */

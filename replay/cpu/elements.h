/** \file replay/cpu/elements.h
 * What kernels of several files, and those who set memory up, need of element-wise work.
 */
#ifndef EMP_REPLAY_CPU_ELEMENTS_H
#define EMP_REPLAY_CPU_ELEMENTS_H

#include <string.h>

#include "replay/plan/kernel.h"

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

#endif /* EMP_REPLAY_CPU_ELEMENTS_H */

/** \file replay/cpu/kernels_internal.h
 * Kernels by kind, and what they share.
 */
#ifndef EMP_REPLAY_CPU_KERNELS_INTERNAL_H
#define EMP_REPLAY_CPU_KERNELS_INTERNAL_H

#include "base/error.h"
#include "replay/cpu/kernels.h"

/** From \a first to before \a end. */
typedef struct {
    int64_t first, end;
} emp_range;

/** The share of part \a part in \a count items, cut at multiples of \a grain. */
static inline emp_range emp_range_of(int64_t count, int32_t part, int32_t parts,
                                     int64_t grain)
{
    int64_t   grains = (count + grain - 1) / grain;
    emp_range r = {grains * part / parts * grain, grains * (part + 1) / parts * grain};

    if (r.end > count) r.end = count;
    return r;
}

static inline float *emp_floats(const emp_operand *operand)
{
    return (float *)operand->data;
}

/** Which row of a table an index word names: any word will do. */
static inline int64_t emp_row_of(uint32_t word, int64_t rows)
{
    return (int64_t)((uint64_t)(word * UINT32_C(2654435769)) * (uint64_t)rows >> 32);
}

/** Keeps results finite by cutting them at 2. */
static inline float emp_bounded(float x)
{
    return x > 2.0f ? 2.0f : x < -2.0f ? -2.0f : x;
}

/** The head of a kernel; not all need all of it. */
#define EMP_CPU_KERNEL(name)                                                  \
    void emp_cpu_##name(const emp_kernel_call *call, int32_t part EMP_UNUSED, \
                        int32_t parts EMP_UNUSED, float *scratch EMP_UNUSED)

typedef void emp_cpu_kernel(const emp_kernel_call *call, int32_t part, int32_t parts,
                            float *scratch);

/* product.c */
emp_cpu_kernel emp_cpu_product, emp_cpu_conv;
/* elements.c: element-wise, and data movement */
emp_cpu_kernel emp_cpu_map, emp_cpu_reduce, emp_cpu_move, emp_cpu_lookup, emp_cpu_scatter,
    emp_cpu_fill, emp_cpu_update;
/* layers.c: kernels of several passes */
emp_cpu_kernel emp_cpu_softmax, emp_cpu_norm, emp_cpu_pool, emp_cpu_host;

#endif /* EMP_REPLAY_CPU_KERNELS_INTERNAL_H */

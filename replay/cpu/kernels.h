/** \file replay/cpu/kernels.h
 * The work of ops on cores: real loops over real memory. A call is cut into parts that
 * may run at once, each on one core; together they do exactly the work of the call.
 */
#ifndef EMP_REPLAY_CPU_KERNELS_H
#define EMP_REPLAY_CPU_KERNELS_H

#include <stdbool.h>

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

#endif /* EMP_REPLAY_CPU_KERNELS_H */

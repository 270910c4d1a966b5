/** \file bench/speed/synthetic.h
 * Graphs that look like training steps, of any size, and placements of them: what the
 * oracle's speed is measured on. Deterministic from a seed.
 *
 * The forward half is layers of EMP_SYNTHETIC_COLUMNS ops. Each op reads the one above it,
 * some a second one of the layer above, some the *hub* of their stretch of ops, an op with
 * many readers. The backward half is its mirror, op n-1-i mirrors op i, with every edge
 * turned round, and reads most activations. Every op makes one tensor; the mean
 * out-degree is about 1.64.
 */
#ifndef EMP_BENCH_SPEED_SYNTHETIC_H
#define EMP_BENCH_SPEED_SYNTHETIC_H

#include "sim/problem/problem.h"

enum { EMP_SYNTHETIC_COLUMNS = 8, EMP_SYNTHETIC_GROUPS = 256 };

/** \retval EMP_EINVAL  \a op_count is below 2. */
emp_status emp_synthetic_graph(emp_graph **out, int32_t op_count, uint64_t seed,
                               emp_error *err);

/** Varies the times of all ops by up to a tenth and a microsecond, as measured times vary,
 * so that simultaneous events are rare. The same for every runtime. */
void emp_synthetic_vary_costs(emp_problem *problem, uint64_t seed);

typedef enum {
    EMP_PLACE_GPU,      /**< all ops on one GPU */
    EMP_PLACE_PIPELINE, /**< contiguous blocks over the GPUs, gradients beside their ops */
    EMP_PLACE_GROUPS,   /**< 256 such blocks, each on a random device */
    EMP_PLACE_RANDOM,   /**< each op on a random device */
    EMP_PLACE_COUNT
} emp_synthetic_kind;

/** "gpu", "pipeline", "groups", "random"; static storage. */
const char *emp_synthetic_kind_name(emp_synthetic_kind kind);

/** The placement number \a draw of its kind; the first two kinds have only one. */
void emp_synthetic_place(emp_device_id *device_of_op, int32_t op_count,
                         const emp_machine *machine, emp_synthetic_kind kind,
                         uint64_t seed, uint32_t draw);

#endif /* EMP_BENCH_SPEED_SYNTHETIC_H */

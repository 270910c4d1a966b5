/** \file sim/bounds/changes.h
 * Changes of a machine, and the bounds of a problem on each machine changed so.
 *
 * A bound says what would have to be better for any placement to be faster. A change that leaves the bound as it is
 * does not touch what the bound comes from, though placements that are far above it may still gain.
 */
#ifndef EMP_SIM_BOUNDS_CHANGES_H
#define EMP_SIM_BOUNDS_CHANGES_H

#include "sim/bounds/bounds.h"

/** Changes: name, key in JSON, words. */
#define EMP_BOUNDS_CHANGE_LIST(X)                                          \
    X(LINKS, "links", "links of twice the rate and half the latency")      \
    X(MEMORY, "memory", "twice the memory on every device")                \
    X(ANOTHER_GPU, "another_gpu", "another GPU like the last")             \
    X(GPUS, "gpus", "GPUs whose kernels take half as long")                \
    X(HOST_THREADS, "host_threads", "host threads that take half as long") \
    X(CPUS, "cpus", "CPUs whose ops take half as long")

typedef enum {
#define X(name, key, words) EMP_BOUNDS_CHANGE_##name,
    EMP_BOUNDS_CHANGE_LIST(X)
#undef X
        EMP_BOUNDS_CHANGES
} emp_bounds_change;

typedef struct {
    emp_bounds_change change;
    emp_bounds        bounds; /**< on the changed machine */
} emp_bounds_changed;

typedef struct {
    int32_t            count; /**< of changes that the machine and the runtime allow */
    emp_bounds_changed changed
        [EMP_BOUNDS_CHANGES]; /**< the lowest best_ns first, then the lowest gpu_kernels_ns */
} emp_bounds_changes;

/** Computes the bounds of each change by itself. O(changes) times emp_bounds_compute().
 * \retval EMP_ENOMEM, EMP_EEXTERNAL */
emp_status emp_bounds_try_changes(emp_bounds_changes *out, const emp_problem *problem,
                                  const emp_bounds_options *options, emp_error *err);

#endif /* EMP_SIM_BOUNDS_CHANGES_H */

/** \file bench/calibrate/micro.h
 * Micro-benchmarks of a computer: small graphs, each of one kind of work, that replay
 * executes and the simulator predicts. None is a workload, or a part of one.
 *
 * A benchmark is some ops that do not depend on each other, or a chain: of ops without work,
 * and of copies between two devices. Ops on much data each have operands of their own, as in a
 * step that works on more than caches hold; ops on little share them.
 */
#ifndef EMP_BENCH_CALIBRATE_MICRO_H
#define EMP_BENCH_CALIBRATE_MICRO_H

#include "sim/engine/sim.h"

enum { EMP_MICRO_NAME_BYTES = 48, EMP_MICRO_MOST = 64 };

typedef struct {
    char           name[EMP_MICRO_NAME_BYTES]; /**< "product 64x2048x1024" */
    emp_graph     *graph;                      /**< of the step */
    emp_device_id *device_of_op;               /**< [op] legal */
    bool           is_shared;                  /**< several devices work at once */
} emp_micro;

/** Which devices are measured. */
typedef enum {
    EMP_MICRO_CORES, /**< two groups of cores, and a host that is one */
    EMP_MICRO_GPUS,  /**< a GPU, and its copies from and to the host */
    EMP_MICRO_SETS
} emp_micro_set;

/** Builds all of a set, for a machine with a CPU and two groups of cores, or one GPU; \a micro has
 * room for EMP_MICRO_MOST. emp_micros_clear() releases them, also after a failure.
 * \retval EMP_EINVAL  The machine has fewer devices. */
emp_status emp_micros_build(emp_micro *micro, int32_t *count, emp_micro_set set,
                            const emp_machine *machine, const emp_runtime *runtime,
                            emp_error *err);
void       emp_micros_clear(emp_micro *micro, int32_t count);

/** The simulated time of a step under a machine's and a runtime's constants; \a name
 * is the workload's. */
emp_status emp_step_predict(emp_sim_result *result, const emp_graph *graph,
                            const emp_device_id *device_of_op, const emp_machine *machine,
                            const emp_runtime *runtime, const char *name, emp_error *err);

#endif /* EMP_BENCH_CALIBRATE_MICRO_H */

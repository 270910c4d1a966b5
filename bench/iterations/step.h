/** \file bench/iterations/step.h
 * A pipeline as DeepSpeed runs it, simulated by the oracle: what each stage takes goes in, the time of
 * the step and the memory of its devices come out.
 *
 * A stage goes through the tasks of sim's schedule 1f1b with exchanges
 * (graphs/import/instances/schedule.h). An exchange is blocking: it starts when both neighbours have
 * come to it, and keeps both for as long as it takes. A message that fits in the buffers of NCCL (4 MiB,
 * NCCL_BUFFSIZE) leaves its sender at once; it takes a wire of its own, and its receiver waits for it.
 * The first backward pass leaves its gradients, and each further one adds its own to them. When all
 * micro-batches are done a stage sums its gradients with its replicas, and updates its weights.
 *
 * Everything is ops with costs of their own in a graph, on a machine whose GPUs are the stages and the wires,
 * under the runtime `ideal`.
 */
#ifndef EMP_BENCH_ITERATIONS_STEP_H
#define EMP_BENCH_ITERATIONS_STEP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

/** The largest message that leaves its sender at once. */
#define EMP_BUFFERED_BYTES ((double)(4 << 20))

/** The times of a stage of a replica. A stage without a neighbour sends nothing there. */
typedef struct {
    double  forward_s, backward_s; /**< of a micro-batch */
    double  accumulate_s; /**< of each backward pass but the first: gradients add up */
    double  reduce_s, update_s;   /**< of the sum of gradients, of the weights */
    double  output_s, gradient_s; /**< sending to the next stage, to the one before */
    bool    is_output_buffered, is_gradient_buffered;
    int64_t stored_bytes; /**< of a micro-batch, from its forward to its backward pass */
    int64_t state_bytes;  /**< all the time */
} emp_stage_cost;

typedef struct {
    int32_t               stages, replicas, micro_batches; /**< at least 1 each */
    const emp_stage_cost *stage; /**< [replica * stages + stage] borrowed */
} emp_step;

typedef struct {
    double  step_s;
    int64_t peak_bytes; /**< of the device that needs most */
} emp_step_result;

/** Simulates a step. O(tasks log devices).
 * \retval EMP_EUNSUPPORTED  More stages and wires than a machine has devices.
 * \retval EMP_EINVAL        A time that is negative. \retval EMP_ENOMEM */
emp_status emp_step_simulate(emp_step_result *out, const emp_step *step, emp_error *err);

#endif /* EMP_BENCH_ITERATIONS_STEP_H */

/** \file sim/cost/cost.h
 * Time of every op on every kind of device: graph facts x machine constants.
 *
 * GPU, GEMM (fit of cuBLAS on a K40, tests of 720 sizes), with split-K s chosen in 1..32:
 *     t = base + per_k (K / s) + per_wave (K / s) W  + (s + 1) passes over the output if s > 1
 *     W = ceil(ceil(M / 128) ceil(N / 64) s / multiprocessors)     (64 x 64 tiles for conv)
 * times skinny_factor when min(M, N, K) <= skinny_limit, times conv_factor for
 * convolutions, and never less than bytes / stream rate. Other kernels:
 * max(kernel_minimum per kernel, bytes / stream rate). Kernel-less ops: 0.
 *
 * CPU, on p cores: GEMM and conv flops / (core rate x p ^ exponent); others Eigen cycles /
 * (clock x p ^ exponent), floor bytes / min(p, bandwidth_cores) x core_bytes_per_s. p is
 * limited by Eigen's rule of about 100,000 cycles per thread.
 */
#ifndef EMP_SIM_COST_COST_H
#define EMP_SIM_COST_COST_H

#include "sim/graph/graph.h"
#include "sim/machine/machine.h"

/** The cost of one op on a GPU. */
typedef struct {
    emp_time_ns compute_ns; /**< time on the compute stream */
    emp_time_ns issue_ns;   /**< host time to issue it */
} emp_gpu_cost;

/** The cost of one op on the CPU. */
typedef struct {
    emp_time_ns compute_ns; /**< on `lanes` cores */
    int32_t     lanes;      /**< cores it occupies, 1 .. cores */
} emp_cpu_cost;

/** Costs of a graph on a machine under a runtime. Rows are ops; all GPUs of a machine are
 * of one model in this version. Immutable after creation. */
typedef struct {
    int32_t       op_count;
    emp_gpu_cost *gpu; /**< [op] */
    emp_cpu_cost *cpu; /**< [op] */
} emp_cost_table;

/** O(V). \retval EMP_ENOMEM */
emp_status emp_cost_table_create(emp_cost_table **out, const emp_graph *graph,
                                 const emp_machine *machine, const emp_runtime *runtime,
                                 emp_error *err);
void       emp_cost_table_destroy(emp_cost_table *table);

/** Seconds of a GEMM of the given sizes on a GPU; the formula above. Exposed for tests. */
double emp_cost_gemm_s(const emp_device *gpu, int64_t m, int64_t n, int64_t k, bool is_conv);

#endif /* EMP_SIM_COST_COST_H */

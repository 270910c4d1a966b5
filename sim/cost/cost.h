/** \file sim/cost/cost.h
 * Time of every op on every device model: graph facts x machine constants.
 *
 * GPU, products (fit of cuBLAS on a K40, tests of 720 sizes), with the split s of K
 * chosen in 1 .. split_limit to be fastest, parts of a GEMM being at least split_least long:
 *
 *     t = base + per_k (K / s) + per_wave (K / s) W
 *         + (s + 1) passes over the output if s > 1
 *     W = (R / 64) (C / 64) ceil(ceil(M / R) ceil(N / C) batch s / multiprocessors)
 *
 * with tiles of R x C: R = gemm_tile_rows or conv_tile_rows, C = 64, or of a convolution the
 * least of 16, 32, 64 that holds N. This is times skinny_factor for a GEMM with
 * min(M, N, K) <= skinny_limit, and times a factor for a convolution, by its window and by
 * whether it is the gradient of the filter. It is never less than bytes / stream rate.
 * Transposes around a convolution come on top, at the stream rate. Other kernels:
 * kernels x kernel_minimum + bytes / stream rate, which a section `passes` of the model multiplies. Kernel-less: 0.
 *
 * CPU, on p cores: products flops / (core rate x p ^ exponent), others Eigen cycles /
 * (clock x p ^ exponent), never less than bytes / (min(p, bandwidth_cores)
 * core_bytes_per_s); plus the runtime's scheduling cost. An op uses at most `lanes`
 * cores, Eigen's rule: lanes = (cycles - thread_cycles) / thread_cycles + 0.9, cycles
 * counting loads and stores.
 *
 * On a GPU whose model says something of number formats, products take what its table says, or the
 * formula with the rate of their format (sim/cost/kernel.h).
 *
 * A GPU or CPU whose model has a section `core` (a group of cores, as replay drives it):
 *
 *     t = op + product + bytes / pack [+ columns / clock]   columns of convolutions
 *     t = op + bytes / s + cycles / clock   others: Eigen's cycles, clock of their kind
 *     t = kernelless                        ops without kernel
 *
 * with products on a CPU as above, on a GPU flops at the rate of gemm_per_wave on each of its
 * multiprocessors (a core has no tiles to fill); columns the elements of a convolution's column matrix, counted
 * as flops / 2 n, s the stream rate, times cache_factor if all bytes fit in the cache, and op and
 * kernelless those of the runtime on a CPU.
 *
 * While another device of its computer works, a group whose model has a section `sharing` takes
 * longer: the bytes of ops that do not fit in its cache take beside_stream times as long, all else
 * but `op` and `kernelless` beside_clock times.
 *
 * A graph with stated costs (sim/graph/graph.h) has no need of these: an op takes the time that is
 * stated, on the CPU one core's, and the runtime's scheduling cost.
 *
 * Everything is computed in double seconds and rounded once to nanoseconds, at most
 * EMP_COST_LIMIT_NS.
 */
#ifndef EMP_SIM_COST_COST_H
#define EMP_SIM_COST_COST_H

#include "sim/graph/graph.h"
#include "sim/machine/machine.h"
#include "sim/runtime/runtime.h"

/** The cost of one op on a GPU. */
typedef struct {
    emp_time_ns compute_ns; /**< time on the compute stream */
    emp_time_ns issue_ns;   /**< host time to issue it */
} emp_gpu_cost;

/** An op on p > 1 cores is p x EMP_TASKS_PER_CORE tasks: Eigen's parallel loops cut their
 * range into up to four blocks per thread, so that threads that others keep busy do not
 * hold up the rest. On one core it is one task. */
enum { EMP_TASKS_PER_CORE = 4 };

/** The cost of one op on a CPU. */
typedef struct {
    emp_time_ns compute_ns; /**< alone, on `lanes` cores */
    int32_t     lanes;      /**< cores it can use, 1 .. cores */
} emp_cpu_cost;

/** Costs of a graph on a machine under a runtime, a column of all ops for each device model. Devices
 * of one model that differ in their time_factor have columns of their own. A *row* is an op in a
 * column: emp_cost_row(). The first columns belong to the first CPU and the first GPU, whose
 * rows are the ops. Immutable after creation. */
typedef struct {
    int32_t       op_count;
    int32_t       column_count[EMP_DEVICE_KINDS];    /**< at least 1 */
    int32_t       column_of_device[EMP_MAX_DEVICES]; /**< among the columns of its kind */
    emp_gpu_cost *gpu;        /**< [row]; zeros when the machine has no GPU */
    emp_cpu_cost *cpu;        /**< [row] */
    int32_t      *cpu_offset; /**< [row of a CPU + 1] into task_ns */
    emp_time_ns
        *task_ns; /**< [cpu_offset[row] + p - 1]: of one task on p = 1 .. lanes cores */
    emp_time_ns
        *gpu_beside_ns; /**< [op] on a GPU, while another device of its computer works;
                                     NULL unless its model has a section `sharing` */
} emp_cost_table;

/** Where the costs of an op on a device stand. */
static inline size_t emp_cost_row(const emp_cost_table *t, emp_device_id device,
                                  emp_op_id op)
{
    return (size_t)t->column_of_device[device] * (size_t)t->op_count + (size_t)op;
}

/** Rows of the columns of a kind. */
static inline int32_t emp_cost_row_count(const emp_cost_table *t, emp_device_kind kind)
{
    return t->column_count[kind] * t->op_count;
}

/** Whether a kind has devices whose costs differ. */
static inline bool emp_cost_is_unlike(const emp_cost_table *t)
{
    return t->column_count[EMP_DEVICE_CPU] > 1 || t->column_count[EMP_DEVICE_GPU] > 1;
}

/** Tasks of an op that uses \a lanes cores, for each core it gets. */
static inline int32_t emp_cost_rounds(int32_t lanes)
{
    return lanes > 1 ? EMP_TASKS_PER_CORE : 1;
}

/** A time beyond all others, 36 years: sums of a few such stay within 64 bits. */
#define EMP_COST_LIMIT_NS (INT64_C(1) << 60)

/** Rounds to nanoseconds; at most EMP_COST_LIMIT_NS. */
emp_time_ns emp_ns_of_seconds(double seconds);

/** O(V cores) for each column. \retval EMP_ENOMEM
 * \retval EMP_EUNSUPPORTED  More rows than 31 bits hold. */
emp_status emp_cost_table_create(emp_cost_table **out, const emp_graph *graph,
                                 const emp_machine *machine, const emp_runtime *runtime,
                                 emp_error *err);
void       emp_cost_table_destroy(emp_cost_table *table);

/** A hash of all times in the table. O(rows cores). */
uint64_t emp_cost_table_hash(const emp_cost_table *table);

/** The time of an op of this cost on a GPU. \param product  The op of the graph whose product it
 * does, if it does one: its number format and shapes count. */
emp_gpu_cost emp_cost_on_gpu(const emp_op_cost *cost, const emp_graph *graph,
                             emp_op_id product, const emp_device *gpu,
                             const emp_runtime_events *runtime);

/** The cores of \a cpu that an op of this cost can use. */
int32_t emp_cost_lanes(const emp_op_cost *cost, const emp_device *cpu);

/** The peak that an op can reach on a device, in FLOP/s: that of the op's number format. */
double emp_cost_peak_flops_per_s(const emp_graph *graph, emp_op_id op,
                                 const emp_device *device, const emp_runtime *runtime);

/** Fills \a row as a row of emp_cost_table.task_ns. \return compute_ns of the op. */
emp_time_ns emp_cost_fill_row(emp_time_ns *row, const emp_op_cost *cost, int32_t lanes,
                              const emp_device *cpu, const emp_runtime_events *runtime);

#endif /* EMP_SIM_COST_COST_H */

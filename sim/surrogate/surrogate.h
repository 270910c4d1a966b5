/** \file sim/surrogate/surrogate.h
 * A guess of the step time of many placements, for throwing the bad ones away before the
 * oracle (sim/engine/sim.h) sees the rest. It ranks; its times are off by 1 to 40 %.
 *
 *     emp_surrogate *s = NULL;
 *     EMP_TRY(emp_surrogate_create(&s, problem, EMP_SURROGATE_FASTEST, err));
 *     EMP_TRY(emp_surrogate_follow(s, sim, some, 32, err)); // optional, see below
 *     EMP_TRY(emp_surrogate_run(s, placements, count, step_time_s, err));
 *     emp_surrogate_destroy(s);
 *
 * Model. One sweep over the live ops in a fixed topological order, sixteen placements at
 * a time. For an op on device d, all times per placement:
 *
 *     start = max(ready[op], free[d]);  free[d] = start + hold;  done = start + run
 *     queue[d] = max(done, queue[d]) + kernels                   GPUs only
 *     copies may leave at done on the CPU, at queue[d] on a GPU
 *
 *     device                      hold                  run           kernels
 *     CPU with cpu_pool           compute lanes / cores compute       -
 *     CPU without                 compute               compute       -
 *     GPU with serial_issue       issue                 issue         compute
 *     GPU without                 compute               compute       0
 *
 * So a GPU's host thread and its stream run behind each other, and ops on the CPU overlap
 * as far as its cores go. A consumer that reads a tensor where it lies is ready at done.
 * Otherwise the tensor is sent once per memory, as soon as it is made:
 *
 *     begin = max(leave + send, free of each link of the route)
 *     end   = begin + latency + bytes / bandwidth = free of each link
 *     ready = end + poll + receive
 *
 * and who reads it there later finds it at leave + send + latency + ... without waiting
 * for links. Step time = the latest end + step. Memory is not looked at.
 *
 * Its simplification makes it fast and inexact: devices and links serve in the order of the sweep, not
 * of the clock. README.md has what that costs.
 *
 * Arithmetic is 32-bit and in one order, so the kernels (AVX-512 and plain C) give the
 * same bits, and a placement's result does not depend on its neighbours.
 *
 * Threads. An emp_surrogate is confined to one thread; the problem it borrows is shared.
 */
#ifndef EMP_SIM_SURROGATE_SURROGATE_H
#define EMP_SIM_SURROGATE_SURROGATE_H

#include "sim/engine/sim.h"
#include "sim/problem/problem.h"

typedef enum {
    EMP_SURROGATE_FASTEST, /**< the fastest that this processor has; all give one result */
    EMP_SURROGATE_SCALAR,  /**< plain C, everywhere */
    EMP_SURROGATE_AVX512   /**< x86-64 with AVX-512F */
} emp_surrogate_kernel;

typedef struct emp_surrogate emp_surrogate;

/** \a problem is borrowed. O(V + E) time and memory, about 150 bytes an op.
 * \retval EMP_EUNSUPPORTED  This processor does not have \a kernel, the runtime has the
 * rules of another simulator, or the machine has several hosts. */
emp_status emp_surrogate_create(emp_surrogate **out, const emp_problem *problem,
                                emp_surrogate_kernel kernel, emp_error *err);

/** Sweeps in the order of \a time_of_op [op] from now on, as far as the graph allows:
 * of the ops whose inputs are done the one with the least time is next; ties in
 * topological order. NULL: the graph's own topological order, as after creation. Entries
 * of folded ops are not read. O((V + E) log V). On failure the order stays. */
emp_status emp_surrogate_set_order(emp_surrogate *s, const double *time_of_op,
                                   emp_error *err);

/** Estimates step times; allocates nothing. O((V + E) count); a multiple of 16
 * placements makes the best use of the processor.
 *
 * \param[in]  placements   [count][op_count], legal (emp_problem_legalize); that an op
 *                          may use its device is not checked.
 * \param[out] step_time_s  [count]; may be written on failure.
 * \retval EMP_EINVAL  An entry of an op that is not folded is no device. */
emp_status emp_surrogate_run(emp_surrogate *s, emp_device_id *const *placements,
                             int32_t count, double *step_time_s, emp_error *err);

/** Ops that are not folded: what a sweep visits. */
int32_t emp_surrogate_op_count(const emp_surrogate *s);
/** "avx512" or "scalar". */
const char *emp_surrogate_kernel_name(const emp_surrogate *s);

void emp_surrogate_destroy(emp_surrogate *s);

/*
 * How well the surrogate ranks, by the oracle's word; and an order of sweep learned from
 * the oracle. Who filters with the surrogate reports the former beside the result.
 */

/** Agreement of estimates with exact values. Correlations are NaN when all values of one
 * side are equal. */
typedef struct {
    double spearman; /**< correlation of ranks; ties have their mean rank */
    double kendall;  /**< tau-b: of pairs, correctly ordered - wrongly ordered */
    double mean_relative_error; /**< mean of |estimate / exact - 1| */
} emp_agreement;

/** Kendall's tau-b of \a count pairs; NaN when all of one side are equal. Infinite values of
 * one sign are equal to each other. O(count^2). */
double emp_kendall_of(const double *x, const double *y, int32_t count);

/** Compares \a count >= 2 values; exact ones are above 0. O(count^2).
 * \retval EMP_EINVAL  Fewer than two values. */
emp_status emp_agreement_of(emp_agreement *out, const double *estimate,
                            const double *exact, int32_t count, emp_error *err);

/** Evaluates \a placements by both; memory limits are ignored. Both borrow one problem. */
emp_status emp_surrogate_rank_correlation(emp_agreement *out, emp_surrogate *s,
                                          emp_sim *sim, emp_device_id *const *placements,
                                          int32_t count, emp_error *err);

/** Sets the order of the sweep to that in which ops end in the oracle's runs of \a count
 * placements like those to come: by the mean share of the step that has passed. */
emp_status emp_surrogate_follow(emp_surrogate *s, emp_sim *sim,
                                emp_device_id *const *placements, int32_t count,
                                emp_error *err);

#endif /* EMP_SIM_SURROGATE_SURROGATE_H */

/** \file sim/bounds/bounds.h
 * Times that no feasible placement's step can beat, under the rules of its runtime.
 *
 *     emp_bounds_options options = {.effort = EMP_BOUNDS_EFFORT};
 *     emp_bounds bounds;
 *     EMP_TRY(emp_bounds_compute(&bounds, problem, &options, err));
 *     ... step_time_ns / bounds.best_ns - 1: how far a placement may be from the best ...
 *
 * docs/bounds.md proves each of them. All are sound: the linear program is only asked for
 * prices, and any prices prove a bound (weak duality), so rounding inside a solver cannot
 * make one too high. A placement that does not fit in memory may be faster.
 *
 * Deterministic. Threads: GLPK keeps one environment a thread; calls may run side by side.
 */
#ifndef EMP_SIM_BOUNDS_BOUNDS_H
#define EMP_SIM_BOUNDS_BOUNDS_H

#include "sim/problem/problem.h"

/** The bounds: member, key in JSON, what it says. */
#define EMP_BOUNDS_LIST(X)                                                    \
    X(path, "path", "longest path, with transfers that cannot be avoided")    \
    X(joined, "joined", "the same, with ops on one GPU taking turns")         \
    X(drained, "drained", "the same, with copies waiting for queued kernels") \
    X(area, "area", "all work, divided among all devices")                    \
    X(class, "class", "ops that must share a device")                         \
    X(window, "window", "work between its predecessors and its successors")   \
    X(refuted, "refuted", "the longest step time that the lemmas refute")

/** Nanoseconds, the fixed cost of a step included; 0 = the runtime's rules know no such
 * bound. */
typedef struct {
#define X(name, key, text) emp_time_ns name##_ns;
    EMP_BOUNDS_LIST(X)
#undef X
    emp_time_ns best_ns; /**< the highest of them */
    /** Likewise over placements that keep GPU kernels off the CPUs, but for those that a given placement has there. 0 =
     * such placements do not fit, or the runtime's rules know no bound. */
    emp_time_ns gpu_kernels_ns;
    bool        is_infeasible; /**< variables fit into no placement's memories */
} emp_bounds;

/** Each level looks at four times as many ops before each op. It raises bounds, and at worst takes 16 times as long. */
enum { EMP_BOUNDS_EFFORT = 1, EMP_BOUNDS_MOST_EFFORT = 3 };

typedef struct {
    int32_t
        effort; /**< 1 .. EMP_BOUNDS_MOST_EFFORT; EMP_BOUNDS_EFFORT is what commands spend that do more than bound */
    bool
        any_order; /**< also over decisions that order ops; else each device serves in the order of arrival, unless
                        * the graph has levels */
    const emp_device_id  *
        device_of_op; /**< [op] the placement that gpu_kernels_ns is for; NULL: it has none on CPUs */
    bool has_proof; /**< emp_bounds_explain() also gives the steps of each proof */
} emp_bounds_options;

/** O((V + E) log(step time) + V (windows + 16 ^ effort)). Each op is bound by kind of
 * device; an op counts as fast as on its fastest device of a kind.
 * \retval EMP_ENOMEM
 * \retval EMP_EEXTERNAL  GLPK gave up. */
emp_status emp_bounds_compute(emp_bounds *out, const emp_problem *problem,
                              const emp_bounds_options *options, emp_error *err);

typedef struct emp_bounds_why emp_bounds_why; /**< why.h */

/** emp_bounds_compute(), and where its bounds come from.
 * \param all   The source of best_ns. If every op has one kind only and gpu_kernels_ns is the higher bound, best_ns comes
 *              from \a gpus instead. OPTIONAL.
 * \param gpus  The source of gpu_kernels_ns; lemma EMP_BOUND_BY_NONE: no such bound, or none above that of \a all. OPTIONAL.
 * \retval EMP_ENOMEM, EMP_EEXTERNAL  Clear both also then. */
emp_status emp_bounds_explain(emp_bounds *out, emp_bounds_why *all, emp_bounds_why *gpus,
                              const emp_problem        *problem,
                              const emp_bounds_options *options, emp_error *err);

/** How much longer than a bound a step is, as a fraction of the bound; 0 without one. */
double emp_bounds_gap(emp_time_ns bound_ns, emp_time_ns step_time_ns);

#endif /* EMP_SIM_BOUNDS_BOUNDS_H */

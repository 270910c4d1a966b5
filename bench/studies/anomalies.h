/** \file bench/studies/anomalies.h
 * How often less work takes longer.
 *
 * Who serves first come first served can lose by being early: a task that becomes ready
 * sooner may take a device just before one that matters more (Graham, "Bounds on
 * Multiprocessing Timing Anomalies", SIAM J. Appl. Math. 17, 1969). So a step time is not
 * monotone in its costs, and a search must not count on it. This module measures it: it
 * shortens one kind of cost, leaves everything else, and compares step times of the
 * same placement.
 *
 *     emp_device_id *placement[N] = ...;
 *     for (i < N) EMP_TRY(emp_anomalies_place(problem, EMP_ANOMALIES_RANDOM, seed, i,
 *                                             placement[i], err));
 *     EMP_TRY(emp_anomalies_measure(counts, problem, placement, N, &params, err));
 *
 * Out-of-memory verdicts are ignored: the step time of such a placement assumes unlimited
 * memory.
 *
 * Threads. Confined to one thread; the problem is shared. Equal inputs and seeds give
 * equal results.
 */
#ifndef EMP_BENCH_STUDIES_ANOMALIES_H
#define EMP_BENCH_STUDIES_ANOMALIES_H

#include "sim/problem/problem.h"

typedef enum {
    EMP_SHORTEN_OPS,     /**< a random 10 % of the ops compute 20 % less long; drawn
                                 anew for every placement */
    EMP_SHORTEN_GPU,     /**< all kernels of one random GPU take 10 % less */
    EMP_SHORTEN_ISSUE,   /**< GPUs' host threads issue kernel-less ops in no time */
    EMP_SHORTEN_SEND,    /**< ... */
    EMP_SHORTEN_RECEIVE, /**< ... */
    EMP_SHORTEN_POLL,    /**< ... */
    EMP_SHORTEN_LATENCY, /**< routes have no latency, for copies and messages */
    EMP_SHORTENINGS
} emp_shortening;

/** The outcome for the placements. Changes are new / old step time - 1. */
typedef struct {
    bool    is_there; /**< false: the problem has no such cost, and nothing was run */
    int32_t cases;    /**< placements */
    int32_t longer, shorter;
    double  median_growth; /**< of those that took longer; 0 if none did */
    double  worst_growth;
    double  median_change; /**< of all */
} emp_anomaly_count;

typedef struct {
    uint64_t seed; /**< of the ops and GPUs that are made faster */
    /** OPTIONAL: called after each run, 0..1. */
    void (*on_progress)(void *context, double done_frac);
    void *context;
} emp_anomalies_params;

/** Measures all kinds on \a count placements, [count][op_count], legal. O(V + E) memory
 * besides; two simulators' creations and eight runs a placement.
 * \retval EMP_EINVAL  A placement is not legal, or there is none. */
emp_status emp_anomalies_measure(emp_anomaly_count     counts[EMP_SHORTENINGS],
                                 const emp_problem    *problem,
                                 emp_device_id *const *placements, int32_t count,
                                 const emp_anomalies_params *params, emp_error *err);

/** "ops", for data, and "10 % of the ops, by 20 %", for people. */
const char *emp_shortening_name(emp_shortening kind);
const char *emp_shortening_text(emp_shortening kind);

/** The placements to measure on. */
typedef enum {
    EMP_ANOMALIES_RANDOM, /**< every colocation class on a random device */
    EMP_ANOMALIES_EXPERT, /**< the expert's; from the second on, with a random 1 % of the
                               classes on random devices */
    EMP_ANOMALIES_FAMILIES
} emp_anomalies_family;

/** "random", "expert". */
const char *emp_anomalies_family_name(emp_anomalies_family family);

/** Writes the placement of that \a number into \a device_of_op [op_count], legal. O(V + E).
 * \retval EMP_EUNSUPPORTED  The expert has no rule for this machine. */
emp_status emp_anomalies_place(const emp_problem *problem, emp_anomalies_family family,
                               uint64_t seed, int32_t number, emp_device_id *device_of_op,
                               emp_error *err);

#endif /* EMP_BENCH_STUDIES_ANOMALIES_H */

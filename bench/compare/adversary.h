/** \file bench/compare/adversary.h
 * The instances on which one method loses most to another: random graphs of a few ops with times of their own,
 * which simulated annealing changes step by step, after Coleman and Krishnamachari ("PISA: An Adversarial
 * Approach To Comparing Task Graph Scheduling Algorithms", 2024).
 *
 *     for (each size and machine, the smallest first)
 *         EMP_TRY(emp_adversary_search(&found, &params, op_count, machine, err));
 *     EMP_TRY(emp_adversary_save("found.json", &found, err));
 *
 * An instance counts with the ratio of two median step times over the seeds, where both methods have the same
 * budget and all placements fit in memory. Its file is a list of ops (docs/models.md), so that anyone can rerun
 * both methods on it.
 */
#ifndef EMP_BENCH_COMPARE_ADVERSARY_H
#define EMP_BENCH_COMPARE_ADVERSARY_H

#include <stdatomic.h>

#include "search/method.h"

enum { EMP_ADVERSARY_OPS = 64, EMP_ADVERSARY_SEEDS = 15 };

typedef struct {
    int32_t op_count;
    struct {
        int64_t gpu_ns, cpu_ns, bytes; /**< on a GPU, on a core, of its result */
    } op[EMP_ADVERSARY_OPS];
    bool reads[EMP_ADVERSARY_OPS][EMP_ADVERSARY_OPS]; /**< [op][op before it] */
} emp_adversary_instance;

typedef struct {
    const emp_method  *method[2]; /**< the one that is to lose, and the one it loses to */
    const emp_runtime *runtime;   /**< borrowed */
    int64_t            budget;    /**< evaluations of either */
    int32_t            seed_count; /**< of runs on an instance, from 1 on */
    int32_t            trials;     /**< instances that are tried, at most */
    double             target;     /**< the search ends with an instance of this ratio */
    uint64_t           seed;       /**< of the search */
    const atomic_int  *stop;       /**< OPTIONAL */
    /** OPTIONAL. Called after each trial. */
    void (*on_trial)(void *context, int32_t trials, double ratio);
    void *context;
} emp_adversary_params;

/** The best instance of a size on a machine. */
typedef struct {
    emp_adversary_instance instance;
    double                 step_s[2]; /**< median over seeds */
    double                 ratio;     /**< of these; NaN: no instance counts */
    int32_t                trials;
} emp_adversary_found;

/** Searches for the instance of \a op_count ops on which the first method loses most.
 * \retval EMP_EINVAL       The number of ops, seeds or trials is out of range, or the machine has no GPU.
 * \retval EMP_EINTERRUPTED \a stop was set; \a out has the best until then. Else as emp_run(). */
emp_status emp_adversary_search(emp_adversary_found        *out,
                                const emp_adversary_params *params, int32_t op_count,
                                const emp_machine *machine, emp_error *err);

/** Writes the instance as a list of ops, whole or not at all. \retval EMP_EIO */
emp_status emp_adversary_save(const char *path, const emp_adversary_found *found,
                              emp_error *err);

#endif /* EMP_BENCH_COMPARE_ADVERSARY_H */

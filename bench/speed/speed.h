/** \file bench/speed/speed.h
 * The three measurements of `emplace-speed`. Each adds lines to a table, which it initializes.
 */
#ifndef EMP_BENCH_SPEED_SPEED_H
#define EMP_BENCH_SPEED_SPEED_H

#include "bench/speed/harness.h"

enum { EMP_SPEED_MAX = 12 };

typedef struct {
    int32_t value[EMP_SPEED_MAX], count;
} emp_speed_list;

/** Options of all three. Lists of words are as emp_word_list_has() reads them, NULL = all. */
typedef struct {
    const char        *machine, *runtime; /**< names or paths */
    emp_speed_list     sizes;             /**< ops of synthetic graphs */
    const char *const *source;            /**< workloads and graph files */
    int32_t            source_count;
    const char        *patterns, *profiles, *peers; /**< of the oracle's ways */
    bool has_bottom_levels; /**< levels follow the critical path; else they are random */
    const char *rows;       /**< of Table 1, instead of synthetic graphs; "all" */
    const char *methods;
    int64_t
        moves; /**< of a search; 0 = 1000 on a row, and 30 million ops on another graph */
    const char    *networks;
    emp_speed_list hidden, samples; /**< of the placer */
    int32_t        groups, ops;     /**< of the planner */
    int32_t        nodes, sets;     /**< GO\'s; HSDAG\'s */
    int32_t        threads;         /**< of an update */
    int32_t        repeats;         /**< rounds */
    uint64_t       seed;
} emp_speed_params;

/** The oracle under several profiles, beside other simulators, step by step. The answer is the
 * step time. \retval EMP_EINVAL  A word of a list is unknown. \retval EMP_EUNSUPPORTED  The machine has no GPU. */
emp_status emp_speed_oracle(emp_speed_table *table, const emp_speed_params *params,
                            emp_error *err);

/** A move of a search, beside the oracle alone on the best placement that was found.
 * \retval EMP_EINVAL  A search ended with its first batch, so that there is nothing to time. */
emp_status emp_speed_search(emp_speed_table *table, const emp_speed_params *params,
                            emp_error *err);

/** An update of a learner's networks, beside the same update in PyTorch. The answer is the loss. */
emp_status emp_speed_policy(emp_speed_table *table, const emp_speed_params *params,
                            emp_error *err);

#endif /* EMP_BENCH_SPEED_SPEED_H */

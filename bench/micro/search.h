/** \file bench/micro/search.h
 * How many proposals a CPU second a search makes and has scored: `emplace bench search`.
 *
 * A search runs on a synthetic graph (synthetic.h), or on a task, as `emplace place` runs it, on
 * one thread. Its preparations, up to the end of the first batch, do not count. Times are CPU
 * times of the thread. In each round the oracle alone scores the best placement that was found as
 * well, so that what else the machine does hits both alike. So does the same search without its
 * short cuts, if asked for: it must find the same placement.
 */
#ifndef EMP_BENCH_MICRO_SEARCH_H
#define EMP_BENCH_MICRO_SEARCH_H

#include <stdatomic.h>

#include "run/jobs/jobs.h"
#include "run/stats.h"
#include "search/method.h"

enum { EMP_SEARCH_MAX_SIZES = 8, EMP_SEARCH_MAX_METHODS = 8 };

typedef struct {
    const char       *machine, *runtime;          /**< names or paths */
    int32_t           size[EMP_SEARCH_MAX_SIZES]; /**< ops, at least 2 */
    int32_t           size_count;
    const emp_task   *task; /**< instead of graphs of these sizes and of the machine */
    int32_t           task_count; /**< at most EMP_SEARCH_MAX_SIZES; 0 = none */
    int64_t           moves;      /**< scored by a run on a task */
    const emp_method *method[EMP_SEARCH_MAX_METHODS]; /**< that search */
    int32_t           method_count;
    int32_t           repeats; /**< rounds */
    int64_t           ops;     /**< scored by a run, over all its proposals */
    uint64_t          seed;
    void (*on_progress)(void *context, double done_frac); /**< or NULL */
    void             *context;
    const atomic_int *stop; /**< or NULL; non-zero ends after a round */
} emp_search_params;

/** One method on one graph. */
typedef struct {
    const char       *task; /**< its key; NULL = a synthetic graph */
    int32_t           op_count;
    const emp_method *method;
    emp_quartiles     proposals_per_s;
    emp_quartiles     oracle_share; /**< of a proposal's time, what the oracle takes */
} emp_search_row;

typedef struct {
    emp_search_row row[EMP_SEARCH_MAX_SIZES * EMP_SEARCH_MAX_METHODS];
    int32_t        row_count;
} emp_search_report;

/** \retval EMP_EINTERRUPTED  \a report holds the rows that are complete.
 * \retval EMP_EINVAL  A run ended with its first batch: it has nothing to time. */
emp_status emp_search_measure(emp_search_report *report, const emp_search_params *params,
                              emp_error *err);

/** A sheet with a line per size and method; to be cleared. */
void emp_search_tabulate(emp_sheet *sheet, const emp_search_report *report,
                         const emp_search_params *params);

#endif /* EMP_BENCH_MICRO_SEARCH_H */

/** \file bench/run/table1.h
 * Table 1 of "A Hierarchical Model for Device Placement" (ICLR 2018): six models, each
 * placed by hand, by partitioners, at random and by the Hierarchical Planner.
 *
 * A cell is one run a seed. Runs whose records exist are read, the others are made, in
 * parallel, one thread a run, longest first; what a run finds does not depend on that.
 */
#ifndef EMP_BENCH_RUN_TABLE1_H
#define EMP_BENCH_RUN_TABLE1_H

#include <signal.h>

#include "bench/run/table.h"

/** A run that is ready. */
typedef struct {
    const char *row, *method; /**< titles */
    uint64_t    seed;
    double      step_time_s; /**< infinity: out of memory */
    double      elapsed_s;   /**< 0 for a record that was read */
    bool        is_read;
    int32_t     done, total; /**< runs */
} emp_table1_event;

typedef struct {
    const char *rows;       /**< comma-separated keys, or NULL for all */
    const char *methods;    /**< comma-separated method names, or NULL for all */
    const char *runtime;    /**< profile name or path */
    const char *folder;     /**< of the run records */
    int32_t     seed_count; /**< 0: 1 when quick, else 3 */
    int32_t     threads;
    bool        is_quick; /**< smaller budgets for the learner */
    bool        is_fresh; /**< ignore records that exist */
    const volatile sig_atomic_t
        *stop; /**< OPTIONAL: set to end after the current batches */
    /** OPTIONAL. Calls come from several threads, one at a time. */
    void (*on_run)(void *context, const emp_table1_event *event);
    /** OPTIONAL. Work done, 0..1, and an estimate of the seconds left. */
    void (*on_progress)(void *context, double done_frac, double remaining_s);
    void *context;
} emp_table1_params;

/** Makes the table.
 * \retval EMP_EINVAL       An unknown row or method; the message lists what there is.
 * \retval EMP_EINTERRUPTED \a stop was set; the table has the cells that were ready. */
emp_status emp_table1_make(emp_table **out, const emp_table1_params *params,
                           emp_error *err);

#endif /* EMP_BENCH_RUN_TABLE1_H */

/** \file tests/run/scripted.h
 * A method that proposes what a test scripts, and runs of it on task_chain().
 */
#ifndef EMP_TESTS_RUN_SCRIPTED_H
#define EMP_TESTS_RUN_SCRIPTED_H

#include <stdatomic.h>

#include "run/loop.h"
#include "tests/support/problems.h"

/** For Criterion's .init and .fini: a folder of the test's own (scratch.h), a chain, and a
 * placer that proposes \a batch placements drawn from the seed at a time; in the end all of
 * it is gone, and all memory. */
void scripted_set_up(task *t, int64_t elements, int32_t batch);
void scripted_tear_down(task *t);

/** The script of the placer; set before a run, read after. */
typedef struct {
    int32_t       batch;     /**< candidates per ask, at most what the runner allows */
    int64_t       end_after; /**< candidates; then it proposes nothing; 0 = never ends */
    emp_device_id device[8]; /**< candidate i goes to device[i % count] as a whole; ... */
    int32_t       device_count; /**< ... 0: every op on a device drawn from the seed */
    emp_status    fail_tell;    /**< returned by tell */
    int64_t
         stop_after; /**< candidates; the ask that reaches them sets stop; 0: none does */
    bool is_given_up; /**< that ask then returns EMP_EINTERRUPTED */
    int64_t
        give_up_after; /**< candidates; the tell that reaches them sets stop and does so;
                                0: none does */
    atomic_int stop;
    int64_t    asked, told;
    double     overflow_frac; /**< of the first score of the last tell */
    bool       is_told_order; /**< as many scores as candidates at every tell */
} scripted_plan;

extern scripted_plan    script;
extern const emp_method scripted_method;

/** A run of the scripted placer. */
emp_run_params scripted_params(int64_t budget, int32_t threads);

#endif /* EMP_TESTS_RUN_SCRIPTED_H */

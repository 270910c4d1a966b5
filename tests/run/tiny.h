/** \file tests/run/tiny.h
 * A problem of a few ops and a placer that proposes what a test scripts.
 *
 * The graph is a chain: a random tensor, then CHAIN element-wise ops. With a big tensor
 * it fits the CPU of k40x2 but none of its GPUs.
 */
#ifndef EMP_TESTS_RUN_TINY_H
#define EMP_TESTS_RUN_TINY_H

#include "run/loop.h"

enum { TINY_CHAIN = 4 };

typedef struct {
    emp_graph   *graph;
    emp_machine *machine;
    emp_problem *problem;
} tiny;

/** A chain of tensors of that many floats. */
tiny tiny_create(int64_t elements);
void tiny_destroy(tiny *t);

/** For Criterion's .init and .fini: a folder of the test's own (scratch.h), a chain, and a
 * placer that proposes \a batch placements drawn from the seed at a time; in the end all of
 * it is gone, and all memory. */
void tiny_set_up(tiny *t, int64_t elements, int32_t batch);
void tiny_tear_down(tiny *t);

/** What the scripted placer does; set before a run, read after. */
typedef struct {
    int32_t       batch;     /**< candidates per ask, at most what the runner allows */
    int64_t       end_after; /**< candidates; then it proposes nothing; 0 = never ends */
    emp_device_id device[8]; /**< candidate i goes to device[i % count] as a whole; ... */
    int32_t       device_count; /**< ... 0: every op on a device drawn from the seed */
    emp_status    fail_tell;    /**< returned by tell */
    int64_t       asked, told;
    double        overflow_frac; /**< of the first score of the last tell */
    bool          is_told_order; /**< as many told as asked at every tell */
} tiny_script;

extern tiny_script      tiny_placer_script;
extern const emp_method tiny_placer;

/** A run of the scripted placer. */
emp_run_params tiny_params(int64_t budget, int32_t threads);

#endif /* EMP_TESTS_RUN_TINY_H */

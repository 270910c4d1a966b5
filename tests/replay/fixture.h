/** \file tests/replay/fixture.h
 * Small placed networks and their plans.
 */
#ifndef EMP_TESTS_REPLAY_FIXTURE_H
#define EMP_TESTS_REPLAY_FIXTURE_H

#include "replay/execute.h"
#include "replay/plan/plan.h"
#include "tests/support/problems.h"

/** Two GPUs; NMT with 2 layers of 32 units. */
#define REPLAY_SMALL_NMT "nmt:layers=2,units=32,batch=4,steps=3,vocab=200"

/** On the machine cpu2 with the runtime replay-cpu; colocation classes are dealt to all
 * devices by a hash of \a seed, or all ops put on one if \a seed is minus its number less
 * one. Aborts by assert() where something fails. */
void replay_fixture_create(task *f, const char *spec, int32_t seed);

/** The same on any machine and runtime. */
void replay_fixture_create_on(task *f, const char *spec, int32_t seed,
                              const char *machine, const char *runtime);

emp_replay_plan *replay_fixture_plan(const task *f);

/** A step of two ops on two CPUs: op 0 fills a tensor of so many floats; op 1 is the kernel,
 * reads a copy of it thrice and writes two such tensors. Not checked. */
emp_replay_plan *replay_fixture_kernel(const emp_kernel *kernel, int64_t floats);

/** Placed networks on which steps are checked; seeds as of replay_fixture_create(). */
typedef struct {
    char    spec[80];
    int32_t seed;
} replay_case;
enum { REPLAY_CASES = 7 };
extern const replay_case replay_cases[REPLAY_CASES];

/** Creates an executor, runs it and destroys it. */
emp_status replay_fixture_execute(const emp_replay_plan    *plan,
                                  const emp_replay_backend *backend,
                                  const emp_replay_options *options,
                                  emp_replay_result *result, emp_error *err);

#endif /* EMP_TESTS_REPLAY_FIXTURE_H */

/** \file tests/replay/fixture.h
 * Small placed networks and their plans.
 */
#ifndef EMP_TESTS_REPLAY_FIXTURE_H
#define EMP_TESTS_REPLAY_FIXTURE_H

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

#endif /* EMP_TESTS_REPLAY_FIXTURE_H */

/** \file tests/sim/engine/random_problem.h
 * Random graphs, machines, runtimes and placements for the tests of the engine. Small
 * whole numbers throughout, so that simultaneous events are common.
 */
#ifndef EMP_TESTS_SIM_ENGINE_RANDOM_PROBLEM_H
#define EMP_TESTS_SIM_ENGINE_RANDOM_PROBLEM_H

#include <inttypes.h>

#include "base/rng.h"
#include "tests/support/problems.h"

/** The further arguments of an expectation, where the variable seed names the problem. */
#define SEED           "seed %" PRIu64, seed
#define SEED_AND(more) "seed %" PRIu64 more, seed

/** The problem of this seed, with a legal placement; aborts by assert() when out of memory. */
void random_problem_create(task *r, uint64_t seed);
/** Likewise, on a machine of 2 to 4 hosts with up to 3 GPUs each, devices in any order but
 * for the first. */
void random_problem_create_hosts(task *r, uint64_t seed);

/** Likewise; devices of a kind take different times for an op, and each its own. */
void random_problem_create_unlike(task *r, uint64_t seed);
/** Draws such times for the devices of a problem. */
void random_problem_part(task *r, uint64_t seed);

/** Any of the three above; a third of the ops are ranks of a few collectives. */
void random_problem_create_collectives(task *r, uint64_t seed);

/** Draws another legal placement. */
void random_problem_place(task *r, emp_rng *rng);

/** Multiplies every cost, latency and transfer time by \a factor; exact. The memory of CPUs is shared no
 * more: its times are rounded. */
void random_problem_scale(task *r, int64_t factor);

#endif /* EMP_TESTS_SIM_ENGINE_RANDOM_PROBLEM_H */

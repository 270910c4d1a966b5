/** \file tests/policy/hdp/planner.h
 * The planner on a chain of small layers (tests/support/problems.h), asked and told by hand. One
 * problem at a time: a suite's .init and .fini create and destroy it.
 */
#ifndef EMP_TESTS_POLICY_HDP_PLANNER_H
#define EMP_TESTS_POLICY_HDP_PLANNER_H

#include <stdbool.h>

#include "search/method.h"
#include "tests/support/problems.h"

enum { PLANNER_MAX_OPS = 512, PLANNER_SAMPLES = 4 };

/** Options of small networks, with all that "paper" has. */
#define PLANNER_FULL "groups=12,hidden=10,grouper_hidden=9,type_width=4"
/** The same without elites, heat, cap and what the placer sees and reads beside the paper. */
#define PLANNER_SMALL                                                                   \
    PLANNER_FULL ",cap=0,failures_share=0,heat=0,stretches=0,elites=0,gradient_bound=0," \
                 "costs=0,standardize=0,aligned=0"
/** Both with learned groups. */
#define PLANNER_LEARNED      PLANNER_SMALL ",grouping=learned"
#define PLANNER_FULL_LEARNED PLANNER_FULL ",grouping=learned"

extern task planner_problem;
/** What was asked last. */
extern emp_device_id            planner_storage[PLANNER_SAMPLES][PLANNER_MAX_OPS];
extern const emp_owned_decision planner_candidates[PLANNER_SAMPLES];

void planner_problem_create(void);
void planner_problem_destroy(void); /**< expects that nothing has leaked */

/** A planner with preset "paper", or with any. */
void *planner_create(uint64_t seed, int32_t threads, const char *options);
void *planner_create_preset(uint64_t seed, int32_t threads, const char *preset,
                            const char *options);

/** One ask and tell. A placement takes 1 s, plus 1 s for the share of ops that are not on
 * device 1; \a is_feasible says whether it fits. Returns the mean time. */
double planner_update(void *state, bool is_feasible);

double planner_metric(const void *state, const char *name);
/** Of both networks, so that a change shows. */
double planner_weight_sum(const void *state);

/** Copies an array of a saved state into one of the same name and size. */
void planner_copy_array(const emp_named_array *to, const emp_named_array *from);

#endif /* EMP_TESTS_POLICY_HDP_PLANNER_H */

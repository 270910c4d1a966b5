/** \file run/runners_up.h
 * The best distinct placements that a run scores, for looking at what else a search found.
 *
 * Two placements are alike if their steps take equally long, which also covers two equal GPUs that are exchanged, or
 * if less than 1 % of the ops are on different devices. The list keeps only the best of placements that are alike. A
 * placement that fits in memory is better than one that does not.
 */
#ifndef EMP_RUN_RUNNERS_UP_H
#define EMP_RUN_RUNNERS_UP_H

#include "sim/engine/sim.h"
#include "sim/problem/problem.h"

enum { EMP_RUNNERS_UP_MAX = 12 };

typedef struct {
    emp_owned_decision decision;
    emp_time_ns        step_time_ns;
    bool               is_feasible;
} emp_runner_up;

/** Set the limit and zero the rest. Read the places, the best first. */
typedef struct {
    int32_t       limit; /**< of places, at most EMP_RUNNERS_UP_MAX */
    int32_t       count;
    emp_runner_up place[EMP_RUNNERS_UP_MAX];
} emp_runners_up;

/** Considers a scored decision, which is copied if it gets a place. O(1) for one that is too slow to get one,
 * else O(limit ops). \retval EMP_ENOMEM  The places are unchanged. */
emp_status emp_runners_up_note(emp_runners_up           *runners_up,
                               const emp_owned_decision *decision,
                               const emp_sim_result *result, emp_error *err);

void emp_runners_up_clear(emp_runners_up *runners_up);

#endif /* EMP_RUN_RUNNERS_UP_H */

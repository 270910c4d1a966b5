/** \file sim/team/team.h
 * Several simulators of one problem, one a thread; <emplace/sim.h> has create, run and destroy.
 */
#ifndef EMP_SIM_TEAM_TEAM_H
#define EMP_SIM_TEAM_TEAM_H

#include "base/work.h"
#include "sim/engine/sim.h"
#include "sim/problem/problem.h"

enum { EMP_SIM_TEAM_THREADS_MAX = 1024 };

/** Decisions of a team's run, with different arrays. */
typedef struct {
    /** [count] All have the same arrays. Devices and leaders are made legal, in place. */
    const emp_owned_decision *decision;
    const emp_sim_times      *times; /**< [count] OPTIONAL, filled */
    const atomic_int         *stop;  /**< OPTIONAL: once set, no more of them are run */
} emp_sim_team_batch;

/** As emp_sim_team_run(), with all that a batch has. The first batch with leaders allocates what
 * they take.
 * \retval EMP_EINVAL, EMP_EUNSUPPORTED  As emp_sim_run_decision().
 * \retval EMP_EINTERRUPTED  `stop` has left some out; there is no sentence.
 * \retval EMP_ENOMEM */
emp_status emp_sim_team_run_batch(emp_sim_team *team, const emp_sim_team_batch *batch,
                                  int32_t count, emp_sim_result *const *results,
                                  emp_error *err);

/** The simulator of the first thread, for use between two runs of the team; borrowed. */
emp_sim *emp_sim_team_first(emp_sim_team *team);

#endif /* EMP_SIM_TEAM_TEAM_H */

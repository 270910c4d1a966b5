/** \file sim/team/team.h
 * Several simulators of one problem, one a thread; <emplace/sim.h> has create, run and destroy.
 */
#ifndef EMP_SIM_TEAM_TEAM_H
#define EMP_SIM_TEAM_TEAM_H

#include "sim/engine/sim.h"

enum { EMP_SIM_TEAM_THREADS_MAX = 1024 };

/** The simulator of the first thread, for use between two runs of the team; borrowed. */
emp_sim *emp_sim_team_first(emp_sim_team *team);

#endif /* EMP_SIM_TEAM_TEAM_H */

/** \file policy/nn/team.h
 * A meeting point for the threads of a parallel region that work in steps of some
 * microseconds. OpenMP's barrier waits actively for milliseconds, which is ruin when
 * another program has the processor that the last thread needs; this one gives way.
 */
#ifndef EMP_POLICY_NN_TEAM_H
#define EMP_POLICY_NN_TEAM_H

#include <stdatomic.h>
#include <stdint.h>

/** Zero-initialise; shared by the threads. */
typedef struct {
    atomic_int arrived, meetings;
} emp_team;

/** Returns when all \a size threads have called it. */
void emp_team_meet(emp_team *team, int32_t size);

#endif /* EMP_POLICY_NN_TEAM_H */

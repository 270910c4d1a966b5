/** \file sim/explain/moments.h
 * When each op of a step gets ready, waits and runs, for pictures that show ops one by one.
 */
#ifndef EMP_SIM_EXPLAIN_MOMENTS_H
#define EMP_SIM_EXPLAIN_MOMENTS_H

#include "sim/engine/sim.h"

/** -1: there is no such moment, as of an op that takes no time or is folded. */
typedef struct {
    emp_time_ns ready_ns, start_ns, end_ns;
    emp_time_ns run_ns; /**< in which it, or on a CPU at least one of its tasks, runs */
} emp_op_moment;

/** Simulates one step and fills moment[op]. \a problem is the one of \a sim. */
emp_status emp_op_moments(emp_op_moment *moment, emp_sim *sim, const emp_problem *problem,
                          const emp_decision *decision, emp_sim_result *result,
                          emp_error *err);

/** The time from when the op is ready until it runs, which the issue by a host thread is part of. */
emp_time_ns emp_op_wait_ns(const emp_op_moment *moment);

#endif /* EMP_SIM_EXPLAIN_MOMENTS_H */

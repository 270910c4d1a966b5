/** \file sim/explain/blame.h
 * How much of a step each op is to blame for: where a search had better look.
 *
 * The critical path (explain.h) is shared out to ops. Of a stretch of t seconds
 *
 *  - in which an op is issued or runs, the op gets t;
 *  - in which it waits for a busy device, or a copy for the compute that is queued there,
 *    it (of a copy: the op that made the tensor) gets t / 2, and each op that runs on that
 *    device meanwhile half of the time for which it does;
 *  - of a copy or a message otherwise, the op that sends it and the op with which the path
 *    goes on get t / 2 each.
 *
 * An op that gets nothing can be anywhere without making the step shorter, unless its move
 * changes the order of others.
 */
#ifndef EMP_SIM_EXPLAIN_BLAME_H
#define EMP_SIM_EXPLAIN_BLAME_H

#include "sim/engine/sim.h"

/** Simulates one step, traced, by \a sim, which has been created for \a problem.
 * O((V + E) log(V + E)) time, O(V + E) memory.
 *
 * \param[in]  device_of_op  As for emp_sim_run().
 * \param[out] blame_s       [op_count]; may be written on failure.
 * \retval EMP_EUNSUPPORTED  As emp_explain_create(). */
emp_status emp_explain_blame(double *blame_s, const emp_problem *problem, emp_sim *sim,
                             const emp_device_id *device_of_op, emp_error *err);

/** The same for many placements, and when each op ends; keeps its memory from one to the next. */
typedef struct emp_blamer emp_blamer;

/** \a problem and \a sim are borrowed. \retval EMP_ENOMEM */
emp_status emp_blamer_create(emp_blamer **out, const emp_problem *problem, emp_sim *sim,
                             emp_error *err);
/** As emp_explain_blame(). \a end_frac [op_count] gets the ends of ops as shares of the step
 * time, which give the order of emp_surrogate_follow(); 0 of folded ops. NULL: not asked for. */
emp_status emp_blamer_run(emp_blamer *blamer, double *blame_s, double *end_frac,
                          const emp_device_id *device_of_op, emp_error *err);
void       emp_blamer_destroy(emp_blamer *blamer);

#endif /* EMP_SIM_EXPLAIN_BLAME_H */

/** \file replay/planner/part.h
 * A part of a plan: some of its ops, for measuring what their kernels take.
 *
 * A tensor that an op of the part reads from an op outside of it lies in memory before the step, as a variable does. A part may
 * run on several devices at once, each with buffers of its own.
 */
#ifndef EMP_REPLAY_PLANNER_PART_H
#define EMP_REPLAY_PLANNER_PART_H

#include "replay/plan/plan.h"

typedef struct {
    const bool    *is_kept; /**< [op]; ops with variables are never part of it */
    int32_t        device;  /**< whose ops go to the devices below; ops of others stay */
    const int32_t *devices; /**< [count] for each a copy of all kept ops */
    int32_t        count;
} emp_plan_part;

/** Makes the part as a plan of its own.
 * \param origin  [op of the part] receives the op of \a plan, -1 for operands; of only the first device's copies, of the
 *                others it is -2 - op. Allocated here, the caller frees it.
 * \retval EMP_EINVAL  No op is kept. \retval EMP_ENOMEM */
emp_status emp_replay_plan_part(emp_replay_plan **out, int32_t **origin,
                                const emp_replay_plan *plan, const emp_plan_part *part,
                                emp_error *err);

#endif /* EMP_REPLAY_PLANNER_PART_H */

/** \file replay/plan/plan_internal.h
 * Shared by the files of plans: whether a kernel stays within its operands.
 */
#ifndef EMP_REPLAY_PLAN_PLAN_INTERNAL_H
#define EMP_REPLAY_PLAN_PLAN_INTERNAL_H

#include "replay/plan/plan.h"

/** A plan file may say anything; what the kernel of \a op touches must be there.
 * \retval EMP_EFORMAT  The message names the op. */
emp_status emp_replay_check_kernel(const emp_replay_plan *plan, int32_t op,
                                   emp_error *err);

#endif /* EMP_REPLAY_PLAN_PLAN_INTERNAL_H */

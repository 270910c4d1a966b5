// SPDX-License-Identifier: GPL-3.0-or-later
/* m-ETF of Baechi (Jeon et al., SoCC 2020): ETF on fused groups, with memory and channels. */
#include "baselines/baselines.h"
#include "baselines/schedulers/baechi.h"

emp_status emp_schedule_m_etf(emp_list_schedule *s, emp_error *err)
{
    return emp_baechi_schedule(s, NULL, err);
}

static emp_status place(const emp_problem *problem, const emp_placer_params *params,
                        emp_device_id *device_of_op, emp_error *err)
{
    return emp_list_place(problem, params, &emp_placer_m_etf, EMP_TASKS_FUSED,
                          emp_schedule_m_etf, device_of_op, err);
}

static emp_status create(void **state, const emp_problem *problem,
                         const emp_placer_params *params, emp_error *err)
{
    return emp_one_shot_create(state, problem, params, place, err);
}

const emp_placer_type emp_placer_m_etf = {
    .name = "m-etf",
    .description = "m-ETF, earliest task first on groups, within memory (Baechi 2020)",
    .create = create,
    .ask = emp_one_shot_ask,
    .tell = emp_one_shot_tell,
    .destroy = emp_one_shot_destroy,
};

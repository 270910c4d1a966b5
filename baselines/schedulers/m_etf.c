// SPDX-License-Identifier: GPL-3.0-or-later
/* m-ETF of Baechi (Jeon et al., SoCC 2020): ETF on fused groups, with memory and channels. */
#include "baselines/baselines.h"
#include "baselines/schedulers/baechi.h"

emp_status emp_schedule_m_etf(emp_list_schedule *s, emp_error *err)
{
    return emp_baechi_schedule(s, NULL, err);
}

const emp_method emp_method_m_etf = {
    .name = "m-etf",
    .description = "m-ETF, earliest task first on groups, within memory (Baechi 2020)",
    .advice = "short memory: a quick schedule within it",
    .decides = EMP_DECIDES_DEVICES | EMP_DECIDES_ORDER,
    .place = emp_list_place,
    .own = &(const emp_list_method){EMP_TASKS_FUSED, emp_schedule_m_etf},
};

// SPDX-License-Identifier: GPL-3.0-or-later
#include "search/placer.h"

bool emp_score_is_better(const emp_score *score, const emp_score *than)
{
    if (score->is_feasible != than->is_feasible) return score->is_feasible;
    return score->step_time_s < than->step_time_s;
}

// SPDX-License-Identifier: GPL-3.0-or-later
#include "search/placer.h"

bool emp_score_is_better(const emp_score *score, const emp_score *than)
{
    if (score->is_feasible != than->is_feasible) return score->is_feasible;
    return score->step_time_s < than->step_time_s;
}

emp_status emp_placer_options_parse(void *options, const emp_placer_type *type,
                                    const emp_placer_params *params, emp_error *err)
{
    const emp_option_table table = {type->name, type->presets, type->options};

    return emp_options_parse(options, &table, params->preset, params->options, err);
}

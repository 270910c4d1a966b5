// SPDX-License-Identifier: GPL-3.0-or-later
/* Runs under the rules of list scheduling, on devices of several models. */
#define EMP_SIM_RULES                                                     \
    {                                                                     \
        .share_copies = true, .copy_streams = true, .shared_links = true, \
        .has_models = true                                                \
    }

#include "sim/engine/run/run.h"

const emp_sim_rules emp_sim_ideal_models_rules = EMP_SIM_RULES;

void emp_engine_run_ideal_models(emp_engine *sim) { emp_run_events(sim); }

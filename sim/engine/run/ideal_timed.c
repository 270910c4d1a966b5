// SPDX-License-Identifier: GPL-3.0-or-later
/* Runs under the rules of list scheduling, with the times of ops. */
#define EMP_SIM_RULES                                                     \
    {                                                                     \
        .share_copies = true, .copy_streams = true, .shared_links = true, \
        .is_timed = true                                                  \
    }

#include "sim/engine/run/run.h"

const emp_sim_rules emp_sim_ideal_timed_rules = EMP_SIM_RULES;

void emp_engine_run_ideal_timed(emp_engine *sim) { emp_run_events(sim); }

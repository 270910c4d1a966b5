// SPDX-License-Identifier: GPL-3.0-or-later
/* Runs under the rules of list scheduling, as constants. */
#include "sim/engine/sim_internal.h"

#define RULES                                                            \
    {                                                                    \
        .share_copies = true, .copy_streams = true, .shared_links = true \
    }

const emp_sim_rules        emp_sim_ideal_rules = RULES;
static const emp_sim_rules rules = RULES;

#include "sim/engine/run.h"

void emp_sim_run_ideal(emp_sim *sim) { run_events(sim); }

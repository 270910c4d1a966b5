// SPDX-License-Identifier: GPL-3.0-or-later
/* Runs under the rules of TensorFlow r1.3, on devices of several models. */
#define EMP_SIM_RULES                                                         \
    {                                                                         \
        .serial_issue = true, .drain_copies = true, .release_at_issue = true, \
        .reuse_inputs = true, .cpu_pool = true, .control_latency = true,      \
        .share_copies = true, .copy_streams = true, .shared_links = true,     \
        .copy_delays = true, .has_models = true                               \
    }

#include "sim/engine/run/run.h"

const emp_sim_rules emp_sim_tf_models_rules = EMP_SIM_RULES;

void emp_engine_run_tf_models(emp_engine *sim) { emp_run_events(sim); }

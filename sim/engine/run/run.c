// SPDX-License-Identifier: GPL-3.0-or-later
/* A run under one set of rules. The build compiles this file once for each set, as functions whose rules
 * are constants ask no switch: EMP_RUN_NAME ends the names, EMP_RUN_PROFILE is IDEAL or TF, EMP_RUN_LEVELS
 * and EMP_RUN_TIMED are true or false. Without EMP_RUN_PROFILE the run reads the simulator's rules, and
 * may be traced. */
#define IDEAL .share_copies = true, .copy_streams = true, .shared_links = true
#define TF                                                                  \
    .serial_issue = true, .drain_copies = true, .release_at_issue = true,   \
    .reuse_inputs = true, .cpu_pool = true, .control_latency = true, IDEAL, \
    .copy_delays = true
#ifdef EMP_RUN_PROFILE
#define EMP_SIM_RULES                                                            \
    {                                                                            \
        EMP_RUN_PROFILE, .has_levels = EMP_RUN_LEVELS, .is_timed = EMP_RUN_TIMED \
    }
#endif

#include "sim/engine/run/run.h"

#define JOIN_WORDS(head, name, tail) head##name##tail
#define JOIN(head, name, tail)       JOIN_WORDS(head, name, tail)

#ifdef EMP_RUN_PROFILE
const emp_sim_rules JOIN(emp_sim_, EMP_RUN_NAME, _rules) = EMP_SIM_RULES;
#endif

void JOIN(emp_engine_run_, EMP_RUN_NAME, )(emp_engine *sim) { emp_run_events(sim); }

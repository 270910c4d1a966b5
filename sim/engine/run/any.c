// SPDX-License-Identifier: GPL-3.0-or-later
/* Runs under whatever rules the simulator has; traced ones too. */
#include "sim/engine/run/run.h"

void emp_engine_run_any(emp_engine *sim) { emp_run_events(sim); }

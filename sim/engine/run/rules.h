/** \file sim/engine/run/rules.h
 * EMP_RULES, which all functions of a run read: EMP_SIM_RULES, constants, where the includer
 * defines it, else those of the simulator `sim`.
 */
#ifndef EMP_SIM_ENGINE_RUN_RULES_H
#define EMP_SIM_ENGINE_RUN_RULES_H

#include "sim/engine/engine.h"

#ifdef EMP_SIM_RULES
static const emp_sim_rules emp_run_rules = EMP_SIM_RULES;
#define EMP_RULES emp_run_rules
#else
#define EMP_RULES (sim->rules)
#endif

#endif /* EMP_SIM_ENGINE_RUN_RULES_H */

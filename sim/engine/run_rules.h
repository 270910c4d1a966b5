/** \file sim/engine/run_rules.h
 * `rules`, which all functions of a run read: EMP_SIM_RULES, constants, where the includer
 * defines it, else those of the simulator `sim`.
 */
#ifndef EMP_SIM_ENGINE_RUN_RULES_H
#define EMP_SIM_ENGINE_RUN_RULES_H

#include "sim/engine/sim_internal.h"

#ifdef EMP_SIM_RULES
static const emp_sim_rules rules = EMP_SIM_RULES;
#else
#define rules (sim->rules)
#endif

#endif /* EMP_SIM_ENGINE_RUN_RULES_H */

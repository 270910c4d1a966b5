/** \file sim/engine/sim_internal.h
 * The simulator: the engine, or a simulator under another rule set.
 */
#ifndef EMP_SIM_ENGINE_SIM_INTERNAL_H
#define EMP_SIM_ENGINE_SIM_INTERNAL_H

#include "sim/engine/engine.h"
#include "sim/engine/sim.h"
#include "sim/rules/rules.h"

struct emp_sim {
    emp_engine    *engine; /**< of the rules `events` */
    emp_rules_sim *ruled;  /**< of others; one of the two is NULL */
};

#endif /* EMP_SIM_ENGINE_SIM_INTERNAL_H */

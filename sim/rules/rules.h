/** \file sim/rules/rules.h
 * Steps under the rules of other simulators, docs/profiles.md: Placeto's, Baechi's, the
 * formulas of Tarnawski et al., and GiPH's and DOPPLER's. A runtime names its rules; each rule set is a file here and a
 * line of one table in rules.c. sim/engine has the rules `events` and chooses.
 *
 * Threads. An emp_rules_sim is confined to one thread; the problem it borrows is shared.
 */
#ifndef EMP_SIM_RULES_RULES_H
#define EMP_SIM_RULES_RULES_H

#include "sim/rules/step.h"

typedef struct emp_rules_sim emp_rules_sim;

/** Creates a simulator for repeated runs under the rules of the problem's runtime. \a problem
 * is borrowed. O(V + E).
 * \retval EMP_EINVAL        The rules are `events`, which sim/engine has.
 * \retval EMP_EUNSUPPORTED  As emp_sim_create() says. */
emp_status emp_rules_sim_create(emp_rules_sim **out, const emp_problem *problem,
                                emp_error *err);

/** Simulates one step, as emp_sim_run() does, and tells what \a watch asks for.
 * \retval EMP_EINVAL  An entry is no device, or not one that the op may use. */
emp_status emp_rules_sim_run(emp_rules_sim *sim, const emp_device_id *device_of_op,
                             const emp_sim_watch *watch, emp_sim_result *result,
                             emp_error *err);

/** A device's memory in the run, or after it. */
emp_sim_live_memory emp_rules_sim_memory(const emp_rules_sim *sim, emp_device_id device);

/** NULL is allowed. */
void emp_rules_sim_destroy(emp_rules_sim *sim);

#endif /* EMP_SIM_RULES_RULES_H */

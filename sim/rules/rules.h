/** \file sim/rules/rules.h
 * Steps under the rules of other simulators, docs/simulator.md: Placeto's, Baechi's, the
 * formulas of Tarnawski et al., and GiPH's and DOPPLER's. A runtime names its rules; each rule set is a file here and a
 * line of one table in rules.c. sim/engine has the rules `events` and chooses.
 *
 * Threads. An emp_rules_sim is confined to one thread; the problem it borrows is shared.
 */
#ifndef EMP_SIM_RULES_RULES_H
#define EMP_SIM_RULES_RULES_H

#include "sim/problem/problem.h"
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

/*
 * The limits of every simulated step, whatever its rules, and how it is refused.
 */

enum { EMP_SIM_SOURCE_BITS = 13, EMP_SIM_GRANULE = 256 };

/** All times of a run are less. The engine keeps an event in one word, its time above the bits of
 * its source; a server for which nothing waits has an event at now + this time. */
static inline emp_time_ns emp_sim_last_ns(int32_t source_bits)
{
    return INT64_C(1) << (62 - source_bits);
}

/** More bytes than a step can hold or move. */
#define EMP_SIM_ENDLESS (INT64_C(1) << 62)

/** The size of an allocation of \a bytes: whole granules, and no more than 64 bits hold. */
static inline int64_t emp_sim_round_up(int64_t bytes)
{
    int64_t most = INT64_MAX - EMP_SIM_GRANULE + 1;

    if (bytes > most) bytes = most;
    return (bytes + (EMP_SIM_GRANULE - 1)) / EMP_SIM_GRANULE * EMP_SIM_GRANULE;
}

/** Refuse a step whose sums could overflow: \a total bytes that it holds and moves, or the
 * time of everything one after the other, where \a last_ns and later do not fit.
 * \retval EMP_EUNSUPPORTED */
emp_status emp_sim_limit_bytes(double total, emp_error *err);
emp_status emp_sim_limit_time(double total_ns, emp_time_ns last_ns, emp_error *err);

/** Says why an op cannot be on \a device. \retval EMP_EINVAL */
emp_status emp_sim_refuse_device(const emp_problem *problem, emp_op_id op,
                                 emp_device_id device, emp_error *err);

#endif /* EMP_SIM_RULES_RULES_H */

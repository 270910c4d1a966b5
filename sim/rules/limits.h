/** \file sim/rules/limits.h
 * What every simulated step keeps to, whatever its rules, and how it is refused.
 */
#ifndef EMP_SIM_RULES_LIMITS_H
#define EMP_SIM_RULES_LIMITS_H

#include "sim/problem/problem.h"

enum { EMP_SIM_SOURCE_BITS = 13, EMP_SIM_GRANULE = 256 };

/** All times of a run are less. The engine keeps an event in one word, its time above the bits of
 * its source; a server for which nothing waits has an event at now + this time. */
static inline emp_time_ns emp_sim_last_ns(int32_t source_bits)
{
    return INT64_C(1) << (62 - source_bits);
}

/** More bytes than a step can hold or move. */
#define EMP_SIM_ENDLESS (INT64_C(1) << 62)

/** What an allocation of \a bytes takes: whole granules, and no more than 64 bits hold. */
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

#endif /* EMP_SIM_RULES_LIMITS_H */

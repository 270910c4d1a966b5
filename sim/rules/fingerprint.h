/** \file sim/rules/fingerprint.h
 * What every traced run does, whatever its rules: add to the fingerprint of the schedule,
 * and call back.
 */
#ifndef EMP_SIM_RULES_FINGERPRINT_H
#define EMP_SIM_RULES_FINGERPRINT_H

#include <stddef.h>

#include "base/hash.h"
#include "sim/rules/step.h"

/** Calls a callback of a traced run's \a trace, if there is one. */
#define EMP_SIM_TELL(trace, callback, ...)                    \
    do {                                                      \
        if ((trace) != NULL && (trace)->callback != NULL)     \
            (trace)->callback((trace)->context, __VA_ARGS__); \
    } while (0)

/** Kinds of docs/simulator.md. */
enum { EMP_SIM_RECORD_OP, EMP_SIM_RECORD_TRANSFER, EMP_SIM_RECORD_MESSAGE };

/** Adds to the fingerprint; it is a sum, so that it does not depend on the order of
 * simultaneous events. */
static inline void emp_sim_record(emp_sim_result *result, int kind, int32_t id,
                                  int32_t device, emp_time_ns start, emp_time_ns end)
{
    uint64_t what = (uint64_t)kind << 40 | (uint64_t)device << 32 | (uint32_t)id;
    uint64_t hash = emp_hash_u64(EMP_HASH_SEED, what);

    hash = emp_hash_u64(hash, (uint64_t)start);
    result->fingerprint += emp_hash_u64(hash, (uint64_t)end);
}

#endif /* EMP_SIM_RULES_FINGERPRINT_H */

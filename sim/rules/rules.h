/** \file sim/rules/rules.h
 * The result, trace and limits of a simulated step, whatever rules it follows; and steps under the rules
 * of other simulators, docs/simulator.md: Placeto's, Baechi's, the formulas of Tarnawski et al., and GiPH's
 * and DOPPLER's. A runtime names its rules; each rule set is a file here and a line of one table in
 * rules.c. sim/engine has the rules `events` and chooses.
 *
 * Threads. An emp_rules_sim is confined to one thread; the problem it borrows is shared.
 */
#ifndef EMP_SIM_RULES_RULES_H
#define EMP_SIM_RULES_RULES_H

#include <emplace/sim.h>
#include <stddef.h>

#include "base/collections.h"
#include "sim/problem/problem.h"

/** The results of one run. Plain data; copy freely. */
struct emp_sim_result {
    emp_time_ns step_time_ns;
    bool        is_feasible; /**< no device ran out of memory */
    int32_t     device_count;
    emp_time_ns busy_ns[EMP_MAX_DEVICES]; /**< compute; CPU: core time / cores;
                                               by rules of max load with copies */
    int64_t peak_bytes[EMP_MAX_DEVICES];  /**< persistent + live tensors + workspace; with
                                             bfc_allocator the end of the last chunk, with
                                             caching_allocator the greatest sum of segments */
    int64_t traffic_bytes;                /**< all tensors sent between memories */
    int64_t transfer_count;
    int64_t event_count; /**< starts and ends of ops, requests and arrivals of transfers,
                               arrivals of control messages */
    uint64_t
        fingerprint; /**< of the whole schedule, docs/simulator.md; 0 unless traced */
    /* The first allocation that did not fit; oom_device -1 = none. The run goes on as if
     * memory were unlimited, so that the peaks say how much was missing. */
    emp_device_id oom_device;
    emp_op_id     oom_op;
    int64_t       oom_bytes; /**< asked for */
    emp_time_ns   oom_at_ns;
};

/** How far a copy is on its way. */
typedef enum {
    EMP_SIM_COPY_TOLD,      /**< its producer is done; the send begins or waits */
    EMP_SIM_COPY_REQUESTED, /**< sent; its buffer is there */
    EMP_SIM_COPY_PASSED,    /**< where there is a client: it goes on */
    EMP_SIM_COPY_DELIVERED  /**< its readers are notified */
} emp_sim_copy_phase;

/** Called as a traced run learns of what happens; every member may be NULL. Times may lie
 * ahead of the clock: a kernel's times are known when it is queued. An event that makes an
 * op ready (an op that is done, a copy that is passed or delivered, a message) is reported before that
 * op, and after the events that made others ready before. An op on a GPU with a host thread creates
 * what it makes between issue and op.
 * sim/explain uses it. */
typedef struct {
    void *context;
    /** An op on a device. lane: 0 on a GPU; on the CPU the batch of tasks that ran, so an
     * op may come in several parts. */
    void (*op)(void *context, emp_op_id op, emp_device_id device, int32_t lane,
               emp_time_ns start_ns, emp_time_ns end_ns);
    /** A GPU's host thread issues an op. */
    void (*issue)(void *context, emp_op_id op, emp_device_id device, emp_time_ns start_ns,
                  emp_time_ns end_ns);
    /** All that an op waits for is there. */
    void (*ready)(void *context, emp_op_id op, emp_device_id device, emp_time_ns at_ns);
    /** A copy of a tensor reaches a phase; memories are named by their device. */
    void (*copy)(void *context, emp_tensor_id tensor, emp_device_id from,
                 emp_device_id to, emp_sim_copy_phase phase, emp_time_ns at_ns);
    /** The word that an op is done reaches another device. */
    void (*message)(void *context, emp_op_id op, emp_device_id to, emp_time_ns at_ns);
    /** A tensor moves between memories; after its request. */
    void (*transfer)(void *context, emp_tensor_id tensor, emp_device_id from,
                     emp_device_id to, emp_time_ns start_ns, emp_time_ns end_ns);
    /** A device's memory in use, after every change. */
    void (*memory)(void *context, emp_device_id device, emp_time_ns at_ns, int64_t bytes);
} emp_sim_trace;

/** When ops run, in ns since the step began; a kernel's times, not its issue's. Folded ops
 * have none: their places stay as they are. */
typedef struct {
    emp_time_ns *start_ns, *end_ns; /**< [op] */
} emp_sim_times;

/** The callbacks of a run beside its result; all 0: none. */
typedef struct {
    bool                 is_traced; /**< the schedule's fingerprint; slower */
    const emp_sim_trace *trace;     /**< OPTIONAL, of a traced run */
    const emp_sim_times *times;     /**< OPTIONAL, filled */
} emp_sim_watch;

/** The content of a device's memory at a moment of a run. */
typedef struct {
    int64_t used_bytes; /**< of all that it holds */
    int64_t peak_bytes; /**< so far, as emp_sim_result counts it */
    bool    is_out;     /**< some memory has been too small by now */
} emp_sim_live_memory;

/*
 * The work of every traced run, whatever its rules: add to the fingerprint of the schedule,
 * and call back.
 */

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

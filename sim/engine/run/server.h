/** \file sim/engine/run/server.h
 * Devices that serve one item at a time: host threads of GPUs, and GPUs and CPUs that
 * serve ops by themselves. What an item's end sets off stands in run.h.
 */
#ifndef EMP_SIM_ENGINE_RUN_SERVER_H
#define EMP_SIM_ENGINE_RUN_SERVER_H

#include "sim/engine/run/line.h"
#include "sim/engine/run/memory.h"
#include "sim/engine/run/sharing.h"

/** Compilers would compute the address anew wherever it is used; they keep what comes from an
 * empty asm, of which they know nothing. */
EMP_SIM_INLINE emp_sim_device *emp_run_device_at(emp_engine *sim, int32_t device)
{
    emp_sim_device *d = &sim->device[device];

    __asm__("" : "+r"(d));
    return d;
}

/** The device that the op is on. */
static inline int32_t emp_run_device_of(const emp_engine *sim, int32_t op)
{
    return sim->space_of_place[2 * (size_t)op];
}

/** Time of an op on a device that serves nothing else meanwhile. Because of the empty asm both
 * are read at once, and not one when the kind of the device is known, which is late. */
static inline emp_time_ns emp_run_cost_on(const emp_engine *sim, int32_t op,
                                          int32_t device)
{
    emp_time_ns on_cpu = sim->op[op].cpu_ns, on_gpu = sim->op[op].gpu_ns;

    __asm__("" : "+r"(on_cpu), "+r"(on_gpu));
    return sim->device[device].kind == EMP_DEVICE_GPU ? on_gpu : on_cpu;
}

/** A host thread stands between the device and what it is asked to do. */
static inline bool emp_run_has_host_thread(const emp_engine *sim, int32_t device)
{
    return EMP_RULES.serial_issue && sim->device[device].kind == EMP_DEVICE_GPU;
}

/** The server of the device issues ops, and does not run them: always so where GPUs have
 * host threads and CPUs are pools. */
static inline bool emp_run_issues_ops(const emp_engine *sim, int32_t device)
{
    return EMP_RULES.serial_issue &&
           (EMP_RULES.cpu_pool || emp_run_has_host_thread(sim, device));
}

/** How long the server works on an op. */
static inline emp_time_ns emp_run_duration_on(const emp_engine *sim, int32_t op,
                                              int32_t device)
{
    if (!emp_run_issues_ops(sim, device)) return emp_run_cost_on(sim, op, device);
    return sim->op[op].issue_ns;
}

/** Where the first reader of the op's outputs reads; somewhere, if they have none. */
static inline uint32_t emp_run_first_place(const emp_engine *sim, int32_t op)
{
    return sim->reader[sim->op[op].reader].place;
}

/** A server begins with \a op, whose end is its event. A rank of a collective may have to wait for links. */
static inline void emp_run_wait_for_links(emp_engine *sim, int32_t op, int32_t device,
                                          emp_sim_device *d)
{
    const emp_sim_tree *servers = &sim->servers;
    emp_time_ns         end =
        emp_run_time_of_event(sim, servers->node[servers->first_leaf + device]);
    emp_time_ns more = emp_engine_keep_links(sim, op, sim->now, end - sim->now);

    if (more == 0) return;
    d->busy_ns += more;
    if (EMP_RULES.drain_copies) d->queued_ns += more;
    emp_run_replace_server_event(sim, device, emp_run_event_at(sim, device, end + more));
}

/** A server that runs ops begins with \a op, its current item. */
EMP_SIM_INLINE void emp_run_start_op(emp_engine *sim, int32_t op, int32_t device,
                                     emp_sim_device *d)
{
    if (EMP_RULES.has_collectives) emp_run_wait_for_links(sim, op, device, d);
    if (emp_run_keeps_starts(sim)) d->started_ns = sim->now;
    d->place = emp_run_first_place(sim, op);
    emp_run_create_outputs(sim, op, device);
    if (EMP_RULES.release_at_issue) emp_run_release_all(sim, op);
}

/** Gives \a op to a server that has nothing to do and runs ops. */
EMP_SIM_CALLED void emp_run_wake_server(emp_engine *sim, int32_t device, int32_t op,
                                        emp_time_ns duration)
{
    emp_sim_device *d = emp_run_device_at(sim, device);

    emp_run_add_server_event(sim, device, sim->now + duration);
    d->current = op;
    emp_run_start_op(sim, op, device, d);
}

/** Gives \a item to a host thread that has nothing to do. */
static inline void emp_run_wake_thread(emp_engine *sim, int32_t device, emp_sim_device *d,
                                       int32_t item, emp_time_ns duration)
{
    emp_run_add_server_event(sim, device, sim->now + duration);
    d->current = item;
    if (emp_run_keeps_starts(sim)) d->started_ns = sim->now;
}

/** Gives \a item to the server; it starts when those before it are done. That the device
 * will be busy with it is noted now. \a level: as in emp_run_wait(). */
static inline void emp_run_serve(emp_engine *sim, int32_t device, int32_t item,
                                 int32_t level, emp_time_ns duration)
{
    emp_sim_device *d = emp_run_device_at(sim, device);

    if (EMP_RULES.shares_cores && d->current < 0)
        duration += emp_run_more_for(sim, item, device);
    if (!emp_run_issues_ops(sim, device)) d->busy_ns += duration;
    if (d->current >= 0) {
        emp_run_wait(sim, d, item, level, duration);
    } else if (emp_run_issues_ops(sim, device)) {
        emp_run_wake_thread(sim, device, d, item, duration);
    } else {
        emp_run_wake_server(sim, device, item, duration);
    }
}

#endif /* EMP_SIM_ENGINE_RUN_SERVER_H */

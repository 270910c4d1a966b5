/** \file sim/engine/run_server.h
 * Devices that serve one item at a time: host threads of GPUs, and GPUs and CPUs that
 * serve ops by themselves. What an item's end sets off stands in run.h.
 */
#ifndef EMP_SIM_ENGINE_RUN_SERVER_H
#define EMP_SIM_ENGINE_RUN_SERVER_H

#include "sim/engine/run_events.h"
#include "sim/engine/run_memory.h"

static inline emp_time_ns later_of(emp_time_ns a, emp_time_ns b) { return a > b ? a : b; }

/** Compilers would compute the address anew wherever it is used; they keep what comes from an
 * empty asm, of which they know nothing. */
EMP_SIM_INLINE emp_sim_device *device_at(emp_sim *sim, int32_t device)
{
    emp_sim_device *d = &sim->device[device];

    __asm__("" : "+r"(d));
    return d;
}

/** The device that the op is on. */
static inline int32_t device_of(const emp_sim *sim, int32_t op)
{
    return sim->space_of_place[2 * (size_t)op];
}

/** Time of an op on a device that serves nothing else meanwhile. Because of the empty asm both
 * are read at once, and not one when the kind of the device is known, which is late. */
static inline emp_time_ns cost_on(const emp_sim *sim, int32_t op, int32_t device)
{
    emp_time_ns on_cpu = sim->op[op].cpu_ns, on_gpu = sim->op[op].gpu_ns;

    __asm__("" : "+r"(on_cpu), "+r"(on_gpu));
    return sim->device[device].kind == EMP_DEVICE_GPU ? on_gpu : on_cpu;
}

/** A host thread stands between the device and what it is asked to do. */
static inline bool has_host_thread(const emp_sim *sim, int32_t device)
{
    return rules.serial_issue && sim->device[device].kind == EMP_DEVICE_GPU;
}

/** The server of the device issues ops, and does not run them: always so where GPUs have
 * host threads and CPUs are pools. */
static inline bool issues_ops(const emp_sim *sim, int32_t device)
{
    return rules.serial_issue && (rules.cpu_pool || has_host_thread(sim, device));
}

/** How long the server works on an op. */
static inline emp_time_ns duration_on(const emp_sim *sim, int32_t op, int32_t device)
{
    return issues_ops(sim, device) ? sim->op[op].issue_ns : cost_on(sim, op, device);
}

/** Where the first reader of the op's outputs reads; somewhere, if they have none. */
static inline uint32_t first_place(const emp_sim *sim, int32_t op)
{
    return sim->reader[sim->op[op].reader].place;
}

/** A server that runs ops begins with \a op, its current item. */
EMP_SIM_INLINE void start_op(emp_sim *sim, int32_t op, int32_t device, emp_sim_device *d)
{
    if (rules.is_traced) d->started_ns = sim->now;
    d->place = first_place(sim, op);
    create_outputs(sim, op, device);
    if (rules.release_at_issue) release_all(sim, op);
}

/** Gives \a op to a server that has nothing to do and runs ops. */
EMP_SIM_CALLED void wake_server(emp_sim *sim, int32_t device, int32_t op,
                                emp_time_ns duration)
{
    emp_sim_device *d = device_at(sim, device);

    add_server_event(sim, device, sim->now + duration);
    d->current = op;
    start_op(sim, op, device, d);
}

/** Gives \a item to a host thread that has nothing to do. */
static inline void wake_thread(emp_sim *sim, int32_t device, emp_sim_device *d,
                               int32_t item, emp_time_ns duration)
{
    add_server_event(sim, device, sim->now + duration);
    d->current = item;
    if (rules.is_traced) d->started_ns = sim->now;
}

/** Gives \a item to the server; it starts when those before it are done. That the device
 * will be busy with it is noted now. */
static inline void serve(emp_sim *sim, int32_t device, int32_t item, emp_time_ns duration)
{
    emp_sim_device *d = device_at(sim, device);

    if (!issues_ops(sim, device)) d->busy_ns += duration;
    if (d->current >= 0) {
        append(sim, &d->line, item, duration);
    } else if (issues_ops(sim, device)) {
        wake_thread(sim, device, d, item, duration);
    } else {
        wake_server(sim, device, item, duration);
    }
}

#endif /* EMP_SIM_ENGINE_RUN_SERVER_H */

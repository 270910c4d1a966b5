/** \file sim/engine/run_server.h
 * Devices that serve one item at a time: host threads of GPUs, and GPUs and CPUs that
 * serve ops by themselves. What an item's end sets off stands in run.h.
 */
#ifndef EMP_SIM_ENGINE_RUN_SERVER_H
#define EMP_SIM_ENGINE_RUN_SERVER_H

#include "sim/engine/run_events.h"
#include "sim/engine/run_memory.h"

static inline emp_time_ns later_of(emp_time_ns a, emp_time_ns b) { return a > b ? a : b; }

/** Time of an op on a device that serves nothing else meanwhile. */
static inline emp_time_ns cost_on(const emp_sim *sim, int32_t op, int32_t device)
{
    return sim->op[op].cost_ns[sim->device[device].kind & 1];
}

/** A host thread stands between the device and what it is asked to do. */
static inline bool has_host_thread(const emp_sim *sim, int32_t device)
{
    return rules.serial_issue && sim->device[device].kind == EMP_DEVICE_GPU;
}

/** The copy has been sent, and is now received. */
static inline bool is_requested(const emp_sim *sim, int32_t copy)
{
    return sim->instance[copy].bytes >= 0;
}

/** Starts \a item now; when the server will be done with it. */
EMP_SIM_INLINE emp_time_ns start_item(emp_sim *sim, int32_t device, int32_t item)
{
    emp_sim_device *d = &sim->device[device];

    d->current = item;
    if (rules.is_traced) d->started_ns = sim->now;
    if (rules.serial_issue && item >= sim->op_count) {
        bool is_received = is_requested(sim, copy_of_item(sim, item));
        return sim->now + (is_received ? sim->receive_ns : sim->send_ns);
    }
    if (has_host_thread(sim, device)) return sim->now + sim->op[item].issue_ns;
    create_outputs(sim, item);
    if (rules.release_at_issue) release_inputs(sim, item);
    emp_time_ns cost = cost_on(sim, item, device);
    d->busy_ns += cost;
    return sim->now + cost;
}

/** Gives \a item to a server that has nothing to do. */
EMP_SIM_CALLED void wake_server(emp_sim *sim, int32_t device, int32_t item)
{
    emp_time_ns end = start_item(sim, device, item);

    set_server_event(sim, device, event_at(device, end));
}

/** Gives \a item to the server; it starts when those before it are done. */
static inline void serve(emp_sim *sim, int32_t device, int32_t item)
{
    if (sim->device[device].current >= 0) {
        append(sim, &sim->queue[device], item);
    } else {
        wake_server(sim, device, item);
    }
}

/** The server is done with its item; starts the next. \return the event of its end. */
static inline uint64_t serve_next(emp_sim *sim, int32_t device)
{
    emp_sim_device *d = &sim->device[device];
    emp_sim_queue  *queue = &sim->queue[device];

    if (is_empty(sim, queue)) {
        d->current = -1;
        return no_event(device);
    }
    int32_t item = take(sim, queue);
    return event_at(device, start_item(sim, device, item));
}

#endif /* EMP_SIM_ENGINE_RUN_SERVER_H */

/** \file sim/engine/run/sharing.h
 * What devices that are groups of one computer's cores take from each other. Nothing of it is in
 * runs on other machines.
 */
#ifndef EMP_SIM_ENGINE_RUN_SHARING_H
#define EMP_SIM_ENGINE_RUN_SHARING_H

#include "sim/engine/run/events.h"
#include "sim/engine/run/rules.h"

/** The device has begun something that has not ended. */
static inline bool emp_run_is_working(const emp_engine *sim, int32_t device)
{
    if (sim->pool[device].core_count > 0) return sim->pool[device].running_count > 0;
    return sim->device[device].current >= 0;
}

/** A core that \a device does not have works. */
static inline bool emp_run_works_beside(const emp_engine *sim, int32_t device)
{
    for (int32_t d = 0; d < sim->device_count; d++) {
        if (d != device && sim->sharing->shared[device][d] == 0 &&
            emp_run_is_working(sim, d))
            return true;
    }
    return false;
}

/** Nobody works on the device's cores. */
static inline bool emp_run_has_idle_core(const emp_engine *sim, int32_t device)
{
    if (sim->pool[device].core_count > 0 ? sim->pool[device].free_cores == 0
                                         : emp_run_is_working(sim, device))
        return false;
    for (int32_t d = 0; d < sim->device_count; d++) {
        if (d != device && sim->sharing->shared[device][d] > 0 &&
            emp_run_is_working(sim, d))
            return false;
    }
    return true;
}

/** How much longer than alone an op takes that starts now on the group \a device. */
static inline emp_time_ns emp_run_more_for(const emp_engine *sim, int32_t op,
                                           int32_t device)
{
    const emp_sim_device *d = &sim->device[device];
    emp_time_ns           more = emp_time_later(d->core_free_ns - sim->now, 0);

    if (d->kind != EMP_DEVICE_GPU) return 0;
    return emp_run_works_beside(sim, device) ? more + sim->sharing->more_ns[op] : more;
}

/** Others take the cores of a group for \a duration, from now on. What runs there ends later. */
static inline void emp_run_hold_up(emp_engine *sim, int32_t device, emp_time_ns duration)
{
    emp_sim_device     *d = &sim->device[device];
    const emp_sim_tree *servers = &sim->servers;

    if (d->kind != EMP_DEVICE_GPU) return;
    d->core_free_ns = emp_time_later(d->core_free_ns, sim->now) + duration;
    if (d->current < 0) return;
    emp_time_ns end =
        emp_run_time_of_event(sim, servers->node[servers->first_leaf + device]);
    d->busy_ns += duration;
    emp_run_replace_server_event(sim, device,
                                 emp_run_event_at(sim, device, end + duration));
}

/** A copy of \a bytes begins, which a core of either end makes: one that is idle, the receiver's
 * first. If there is none the group that receives is held up, or the one that sends to a host. */
static inline void emp_run_take_core_for_copy(emp_engine *sim, int64_t bytes,
                                              int32_t from, int32_t to)
{
    const emp_sim_sharing *s = sim->sharing;
    int32_t                who = to;

    if (!emp_run_has_idle_core(sim, to) &&
        (emp_run_has_idle_core(sim, from) || sim->device[to].kind != EMP_DEVICE_GPU))
        who = from;
    emp_time_ns duration =
        s->hand_over_ns + (emp_time_ns)((double)bytes * s->ns_per_byte + 0.5);
    emp_run_hold_up(sim, who, duration / s->core_count[who]);
}

/** Products of times and counts of cores, which 64 bits do not hold in runs of days. */
__extension__ typedef __int128 emp_run_wide;

/** Tasks of \a duration each begin on so many cores of a CPU. Groups that have the same cores are
 * held up for their share. */
static inline void emp_run_take_cores_for_tasks(emp_engine *sim, int32_t cpu,
                                                int32_t tasks, emp_time_ns duration)
{
    const emp_sim_sharing *s = sim->sharing;

    for (int32_t d = 0; d < sim->device_count; d++) {
        if (d == cpu || s->shared[cpu][d] == 0) continue;
        emp_run_wide share = (emp_run_wide)duration * tasks * s->shared[cpu][d];
        emp_run_hold_up(sim, d,
                        (emp_time_ns)(share / (s->core_count[cpu] * s->core_count[d])));
    }
}

#endif /* EMP_SIM_ENGINE_RUN_SHARING_H */

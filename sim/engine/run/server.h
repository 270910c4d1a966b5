/** \file sim/engine/run/server.h
 * Devices at work: what waits for them, cores that share, servers, and the CPU's pool.
 */
#ifndef EMP_SIM_ENGINE_RUN_SERVER_H
#define EMP_SIM_ENGINE_RUN_SERVER_H

#include "sim/engine/run/events.h"
#include "sim/engine/run/memory.h"

/* The queue of a device: a list, or one for each level, of which the least that is not empty
 * is served. An op waits at its level, a copy to send at its producer's, one to receive at
 * its first reader's: the caller of emp_run_serve() passes it. */

/** The op's level, if there are levels. */
static inline int32_t emp_run_level_of_op(const emp_engine *sim, int32_t op)
{
    return EMP_RULES.has_levels ? sim->level[op] : 0;
}

/** The list whose first item the device serves next. If nothing waits, it is the list of the last
 * level, which is then empty. */
EMP_SIM_INLINE emp_sim_link *emp_run_line(const emp_engine *sim, emp_sim_device *d)
{
    (void)sim; /* where rules are constants */
    if (!EMP_RULES.has_levels) return &d->line;
    return d->line_of_level +
           __builtin_ctzll(d->waiting | UINT64_C(1) << (EMP_LEVELS - 1));
}

/** \a level: emp_run_level_of_op() of the op that decides. \a time_ns is for who takes the item. */
EMP_SIM_INLINE void emp_run_wait(emp_engine *sim, emp_sim_device *d, int32_t item,
                                 int32_t level, emp_time_ns time_ns)
{
    emp_sim_link *line = &d->line;

    if (EMP_RULES.has_levels) {
        d->waiting |= UINT64_C(1) << level;
        line = d->line_of_level + level;
    }
    emp_run_append(sim, line, item, time_ns);
}

/** Takes the first item of \a line, which is emp_run_line() and not empty. */
EMP_SIM_INLINE int32_t emp_run_take_from_line(emp_engine *sim, emp_sim_device *d,
                                              emp_sim_link *line)
{
    int32_t item = emp_run_take_waiting(sim, line);
    /* The lowest bit is that of `line`. */
    if (EMP_RULES.has_levels) d->waiting &= d->waiting - (uint64_t)emp_run_is_empty(line);
    return item;
}

/* The times that devices which are groups of one computer's cores take from each other. Nothing of it is in
 * runs on other machines. */

/** The device has begun something that has not ended. */
static inline bool emp_run_is_working(const emp_engine *sim, int32_t device)
{
    if (sim->pool[device].core_count > 0) return sim->pool[device].running_count > 0;
    return sim->device[device].current >= 0;
}

/** Whether a core that \a device does not have works. */
static inline bool emp_run_works_beside(const emp_engine *sim, int32_t device)
{
    for (int32_t d = 0; d < sim->device_count; d++) {
        if (d != device && sim->sharing->shared[device][d] == 0 &&
            emp_run_is_working(sim, d))
            return true;
    }
    return false;
}

/** Whether none of the device's cores works. */
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

/** How much longer an op takes that starts now on the group \a device than it would by itself. */
static inline emp_time_ns emp_run_more_for(const emp_engine *sim, int32_t op,
                                           int32_t device)
{
    const emp_sim_device *d = &sim->device[device];
    emp_time_ns           more = emp_time_later(d->core_free_ns - sim->now, 0);

    if (d->kind != EMP_DEVICE_GPU) return 0;
    return emp_run_works_beside(sim, device) ? more + sim->sharing->more_ns[op] : more;
}

/** Others take the cores of a group for \a duration, from now on. The op that runs there ends later. */
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

/* Devices that serve one item at a time: host threads of GPUs, and GPUs and CPUs that
 * serve ops by themselves. run.c has the consequences of an item's end. */

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
    return sim->op[op].link.place;
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

/* Ops on a CPU whose cores are a pool: a line, and cores that take tasks of the ops in it. */

static inline void emp_run_wait_for_cores(emp_engine *sim, int32_t cpu, int32_t op)
{
    emp_sim_pool *pool = &sim->pool[cpu];

    emp_run_wait(sim, &sim->device[cpu], op, emp_run_level_of_op(sim, op), 0);
    pool->waiting_count++;
    sim->eager_pools |= UINT64_C(1) << cpu;
}

/** For how many cores the op at the head of the line is cut: its share of them, but
 * at least emp_sim_least_share(). */
static inline int32_t emp_run_count_cores(const emp_sim_pool *pool, int32_t lanes)
{
    int32_t least = emp_sim_least_share(lanes);
    int32_t share = pool->core_count / (pool->running_count + pool->waiting_count);

    if (share > lanes) return lanes;
    return share < least ? least : share;
}

/** How long the CPU's memory takes for one of an op's \a tasks. On so many \a cores a lone op has waited for
 * its bytes already, so that its tasks take no longer than they say. */
static inline double emp_run_moved_ns(const emp_engine *sim, const emp_sim_pool *pool,
                                      int32_t op, int32_t cores, int32_t tasks)
{
    double moved_ns = (double)sim->moved_bytes[op] / tasks * pool->ns_per_byte;
    double alone_ns = (double)pool->starting_task_ns / cores;

    return moved_ns < alone_ns ? moved_ns : alone_ns;
}

static inline void emp_run_begin_pool_op(emp_engine *sim, int32_t cpu)
{
    emp_sim_pool   *pool = &sim->pool[cpu];
    emp_sim_device *d = &sim->device[cpu];
    int32_t         op = emp_run_take_from_line(sim, d, emp_run_line(sim, d));
    emp_sim_lanes   on = sim->op[op].cpu;
    int32_t         cores = emp_run_count_cores(pool, on.lanes),
            tasks = cores * emp_cost_rounds(on.lanes);

    pool->waiting_count--;
    pool->running_count++;
    pool->starting_op = op;
    pool->starting_tasks = tasks;
    pool->starting_task_ns = sim->task_ns[on.row + cores - 1];
    if (EMP_RULES.shared_memory)
        pool->starting_moved_ns = emp_run_moved_ns(sim, pool, op, cores, tasks);
    sim->open_tasks[op] = tasks;
    if (emp_run_keeps_starts(sim)) sim->until[op] = sim->now;
    emp_run_create_outputs(sim, op, cpu);
}

/** When a batch ends that starts now: its bytes are moved after the bytes of the batches before it. */
static inline emp_time_ns emp_run_end_of_batch(emp_engine *sim, emp_sim_pool *pool,
                                               int32_t tasks)
{
    emp_time_ns end = sim->now + pool->starting_task_ns;

    if (!EMP_RULES.shared_memory) return end;
    pool->memory_free_ns = emp_time_later(pool->memory_free_ns, sim->now) +
                           (emp_time_ns)(pool->starting_moved_ns * tasks);
    return emp_time_later(end, pool->memory_free_ns);
}

/** Tasks of one op that start together end together: a batch. */
static inline void emp_run_start_batch(emp_engine *sim, int32_t cpu, emp_sim_pool *pool)
{
    int32_t tasks =
        pool->starting_tasks < pool->free_cores ? pool->starting_tasks : pool->free_cores;
    int32_t word = pool->free_batches[0] != 0 ? 0 : 1;
    int32_t batch = word * 64 + __builtin_ctzll(pool->free_batches[word]);
    int32_t source = pool->first_source + batch;

    pool->free_batches[word] &= pool->free_batches[word] - 1;
    pool->free_cores -= tasks;
    pool->starting_tasks -= tasks;
    pool->batch[batch] = (emp_sim_batch){sim->now, pool->starting_op, tasks};
    emp_run_add_other_event(sim, source, emp_run_end_of_batch(sim, pool, tasks));
    if (EMP_RULES.shares_cores)
        emp_run_take_cores_for_tasks(sim, cpu, tasks, pool->starting_task_ns);
}

static inline void emp_run_start_pool_ops(emp_engine *sim, int32_t cpu)
{
    emp_sim_pool *pool = &sim->pool[cpu];

    while (pool->free_cores > 0) {
        if (pool->starting_tasks == 0) {
            if (pool->waiting_count == 0 || pool->running_count == pool->slot_count)
                return;
            emp_run_begin_pool_op(sim, cpu);
        }
        emp_run_start_batch(sim, cpu, pool);
    }
}

/** Starts what the CPUs in eager_pools can. */
EMP_SIM_CALLED void emp_run_start_eager_pools(emp_engine *sim)
{
    do {
        emp_run_start_pool_ops(sim, __builtin_ctzll(sim->eager_pools));
        sim->eager_pools &= sim->eager_pools - 1;
    } while (sim->eager_pools != 0);
}

/** Starts whatever can start on any CPU; mostly nothing. */
EMP_SIM_INLINE void emp_run_start_all_pool_ops(emp_engine *sim)
{
    if (sim->eager_pools != 0) emp_run_start_eager_pools(sim);
}

/** \return the op that has ended with this batch, or -1. */
static inline int32_t emp_run_end_batch(emp_engine *sim, int32_t cpu, int32_t number)
{
    emp_sim_pool       *pool = &sim->pool[cpu];
    const emp_sim_batch batch = pool->batch[number];
    emp_time_ns         duration = sim->now - batch.start_ns;

    pool->free_batches[number / 64] |= UINT64_C(1) << number % 64;
    pool->free_cores += batch.tasks;
    sim->eager_pools |= UINT64_C(1) << cpu;
    sim->device[cpu].busy_ns += duration * batch.tasks;
    emp_run_trace_op(sim, batch.op, cpu, number, batch.start_ns, sim->now);
    sim->open_tasks[batch.op] -= batch.tasks;
    if (sim->open_tasks[batch.op] > 0) return -1;
    pool->running_count--;
    return batch.op;
}

#endif /* EMP_SIM_ENGINE_RUN_SERVER_H */

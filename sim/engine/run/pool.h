/** \file sim/engine/run/pool.h
 * Ops on a CPU whose cores are a pool: a line, and cores that take tasks of the ops in it.
 */
#ifndef EMP_SIM_ENGINE_RUN_POOL_H
#define EMP_SIM_ENGINE_RUN_POOL_H

#include "sim/engine/run/line.h"
#include "sim/engine/run/server.h"

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

/** When a batch ends that starts now: its bytes are moved after those of the batches before it. */
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

#endif /* EMP_SIM_ENGINE_RUN_POOL_H */

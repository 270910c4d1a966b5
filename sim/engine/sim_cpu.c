// SPDX-License-Identifier: GPL-3.0-or-later
/* Ops on the CPU: a line, and cores that take tasks of the ops in it. */
#include <stddef.h>

#include "sim/engine/sim_internal.h"

/* For how many cores the op at the head of the line is cut: its share of them, but
 * at least a quarter of what it can use. */
static int32_t count_cores(const emp_sim *sim, int32_t op)
{
    int32_t lanes = sim->op[op].lanes, least = (lanes + 3) / 4;
    int32_t share = sim->core_count / (sim->running_count + sim->waiting_count);

    if (!sim->runtime.cpu_pool || share > lanes) return lanes;
    return share < least ? least : share;
}

static void begin_cpu_op(emp_sim *sim)
{
    int32_t op = sim->waiting.head, cores = count_cores(sim, op);
    int32_t tasks = cores * emp_cost_rounds(sim->op[op].lanes);

    emp_sim_take(sim, &sim->waiting);
    sim->waiting_count--;
    sim->running_count++;
    sim->starting_op = op;
    sim->starting_tasks = tasks;
    sim->starting_task_ns = sim->task_ns[sim->op[op].cpu_row + cores - 1];
    sim->open_tasks[op] = tasks;
    sim->end_of_op[op] = sim->now;
    sim->result.event_count++;
    emp_sim_create_outputs(sim, op, 0);
}

static int32_t lowest_free_batch(const emp_sim *sim)
{
    int32_t word = sim->free_batches[0] != 0 ? 0 : 1;

    return word * 64 + __builtin_ctzll(sim->free_batches[word]);
}

/* Tasks of one op that start together end together: a batch. */
static void start_batch(emp_sim *sim)
{
    int32_t tasks =
        sim->starting_tasks < sim->free_cores ? sim->starting_tasks : sim->free_cores;
    int32_t batch = lowest_free_batch(sim);

    sim->free_batches[batch / 64] &= ~(UINT64_C(1) << batch % 64);
    sim->free_cores -= tasks;
    sim->starting_tasks -= tasks;
    sim->batch[batch] = (emp_sim_batch){sim->now, sim->starting_op, tasks};
    emp_sim_schedule(sim, EMP_SIM_BATCH + batch, sim->now + sim->starting_task_ns);
}

void emp_sim_start_cpu_ops(emp_sim *sim)
{
    while (sim->free_cores > 0) {
        if (sim->starting_tasks == 0) {
            if (sim->waiting_count == 0 || sim->running_count == sim->slot_count) return;
            begin_cpu_op(sim);
        }
        start_batch(sim);
    }
}

void emp_sim_end_batch(emp_sim *sim, int32_t number)
{
    const emp_sim_batch batch = sim->batch[number];
    int32_t             op = batch.op;

    sim->free_batches[number / 64] |= UINT64_C(1) << number % 64;
    sim->free_cores += batch.tasks;
    sim->device[0].busy_ns += (sim->now - batch.start_ns) * batch.tasks;
    if (sim->trace != NULL && sim->trace->op != NULL) {
        sim->trace->op(sim->trace->context, sim->id_of_op[op], 0, number, batch.start_ns,
                       sim->now);
    }
    sim->open_tasks[op] -= batch.tasks;
    if (sim->open_tasks[op] > 0) return;
    sim->running_count--;
    emp_sim_record(sim, EMP_SIM_RECORD_OP, sim->id_of_op[op], 0, sim->end_of_op[op],
                   sim->now);
    sim->end_of_op[op] = sim->now;
    sim->result.event_count++;
    emp_sim_release_inputs(sim, op, 0);
    emp_sim_notify(sim, op);
}

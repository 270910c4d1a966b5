// SPDX-License-Identifier: GPL-3.0-or-later
#include "bench/iterations/plan.h"

#include <stdio.h>

#include <emplace/sim.h>

#include "base/mem.h"
#include "graphs/import/instances/layers.h"
#include "sim/cost/cost.h"
#include "sim/graph/graph_builder.h"
#include "sim/machine/machine.h"
#include "sim/runtime/runtime.h"

enum { NAME_BYTES = 64, MEMORY_BITS = 50, DIRECTIONS = 2, TASKS_MAX = 1 << 22 };

/* Towards the last stage, and back. */
enum { OUTPUT, GRADIENT };

/* Both ends of an exchange: what they do before it, and their parts in it. -1 = none. */
typedef struct {
    emp_op_id before_send, send, before_receive, receive;
} exchange;

typedef struct {
    emp_graph_builder *builder;
    const emp_step    *step;
    emp_task          *task;         /* [EMP_TASKS_PER_MICRO_BATCH * micro_batches] */
    emp_op_id         *forward;      /* [micro_batches] of the stage at hand */
    exchange          *exchange;     /* [((replica, boundary), direction), micro-batch] */
    emp_op_id         *last;         /* [replica * stages + stage] */
    emp_device_id     *device_of_op; /* room for all tasks, sums and updates */
    int32_t            op_count;
    int32_t           *wire; /* [(replica, boundary), direction] device; -1 = none */
    int32_t            device_count;
} maker;

/* ---- parts ---- */

static const emp_stage_cost *cost_of(const maker *m, int32_t replica, int32_t stage)
{
    return &m->step->stage[replica * m->step->stages + stage];
}

static emp_device_id device_of(const maker *m, int32_t replica, int32_t stage)
{
    return 1 + replica * m->step->stages + stage;
}

/* The channel from a stage to the next one, or back. */
static int32_t channel_of(const maker *m, int32_t replica, int32_t boundary,
                          int32_t direction)
{
    return (replica * m->step->stages + boundary) * DIRECTIONS + direction;
}

static exchange *exchange_of(const maker *m, int32_t channel, int32_t micro_batch)
{
    return &m->exchange[(size_t)channel * (size_t)m->step->micro_batches +
                        (size_t)micro_batch];
}

static bool is_buffered(const maker *m, int32_t replica, int32_t boundary,
                        int32_t direction)
{
    return direction == OUTPUT ? cost_of(m, replica, boundary)->is_output_buffered
                               : cost_of(m, replica, boundary + 1)->is_gradient_buffered;
}

static double seconds_of(const maker *m, int32_t replica, int32_t boundary,
                         int32_t direction)
{
    return direction == OUTPUT ? cost_of(m, replica, boundary)->output_s
                               : cost_of(m, replica, boundary + 1)->gradient_s;
}

/* ---- ops ---- */

static emp_status add_op(emp_op_id *op, maker *m, const char *type, double seconds,
                         int64_t held_bytes, int64_t state_bytes, emp_device_id device,
                         emp_error *err)
{
    char          name[NAME_BYTES];
    emp_stated_op stated = {
        .cost = {.gpu_ns = emp_ns_of_seconds(seconds), .copy_ns = -1, .colocation = -1},
        .kinds = EMP_KIND_GPU,
        .persistent_bytes = state_bytes,
        .held_bytes = held_bytes};

    if (!(seconds >= 0.0))
        return EMP_ERROR(EMP_EINVAL, "a stage takes %g s for %s, want 0 or more", seconds,
                         type);
    snprintf(name, sizeof name, "%s%d", type, m->op_count);
    EMP_CHECK(emp_graph_builder_state(m->builder, name, type, &stated, op, err));
    m->device_of_op[m->op_count++] = device;
    return EMP_OK;
}

static emp_status wait_for(const maker *m, emp_op_id from, emp_op_id op, emp_error *err)
{
    if (from < 0) return EMP_OK;
    return emp_graph_builder_add_control(m->builder, from, op, err);
}

/* Adds the end of an exchange that the stage has; *before is what it did last. */
static emp_status add_end(maker *m, emp_op_id *before, int32_t channel, bool is_sender,
                          bool buffered, double seconds, int32_t micro_batch,
                          emp_device_id device, emp_error *err)
{
    exchange *e = exchange_of(m, channel, micro_batch);

    if (is_sender) e->before_send = *before;
    if (!is_sender) e->before_receive = *before;
    if (buffered && is_sender)
        return add_op(&e->send, m, "Wire", seconds, 0, 0, m->wire[channel], err);
    emp_op_id *op = is_sender ? &e->send : &e->receive;
    EMP_CHECK(add_op(op, m, is_sender ? "Send" : "Receive", buffered ? 0.0 : seconds, 0,
                     0, device, err));
    EMP_CHECK(wait_for(m, *before, *op, err));
    *before = *op;
    return EMP_OK;
}

static emp_status add_exchange(maker *m, emp_op_id *before, const emp_task *task,
                               int32_t replica, int32_t stage, emp_error *err)
{
    bool is_output =
        task->kind == EMP_TASK_SEND_OUTPUT || task->kind == EMP_TASK_RECEIVE_OUTPUT;
    bool is_sender =
        task->kind == EMP_TASK_SEND_OUTPUT || task->kind == EMP_TASK_SEND_GRADIENT;
    int32_t direction = is_output ? OUTPUT : GRADIENT;
    int32_t boundary = is_output == is_sender ? stage : stage - 1;

    return add_end(m, before, channel_of(m, replica, boundary, direction), is_sender,
                   is_buffered(m, replica, boundary, direction),
                   seconds_of(m, replica, boundary, direction), task->micro_batch,
                   device_of(m, replica, stage), err);
}

static emp_status add_pass(maker *m, emp_op_id *before, const emp_task *task,
                           int32_t replica, int32_t stage, emp_error *err)
{
    const emp_stage_cost *c = cost_of(m, replica, stage);
    emp_device_id         device = device_of(m, replica, stage);
    emp_op_id             op;

    if (task->kind == EMP_TASK_FORWARD) {
        int64_t state = task->micro_batch == 0 ? c->state_bytes : 0;
        EMP_CHECK(
            add_op(&op, m, "Forward", c->forward_s, c->stored_bytes, state, device, err));
        m->forward[task->micro_batch] = op;
    } else {
        double add_s = task->micro_batch == 0 ? 0.0 : c->accumulate_s;
        EMP_CHECK(add_op(&op, m, "Backward", c->backward_s + add_s, 0, 0, device, err));
        EMP_CHECK(emp_graph_builder_connect(
            m->builder, (emp_port){m->forward[task->micro_batch], 0}, op, err));
    }
    EMP_CHECK(wait_for(m, *before, op, err));
    *before = op;
    return EMP_OK;
}

static emp_status add_stage(maker *m, int32_t replica, int32_t stage, emp_error *err)
{
    emp_op_id before = -1;
    int32_t   count =
        emp_schedule_list_tasks(m->task, stage, m->step->stages, m->step->micro_batches);

    for (int32_t i = 0; i < count; i++) {
        if (m->task[i].kind <= EMP_TASK_BACKWARD)
            EMP_CHECK(add_pass(m, &before, &m->task[i], replica, stage, err));
        else
            EMP_CHECK(add_exchange(m, &before, &m->task[i], replica, stage, err));
    }
    m->last[replica * m->step->stages + stage] = before;
    return EMP_OK;
}

/* ---- what stages wait for ---- */

static emp_status join(const maker *m, const exchange *e, bool buffered, emp_error *err)
{
    EMP_CHECK(wait_for(m, e->before_send, e->send, err));
    if (buffered) return wait_for(m, e->send, e->receive, err);
    EMP_CHECK(wait_for(m, e->before_send, e->receive, err));
    return wait_for(m, e->before_receive, e->send, err);
}

static emp_status join_replica(const maker *m, int32_t replica, emp_error *err)
{
    for (int32_t b = 0; b + 1 < m->step->stages; b++) {
        for (int32_t d = 0; d < DIRECTIONS; d++) {
            int32_t channel = channel_of(m, replica, b, d);
            for (int32_t i = 0; i < m->step->micro_batches; i++)
                EMP_CHECK(join(m, exchange_of(m, channel, i),
                               is_buffered(m, replica, b, d), err));
        }
    }
    return EMP_OK;
}

/* The sum of gradients starts when all replicas of the stage are done. */
static emp_status add_update(maker *m, int32_t replica, int32_t stage, emp_error *err)
{
    const emp_stage_cost *c = cost_of(m, replica, stage);
    emp_device_id         device = device_of(m, replica, stage);
    emp_op_id             reduce, update;

    EMP_CHECK(add_op(&reduce, m, "AllReduce", c->reduce_s, 0, 0, device, err));
    for (int32_t r = 0; r < m->step->replicas; r++)
        EMP_CHECK(wait_for(m, m->last[r * m->step->stages + stage], reduce, err));
    EMP_CHECK(add_op(&update, m, "Update", c->update_s, 0, 0, device, err));
    return wait_for(m, reduce, update, err);
}

static void number_wires(maker *m)
{
    m->device_count = 1 + m->step->replicas * m->step->stages;
    for (int32_t r = 0; r < m->step->replicas; r++) {
        for (int32_t b = 0; b + 1 < m->step->stages; b++) {
            for (int32_t d = 0; d < DIRECTIONS; d++) {
                int32_t channel = channel_of(m, r, b, d);
                m->wire[channel] = is_buffered(m, r, b, d) ? m->device_count++ : -1;
            }
        }
    }
}

static emp_status check_size(const maker *m, emp_error *err)
{
    const emp_step *s = m->step;
    double          tasks =
        (double)EMP_TASKS_PER_MICRO_BATCH * s->micro_batches * s->stages * s->replicas;

    if (m->device_count > EMP_MAX_DEVICES)
        return EMP_ERROR(EMP_EUNSUPPORTED,
                         "%d replicas of %d stages and their wires are %d devices, more "
                         "than %d",
                         s->replicas, s->stages, m->device_count, EMP_MAX_DEVICES);
    if (tasks > TASKS_MAX)
        return EMP_ERROR(
            EMP_EUNSUPPORTED,
            "%d micro-batches of %d stages and %d replicas are %.0f passes and "
            "messages, more than %d",
            s->micro_batches, s->stages, s->replicas, tasks, TASKS_MAX);
    return EMP_OK;
}

static emp_status build(maker *m, emp_error *err)
{
    const emp_step *s = m->step;
    size_t          stages = (size_t)s->replicas * (size_t)s->stages;
    size_t          micro_batches = (size_t)s->micro_batches;

    EMP_CHECK(EMP_ALLOC(m->wire, stages * DIRECTIONS));
    number_wires(m);
    EMP_CHECK(check_size(m, err));
    EMP_CHECK(emp_graph_builder_create(&m->builder, err));
    EMP_CHECK(EMP_ALLOC(m->task, EMP_TASKS_PER_MICRO_BATCH * micro_batches));
    EMP_CHECK(EMP_ALLOC(m->forward, micro_batches));
    EMP_CHECK(EMP_ALLOC(m->exchange, stages * DIRECTIONS * micro_batches));
    EMP_CHECK(EMP_ALLOC(m->last, stages));
    EMP_CHECK(EMP_ALLOC(m->device_of_op,
                        stages * (EMP_TASKS_PER_MICRO_BATCH * micro_batches + 2)));
    for (int32_t r = 0; r < s->replicas; r++) {
        for (int32_t i = 0; i < s->stages; i++) EMP_CHECK(add_stage(m, r, i, err));
        EMP_CHECK(join_replica(m, r, err));
    }
    for (int32_t r = 0; r < s->replicas; r++)
        for (int32_t i = 0; i < s->stages; i++) EMP_CHECK(add_update(m, r, i, err));
    return EMP_OK;
}

static void clear(maker *m)
{
    emp_graph_builder_destroy(m->builder);
    emp_free(m->task);
    emp_free(m->forward);
    emp_free(m->exchange);
    emp_free(m->last);
    emp_free(m->wire);
    emp_free(m->device_of_op);
}

/* ---- the step ---- */

static emp_status run(emp_step_result *out, const maker *m, const emp_graph *graph,
                      const emp_machine *machine, const emp_runtime *runtime,
                      emp_error *err)
{
    emp_status      st = EMP_OK;
    emp_problem    *problem = NULL;
    emp_sim        *sim = NULL;
    emp_sim_result *result = NULL;

    EMP_TRY(emp_problem_create(&problem, graph, machine, runtime, "iteration", err));
    EMP_TRY(emp_sim_create(&sim, problem, err));
    EMP_TRY(emp_sim_result_create(&result, err));
    EMP_TRY(emp_sim_run(sim, m->device_of_op, result, err));
    *out =
        (emp_step_result){.step_s = (double)emp_sim_result_step_time_ns(result) * 1e-9};
    for (emp_device_id d = 0; d < m->device_count; d++) {
        int64_t peak_bytes = emp_sim_result_peak_bytes(result, d);
        if (peak_bytes > out->peak_bytes) out->peak_bytes = peak_bytes;
    }

cleanup:
    emp_sim_result_destroy(result);
    emp_sim_destroy(sim);
    emp_problem_destroy(problem);
    return st;
}

emp_status emp_step_simulate(emp_step_result *out, const emp_step *step, emp_error *err)
{
    emp_status   st = EMP_OK;
    maker        m = {.step = step};
    emp_graph   *graph = NULL;
    emp_machine *machine = NULL;
    emp_runtime *runtime = NULL;

    EMP_TRY(build(&m, err));
    EMP_TRY(emp_graph_builder_finish(m.builder, &graph, err));
    EMP_TRY(emp_machine_create(&machine, "pipeline", 1, m.device_count - 1,
                               INT64_C(1) << MEMORY_BITS, err));
    EMP_TRY(emp_runtime_load(&runtime, "ideal", err));
    EMP_TRY(run(out, &m, graph, machine, runtime, err));

cleanup:
    emp_runtime_destroy(runtime);
    emp_machine_destroy(machine);
    emp_graph_destroy(graph);
    clear(&m);
    return st;
}

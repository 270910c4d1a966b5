// SPDX-License-Identifier: GPL-3.0-or-later
#include "sim/engine/sim.h"

#include <stddef.h>

#include "base/mem.h"

/* The engine, or a simulator under another rule set. */
struct emp_sim {
    emp_engine    *engine; /**< of the rules `events` */
    emp_rules_sim *ruled;  /**< of others; one of the two is NULL */
};

/* A run numbers the words of ops and of further inputs, items (ops, messages, copies and received copies)
 * with their lists, inputs (EMP_SIM_INPUTS of each op at least), and chunks (two of each variable, workspace,
 * tensor and copy, and of each device). A copy is of an input. */
static emp_status check_counts(const emp_graph *g, emp_error *err)
{
    const int64_t inputs = g->input_offset[g->op_count];
    const int64_t controls = g->control_offset[g->op_count];
    const int64_t most = EMP_SIM_OP_WORDS * ((int64_t)g->op_count + 1) +
                         2 * (int64_t)g->tensor_count + 2 * inputs + controls +
                         ((1 << EMP_SIM_SOURCE_BITS) - 1);

    if (most > INT32_MAX) {
        return EMP_ERROR(
            EMP_EUNSUPPORTED,
            "a graph of %d ops, %d tensors, %lld inputs and %lld control inputs takes "
            "up to %lld numbers; at most %d",
            g->op_count, g->tensor_count, (long long)inputs, (long long)controls,
            (long long)most, INT32_MAX);
    }
    return EMP_OK;
}

emp_status emp_sim_create(emp_sim **out, const emp_problem *problem, emp_error *err)
{
    emp_status st = EMP_OK;
    emp_sim   *sim = NULL;

    EMP_NEED(out);
    *out = NULL;
    EMP_NEED(problem);
    EMP_TRY(EMP_ALLOC(sim, 1));
    EMP_TRY(check_counts(problem->graph, err));
    if (problem->runtime.rules == EMP_RULES_EVENTS) {
        EMP_TRY(emp_engine_create(&sim->engine, problem, err));
    } else {
        EMP_TRY(emp_rules_sim_create(&sim->ruled, problem, err));
    }
    *out = sim;
    sim = NULL;

cleanup:
    emp_sim_destroy(sim);
    return st;
}

void emp_sim_destroy(emp_sim *sim)
{
    if (sim == NULL) return;
    emp_engine_destroy(sim->engine);
    emp_rules_sim_destroy(sim->ruled);
    emp_free(sim);
}

static emp_status run(emp_sim *sim, const emp_decision *decision,
                      const emp_sim_watch *watch, emp_sim_result *result, emp_error *err)
{
    if (sim->engine != NULL)
        return emp_engine_run(sim->engine, decision, watch, result, err);
    if (decision->level_of_op != NULL)
        return EMP_ERROR(EMP_EUNSUPPORTED,
                         "the rules of this runtime order ops by themselves; leave the "
                         "levels out");
    if (decision->leader_of_op != NULL)
        return EMP_ERROR(EMP_EUNSUPPORTED,
                         "the rules of this runtime run every op by itself; leave the "
                         "leaders out");
    return emp_rules_sim_run(sim->ruled, decision->device_of_op, watch, result, err);
}

emp_status emp_sim_run(emp_sim *sim, const emp_device_id *device_of_op,
                       emp_sim_result *result, emp_error *err)
{
    EMP_NEED(sim);
    EMP_NEED(device_of_op);
    EMP_NEED(result);
    return run(sim, &(emp_decision){.device_of_op = device_of_op}, &(emp_sim_watch){0},
               result, err);
}

emp_status emp_sim_run_decision(emp_sim *sim, const emp_decision *decision,
                                emp_sim_result *result, emp_error *err)
{
    EMP_NEED(sim);
    EMP_NEED(decision);
    EMP_NEED(decision->device_of_op);
    EMP_NEED(result);
    return run(sim, decision, &(emp_sim_watch){0}, result, err);
}

emp_status emp_sim_run_timed(emp_sim *sim, const emp_decision *decision,
                             const emp_sim_times *times, emp_sim_result *result,
                             emp_error *err)
{
    return run(sim, decision, &(emp_sim_watch){.times = times}, result, err);
}

emp_status emp_sim_run_traced(emp_sim *sim, const emp_device_id *device_of_op,
                              const emp_sim_trace *trace, emp_sim_result *result,
                              emp_error *err)
{
    return emp_sim_trace_decision(sim, &(emp_decision){.device_of_op = device_of_op},
                                  trace, result, err);
}

emp_status emp_sim_trace_decision(emp_sim *sim, const emp_decision *decision,
                                  const emp_sim_trace *trace, emp_sim_result *result,
                                  emp_error *err)
{
    return run(sim, decision, &(emp_sim_watch){.is_traced = true, .trace = trace}, result,
               err);
}

const emp_plan_buffer *emp_sim_planned(const emp_sim *sim, emp_device_id device)
{
    return sim->engine != NULL && sim->engine->plan != NULL
               ? &sim->engine->plan->buffer[device]
               : NULL;
}

/* A home that is its own root, and a copy, owns a buffer while it is needed. Runs leave
 * instances that the next has not reached yet as they were, hence the reset. */
void emp_sim_live_reset(emp_sim *sim)
{
    emp_engine *e = sim->engine;

    for (int32_t i = 0; e != NULL && i < e->first_copy + e->copy_limit; i++)
        e->instance[i].pending = 0;
}

emp_sim_live_memory emp_sim_live_get(const emp_sim *sim, emp_device_id device)
{
    if (sim->engine == NULL) return emp_rules_sim_memory(sim->ruled, device);
    const emp_sim_memory *m = &sim->engine->device[device].memory;
    return (emp_sim_live_memory){m->used, m->peak, sim->engine->result.oom_device >= 0};
}

void emp_sim_live_each(const emp_sim *sim, emp_device_id device,
                       emp_sim_live_visit *visit, void *context)
{
    const emp_engine *e = sim->engine;

    for (int32_t i = 0; e != NULL && i < e->instance_count; i++) {
        const emp_sim_instance *instance = &e->instance[i];
        bool                    is_copy = i >= e->first_copy;
        bool                    is_root = is_copy || instance->root == i;
        if (!is_root || instance->pending == 0 || instance->bytes <= 0 ||
            instance->space != device)
            continue;
        int32_t tensor = is_copy ? e->instance[i].tensor : i;
        visit(context, e->payload[tensor].id, is_copy, instance->bytes);
    }
}

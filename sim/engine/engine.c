// SPDX-License-Identifier: GPL-3.0-or-later
/* A run: the placement is checked, the state made fresh, and the events are played by the
 * copy of run/run.h that has the rules of the profile as constants, if there is one. */
#include <string.h>

#include "sim/engine/engine.h"
#include "sim/rules/limits.h"

static bool are_rules(emp_sim_rules a, const emp_sim_rules *b)
{
    return memcmp(&a, b, sizeof a) == 0;
}

static emp_status take_placement(emp_engine *sim, const emp_device_id *device_of_op,
                                 emp_error *err)
{
    const int32_t           op_count = sim->op_count;
    const uint32_t          device_count = (uint32_t)sim->device_count;
    const emp_sim_op_start *start = sim->start;
    uint8_t                *space_of_place = sim->space_of_place;

    for (int32_t op = 0; op < op_count; op++) {
        emp_device_id device = device_of_op[start[op].id];
        if ((uint32_t)device >= device_count ||
            !(start[op].kinds & sim->kind_of_device[device]))
            return emp_sim_refuse_device(sim->problem, start[op].id, device, err);
        memcpy(space_of_place + 2 * op, sim->spaces_of_device[device], 2);
    }
    return EMP_OK;
}

static emp_status refuse_level(const emp_engine *sim, emp_error *err)
{
    int32_t op = 0;

    while (sim->level[op] < EMP_LEVELS) op++;
    return EMP_ERROR(EMP_EINVAL, "op %d has the level %d; the last is %d",
                     sim->start[op].id, sim->level[op], EMP_LEVELS - 1);
}

/* Levels that are all equal order nothing: then the run is one without. */
static emp_status take_levels(emp_engine *sim, const uint8_t *level_of_op, emp_error *err)
{
    const int32_t           op_count = sim->op_count;
    const emp_sim_op_start *start = sim->start;
    uint8_t                *level = sim->level, all = 0, common = UINT8_MAX;

    sim->rules.has_levels = false;
    if (level_of_op == NULL) return EMP_OK;
    /* Two loops: the second alone becomes vector instructions. */
    for (int32_t op = 0; op < op_count; op++) level[op] = level_of_op[start[op].id];
    for (int32_t op = 0; op < op_count; op++) {
        all |= level[op];
        common &= level[op];
    }
    if (all >= EMP_LEVELS) return refuse_level(sim, err);
    const bool differs = op_count > 0 && all != common;
    if (differs && sim->rules.shares_cores)
        return EMP_ERROR(
            EMP_EUNSUPPORTED,
            "devices that share cores serve ops as they come, in no other order");
    sim->rules.has_levels = differs;
    return EMP_OK;
}

static void reset_pools(emp_engine *sim)
{
    for (int32_t d = 0; d < sim->device_count; d++) {
        emp_sim_pool *pool = &sim->pool[d];
        if (pool->core_count == 0) continue;
        pool->waiting_count = pool->running_count = pool->starting_tasks = 0;
        pool->free_cores = pool->core_count;
        pool->memory_free_ns = 0;
        memset(pool->free_batches, -1, sizeof pool->free_batches);
    }
    sim->eager_pools = 0;
}

static void reset_segments(emp_engine *sim)
{
    if (sim->caching == NULL) return;
    emp_caching_reset(sim->caching);
    for (int32_t d = 0; d < sim->device_count; d++)
        emp_caching_set_memory(sim->caching, d, sim->device[d].memory.limit);
}

static void reset_regions(emp_engine *sim)
{
    if (sim->bfc == NULL) return;
    emp_bfc_reset(sim->bfc);
    for (int32_t d = 0; d < sim->device_count; d++) {
        emp_bfc_add_region(sim->bfc, d, sim->device[d].memory.limit);
    }
}

static void reset(emp_engine *sim)
{
    sim->result = (emp_sim_result){
        .device_count = sim->device_count, .oom_device = -1, .oom_op = -1};
    sim->now = 0;
    sim->instance_count = sim->first_copy;
    sim->instance[sim->tensor_count].pending = -1; /* nobody's: released, never free */
    sim->message_count = 0;
    for (int32_t d = 0; d < sim->device_count; d++) {
        emp_sim_device *device = &sim->device[d];
        device->current = -1;
        device->queued_ns = device->busy_ns = device->core_free_ns = 0;
        device->memory.used = device->memory.peak = device->memory.homeless = 0;
        sim->copy_to[d] = -1;
    }
    memcpy(sim->missing, sim->awaited, (size_t)sim->op_count * sizeof *sim->missing);
    memset(sim->stream_ready_ns, 0, sizeof sim->stream_ready_ns);
    memset(sim->link_free_ns, 0, sizeof sim->link_free_ns);
    reset_pools(sim);
    reset_regions(sim);
    reset_segments(sim);
    if (sim->rules.has_collectives) emp_engine_reset_collectives(sim);
}

static void finish(emp_engine *sim)
{
    emp_sim_result *r = &sim->result;

    r->step_time_ns = sim->now;
    for (int32_t d = 0; d < sim->device_count; d++) {
        const emp_sim_device *device = &sim->device[d];
        if (r->step_time_ns < device->queued_ns) r->step_time_ns = device->queued_ns;
        r->busy_ns[d] = device->busy_ns;
        if (sim->pool[d].core_count > 0) r->busy_ns[d] /= sim->pool[d].core_count;
        r->peak_bytes[d] = sim->device[d].memory.peak;
    }
    r->step_time_ns += sim->step_ns;
    r->transfer_count = sim->instance_count - sim->first_copy;
    r->event_count =
        2 * (int64_t)sim->op_count + 2 * (int64_t)r->transfer_count + sim->message_count;
    r->is_feasible = r->oom_device < 0;
}

typedef struct {
    const emp_sim_rules *rules;
    void (*run)(emp_engine *sim);
} variant;

/* Runs with these rules as constants. */
static const variant variants[] = {
    {&emp_sim_tf_rules, emp_engine_run_tf},
    {&emp_sim_ideal_rules, emp_engine_run_ideal},
    {&emp_sim_tf_levels_rules, emp_engine_run_tf_levels},
    {&emp_sim_ideal_levels_rules, emp_engine_run_ideal_levels},
    {&emp_sim_tf_timed_rules, emp_engine_run_tf_timed},
    {&emp_sim_ideal_timed_rules, emp_engine_run_ideal_timed}};

static void play_events(emp_engine *sim)
{
    for (size_t i = 0; i < sizeof variants / sizeof *variants; i++) {
        if (!are_rules(sim->rules, variants[i].rules)) continue;
        variants[i].run(sim);
        return;
    }
    emp_engine_run_any(sim);
}

emp_status emp_engine_run(emp_engine *sim, const emp_decision *decision,
                          const emp_sim_watch *watch, emp_sim_result *result,
                          emp_error *err)
{
    EMP_CHECK(take_placement(sim, decision->device_of_op, err));
    EMP_CHECK(take_levels(sim, decision->level_of_op, err));
    EMP_CHECK(emp_engine_take_leaders(sim, decision, err));
    if (sim->cost_of_device[0] != NULL) emp_engine_take_costs(sim);
    reset(sim);
    if (sim->is_fused) emp_engine_fuse(sim);
    sim->rules.is_traced = watch->is_traced;
    sim->rules.is_timed = watch->times != NULL;
    sim->trace = watch->trace;
    if (watch->times != NULL) sim->times = *watch->times;
    play_events(sim);
    finish(sim);
    if (sim->is_fused) emp_engine_part(sim);
    *result = sim->result;
    return EMP_OK;
}

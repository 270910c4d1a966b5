// SPDX-License-Identifier: GPL-3.0-or-later
/* A run: the placement is checked, the state made fresh, and the events are played by the
 * copy of run/run.c that has the rules of the profile as constants, if there is one. */
#include "sim/engine/engine.h"

#include <string.h>

#include "sim/rules/rules.h"

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

/* Those of the decision, or else of the graph. Levels that are all equal order nothing: then the run is one without. */
static emp_status take_levels(emp_engine *sim, const uint8_t *level_of_op, emp_error *err)
{
    const int32_t           op_count = sim->op_count;
    const emp_sim_op_start *start = sim->start;
    const emp_graph        *g = sim->problem->graph;
    uint8_t                *level = sim->level, all = 0, common = UINT8_MAX;

    sim->rules.has_levels = false;
    if (level_of_op == NULL && (!g->has_levels || sim->rules.shares_cores)) return EMP_OK;
    /* Two loops: the second alone becomes vector instructions. */
    for (int32_t op = 0; op < op_count; op++)
        level[op] =
            level_of_op != NULL ? level_of_op[start[op].id] : g->op[start[op].id].level;
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
    sim->instance[sim->tensor_count].pending = -1; /* the dummy: released, never free */
    sim->message_count = 0;
    for (int32_t d = 0; d < sim->device_count; d++) {
        emp_sim_device *device = &sim->device[d];
        device->current = -1;
        device->queued_ns = device->busy_ns = device->core_free_ns = 0;
        device->memory.used = device->memory.peak = device->memory.homeless = 0;
        sim->copy_to[d] = -1;
    }
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
    if (sim->plan != NULL) emp_plan_run(sim->plan, decision->device_of_op);
    if (sim->is_fused) emp_engine_fuse(sim);
    sim->rules.has_client = sim->client != NULL && !sim->is_fused;
    if (sim->rules.has_client) emp_engine_reset_client(sim);
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

/* The facts about devices that are groups of one computer's cores. */
/* The cores of device d are those from first on, modulo all that the computer has: of GPUs first,
 * then of CPUs, as replay takes them (replay/cpu/cores.h). */
static void count_shared_cores(emp_sim_sharing *s, const emp_machine *m)
{
    int32_t first[EMP_MAX_DEVICES], next = 0, all = m->core_count;

    for (int kind = EMP_DEVICE_KINDS - 1; kind >= 0;
         kind--) { /* CPUs are the first kind */
        for (int32_t d = 0; d < m->device_count; d++) {
            const emp_device *device = &m->device[d];
            if ((int)device->kind != kind) continue;
            int32_t count =
                kind == EMP_DEVICE_CPU ? device->cores : device->multiprocessors;
            s->core_count[d] = all > 0 && count > all ? all : count;
            first[d] = next;
            next += s->core_count[d];
        }
    }
    for (int32_t d = 0; all > 0 && d < m->device_count; d++) {
        for (int32_t e = 0; e < m->device_count; e++) {
            for (int32_t i = 0; i < s->core_count[d]; i++) {
                int32_t behind = ((first[d] + i - first[e]) % all + all) % all;
                s->shared[d][e] += behind < s->core_count[e];
            }
        }
    }
}

emp_status emp_engine_set_sharing(emp_engine *sim, const emp_problem *problem,
                                  emp_error *err)
{
    const emp_device *gpu = emp_machine_first(problem->machine, EMP_DEVICE_GPU);

    if (!sim->rules.shares_cores) return EMP_OK;
    sim->sharing = EMP_ADD_ARRAY(&sim->arrays, emp_sim_sharing, 1);
    emp_time_ns *more_ns =
        EMP_ADD_ARRAY(&sim->arrays, emp_time_ns, (size_t)sim->op_count);
    if (sim->arrays.is_short)
        return EMP_ERROR(EMP_ENOMEM, "simulator of %d ops", sim->op_count);
    for (int32_t op = 0; op < sim->op_count; op++)
        more_ns[op] =
            problem->costs->gpu_beside_ns[sim->start[op].id] - sim->op[op].gpu_ns;
    sim->sharing->more_ns = more_ns;
    sim->sharing->hand_over_ns = emp_ns_of_seconds(gpu->sharing.hand_over_s);
    if (gpu->has_sharing) /* else the times are those of a user */
        sim->sharing->ns_per_byte = 1e9 / gpu->sharing.copy_bytes_per_s;
    count_shared_cores(sim->sharing, problem->machine);
    return EMP_OK;
}

/* The costs of ops where devices of one kind are of several models. A run knows one cost on a CPU and one
 * on a GPU for each op: before it, these become those of the device that the op is on. Most runs of a
 * search move few ops. */
enum { NO_DEVICE = UINT8_MAX };

static emp_sim_cost cost_on(const emp_engine *sim, const emp_cost_table *costs,
                            int32_t device, emp_op_id id)
{
    size_t              row = emp_cost_row(costs, device, id);
    const emp_gpu_cost *gpu = &costs->gpu[row];

    if (sim->device[device].kind == EMP_DEVICE_GPU)
        return (emp_sim_cost){.run_ns = gpu->compute_ns, .issue_ns = gpu->issue_ns};
    const emp_cpu_cost *cpu = &costs->cpu[row];
    if (!sim->rules.cpu_pool) return (emp_sim_cost){.run_ns = cpu->compute_ns};
    return (emp_sim_cost){.cpu = {.row = costs->cpu_offset[row], .lanes = cpu->lanes}};
}

/* CPUs' columns come first. */
static int32_t column_of(const emp_engine *sim, const emp_cost_table *costs,
                         int32_t device)
{
    const int32_t first = sim->device[device].kind == EMP_DEVICE_GPU
                              ? costs->column_count[EMP_DEVICE_CPU]
                              : 0;

    return first + costs->column_of_device[device];
}

emp_status emp_engine_set_models(emp_engine *sim, const emp_problem *problem,
                                 emp_error *err)
{
    const emp_cost_table *costs = problem->costs;
    const size_t          ops = (size_t)sim->op_count;

    if (!emp_cost_is_unlike(costs)) return EMP_OK;
    const int32_t columns =
        costs->column_count[EMP_DEVICE_CPU] + costs->column_count[EMP_DEVICE_GPU];
    emp_sim_cost *cost = EMP_ADD_ARRAY(&sim->arrays, emp_sim_cost, ops * (size_t)columns);
    sim->costs_of = EMP_ADD_ARRAY(&sim->arrays, uint8_t, ops);
    if (sim->arrays.is_short)
        return EMP_ERROR(EMP_ENOMEM, "costs of %d ops on %d device models", sim->op_count,
                         columns);
    memset(sim->costs_of, NO_DEVICE, ops);
    for (int32_t d = 0; d < sim->device_count; d++) {
        emp_sim_cost *column = cost + (size_t)column_of(sim, costs, d) * ops;
        for (int32_t op = 0; op < sim->op_count; op++)
            column[op] = cost_on(sim, costs, d, sim->start[op].id);
        sim->cost_of_device[d] = column;
    }
    return EMP_OK;
}

/* The one of cpu_ns and gpu_ns that is not of the device's kind is not asked. */
void emp_engine_take_costs(emp_engine *sim)
{
    for (int32_t op = 0; op < sim->op_count; op++) {
        const uint8_t device = sim->space_of_place[2 * (size_t)op];
        if (device == sim->costs_of[op]) continue;
        const emp_sim_cost *cost = &sim->cost_of_device[device][op];
        sim->op[op].cpu_ns = sim->op[op].gpu_ns = cost->run_ns;
        if (sim->rules.serial_issue) sim->op[op].issue_ns = cost->issue_ns;
        sim->costs_of[op] = device;
    }
}

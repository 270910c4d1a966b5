// SPDX-License-Identifier: GPL-3.0-or-later
/* Fused ops. A run with leaders is a run of the same events on changed arrays: what an inner member
 * waits for becomes something that its leader waits for, and the leader has the cost of the set.
 * The arrays are changed before the run and changed back after it, in time that grows with the
 * edges of the members alone. */
#include "base/mem.h"
#include "sim/engine/engine.h"
#include "sim/problem/fusion.h"

/* A leader as it is in runs without fusion. */
typedef struct {
    int32_t      op;
    emp_sim_cost on_cpu, on_gpu; /* on_gpu.issue_ns: with serial_issue */
    uint32_t     flags;
    int64_t      workspace_bytes;
    int64_t      moved_bytes; /* with shared_memory */
} fused;

struct emp_sim_fusion {
    emp_fusion      *rules;
    const emp_op_id *leader_of_op;    /* of the run, in the graph's numbers; borrowed */
    int32_t         *live;            /* [op of the graph] its number here, or -1 */
    int32_t         *reader_of_input; /* [input] its place in sim->reader */
    int32_t         *wait_row; /* [op + 1] where the places of its control inputs begin */
    int32_t         *wait;     /* [control input] its place in sim->control */
    int32_t          inner_count, set_count;
    int32_t         *inner;   /* [inner] */
    int32_t         *leader;  /* [op]; itself unless it is inner */
    fused           *set;     /* [set] */
    emp_time_ns     *task_ns; /* those of the cost table, then those of each set */
    int32_t          first_row, row_length; /* a set has a row */
    emp_arrays       arrays;
};

/* ---- what all runs with leaders share ---- */

static void find_live(const emp_engine *sim, emp_sim_fusion *f)
{
    for (emp_op_id id = 0; id < sim->problem->graph->op_count; id++) f->live[id] = -1;
    for (int32_t op = 0; op < sim->op_count; op++) {
        f->live[sim->start[op].id] = op;
        f->leader[op] = op;
        sim->next_member[op] = -1;
    }
}

/* The input, as sim->input numbers them, that the reader reads. */
static int32_t input_of_word(const emp_engine *sim, const emp_sim_reader *reader)
{
    const int32_t op = (int32_t)(reader->place / 2);
    const int32_t in_record = reader->input - emp_sim_word(sim, op, 0);

    if (0 <= in_record && in_record < EMP_SIM_INPUTS)
        return sim->input_offset[op] + in_record;
    return sim->input_offset[op] + EMP_SIM_INPUTS + reader->input - sim->more[op];
}

static void find_readers(const emp_engine *sim, emp_sim_fusion *f)
{
    const int32_t end = sim->instance[sim->tensor_count].reader;

    for (int32_t i = 0; i < end; i++)
        f->reader_of_input[input_of_word(sim, &sim->reader[i])] = i;
}

/* Counts rows, turns counts into ends, then fills each row from its end. */
static void find_waits(const emp_engine *sim, emp_sim_fusion *f)
{
    const int32_t end = sim->control_offset[sim->op_count];

    for (int32_t i = 0; i < end; i++) f->wait_row[sim->control[i]]++;
    for (int32_t op = 1; op < sim->op_count; op++) f->wait_row[op] += f->wait_row[op - 1];
    f->wait_row[sim->op_count] = end;
    for (int32_t i = end - 1; i >= 0; i--) f->wait[--f->wait_row[sim->control[i]]] = i;
}

static void copy_task_times(const emp_engine *sim, emp_sim_fusion *f)
{
    for (int32_t i = 0; i < f->first_row; i++) f->task_ns[i] = sim->task_ns[i];
}

/* Rows are as long as the largest CPU has cores. */
static int32_t longest_row(const emp_machine *m)
{
    int32_t cores = 1;

    for (int32_t d = 0; d < m->device_count; d++)
        if (m->device[d].kind == EMP_DEVICE_CPU && m->device[d].cores > cores)
            cores = m->device[d].cores;
    return cores;
}

static emp_status allocate(emp_engine *sim, emp_sim_fusion *f, emp_error *err)
{
    const emp_problem *problem = sim->problem;
    const size_t       ops = (size_t)sim->op_count, sets = ops / 2;
    const int32_t      inputs = sim->input_offset[sim->op_count];
    const int32_t      controls = sim->control_offset[sim->op_count];

    f->first_row =
        problem->costs->cpu_offset[emp_cost_row_count(problem->costs, EMP_DEVICE_CPU)];
    f->row_length = longest_row(problem->machine);
    const size_t times = (size_t)f->first_row + sets * (size_t)f->row_length;
    if (times > INT32_MAX)
        return EMP_ERROR(EMP_EUNSUPPORTED, "more than 2^31 CPU costs of fused ops");
    f->live = EMP_ADD_ARRAY(&f->arrays, int32_t, (size_t)problem->graph->op_count);
    f->reader_of_input = EMP_ADD_ARRAY(&f->arrays, int32_t, (size_t)inputs);
    f->wait_row = EMP_ADD_ARRAY(&f->arrays, int32_t, ops + 1);
    f->wait = EMP_ADD_ARRAY(&f->arrays, int32_t, (size_t)controls);
    f->inner = EMP_ADD_ARRAY(&f->arrays, int32_t, ops);
    f->leader = EMP_ADD_ARRAY(&f->arrays, int32_t, ops);
    f->set = EMP_ADD_ARRAY(&f->arrays, fused, sets);
    f->task_ns = EMP_ADD_ARRAY(&f->arrays, emp_time_ns, times);
    sim->next_member = EMP_ADD_ARRAY(&f->arrays, int32_t, ops);
    if (f->arrays.is_short)
        return EMP_ERROR(EMP_ENOMEM, "fused ops of a graph of %d", sim->op_count);
    return EMP_OK;
}

static emp_status create(emp_engine *sim, emp_error *err)
{
    emp_status      st = EMP_OK;
    emp_sim_fusion *f = NULL;

    EMP_TRY(EMP_ALLOC(f, 1));
    EMP_TRY(emp_fusion_create(&f->rules, sim->problem, err));
    EMP_TRY(allocate(sim, f, err));
    find_live(sim, f);
    find_readers(sim, f);
    find_waits(sim, f);
    copy_task_times(sim, f);
    sim->task_ns = f->task_ns;
    sim->fusion = f;
    f = NULL;

cleanup:
    emp_engine_destroy_fusion(f);
    return st;
}

void emp_engine_destroy_fusion(emp_sim_fusion *fusion)
{
    if (fusion == NULL) return;
    emp_fusion_destroy(fusion->rules);
    emp_arrays_clear(&fusion->arrays);
    emp_free(fusion);
}

static bool fuses_nothing(const emp_engine *sim, const emp_op_id *leader_of_op)
{
    for (int32_t op = 0; leader_of_op != NULL && op < sim->op_count; op++)
        if (leader_of_op[sim->start[op].id] != sim->start[op].id) return false;
    return true;
}

emp_status emp_engine_take_leaders(emp_engine *sim, const emp_decision *decision,
                                   emp_error *err)
{
    sim->is_fused = false;
    if (fuses_nothing(sim, decision->leader_of_op)) return EMP_OK;
    if (sim->fusion == NULL) EMP_CHECK(create(sim, err));
    EMP_CHECK(emp_fusion_check(sim->fusion->rules, decision->device_of_op,
                               decision->leader_of_op, err));
    sim->fusion->leader_of_op = decision->leader_of_op;
    sim->is_fused = true;
    return EMP_OK;
}

/* ---- before a run ---- */

/* From the last op to the first, so that the members of a set are listed in rising order. */
static void list_members(emp_engine *sim, emp_sim_fusion *f)
{
    f->inner_count = f->set_count = 0;
    for (int32_t op = sim->op_count - 1; op >= 0; op--) {
        const int32_t leader = f->live[f->leader_of_op[sim->start[op].id]];
        if (leader == op) continue;
        f->inner[f->inner_count++] = op;
        f->leader[op] = leader;
        if (sim->next_member[leader] < 0) f->set[f->set_count++].op = leader;
        sim->next_member[op] = sim->next_member[leader];
        sim->next_member[leader] = op;
    }
}

static bool is_made_inside(const emp_engine *sim, int32_t input, int32_t leader)
{
    const emp_sim_fusion *f = sim->fusion;
    const int32_t         producer = sim->payload[sim->input[input]].producer;

    return producer != leader && f->leader[producer] == leader;
}

/* Results inside the set never exist and are never announced: a tensor without readers stands for them. */
static void leave_out_inside(emp_engine *sim, int32_t op, int32_t leader)
{
    const int32_t begin = sim->input_offset[op];

    for (int32_t i = begin; i < sim->input_offset[op + 1]; i++) {
        if (sim->input[i] == sim->tensor_count || !is_made_inside(sim, i, leader))
            continue;
        sim->words[emp_sim_word(sim, op, i - begin)] = sim->tensor_count;
        if (op == leader) sim->op[leader].missing--;
    }
}

/* Has \a waiter read the input. */
static void set_reader(emp_engine *sim, int32_t input, int32_t waiter)
{
    const int32_t reader = sim->fusion->reader_of_input[input];
    emp_sim_op   *producer = &sim->op[sim->payload[sim->input[input]].producer];

    sim->reader[reader].place = 2 * (uint32_t)waiter;
    if (producer->reader == reader) producer->link.place = sim->reader[reader].place;
}

/* Makes \a waiter wait for the inputs of \a op from outside and for all ops that it waits for. \return
 * their number. */
static int32_t redirect(emp_engine *sim, int32_t op, int32_t leader, int32_t waiter)
{
    const emp_sim_fusion *f = sim->fusion;
    int32_t               count = f->wait_row[op + 1] - f->wait_row[op];

    for (int32_t i = f->wait_row[op]; i < f->wait_row[op + 1]; i++)
        sim->control[f->wait[i]] = waiter;
    for (int32_t i = sim->input_offset[op]; i < sim->input_offset[op + 1]; i++) {
        if (sim->input[i] == sim->tensor_count || is_made_inside(sim, i, leader))
            continue;
        set_reader(sim, i, waiter);
        count++;
    }
    return count;
}

static emp_op_id cost_of_set(const emp_engine *sim, int32_t leader, emp_op_cost *cost)
{
    emp_op_id member[EMP_FUSION_MOST];
    int32_t   count = 0;

    for (int32_t op = sim->next_member[leader]; op >= 0; op = sim->next_member[op])
        member[count++] = sim->start[op].id;
    member[count++] = sim->start[leader].id;
    return emp_fusion_cost(sim->fusion->rules, member, count, sim->fusion->leader_of_op,
                           cost);
}

/* The times of its tasks are to stand from \a row on. */
static void set_cpu_cost(emp_engine *sim, emp_sim_op *o, const emp_op_cost *of_set,
                         const emp_device *cpu, int32_t row)
{
    const emp_op_cost cost = emp_fusion_cost_on_cpu(of_set, cpu);
    const int32_t     lanes = emp_cost_lanes(&cost, cpu);
    const emp_time_ns alone_ns = emp_cost_fill_row(
        &sim->fusion->task_ns[row], &cost, lanes, cpu, &sim->problem->runtime.events);

    if (sim->rules.cpu_pool)
        o->cpu = (emp_sim_lanes){.row = row, .lanes = lanes};
    else
        o->cpu_ns = alone_ns;
}

/* All members of a set are on one device: what the set costs there. */
static void set_costs(emp_engine *sim, int32_t leader, const emp_op_cost *cost,
                      emp_op_id product, int32_t row)
{
    const int32_t     number = sim->space_of_place[2 * (size_t)leader];
    const emp_device *device = &sim->problem->machine->device[number];
    emp_sim_op       *o = &sim->op[leader];

    if (device->kind == EMP_DEVICE_CPU) {
        set_cpu_cost(sim, o, cost, device, row);
    } else {
        const emp_gpu_cost on_gpu = emp_cost_on_gpu(
            cost, sim->problem->graph, product, device, &sim->problem->runtime.events);
        o->gpu_ns = on_gpu.compute_ns;
        if (sim->rules.serial_issue) o->issue_ns = on_gpu.issue_ns;
    }
}

static void save_leader(const emp_engine *sim, fused *set)
{
    const emp_sim_op *o = &sim->op[set->op];

    set->on_cpu = (emp_sim_cost){.run_ns = o->cpu_ns};
    set->on_gpu = (emp_sim_cost){.run_ns = o->gpu_ns};
    if (sim->rules.serial_issue) set->on_gpu.issue_ns = o->issue_ns;
    set->flags = o->flags;
    set->workspace_bytes = sim->workspace_bytes[set->op];
    if (sim->rules.shared_memory) set->moved_bytes = sim->moved_bytes[set->op];
}

static void restore_leader(emp_engine *sim, const fused *set)
{
    emp_sim_op *o = &sim->op[set->op];

    o->cpu_ns = set->on_cpu.run_ns;
    o->gpu_ns = set->on_gpu.run_ns;
    if (sim->rules.serial_issue) o->issue_ns = set->on_gpu.issue_ns;
    o->flags = set->flags;
    sim->workspace_bytes[set->op] = set->workspace_bytes;
    if (sim->rules.shared_memory) sim->moved_bytes[set->op] = set->moved_bytes;
}

/* The leader does the work of all. An alias of what is made inside has a buffer of its own. */
static void load_leader(emp_engine *sim, int32_t number)
{
    emp_sim_fusion *f = sim->fusion;
    fused          *set = &f->set[number];
    emp_sim_op     *o = &sim->op[set->op];
    emp_op_cost     cost;

    save_leader(sim, set);
    const emp_op_id product = cost_of_set(sim, set->op, &cost);
    set_costs(sim, set->op, &cost, product, f->first_row + number * f->row_length);
    if (sim->rules.shared_memory)
        sim->moved_bytes[set->op] = cost.bytes_read + cost.bytes_written;
    o->flags |= EMP_SIM_LEADS;
    if (cost.kernels > 0) o->flags |= EMP_SIM_LAUNCHES;
    if ((o->flags & EMP_SIM_ALIASES) &&
        is_made_inside(sim, sim->input_offset[set->op], set->op)) {
        o->flags &= ~(uint32_t)EMP_SIM_ALIASES;
        sim->instance[o->output].root = o->output;
    }
    if (cost.workspace_bytes > 0 && sim->problem->runtime.events.workspace) {
        o->flags |= EMP_SIM_HAS_WORKSPACE;
        sim->workspace_bytes[set->op] = emp_sim_round_up(cost.workspace_bytes);
    }
}

void emp_engine_fuse(emp_engine *sim)
{
    emp_sim_fusion *f = sim->fusion;

    list_members(sim, f);
    for (int32_t i = 0; i < f->inner_count; i++) {
        const int32_t op = f->inner[i], leader = f->leader[op];
        leave_out_inside(sim, op, leader);
        sim->op[leader].missing += redirect(sim, op, leader, leader);
    }
    for (int32_t i = 0; i < f->set_count; i++) {
        leave_out_inside(sim, f->set[i].op, f->set[i].op);
        load_leader(sim, i);
    }
}

/* ---- after a run ---- */

static void note_times(const emp_engine *sim, int32_t op, int32_t leader)
{
    const emp_op_id id = sim->start[op].id, leader_id = sim->start[leader].id;

    sim->times.start_ns[id] = sim->times.start_ns[leader_id];
    sim->times.end_ns[id] = sim->times.end_ns[leader_id];
}

void emp_engine_part(emp_engine *sim)
{
    emp_sim_fusion *f = sim->fusion;

    for (int32_t i = 0; i < f->inner_count; i++) {
        const int32_t op = f->inner[i];
        redirect(sim, op, f->leader[op], op);
        if (sim->rules.is_timed) note_times(sim, op, f->leader[op]);
    }
    for (int32_t i = 0; i < f->inner_count; i++) {
        f->leader[f->inner[i]] = f->inner[i];
        sim->next_member[f->inner[i]] = -1;
    }
    for (int32_t i = 0; i < f->set_count; i++) {
        const fused *set = &f->set[i];
        restore_leader(sim, set);
        sim->next_member[set->op] = -1;
    }
    sim->result.event_count -= 2 * (int64_t)f->inner_count;
}

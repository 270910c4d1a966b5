// SPDX-License-Identifier: GPL-3.0-or-later
/* Compacts a step graph into the arrays that a run walks. */
#include <string.h>

#include "base/mem.h"
#include "sim/engine/sim_internal.h"

static bool reads_on_host(const emp_op *op, int32_t input)
{
    return op->host_input_mask >> (input < 31 ? input : 31) & 1u;
}

/* Counts of what is left when folded ops are gone. */
struct sizes {
    int32_t op_count, tensor_count, edge_count, control_count;
};

static struct sizes count_live(const emp_graph *g)
{
    struct sizes n = {0};

    for (emp_op_id op = 0; op < g->op_count; op++) {
        if (g->op[op].is_folded) continue;
        n.op_count++;
        n.tensor_count += g->output_offset[op + 1] - g->output_offset[op];
        n.edge_count += g->input_offset[op + 1] - g->input_offset[op];
        n.control_count += g->control_offset[op + 1] - g->control_offset[op];
    }
    return n;
}

static emp_status allocate_graph(emp_sim *sim, const struct sizes *n, emp_error *err)
{
    emp_status st = EMP_OK;
    size_t     ops = (size_t)n->op_count, tensors = (size_t)n->tensor_count;

    sim->op_count = n->op_count;
    sim->tensor_count = n->tensor_count;
    sim->op = EMP_NEW_ARRAY(emp_sim_op, ops + 1);
    sim->tensor = EMP_NEW_ARRAY(emp_sim_tensor, tensors + 1);
    sim->id_of_op = EMP_NEW_ARRAY(emp_op_id, ops);
    sim->missing_of_op = EMP_NEW_ARRAY(int32_t, ops);
    sim->persistent_of_op = EMP_NEW_ARRAY(int64_t, ops);
    sim->input = EMP_NEW_ARRAY(emp_sim_edge, (size_t)n->edge_count);
    sim->consumer = EMP_NEW_ARRAY(emp_sim_edge, (size_t)n->edge_count);
    sim->control = EMP_NEW_ARRAY(int32_t, (size_t)n->control_count);
    if (!sim->op || !sim->tensor || !sim->id_of_op || !sim->missing_of_op ||
        !sim->persistent_of_op || !sim->input || !sim->consumer || !sim->control) {
        EMP_FAIL(EMP_ENOMEM, "simulator of %d ops", n->op_count);
    }
cleanup:
    return st;
}

static emp_status allocate_state(emp_sim *sim, emp_error *err)
{
    emp_status st = EMP_OK;
    size_t     ops = (size_t)sim->op_count, tensors = (size_t)sim->tensor_count;
    size_t     copies = (size_t)sim->copy_limit, messages = (size_t)sim->message_limit;

    sim->device_of_op = EMP_NEW_ARRAY(uint8_t, ops);
    sim->missing = EMP_NEW_ARRAY(int32_t, ops);
    sim->open_tasks = EMP_NEW_ARRAY(int32_t, ops);
    sim->end_of_op = EMP_NEW_ARRAY(emp_time_ns, ops);
    sim->home = EMP_NEW_ARRAY(uint8_t, tensors);
    sim->first_copy = EMP_NEW_ARRAY(int32_t, tensors + 1);
    sim->instance = EMP_NEW_ARRAY(emp_sim_instance, tensors + copies);
    sim->copy = EMP_NEW_ARRAY(emp_sim_copy, copies);
    sim->message = EMP_NEW_ARRAY(emp_sim_message, messages);
    sim->item = EMP_NEW_ARRAY(emp_sim_item, ops + copies + messages);
    if (!sim->device_of_op || !sim->missing || !sim->open_tasks || !sim->end_of_op ||
        !sim->home || !sim->first_copy || !sim->instance || !sim->copy || !sim->message ||
        !sim->item) {
        EMP_FAIL(EMP_ENOMEM, "simulator of %d ops", sim->op_count);
    }
cleanup:
    return st;
}

/* Fills op and tensor but for the consumers; live[] gets the new number of each op. */
static void number_ops(emp_sim *sim, const emp_graph *g, const emp_cost_table *costs,
                       int32_t *live, int32_t *live_tensor)
{
    int32_t op = 0, tensor = 0;

    for (int32_t i = 0; i < g->op_count; i++) {
        emp_op_id     id = g->topo[i];
        const emp_op *from = &g->op[id];
        live[id] = -1;
        if (from->is_folded) continue;
        live[id] = op;
        sim->id_of_op[op] = id;
        sim->persistent_of_op[op] = emp_sim_round_up(from->persistent_bytes);
        sim->op[op] = (emp_sim_op){
            .issue_ns = costs->gpu[id].issue_ns,
            .compute_ns = costs->gpu[id].compute_ns,
            .workspace_bytes = emp_sim_round_up(from->cost.workspace_bytes),
            .output = tensor,
            .cpu_row = costs->cpu_offset[id],
            .lanes = costs->cpu[id].lanes,
            .flags = (from->cost.kernels > 0 ? EMP_SIM_LAUNCHES : 0u) |
                     (from->flags & EMP_OP_IN_PLACE ? EMP_SIM_IN_PLACE : 0u),
        };
        for (int32_t t = g->output_offset[id]; t < g->output_offset[id + 1]; t++) {
            sim->tensor[tensor] =
                (emp_sim_tensor){.bytes = emp_sim_round_up(g->tensor[t].bytes),
                                 .copy_bytes = g->tensor[t].copy_bytes,
                                 .producer = op,
                                 .on_host = g->tensor[t].on_host,
                                 .id = t};
            live_tensor[t] = tensor++;
        }
        op++;
    }
    sim->op[op].output = tensor;
}

static void connect_inputs(emp_sim *sim, const emp_graph *g, const int32_t *live,
                           const int32_t *live_tensor)
{
    int32_t edge = 0;

    for (int32_t op = 0; op < sim->op_count; op++) {
        emp_op_id     id = sim->id_of_op[op];
        const emp_op *from = &g->op[id];
        sim->op[op].input = edge;
        for (int32_t i = g->input_offset[id]; i < g->input_offset[id + 1]; i++) {
            int32_t producer = live[g->tensor[g->input[i]].producer];
            bool    is_first = i == g->input_offset[id];
            if (is_first && from->is_alias) {
                sim->op[op].flags |=
                    producer < 0 ? EMP_SIM_ALIASES_CONST : EMP_SIM_ALIASES;
            }
            if (producer < 0) continue;
            bool on_host = reads_on_host(from, i - g->input_offset[id]);
            sim->input[edge++] = EMP_SIM_EDGE(live_tensor[g->input[i]], on_host);
            sim->missing_of_op[op]++;
        }
        for (int32_t i = g->control_offset[id]; i < g->control_offset[id + 1]; i++) {
            if (live[g->control[i]] >= 0) sim->missing_of_op[op]++;
        }
    }
    sim->op[sim->op_count].input = edge;
}

/* Counts rows, turns counts into ends, then fills each row from its end; so consumers are
 * visited in falling order of their ids and stand in rising order. */
static void connect_consumers(emp_sim *sim, const emp_graph *g, const int32_t *live)
{
    int32_t edges = 0, controls = 0;

    for (int32_t i = 0; i < sim->op[sim->op_count].input; i++) {
        sim->tensor[EMP_SIM_EDGE_ID(sim->input[i])].consumer++;
    }
    for (int32_t i = 0; i < g->op_count; i++) {
        for (int32_t c = g->control_offset[i];
             live[i] >= 0 && c < g->control_offset[i + 1]; c++) {
            if (live[g->control[c]] >= 0) sim->op[live[g->control[c]]].control++;
        }
    }
    for (int32_t t = 0; t < sim->tensor_count; t++) {
        edges += sim->tensor[t].consumer;
        sim->tensor[t].consumer = edges;
    }
    sim->tensor[sim->tensor_count].consumer = edges;
    for (int32_t op = 0; op < sim->op_count; op++) {
        controls += sim->op[op].control;
        sim->op[op].control = controls;
    }
    sim->op[sim->op_count].control = controls;

    for (emp_op_id id = g->op_count - 1; id >= 0; id--) {
        int32_t op = live[id];
        if (op < 0) continue;
        for (int32_t i = sim->op[op + 1].input - 1; i >= sim->op[op].input; i--) {
            emp_sim_tensor *t = &sim->tensor[EMP_SIM_EDGE_ID(sim->input[i])];
            sim->consumer[--t->consumer] =
                EMP_SIM_EDGE(op, EMP_SIM_EDGE_ON_HOST(sim->input[i]));
        }
        for (int32_t i = g->control_offset[id + 1] - 1; i >= g->control_offset[id]; i--) {
            int32_t from = live[g->control[i]];
            if (from >= 0) sim->control[--sim->op[from].control] = op;
        }
    }
}

static void compute_routes(emp_sim *sim, const emp_machine *m)
{
    for (int32_t from = 0; from < m->device_count; from++) {
        for (int32_t to = 0; to < m->device_count; to++) {
            const emp_route *r = &m->route[from][to];
            emp_sim_route   *route = &sim->route[from][to];
            if (from == to) continue;
            route->latency_ns = emp_ns_of_seconds(r->latency_s);
            route->ns_per_byte = 1e9 / r->bytes_per_s;
            route->link_count = r->link_count;
            memcpy(route->link, r->link, sizeof route->link);
        }
    }
}

/* A tensor has at most one copy per memory and per consumer; likewise messages. */
static void bound_copies(emp_sim *sim)
{
    for (int32_t t = 0; t < sim->tensor_count; t++) {
        int32_t consumers = sim->tensor[t + 1].consumer - sim->tensor[t].consumer;
        sim->copy_limit += consumers < sim->device_count ? consumers : sim->device_count;
    }
    for (int32_t op = 0; op < sim->op_count; op++) {
        int32_t followers = sim->op[op + 1].control - sim->op[op].control;
        sim->message_limit +=
            followers < sim->device_count ? followers : sim->device_count;
    }
}

/* No sum of bytes may overflow: every tensor could be in every memory. */
static emp_status check_bytes(const emp_sim *sim, emp_error *err)
{
    emp_status st = EMP_OK;
    double     total = 0.0;

    for (int32_t op = 0; op < sim->op_count; op++) {
        total += (double)sim->persistent_of_op[op] + (double)sim->op[op].workspace_bytes;
    }
    for (int32_t t = 0; t < sim->tensor_count; t++) {
        total += (double)sim->tensor[t].bytes +
                 (double)sim->tensor[t].copy_bytes * sim->device_count;
    }
    if (!(total < 0x1p62)) {
        EMP_FAIL(EMP_EUNSUPPORTED,
                 "variables, tensors and copies of %.3g bytes in all; "
                 "at most %.3g bytes",
                 total, 0x1p62);
    }
cleanup:
    return st;
}

/* Times share 64 bits with the source of an event. */
static emp_status check_times(const emp_sim *sim, emp_error *err)
{
    emp_status st = EMP_OK;
    double     total = (double)sim->step_ns, slowest = 0.0, longest = 0.0;

    for (int32_t from = 0; from < sim->device_count; from++) {
        for (int32_t to = 0; to < sim->device_count; to++) {
            const emp_sim_route *r = &sim->route[from][to];
            if (r->ns_per_byte > slowest) slowest = r->ns_per_byte;
            if ((double)r->latency_ns > longest) longest = (double)r->latency_ns;
        }
    }
    longest += (double)(sim->send_ns + sim->receive_ns + sim->poll_ns);
    for (int32_t op = 0; op < sim->op_count; op++) {
        total += (double)sim->op[op].issue_ns + (double)sim->op[op].compute_ns +
                 (double)sim->task_ns[sim->op[op].cpu_row] * EMP_TASKS_PER_CORE *
                     sim->op[op].lanes;
    }
    for (int32_t t = 0; t < sim->tensor_count; t++) {
        total +=
            (longest + slowest * (double)sim->tensor[t].copy_bytes) * sim->device_count;
    }
    total += longest * sim->message_limit;
    if (!(total < 0x1p50)) {
        EMP_FAIL(EMP_EUNSUPPORTED, "ops and transfers of %.3g s in all; at most %.3g s",
                 total * 1e-9, 0x1p50 * 1e-9);
    }
cleanup:
    return st;
}

static void set_runtime(emp_sim *sim, const emp_problem *problem)
{
    const emp_runtime *r = &problem->runtime;
    int32_t            cores = problem->machine->device[0].cores;

    sim->runtime = *r;
    sim->send_ns = emp_ns_of_seconds(r->send_s);
    sim->receive_ns = emp_ns_of_seconds(r->receive_s);
    sim->poll_ns = emp_ns_of_seconds(r->poll_s);
    sim->step_ns = emp_ns_of_seconds(r->step_s);
    sim->device_count = problem->machine->device_count;
    sim->core_count = cores;
    sim->slot_count = !r->cpu_pool ? 1 : r->cpu_slots > 0 ? r->cpu_slots : cores;
}

emp_status emp_sim_create(emp_sim **out, const emp_problem *problem, emp_error *err)
{
    emp_status       st = EMP_OK;
    const emp_graph *g = problem->graph;
    struct sizes     n = count_live(g);
    int32_t         *live = EMP_NEW_ARRAY(int32_t, (size_t)g->op_count);
    int32_t         *live_tensor = EMP_NEW_ARRAY(int32_t, (size_t)g->tensor_count);
    emp_sim         *sim = EMP_NEW(emp_sim);

    *out = NULL;
    if (!live || !live_tensor || !sim)
        EMP_FAIL(EMP_ENOMEM, "simulator of %d ops", n.op_count);
    sim->problem = problem;
    sim->task_ns = problem->costs->task_ns;
    set_runtime(sim, problem);
    compute_routes(sim, problem->machine);
    EMP_TRY(allocate_graph(sim, &n, err));
    number_ops(sim, g, problem->costs, live, live_tensor);
    connect_inputs(sim, g, live, live_tensor);
    connect_consumers(sim, g, live);
    bound_copies(sim);
    EMP_TRY(check_bytes(sim, err));
    EMP_TRY(check_times(sim, err));
    EMP_TRY(allocate_state(sim, err));
    *out = sim;
    sim = NULL;

cleanup:
    emp_free(live);
    emp_free(live_tensor);
    emp_sim_destroy(sim);
    return st;
}

void emp_sim_destroy(emp_sim *sim)
{
    if (sim == NULL) return;
    emp_free(sim->op);
    emp_free(sim->tensor);
    emp_free(sim->id_of_op);
    emp_free(sim->missing_of_op);
    emp_free(sim->persistent_of_op);
    emp_free(sim->input);
    emp_free(sim->consumer);
    emp_free(sim->control);
    emp_free(sim->device_of_op);
    emp_free(sim->missing);
    emp_free(sim->open_tasks);
    emp_free(sim->end_of_op);
    emp_free(sim->home);
    emp_free(sim->first_copy);
    emp_free(sim->instance);
    emp_free(sim->copy);
    emp_free(sim->message);
    emp_free(sim->item);
    emp_free(sim);
}

// SPDX-License-Identifier: GPL-3.0-or-later
/* Compacts a step graph into the arrays that a run walks. */
#include <assert.h>
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "sim/engine/engine.h"

/* Counts of what is left when folded ops are gone. */
struct sizes {
    int32_t op_count, tensor_count, edge_count, control_count;
    int32_t input_count; /* places of rows: edge_count, and what fills rows up */
    int32_t more_count;  /* inputs for which records of ops have no room */
    int32_t copy_count;  /* at most, of all tensors in all memories but their homes */
    int32_t persistent_count, first_count;
};

static bool is_live(const emp_graph *g, emp_op_id op) { return !g->op[op].is_folded; }

/* Inputs that the simulator knows, of an op and of those that it waits for. */
static int32_t count_inputs(const emp_graph *g, emp_op_id op)
{
    int32_t count = 0;

    for (int32_t i = g->input_offset[op]; i < g->input_offset[op + 1]; i++)
        count += is_live(g, g->tensor[g->input[i]].producer);
    return count;
}

static int32_t count_controls(const emp_graph *g, emp_op_id op)
{
    int32_t count = 0;

    for (int32_t i = g->control_offset[op]; i < g->control_offset[op + 1]; i++)
        count += is_live(g, g->control[i]);
    return count;
}

/* A tensor is copied to a memory once, and only if it is read there. */
static int32_t count_copies(const emp_graph *g, emp_op_id op, int32_t device_count)
{
    int32_t copies = 0;

    for (emp_tensor_id t = g->output_offset[op]; t < g->output_offset[op + 1]; t++) {
        int32_t readers = 0;
        for (int32_t c = g->consumer_offset[t]; c < g->consumer_offset[t + 1]; c++)
            readers += is_live(g, g->consumer[c]);
        copies += readers < device_count ? readers : device_count - 1;
    }
    return copies;
}

static struct sizes count_live(const emp_graph *g, int32_t device_count)
{
    struct sizes n = {0};

    for (emp_op_id op = 0; op < g->op_count; op++) {
        if (!is_live(g, op)) continue;
        int32_t inputs = count_inputs(g, op), controls = count_controls(g, op);
        n.op_count++;
        n.tensor_count += g->output_offset[op + 1] - g->output_offset[op];
        n.edge_count += inputs;
        n.input_count += inputs < EMP_SIM_INPUTS ? EMP_SIM_INPUTS : inputs;
        n.more_count += inputs < EMP_SIM_INPUTS ? 0 : inputs - EMP_SIM_INPUTS;
        n.copy_count += count_copies(g, op, device_count);
        n.control_count += controls;
        n.persistent_count += g->op[op].persistent_bytes > 0;
        n.first_count += inputs + controls == 0;
    }
    return n;
}

static emp_status allocate_graph(emp_engine *sim, const struct sizes *n, emp_error *err)
{
    size_t ops = (size_t)n->op_count, tensors = (size_t)n->tensor_count;
    size_t edges = (size_t)n->edge_count, inputs = (size_t)n->input_count;
    size_t words = (ops + 1) * EMP_SIM_OP_WORDS + (size_t)n->more_count;
    size_t instances = tensors + 1 + (size_t)n->copy_count;

    sim->op_count = n->op_count;
    sim->tensor_count = n->tensor_count;
    sim->copy_limit = n->copy_count;
    sim->message_limit = n->control_count;
    sim->words = EMP_ADD_ARRAY(&sim->arrays, int32_t, words);
    sim->op = (emp_sim_op *)(void *)sim->words;
    sim->workspace_bytes = EMP_ADD_ARRAY(&sim->arrays, int64_t, ops);
    sim->control_offset = EMP_ADD_ARRAY(&sim->arrays, int32_t, ops + 1);
    sim->instance = EMP_ADD_ARRAY(&sim->arrays, emp_sim_instance, instances);
    sim->payload = EMP_ADD_ARRAY(&sim->arrays, emp_sim_payload, tensors);
    sim->start = EMP_ADD_ARRAY(&sim->arrays, emp_sim_op_start, ops);
    sim->persistent =
        EMP_ADD_ARRAY(&sim->arrays, emp_sim_persistent, (size_t)n->persistent_count);
    sim->first = EMP_ADD_ARRAY(&sim->arrays, int32_t, (size_t)n->first_count);
    if (sim->rules.shared_memory)
        sim->moved_bytes = EMP_ADD_ARRAY(&sim->arrays, int64_t, ops);
    if (sim->rules.pageable)
        sim->least_ns_per_byte = EMP_ADD_ARRAY(&sim->arrays, double, tensors);
    sim->input_offset = EMP_ADD_ARRAY(&sim->arrays, int32_t, ops + 1);
    sim->more = EMP_ADD_ARRAY(&sim->arrays, int32_t, ops + 1);
    sim->input = EMP_ADD_ARRAY(&sim->arrays, int32_t, inputs);
    sim->reader =
        EMP_ADD_ARRAY(&sim->arrays, emp_sim_reader, edges + 1); /* and the dummy's */
    sim->control = EMP_ADD_ARRAY(&sim->arrays, int32_t, (size_t)n->control_count);
    if (sim->arrays.is_short)
        return EMP_ERROR(EMP_ENOMEM, "simulator of %d ops", n->op_count);
    sim->first_copy = n->tensor_count + 1;
    const int32_t first_item = sim->rules.serial_issue ? sim->op_count : 0;
    sim->copy_item = first_item - sim->first_copy;
    sim->first_message = first_item + sim->copy_limit;
    sim->first_received = sim->first_message + sim->message_limit;
    return EMP_OK;
}

/* All leaves of a tree are equally deep, so that the walk up foresees its end. */
static void create_tree(emp_sim_tree *tree, emp_arrays *arrays, int32_t top,
                        int32_t first_source, int32_t sources)
{
    int32_t leaves = 4 * top; /* two rows at least: a walk up has no case of one */

    while (leaves < sources) leaves *= 4;
    tree->leaf_count = leaves;
    tree->first_leaf = leaves - first_source;
    tree->node = EMP_ADD_ARRAY(arrays, int64_t, 2 * (size_t)leaves);
}

static emp_status allocate_state(emp_engine *sim, emp_error *err)
{
    const emp_sim_rules *rules = &sim->rules;

    size_t  ops = (size_t)sim->op_count, messages = (size_t)sim->message_limit;
    size_t  items = (size_t)sim->first_received;
    int32_t others = sim->source_count - sim->device_count + 1; /* one has no events */

    if (rules->serial_issue) items += (size_t)sim->copy_limit;
    sim->space_of_place = EMP_ADD_ARRAY(&sim->arrays, uint8_t, 2 * ops);
    sim->level = EMP_ADD_ARRAY(&sim->arrays, uint8_t, ops);
    emp_sim_link *line =
        EMP_ADD_ARRAY(&sim->arrays, emp_sim_link, (size_t)sim->device_count * EMP_LEVELS);
    if (rules->cpu_pool) sim->open_tasks = EMP_ADD_ARRAY(&sim->arrays, int32_t, ops);
    sim->message = EMP_ADD_ARRAY(&sim->arrays, emp_sim_message, messages);
    if (rules->cpu_pool || (rules->serial_issue && !rules->drain_copies))
        sim->until = EMP_ADD_ARRAY(&sim->arrays, emp_time_ns, ops);
    sim->link =
        EMP_ADD_ARRAY(&sim->arrays, emp_sim_link, items + (size_t)sim->source_count);
    create_tree(&sim->servers, &sim->arrays, EMP_SIM_SERVERS_TOP, 0, sim->device_count);
    create_tree(&sim->others, &sim->arrays, EMP_SIM_OTHERS_TOP, sim->device_count,
                others);
    if (sim->arrays.is_short)
        return EMP_ERROR(EMP_ENOMEM, "simulator of %d ops", sim->op_count);
    sim->first_head = (int32_t)items;
    sim->head = sim->link + items;
    for (int32_t d = 0; d < sim->device_count; d++)
        sim->device[d].line_of_level = line + (size_t)d * EMP_LEVELS;
    return EMP_OK;
}

static emp_status allocate_chunks(emp_engine *sim, emp_error *err)
{
    size_t ops = (size_t)sim->op_count;
    size_t instances = (size_t)sim->tensor_count + 1 + (size_t)sim->copy_limit;

    if (!sim->rules.has_chunks) return EMP_OK;
    /* variables, workspaces and buffers */
    int64_t most = (int64_t)(2 * ops + instances);
    EMP_CHECK(sim->problem->runtime.events.caching_allocator
                  ? emp_caching_create(&sim->caching, sim->device_count, most, err)
                  : emp_bfc_create(&sim->bfc, sim->device_count, most, err));
    sim->chunk_of_instance = EMP_ADD_ARRAY(&sim->arrays, int32_t, instances);
    sim->chunk_of_op = EMP_ADD_ARRAY(&sim->arrays, int32_t, ops);
    if (sim->arrays.is_short)
        return EMP_ERROR(EMP_ENOMEM, "simulator of %d ops", sim->op_count);
    return EMP_OK;
}

static uint32_t flags_of(const emp_op *op, bool has_outputs,
                         const emp_runtime_events *runtime)
{
    bool has_workspace =
        runtime->workspace && runtime->plan_tokens == 0 && op->cost->workspace_bytes > 0;

    return (op->cost->kernels > 0 ? EMP_SIM_LAUNCHES : 0u) |
           (has_outputs && (op->flags & EMP_OP_IN_PLACE) ? EMP_SIM_IN_PLACE : 0u) |
           (has_workspace ? EMP_SIM_HAS_WORKSPACE : 0u);
}

/* Inputs of the step, and weights that are mapped from a file, lie in memory that is not pinned. */
static bool is_pageable(const emp_graph *g, emp_op_id id)
{
    return (g->op[id].flags & (EMP_OP_FEED | EMP_OP_STREAMS)) != 0;
}

static void number_tensors(emp_engine *sim, const emp_problem *problem, emp_op_id id,
                           int32_t op, int32_t *live_tensor)
{
    const emp_graph          *g = problem->graph;
    const emp_runtime_events *runtime = &problem->runtime.events;
    const bool                is_planned = runtime->plan_tokens > 0;
    int32_t                   tensor = sim->op[op].output;

    for (emp_tensor_id t = g->output_offset[id]; t < g->output_offset[id + 1]; t++) {
        sim->instance[tensor] = (emp_sim_instance){
            .bytes = is_planned ? 0 : emp_sim_round_up(g->tensor[t].bytes),
            .on_host = g->tensor[t].on_host,
            .root = tensor};
        sim->payload[tensor] = (emp_sim_payload){
            .bytes = g->tensor[t].copy_bytes,
            .buffer_bytes = runtime->copy_memory && !is_planned
                                ? emp_sim_round_up(g->tensor[t].copy_bytes)
                                : 0,
            .producer = op,
            .id = t};
        if (sim->rules.pageable && is_pageable(g, id))
            sim->least_ns_per_byte[tensor] = 1e9 * runtime->pageable_s_per_byte;
        live_tensor[t] = tensor++;
    }
    sim->op[op + 1].output = tensor;
}

/* Fills all that is known of ops and tensors but edges; live[] gets the new number of
 * each op. */
static void number_ops(emp_engine *sim, const emp_problem *problem, int32_t *live,
                       int32_t *live_tensor)
{
    const emp_graph      *g = problem->graph;
    const emp_cost_table *costs = problem->costs;
    int32_t               op = 0;

    for (int32_t i = 0; i < g->op_count; i++) {
        emp_op_id     id = g->topo[i];
        const emp_op *from = &g->op[id];
        live[id] = -1;
        if (from->is_folded) continue;
        live[id] = op;
        sim->start[op] = (emp_sim_op_start){
            .id = id, .kinds = problem->kinds_of_class[from->colocation_class]};
        sim->op[op] = (emp_sim_op){
            .cpu_ns = costs->cpu[id].compute_ns,
            .gpu_ns = costs->gpu[id].compute_ns,
            .output = sim->op[op].output,
            .flags = flags_of(from, g->output_offset[id] < g->output_offset[id + 1],
                              &problem->runtime.events),
        };
        if (sim->rules.serial_issue) sim->op[op].issue_ns = costs->gpu[id].issue_ns;
        sim->workspace_bytes[op] = emp_sim_round_up(from->cost->workspace_bytes);
        if (sim->rules.shared_memory)
            sim->moved_bytes[op] = from->cost->bytes_read + from->cost->bytes_written;
        if (sim->rules.cpu_pool)
            sim->op[op].cpu = (emp_sim_lanes){.row = costs->cpu_offset[id],
                                              .lanes = costs->cpu[id].lanes};
        if (from->persistent_bytes > 0) {
            sim->persistent[sim->persistent_count++] =
                (emp_sim_persistent){emp_sim_round_up(from->persistent_bytes), op};
        }
        number_tensors(sim, problem, id, op, live_tensor);
        op++;
    }
}

/* Output 0 of the op is the buffer of its input 0; the buffer of a folded input has no bytes. */
static void share_input(emp_engine *sim, int32_t op, bool is_folded)
{
    const emp_sim_op *o = &sim->op[op];

    if (o->output == o[1].output) return;
    if (is_folded) {
        sim->instance[o->output].bytes = 0;
    } else {
        sim->op[op].flags |= EMP_SIM_ALIASES;
    }
}

/* Rows that are too short read the dummy tensor, too. \return the row's end. */
static int32_t fill_inputs(emp_engine *sim, int32_t op, int32_t end)
{
    for (; end < sim->input_offset[op] + EMP_SIM_INPUTS; end++)
        sim->input[end] = sim->tensor_count;
    for (int32_t i = 0; i < EMP_SIM_INPUTS; i++) sim->op[op].reads[i] = sim->tensor_count;
    return end;
}

/* An op of many inputs has the first of them in its record. \return where the others of the next op begin. */
static int32_t describe_inputs(emp_engine *sim, int32_t op, int32_t count, int32_t more)
{
    emp_sim_op *o = &sim->op[op];

    sim->more[op] = more;
    if (count <= EMP_SIM_INPUTS) return more;
    o->flags |= EMP_SIM_HAS_MORE_INPUTS;
    if (o->flags & EMP_SIM_IN_PLACE) o->flags |= EMP_SIM_IN_PLACE_OF_MANY;
    return more + count - EMP_SIM_INPUTS;
}

/* Where the op's inputs end, and the dummy tensor begins to fill the row. */
static int32_t end_of_inputs(const emp_engine *sim, int32_t op)
{
    int32_t end = sim->input_offset[op + 1];

    while (end > sim->input_offset[op] && sim->input[end - 1] == sim->tensor_count) end--;
    return end;
}

static void connect_inputs(emp_engine *sim, const emp_graph *g, const int32_t *live,
                           const int32_t *live_tensor)
{
    int32_t edge = 0, more = (sim->op_count + 1) * EMP_SIM_OP_WORDS;

    for (int32_t op = 0; op < sim->op_count; op++) {
        emp_op_id     id = sim->start[op].id;
        const emp_op *from = &g->op[id];
        sim->input_offset[op] = edge;
        for (int32_t i = g->input_offset[id]; i < g->input_offset[id + 1]; i++) {
            int32_t producer = live[g->tensor[g->input[i]].producer];
            bool    is_first = i == g->input_offset[id];
            if (is_first && from->is_alias) share_input(sim, op, producer < 0);
            if (producer < 0) continue;
            sim->input[edge++] = live_tensor[g->input[i]];
            sim->op[op].awaited++;
        }
        more = describe_inputs(sim, op, edge - sim->input_offset[op], more);
        edge = fill_inputs(sim, op, edge);
        for (int32_t i = g->control_offset[id]; i < g->control_offset[id + 1]; i++) {
            if (live[g->control[i]] >= 0) sim->op[op].awaited++;
        }
        sim->op[op].missing = sim->op[op].awaited;
        if (sim->op[op].awaited == 0) sim->first[sim->first_count++] = op;
    }
    sim->input_offset[sim->op_count] = edge;
    sim->more[sim->op_count] = more;
}

/* Puts the op before all other readers of its inputs, the last input first. */
static void add_reader(emp_engine *sim, const emp_graph *g, const int32_t *live,
                       emp_op_id id)
{
    int32_t op = live[id], input = end_of_inputs(sim, op) - 1;

    for (int32_t i = g->input_offset[id + 1] - 1; i >= g->input_offset[id]; i--) {
        if (live[g->tensor[g->input[i]].producer] < 0) continue;
        bool on_host = emp_op_reads_on_host(&g->op[id], i - g->input_offset[id]);
        sim->reader[--sim->instance[sim->input[input]].reader] =
            (emp_sim_reader){2 * (uint32_t)op + on_host,
                             emp_sim_word(sim, op, input - sim->input_offset[op])};
        if (on_host) sim->op[op].flags |= EMP_SIM_HAS_HOST_INPUTS;
        input--;
    }
}

/* Counts rows, turns counts into ends, then fills each row from its end; so consumers are
 * visited in falling order of their ids and stand in rising order. */
static void connect_readers(emp_engine *sim, const emp_graph *g, const int32_t *live)
{
    int32_t edges = 0, controls = 0;

    for (int32_t i = 0; i < sim->input_offset[sim->op_count]; i++) {
        sim->instance[sim->input[i]].reader++; /* the dummy's is set below */
    }
    for (int32_t i = 0; i < g->op_count; i++) {
        for (int32_t c = g->control_offset[i];
             live[i] >= 0 && c < g->control_offset[i + 1]; c++) {
            if (live[g->control[c]] >= 0) sim->control_offset[live[g->control[c]]]++;
        }
    }
    for (int32_t t = 0; t < sim->tensor_count; t++) {
        edges += sim->instance[t].reader;
        sim->instance[t].reader = edges;
    }
    sim->instance[sim->tensor_count].reader = edges;
    for (int32_t op = 0; op < sim->op_count; op++) {
        controls += sim->control_offset[op];
        sim->control_offset[op] = controls;
    }
    sim->control_offset[sim->op_count] = controls;

    for (emp_op_id id = g->op_count - 1; id >= 0; id--) {
        int32_t op = live[id];
        if (op < 0) continue;
        add_reader(sim, g, live, id);
        for (int32_t i = g->control_offset[id + 1] - 1; i >= g->control_offset[id]; i--) {
            int32_t from = live[g->control[i]];
            if (from >= 0) sim->control[--sim->control_offset[from]] = op;
        }
    }
}

/* The stream that moves copies: of the GPU that is not the copy's host, of the sender
 * between peers. */
static int32_t stream_of(const emp_machine *m, int32_t from, int32_t to)
{
    bool    from_cpu = m->device[from].kind == EMP_DEVICE_CPU;
    bool    to_cpu = m->device[to].kind == EMP_DEVICE_CPU;
    int32_t stream = to_cpu == from_cpu ? EMP_SIM_TO_PEER
                     : to_cpu           ? EMP_SIM_TO_HOST
                                        : EMP_SIM_TO_DEVICE;

    return (from_cpu && !to_cpu ? to : from) * EMP_SIM_STREAMS + stream;
}

/* A stream and links that carry one copy at a time. */
static void list_links(emp_sim_route *route, const emp_sim_rules *rules,
                       const emp_route *from)
{
    int32_t *link = route->link, count = 0;

    if (rules->copy_streams) link[count++] = route->stream;
    for (int32_t i = 0; rules->shared_links && i < from->link_count; i++)
        link[count++] = EMP_SIM_MAX_STREAMS + from->link[i];
    for (; 0 < count && count < EMP_SIM_LINKS; count++) link[count] = link[count - 1];
    route->link_count = count;
}

static void compute_routes(emp_engine *sim, const emp_machine *m)
{
    for (int32_t from = 0; from < m->device_count; from++) {
        for (int32_t to = 0; to < m->device_count; to++) {
            const emp_route *r = &m->route[from][to];
            emp_sim_route   *route = &sim->route[from][to];
            if (from == to) continue;
            route->latency_ns = emp_ns_of_seconds(r->latency_s);
            route->hop_ns = emp_ns_of_seconds(emp_problem_hop_s(sim->problem, from, to));
            assert(route->latency_ns >= route->hop_ns);
            route->ns_per_byte = 1e9 / r->bytes_per_s;
            route->stream = stream_of(m, from, to);
            bool is_from_host = m->device[from].kind == EMP_DEVICE_CPU &&
                                m->device[to].kind == EMP_DEVICE_GPU;
            route->from_host = is_from_host ? 1.0 : 0.0;
            list_links(route, &sim->rules, r);
        }
    }
}

static int32_t add_source(emp_engine *sim, emp_sim_source_kind kind, int32_t cpu)
{
    if (sim->source != NULL) {
        sim->source[sim->source_count] = (emp_sim_source){(int32_t)kind, cpu};
    }
    return sim->source_count++;
}

/* A source of messages for each latency, shortest first. */
static void add_message_sources(emp_engine *sim)
{
    emp_time_ns done = -1;

    for (;;) {
        emp_time_ns least = INT64_MAX;
        for (int32_t i = 0; i < sim->device_count * sim->device_count; i++) {
            int32_t     from = i / sim->device_count, to = i % sim->device_count;
            emp_time_ns latency = sim->route[from][to].latency_ns;
            if (from != to && latency > done && latency < least) least = latency;
        }
        if (least == INT64_MAX) return;
        int32_t source = add_source(sim, EMP_SIM_MESSAGE, -1);
        for (int32_t i = 0; i < sim->device_count * sim->device_count; i++) {
            emp_sim_route *route =
                &sim->route[i / sim->device_count][i % sim->device_count];
            if (route->latency_ns == least) route->message_source = source;
        }
        done = least;
    }
}

/* A source for each stream that some route uses. All copies of a stream go to hosts, or none
 * does: stream_of(). */
static void add_stream_sources(emp_engine *sim, emp_sim_source_kind kind)
{
    for (int32_t k = 0; k < sim->device_count * EMP_SIM_STREAMS; k++) {
        int32_t source = -1;
        for (int32_t i = 0; i < sim->device_count * sim->device_count; i++) {
            int32_t        from = i / sim->device_count, to = i % sim->device_count;
            emp_sim_route *route = &sim->route[from][to];
            if (from == to || route->stream != k) continue;
            bool at_host = kind == EMP_SIM_SEEN && sim->device[to].kind == EMP_DEVICE_CPU;
            if (source < 0)
                source = add_source(sim, at_host ? EMP_SIM_SEEN_AT_HOST : kind, -1);
            *(kind == EMP_SIM_READY ? &route->ready_source : &route->seen_source) =
                source;
        }
    }
}

/* Those that the rules can use, in the order in which simultaneous events happen. Without
 * an array only counts. A device's server is the source of its own number. */
static void add_sources(emp_engine *sim)
{
    const emp_sim_rules *rules = &sim->rules;

    sim->source_count = 0;
    for (int32_t d = 0; d < sim->device_count; d++) add_source(sim, EMP_SIM_SERVER, -1);
    for (int32_t d = 0; d < sim->device_count; d++) {
        sim->pool[d].first_source = sim->source_count;
        for (int32_t n = 0; n < sim->pool[d].core_count; n++) {
            add_source(sim, EMP_SIM_BATCH, d);
        }
    }
    bool kernels_release = rules->serial_issue && !rules->release_at_issue;
    for (int32_t d = 0; kernels_release && d < sim->device_count; d++) {
        sim->device[d].kernel_source = add_source(sim, EMP_SIM_KERNEL, -1);
    }
    if (rules->serial_issue || rules->drain_copies)
        add_stream_sources(sim, EMP_SIM_READY);
    add_stream_sources(sim, EMP_SIM_SEEN);
    if (rules->copy_delays) {
        sim->send_source = add_source(sim, EMP_SIM_SEND, -1);
        sim->receive_source = add_source(sim, EMP_SIM_RECEIVE, -1);
    }
    if (rules->control_latency) add_message_sources(sim);
}

static emp_status create_sources(emp_engine *sim, emp_error *err)
{
    add_sources(sim);
    while (sim->source_count > 1 << sim->source_bits) sim->source_bits++;
    if (sim->source_bits > EMP_SIM_SOURCE_BITS) {
        return EMP_ERROR(EMP_EUNSUPPORTED,
                         "%d cores, copy streams and latencies; at most %d",
                         sim->source_count, 1 << EMP_SIM_SOURCE_BITS);
    }
    sim->source = EMP_ADD_ARRAY(&sim->arrays, emp_sim_source, (size_t)sim->source_count);
    if (sim->source == NULL)
        return EMP_ERROR(EMP_ENOMEM, "%d event sources", sim->source_count);
    add_sources(sim);
    return EMP_OK;
}

static int32_t count_readers(const emp_engine *sim, int32_t tensor)
{
    return sim->instance[tensor + 1].reader - sim->instance[tensor].reader;
}

static void mark_unread(emp_engine *sim)
{
    for (int32_t t = 0; t < sim->tensor_count; t++)
        if (count_readers(sim, t) == 0)
            sim->op[sim->payload[t].producer].flags |= EMP_SIM_HAS_UNREAD;
}

/* Most ops have one output, on their device, and no control output: a run takes them by a
 * shorter way. */
static void describe_outputs(emp_engine *sim)
{
    for (int32_t op = 0; op < sim->op_count; op++) {
        emp_sim_op *o = &sim->op[op];
        o->reader = sim->instance[o->output].reader;
        o->reader_end = sim->instance[o[1].output].reader;
        o->link.place = sim->reader[o->reader].place;
        if (o[1].output - o->output != 1 || sim->instance[o->output].on_host)
            o->flags |= EMP_SIM_HAS_ODD_OUTPUTS;
        if (sim->control_offset[op + 1] > sim->control_offset[op])
            o->flags |= EMP_SIM_HAS_CONTROL;
    }
}

/* The tensor takes no memory, nor does what it is an alias of, as long as no other op
 * reads it. */
static void take_no_memory(emp_engine *sim, int32_t tensor)
{
    while (count_readers(sim, tensor) == 1) {
        const emp_sim_op *producer = &sim->op[sim->payload[tensor].producer];
        sim->instance[tensor].bytes = 0;
        sim->payload[tensor].buffer_bytes = 0;
        if (!(producer->flags & EMP_SIM_ALIASES) || tensor != producer->output) return;
        tensor = sim->input[sim->input_offset[producer - sim->op]];
    }
}

/* AddN adds its inputs as they come: none but the first takes memory for long. */
static void add_in_place(emp_engine *sim, const emp_graph *g)
{
    for (int32_t op = 0; op < sim->op_count; op++) {
        if (!(g->op[sim->start[op].id].flags & EMP_OP_SUMS_IN_PLACE)) continue;
        const int32_t end = end_of_inputs(sim, op);
        for (int32_t i = sim->input_offset[op] + 1; i < end; i++) {
            take_no_memory(sim, sim->input[i]);
        }
    }
}

/* How often a tensor may cross to another memory. */
static int32_t most_copies(const emp_engine *sim, int32_t tensor)
{
    return sim->rules.share_copies ? sim->device_count : count_readers(sim, tensor);
}

/* No sum of bytes may overflow: every tensor could be in every memory. */
static emp_status check_bytes(const emp_engine *sim, emp_error *err)
{
    double total = 0.0;

    for (int32_t i = 0; i < sim->persistent_count; i++) {
        total += (double)sim->persistent[i].bytes;
    }
    for (int32_t op = 0; op < sim->op_count; op++) {
        total += (double)sim->workspace_bytes[op];
    }
    for (int32_t t = 0; t < sim->tensor_count; t++) {
        total += (double)sim->instance[t].bytes +
                 (double)sim->payload[t].buffer_bytes * sim->device_count +
                 (double)sim->payload[t].bytes * most_copies(sim, t);
    }
    return emp_sim_limit_bytes(total, err);
}

/* How much longer a run can take because of one op on a CPU. On a pool the op is cut into \a tasks for p
 * cores. While all cores of the pool work, they work off tasks; while a core is idle, all tasks of
 * each op that runs have begun (run/server.h), so that the op ends within one task's time. Whatever waits
 * for the memory does so while other bytes are moved. */
static double most_on_cpu(const emp_engine *sim, int32_t op)
{
    const emp_cost_table *costs = sim->problem->costs;
    double                most = 0.0, moved_ns = 0.0;

    for (int32_t d = 0; sim->rules.shared_memory && d < sim->device_count; d++)
        moved_ns =
            fmax(moved_ns, sim->pool[d].ns_per_byte * (double)sim->moved_bytes[op]);
    for (int32_t c = 0; c < costs->column_count[EMP_DEVICE_CPU]; c++) {
        int32_t            row = c * costs->op_count + sim->start[op].id;
        const emp_cpu_cost cost = costs->cpu[row];
        if (!sim->rules.cpu_pool) {
            most = fmax(most, (double)cost.compute_ns);
            continue;
        }
        const emp_time_ns *task_ns = &sim->task_ns[costs->cpu_offset[row]];
        for (int32_t p = emp_sim_least_share(cost.lanes); p <= cost.lanes; p++) {
            double tasks = p * emp_cost_rounds(cost.lanes);
            most = fmax(most, (double)task_ns[p - 1] * (1.0 + tasks / sim->least_cores));
        }
    }
    return most + moved_ns;
}

/* The most that it takes on any GPU, with its issue. */
static double most_on_gpu(const emp_engine *sim, int32_t op)
{
    const emp_cost_table *costs = sim->problem->costs;
    double                most = 0.0;

    for (int32_t c = 0; c < costs->column_count[EMP_DEVICE_GPU]; c++) {
        const emp_gpu_cost *gpu = &costs->gpu[c * costs->op_count + sim->start[op].id];
        most = fmax(most, (double)gpu->issue_ns + (double)gpu->compute_ns);
    }
    return most;
}

/* The most that other cores and tasks on CPUs hold up an op. */
static double most_held_up(const emp_engine *sim, int32_t op)
{
    return sim->sharing == NULL
               ? 0.0
               : (double)sim->sharing->more_ns[op] + most_on_cpu(sim, op);
}

/* The time that a copy of a tensor takes on cores. */
static double most_of_cores(const emp_engine *sim, int32_t tensor)
{
    const emp_sim_sharing *s = sim->sharing;

    if (s == NULL) return 0.0;
    return (double)s->hand_over_ns + 0.5 +
           s->ns_per_byte * (double)sim->payload[tensor].bytes;
}

/* All ops, copies and messages, each on its slowest device or route, one after the other: something
 * of it is under way at any time of a run. Rounding adds half a nanosecond to a copy at most. */
double emp_engine_longest_run_ns(const emp_engine *sim)
{
    double total = (double)sim->step_ns, slowest = 0.0, longest = 0.0;

    for (int32_t from = 0; from < sim->device_count; from++) {
        for (int32_t to = 0; to < sim->device_count; to++) {
            const emp_sim_route *r = &sim->route[from][to];
            slowest = fmax(slowest, r->ns_per_byte);
            longest = fmax(longest, (double)r->latency_ns);
        }
    }
    longest += (double)(sim->send_ns + sim->receive_ns + sim->poll_ns);
    for (int32_t op = 0; op < sim->op_count; op++) {
        total += fmax(most_on_gpu(sim, op), most_on_cpu(sim, op)) + most_held_up(sim, op);
    }
    for (int32_t t = 0; t < sim->tensor_count; t++) {
        const emp_sim_payload *p = &sim->payload[t];
        double least = sim->rules.pageable ? sim->least_ns_per_byte[t] : 0.0;
        total += (longest + fmax(least, slowest) * (double)p->bytes + 0.5 +
                  most_of_cores(sim, t)) *
                 most_copies(sim, t);
    }
    return total + longest * sim->message_limit;
}

/* Runs of days leave fewer bits of an event to its source, as few as number all sources. */
static emp_status check_times(emp_engine *sim, emp_error *err)
{
    double total_ns = emp_engine_longest_run_ns(sim);

    sim->rules.has_long_times =
        !(total_ns < (double)emp_sim_last_ns(EMP_SIM_SOURCE_BITS));
    return emp_sim_limit_time(total_ns, emp_sim_last_ns(sim->source_bits), err);
}

static void set_runtime(emp_engine *sim, const emp_runtime_events *r)
{
    sim->rules = (emp_sim_rules){.serial_issue = r->serial_issue,
                                 .drain_copies = r->drain_copies,
                                 .release_at_issue = r->release_at_issue,
                                 .reuse_inputs = r->reuse_inputs,
                                 .cpu_pool = r->cpu_pool,
                                 .control_latency = r->control_latency,
                                 .share_copies = r->share_copies,
                                 .copy_streams = r->copy_streams,
                                 .shared_links = r->shared_links,
                                 .has_chunks = r->bfc_allocator || r->caching_allocator,
                                 .copy_delays = r->send_s > 0.0 || r->receive_s > 0.0 ||
                                                r->host_hop_s > 0.0,
                                 .pageable = r->pageable_s_per_byte > 0.0,
                                 .has_hops = r->host_hop_s > 0.0 && !r->serial_issue,
                                 .shared_memory = r->cpu_pool && r->shared_memory};
    sim->send_ns = emp_ns_of_seconds(r->send_s);
    sim->receive_ns = emp_ns_of_seconds(r->receive_s);
    sim->poll_ns = emp_ns_of_seconds(r->poll_s);
    sim->step_ns = emp_ns_of_seconds(r->step_s);
}

static emp_status set_devices(emp_engine *sim, const emp_problem *problem, emp_error *err)
{
    const emp_machine        *m = problem->machine;
    const emp_runtime_events *r = &problem->runtime.events;

    sim->device_count = m->device_count;
    sim->pool = EMP_ADD_ARRAY(&sim->arrays, emp_sim_pool, (size_t)m->device_count);
    sim->route =
        emp_arrays_add(&sim->arrays, (size_t)m->device_count, sizeof *sim->route);
    if (sim->arrays.is_short)
        return EMP_ERROR(EMP_ENOMEM, "routes of %d devices", m->device_count);
    for (int32_t d = 0; d < m->device_count; d++) {
        const emp_device *device = &m->device[d];
        bool              is_cpu = device->kind == EMP_DEVICE_CPU;
        sim->device[d].kind = (int32_t)device->kind;
        sim->kind_of_device[d] = is_cpu ? EMP_KIND_CPU : EMP_KIND_GPU;
        sim->spaces_of_device[d][0] = (uint8_t)d;
        sim->spaces_of_device[d][1] = (uint8_t)device->host;
        sim->device[d].memory.limit = emp_problem_memory_bytes(problem, d);
        if (is_cpu && r->cpu_pool) {
            sim->pool[d].core_count = device->cores;
            sim->pool[d].slot_count = r->cpu_slots > 0 ? r->cpu_slots : device->cores;
            /* the cores of a section `core` have rates of their own, by caches */
            if (!device->has_core)
                sim->pool[d].ns_per_byte =
                    1e9 / (device->core_bytes_per_s * device->bandwidth_cores);
            if (sim->least_cores == 0 || device->cores < sim->least_cores)
                sim->least_cores = device->cores;
        }
    }
    return EMP_OK;
}

emp_status emp_engine_create(emp_engine **out, const emp_problem *problem, emp_error *err)
{
    emp_status       st = EMP_OK;
    const emp_graph *g = problem->graph;
    struct sizes     n = {0};
    emp_arrays       scratch = {0};
    int32_t         *live = EMP_ADD_ARRAY(&scratch, int32_t, (size_t)g->op_count);
    int32_t    *live_tensor = EMP_ADD_ARRAY(&scratch, int32_t, (size_t)g->tensor_count);
    emp_engine *sim = EMP_NEW(emp_engine);

    *out = NULL;
    if (scratch.is_short || sim == NULL)
        EMP_FAIL(EMP_ENOMEM, "simulator of %d ops", g->op_count);
    n = count_live(g, problem->machine->device_count);
    sim->problem = problem;
    set_runtime(sim, &problem->runtime.events);
    sim->rules.shares_cores = problem->costs->gpu_beside_ns != NULL &&
                              !sim->rules.serial_issue && !sim->rules.drain_copies;
    EMP_TRY(set_devices(sim, problem, err));
    sim->task_ns = problem->costs->task_ns;
    compute_routes(sim, problem->machine);
    EMP_TRY(create_sources(sim, err));
    EMP_TRY(allocate_graph(sim, &n, err));
    number_ops(sim, problem, live, live_tensor);
    connect_inputs(sim, g, live, live_tensor);
    connect_readers(sim, g, live);
    mark_unread(sim);
    describe_outputs(sim);
    if (!problem->runtime.events.addn_waits) add_in_place(sim, g);
    EMP_TRY(emp_engine_set_sharing(sim, problem, err));
    EMP_TRY(emp_engine_set_models(sim, problem, err));
    EMP_TRY(emp_engine_set_collectives(sim, g, live, err));
    EMP_TRY(emp_engine_set_client(sim, problem, err));
    EMP_TRY(check_bytes(sim, err));
    EMP_TRY(check_times(sim, err));
    EMP_TRY(allocate_state(sim, err));
    EMP_TRY(allocate_chunks(sim, err));
    if (problem->runtime.events.plan_tokens > 0)
        EMP_TRY(emp_plan_create(&sim->plan, problem, err));
    *out = sim;
    sim = NULL;

cleanup:
    emp_arrays_clear(&scratch);
    emp_engine_destroy(sim);
    return st;
}

void emp_engine_destroy(emp_engine *sim)
{
    if (sim == NULL) return;
    emp_bfc_destroy(sim->bfc);
    emp_caching_destroy(sim->caching);
    emp_plan_destroy(sim->plan);
    emp_engine_destroy_fusion(sim->fusion);
    emp_arrays_clear(&sim->arrays);
    emp_free(sim);
}

// SPDX-License-Identifier: GPL-3.0-or-later
#include "sim/bounds/paths/model.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

#include "base/collections.h"
#include "base/mem.h"

_Static_assert(EMP_KIND_CPU == 1 << EMP_DEVICE_CPU && EMP_KIND_GPU == 1 << EMP_DEVICE_GPU,
               "masks of kinds");
_Static_assert(
    EMP_DEVICE_GPU == EMP_DEVICE_KINDS - 1 && EMP_BOUND_ANY_TWO == 0,
    "two GPUs are the last pair of kinds, which goes on by what else is known");

enum { GRANULE = 256 };

/* ---- devices ---- */

static void count_devices(emp_bound_model *model)
{
    const emp_machine *m = model->problem->machine;
    const emp_runtime *rt = &model->problem->runtime;
    bool               has_pool = rt->rules == EMP_RULES_EVENTS && rt->events.cpu_pool;

    for (int32_t d = 0; d < m->device_count; d++) {
        const emp_device *device = &m->device[d];
        model->count[device->kind]++;
        model->memory_bytes[device->kind] += device->memory_bytes;
        if (device->memory_bytes > model->most_bytes[device->kind])
            model->most_bytes[device->kind] = device->memory_bytes;
        if (device->kind == EMP_DEVICE_CPU) {
            double cores = has_pool ? device->cores : 1;
            model->capacity[EMP_BOUND_CORES] += cores;
            model->unit[EMP_BOUND_CORES] = fmax(model->unit[EMP_BOUND_CORES], cores);
        }
    }
    double gpus = model->count[EMP_DEVICE_GPU];
    model->unit[EMP_BOUND_THREAD] = model->unit[EMP_BOUND_STREAM] = 1.0;
    model->capacity[EMP_BOUND_THREAD] = model->capacity[EMP_BOUND_STREAM] = fmax(gpus, 1);
}

/* Placeto's memory has no variables, and msr's CPU no limit. */
static void limit_memory(emp_bound_model *model)
{
    const emp_runtime *rt = &model->problem->runtime;
    bool is_msr = rt->rules == EMP_RULES_MSR_LATENCY || rt->rules == EMP_RULES_MSR_LOAD;

    for (int32_t k = 0; k < EMP_DEVICE_KINDS; k++) {
        bool is_endless = !rt->check_memory || rt->rules == EMP_RULES_PLACETO ||
                          (is_msr && k == EMP_DEVICE_CPU);
        if (is_endless) model->memory_bytes[k] = model->most_bytes[k] = -1;
    }
}

/* ---- copies ---- */

/* The fastest there is: latency and rate may be of different routes. */
static void find_routes(emp_bound_model *model)
{
    const emp_machine        *m = model->problem->machine;
    const emp_runtime_events *rt = emp_runtime_events_of(&model->problem->runtime);
    emp_time_ns               ends_ns =
        emp_bound_add(emp_ns_of_seconds(rt->poll_s), emp_ns_of_seconds(rt->receive_s));

    model->send_ns = emp_ns_of_seconds(rt->send_s);
    for (int32_t i = 0; i < m->device_count * m->device_count; i++) {
        int32_t from = i / m->device_count, to = i % m->device_count;
        if (from == to) continue;
        const emp_route *route = &m->route[from][to];
        emp_device_kind  a = m->device[from].kind, b = m->device[to].kind;
        emp_bound_copy  *copy = &model->copy[a][b];
        emp_time_ns      latency_ns = emp_ns_of_seconds(route->latency_s);
        bool             is_first = copy->ns_per_byte == 0.0;
        if (is_first || latency_ns < model->message_ns[a][b])
            model->message_ns[a][b] = latency_ns;
        double ns_per_byte = 1e9 / route->bytes_per_s;
        if (is_first || ns_per_byte < copy->ns_per_byte) copy->ns_per_byte = ns_per_byte;
        copy->fixed_ns = emp_bound_add(ends_ns, model->message_ns[a][b]);
    }
}

/* Between any two devices alike. Rates are rounded as the oracle's rules round them, or
 * taken to be a little faster. */
static void set_profile_copies(emp_bound_model *model)
{
    const emp_runtime *rt = &model->problem->runtime;
    emp_bound_copy     copy = {0};

    if (rt->rules == EMP_RULES_PLACETO)
        copy.ns_per_byte = 1e9 / fmax(1.0, (double)llround(rt->placeto.bus_bytes_per_s));
    if (rt->rules == EMP_RULES_BAECHI) {
        copy.fixed_ns = emp_ns_of_seconds(rt->baechi.transfer_s);
        copy.ns_per_byte = fmax(0.0, rt->baechi.byte_s * 1e9 - 1e-9);
    }
    if (rt->rules == EMP_RULES_MSR_LATENCY)
        copy.ns_per_byte = 1e9 / fmax(1.0, (double)llround(rt->msr.host_bytes_per_s));
    for (int32_t i = 0; i < EMP_DEVICE_KINDS * EMP_DEVICE_KINDS; i++)
        model->copy[i / EMP_DEVICE_KINDS][i % EMP_DEVICE_KINDS] = copy;
}

/* The oracle's own sum: the product rounded once, halves up. */
static emp_time_ns copy_ns(emp_bound_copy copy, int64_t bytes)
{
    double ns = (double)bytes * copy.ns_per_byte + 0.5;

    return emp_bound_add(copy.fixed_ns, ns < (double)EMP_COST_LIMIT_NS
                                            ? (emp_time_ns)ns
                                            : EMP_COST_LIMIT_NS);
}

/* Rounding down keeps what the exact rules round on the safe side. */
static emp_time_ns profile_copy_ns(emp_bound_copy copy, int64_t bytes)
{
    double ns = (double)bytes * copy.ns_per_byte * (1.0 - 1e-12);

    return emp_bound_add(copy.fixed_ns, ns < (double)EMP_COST_LIMIT_NS
                                            ? (emp_time_ns)ns
                                            : EMP_COST_LIMIT_NS);
}

/* ---- ops ---- */

/* On a pool an op is cut for as many cores as happen to be free: the fastest cut, and the
 * cut that takes the least core time; on whichever CPU they are. */
static void cut_on_pool(const emp_problem *p, emp_op_id id, emp_bound_op *op)
{
    const emp_cost_table *c = p->costs;

    op->run_ns[EMP_DEVICE_CPU] = op->core_ns = EMP_COST_LIMIT_NS;
    for (int32_t d = 0; d < p->machine->device_count; d++) {
        if (p->machine->device[d].kind != EMP_DEVICE_CPU) continue;
        size_t  row = emp_cost_row(c, d, id);
        int32_t lanes = c->cpu[row].lanes, cores = p->machine->device[d].cores;
        for (int32_t n = (lanes + 3) / 4; n <= lanes; n++) {
            int32_t     tasks = n * emp_cost_rounds(lanes);
            emp_time_ns task_ns = c->task_ns[c->cpu_offset[row] + n - 1];
            if (task_ns > EMP_COST_LIMIT_NS / tasks) continue;
            emp_time_ns *run_ns = &op->run_ns[EMP_DEVICE_CPU];
            op->core_ns = emp_time_sooner(op->core_ns, tasks * task_ns);
            *run_ns = emp_time_sooner(*run_ns, (tasks + cores - 1) / cores * task_ns);
        }
    }
}

/* On the fastest device of each kind, whichever that is for this op. */
static void find_fastest(const emp_cost_table *c, emp_op_id id, emp_bound_op *op)
{
    op->run_ns[EMP_DEVICE_GPU] = c->gpu[id].compute_ns;
    op->run_ns[EMP_DEVICE_CPU] = c->cpu[id].compute_ns;
    op->issue_ns = c->gpu[id].issue_ns;
    for (int32_t i = 1; i < c->column_count[EMP_DEVICE_GPU]; i++) {
        const emp_gpu_cost *gpu = &c->gpu[i * c->op_count + id];
        emp_time_ns        *run_ns = &op->run_ns[EMP_DEVICE_GPU];
        *run_ns = emp_time_sooner(*run_ns, gpu->compute_ns);
        op->issue_ns = emp_time_sooner(op->issue_ns, gpu->issue_ns);
    }
    for (int32_t i = 1; i < c->column_count[EMP_DEVICE_CPU]; i++) {
        emp_time_ns *run_ns = &op->run_ns[EMP_DEVICE_CPU];
        *run_ns = emp_time_sooner(*run_ns, c->cpu[i * c->op_count + id].compute_ns);
    }
}

static void describe_times(const emp_bound_model *model, emp_op_id id, emp_bound_op *op)
{
    const emp_problem *p = model->problem;
    const emp_runtime *rt = &p->runtime;
    const bool         is_events = rt->rules == EMP_RULES_EVENTS;

    find_fastest(p->costs, id, op);
    op->core_ns = op->run_ns[EMP_DEVICE_CPU];
    if (!model->has_thread)
        op->issue_ns = 0;
    else if (p->graph->op[id].cost->kernels == 0)
        op->run_ns[EMP_DEVICE_GPU] = 0;
    if (is_events && rt->events.cpu_pool) cut_on_pool(p, id, op);
    if (rt->rules == EMP_RULES_MSR_LATENCY) op->core_ns = 0; /* no op waits for cores */
    for (int32_t k = 0; rt->rules == EMP_RULES_PLACETO && k < EMP_DEVICE_KINDS; k++)
        if (op->run_ns[k] > 0) op->gap_ns[k] = emp_ns_of_seconds(rt->placeto.op_gap_s);
}

static int64_t sum_bytes(int64_t a, int64_t b)
{
    return a > INT64_MAX / 4 || b > INT64_MAX / 4 ? INT64_MAX / 4 : a + b;
}

static int64_t round_up(int64_t bytes)
{
    return bytes > INT64_MAX / 4 ? bytes : (bytes + GRANULE - 1) / GRANULE * GRANULE;
}

static void describe_bytes(const emp_bound_model *model, emp_op_id id, emp_bound_op *op)
{
    const emp_graph *g = model->problem->graph;
    const emp_rules  rules = model->problem->runtime.rules;
    int64_t          bytes = g->op[id].persistent_bytes, crossing = 0;

    if (rules == EMP_RULES_EVENTS) bytes = round_up(bytes);
    if (rules == EMP_RULES_PLACETO) bytes = 0;
    for (emp_tensor_id t = g->output_offset[id]; t < g->output_offset[id + 1]; t++) {
        if (rules == EMP_RULES_MSR_LATENCY || rules == EMP_RULES_MSR_LOAD)
            bytes = sum_bytes(bytes, g->tensor[t].bytes);
        if (emp_graph_is_read(g, t))
            crossing = sum_bytes(crossing, g->tensor[t].copy_bytes);
    }
    op->bytes[EMP_DEVICE_CPU] = op->bytes[EMP_DEVICE_GPU] = bytes;
    if (rules != EMP_RULES_MSR_LATENCY) return;
    op->result_ns = emp_graph_stated_copy_ns(g, id);
    if (op->result_ns < 0) op->result_ns = profile_copy_ns(model->copy[0][0], crossing);
}

static void describe_ops(emp_bound_model *model)
{
    const emp_graph *g = model->problem->graph;

    for (emp_op_id id = 0; id < g->op_count; id++) {
        emp_bound_op *op = &model->op[id];
        if (g->op[id].is_folded) continue;
        op->kinds = model->problem->kinds_of_class[g->op[id].colocation_class];
        if (model->count[EMP_DEVICE_GPU] == 0) op->kinds &= ~(uint32_t)EMP_KIND_GPU;
        describe_times(model, id, op);
        describe_bytes(model, id, op);
    }
}

/* ---- edges ---- */

/* The bytes in place of a control edge under the rules of other simulators. */
static int64_t control_bytes(const emp_bound_model *model, emp_op_id from)
{
    const emp_graph   *g = model->problem->graph;
    const emp_runtime *rt = &model->problem->runtime;
    bool               has_output = g->output_offset[from + 1] > g->output_offset[from];

    if (rt->rules == EMP_RULES_BAECHI) return rt->baechi.control_bytes;
    if (rt->rules == EMP_RULES_EDGES) return 0;
    return has_output ? g->tensor[g->output_offset[from]].copy_bytes : 0;
}

/* The bytes that the edge moves if its ends are on two devices. */
static int64_t bytes_of(const emp_bound_model *model, const emp_bound_edge *edge)
{
    return emp_bound_is_control(edge)
               ? control_bytes(model, edge->from)
               : model->problem->graph->tensor[edge->tensor].copy_bytes;
}

/* A message of the rules `edges`. */
static emp_time_ns message_ns(const emp_bound_model *model, const emp_bound_edge *edge,
                              int32_t from, int32_t to)
{
    emp_time_ns stated_ns = emp_graph_stated_copy_ns(model->problem->graph, edge->from);

    if (stated_ns < 0) return copy_ns(model->copy[from][to], bytes_of(model, edge));
    return emp_bound_is_control(edge) ? 0 : stated_ns;
}

static emp_bound_delay profile_delay(const emp_bound_model *model,
                                     const emp_bound_edge *edge, int32_t from, int32_t to,
                                     bool is_across)
{
    emp_rules       rules = model->problem->runtime.rules;
    emp_bound_delay delay = {0, -1, false};

    if (!is_across) return delay;
    if (rules == EMP_RULES_MSR_LATENCY) {
        delay.after_told_ns =
            emp_bound_is_control(edge) ? 0 : model->op[edge->from].result_ns;
    } else if (rules == EMP_RULES_EDGES) {
        delay.after_told_ns = message_ns(model, edge, from, to);
    } else {
        delay.after_told_ns = profile_copy_ns(model->copy[0][0], bytes_of(model, edge));
    }
    return delay;
}

static emp_bound_delay find_delay(const emp_bound_model *model,
                                  const emp_bound_edge *edge, int32_t from, int32_t to,
                                  emp_bound_pair pair)
{
    const int32_t cpu = EMP_DEVICE_CPU, gpu = EMP_DEVICE_GPU;
    const bool    are_gpus = from == gpu && to == gpu;
    const bool    are_apart = are_gpus && pair == EMP_BOUND_APART;
    const bool    is_one_gpu =
        are_gpus && !are_apart &&
        (pair == EMP_BOUND_SAME || edge->is_bound || model->count[gpu] == 1);
    const bool have_streams = model->has_thread && are_gpus;

    if (model->problem->runtime.rules != EMP_RULES_EVENTS)
        return profile_delay(model, edge, from, to, from != to || are_apart);
    if (emp_bound_is_control(edge)) {
        emp_time_ns latency_ns =
            (from != to || are_apart) && model->problem->runtime.events.control_latency
                ? model->message_ns[from][to]
                : 0;
        return (emp_bound_delay){latency_ns, -1, have_streams && is_one_gpu};
    }
    int32_t home = edge->is_on_host ? cpu : from;
    int32_t reads_in = edge->is_read_on_host ? cpu : to;
    bool    is_copied = home != reads_in || (are_apart && home == gpu);
    bool    is_in_order = have_streams && (home == gpu || is_one_gpu);
    if (!is_copied) return (emp_bound_delay){0, -1, is_in_order};
    emp_time_ns copying_ns = copy_ns(model->copy[home][reads_in], bytes_of(model, edge));
    return (emp_bound_delay){emp_bound_add(model->send_ns, copying_ns),
                             home == gpu ? copying_ns : -1, is_in_order};
}

static void set_delay(const emp_bound_model *model, const emp_bound_edge *edge,
                      int32_t from, int32_t to, emp_bound_pair pair,
                      emp_bound_delays *all)
{
    const emp_bound_delay d = find_delay(model, edge, from, to, pair);
    const int32_t         way = emp_bound_way(from, to, pair);

    all->after_told_ns[way] = d.after_told_ns;
    all->after_done_ns[way] = d.after_done_ns;
    all->is_in_order[way] = d.is_in_order;
}

/* Delays by hash, so that edges alike share them. */
typedef struct {
    emp_bound_delays **slot; /**< NULL = free */
    size_t slots; /**< a power of two, more than twice as many as there are delays */
} delays_index;

/* The slot of delays that are equal but for their number, or the free one where they belong. */
static emp_bound_delays **find_slot(const delays_index     *index,
                                    const emp_bound_delays *wanted)
{
    const size_t bytes = offsetof(emp_bound_delays, number);
    const int    cpu = EMP_DEVICE_CPU, gpu = EMP_DEVICE_GPU;
    uint64_t     hash = EMP_HASH_SEED;

    hash = emp_hash_u64(
        hash,
        (uint64_t)wanted->after_told_ns[emp_bound_way(cpu, gpu, EMP_BOUND_ANY_TWO)]);
    hash = emp_hash_u64(
        hash, (uint64_t)wanted->after_told_ns[emp_bound_way(gpu, gpu, EMP_BOUND_APART)]);
    size_t at = (size_t)emp_hash_u64(hash, wanted->is_bound) & (index->slots - 1);
    while (index->slot[at] != NULL && memcmp(index->slot[at], wanted, bytes) != 0)
        at = (at + 1) & (index->slots - 1);
    return &index->slot[at];
}

static emp_status widen(delays_index *index, const emp_bound_model *model, emp_error *err)
{
    emp_free(index->slot);
    index->slots = index->slots == 0 ? 64 : 2 * index->slots;
    EMP_CHECK(EMP_ALLOC(index->slot, index->slots));
    for (int32_t i = 0; i < model->delays_count; i++)
        *find_slot(index, model->delays[i]) = model->delays[i];
    return EMP_OK;
}

static void add_up(emp_bound_delays *d)
{
    for (int32_t i = 0; i < EMP_BOUND_PAIRS; i++) {
        const bool is_ruled_out =
            d->is_bound && i / EMP_DEVICE_KINDS != i % EMP_DEVICE_KINDS;
        d->told_ns[i] = is_ruled_out ? EMP_BOUND_FAR : d->after_told_ns[i];
        d->done_ns[i] = d->after_done_ns[i] < 0 ? -EMP_BOUND_FAR : d->after_done_ns[i];
        if (is_ruled_out) d->done_ns[i] = EMP_BOUND_FAR;
        d->order_ns[i] = d->is_in_order[i] ? 0 : -EMP_BOUND_FAR;
    }
}

/* The delays that equal \a wanted, which are added if there are none. */
static emp_status share_delays(emp_bound_model *model, delays_index *index,
                               const emp_bound_delays  *wanted,
                               const emp_bound_delays **shared, emp_error *err)
{
    if ((size_t)model->delays_count * 2 >= index->slots)
        EMP_CHECK(widen(index, model, err));
    emp_bound_delays **slot = find_slot(index, wanted);
    if (*slot == NULL) {
        EMP_CHECK(
            EMP_GROW(model->delays, model->delays_count + 1, model->delays_capacity));
        emp_bound_delays *added = emp_arena_alloc(&model->delays_room, sizeof *added);
        if (added == NULL) return EMP_ERROR(EMP_ENOMEM, "the delays of an edge");
        *added = *wanted;
        added->number = model->delays_count;
        add_up(added);
        model->delays[model->delays_count++] = *slot = added;
    }
    *shared = *slot;
    return EMP_OK;
}

/* Completes the next edge, of which the ends and what is read are given, unless nobody waits for it. */
static emp_status add_edge(emp_bound_model *model, emp_bound_edge edge, int64_t *count,
                           delays_index *index, emp_error *err)
{
    const emp_op    *op = model->problem->graph->op;
    const int32_t    gpu = EMP_DEVICE_GPU;
    emp_bound_delays delays;

    if (op[edge.from].is_folded) return EMP_OK;
    edge.is_bound = op[edge.from].colocation_class == op[edge.to].colocation_class;
    memset(&delays, 0, sizeof delays); /* what is hashed has padding */
    delays.is_bound = edge.is_bound;
    for (int32_t from = 0; from < EMP_DEVICE_KINDS; from++)
        for (int32_t to = 0; to < EMP_DEVICE_KINDS; to++)
            set_delay(model, &edge, from, to, EMP_BOUND_ANY_TWO, &delays);
    set_delay(model, &edge, gpu, gpu, EMP_BOUND_SAME, &delays);
    set_delay(model, &edge, gpu, gpu, EMP_BOUND_APART, &delays);
    EMP_CHECK(share_delays(model, index, &delays, &edge.delays, err));
    model->edge[(*count)++] = edge;
    return EMP_OK;
}

static emp_status add_edges_to(emp_bound_model *model, emp_op_id op, int64_t *count,
                               delays_index *index, emp_error *err)
{
    const emp_graph *g = model->problem->graph;

    for (int32_t i = g->input_offset[op]; i < g->input_offset[op + 1]; i++) {
        const emp_tensor *t = &g->tensor[g->input[i]];
        const int32_t     number = i - g->input_offset[op];
        emp_bound_edge    edge = {.from = t->producer,
                                  .to = op,
                                  .tensor = g->input[i],
                                  .is_on_host = t->on_host,
                                  .is_read_on_host =
                                      emp_op_reads_on_host(&g->op[op], number)};
        EMP_CHECK(add_edge(model, edge, count, index, err));
    }
    for (int32_t i = g->control_offset[op]; i < g->control_offset[op + 1]; i++) {
        emp_bound_edge edge = {.from = g->control[i], .to = op, .tensor = -1};
        EMP_CHECK(add_edge(model, edge, count, index, err));
    }
    return EMP_OK;
}

static emp_status list_edges(emp_bound_model *model, emp_error *err)
{
    emp_status       st = EMP_OK;
    const emp_graph *g = model->problem->graph;
    int64_t          count = 0;
    delays_index     index = {0};

    for (emp_op_id op = 0; op < g->op_count; op++) {
        model->edge_offset[op] = count;
        if (model->has_paths && !g->op[op].is_folded)
            EMP_TRY(add_edges_to(model, op, &count, &index, err));
    }
    model->edge_offset[g->op_count] = count;

cleanup:
    emp_free(index.slot);
    return st;
}

/* ---- links ---- */

emp_status emp_bound_links_init(emp_bound_links **links, int32_t ops, emp_error *err)
{
    EMP_CHECK(EMP_ALLOC(*links, 1));
    EMP_CHECK(EMP_ALLOC((*links)->to, (size_t)ops));
    EMP_CHECK(EMP_ALLOC((*links)->from, (size_t)ops));
    for (int32_t v = 0; v < ops; v++) (*links)->to[v] = (*links)->from[v] = -1;
    return EMP_OK;
}

void emp_bound_links_clear(emp_bound_links *links)
{
    if (links == NULL) return;
    emp_free(links->link);
    emp_free(links->to);
    emp_free(links->from);
    emp_free(links);
}

emp_status emp_bound_link_ops(emp_bound_links *links, emp_bound_link link, emp_error *err)
{
    EMP_CHECK(EMP_GROW(links->link, links->count + 1, links->capacity));
    link.next_to = links->to[link.to];
    link.next_from = links->from[link.from];
    links->to[link.to] = links->from[link.from] = links->count;
    links->link[links->count++] = link;
    return EMP_OK;
}

/* ---- all ---- */

emp_status emp_bound_model_init(emp_bound_model *model, const emp_problem *problem,
                                bool any_order, emp_error *err)
{
    const emp_runtime *rt = &problem->runtime;
    const emp_graph   *g = problem->graph;
    const size_t       ops = (size_t)g->op_count;

    *model = (emp_bound_model){.problem = problem};
    EMP_CHECK(EMP_ALLOC(model->op, ops));
    EMP_CHECK(EMP_ALLOC(model->floor, ops));
    EMP_CHECK(emp_bound_links_init(&model->links, g->op_count, err));
    EMP_CHECK(EMP_ALLOC(model->edge_offset, ops + 1));
    EMP_CHECK(EMP_ALLOC(model->edge,
                        (size_t)g->input_offset[ops] + (size_t)g->control_offset[ops]));
    model->any_order = any_order || g->has_levels;
    model->has_paths = rt->rules != EMP_RULES_MSR_LOAD;
    model->has_thread = rt->rules == EMP_RULES_EVENTS && rt->events.serial_issue;
    count_devices(model);
    limit_memory(model);
    if (rt->rules == EMP_RULES_EVENTS)
        model->step_ns = emp_ns_of_seconds(rt->events.step_s);
    if (rt->rules == EMP_RULES_EVENTS || rt->rules == EMP_RULES_EDGES) {
        find_routes(model);
    } else {
        set_profile_copies(model);
    }
    describe_ops(model);
    return list_edges(model, err);
}

void emp_bound_model_clear(emp_bound_model *model)
{
    emp_free(model->op);
    emp_free(model->floor);
    emp_bound_links_clear(model->links);
    emp_free(model->edge_offset);
    emp_free(model->edge);
    emp_free(model->delays);
    emp_arena_clear(&model->delays_room);
    memset(model, 0, sizeof *model);
}

// SPDX-License-Identifier: GPL-3.0-or-later
#include "sim/problem/problem.h"

#include <string.h>

#include "base/collections.h"
#include "base/mem.h"
#include "base/text/text.h"

/* ---- sequences ---- */

/* The devices that have units, in the order in which they are to have them. */
typedef struct {
    int32_t       count;
    emp_device_id device[EMP_MAX_DEVICES];
} device_order;

/* NULL is allowed. */
static void destroy_sequence(struct emp_sequence *s)
{
    if (s == NULL) return;
    emp_free(s->class_of_unit);
    emp_free(s->unit_of_class);
    emp_free(s->home_of_class);
    emp_free(s);
}

emp_status emp_problem_set_sequence(emp_problem *problem, const int32_t *class_of_unit,
                                    int32_t unit_count, const int32_t *home_of_class,
                                    emp_error *err)
{
    emp_status           st = EMP_OK;
    const size_t         classes = (size_t)problem->graph->class_count;
    struct emp_sequence *s = NULL;

    if (unit_count > EMP_SEQUENCE_UNITS_MAX)
        EMP_FAIL(EMP_EINVAL, "a pipeline has at most %d units, not %d",
                 EMP_SEQUENCE_UNITS_MAX, unit_count);
    EMP_TRY(EMP_ALLOC(s, (size_t)1));
    EMP_TRY(EMP_ALLOC(s->class_of_unit, (size_t)unit_count));
    EMP_TRY(EMP_ALLOC(s->unit_of_class, classes));
    EMP_TRY(EMP_ALLOC(s->home_of_class, classes));
    s->unit_count = unit_count;
    for (size_t c = 0; c < classes; c++) s->unit_of_class[c] = -1;
    for (int32_t u = 0; u < unit_count; u++) {
        s->class_of_unit[u] = class_of_unit[u];
        s->unit_of_class[class_of_unit[u]] = u;
    }
    memcpy(s->home_of_class, home_of_class, classes * sizeof *home_of_class);
    for (emp_device_id d = 0; d < EMP_MAX_DEVICES; d++) s->stand_in[d] = d;
    destroy_sequence(problem->sequence);
    problem->sequence = s;
    s = NULL;

cleanup:
    destroy_sequence(s);
    return st;
}

void emp_sequence_withhold(emp_problem *problem, emp_device_id device,
                           emp_device_id stand_in)
{
    problem->sequence->stand_in[device] = stand_in;
}

/* CPUs first, then GPUs by the mean position of their units. */
static void order_devices(device_order *order, const emp_machine *m,
                          const emp_device_id *device_of_unit, int32_t units)
{
    double  mean[EMP_MAX_DEVICES] = {0};
    int32_t count[EMP_MAX_DEVICES] = {0};

    order->count = 0;
    for (int32_t u = 0; u < units; u++) {
        mean[device_of_unit[u]] += u;
        count[device_of_unit[u]]++;
    }
    for (emp_device_id d = 0; d < m->device_count; d++) {
        if (count[d] == 0) continue;
        mean[d] = m->device[d].kind == EMP_DEVICE_CPU ? -1.0 : mean[d] / count[d];
        int32_t at = order->count++;
        for (; at > 0 && mean[order->device[at - 1]] > mean[d]; at--)
            order->device[at] = order->device[at - 1];
        order->device[at] = d;
    }
}

/* Parts the units among the devices in their order, some of which may get none, so that the fewest change: by
 * dynamic programming over units and devices. */
static void split_units(emp_device_id *device_of_unit, int32_t units,
                        const device_order *order)
{
    uint8_t from[EMP_SEQUENCE_UNITS_MAX][EMP_MAX_DEVICES];
    int32_t cost[EMP_MAX_DEVICES] = {0};
    int32_t last = 0;

    for (int32_t u = 0; u < units; u++) {
        int32_t best = 0; /* of the devices up to k, for the unit before */
        int32_t before[EMP_MAX_DEVICES];
        memcpy(before, cost, sizeof before);
        for (int32_t k = 0; k < order->count; k++) {
            if (before[k] < before[best]) best = k;
            from[u][k] = (uint8_t)best;
            cost[k] = before[best] + (device_of_unit[u] != order->device[k]);
        }
    }
    for (int32_t k = 1; k < order->count; k++)
        if (cost[k] < cost[last]) last = k;
    for (int32_t u = units - 1; u >= 0; u--) {
        device_of_unit[u] = order->device[last];
        last = from[u][last];
    }
}

static bool is_split(const emp_device_id *device_of_unit, int32_t units,
                     const device_order *order)
{
    int32_t k = 0;

    for (int32_t u = 0; u < units; u++) {
        while (k < order->count && order->device[k] != device_of_unit[u]) k++;
        if (k == order->count) return false;
    }
    return true;
}

/* Moves a placement whose classes are legal to one near by whose units follow one another. Devices that
 * are none stay. O(ops + units x devices), without allocating. */
static void project(const emp_problem *p, emp_device_id *device_of_op)
{
    const struct emp_sequence *s = p->sequence;
    emp_device_id              old[EMP_SEQUENCE_UNITS_MAX], new[EMP_SEQUENCE_UNITS_MAX];
    device_order               order;

    for (int32_t u = 0; u < s->unit_count; u++) {
        old[u] = device_of_op[p->leader_of_class[s->class_of_unit[u]]];
        if (old[u] < 0 || old[u] >= p->machine->device_count) return;
    }
    order_devices(&order, p->machine, old, s->unit_count);
    if (is_split(old, s->unit_count, &order)) return;
    memcpy(new, old, (size_t)s->unit_count * sizeof *new);
    split_units(new, s->unit_count, &order);
    for (emp_op_id op = 0; op < p->graph->op_count; op++) {
        const int32_t c = p->class_of_op[op];
        if (c < 0) continue;
        const int32_t unit = s->unit_of_class[c], home = s->home_of_class[c];
        if (unit >= 0)
            device_of_op[op] = new[unit];
        else if (home >= 0 && device_of_op[op] == old[home])
            device_of_op[op] = new[home];
    }
}

/* ---- problems ---- */

/* Folded ops run nowhere, so they bind no op. */
static void find_classes(emp_problem *p)
{
    const emp_graph *g = p->graph;

    for (int32_t c = 0; c < g->class_count; c++) {
        p->kinds_of_class[c] = EMP_KIND_CPU | EMP_KIND_GPU;
        p->leader_of_class[c] = -1;
    }
    for (emp_op_id op = 0; op < g->op_count; op++) {
        int32_t         c = g->op[op].colocation_class;
        const emp_op_id leader = p->leader_of_class[c];
        if (leader < 0 || (g->op[leader].is_folded && !g->op[op].is_folded))
            p->leader_of_class[c] = op;
        p->class_of_op[op] = g->op[op].is_folded ? -1 : c;
        if (!g->op[op].is_folded) p->kinds_of_class[c] &= g->op[op].kinds;
    }
}

/* The first op of the class that has no such kind, or -1. */
static emp_op_id op_without(const emp_problem *p, int32_t class, uint32_t kind)
{
    for (emp_op_id op = 0; op < p->graph->op_count; op++)
        if (p->class_of_op[op] == class && (p->graph->op[op].kinds & kind) == 0)
            return op;
    return -1;
}

/* Every op type of the tables has a kernel for a CPU; a user-supplied op may have none. */
static emp_status check_classes(const emp_problem *p, emp_error *err)
{
    const bool has_gpu = emp_machine_count(p->machine, EMP_DEVICE_GPU) > 0;

    for (int32_t c = 0; c < p->graph->class_count; c++) {
        const uint32_t kinds = p->kinds_of_class[c];
        if ((kinds & EMP_KIND_CPU) != 0 || (has_gpu && kinds != 0)) continue;
        const char *gpu_only = p->graph->name[op_without(p, c, EMP_KIND_CPU)];
        if (kinds != 0)
            return EMP_ERROR(EMP_EINVAL,
                             "op \"%.100s\" runs only on GPUs, and machine %s has none",
                             gpu_only, p->machine->name);
        return EMP_ERROR(
            EMP_EINVAL,
            "ops \"%.100s\" and \"%.100s\" share a device, but one runs only on "
            "GPUs and the other only on CPUs",
            gpu_only, p->graph->name[op_without(p, c, EMP_KIND_GPU)]);
    }
    return EMP_OK;
}

/* Takes what drivers and libraries keep from the memories of GPUs: of a small one at most an eighth, as smaller
 * chips have smaller contexts. */
static void take_contexts(emp_machine *m, int64_t context_bytes)
{
    for (int32_t d = 0; d < m->device_count; d++) {
        emp_device   *device = &m->device[d];
        const int64_t most = device->memory_bytes / 8;
        if (device->kind == EMP_DEVICE_GPU)
            device->memory_bytes -= context_bytes < most ? context_bytes : most;
    }
}

double emp_problem_hop_s(const emp_problem *problem, int32_t from, int32_t to)
{
    const emp_runtime_events *events = emp_runtime_events_of(&problem->runtime);
    const emp_machine        *m = problem->machine;
    const int32_t             host = m->device[to].host;

    if (host == m->device[from].host) return 0.0;
    return events->client && host == m->device[0].host ? 0.0 : events->host_hop_s;
}

static void add_hops(const emp_problem *p, emp_machine *m)
{
    for (int32_t from = 0; from < m->device_count; from++)
        for (int32_t to = 0; to < m->device_count; to++)
            m->route[from][to].latency_s += emp_problem_hop_s(p, from, to);
}

void emp_problem_scale_latencies(const emp_problem *problem, emp_machine *machine,
                                 double factor)
{
    for (int32_t from = 0; from < machine->device_count; from++) {
        for (int32_t to = 0; to < machine->device_count; to++) {
            double      *latency_s = &machine->route[from][to].latency_s;
            const double hop_s = emp_problem_hop_s(problem, from, to);
            *latency_s = hop_s + (*latency_s - hop_s) * factor;
        }
    }
}

/* Appends the links of a leg that the route does not have yet. False: there are too many. */
static bool append_links(emp_route *route, const emp_route *leg)
{
    for (int32_t i = 0; i < leg->link_count; i++) {
        int32_t k = 0;
        while (k < route->link_count && route->link[k] != leg->link[i]) k++;
        if (k == EMP_MAX_ROUTE) return false;
        route->link[k] = leg->link[i];
        if (k == route->link_count) route->link_count++;
    }
    return true;
}

/* The bytes arrive in the client's memory before they are sent on, so the times of both legs add up. */
static bool join_legs(emp_route *route, const emp_route *there, const emp_route *on)
{
    *route = (emp_route){.latency_s = there->latency_s + on->latency_s,
                         .bytes_per_s =
                             1.0 / (1.0 / there->bytes_per_s + 1.0 / on->bytes_per_s)};
    return append_links(route, there) && append_links(route, on);
}

/* Sends what goes between two hosts other than the first through the memory of the first. */
static emp_status pass_through_client(emp_machine *m, emp_error *err)
{
    const int32_t client = m->device[0].host;

    for (int32_t from = 0; from < m->device_count; from++) {
        for (int32_t to = 0; to < m->device_count; to++) {
            const int32_t a = m->device[from].host, b = m->device[to].host;
            if (a == b || a == client || b == client) continue;
            if (!join_legs(&m->route[from][to], &m->route[from][client],
                           &m->route[client][to]))
                return EMP_ERROR(
                    EMP_EUNSUPPORTED,
                    "the way from %s to %s by way of %s has more than %d links",
                    m->device[from].name, m->device[to].name, m->device[client].name,
                    EMP_MAX_ROUTE);
        }
    }
    return EMP_OK;
}

/* Adds the ways and hops of the runtime to routes whose times follow from their links alone. */
static emp_status adapt_routes(const emp_problem *p, emp_machine *m, emp_error *err)
{
    const emp_runtime_events *events = emp_runtime_events_of(&p->runtime);

    if (events->client) EMP_CHECK(pass_through_client(m, err));
    if (events->host_hop_s > 0.0) add_hops(p, m);
    return EMP_OK;
}

emp_status emp_problem_time_routes(const emp_problem *problem, emp_machine *machine,
                                   emp_error *err)
{
    emp_machine_time_routes(machine);
    return adapt_routes(problem, machine, err);
}

/* The memory that a runtime keeps of each GPU besides the ops' memory. */
static int64_t kept_bytes(const emp_problem *p, const emp_runtime_events *events)
{
    const bool has_buffers =
        p->graph->collective != NULL && emp_machine_count(p->machine, EMP_DEVICE_GPU) > 1;

    return events->gpu_context_bytes + (has_buffers ? events->collective_bytes : 0);
}

/* The machine as a program of this runtime has it. */
static emp_status adapt_machine(emp_problem *p, emp_error *err)
{
    const emp_runtime_events *events = emp_runtime_events_of(&p->runtime);
    const int64_t             kept = kept_bytes(p, events);

    if (kept == 0 && events->host_hop_s == 0.0 && !events->client) return EMP_OK;
    p->adapted = EMP_NEW(emp_machine);
    if (p->adapted == NULL) return EMP_ERROR(EMP_ENOMEM, "machine");
    *p->adapted = *p->machine;
    p->machine = p->adapted;
    take_contexts(p->adapted, kept);
    return adapt_routes(p, p->adapted, err);
}

emp_status emp_problem_create(emp_problem **out, const emp_graph *graph,
                              const emp_machine *machine, const emp_runtime *runtime,
                              const char *workload, emp_error *err)
{
    emp_status   st = EMP_OK;
    emp_problem *p = NULL;

    EMP_NEED(out);
    *out = NULL;
    EMP_NEED(graph);
    EMP_NEED(machine);
    EMP_NEED(runtime);
    EMP_NEED(workload);
    p = EMP_NEW(emp_problem);
    if (p == NULL) EMP_FAIL(EMP_ENOMEM, "problem");
    p->graph = graph;
    p->machine = p->given = machine;
    p->runtime = *runtime;
    EMP_TRY(adapt_machine(p, err));
    emp_text_copy(p->workload, sizeof p->workload, workload, strlen(workload));
    EMP_TRY(EMP_ALLOC(p->kinds_of_class, (size_t)graph->class_count));
    EMP_TRY(EMP_ALLOC(p->leader_of_class, (size_t)graph->class_count));
    EMP_TRY(EMP_ALLOC(p->class_of_op, (size_t)graph->op_count));
    EMP_TRY(emp_cost_table_create(&p->costs, graph, p->machine, runtime, err));
    find_classes(p);
    EMP_TRY(check_classes(p, err));
    *out = p;
    p = NULL;

cleanup:
    emp_problem_destroy(p);
    return st;
}

void emp_problem_destroy(emp_problem *problem)
{
    if (problem == NULL) return;
    emp_cost_table_destroy(problem->costs);
    emp_free(problem->adapted);
    emp_free(problem->kinds_of_class);
    emp_free(problem->leader_of_class);
    emp_free(problem->class_of_op);
    destroy_sequence(problem->sequence);
    emp_machine_destroy(problem->loaded_machine);
    emp_graph_destroy(problem->loaded_graph);
    emp_free(problem);
}

emp_status emp_problem_forbid_cpus(emp_problem *problem, int32_t *kept_count,
                                   emp_error *err)
{
    const emp_graph *g = problem->graph;
    int32_t          kept = 0;

    if (emp_machine_count(problem->machine, EMP_DEVICE_GPU) == 0)
        return EMP_ERROR(EMP_EINVAL,
                         "CPUs cannot be forbidden on machine %s, which has no GPU",
                         problem->machine->name);
    for (int32_t c = 0; c < g->class_count; c++)
        if (problem->kinds_of_class[c] & EMP_KIND_GPU)
            problem->kinds_of_class[c] &= ~(uint32_t)EMP_KIND_CPU;
    for (emp_op_id op = 0; op < g->op_count; op++) {
        int32_t c = problem->class_of_op[op];
        kept += c >= 0 && (problem->kinds_of_class[c] & EMP_KIND_CPU) != 0;
    }
    if (kept_count != NULL) *kept_count = kept;
    return EMP_OK;
}

bool emp_problem_keeps_gpu_kernels(const emp_problem   *problem,
                                   const emp_device_id *device_of_op)
{
    const emp_machine *m = problem->machine;

    if (emp_machine_count(m, EMP_DEVICE_GPU) == 0) return true;
    for (emp_op_id op = 0; op < problem->graph->op_count; op++) {
        const int32_t c = problem->class_of_op[op];
        if (c >= 0 && (problem->kinds_of_class[c] & EMP_KIND_GPU) != 0 &&
            m->device[device_of_op[op]].kind == EMP_DEVICE_CPU)
            return false;
    }
    return true;
}

static bool is_withheld(const emp_problem *p, emp_device_id device)
{
    return p->sequence != NULL && p->sequence->stand_in[device] != device;
}

/* The devices of a kind that are not withheld. */
static int32_t count_devices(const emp_problem *p, emp_device_kind kind)
{
    int32_t count = 0;

    for (emp_device_id d = 0; d < p->machine->device_count; d++)
        count += p->machine->device[d].kind == kind && !is_withheld(p, d);
    return count;
}

bool emp_problem_has_choice(const emp_problem *problem)
{
    const int32_t cpus = count_devices(problem, EMP_DEVICE_CPU);
    const int32_t gpus = count_devices(problem, EMP_DEVICE_GPU);

    for (emp_op_id op = 0; op < problem->graph->op_count; op++) {
        const int32_t class = problem->class_of_op[op];
        if (class < 0) continue;
        const uint32_t kinds = problem->kinds_of_class[class];
        if ((kinds & EMP_KIND_CPU ? cpus : 0) + (kinds & EMP_KIND_GPU ? gpus : 0) > 1)
            return true;
    }
    return false;
}

int64_t emp_problem_memory_bytes(const emp_problem *problem, emp_device_id device)
{
    return problem->runtime.check_memory ? problem->machine->device[device].memory_bytes
                                         : EMP_SIM_ENDLESS;
}

static emp_problem_shortage compare(const emp_problem *p, uint32_t kinds)
{
    emp_problem_shortage s = {.kinds = kinds};

    for (emp_op_id op = 0; op < p->graph->op_count; op++) {
        const int32_t class = p->class_of_op[op];
        if (class >= 0 && (p->kinds_of_class[class] & ~kinds) == 0)
            s.held_bytes += p->graph->op[op].persistent_bytes;
    }
    for (emp_device_id d = 0; d < p->machine->device_count; d++) {
        const bool is_gpu = p->machine->device[d].kind == EMP_DEVICE_GPU;
        if (!is_withheld(p, d) && (kinds & (is_gpu ? EMP_KIND_GPU : EMP_KIND_CPU)))
            s.memory_bytes += p->machine->device[d].memory_bytes;
    }
    return s;
}

emp_problem_shortage emp_problem_find_shortage(const emp_problem *problem)
{
    static const uint32_t sets[] = {EMP_KIND_GPU, EMP_KIND_CPU,
                                    EMP_KIND_GPU | EMP_KIND_CPU};

    for (size_t i = 0; i < sizeof sets / sizeof *sets; i++) {
        const emp_problem_shortage s = compare(problem, sets[i]);
        if (s.held_bytes > s.memory_bytes) return s;
    }
    return (emp_problem_shortage){0};
}

/* The GPU of the same host if it has one. */
static emp_device_id gpu_near(const emp_machine *m, emp_device_id cpu)
{
    emp_device_id first = -1;

    for (emp_device_id d = 0; d < m->device_count; d++) {
        if (m->device[d].kind != EMP_DEVICE_GPU) continue;
        if (m->device[d].host == cpu) return d;
        if (first < 0) first = d;
    }
    return first;
}

/* The device itself, if the class may be there. */
static emp_device_id allowed_near(const emp_problem *p, int32_t class,
                                  emp_device_id      device)
{
    const emp_machine *m = p->machine;
    uint32_t           kinds = p->kinds_of_class[class];

    if ((kinds & EMP_KIND_GPU) == 0)
        device = m->device[device].host;
    else if ((kinds & EMP_KIND_CPU) == 0 && m->device[device].kind == EMP_DEVICE_CPU)
        device = gpu_near(m, device);
    return p->sequence != NULL ? p->sequence->stand_in[device] : device;
}

void emp_problem_legalize(const emp_problem *problem, emp_device_id *device_of_op)
{
    if (problem == NULL || device_of_op == NULL) return;
    const emp_machine *m = problem->machine;

    /* A leader has the lowest id of its class, so it is settled before its members. */
    for (emp_op_id op = 0; op < problem->graph->op_count; op++) {
        int32_t c = problem->class_of_op[op];
        if (c < 0) continue;
        emp_device_id device = device_of_op[problem->leader_of_class[c]];
        bool          is_device = device >= 0 && device < m->device_count;
        device_of_op[op] = is_device ? allowed_near(problem, c, device) : device;
    }
    if (problem->sequence != NULL) project(problem, device_of_op);
}

emp_time_ns emp_problem_op_time_ns(const emp_problem *problem, emp_op_id op,
                                   emp_device_id device)
{
    if (problem == NULL || op < 0 || op >= problem->graph->op_count) return 0;
    if (device < 0 || device >= problem->machine->device_count) return 0;
    const emp_cost_table *costs = problem->costs;
    size_t                row = emp_cost_row(costs, device, op);
    if (problem->machine->device[device].kind == EMP_DEVICE_GPU)
        return costs->gpu[row].compute_ns;
    return costs->cpu[row].compute_ns;
}

/* Numbers classes by their first ops, as on a new graph. */
static void renumber(emp_graph *g, int32_t *parent, int32_t *number_of_root)
{
    int32_t count = 0;

    for (int32_t c = 0; c < g->class_count; c++) number_of_root[c] = -1;
    for (emp_op_id op = 0; op < g->op_count; op++) {
        int32_t root = emp_disjoint_root(parent, g->op[op].colocation_class);
        if (number_of_root[root] < 0) number_of_root[root] = count++;
        g->op[op].colocation_class = number_of_root[root];
    }
    g->class_count = count;
}

emp_status emp_graph_join_classes(emp_graph *g, const int32_t *set_of_op, emp_error *err)
{
    emp_status   st = EMP_OK;
    const size_t classes = (size_t)g->class_count, ops = (size_t)g->op_count;
    int32_t     *parent = NULL, *number_of_root = NULL, *class_of_set = NULL;

    EMP_TRY(EMP_ALLOC(parent, classes));
    EMP_TRY(EMP_ALLOC(number_of_root, classes));
    EMP_TRY(EMP_ALLOC(class_of_set, ops));
    emp_disjoint_init(parent, g->class_count);
    for (size_t s = 0; s < ops; s++) class_of_set[s] = -1;
    for (emp_op_id op = 0; op < g->op_count; op++) {
        int32_t set = set_of_op[op], its_class = g->op[op].colocation_class;
        if (set < 0) continue;
        if (class_of_set[set] < 0) class_of_set[set] = its_class;
        emp_disjoint_join(parent, class_of_set[set], its_class);
    }
    renumber(g, parent, number_of_root);

cleanup:
    emp_free(parent);
    emp_free(number_of_root);
    emp_free(class_of_set);
    return st;
}

static size_t count_task_times(const emp_cost_table *c)
{
    return (size_t)c->cpu_offset[emp_cost_row_count(c, EMP_DEVICE_CPU)];
}

emp_status emp_problem_variant_init(emp_problem_variant *v, const emp_problem *original,
                                    emp_error *err)
{
    const emp_cost_table *from = original->costs;
    size_t                gpu_rows = (size_t)emp_cost_row_count(from, EMP_DEVICE_GPU);
    size_t                cpu_rows = (size_t)emp_cost_row_count(from, EMP_DEVICE_CPU);

    v->original = original;
    v->problem = *original;
    v->costs = *from; /* cpu_offset and columns */
    v->costs.gpu = EMP_NEW_ARRAY(emp_gpu_cost, gpu_rows);
    v->costs.cpu = EMP_NEW_ARRAY(emp_cpu_cost, cpu_rows);
    v->costs.task_ns = EMP_NEW_ARRAY(emp_time_ns, count_task_times(from));
    if (from->gpu_beside_ns != NULL)
        v->costs.gpu_beside_ns = EMP_NEW_ARRAY(emp_time_ns, (size_t)from->op_count);
    v->machine = EMP_NEW(emp_machine);
    if (!v->costs.gpu || !v->costs.cpu || !v->costs.task_ns || !v->machine ||
        (from->gpu_beside_ns != NULL && v->costs.gpu_beside_ns == NULL))
        return EMP_ERROR(EMP_ENOMEM, "costs of %d ops", from->op_count);
    v->problem.costs = &v->costs;
    v->problem.machine = v->machine;
    emp_problem_variant_restore(v);
    return EMP_OK;
}

void emp_problem_variant_restore(emp_problem_variant *v)
{
    const emp_cost_table *from = v->original->costs;
    size_t                gpu_rows = (size_t)emp_cost_row_count(from, EMP_DEVICE_GPU);
    size_t                cpu_rows = (size_t)emp_cost_row_count(from, EMP_DEVICE_CPU);

    memcpy(v->costs.gpu, from->gpu, gpu_rows * sizeof *from->gpu);
    memcpy(v->costs.cpu, from->cpu, cpu_rows * sizeof *from->cpu);
    memcpy(v->costs.task_ns, from->task_ns,
           count_task_times(from) * sizeof *from->task_ns);
    if (from->gpu_beside_ns != NULL)
        memcpy(v->costs.gpu_beside_ns, from->gpu_beside_ns,
               (size_t)from->op_count * sizeof *from->gpu_beside_ns);
    *v->machine = *v->original->machine;
    v->machine->text = NULL; /* its constants change */
    v->problem.runtime = v->original->runtime;
}

void emp_problem_variant_clear(emp_problem_variant *v)
{
    emp_free(v->costs.gpu);
    emp_free(v->costs.cpu);
    emp_free(v->costs.task_ns);
    emp_free(v->costs.gpu_beside_ns);
    emp_free(v->machine);
    *v = (emp_problem_variant){0};
}

/* ---- decisions ---- */

emp_status emp_decision_init(emp_owned_decision *d, int32_t op_count, int32_t decides,
                             emp_error *err)
{
    *d = (emp_owned_decision){.op_count = op_count};
    EMP_CHECK(EMP_ALLOC(d->device_of_op, (size_t)op_count));
    if (decides & EMP_DECIDES_ORDER)
        EMP_CHECK(EMP_ALLOC(d->level_of_op, (size_t)op_count));
    if (decides & EMP_DECIDES_FUSION)
        EMP_CHECK(EMP_ALLOC(d->leader_of_op, (size_t)op_count));
    emp_decision_reset(d);
    return EMP_OK;
}

void emp_decision_clear(emp_owned_decision *d)
{
    emp_free(d->device_of_op);
    emp_free(d->level_of_op);
    emp_free(d->leader_of_op);
    *d = (emp_owned_decision){0};
}

int32_t emp_decision_decides(const emp_owned_decision *d)
{
    return EMP_DECIDES_DEVICES | (d->level_of_op != NULL ? EMP_DECIDES_ORDER : 0) |
           (d->leader_of_op != NULL ? EMP_DECIDES_FUSION : 0);
}

emp_decision emp_decision_view(const emp_owned_decision *d)
{
    return (emp_decision){d->device_of_op, d->level_of_op, d->leader_of_op};
}

void emp_decision_copy(const emp_owned_decision *to, const emp_owned_decision *from)
{
    const size_t ops = (size_t)from->op_count;

    memcpy(to->device_of_op, from->device_of_op, ops * sizeof *to->device_of_op);
    if (to->level_of_op != NULL && from->level_of_op != NULL)
        memcpy(to->level_of_op, from->level_of_op, ops);
    if (to->leader_of_op != NULL && from->leader_of_op != NULL)
        memcpy(to->leader_of_op, from->leader_of_op, ops * sizeof *to->leader_of_op);
}

void emp_decision_reset(const emp_owned_decision *d)
{
    if (d->level_of_op != NULL) memset(d->level_of_op, 0, (size_t)d->op_count);
    for (emp_op_id op = 0; d->leader_of_op != NULL && op < d->op_count; op++)
        d->leader_of_op[op] = op;
}

bool emp_decision_is_valid(const emp_owned_decision *d, int32_t device_count)
{
    for (emp_op_id op = 0; op < d->op_count; op++) {
        if (d->device_of_op[op] < 0 || d->device_of_op[op] >= device_count) return false;
        if (d->level_of_op != NULL && d->level_of_op[op] >= EMP_LEVELS) return false;
        if (d->leader_of_op != NULL && d->leader_of_op[op] >= d->op_count) return false;
    }
    return true;
}

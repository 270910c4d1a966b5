// SPDX-License-Identifier: GPL-3.0-or-later
#include "search/partition/partition_graph.h"

#include <math.h>
#include <stdlib.h>

#include "base/mem.h"

/* ---- costs of ops ---- */

static const double cpu_bytes_per_s = 32e9;

static double bytes_of(const emp_tensor *tensor)
{
    return (double)emp_dtype_size_bytes(tensor->dtype, emp_shape_elements(tensor->shape));
}

/* The bytes that an op reads and makes. */
typedef struct {
    double bytes;
    double most_elements; /* of an input or of output 0 */
} operands;

static operands operands_of(const emp_graph *graph, emp_op_id op)
{
    operands all = {0.0, 0.0};
    int32_t  first_output = graph->output_offset[op];

    for (int32_t i = graph->input_offset[op]; i < graph->input_offset[op + 1]; i++) {
        const emp_tensor *input = &graph->tensor[graph->input[i]];
        all.bytes += bytes_of(input);
        all.most_elements =
            fmax(all.most_elements, (double)emp_shape_elements(input->shape));
    }
    for (int32_t t = first_output; t < graph->output_offset[op + 1]; t++)
        all.bytes += bytes_of(&graph->tensor[t]);
    return all;
}

static double operations_of(const emp_graph *graph, emp_op_id op, const operands *all)
{
    const emp_op_type *type = emp_graph_type(graph, op);
    const emp_op_cost *cost = graph->op[op].cost;
    int32_t            output = graph->output_offset[op];
    double             elements = all->most_elements;

    if (type->grappler == EMP_GRAPPLER_FLOPS) return cost->flops;
    if (output < graph->output_offset[op + 1] && cost->op_class == EMP_OP_ELEMENTWISE)
        elements =
            fmax(elements, (double)emp_shape_elements(graph->tensor[output].shape));
    return type->grappler == EMP_GRAPPLER_CYCLES ? elements * type->rates.cycles
                                                 : elements;
}

double emp_grappler_cost_ns(const emp_graph *graph, emp_op_id op,
                            const emp_device *device)
{
    emp_op_grappler rule = emp_graph_type(graph, op)->grappler;
    bool            is_gpu = device->kind == EMP_DEVICE_GPU;
    double rate = is_gpu ? device->peak_flops_per_s : device->cores * device->clock_hz;
    double bandwidth = is_gpu ? device->memory_bytes_per_s : cpu_bytes_per_s;

    if (rule == EMP_GRAPPLER_FREE) return 0.0;
    if (rule == EMP_GRAPPLER_SHAPE) return 1.0;
    operands all = operands_of(graph, op);
    return ceil(operations_of(graph, op, &all) * 1e9 / rate) +
           ceil(all.bytes * 1e9 / bandwidth);
}

static double time_on(const emp_problem *problem, emp_op_id op, emp_device_id device)
{
    const emp_cost_table *costs = problem->costs;
    size_t                row = emp_cost_row(costs, device, op);

    if (problem->machine->device[device].kind == EMP_DEVICE_CPU)
        return (double)costs->cpu[row].compute_ns;
    return (double)(costs->gpu[row].compute_ns + costs->gpu[row].issue_ns);
}

/* The mean over the devices of a kind. */
static double time_ns(const emp_problem *problem, emp_op_id op, emp_device_kind kind)
{
    const emp_cost_table *costs = problem->costs;
    const emp_machine    *m = problem->machine;
    double                sum = 0.0;
    int32_t               count = 0;

    if (costs->column_count[kind] == 1)
        return kind == EMP_DEVICE_CPU
                   ? (double)costs->cpu[op].compute_ns
                   : (double)(costs->gpu[op].compute_ns + costs->gpu[op].issue_ns);
    for (emp_device_id d = 0; d < m->device_count; d++) {
        if (m->device[d].kind != kind) continue;
        sum += time_on(problem, op, d);
        count++;
    }
    return sum / count;
}

static bool can_be_on_both(const emp_graph *graph, emp_op_id op)
{
    const uint32_t both = EMP_KIND_CPU | EMP_KIND_GPU;

    return !graph->op[op].is_folded && (graph->op[op].kinds & both) == both;
}

double emp_op_costs_of(const emp_problem *problem, emp_op_id op, emp_op_costs costs,
                       emp_device_kind kind)
{
    switch (costs) {
    case EMP_OP_COSTS_FLOPS: return problem->graph->op[op].cost->flops;
    case EMP_OP_COSTS_GRAPPLER:
        return emp_grappler_cost_ns(problem->graph, op,
                                    emp_machine_first(problem->machine, kind));
    default: return time_ns(problem, op, kind);
    }
}

double emp_op_costs_cpu_speed(const emp_problem *problem)
{
    const emp_graph *graph = problem->graph;
    double           sum[EMP_DEVICE_KINDS] = {0.0, 0.0};

    for (emp_op_id op = 0; op < graph->op_count; op++) {
        if (!can_be_on_both(graph, op)) continue;
        for (emp_device_kind k = EMP_DEVICE_CPU; k < EMP_DEVICE_KINDS; k++)
            sum[k] += time_ns(problem, op, k);
    }
    return sum[EMP_DEVICE_CPU] > 0.0 && sum[EMP_DEVICE_GPU] > 0.0
               ? sum[EMP_DEVICE_GPU] / sum[EMP_DEVICE_CPU]
               : 1.0;
}

/* Speed of a device over the mean GPU, by the oracle's times. O(V devices). */
static double device_speed(const emp_problem *problem, emp_device_id device)
{
    const emp_graph *graph = problem->graph;
    double           mean = 0.0, own = 0.0;

    for (emp_op_id op = 0; op < graph->op_count; op++) {
        if (!can_be_on_both(graph, op)) continue;
        mean += time_ns(problem, op, EMP_DEVICE_GPU);
        own += time_on(problem, op, device);
    }
    return mean > 0.0 && own > 0.0 ? mean / own : 1.0;
}

enum { CPU = 0 }; /* runs all ops; of several hosts the first one's */

/* An edge before merging; a < b. */
typedef struct {
    int32_t a, b;
    int64_t bytes;
} edge;

typedef struct {
    edge   *edge;
    int32_t count;
} edge_list;

emp_status emp_partition_target_init(emp_partition_target *target,
                                     const emp_machine *machine, bool with_cpu,
                                     const char *method, emp_error *err)
{
    double total = 0.0;

    *target = (emp_partition_target){.machine = machine};
    for (emp_device_id d = 0; d < machine->device_count; d++) {
        if (machine->device[d].kind == EMP_DEVICE_CPU && !with_cpu) continue;
        target->power[target->count] = machine->device[d].peak_flops_per_s;
        target->device[target->count++] = d;
        total += machine->device[d].peak_flops_per_s;
    }
    if (emp_machine_count(machine, EMP_DEVICE_GPU) == 0) {
        return EMP_ERROR(EMP_EUNSUPPORTED, "method %s: machine %s has no GPU", method,
                         machine->name);
    }
    for (int32_t p = 0; p < target->count; p++) target->power[p] /= total;
    return EMP_OK;
}

void emp_partition_target_measure(emp_partition_target *target,
                                  const emp_problem    *problem)
{
    double total = 0.0;

    for (int32_t p = 0; p < target->count; p++) {
        target->power[p] = device_speed(problem, target->device[p]);
        total += target->power[p];
    }
    for (int32_t p = 0; p < target->count; p++) target->power[p] /= total;
}

/* Where GPUs are of several models, speeds are measured in any case: peaks say little of them. */
static bool power_is_measured(emp_device_power power, const emp_problem *problem)
{
    return power == EMP_POWER_MEASURED ||
           problem->costs->column_count[EMP_DEVICE_GPU] > 1;
}

/* Peak of a CPU over peak of a GPU; 1 where a machine lacks one of them. */
static double cpu_peak(const emp_machine *machine)
{
    double peak[2] = {0.0, 0.0};

    for (emp_device_id d = 0; d < machine->device_count; d++)
        peak[machine->device[d].kind] = machine->device[d].peak_flops_per_s;
    return peak[EMP_DEVICE_GPU] > 0.0 && peak[EMP_DEVICE_CPU] > 0.0
               ? peak[EMP_DEVICE_CPU] / peak[EMP_DEVICE_GPU]
               : 1.0;
}

static bool class_is_cpu_only(const emp_problem *problem, int32_t class_id)
{
    return (problem->kinds_of_class[class_id] & EMP_KIND_GPU) == 0;
}

/* Numbers the classes that have a live op and are on the partitioner's devices. */
static emp_status number_vertices(emp_partition_graph *g, const emp_problem *problem,
                                  bool with_cpu, emp_error *err)
{
    const emp_graph *graph = problem->graph;
    size_t           class_count = (size_t)graph->class_count;

    g->vertex_of_class = EMP_ADD_ARRAY(&g->arrays, int32_t, class_count);
    g->class_of_vertex = EMP_ADD_ARRAY(&g->arrays, int32_t, class_count);
    g->is_cpu_only = EMP_ADD_ARRAY(&g->arrays, bool, class_count);
    if (g->arrays.is_short)
        return EMP_ERROR(EMP_ENOMEM, "vertices of %d classes", graph->class_count);

    for (size_t c = 0; c < class_count; c++) g->vertex_of_class[c] = -1;
    for (emp_op_id op = 0; op < graph->op_count; op++) {
        int32_t c = graph->op[op].colocation_class;
        if (!graph->op[op].is_folded && (with_cpu || !class_is_cpu_only(problem, c)))
            g->vertex_of_class[c] = 0;
    }
    for (int32_t c = 0; c < graph->class_count; c++) {
        if (g->vertex_of_class[c] < 0) continue;
        g->is_cpu_only[g->vertex_count] = class_is_cpu_only(problem, c);
        g->class_of_vertex[g->vertex_count] = c;
        g->vertex_of_class[c] = g->vertex_count++;
    }
    return EMP_OK;
}

/* The least divisor that brings \a total below \a limit. */
static int64_t unit_of(int64_t total, int64_t limit) { return total / limit + 1; }

/* Scales \a amount [vertex], whose sum is \a total, into weights. */
static void scale_amounts(const int64_t *amount, int64_t total, int32_t count,
                          int32_t *weight)
{
    int64_t unit = unit_of(total, EMP_PARTITION_LOAD_LIMIT);

    for (int32_t v = 0; v < count; v++) weight[v] = (int32_t)(1 + amount[v] / unit);
}

/* The load that an op adds to its vertex. CPU time counts as work of a GPU that is
 * 1 / cpu_power times as fast; FLOPs are work on any device. */
static double load_of_op(const emp_problem *problem, emp_op_id op, bool is_cpu_only,
                         emp_op_costs costs, double cpu_power)
{
    if (!is_cpu_only || costs == EMP_OP_COSTS_FLOPS)
        return emp_op_costs_of(problem, op, costs, EMP_DEVICE_GPU);
    return emp_op_costs_of(problem, op, costs, EMP_DEVICE_CPU) * cpu_power;
}

static emp_status weigh_vertices(emp_partition_graph *g, const emp_problem *problem,
                                 const emp_partition_params *params, emp_error *err)
{
    emp_status       st = EMP_OK;
    const emp_graph *graph = problem->graph;
    double           power = power_is_measured(params->power, problem)
                                 ? emp_op_costs_cpu_speed(problem)
                                 : cpu_peak(problem->machine);
    double           limit = 0x1p62 / (graph->op_count + 1.0); /* for sums */
    int64_t          total = 0;
    int64_t         *amount = EMP_NEW_ARRAY(int64_t, (size_t)g->vertex_count);

    g->load = EMP_ADD_ARRAY(&g->arrays, int32_t, (size_t)g->vertex_count);
    if (amount == NULL || g->arrays.is_short)
        EMP_FAIL(EMP_ENOMEM, "weights of %d vertices", g->vertex_count);

    for (emp_op_id op = 0; op < graph->op_count; op++) {
        int32_t v = emp_partition_vertex_of_op(g, graph, op);
        if (v < 0) continue;
        double load = load_of_op(problem, op, g->is_cpu_only[v], params->costs, power);
        amount[v] += (int64_t)fmin(load, limit);
        total += (int64_t)fmin(load, limit);
    }
    scale_amounts(amount, total, g->vertex_count, g->load);

cleanup:
    emp_free(amount);
    return st;
}

emp_status emp_partition_graph_memory(const emp_partition_graph *g,
                                      const emp_problem *problem, int32_t *memory,
                                      emp_error *err)
{
    emp_status       st = EMP_OK;
    const emp_graph *graph = problem->graph;
    double   limit = 0x1p62 / ((double)graph->op_count + graph->tensor_count + 1.0);
    int64_t  total = 0;
    int64_t *bytes = EMP_NEW_ARRAY(int64_t, (size_t)g->vertex_count);

    if (bytes == NULL) EMP_FAIL(EMP_ENOMEM, "memory of %d vertices", g->vertex_count);
    for (emp_op_id op = 0; op < graph->op_count; op++) {
        int32_t v = emp_partition_vertex_of_op(g, graph, op);
        if (v < 0) continue;
        int64_t own = (int64_t)fmin((double)graph->op[op].persistent_bytes, limit);
        for (int32_t t = graph->output_offset[op]; t < graph->output_offset[op + 1]; t++)
            own += (int64_t)fmin((double)graph->tensor[t].bytes, limit);
        bytes[v] += own;
        total += own;
    }
    scale_amounts(bytes, total, g->vertex_count, memory);

cleanup:
    emp_free(bytes);
    return st;
}

static void add_edge(edge_list *list, int32_t u, int32_t v, int64_t bytes)
{
    list->edge[list->count++] = u < v ? (edge){.a = u, .b = v, .bytes = bytes}
                                      : (edge){.a = v, .b = u, .bytes = bytes};
}

/* seen[v] = latest tensor that vertex v reads: a tensor counts once per vertex. */
static void list_edges_of_op(const emp_partition_graph *g, const emp_graph *graph,
                             emp_op_id op, int32_t *seen, edge_list *list)
{
    int32_t u = emp_partition_vertex_of_op(g, graph, op);
    int64_t stated_ns = emp_graph_stated_copy_ns(graph, op);

    if (u < 0) return;
    for (int32_t t = graph->output_offset[op]; t < graph->output_offset[op + 1]; t++) {
        for (int32_t i = graph->consumer_offset[t]; i < graph->consumer_offset[t + 1];
             i++) {
            int32_t v = emp_partition_vertex_of_op(g, graph, graph->consumer[i]);
            if (v < 0 || v == u || seen[v] == t + 1) continue;
            seen[v] = t + 1;
            add_edge(list, u, v, stated_ns >= 0 ? stated_ns : graph->tensor[t].bytes);
        }
    }
    for (int32_t i = graph->control_out_offset[op]; i < graph->control_out_offset[op + 1];
         i++) {
        int32_t v = emp_partition_vertex_of_op(g, graph, graph->control_out[i]);
        if (v >= 0 && v != u) add_edge(list, u, v, 0);
    }
}

static int by_ends(const void *left, const void *right)
{
    const edge *l = left, *r = right;

    if (l->a != r->a) return l->a < r->a ? -1 : 1;
    return (l->b > r->b) - (l->b < r->b);
}

/* Sorts by ends and sums parallel edges; returns the bytes of all. No edge counts for so
 * much that sums overflow. */
static int64_t merge_edges(edge_list *list)
{
    int32_t kept = 0;
    int64_t total = 0, limit = INT64_MAX / ((int64_t)list->count + 1);

    qsort(list->edge, (size_t)list->count, sizeof *list->edge, by_ends);
    for (int32_t i = 0; i < list->count; i++) {
        if (list->edge[i].bytes > limit) list->edge[i].bytes = limit;
        total += list->edge[i].bytes;
        if (kept > 0 && by_ends(&list->edge[kept - 1], &list->edge[i]) == 0)
            list->edge[kept - 1].bytes += list->edge[i].bytes;
        else
            list->edge[kept++] = list->edge[i];
    }
    list->count = kept;
    return total;
}

/* In order of (a, b), a row gets first its lower neighbours and then its higher ones,
 * both ascending: rows come out sorted. */
static emp_status fill_rows(emp_partition_graph *g, const edge_list *list,
                            int64_t unit_bytes, emp_error *err)
{
    emp_status st = EMP_OK;
    size_t     arc_count = 2 * (size_t)list->count;
    int32_t   *next = EMP_NEW_ARRAY(int32_t, (size_t)g->vertex_count);

    g->row = EMP_ADD_ARRAY(&g->arrays, int32_t, (size_t)g->vertex_count + 1);
    g->neighbor = EMP_ADD_ARRAY(&g->arrays, int32_t, arc_count);
    g->traffic = EMP_ADD_ARRAY(&g->arrays, int32_t, arc_count);
    if (next == NULL || g->arrays.is_short)
        EMP_FAIL(EMP_ENOMEM, "rows of %zu entries", arc_count);

    for (int32_t i = 0; i < list->count; i++) {
        g->row[list->edge[i].a + 1]++;
        g->row[list->edge[i].b + 1]++;
    }
    for (int32_t v = 0; v < g->vertex_count; v++) {
        g->row[v + 1] += g->row[v];
        next[v] = g->row[v];
    }
    for (int32_t i = 0; i < list->count; i++) {
        const edge *e = &list->edge[i];
        int32_t     at_a = next[e->a]++, at_b = next[e->b]++;
        g->neighbor[at_a] = e->b;
        g->neighbor[at_b] = e->a;
        g->traffic[at_a] = g->traffic[at_b] = (int32_t)(1 + e->bytes / unit_bytes);
    }

cleanup:
    emp_free(next);
    return st;
}

emp_status emp_partition_graph_create(emp_partition_graph **out,
                                      const emp_problem *problem, bool with_cpu,
                                      emp_error *err)
{
    const emp_partition_params params = {.with_cpu = with_cpu};

    return emp_partition_graph_create_with(out, problem, &params, err);
}

emp_status emp_partition_graph_create_with(emp_partition_graph       **out,
                                           const emp_problem          *problem,
                                           const emp_partition_params *params,
                                           emp_error                  *err)
{
    emp_status       st = EMP_OK;
    const emp_graph *graph = problem->graph;
    size_t    edge_count = (size_t)graph->edge_count + (size_t)graph->control_edge_count;
    edge_list list = {0};
    int32_t  *seen = NULL;
    emp_partition_graph *g = EMP_NEW(emp_partition_graph);

    *out = NULL;
    if (g == NULL) EMP_FAIL(EMP_ENOMEM, "graph for a partitioner");
    EMP_TRY(number_vertices(g, problem, params->with_cpu, err));
    EMP_TRY(weigh_vertices(g, problem, params, err));

    EMP_TRY(EMP_ALLOC(list.edge, edge_count));
    EMP_TRY(EMP_ALLOC(seen, (size_t)g->vertex_count));
    for (emp_op_id op = 0; op < graph->op_count; op++)
        list_edges_of_op(g, graph, op, seen, &list);
    int64_t total_bytes = merge_edges(&list);
    EMP_TRY(fill_rows(g, &list, unit_of(total_bytes, EMP_PARTITION_TRAFFIC_LIMIT), err));

    *out = g;
    g = NULL;

cleanup:
    emp_free(list.edge);
    emp_free(seen);
    emp_partition_graph_destroy(g);
    return st;
}

void emp_partition_graph_destroy(emp_partition_graph *g)
{
    if (g == NULL) return;
    emp_arrays_clear(&g->arrays);
    emp_free(g);
}

static emp_status spread_parts(const emp_partition_graph *g, const emp_problem *problem,
                               const emp_partition_target *target,
                               const int32_t *part_of_vertex, emp_device_id *device_of_op,
                               emp_error *err)
{
    const emp_graph *graph = problem->graph;

    for (int32_t v = 0; v < g->vertex_count; v++) {
        if (part_of_vertex[v] < 0 || part_of_vertex[v] >= target->count) {
            return EMP_ERROR(EMP_EEXTERNAL,
                             "the partitioner put vertex %d into part %d of 0..%d", v,
                             part_of_vertex[v], target->count - 1);
        }
    }
    for (emp_op_id op = 0; op < graph->op_count; op++) {
        int32_t v = g->vertex_of_class[graph->op[op].colocation_class];
        device_of_op[op] = v < 0 ? CPU : target->device[part_of_vertex[v]];
    }
    return EMP_OK;
}

/* True if some class needs a GPU, and no class has a choice between a GPU and a CPU. Legalization would give the part of
 * a CPU to one GPU. */
static bool cpus_are_forbidden(const emp_problem *problem)
{
    bool is_any = false;

    for (emp_op_id op = 0; op < problem->graph->op_count; op++) {
        const int32_t c = problem->class_of_op[op];
        if (c < 0 || class_is_cpu_only(problem, c)) continue;
        if (problem->kinds_of_class[c] & EMP_KIND_CPU) return false;
        is_any = true;
    }
    return is_any;
}

emp_status emp_partition_place(const emp_problem *problem, const emp_partition_request *r,
                               emp_device_id *device_of_op, emp_error *err)
{
    emp_status           st = EMP_OK;
    emp_partition_params params = r->params;
    emp_partition_target target;
    emp_partition_graph *g = NULL;
    int32_t             *part_of_vertex = NULL;

    params.with_cpu = params.with_cpu && !cpus_are_forbidden(problem);
    EMP_TRY(emp_partition_target_init(&target, problem->machine, params.with_cpu,
                                      r->method, err));
    if (power_is_measured(params.power, problem))
        emp_partition_target_measure(&target, problem);
    EMP_TRY(emp_partition_graph_create_with(&g, problem, &params, err));
    EMP_TRY(EMP_ALLOC(part_of_vertex, (size_t)g->vertex_count));
    if (g->vertex_count > 0 && target.count > 1)
        EMP_TRY(r->partitioner(g, &target, r->options, r->seed, r->stop, part_of_vertex,
                               err));
    EMP_TRY(spread_parts(g, problem, &target, part_of_vertex, device_of_op, err));

cleanup:
    emp_partition_graph_destroy(g);
    emp_free(part_of_vertex);
    return st;
}

static const double TOLERANCE = 0.05;

emp_status emp_balance_init(emp_balance *b, const emp_problem *problem, emp_error *err)
{
    emp_status st = EMP_OK;

    *b = (emp_balance){.leader_of_class = problem->leader_of_class};
    EMP_TRY(emp_partition_target_init(&b->target, problem->machine, true, "load balance",
                                      err));
    if (power_is_measured(EMP_POWER_PEAK, problem))
        emp_partition_target_measure(&b->target, problem);
    EMP_TRY(emp_partition_graph_create(&b->graph, problem, true, err));
    for (int32_t p = 0; p < b->target.count; p++)
        b->part_of_device[b->target.device[p]] = p;
    for (int32_t v = 0; v < b->graph->vertex_count; v++) {
        b->total_load += b->graph->load[v];
        for (int32_t i = b->graph->row[v]; i < b->graph->row[v + 1]; i++)
            b->total_traffic += 0.5 * b->graph->traffic[i]; /* an edge is in two rows */
    }

cleanup:
    if (st != EMP_OK) emp_balance_clear(b);
    return st;
}

void emp_balance_clear(emp_balance *b)
{
    emp_partition_graph_destroy(b->graph);
    *b = (emp_balance){0};
}

static emp_device_id device_of_vertex(const emp_balance   *b,
                                      const emp_device_id *device_of_op, int32_t vertex)
{
    return device_of_op[b->leader_of_class[b->graph->class_of_vertex[vertex]]];
}

emp_balance_score emp_balance_judge(const emp_balance   *b,
                                    const emp_device_id *device_of_op)
{
    const emp_partition_graph *g = b->graph;
    emp_balance_score          score = {0.0, 0.0};
    double                     load[EMP_MAX_DEVICES] = {0.0}, cut = 0.0;

    for (int32_t v = 0; v < g->vertex_count; v++) {
        emp_device_id device = device_of_vertex(b, device_of_op, v);
        load[b->part_of_device[device]] += g->load[v];
        for (int32_t i = g->row[v]; i < g->row[v + 1] && g->neighbor[i] < v; i++) {
            if (device_of_vertex(b, device_of_op, g->neighbor[i]) != device)
                cut += g->traffic[i];
        }
    }
    if (b->total_traffic > 0.0) score.cut_frac = cut / b->total_traffic;
    for (int32_t p = 0; p < b->target.count && b->total_load > 0.0; p++) {
        double share = b->target.power[p] * b->total_load;
        score.imbalance = fmax(score.imbalance, load[p] / share - 1.0);
    }
    return score;
}

double emp_balance_cost(emp_balance_score score)
{
    return score.cut_frac + fmax(0.0, score.imbalance - TOLERANCE);
}

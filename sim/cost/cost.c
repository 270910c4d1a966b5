// SPDX-License-Identifier: GPL-3.0-or-later
#include "sim/cost/cost.h"

#include <math.h>

#include "base/collections.h"
#include "base/mem.h"
#include "sim/cost/kernel.h"

enum { FLOAT_BYTES = 4 };

/* FLOPs of one 64 x 64 tile, for each K. */
static const double WAVE_FLOPS = 2.0 * 64 * 64;

emp_time_ns emp_ns_of_seconds(double seconds)
{
    return seconds * 1e9 < (double)EMP_COST_LIMIT_NS ? (emp_time_ns)(seconds * 1e9 + 0.5)
                                                     : EMP_COST_LIMIT_NS;
}

static bool is_product(const emp_op_cost *c)
{
    return c->op_class == EMP_OP_GEMM || c->op_class == EMP_OP_CONV;
}

static double bytes_of(const emp_op_cost *c)
{
    return (double)c->bytes_read + (double)c->bytes_written;
}

/* The factor of a convolution's algorithm; conv_factor is in emp_cost_gemm_s() already. */
static double algorithm_factor(const emp_op_cost *c, const emp_device *gpu)
{
    const double *factor = c->work == EMP_WORK_CONVOLUTION && c->part == EMP_PART_FILTER
                               ? gpu->conv_filter_factor
                               : gpu->conv_window_factor;

    return factor[c->window] > 0.0 ? factor[c->window] : 1.0;
}

/* The state while a column is computed: its first device stands for all of them. */
typedef struct {
    emp_cost_table           *table;
    const emp_graph          *graph;
    const emp_machine        *machine;
    const emp_runtime_events *runtime;
    const emp_device         *device;       /* NULL: there is no GPU */
    int32_t                   stated_model; /* of the graph's; -1 = none */
    int32_t                   first;        /* row of op 0 */
} column;

static double product_s(const column *of, emp_op_id op)
{
    const emp_op_cost *c = of->graph->op[op].cost;
    const emp_device  *gpu = of->device;
    bool               is_conv = c->op_class == EMP_OP_CONV;
    double             t = emp_has_formats(gpu)
                               ? emp_format_product_s(of->graph, op, gpu, of->runtime->fp32_products)
                               : emp_cost_gemm_s(gpu, c->m, c->n, c->k, c->batch, is_conv);

    return is_conv ? t * algorithm_factor(c, gpu) : t;
}

double emp_cost_peak_flops_per_s(const emp_graph *graph, emp_op_id op,
                                 const emp_device *device, const emp_runtime *runtime)
{
    const bool is_rounded = is_product(graph->op[op].cost);

    if (device->kind != EMP_DEVICE_GPU) return device->peak_flops_per_s;
    return emp_format_peak_flops_per_s(
        graph, op, device, is_rounded ? runtime->events.fp32_products : EMP_FORMAT_FP32);
}

static double elementwise_hz(const emp_op_cost *c, const emp_core *core)
{
    double elements = (double)c->bytes_written / FLOAT_BYTES;

    switch (emp_arithmetic_of(c->cpu_cycles, elements)) {
    case EMP_ARITHMETIC_ADD: return core->light_hz;
    case EMP_ARITHMETIC_DIVIDE: return core->divide_hz;
    default: return core->exp_hz;
    }
}

/* The clock of an op that is not a product. */
static double clock_of(const emp_op_cost *c, const emp_device *device)
{
    const emp_core *core = &device->core;

    switch (c->op_class) {
    case EMP_OP_REDUCTION: return core->reduce_hz;
    case EMP_OP_MOVEMENT:
        return c->work == EMP_WORK_TRANSPOSE ? core->transpose_hz : core->move_hz;
    case EMP_OP_POOL:
        return c->work == EMP_WORK_MAX_POOL && c->part != EMP_PART_FORWARD
                   ? core->pool_grad_hz
                   : core->pool_hz;
    case EMP_OP_NORM:
        if (c->work == EMP_WORK_LOSS) return core->loss_hz;
        return c->work == EMP_WORK_SOFTMAX ? core->softmax_hz : core->norm_hz;
    case EMP_OP_OPTIMIZER: return core->update_hz;
    case EMP_OP_HOST: return device->clock_hz;
    default: return elementwise_hz(c, core);
    }
}

static bool is_in_cache(const emp_op_cost *c, const emp_core *core)
{
    return bytes_of(c) <= (double)core->cache_bytes;
}

/* A rate at which a core reads and writes; what fits into its cache is nearer. */
static double rate_of(const emp_op_cost *c, const emp_core *core, double rate)
{
    return is_in_cache(c, core) ? rate * core->cache_factor : rate;
}

static bool is_input_gradient(const emp_op_cost *c)
{
    return c->work == EMP_WORK_CONVOLUTION && c->part == EMP_PART_INPUT;
}

/* The column matrix of a convolution. */
static double columns_s(const emp_op_cost *c, const emp_core *core)
{
    if (c->op_class != EMP_OP_CONV || c->n < 1) return 0.0;
    return c->flops / (2.0 * (double)c->n) /
           (is_input_gradient(c) ? core->columns_input_hz : core->columns_hz);
}

/* The time of a product on a core beside its arithmetic. */
static double around_product_s(const emp_op_cost *c, const emp_core *core)
{
    return bytes_of(c) / rate_of(c, core, core->pack_bytes_per_s) + columns_s(c, core);
}

/* For an op with a kernel: its bytes take \a stream times as long as undisturbed where they are not in
 * the cache, all else \a clock times. */
static double group_work_s(const emp_op_cost *c, const emp_device *group, double stream,
                           double clock)
{
    const emp_core *core = &group->core;
    double          factor = is_in_cache(c, core) ? clock : stream;
    double rate = is_product(c) ? core->pack_bytes_per_s : group->memory_bytes_per_s;
    double bytes_s = factor * bytes_of(c) / rate_of(c, core, rate);

    if (!is_product(c)) return bytes_s + clock * c->cpu_cycles / clock_of(c, group);
    double flops_per_s = WAVE_FLOPS / group->gemm_per_wave_s * group->multiprocessors;
    return bytes_s + clock * (columns_s(c, core) + c->flops / flops_per_s);
}

static double group_compute_s(const emp_op_cost *c, const emp_device *group)
{
    if (c->kernels == 0) return group->core.kernelless_s;
    return group->core.op_s + group_work_s(c, group, 1.0, 1.0);
}

static double group_beside_s(const emp_op_cost *c, const emp_device *group)
{
    const emp_sharing *s = &group->sharing;

    if (c->kernels == 0) return group->core.kernelless_s;
    return group->core.op_s + group_work_s(c, group, s->beside_stream, s->beside_clock);
}

/* How many times as long as its bytes a kernel takes that is no product. */
static double pass_factor(const emp_op_cost *c, const emp_device *gpu)
{
    const emp_passes *p = &gpu->passes;
    bool              is_forward = c->part == EMP_PART_FORWARD;

    if (!gpu->has_passes) return 1.0;
    switch (c->work) {
    case EMP_WORK_REDUCE: return p->reduce;
    case EMP_WORK_MOVE:
    case EMP_WORK_CONCAT: return p->move;
    case EMP_WORK_TRANSPOSE: return p->transpose;
    case EMP_WORK_MAX_POOL: return is_forward ? p->pool : p->max_pool_grad;
    case EMP_WORK_AVG_POOL:
    case EMP_WORK_POOL: return is_forward ? p->pool : p->average_pool_grad;
    case EMP_WORK_BATCH_NORM:
    case EMP_WORK_NORM: return is_forward ? p->norm : p->norm_grad;
    case EMP_WORK_SOFTMAX: return p->softmax;
    case EMP_WORK_LOSS: return p->loss;
    case EMP_WORK_UPDATE: return p->update;
    default: return 1.0;
    }
}

/* The time of an op, or of a set of ops whose product it is. */
static double gpu_compute_s(const column *of, emp_op_id op, const emp_op_cost *c)
{
    const emp_device *gpu = of->device;

    if (gpu->has_core) return group_compute_s(c, gpu);
    if (c->kernels == 0) return 0.0;
    if (!is_product(c))
        return c->kernels * gpu->kernel_minimum_s +
               pass_factor(c, gpu) * bytes_of(c) / gpu->memory_bytes_per_s;
    /* transposes are kernels of their own */
    double moved_s = 2.0 * (double)c->layout_bytes / gpu->memory_bytes_per_s;
    return moved_s +
           fmax(product_s(of, op), bytes_of(c) / gpu->memory_bytes_per_s - moved_s);
}

static double issue_s(const emp_op_cost *c, const emp_runtime_events *runtime)
{
    if (c->kernels == 0) return runtime->issue_kernelless_s;
    return runtime->issue_s + (c->kernels - 1) * runtime->issue_kernel_s;
}

/* Seconds of the arithmetic on one core. */
static double core_s(const emp_op_cost *c, const emp_device *cpu)
{
    if (c->op_class == EMP_OP_GEMM) return c->flops / cpu->gemm_core_flops_per_s;
    if (c->op_class == EMP_OP_CONV) return c->flops / cpu->conv_core_flops_per_s;
    return c->cpu_cycles / (cpu->has_core ? clock_of(c, cpu) : cpu->clock_hz);
}

int32_t emp_cost_lanes(const emp_op_cost *c, const emp_device *cpu)
{
    if (c->op_class == EMP_OP_KERNELLESS) return 1;
    double cycles = core_s(c, cpu) * cpu->clock_hz + cpu->cycles_per_byte * bytes_of(c);
    double threads = (cycles - cpu->thread_cycles) / cpu->thread_cycles + 0.9;

    return (int32_t)fmax(1.0, fmin(threads, cpu->cores));
}

static double cpu_compute_s(const emp_op_cost *c, const emp_device *cpu, int32_t p)
{
    double arithmetic = core_s(c, cpu) / pow(p, cpu->scaling_exponent);
    double stream = cpu->core_bytes_per_s * fmin(p, cpu->bandwidth_cores);

    if (!cpu->has_core) return fmax(arithmetic, bytes_of(c) / stream);
    if (is_product(c)) return arithmetic + around_product_s(c, &cpu->core);
    return arithmetic + bytes_of(c) / rate_of(c, &cpu->core, stream);
}

/* A time of a model on one of its devices. */
static emp_time_ns on_device(const emp_device *device, emp_time_ns ns)
{
    if (device->time_factor == 0.0) return ns;
    double scaled = (double)ns * device->time_factor + 0.5;
    return scaled < (double)EMP_COST_LIMIT_NS ? (emp_time_ns)scaled : EMP_COST_LIMIT_NS;
}

static bool have_one_column(const emp_device *a, const emp_device *b)
{
    return a->kind == b->kind && a->model == b->model && a->time_factor == b->time_factor;
}

/* Numbers the columns of each kind by their first devices, which first_of gets. */
static void number_columns(emp_cost_table *t, const emp_machine *m,
                           const emp_device *first_of[EMP_DEVICE_KINDS][EMP_MAX_DEVICES])
{
    for (int32_t d = 0; d < m->device_count; d++) {
        const emp_device  *device = &m->device[d];
        const emp_device **first = first_of[device->kind];
        int32_t           *count = &t->column_count[device->kind], c = 0;
        while (c < *count && !have_one_column(first[c], device)) c++;
        if (c == *count) first[(*count)++] = device;
        t->column_of_device[d] = c;
    }
    if (t->column_count[EMP_DEVICE_GPU] == 0) t->column_count[EMP_DEVICE_GPU] = 1;
}

static emp_status allocate(emp_cost_table *t, const emp_graph *graph,
                           const emp_device *gpu, emp_error *err)
{
    t->op_count = graph->op_count;
    for (int32_t k = 0; k < EMP_DEVICE_KINDS; k++) {
        if ((int64_t)t->column_count[k] * graph->op_count >= INT32_MAX)
            return EMP_ERROR(EMP_EUNSUPPORTED, "costs of %d ops on %d device models",
                             graph->op_count, t->column_count[k]);
    }
    size_t cpu_rows = (size_t)emp_cost_row_count(t, EMP_DEVICE_CPU);
    EMP_CHECK(EMP_ALLOC(t->gpu, (size_t)emp_cost_row_count(t, EMP_DEVICE_GPU)));
    EMP_CHECK(EMP_ALLOC(t->cpu, cpu_rows));
    EMP_CHECK(EMP_ALLOC(t->cpu_offset, cpu_rows + 1));
    if (gpu != NULL && gpu->has_sharing && graph->stated == NULL)
        EMP_CHECK(EMP_ALLOC(t->gpu_beside_ns, (size_t)graph->op_count));
    return EMP_OK;
}

static double collective_s(const column *c, emp_op_id op)
{
    if (!emp_graph_is_collective(c->graph, op)) return 0.0;
    return emp_collective_s(&c->graph->collective[op], c->machine, c->device);
}

/* Whether a CPU takes the op as one task: one of stated time, or copies of a collective. */
static bool is_simple(const column *c, emp_op_id op)
{
    return c->graph->stated != NULL || collective_s(c, op) > 0.0;
}

/* How many cores each op can use; so many times it has. */
static emp_status count_lanes(const column *c, emp_error *err)
{
    emp_cost_table *t = c->table;

    for (emp_op_id op = 0; op < c->graph->op_count; op++) {
        const emp_op_cost *cost = c->graph->op[op].cost;
        int32_t            row = c->first + op, *lanes = &t->cpu[row].lanes;
        *lanes = is_simple(c, op) ? 1 : emp_cost_lanes(cost, c->device);
        if (t->cpu_offset[row] > INT32_MAX - *lanes)
            return EMP_ERROR(EMP_EUNSUPPORTED, "more than 2^31 CPU costs");
        t->cpu_offset[row + 1] = t->cpu_offset[row] + *lanes;
    }
    return EMP_OK;
}

/* Costs of the graph in place of a model, else copies of a collective; one core does them. */
static void fill_simple_cpu(const column *c, emp_op_id op)
{
    emp_cost_table *t = c->table;
    int32_t         row = c->first + op;
    emp_time_ns     ns = c->graph->stated != NULL ? c->graph->stated[op].cpu_ns : 0;

    if (ns == 0) ns = emp_ns_of_seconds(collective_s(c, op));
    ns += emp_ns_of_seconds(c->runtime->cpu_op_s);
    t->cpu[row].compute_ns = t->task_ns[t->cpu_offset[row]] = on_device(c->device, ns);
}

emp_time_ns emp_cost_fill_row(emp_time_ns *row, const emp_op_cost *c, int32_t lanes,
                              const emp_device *cpu, const emp_runtime_events *runtime)
{
    bool        is_free = c->op_class == EMP_OP_KERNELLESS;
    double      overhead_s = is_free ? runtime->issue_kernelless_s : runtime->cpu_op_s;
    int32_t     rounds = emp_cost_rounds(lanes);
    emp_time_ns task_ns = 0;

    for (int32_t p = 1; p <= lanes; p++) {
        double compute_s = is_free ? 0.0 : cpu_compute_s(c, cpu, p);
        task_ns = emp_ns_of_seconds((overhead_s + compute_s) / rounds);
        row[p - 1] = on_device(cpu, task_ns);
    }
    return on_device(cpu, task_ns * rounds);
}

static void fill_cpu(const column *c, emp_op_id op)
{
    emp_cost_table *t = c->table;
    emp_cpu_cost   *to = &t->cpu[c->first + op];

    to->compute_ns =
        emp_cost_fill_row(&t->task_ns[t->cpu_offset[c->first + op]],
                          c->graph->op[op].cost, to->lanes, c->device, c->runtime);
}

emp_gpu_cost emp_cost_on_gpu(const emp_op_cost *c, const emp_graph *graph,
                             emp_op_id product, const emp_device *gpu,
                             const emp_runtime_events *runtime)
{
    column      of = {.graph = graph, .runtime = runtime, .device = gpu};
    emp_time_ns ns = emp_ns_of_seconds(gpu_compute_s(&of, product, c));

    return (emp_gpu_cost){.compute_ns = on_device(gpu, ns),
                          .issue_ns = emp_ns_of_seconds(issue_s(c, runtime))};
}

/* A rank keeps its GPU until its collective is done. One that states its own time takes that. */
static emp_time_ns stated_gpu_ns(const column *c, emp_op_id op)
{
    emp_time_ns ns = emp_graph_stated_gpu_ns(c->graph, op, c->stated_model);

    if (ns > 0 || c->device == NULL) return ns;
    return emp_ns_of_seconds(collective_s(c, op));
}

/* A collective is no faster than copies within a GPU, which it is with one rank. */
static double unstated_gpu_s(const column *c, emp_op_id op)
{
    return fmax(gpu_compute_s(c, op, c->graph->op[op].cost), collective_s(c, op));
}

/* No call issues a cache: it is there before the step. */
static void fill_gpu(const column *c, emp_op_id op)
{
    const emp_op_cost *cost = c->graph->op[op].cost;
    emp_gpu_cost      *to = &c->table->gpu[c->first + op];
    emp_time_ns        ns = 0;

    if (c->graph->stated != NULL)
        ns = stated_gpu_ns(c, op);
    else if (c->device != NULL)
        ns = emp_ns_of_seconds(unstated_gpu_s(c, op));
    to->compute_ns = c->device == NULL ? ns : on_device(c->device, ns);
    if (c->device != NULL && !(c->graph->op[op].flags & EMP_OP_IS_CACHE))
        to->issue_ns = emp_ns_of_seconds(issue_s(cost, c->runtime));
    if (c->table->gpu_beside_ns != NULL)
        c->table->gpu_beside_ns[op] = emp_ns_of_seconds(group_beside_s(cost, c->device));
}

static emp_status fill_cpus(column c, const emp_device *const *first_of, emp_error *err)
{
    emp_cost_table *t = c.table;
    int32_t         rows = emp_cost_row_count(t, EMP_DEVICE_CPU);

    for (int32_t i = 0; i < t->column_count[EMP_DEVICE_CPU]; i++) {
        c.device = first_of[i];
        c.first = i * t->op_count;
        EMP_CHECK(count_lanes(&c, err));
    }
    EMP_CHECK(EMP_ALLOC(t->task_ns, (size_t)t->cpu_offset[rows]));
    for (int32_t i = 0; i < t->column_count[EMP_DEVICE_CPU]; i++) {
        c.device = first_of[i];
        c.first = i * t->op_count;
        for (emp_op_id op = 0; op < t->op_count; op++)
            is_simple(&c, op) ? fill_simple_cpu(&c, op) : fill_cpu(&c, op);
    }
    return EMP_OK;
}

static void fill_gpus(column c, const emp_device *const *first_of)
{
    for (int32_t i = 0; i < c.table->column_count[EMP_DEVICE_GPU]; i++) {
        c.device = first_of[i];
        c.first = i * c.table->op_count;
        c.stated_model = -1;
        if (c.device != NULL)
            c.stated_model = emp_graph_find_stated_model(
                c.graph, c.machine->model[c.device->model].name);
        for (emp_op_id op = 0; op < c.table->op_count; op++) fill_gpu(&c, op);
    }
}

emp_status emp_cost_table_create(emp_cost_table **out, const emp_graph *graph,
                                 const emp_machine *machine, const emp_runtime *runtime,
                                 emp_error *err)
{
    emp_status        st = EMP_OK;
    const emp_device *first_of[EMP_DEVICE_KINDS][EMP_MAX_DEVICES] = {0};
    emp_cost_table   *t = EMP_NEW(emp_cost_table);

    *out = NULL;
    if (t == NULL) EMP_FAIL(EMP_ENOMEM, "cost table");
    column c = {.table = t,
                .graph = graph,
                .machine = machine,
                .runtime = emp_runtime_events_of(runtime)};
    number_columns(t, machine, first_of);
    EMP_TRY(allocate(t, graph, first_of[EMP_DEVICE_GPU][0], err));
    EMP_TRY(fill_cpus(c, first_of[EMP_DEVICE_CPU], err));
    fill_gpus(c, first_of[EMP_DEVICE_GPU]);
    *out = t;
    t = NULL;

cleanup:
    emp_cost_table_destroy(t);
    return st;
}

void emp_cost_table_destroy(emp_cost_table *table)
{
    if (table == NULL) return;
    emp_free(table->gpu);
    emp_free(table->cpu);
    emp_free(table->cpu_offset);
    emp_free(table->task_ns);
    emp_free(table->gpu_beside_ns);
    emp_free(table);
}

uint64_t emp_cost_table_hash(const emp_cost_table *table)
{
    const int32_t gpu_rows = emp_cost_row_count(table, EMP_DEVICE_GPU);
    const int32_t cpu_rows = emp_cost_row_count(table, EMP_DEVICE_CPU);
    uint64_t      hash =
        emp_hash_bytes(EMP_HASH_SEED, table->gpu, (size_t)gpu_rows * sizeof *table->gpu);

    for (int32_t row = 0; row < cpu_rows; row++) {
        hash = emp_hash_u64(hash, (uint64_t)table->cpu[row].compute_ns);
        hash = emp_hash_u64(hash, (uint64_t)table->cpu[row].lanes);
    }
    hash = emp_hash_bytes(hash, table->task_ns,
                          (size_t)table->cpu_offset[cpu_rows] * sizeof *table->task_ns);
    if (table->gpu_beside_ns == NULL) return hash;
    return emp_hash_bytes(hash, table->gpu_beside_ns,
                          (size_t)table->op_count * sizeof *table->gpu_beside_ns);
}

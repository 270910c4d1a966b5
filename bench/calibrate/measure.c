// SPDX-License-Identifier: GPL-3.0-or-later
#include "bench/calibrate/measure.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "base/work.h"

/* ---- the fit ----------------------------------------------------------------------- */

/* Some of the constants, and the benchmarks that they are fitted to. */
struct stage {
    const emp_measure_params *params;
    emp_machine              *machine;
    emp_runtime               runtime;
    int32_t                   first, count; /* constants */
    int32_t                   cell_count;
    int32_t                   cell[EMP_MICRO_MOST];
    double                    constant[EMP_FIT_MAX_PARAMETERS]; /* all */
};

static void set_constants(emp_machine *machine, emp_runtime *runtime, emp_micro_set set,
                          const double *parameter)
{
    const emp_measure_table *table = &emp_measure_tables[set];

    for (int32_t j = 0; j < table->count; j++)
        emp_constant_set(&table->constant[j], machine, runtime, parameter[j]);
    emp_measure_derive(machine, runtime, set);
}

static emp_status run_model(void *context, const double *parameter, double *value,
                            emp_error *err)
{
    struct stage             *s = (struct stage *)context;
    const emp_measure_params *p = s->params;
    emp_status                status[EMP_MICRO_MOST];
    emp_error                 error[EMP_MICRO_MOST] = {0};

    if (emp_stop_is_set(p->stop)) return EMP_ERROR(EMP_EINTERRUPTED, "interrupted");
    memcpy(s->constant + s->first, parameter, (size_t)s->count * sizeof *parameter);
    set_constants(s->machine, &s->runtime, p->set, s->constant);
#pragma omp parallel for schedule(dynamic, 1) num_threads(p->threads)
    for (int32_t i = 0; i < s->cell_count; i++) {
        const emp_micro *micro = &p->micro[s->cell[i]];
        emp_sim_result   result = {0};
        status[i] = emp_step_predict(&result, micro->graph, micro->device_of_op,
                                     s->machine, &s->runtime, micro->name, &error[i]);
        value[i] = (double)result.step_time_ns * 1e-9;
    }
    for (int32_t i = 0; i < s->cell_count; i++) {
        if (status[i] != EMP_OK)
            return EMP_ERROR(status[i], "benchmark %s: %s", p->micro[s->cell[i]].name,
                             error[i].msg);
    }
    return EMP_OK;
}

static void tell(void *context, double done_frac)
{
    const emp_measure_params *p = ((struct stage *)context)->params;

    if (p->on_progress != NULL) p->on_progress(p->context, done_frac);
}

static emp_status check(const emp_measure_params *p, emp_error *err)
{
    if (emp_machine_count(p->machine, EMP_DEVICE_CPU) != 1 ||
        emp_machine_first(p->machine, EMP_DEVICE_GPU) == NULL ||
        p->machine->link_count == 0)
        return EMP_ERROR(EMP_EINVAL, "machine %s is not one host with %s on links",
                         p->machine->name,
                         p->set == EMP_MICRO_CORES ? "groups of cores" : "GPUs");
    if (p->runtime->rules != EMP_RULES_EVENTS)
        return EMP_ERROR(EMP_EINVAL,
                         "nothing of runtime %s is fitted: its rules are '%s'",
                         p->runtime->name, emp_rules_str(p->runtime->rules));
    for (int32_t i = 0; i < p->count; i++) {
        if (!(p->measured_s[i] > 0.0))
            return EMP_ERROR(EMP_EINVAL, "benchmark %s took %g s; more than 0 is needed",
                             p->micro[i].name, p->measured_s[i]);
    }
    return EMP_OK;
}

/* The constants that a stage found, among all. */
static void merge(emp_measurement *m, const struct stage *s, const emp_fit *found)
{
    emp_fit *fit = &m->fit;

    fit->fitted_count += found->fitted_count;
    fit->has_converged &= found->has_converged;
    for (int32_t j = 0; j < s->count; j++) {
        int32_t to = s->first + j;
        fit->is_fitted[to] = found->is_fitted[j];
        fit->is_at_bound[to] = found->is_at_bound[j];
        fit->parameter[to] = found->parameter[j];
        fit->low[to] = found->low[j];
        fit->high[to] = found->high[j];
        for (int32_t i = 0; i < s->cell_count; i++)
            fit->share[to][s->cell[i]] = found->share[j][i];
    }
    for (int32_t i = 0; i < s->cell_count; i++) fit->value[s->cell[i]] = found->value[i];
}

/* Fits constants first .. first + count - 1 to the benchmarks in which devices work at once, or to
 * those in which they do not. */
static emp_status fit_stage(emp_measurement *m, const emp_measure_params *p,
                            int32_t first, int32_t count, bool is_shared, emp_error *err)
{
    const emp_constant *constant = emp_measure_tables[p->set].constant + first;
    double              start[EMP_FIT_MAX_PARAMETERS], low[EMP_FIT_MAX_PARAMETERS],
        high[EMP_FIT_MAX_PARAMETERS], target[EMP_MICRO_MOST];
    emp_fit      found;
    struct stage s = {.params = p,
                      .machine = m->machine,
                      .runtime = m->runtime,
                      .first = first,
                      .count = count};

    for (int32_t i = 0; i < p->count; i++) {
        if (p->micro[i].is_shared != is_shared) continue;
        target[s.cell_count] = p->measured_s[i];
        s.cell[s.cell_count++] = i;
    }
    memcpy(s.constant, m->fit.parameter, sizeof s.constant);
    for (int32_t j = 0; j < count; j++) {
        low[j] = constant[j].low;
        high[j] = constant[j].high;
        start[j] = fmin(fmax(s.constant[first + j], low[j]), high[j]);
    }
    emp_fit_problem problem = {.parameter_count = count,
                               .cell_count = s.cell_count,
                               .start = start,
                               .low = low,
                               .high = high,
                               .target = target,
                               .model = run_model,
                               .on_progress = tell,
                               .context = &s,
                               .is_logarithmic = true,
                               .leaves_none_out = true};
    EMP_CHECK(emp_fit_solve(&found, &problem, err));
    merge(m, &s, &found);
    return EMP_OK;
}

/* The times of cores by themselves do not depend on their interference, so they are fitted first. */
static emp_status fit(emp_measurement *m, const emp_measure_params *p, emp_error *err)
{
    const emp_measure_table *t = &emp_measure_tables[p->set];

    for (int32_t j = 0; j < t->count; j++)
        m->fit.parameter[j] = emp_constant_get(&t->constant[j], m->machine, &m->runtime);
    m->fit.has_converged = true;
    EMP_CHECK(fit_stage(m, p, 0, t->alone_count, false, err));
    if (t->count > t->alone_count)
        EMP_CHECK(fit_stage(m, p, t->alone_count, t->count - t->alone_count, true, err));
    set_constants(m->machine, &m->runtime, p->set, m->fit.parameter);
    return EMP_OK;
}

emp_status emp_measurement_create(emp_measurement **out, const emp_measure_params *params,
                                  emp_error *err)
{
    emp_status       st = EMP_OK;
    emp_measurement *m = NULL;

    *out = NULL;
    EMP_TRY(check(params, err));
    EMP_TRY(EMP_ALLOC(m, 1));
    m->machine = emp_measure_start(params->machine, params->set, params->cache_bytes,
                                   params->core_count);
    if (m->machine == NULL) EMP_FAIL(EMP_ENOMEM, "machine");
    m->runtime = *params->runtime;
    m->set = params->set;
    m->micro = params->micro;
    m->measured_s = params->measured_s;
    m->count = params->count;
    EMP_TRY(fit(m, params, err));
    *out = m;
    m = NULL;

cleanup:
    emp_measurement_destroy(m);
    return st;
}

void emp_measurement_destroy(emp_measurement *measurement)
{
    if (measurement == NULL) return;
    emp_machine_destroy(measurement->machine);
    emp_free(measurement);
}

#define IN_DEVICE(member)  offsetof(emp_device, member)
#define IN_RUNTIME(member) offsetof(emp_runtime, member)
#define IN_LINK(member)    offsetof(emp_link, member)

/* ---- constants --------------------------------------------------------------------- */

/* FLOPs of a wave of one 64 x 64 tile, for each unit of K. */
static const double wave_flops = 2.0 * 64 * 64;

/* A fit that starts below this rate takes every op to be bound by memory, so it cannot see what arithmetic takes. */
static const double start_bytes_per_s = 50e9;

static const char any_core[] = "from embedded cores to what no core does yet";

/* In the order in which constants are freed: those that most cells depend on first. */
static const emp_constant of_cores[] = {
    {"gemm_per_wave", EMP_CALIBRATE_GPU, "ns", 1e-9, 4e-9, 40e-6,
     "2 TFLOP/s to 0.2 GFLOP/s", IN_DEVICE(gemm_per_wave_s)},
    {"stream", EMP_CALIBRATE_GPU, "GB/s", 1e9, 0.2e9, 2e12, any_core,
     IN_DEVICE(memory_bytes_per_s)},
    {"op", EMP_CALIBRATE_GPU, "us", 1e-6, 10e-9, 1e-3, "a hand-over between threads",
     IN_DEVICE(core.op_s)},
    {"kernelless", EMP_CALIBRATE_GPU, "us", 1e-6, 10e-9, 1e-3,
     "a hand-over between threads", IN_DEVICE(core.kernelless_s)},
    {"cache_factor", EMP_CALIBRATE_GPU, "", 1.0, 0.5, 50.0,
     "caches are faster than memory", IN_DEVICE(core.cache_factor)},
    {"pack", EMP_CALIBRATE_GPU, "GB/s", 1e9, 0.2e9, 2e12, any_core,
     IN_DEVICE(core.pack_bytes_per_s)},
#define CLOCK(key)                                                   \
    {                                                                \
#key, EMP_CALIBRATE_GPU, "GHz", 1e9, 0.02e9, 1e12, any_core, \
            IN_DEVICE(core.key##_hz)                                 \
    }
    CLOCK(columns),
    CLOCK(columns_input),
    CLOCK(exp),
    CLOCK(softmax),
    CLOCK(loss),
    CLOCK(norm),
    CLOCK(pool),
    CLOCK(pool_grad),
    CLOCK(reduce),
    CLOCK(move),
    CLOCK(transpose),
    CLOCK(update),
    CLOCK(divide),
    CLOCK(light),
#undef CLOCK
    {"latency", EMP_CALIBRATE_LINKS, "us", 1e-6, 10e-9, 10e-3,
     "waking a thread, or a core that sleeps", IN_LINK(latency_s)},
    {"bandwidth", EMP_CALIBRATE_LINKS, "GB/s", 1e9, 0.05e9, 2e12, any_core,
     IN_LINK(bytes_per_s)},
    {"step", EMP_CALIBRATE_RUNTIME, "us", 1e-6, 10e-9, 10e-3,
     "beginning and ending a step", IN_RUNTIME(events.step_s)},
    /* from ALONE_OF_CORES on: fitted last, to the benchmarks in which devices work at once */
    {"beside_clock", EMP_CALIBRATE_GPU, "", 1.0, 1.0, 10.0,
     "cores that share a clock, a pipeline or a cache", IN_DEVICE(sharing.beside_clock)},
    {"beside_stream", EMP_CALIBRATE_GPU, "", 1.0, 1.0, 10.0, "cores that share a memory",
     IN_DEVICE(sharing.beside_stream)},
    {"copy", EMP_CALIBRATE_GPU, "GB/s", 1e9, 0.2e9, 2e12, any_core,
     IN_DEVICE(sharing.copy_bytes_per_s)},
    {"hand_over", EMP_CALIBRATE_GPU, "us", 1e-6, 10e-9, 1e-3,
     "waking and switching threads", IN_DEVICE(sharing.hand_over_s)},
};
enum { ALONE_OF_CORES = 23, OF_CORES = sizeof of_cores / sizeof *of_cores };
_Static_assert(OF_CORES - ALONE_OF_CORES == sizeof(emp_sharing) / sizeof(double),
               "all of a section sharing");

static const char any_gpu[] = "from GPUs of 2010 to ten times those of 2025";
static const char any_factor[] = "a fifth of the time of products, or five times it";
static const char any_pass[] =
    "caches that hold the half, and kernels that read a tenth of what memory gives";
static const char any_host[] = "from a launch out of a graph to a slow interpreter";

#define FACTOR(key, member)                                                       \
    {                                                                             \
#key, EMP_CALIBRATE_GPU, "", 1.0, 0.2, 5.0, any_factor, IN_DEVICE(member) \
    }
#define HOST(key, member)                                               \
    {                                                                   \
#key, EMP_CALIBRATE_RUNTIME, "us", 1e-6, 50e-9, 1e-3, any_host, \
            IN_RUNTIME(events.member)                                   \
    }

/* Likewise: products and passes first, then what needs their rates. The benchmarks cannot separate the host's time
 * for an op from a GPU's shortest kernel, or a copy's latency from the host's time to send
 * it: one of each is left as it is. */
static const emp_constant of_gpus[] = {
    {"stream", EMP_CALIBRATE_GPU, "GB/s", 1e9, 50e9, 80e12, any_gpu,
     IN_DEVICE(memory_bytes_per_s)},
    {"gemm_per_wave", EMP_CALIBRATE_GPU, "ns", 1e-9, 0.2e-9, 2e-6, any_gpu,
     IN_DEVICE(gemm_per_wave_s)},
    {"gemm_base", EMP_CALIBRATE_GPU, "us", 1e-6, 0.2e-6, 100e-6, any_gpu,
     IN_DEVICE(gemm_base_s)},
    HOST(issue, issue_s),
    HOST(issue_kernelless, issue_kernelless_s),
    HOST(step, step_s),
    {"gemm_per_k", EMP_CALIBRATE_GPU, "ns", 1e-9, 1e-12, 100e-9, any_gpu,
     IN_DEVICE(gemm_per_k_s)},
    FACTOR(wide_factor, conv_window_factor[0]),
    FACTOR(point_factor, conv_window_factor[1]),
    FACTOR(winograd_factor, conv_window_factor[2]),
    FACTOR(wide_filter_factor, conv_filter_factor[0]),
    FACTOR(point_filter_factor, conv_filter_factor[1]),
    FACTOR(winograd_filter_factor, conv_filter_factor[2]),
    FACTOR(conv_factor, conv_factor),
    {"bandwidth", EMP_CALIBRATE_LINKS, "GB/s", 1e9, 0.5e9, 2e12, "PCIe 1 to NVLink",
     IN_LINK(bytes_per_s)},
    {"latency", EMP_CALIBRATE_LINKS, "us", 1e-6, 0.1e-6, 1e-3, "what a small copy takes",
     IN_LINK(latency_s)},
#define PASS(key)                                                                    \
    {                                                                                \
#key, EMP_CALIBRATE_GPU, "", 1.0, 0.1, 10.0, any_pass, IN_DEVICE(passes.key) \
    }
    PASS(reduce),
    PASS(move),
    PASS(transpose),
    PASS(pool),
    PASS(max_pool_grad),
    PASS(average_pool_grad),
    PASS(norm),
    PASS(norm_grad),
    PASS(softmax),
    PASS(loss),
    PASS(update),
#undef PASS
};
#undef FACTOR
#undef HOST
enum { OF_GPUS = sizeof of_gpus / sizeof *of_gpus };
_Static_assert(OF_CORES <= (int)EMP_FIT_MAX_PARAMETERS &&
                   OF_GPUS <= (int)EMP_FIT_MAX_PARAMETERS,
               "all can be fitted");

const emp_measure_table emp_measure_tables[EMP_MICRO_SETS] = {
    [EMP_MICRO_CORES] = {of_cores, OF_CORES, ALONE_OF_CORES},
    [EMP_MICRO_GPUS] = {of_gpus, OF_GPUS, OF_GPUS}};

/* ---- machines ---------------------------------------------------------------------- */

static emp_machine *start_cores(const emp_machine *machine, int64_t cache_bytes,
                                int32_t core_count)
{
    emp_machine      *m = emp_machine_copy(machine);
    const emp_core    core = {.op_s = 3e-6,
                              .kernelless_s = 1e-6,
                              .cache_bytes = cache_bytes,
                              .cache_factor = 2.0,
                              .pack_bytes_per_s = 20e9,
                              .columns_hz = 2e9,
                              .columns_input_hz = 1e9,
                              .light_hz = 5e9,
                              .divide_hz = 20e9,
                              .exp_hz = 10e9,
                              .reduce_hz = 4e9,
                              .transpose_hz = 2e9,
                              .move_hz = 4e9,
                              .pool_hz = 5e9,
                              .pool_grad_hz = 0.5e9,
                              .norm_hz = 4e9,
                              .softmax_hz = 5e9,
                              .loss_hz = 5e9,
                              .update_hz = 5e9};
    const emp_sharing sharing = {.beside_stream = 2.0,
                                 .beside_clock = 2.0,
                                 .copy_bytes_per_s = 10e9,
                                 .hand_over_s = 3e-6};

    if (m == NULL) return NULL;
    m->core_count = core_count;
    for (int32_t d = 0; d < m->device_count; d++) {
        emp_device *device = &m->device[d];
        device->has_core = true;
        device->core = core;
        if (device->kind != EMP_DEVICE_GPU) continue;
        device->has_sharing = true;
        device->sharing = sharing;
        device->memory_bytes_per_s = start_bytes_per_s;
        device->gemm_base_s = device->gemm_per_k_s = 0.0;
        device->gemm_tile_rows = device->conv_tile_rows = 1;
        device->split_limit = 1;
        device->gemm_skinny_factor = device->conv_factor = 1.0;
        for (int32_t w = 0; w < 3; w++)
            device->conv_window_factor[w] = device->conv_filter_factor[w] = 1.0;
        device->gemm_skinny_limit = 0;
        device->kernel_minimum_s = 0.0;
    }
    return m;
}

/* Kernels take as long as their bytes, where the model says no more. */
static emp_machine *start_gpus(const emp_machine *machine)
{
    emp_machine *m = emp_machine_copy(machine);

    for (int32_t d = 0; m != NULL && d < m->device_count; d++) {
        emp_device *gpu = &m->device[d];
        if (gpu->kind != EMP_DEVICE_GPU || gpu->has_passes) continue;
        gpu->has_passes = true;
        gpu->passes = (emp_passes){1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
    }
    return m;
}

static void derive_cores(emp_machine *machine, emp_runtime *runtime)
{
    const emp_device *group = emp_machine_first(machine, EMP_DEVICE_GPU);
    double            core_flops_per_s = wave_flops / group->gemm_per_wave_s;

    for (int32_t d = 0; d < machine->device_count; d++) {
        emp_device *host = &machine->device[d];
        host->peak_flops_per_s =
            core_flops_per_s *
            (host->kind == EMP_DEVICE_CPU ? host->cores : host->multiprocessors);
        if (host->kind != EMP_DEVICE_CPU) continue;
        host->core = group->core;
        host->gemm_core_flops_per_s = core_flops_per_s;
        host->conv_core_flops_per_s = host->gemm_core_flops_per_s;
        host->core_bytes_per_s = group->memory_bytes_per_s / group->multiprocessors;
        host->memory_bytes_per_s = host->core_bytes_per_s * host->bandwidth_cores;
    }
    runtime->events.cpu_op_s = group->core.op_s;
    runtime->events.issue_kernelless_s = group->core.kernelless_s;
}

/* ---- by set ------------------------------------------------------------------------ */

emp_machine *emp_measure_start(const emp_machine *machine, emp_micro_set set,
                               int64_t cache_bytes, int32_t core_count)
{
    return set == EMP_MICRO_CORES ? start_cores(machine, cache_bytes, core_count)
                                  : start_gpus(machine);
}

void emp_measure_derive(emp_machine *machine, emp_runtime *runtime, emp_micro_set set)
{
    if (set == EMP_MICRO_CORES) derive_cores(machine, runtime);
}

// SPDX-License-Identifier: GPL-3.0-or-later
#include "bench/calibrate/measure.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"

#define IN_DEVICE(member)  offsetof(emp_device, member)
#define IN_RUNTIME(member) offsetof(emp_runtime, member)
#define IN_LINK(member)    offsetof(emp_link, member)

/* Of a wave of one 64 x 64 tile, for each K. */
static const double wave_flops = 2.0 * 64 * 64;

/* Rows of a tile: products of few rows fill theirs. */
enum { TILE_ROWS = 16 };

/* Memory slower than that would hide what arithmetic takes, and that it can be fitted. */
static const double start_bytes_per_s = 50e9;

static const char any_core[] = "from embedded cores to what no core does yet";

/* In the order in which constants are freed: those that most cells depend on first. */
const emp_constant emp_measure_constants[EMP_MEASURE_CONSTANTS] = {
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
};
_Static_assert(EMP_MEASURE_CONSTANTS <= (int)EMP_FIT_MAX_PARAMETERS, "all can be fitted");

/* ---- machines ---------------------------------------------------------------------- */

emp_machine *emp_measure_start(const emp_machine *machine, int64_t cache_bytes)
{
    emp_machine   *m = EMP_NEW(emp_machine);
    const emp_core core = {.op_s = 3e-6,
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

    if (m == NULL) return NULL;
    *m = *machine;
    for (int32_t d = 0; d < m->device_count; d++) {
        emp_device *device = &m->device[d];
        device->has_core = true;
        device->core = core;
        if (device->kind != EMP_DEVICE_GPU) continue;
        device->memory_bytes_per_s = start_bytes_per_s;
        device->gemm_base_s = device->gemm_per_k_s = 0.0;
        device->gemm_tile_rows = device->conv_tile_rows = TILE_ROWS;
        device->split_limit = 1;
        device->gemm_skinny_factor = device->conv_factor = 1.0;
        device->gemm_skinny_limit = 0;
        device->kernel_minimum_s = 0.0;
    }
    return m;
}

void emp_measure_derive(emp_machine *machine, emp_runtime *runtime)
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

/* ---- the fit ----------------------------------------------------------------------- */

struct model {
    const emp_measure_params *params;
    emp_machine              *machine;
    emp_runtime               runtime;
};

static void set_constants(emp_machine *machine, emp_runtime *runtime,
                          const double *parameter)
{
    for (int32_t j = 0; j < EMP_MEASURE_CONSTANTS; j++)
        emp_constant_set(&emp_measure_constants[j], machine, runtime, parameter[j]);
    emp_measure_derive(machine, runtime);
}

static emp_status run_model(void *context, const double *parameter, double *value,
                            emp_error *err)
{
    struct model             *m = (struct model *)context;
    const emp_measure_params *p = m->params;
    emp_status                status[EMP_MICRO_MOST];
    emp_error                 error[EMP_MICRO_MOST] = {0};

    if (p->stop != NULL && *p->stop != 0)
        return EMP_ERROR(EMP_EINTERRUPTED, "interrupted");
    set_constants(m->machine, &m->runtime, parameter);
#pragma omp parallel for schedule(dynamic, 1) num_threads(p->threads)
    for (int32_t i = 0; i < p->count; i++) {
        emp_sim_result result = {0};
        status[i] =
            emp_step_predict(&result, p->micro[i].graph, p->micro[i].device_of_op,
                             m->machine, &m->runtime, p->micro[i].name, &error[i]);
        value[i] = (double)result.step_time_ns * 1e-9;
    }
    for (int32_t i = 0; i < p->count; i++) {
        if (status[i] != EMP_OK)
            return EMP_ERROR(status[i], "benchmark %s: %s", p->micro[i].name,
                             error[i].msg);
    }
    return EMP_OK;
}

static void tell(void *context, double done_frac)
{
    const emp_measure_params *p = ((struct model *)context)->params;

    if (p->on_progress != NULL) p->on_progress(p->context, done_frac);
}

static emp_status check(const emp_measure_params *p, emp_error *err)
{
    if (emp_machine_count(p->machine, EMP_DEVICE_CPU) != 1 ||
        emp_machine_first(p->machine, EMP_DEVICE_GPU) == NULL ||
        p->machine->link_count == 0)
        return EMP_ERROR(EMP_EINVAL,
                         "machine %s is not one host with groups on links, as cpu2",
                         p->machine->name);
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

static emp_status fit(emp_measurement *m, const emp_measure_params *p, emp_error *err)
{
    double start[EMP_MEASURE_CONSTANTS], low[EMP_MEASURE_CONSTANTS],
        high[EMP_MEASURE_CONSTANTS];
    struct model    model = {p, m->machine, m->runtime};
    emp_fit_problem problem = {.parameter_count = EMP_MEASURE_CONSTANTS,
                               .cell_count = p->count,
                               .start = start,
                               .low = low,
                               .high = high,
                               .target = p->measured_s,
                               .model = run_model,
                               .on_progress = tell,
                               .context = &model,
                               .is_logarithmic = true,
                               .leaves_none_out = true};

    for (int32_t j = 0; j < EMP_MEASURE_CONSTANTS; j++) {
        low[j] = emp_measure_constants[j].low;
        high[j] = emp_measure_constants[j].high;
        start[j] = emp_constant_get(&emp_measure_constants[j], m->machine, &m->runtime);
        start[j] = fmin(fmax(start[j], low[j]), high[j]);
    }
    EMP_CHECK(emp_fit_solve(&m->fit, &problem, err));
    set_constants(m->machine, &m->runtime, m->fit.parameter);
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
    m->machine = emp_measure_start(params->machine, params->cache_bytes);
    if (m->machine == NULL) EMP_FAIL(EMP_ENOMEM, "machine");
    m->runtime = *params->runtime;
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

// SPDX-License-Identifier: GPL-3.0-or-later
/* A measured machine as data files. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "bench/calibrate/calibrate.h"
#include "bench/calibrate/measure.h"
#include "sim/machine/model.h"

enum { PATH_BYTES = EMP_MEASURE_PATH_BYTES, DIGITS = 5 };

/* "DIR/NAME.yaml" taken apart; both borrowed from the path. */
struct place {
    int         folder_length; /* with the slash */
    const char *path, *name;
    int         name_length;
};

static struct place place_of(const char *path)
{
    const char  *slash = strrchr(path, '/');
    struct place p = {.path = path, .name = slash == NULL ? path : slash + 1};
    const char  *dot = strrchr(p.name, '.');

    p.folder_length = (int)(p.name - path);
    p.name_length = dot == NULL ? (int)strlen(p.name) : (int)(dot - p.name);
    return p;
}

void emp_measurement_runtime_path(char        path[EMP_MEASURE_PATH_BYTES],
                                  const char *machine_path)
{
    struct place p = place_of(machine_path);

    snprintf(path, PATH_BYTES, "%.*s%.*s-runtime.yaml", p.folder_length, p.path,
             p.name_length, p.name);
}

void emp_measurement_model_path(char        path[EMP_MEASURE_PATH_BYTES],
                                const char *machine_path, const char *part)
{
    struct place p = place_of(machine_path);

    snprintf(path, PATH_BYTES, "%.*smodels/%.*s-%s.yaml", p.folder_length, p.path,
             p.name_length, p.name, part);
}

/* ---- values ------------------------------------------------------------------------ */

static void print_value(FILE *out, const char *key, double value, double scale,
                        const char *unit)
{
    fprintf(out, "  %s: \"%.*g%s%s\"\n", key, DIGITS, value / scale,
            unit[0] == '\0' ? "" : " ", unit);
}

static void print_bytes(FILE *out, const char *key, int64_t bytes)
{
    fprintf(out, "  %s: \"%lld B\"\n", key, (long long)bytes);
}

static void print_count(FILE *out, const char *key, int32_t count)
{
    fprintf(out, "  %s: %d\n", key, count);
}

static void print_core(FILE *out, const emp_core *c)
{
    const struct {
        const char *key;
        double      hz;
    } clock[] = {{"columns", c->columns_hz}, {"columns_input", c->columns_input_hz},
                 {"light", c->light_hz},     {"divide", c->divide_hz},
                 {"exp", c->exp_hz},         {"reduce", c->reduce_hz},
                 {"move", c->move_hz},       {"transpose", c->transpose_hz},
                 {"pool", c->pool_hz},       {"pool_grad", c->pool_grad_hz},
                 {"norm", c->norm_hz},       {"softmax", c->softmax_hz},
                 {"loss", c->loss_hz},       {"update", c->update_hz}};

    fprintf(out, "core:\n");
    print_value(out, "op", c->op_s, 1e-6, "us");
    print_value(out, "kernelless", c->kernelless_s, 1e-6, "us");
    print_bytes(out, "cache", c->cache_bytes);
    print_value(out, "cache_factor", c->cache_factor, 1.0, "");
    print_value(out, "pack", c->pack_bytes_per_s, 1e9, "GB/s");
    for (size_t i = 0; i < sizeof clock / sizeof *clock; i++)
        print_value(out, clock[i].key, clock[i].hz, 1e9, "GHz");
}

static void print_origin(FILE *out, const emp_measure_origin *o)
{
    fprintf(out, "# Measured by: %s\n# on %s%s%s.\n", o->command, o->computer,
            o->products == NULL ? "" : ", products by ",
            o->products == NULL ? "" : o->products);
}

/* ---- models of cores --------------------------------------------------------------- */

static void print_group(FILE *out, const emp_device *g)
{
    fprintf(out, "gpu:\n");
    print_bytes(out, "memory", g->memory_bytes);
    print_value(out, "peak", g->peak_flops_per_s, 1e9, "GFLOP/s");
    print_count(out, "multiprocessors", g->multiprocessors);
    print_value(out, "clock", g->clock_hz, 1e9, "GHz");
    print_value(out, "stream", g->memory_bytes_per_s, 1e9, "GB/s");
    print_value(out, "gemm_clock", g->clock_hz, 1e9, "GHz");
    print_value(out, "gemm_base", g->gemm_base_s, 1e-6, "us");
    print_value(out, "gemm_per_k", g->gemm_per_k_s, 1e-9, "ns");
    print_value(out, "gemm_per_wave", g->gemm_per_wave_s, 1e-9, "ns");
    print_count(out, "gemm_tile_rows", g->gemm_tile_rows);
    print_count(out, "conv_tile_rows", g->conv_tile_rows);
    print_count(out, "split_limit", g->split_limit);
    print_value(out, "skinny_factor", g->gemm_skinny_factor, 1.0, "");
    print_count(out, "skinny_limit", g->gemm_skinny_limit);
    fprintf(out, "  split_least: 1\n");
    print_value(out, "conv_factor", g->conv_factor, 1.0, "");
    fprintf(out, "  wide_factor: 1\n  wide_filter_factor: 1\n  point_factor: 1\n  "
                 "point_filter_factor: 1\n"
                 "  winograd_factor: 1\n  winograd_filter_factor: 1\n");
    print_value(out, "kernel_minimum", g->kernel_minimum_s, 1e-6, "us");
    print_core(out, &g->core);
    fprintf(out, "sharing:\n");
    print_value(out, "beside_stream", g->sharing.beside_stream, 1.0, "");
    print_value(out, "beside_clock", g->sharing.beside_clock, 1.0, "");
    print_value(out, "copy", g->sharing.copy_bytes_per_s, 1e9, "GB/s");
    print_value(out, "hand_over", g->sharing.hand_over_s, 1e-6, "us");
}

static void print_host(FILE *out, const emp_device *h)
{
    fprintf(out, "cpu:\n");
    print_bytes(out, "memory", h->memory_bytes);
    print_value(out, "peak", h->peak_flops_per_s, 1e9, "GFLOP/s");
    print_count(out, "cores", h->cores);
    print_value(out, "clock", h->clock_hz, 1e9, "GHz");
    print_value(out, "gemm_core", h->gemm_core_flops_per_s, 1e9, "GFLOP/s");
    print_value(out, "conv_core", h->conv_core_flops_per_s, 1e9, "GFLOP/s");
    print_value(out, "scaling_exponent", h->scaling_exponent, 1.0, "");
    print_value(out, "core_stream", h->core_bytes_per_s, 1e9, "GB/s");
    print_count(out, "bandwidth_cores", h->bandwidth_cores);
    print_value(out, "thread_cycles", h->thread_cycles, 1.0, "");
    print_value(out, "cycles_per_byte", h->cycles_per_byte, 1.0, "");
    print_core(out, &h->core);
}

static emp_status save_model(const emp_measurement *m, const struct place *p,
                             emp_device_kind kind, const emp_measure_origin *origin,
                             emp_error *err)
{
    emp_status        st = EMP_OK;
    char              path[PATH_BYTES];
    emp_atomic_file   file = {0};
    bool              is_group = kind == EMP_DEVICE_GPU;
    const emp_device *device = emp_machine_first(m->machine, kind);

    emp_measurement_model_path(path, p->path, is_group ? "group" : "host");
    EMP_TRY(emp_model_file_make_folders(path, err));
    EMP_TRY(emp_atomic_file_open(&file, path, err));
    print_origin(file.stream, origin);
    (is_group ? print_group : print_host)(file.stream, device);
    EMP_TRY(emp_atomic_file_commit(&file, err));

cleanup:
    emp_atomic_file_abort(&file);
    return st;
}

/* ---- the model of a GPU ------------------------------------------------------------ */

/* The constants of a file that were fitted; how many. A section `passes` that the file of the start does not
 * have is written whole. */
static int list_changes(const emp_measurement *m, emp_calibrate_file file,
                        bool has_passes, emp_model_change *change)
{
    const emp_measure_table *t = &emp_measure_tables[m->set];
    int                      count = 0;

    for (int32_t j = 0; j < t->count; j++) {
        const emp_constant *c = &t->constant[j];
        const char         *section = emp_constant_section(c);
        const bool          is_new = !has_passes && strcmp(section, "passes") == 0;
        if (c->file != file || (!m->fit.is_fitted[j] && !is_new)) continue;
        change[count].section = section;
        change[count].key = c->name;
        emp_constant_format(c, m->fit.parameter[j], DIGITS, change[count].value,
                            sizeof change[count].value);
        count++;
    }
    return count;
}

/* A file of the start anew, with what was fitted. */
static emp_status save_changed(const emp_measurement *m, const char *path,
                               const char *source, emp_calibrate_file file,
                               emp_error *err)
{
    emp_status       st = EMP_OK;
    emp_atomic_file  out = {0};
    emp_model_change change[EMP_FIT_MAX_PARAMETERS];
    emp_device_model start = {0};

    if (file == EMP_CALIBRATE_GPU) EMP_TRY(emp_device_model_load(&start, source, err));
    int count = list_changes(m, file, start.device.has_passes, change);
    EMP_TRY(emp_model_file_make_folders(path, err));
    EMP_TRY(emp_model_file_open(&out, path, source, change, count, err));
    EMP_TRY(emp_atomic_file_commit(&out, err));

cleanup:
    emp_device_model_clear(&start);
    emp_atomic_file_abort(&out);
    return st;
}

static emp_status save_gpu(const emp_measurement *m, const struct place *p,
                           emp_error *err)
{
    char              path[PATH_BYTES];
    const emp_device *gpu = emp_machine_first(m->machine, EMP_DEVICE_GPU);

    emp_measurement_model_path(path, p->path, "gpu");
    return save_changed(m, path, m->machine->model[gpu->model].path, EMP_CALIBRATE_GPU,
                        err);
}

/* ---- runtime and machine ----------------------------------------------------------- */

/* For cores the runtime also has the values that follow from the groups' constants. */
static emp_status save_core_runtime(const emp_measurement *m, const char *machine_path,
                                    emp_error *err)
{
    emp_status       st = EMP_OK;
    char             path[PATH_BYTES];
    emp_atomic_file  file = {0};
    emp_model_change change[] = {{.section = "", .key = "issue_kernelless"},
                                 {.section = "", .key = "cpu_op"},
                                 {.section = "", .key = "step"}};
    const double     value_s[] = {m->runtime.events.issue_kernelless_s,
                                  m->runtime.events.cpu_op_s, m->runtime.events.step_s};

    for (int i = 0; i < 3; i++)
        snprintf(change[i].value, sizeof change[i].value, "%.*g us", DIGITS,
                 value_s[i] * 1e6);
    emp_measurement_runtime_path(path, machine_path);
    EMP_TRY(emp_model_file_open(&file, path, m->runtime.path, change, 3, err));
    EMP_TRY(emp_atomic_file_commit(&file, err));

cleanup:
    emp_atomic_file_abort(&file);
    return st;
}

static emp_status save_runtime(const emp_measurement *m, const char *machine_path,
                               emp_error *err)
{
    char path[PATH_BYTES];

    if (m->set == EMP_MICRO_CORES) return save_core_runtime(m, machine_path, err);
    emp_measurement_runtime_path(path, machine_path);
    return save_changed(m, path, m->runtime.path, EMP_CALIBRATE_RUNTIME, err);
}

static void print_constants(FILE *out, const emp_measurement *m)
{
    const emp_measure_table *t = &emp_measure_tables[m->set];
    char                     value[48], low[48], high[48];

    fprintf(out, "# Constants with 95 %% intervals; the others are those of the machine "
                 "that the fit started from.\n");
    if (!m->fit.has_converged) fprintf(out, "# %s\n", EMP_FIT_UNFINISHED);
    for (int32_t j = 0; j < t->count; j++) {
        emp_constant_format(&t->constant[j], m->fit.parameter[j], DIGITS, value,
                            sizeof value);
        emp_constant_format(&t->constant[j], m->fit.low[j], 3, low, sizeof low);
        emp_constant_format(&t->constant[j], m->fit.high[j], 3, high, sizeof high);
        fprintf(out, "#   %-22s %-16s", t->constant[j].name, value);
        if (!m->fit.is_fitted[j])
            fprintf(out, "not determined by the benchmarks\n");
        else if (m->fit.is_at_bound[j])
            fprintf(out, "at its bound\n");
        else if (isnan(m->fit.low[j]))
            fprintf(out, "no interval\n");
        else
            fprintf(out, "%s .. %s\n", low, high);
    }
}

static void print_benchmarks(FILE *out, const emp_measurement *m)
{
    fprintf(out, "# Benchmarks: measured, fitted, off.\n");
    for (int32_t i = 0; i < m->count; i++)
        fprintf(out, "#   %-31s %10.4g s %10.4g s %+6.1f %%\n", m->micro[i].name,
                m->measured_s[i], m->fit.value[i],
                100.0 * (m->fit.value[i] / m->measured_s[i] - 1.0));
}

static void print_core_machine(FILE *out, const emp_measurement *m, const struct place *p)
{
    const emp_link *link = &m->machine->link[0];
    int32_t         groups = emp_machine_count(m->machine, EMP_DEVICE_GPU);

    fprintf(out, "description: \"%d groups of %d cores and a host, measured\"\n", groups,
            emp_machine_first(m->machine, EMP_DEVICE_GPU)->multiprocessors);
    if (m->machine->core_count > 0) fprintf(out, "cores: %d\n", m->machine->core_count);
    fprintf(out,
            "nodes:\n"
            "  - {name: \"memory\"}\n"
            "devices:\n"
            "  - {model: \"%.*s-host\", at: \"memory\"}\n"
            "  - {model: \"%.*s-group\", count: %d, at: \"memory\", "
            "bandwidth: \"%.*g GB/s\", latency: \"%.*g us\"}\n",
            p->name_length, p->name, p->name_length, p->name, groups, DIGITS,
            link->bytes_per_s * 1e-9, DIGITS, link->latency_s * 1e6);
}

static void print_gpu_machine(FILE *out, const emp_measurement *m, const struct place *p)
{
    const emp_link   *link = &m->machine->link[0];
    const emp_device *host = emp_machine_first(m->machine, EMP_DEVICE_CPU);

    fprintf(
        out,
        "# One GPU was measured. Others need lines of their own, and the links between "
        "them.\n"
        "description: \"a GPU and its host, measured\"\n"
        "nodes:\n"
        "  - {name: \"host:0\"}\n"
        "devices:\n"
        "  - {model: \"%s\", at: \"host:0\"}\n"
        "  - {model: \"%.*s-gpu\", at: \"host:0\", bandwidth: \"%.*g GB/s\", "
        "latency: \"%.*g us\"}\n",
        m->machine->model[host->model].name, p->name_length, p->name, DIGITS,
        link->bytes_per_s * 1e-9, DIGITS, link->latency_s * 1e6);
}

static emp_status save_machine(const emp_measurement *m, const struct place *p,
                               const emp_measure_origin *origin, emp_error *err)
{
    emp_status      st = EMP_OK;
    emp_atomic_file file = {0};

    EMP_TRY(emp_atomic_file_open(&file, p->path, err));
    print_origin(file.stream, origin);
    print_constants(file.stream, m);
    print_benchmarks(file.stream, m);
    (m->set == EMP_MICRO_CORES ? print_core_machine : print_gpu_machine)(file.stream, m,
                                                                         p);
    EMP_TRY(emp_atomic_file_commit(&file, err));

cleanup:
    emp_atomic_file_abort(&file);
    return st;
}

/* ---- all files --------------------------------------------------------------------- */

static emp_status save_models(const emp_measurement *m, const struct place *p,
                              const emp_measure_origin *origin, emp_error *err)
{
    if (m->set == EMP_MICRO_GPUS) return save_gpu(m, p, err);
    EMP_CHECK(save_model(m, p, EMP_DEVICE_CPU, origin, err));
    return save_model(m, p, EMP_DEVICE_GPU, origin, err);
}

emp_status emp_measurement_save(const emp_measurement *measurement, const char *path,
                                const emp_measure_origin *origin, emp_error *err)
{
    size_t       length = strlen(path);
    struct place p = place_of(path);

    if (length <= 5 || strcmp(path + length - 5, ".yaml") != 0)
        return EMP_ERROR(EMP_EINVAL,
                         "\"%s\" does not end in .yaml, as a machine file does", path);
    EMP_CHECK(save_models(measurement, &p, origin, err));
    EMP_CHECK(save_runtime(measurement, path, err));
    return save_machine(measurement, &p, origin, err);
}

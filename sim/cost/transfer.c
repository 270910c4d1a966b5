// SPDX-License-Identifier: GPL-3.0-or-later
#include "sim/cost/transfer.h"

#include <math.h>
#include <string.h>

#include "sim/cost/kernel.h"

enum { BLOCK_QUERIES = 128, TILE_KEYS = 64 };

/* The share of the peak of 16 bits that attention reaches where there is no measurement: FlashAttention 2 on an H100. */
static const double ATTENTION_REACHED = 1.0 / 3.0;
static const double BACKWARD = 2.5;

/* A model's time of a kernel, and the error of models of its kind. */
typedef struct {
    double seconds, error;
} estimate;

const char *emp_traced_kernel_name(emp_traced_kernel_kind kind)
{
    static const char *const names[EMP_TRACED_KINDS] = {
        "none",        "product",
        "convolution", "attention",
        "norm",        "other of known bytes",
        "unknown",     "copy over the link",
        "collective"};

    return names[kind];
}

/* ---- models of kernels ---- */

static emp_format format_of(const emp_traced_kernel *k)
{
    switch (k->dtype) {
    case EMP_DTYPE_FLOAT: return k->is_tf32 ? EMP_FORMAT_TF32 : EMP_FORMAT_FP32;
    case EMP_DTYPE_DOUBLE: return EMP_FORMAT_FP64;
    case EMP_DTYPE_HALF: return EMP_FORMAT_FP16;
    case EMP_DTYPE_INT8: return EMP_FORMAT_INT8;
    case EMP_DTYPE_FLOAT8_E4M3:
    case EMP_DTYPE_FLOAT8_E5M2: return EMP_FORMAT_FP8;
    default: return EMP_FORMAT_BF16;
    }
}

static bool knows_tf32(const emp_device *gpu)
{
    return gpu->format_flops_per_s[EMP_FORMAT_TF32] > 0.0;
}

/* PyTorch has cuDNN compute convolutions of fp32 in TF32; on GPUs without it, or whose libraries leave it unused, they
 * stay in fp32. */
static emp_format format_on(const emp_traced_kernel *k, const emp_device *from,
                            const emp_device *gpu)
{
    emp_format format = format_of(k);
    bool       is_tf32 =
        format == EMP_FORMAT_TF32 || (k->kind == EMP_TRACED_CONVOLUTION &&
                                      k->dtype == EMP_DTYPE_FLOAT && !knows_tf32(from));

    if (!is_tf32) return format;
    return knows_tf32(gpu) ? EMP_FORMAT_TF32 : EMP_FORMAT_FP32;
}

static double rate_of(const emp_device *gpu)
{
    return gpu->reached_bytes_per_s > 0.0 ? gpu->reached_bytes_per_s
                                          : gpu->memory_bytes_per_s;
}

static double half_peak(const emp_device *gpu)
{
    return fmax(gpu->peak_flops_per_s, fmax(gpu->format_flops_per_s[EMP_FORMAT_BF16],
                                            gpu->format_flops_per_s[EMP_FORMAT_FP16]));
}

static double bytes_s(double bytes, const emp_device *gpu)
{
    return gpu->kernel_minimum_s + bytes / rate_of(gpu);
}

/* Whether the constants of products are measured ones: by the rule, a wave runs at 0.8 of the peak. */
static bool has_measured_products(const emp_device *gpu)
{
    double wave_flops = 2.0 * 64 * 64 * gpu->multiprocessors;
    double share = wave_flops / gpu->gemm_per_wave_s / gpu->peak_flops_per_s;

    return gpu->gemm_per_k_s > 0.0 || fabs(share - 0.8) > 0.02;
}

/* A GPU without the format computes in fp32. */
static emp_status product_time(double *seconds, emp_form *form, const emp_device *gpu,
                               emp_product p, emp_format format)
{
    p.format = format;
    if (emp_product_time(seconds, form, gpu, &p, NULL) == EMP_OK) return EMP_OK;
    p.format = EMP_FORMAT_FP32;
    return emp_product_time(seconds, form, gpu, &p, NULL);
}

/* An unknown size: the arithmetic of a large product. */
static estimate unknown_product(const emp_traced_kernel *k, const emp_device *from,
                                const emp_device *gpu)
{
    emp_product large = {.m = 4096, .n = 4096, .k = 4096};
    double      a = 0.0, b = 0.0;
    emp_form    form;

    if (product_time(&a, &form, from, large, format_on(k, from, from)) != EMP_OK ||
        product_time(&b, &form, gpu, large, format_on(k, from, gpu)) != EMP_OK ||
        a <= 0.0)
        return (estimate){(double)k->kernel_ns * 1e-9, EMP_TRANSFER_DERIVED};
    double work_s = fmax(0.0, (double)k->kernel_ns * 1e-9 - from->kernel_minimum_s);
    return (estimate){gpu->kernel_minimum_s + work_s * b / a, EMP_TRANSFER_OTHER};
}

static estimate product(const emp_traced_kernel *k, const emp_device *from,
                        const emp_device *gpu)
{
    const double      most = 1e9; /* files may say anything */
    const emp_product p = {.m = fmin((double)k->m, most),
                           .n = fmin((double)k->n, most),
                           .k = fmin((double)k->k, most),
                           .batch = fmin((double)k->batch, most)};
    emp_form          form;
    estimate          e;

    if (k->m < 1 ||
        product_time(&e.seconds, &form, gpu, p, format_on(k, from, gpu)) != EMP_OK)
        return unknown_product(k, from, gpu);
    e.seconds = fmax(e.seconds, (double)k->bytes / rate_of(gpu));
    e.error = form == EMP_FORM_TABLE       ? EMP_TRANSFER_TABLE
              : has_measured_products(gpu) ? EMP_TRANSFER_FORMULA
                                           : EMP_TRANSFER_DERIVED;
    if (k->kind == EMP_TRACED_CONVOLUTION) e.error += EMP_TRANSFER_OTHER;
    return e;
}

static estimate attention(const emp_traced_kernel *k, const emp_device *from,
                          const emp_device *gpu)
{
    double flops_per_s = gpu->reached_attention_flops_per_s > 0.0
                             ? gpu->reached_attention_flops_per_s
                             : ATTENTION_REACHED * half_peak(gpu);
    double units = fmax(1.0, gpu->multiprocessors);

    if (k->heads < 1) {
        emp_traced_kernel large = *k;
        large.m = 0;
        return unknown_product(&large, from, gpu);
    }
    double blocks = (double)k->heads * ceil((double)k->queries / BLOCK_QUERIES);
    double tile_s = 4.0 * BLOCK_QUERIES * TILE_KEYS * (double)k->head_size /
                    (flops_per_s / units) * (k->is_backward ? BACKWARD : 1.0);
    double work_s = ceil(blocks / units) * ceil((double)k->keys / TILE_KEYS) * tile_s;
    return (estimate){gpu->kernel_minimum_s +
                          fmax(work_s, (double)k->bytes / rate_of(gpu)),
                      EMP_TRANSFER_OTHER};
}

static estimate link_copy(const emp_traced_kernel *k)
{
    return (estimate){(double)k->kernel_ns * 1e-9, EMP_TRANSFER_OTHER};
}

/* The model of a kernel on \a gpu; \a from tells what an unknown one does. */
static estimate model_of(const emp_traced_kernel *k, const emp_device *from,
                         const emp_device *gpu)
{
    double beyond_s = fmax(0.0, (double)k->kernel_ns * 1e-9 - from->kernel_minimum_s);

    switch (k->kind) {
    case EMP_TRACED_PRODUCT:
    case EMP_TRACED_CONVOLUTION: return product(k, from, gpu);
    case EMP_TRACED_ATTENTION: return attention(k, from, gpu);
    case EMP_TRACED_NORM:
    case EMP_TRACED_BYTES:
        return (estimate){bytes_s((double)k->bytes, gpu), EMP_TRANSFER_BYTES};
    case EMP_TRACED_UNKNOWN:
        return (estimate){bytes_s(beyond_s * rate_of(from), gpu), EMP_TRANSFER_OTHER};
    default: return link_copy(k);
    }
}

/* ---- from one GPU to the other ---- */

static bool is_of_bytes(const emp_traced_kernel *k)
{
    return k->kind == EMP_TRACED_NORM || k->kind == EMP_TRACED_BYTES;
}

emp_transfer_time emp_transfer_kernel(const emp_traced_kernel *k, const emp_device *from,
                                      const emp_device *to)
{
    double   measured_s = (double)k->kernel_ns * 1e-9;
    estimate a = model_of(k, from, from), b = model_of(k, from, to);
    double   scaled_s = a.seconds > 0.0 ? measured_s * b.seconds / a.seconds : measured_s;
    double   seconds = scaled_s;

    if (is_of_bytes(k) && measured_s > a.seconds)
        seconds = b.seconds + (measured_s - a.seconds) * rate_of(from) / rate_of(to);
    double off = exp(sqrt(a.error * a.error + b.error * b.error));
    double least_s = fmin(seconds, fmin(scaled_s, b.seconds)) / off;
    double most_s = fmax(seconds, fmax(scaled_s, b.seconds)) * off;
    return (emp_transfer_time){seconds, least_s, most_s};
}

static void add(emp_transfer_sum *sum, double measured_s, emp_transfer_time time)
{
    sum->count++;
    sum->measured_s += measured_s;
    sum->time.seconds += time.seconds;
    sum->time.least_s += time.least_s;
    sum->time.most_s += time.most_s;
}

emp_transfer_sum emp_transfer_total(const emp_transfer *transfer, int32_t column)
{
    emp_transfer_sum total = {0};

    for (int32_t k = 0; k < EMP_TRACED_KINDS; k++) {
        const emp_transfer_sum *s = &transfer->sum[column][k];
        total.count += s->count;
        total.measured_s += s->measured_s;
        total.time.seconds += s->time.seconds;
        total.time.least_s += s->time.least_s;
        total.time.most_s += s->time.most_s;
    }
    return total;
}

/* A GPU of the measured model keeps the times, and so does what no model says anything of. */
static void fill_column(emp_transfer *out, emp_cost_table *table, const emp_graph *graph,
                        int32_t column, const emp_device *from, const emp_device *to,
                        bool is_same)
{
    size_t first = (size_t)column * (size_t)graph->op_count;

    for (emp_op_id op = 0; op < graph->op_count; op++) {
        const emp_traced_kernel *k = &graph->traced[op];
        double                   measured_s = (double)k->kernel_ns * 1e-9;
        if (k->kind == EMP_TRACED_NO_KERNEL) continue;
        emp_transfer_time t = {measured_s, measured_s, measured_s};
        if (!is_same) t = emp_transfer_kernel(k, from, to);
        add(&out->sum[column][k->kind], measured_s, t);
        if (is_same) continue;
        double dispatch_s =
            fmax(0.0, (double)(graph->stated[op].gpu_ns - k->kernel_ns) * 1e-9);
        double factor = to->time_factor == 0.0 ? 1.0 : to->time_factor;
        table->gpu[first + (size_t)op].compute_ns =
            emp_ns_of_seconds((dispatch_s + t.seconds) * factor);
    }
}

emp_status emp_transfer_apply(emp_transfer *out, emp_cost_table *table,
                              const emp_graph *graph, const emp_machine *machine,
                              const char *name, const emp_device *from, emp_error *err)
{
    *out =
        (emp_transfer){.from = name, .column_count = table->column_count[EMP_DEVICE_GPU]};
    if (graph->traced == NULL)
        return EMP_ERROR(EMP_EINVAL,
                         "the graph is no trace with kernels of a GPU, so it has no "
                         "times of %s that could be scaled",
                         name);
    for (emp_device_id d = machine->device_count - 1; d >= 0; d--) {
        const emp_device *to = &machine->device[d];
        if (to->kind != EMP_DEVICE_GPU) continue;
        out->model[table->column_of_device[d]] = machine->model[to->model].name;
    }
    for (int32_t c = 0; c < out->column_count; c++) {
        for (emp_device_id d = 0; d < machine->device_count; d++) {
            const emp_device *to = &machine->device[d];
            if (to->kind != EMP_DEVICE_GPU || table->column_of_device[d] != c) continue;
            fill_column(out, table, graph, c, from, to,
                        emp_graph_is_same_model(out->model[c], name));
            break;
        }
    }
    return EMP_OK;
}

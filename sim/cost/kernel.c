// SPDX-License-Identifier: GPL-3.0-or-later
#include "sim/cost/kernel.h"

#include <math.h>

#include "sim/cost/cost.h"

/* Of the peak that a kernel without a table reaches: assumed, as in the files of the models. */
static const double REACHED = 0.8;

/* Rows of the smallest tile that tensor cores multiply: mma.m16n8k16 with the operands swapped
 * (PTX ISA 8.5, section 9.7.14). */
enum { LEAST_ROWS = 8 };

const char *emp_form_name(emp_form form)
{
    static const char *const names[] = {"table", "beyond", "formula", "bound", "like"};

    return names[form];
}

/* The format whose measurements serve for this one, where it has none of its own. */
static emp_format twin_of(emp_format format)
{
    return format == EMP_FORMAT_FP16   ? EMP_FORMAT_BF16
           : format == EMP_FORMAT_BF16 ? EMP_FORMAT_FP16
                                       : format;
}

/* The grid of a format or of its twin; NULL = neither was measured. */
static const emp_grid *grid_of(emp_grid *const *of_format, emp_format format)
{
    return of_format[format] != NULL ? of_format[format] : of_format[twin_of(format)];
}

static double read_grid(const emp_grid *grid, const double *size, emp_form *form)
{
    *form = emp_grid_covers(grid, size) ? EMP_FORM_TABLE : EMP_FORM_BEYOND;
    return emp_grid_at(grid, size);
}

const emp_grid *emp_product_grid(const emp_device *gpu, emp_format format)
{
    return gpu->tables == NULL ? NULL : grid_of(gpu->tables->gemm, format);
}

double emp_product_peak(const emp_device *gpu, emp_format format)
{
    if (gpu->format_flops_per_s[format] > 0.0) return gpu->format_flops_per_s[format];
    if (gpu->format_flops_per_s[twin_of(format)] > 0.0)
        return gpu->format_flops_per_s[twin_of(format)];
    return format == EMP_FORMAT_FP32 ? gpu->peak_flops_per_s : 0.0;
}

bool emp_has_formats(const emp_device *gpu)
{
    if (gpu->tables != NULL) return true;
    for (int32_t f = 0; f < EMP_FORMATS; f++)
        if (gpu->format_flops_per_s[f] > 0.0) return true;
    return false;
}

double emp_product_formula_s(const emp_device *gpu, emp_format format, int64_t m,
                             int64_t n, int64_t k, int64_t batch, bool is_conv)
{
    emp_device scaled = *gpu;

    scaled.gemm_per_wave_s *= gpu->peak_flops_per_s / emp_product_peak(gpu, format);
    while (emp_has_formats(gpu) && scaled.gemm_tile_rows > LEAST_ROWS &&
           scaled.gemm_tile_rows / 2 >= m)
        scaled.gemm_tile_rows /= 2;
    return emp_cost_gemm_s(&scaled, m, n, k, batch, is_conv);
}

static emp_status refuse_format(emp_format format, emp_error *err)
{
    return EMP_ERROR(EMP_EUNSUPPORTED, "the device model says nothing of the format %s",
                     emp_format_name(format));
}

/* The longer of both. */
static double bound_by(double formula_s, double bytes, const emp_device *gpu,
                       emp_form *form)
{
    double stream_s = bytes / gpu->memory_bytes_per_s;

    *form = stream_s > formula_s ? EMP_FORM_BOUND : EMP_FORM_FORMULA;
    return fmax(stream_s, formula_s);
}

emp_status emp_product_time(double *seconds, emp_form *form, const emp_device *gpu,
                            const emp_product *product, emp_error *err)
{
    const emp_product *p = product;
    const emp_grid    *grid = emp_product_grid(gpu, p->format);
    double             size[] = {p->m, p->n, p->k};

    if (grid != NULL) {
        *seconds = read_grid(grid, size, form);
        return EMP_OK;
    }
    if (emp_product_peak(gpu, p->format) <= 0.0) return refuse_format(p->format, err);
    double formula_s = emp_product_formula_s(gpu, p->format, (int64_t)p->m, (int64_t)p->n,
                                             (int64_t)p->k, 1, false);
    double elements = p->m * p->k + p->k * p->n + p->m * p->n;
    *seconds = bound_by(formula_s, elements * emp_format_bytes(p->format), gpu, form);
    return EMP_OK;
}

double emp_attention_flops(const emp_attention *attention)
{
    const emp_attention *a = attention;
    double products = 4.0 * a->length * a->head_size * a->kv_heads * a->group;

    return a->phase == EMP_PHASE_CONTEXT ? products * a->length / 2.0 : products;
}

/* Keys and values, and what queries read and results write. */
static double attention_bytes(const emp_attention *a)
{
    double keys = 2.0 * a->length * a->kv_heads * a->head_size;
    double tokens = a->phase == EMP_PHASE_CONTEXT ? a->length : 1.0;
    double queries = 2.0 * tokens * a->kv_heads * a->group * a->head_size;

    return (keys + queries) * emp_format_bytes(a->format);
}

emp_status emp_attention_time(double *seconds, emp_form *form, const emp_device *gpu,
                              const emp_attention *attention, emp_error *err)
{
    const emp_attention *a = attention;
    const emp_tables    *t = gpu->tables;
    const emp_grid      *grid = NULL;
    double               peak = emp_product_peak(gpu, a->format);
    double               size[] = {a->length, a->kv_heads, a->group};

    if (t != NULL) grid = grid_of(t->attention[a->phase], a->format);
    if (grid != NULL) {
        *seconds = read_grid(grid, size, form) * a->head_size / EMP_HEAD_SIZE;
        return EMP_OK;
    }
    if (peak <= 0.0) return refuse_format(a->format, err);
    double formula_s = emp_attention_flops(a) / (REACHED * peak);
    *seconds = gpu->kernel_minimum_s + bound_by(formula_s, attention_bytes(a), gpu, form);
    return EMP_OK;
}

/* What is exchanged has two bytes an element, or one, whatever they mean. */
static emp_format exchanged_as(emp_format format)
{
    return format == EMP_FORMAT_FP16  ? EMP_FORMAT_BF16
           : format == EMP_FORMAT_FP8 ? EMP_FORMAT_INT8
                                      : format;
}

/* How often a GPU sends its buffer, less its own part. */
static double sends_of(emp_collective op)
{
    return op == EMP_COLLECTIVE_ALL_REDUCE ? 2.0 : 1.0;
}

/* The table of a collective, or of the next best one, whose times count \a factor times. */
static const emp_grid *exchange_grid(double *factor, const emp_tables *tables,
                                     emp_collective op, emp_format format)
{
    static const emp_collective others[] = {
        EMP_COLLECTIVE_ALL_GATHER, EMP_COLLECTIVE_REDUCE_SCATTER,
        EMP_COLLECTIVE_ALL_REDUCE, EMP_COLLECTIVE_ALL_TO_ALL};

    *factor = 1.0;
    if (tables == NULL) return NULL;
    if (tables->collective[op][format] != NULL) return tables->collective[op][format];
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        if (tables->collective[others[i]][format] == NULL) continue;
        *factor = sends_of(op) / sends_of(others[i]);
        return tables->collective[others[i]][format];
    }
    return NULL;
}

emp_status emp_exchange_time(double *seconds, emp_form *form, const emp_device *gpu,
                             const emp_exchange *exchange, emp_error *err)
{
    const emp_exchange *e = exchange;
    emp_format          format = exchanged_as(e->format);
    double              factor, size[] = {e->gpus, e->bytes};
    const emp_grid     *grid = exchange_grid(&factor, gpu->tables, e->op, format);

    if (grid == NULL)
        return EMP_ERROR(EMP_EUNSUPPORTED,
                         "the device model has no measured collective of format %s",
                         emp_format_name(e->format));
    double most = exp(grid->knot[0][grid->points[0] - 1]), least = exp(grid->knot[0][0]);
    if (e->gpus > most + 0.5 || e->gpus < least - 0.5)
        return EMP_ERROR(EMP_EUNSUPPORTED,
                         "a collective of %.0f GPUs; the device model knows %.0f to %.0f",
                         e->gpus, least, most);
    *seconds = factor * read_grid(grid, size, form);
    if (grid != gpu->tables->collective[e->op][format]) *form = EMP_FORM_LIKE;
    return EMP_OK;
}

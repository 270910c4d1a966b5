// SPDX-License-Identifier: GPL-3.0-or-later

#include <math.h>

#include "sim/cost/cost.h"
#include "sim/cost/kernel.h"

/* Rows at which products of a table are bound by arithmetic. */
static const double MANY_ROWS = 1024.0;

static emp_format format_of_dtype(emp_dtype dtype, emp_format fp32_as)
{
    switch (dtype) {
    case EMP_DTYPE_HALF: return EMP_FORMAT_FP16;
    case EMP_DTYPE_BFLOAT16: return EMP_FORMAT_BF16;
    case EMP_DTYPE_INT8: return EMP_FORMAT_INT8;
    case EMP_DTYPE_FLOAT8_E4M3: return EMP_FORMAT_FP8;
    case EMP_DTYPE_NVFP4_W4A4: return EMP_FORMAT_FP4;
    case EMP_DTYPE_FLOAT: return fp32_as;
    default: return EMP_FORMAT_FP32;
    }
}

/* What the GPU computes the op in: the type of its output if its model does not know another one that the
 * weights would allow, and fp32 if it knows neither. */
static emp_format format_of(const emp_graph *g, emp_op_id op, const emp_device *gpu,
                            emp_format fp32_as)
{
    const emp_op_cost *c = g->op[op].cost;
    bool               has_output = g->output_offset[op + 1] > g->output_offset[op];
    emp_format         own = format_of_dtype(c->computed, fp32_as);
    emp_format         format =
        has_output ? format_of_dtype(g->tensor[g->output_offset[op]].dtype, fp32_as)
                           : EMP_FORMAT_FP32;

    if (c->computed != EMP_DTYPE_NONE && emp_product_peak(gpu, own) > 0.0) return own;
    return emp_product_peak(gpu, format) > 0.0 ? format : EMP_FORMAT_FP32;
}

/* Whether the GPU multiplies quantised weights as they are stored. Others unpack them to the type of the output. */
static bool is_native(const emp_op_cost *c, emp_format format)
{
    return c->computed != EMP_DTYPE_NONE &&
           format == format_of_dtype(c->computed, EMP_FORMAT_FP32);
}

/* Attention by the table, if its sizes are known; else < 0. */
static double attention_s(const emp_op_cost *c, const emp_device *gpu, emp_format format)
{
    bool          is_decode = c->queries == 1;
    emp_attention a = {.phase = is_decode ? EMP_PHASE_DECODE : EMP_PHASE_CONTEXT,
                       .format = format,
                       .length = (double)(is_decode ? c->keys : c->queries),
                       .kv_heads = (double)c->batch,
                       .head_size = (double)c->head_size};
    emp_form      form;
    double        seconds = -1.0;

    if (c->queries < 1 || c->keys < 1 || c->batch < 1 || c->head_size < 1) return -1.0;
    a.group = fmax(1.0, (double)c->m / (double)c->queries);
    if (emp_attention_time(&seconds, &form, gpu, &a, NULL) != EMP_OK) return -1.0;
    return seconds * c->flops / emp_attention_flops(&a);
}

/* How many times as long kernels take because they unpack quantised weights: with few rows, where the bytes
 * count, and with many. Measured by llama.cpp's authors with Llama-3.1-8B on one GPU (tools/quantize/README.md at
 * 311c2c9f): tokens of 128, less 2.9 ms that do not depend on bytes, beside F16 and Q8_0; prompts of 512 beside F16.
 * Mixes stand for their main type. Types without a line, such as q4_0, take 1 and 1.1: assumed. */
static const struct {
    int32_t ggml;
    double  few, many;
} unpacking[] = {{8, 1.0, 1.07},   {10, 1.55, 1.18}, {11, 1.45, 1.22}, {12, 1.12, 1.13},
                 {13, 1.07, 1.22}, {14, 1.1, 1.14},  {16, 2.1, 1.08},  {17, 1.95, 1.12},
                 {18, 1.75, 1.13}, {19, 2.45, 1.08}, {21, 1.6, 1.16},  {22, 1.9, 1.18},
                 {23, 1.14, 1.2},  {29, 2.4, 1.09}};

typedef struct {
    double few, many;
} unpacking_factors;

static unpacking_factors unpacking_of(const emp_op_cost *c, emp_format format)
{
    if (c->stored == EMP_DTYPE_NONE || c->stored < EMP_DTYPE_GGML || is_native(c, format))
        return (unpacking_factors){1.0, 1.0};
    for (size_t i = 0; i < sizeof unpacking / sizeof *unpacking; i++)
        if ((int32_t)c->stored - EMP_DTYPE_GGML == unpacking[i].ggml)
            return (unpacking_factors){unpacking[i].few, unpacking[i].many};
    return (unpacking_factors){1.0, 1.1};
}

/* Bytes as if those of the weights were as many as their unpacking takes. */
static double bytes_to_move(const emp_op_cost *c, emp_format format)
{
    double bytes = (double)c->bytes_read + (double)c->bytes_written;

    return bytes + (unpacking_of(c, format).few - 1.0) * (double)c->weight_bytes;
}

/* A table holds products whose matrices are stored in the format they are computed in. With few rows
 * they take as long as their bytes need, so quantised weights make them shorter; with many rows
 * they take as long as their arithmetic does, of which the rate at MANY_ROWS is a measure. */
static double table_s(const emp_grid *grid, const emp_op_cost *c, const emp_device *gpu,
                      emp_format format)
{
    double m = fmax(1.0, (double)c->m * (double)c->batch), n = fmax(1.0, (double)c->n),
           k = fmax(1.0, (double)c->k);
    double measured = emp_grid_at(grid, (double[]){m, n, k});
    double share =
        bytes_to_move(c, format) / ((m * k + k * n + m * n) * emp_format_bytes(format));

    if (c->stored == EMP_DTYPE_NONE || is_native(c, format)) return measured;
    double many = unpacking_of(c, format).many, fixed = gpu->kernel_minimum_s;
    if (share >= 1.0 || m >= MANY_ROWS) return measured * many;
    double one_row = emp_grid_at(grid, (double[]){1.0, n, k});
    double bytes_s = fixed + fmax(0.0, one_row - fixed) * share;
    double many_s = emp_grid_at(grid, (double[]){MANY_ROWS, n, k}) * m / MANY_ROWS;
    return many * fmin(measured, fmax(bytes_s / many, many_s));
}

double emp_format_product_s(const emp_graph *graph, emp_op_id op, const emp_device *gpu,
                            emp_format fp32_as)
{
    const emp_op_cost *c = graph->op[op].cost;
    emp_format         format = format_of(graph, op, gpu, fp32_as);
    double             seconds = attention_s(c, gpu, format);
    const emp_grid    *grid = emp_product_grid(gpu, format);

    if (seconds >= 0.0) return seconds;
    if (grid != NULL) return table_s(grid, c, gpu, format);
    seconds = emp_product_formula_s(gpu, format, c->m, c->n, c->k, c->batch,
                                    c->op_class == EMP_OP_CONV);
    return fmax(seconds * unpacking_of(c, format).many,
                bytes_to_move(c, format) / gpu->memory_bytes_per_s);
}

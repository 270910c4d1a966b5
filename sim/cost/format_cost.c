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
    case EMP_DTYPE_FLOAT: return fp32_as;
    default: return EMP_FORMAT_FP32;
    }
}

/* What the GPU computes the op in: fp32 if its model does not know the format. */
static emp_format format_of(const emp_graph *g, emp_op_id op, const emp_device *gpu,
                            emp_format fp32_as)
{
    bool       has_output = g->output_offset[op + 1] > g->output_offset[op];
    emp_format format =
        has_output ? format_of_dtype(g->tensor[g->output_offset[op]].dtype, fp32_as)
                   : EMP_FORMAT_FP32;

    return emp_product_peak(gpu, format) > 0.0 ? format : EMP_FORMAT_FP32;
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

/* A table holds products whose matrices are stored in the format they are computed in. With few rows
 * they take as long as their bytes need, so quantised weights make them shorter; with many rows
 * they take as long as their arithmetic does, of which the rate at MANY_ROWS is a measure. */
static double table_s(const emp_grid *grid, const emp_op_cost *c, const emp_device *gpu,
                      emp_format format)
{
    double m = fmax(1.0, (double)c->m * (double)c->batch), n = fmax(1.0, (double)c->n),
           k = fmax(1.0, (double)c->k);
    double measured = emp_grid_at(grid, (double[]){m, n, k});
    double share = ((double)c->bytes_read + (double)c->bytes_written) /
                   ((m * k + k * n + m * n) * emp_format_bytes(format));

    if (share >= 1.0 || m >= MANY_ROWS) return measured;
    double fixed = gpu->kernel_minimum_s;
    double one_row = emp_grid_at(grid, (double[]){1.0, n, k});
    double bytes_s = fixed + fmax(0.0, one_row - fixed) * share;
    double many_s = emp_grid_at(grid, (double[]){MANY_ROWS, n, k});
    return fmin(measured, fmax(bytes_s, many_s * m / MANY_ROWS));
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
    return emp_product_formula_s(gpu, format, c->m, c->n, c->k, c->batch,
                                 c->op_class == EMP_OP_CONV);
}

// SPDX-License-Identifier: GPL-3.0-or-later
#include "sim/cost/format_cost.h"

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

static const emp_shape *shape_of_input(const emp_graph *g, emp_op_id op, int32_t input)
{
    return &g->tensor[g->input[g->input_offset[op] + input]].shape;
}

/* Sizes of attention from its queries [batch, queries, heads, size] and keys; false: one is not
 * known. */
static bool describe_attention(emp_attention *a, const emp_shape *q, const emp_shape *k)
{
    if (q->rank != 4 || k->rank != 4 || !emp_shape_is_known(q) || !emp_shape_is_known(k))
        return false;
    for (int32_t d = 0; d < 4; d++)
        if (q->dim[d] < 1 || k->dim[d] < 1) return false;
    a->phase = q->dim[1] == 1 ? EMP_PHASE_DECODE : EMP_PHASE_CONTEXT;
    a->length = (double)(a->phase == EMP_PHASE_DECODE ? k->dim[1] : q->dim[1]);
    a->kv_heads = (double)q->dim[0] * (double)k->dim[2];
    a->group = fmax(1.0, (double)q->dim[2] / (double)k->dim[2]);
    a->head_size = (double)q->dim[3];
    return true;
}

/* Attention by the table, if there is one of it; else < 0. */
static double attention_s(const emp_graph *g, emp_op_id op, const emp_device *gpu,
                          emp_format format)
{
    const emp_op_cost *c = &g->op[op].cost;
    int32_t            first = c->work == EMP_WORK_ATTENTION_GRAD ? 1 : 0;
    emp_attention      a = {.format = format};
    emp_form           form;
    double             seconds = -1.0;

    if (c->work != EMP_WORK_ATTENTION && c->work != EMP_WORK_ATTENTION_GRAD) return -1.0;
    if (!describe_attention(&a, shape_of_input(g, op, first),
                            shape_of_input(g, op, first + 1)))
        return -1.0;
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
    const emp_op_cost *c = &graph->op[op].cost;
    emp_format         format = format_of(graph, op, gpu, fp32_as);
    double             seconds = attention_s(graph, op, gpu, format);
    const emp_grid    *grid = emp_product_grid(gpu, format);

    if (seconds >= 0.0) return seconds;
    if (grid != NULL) return table_s(grid, c, gpu, format);
    return emp_product_formula_s(gpu, format, c->m, c->n, c->k, c->batch,
                                 c->op_class == EMP_OP_CONV);
}

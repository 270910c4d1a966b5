// SPDX-License-Identifier: GPL-3.0-or-later
#include "policy/hsdag/strips.h"

#include <string.h>

#include "policy/nn/layers.h"
#include "policy/nn/products.h"
#include "policy/nn/threads.h"

static const emp_param_slice *slice_of(const emp_hsdag_net *n, int32_t slice)
{
    return &n->params.slice[slice];
}

/* Where row `first` of an array begins that may not be there. */
static const emp_real *row_of(const emp_real *array, int64_t first, int32_t cols)
{
    return array != NULL ? array + first * cols : NULL;
}

/* ---- products ---- */

/* The matrix of a product: packed, or for BLAS. */
typedef struct {
    emp_panels panels;
    bool       is_packed;
    int32_t    team;
} operand;

static operand pack(emp_hsdag_net *n, int32_t map, int32_t rows, bool transpose)
{
    const emp_param_slice *s = slice_of(n, map);
    operand                o = {.panels = {.data = n->packed,
                                           .rows = transpose ? s->cols : s->rows,
                                           .cols = transpose ? s->rows : s->cols,
                                           .width = EMP_PANEL_COLS},
                                .team = 1};
    const int32_t          depth = o.panels.rows, cols = o.panels.cols;

    o.is_packed = emp_tall_suits(rows, depth, cols);
    if (!o.is_packed) return o;
    emp_panels_pack(&o.panels, emp_params_value(&n->params, map), transpose);
    o.team = emp_team_size((int64_t)rows * depth * cols, n->threads);
    return o;
}

static int32_t strip_of(int32_t first, int32_t rows)
{
    return rows - first < EMP_STRIP_ROWS ? rows - first : EMP_STRIP_ROWS;
}

/* ---- forward ---- */

EMP_KERNEL static void multiply_ends(emp_real *product, const emp_real *x,
                                     const int32_t *end, int64_t rows, int64_t W)
{
    for (int64_t r = 0; r < rows; r++) {
        const emp_real *xu = &x[end[2 * r] * W], *xv = &x[end[2 * r + 1] * W];
#pragma omp simd
        for (int64_t i = 0; i < W; i++) product[r * W + i] = xu[i] * xv[i];
    }
}

void emp_hsdag_multiply_ends(emp_real *product, const emp_real *x, const int32_t *end,
                             int32_t first, int32_t count, int32_t W)
{
    multiply_ends(product, x, end + 2 * (int64_t)first, count, W);
}

EMP_KERNEL static void add_both(emp_real *restrict y, const emp_real *a,
                                const emp_real *b, int64_t count)
{
    for (int64_t i = 0; i < count; i++) y[i] = a[i] + b[i];
}

static void write_x(const emp_hsdag_net *n, const emp_hsdag_map *m, int32_t first,
                    int32_t count)
{
    const int32_t          W = n->shape.width;
    const emp_hsdag_graph *g = &m->level->graph;
    emp_real              *x = m->x_out + (int64_t)first * W;

    if (m->mixes != NULL)
        emp_graph_conv(x, m->mixes, g->first, g->node, first, first + count, W);
    else
        emp_hsdag_multiply_ends(x, m->of_ends, m->level->end, first, count, W);
}

static void finish(const emp_hsdag_net *n, const emp_hsdag_map *m, int32_t first,
                   int32_t count, emp_rng *rng)
{
    const int32_t   cols = slice_of(n, m->map)->cols;
    const int64_t   at = (int64_t)first * cols, numbers = (int64_t)count * cols;
    const emp_real *sum = m->y + at;

    if (m->drops) emp_relu_dropout_forward(m->y + at, numbers, n->shape.dropout, rng);
    if (m->to == NULL) return;
    if (m->plus != NULL) {
        add_both(m->to->normal + at, m->plus + at, m->y + at, numbers);
        sum = m->to->normal + at;
    }
    emp_layer_norm_forward(m->out + at, m->to->normal + at, m->to->inverse + first, sum,
                           emp_params_value(&n->params, m->norm),
                           emp_params_value(&n->params, m->norm + 1), count, cols, 1);
    if (m->drops_out)
        emp_relu_dropout_forward(m->out + at, numbers, n->shape.dropout, rng);
}

static void multiply_at_once(const emp_hsdag_net *n, const emp_hsdag_map *m)
{
    const emp_param_slice *s = slice_of(n, m->map);

    if (m->x_out != NULL)
        for (int32_t first = 0; first < m->rows; first += EMP_STRIP_ROWS)
            write_x(n, m, first, strip_of(first, m->rows));
    emp_linear_forward(m->y, m->x, emp_params_value(&n->params, m->map),
                       emp_params_value(&n->params, m->map + 1), m->rows, s->rows,
                       s->cols, n->threads);
}

void emp_hsdag_apply(emp_hsdag_net *n, const emp_hsdag_map *m, emp_rng *rng)
{
    const operand          w = pack(n, m->map, m->rows, false);
    const emp_param_slice *s = slice_of(n, m->map);

    if (!w.is_packed) multiply_at_once(n, m);
#pragma omp parallel for ordered schedule(static, 1) num_threads(w.team)
    for (int32_t first = 0; first < m->rows; first += EMP_STRIP_ROWS) {
        const unsigned saved = emp_flush_begin();
        const int32_t  count = strip_of(first, m->rows);
        if (w.is_packed && m->x_out != NULL) write_x(n, m, first, count);
        if (w.is_packed)
            emp_panels_rows(&w.panels, m->y + (int64_t)first * s->cols,
                            emp_params_value(&n->params, m->map + 1), 0,
                            m->x + (int64_t)first * s->rows, count);
#pragma omp ordered
        finish(n, m, first, count, rng);
        emp_flush_end(saved);
    }
}

/* ---- backward ---- */

static void fill(const emp_hsdag_net *n, const emp_hsdag_map_back *m, int32_t first,
                 int32_t count)
{
    const int32_t          W = n->shape.width;
    const emp_hsdag_level *v = m->level;
    emp_real              *dy = m->dy + (int64_t)first * W;

    if (m->mixes != NULL)
        emp_graph_conv(dy, m->mixes, v->graph.first, v->graph.node, first, first + count,
                       W);
    for (int32_t r = 0; r < count && m->spread != NULL; r++, dy += W)
        memcpy(dy, m->spread + (int64_t)v->group_of_node[first + r] * W,
               (size_t)W * sizeof *dy);
}

/* To the gradient of what the map makes. */
static void undo(emp_hsdag_net *n, const emp_hsdag_map_back *m, int32_t first,
                 int32_t count)
{
    const int32_t cols = slice_of(n, m->map)->cols;
    const int64_t at = (int64_t)first * cols, numbers = (int64_t)count * cols;
    emp_real     *dy = m->dy + at;

    if (m->out != NULL)
        emp_relu_dropout_backward(dy, m->out + at, numbers, n->shape.dropout);
    if (m->from != NULL)
        emp_layer_norm_backward(dy, emp_params_gradient(&n->params, m->norm),
                                emp_params_gradient(&n->params, m->norm + 1), dy,
                                m->from->normal + at, m->from->inverse + first,
                                emp_params_value(&n->params, m->norm), count, cols, 1);
    if (m->copy != NULL) memcpy(m->copy + at, dy, (size_t)numbers * sizeof *dy);
    if (m->total != NULL) emp_vector_add(m->total + at, dy, numbers);
    if (m->y != NULL) emp_relu_dropout_backward(dy, m->y + at, numbers, n->shape.dropout);
    emp_outer_add_rows(emp_params_gradient(&n->params, m->map + 1), dy, cols, cols,
                       count);
}

static void multiply_back_at_once(const emp_hsdag_net *n, const emp_hsdag_map_back *m)
{
    const emp_param_slice *s = slice_of(n, m->map);

    emp_blas_gemm_shared(false, true, m->rows, s->rows, s->cols, m->dy, s->cols,
                         emp_params_value(&n->params, m->map), s->cols, 0, m->dx, s->rows,
                         n->threads);
    if (m->start != NULL) emp_vector_add(m->dx, m->start, (int64_t)m->rows * s->rows);
}

void emp_hsdag_apply_backward(emp_hsdag_net *n, const emp_hsdag_map_back *m)
{
    const emp_param_slice *s = slice_of(n, m->map);
    operand                w = {.team = 1};

    if (m->dx != NULL) w = pack(n, m->map, m->rows, true);
#pragma omp parallel for ordered schedule(static, 1) num_threads(w.team)
    for (int32_t first = 0; first < m->rows; first += EMP_STRIP_ROWS) {
        const unsigned saved = emp_flush_begin();
        const int32_t  count = strip_of(first, m->rows);
        fill(n, m, first, count);
#pragma omp ordered
        undo(n, m, first, count);
        if (w.is_packed)
            emp_panels_rows(&w.panels, m->dx + (int64_t)first * s->rows,
                            row_of(m->start, first, s->rows), s->rows,
                            m->dy + (int64_t)first * s->cols, count);
        emp_flush_end(saved);
    }
    if (m->dx != NULL && !w.is_packed) multiply_back_at_once(n, m);
    emp_blas_gemm_shared(true, false, s->rows, s->cols, m->rows, m->x, s->rows, m->dy,
                         s->cols, 1, emp_params_gradient(&n->params, m->map), s->cols,
                         n->threads);
}

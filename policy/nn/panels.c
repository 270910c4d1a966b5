// SPDX-License-Identifier: GPL-3.0-or-later
#include "policy/nn/panels.h"

#include <string.h>

#include "base/mem.h"

/* One register of AVX-512; narrower machines split it. */
typedef emp_real vec
    __attribute__((vector_size(64), aligned(sizeof(emp_real)), may_alias));

/* A narrow matrix has panels of one register. Packing reads lines of LANES numbers. */
enum { LANES = 64 / (int)sizeof(emp_real), VECS = 4, WIDTH = VECS * LANES, ROWS = 6 };

static int32_t panel_count(const emp_panels *p)
{
    return (p->cols + p->width - 1) / p->width;
}

emp_status emp_panels_init(emp_panels *panels, int32_t rows, int32_t cols, emp_error *err)
{
    *panels = (emp_panels){
        .rows = rows, .cols = cols, .width = cols > LANES ? (int32_t)WIDTH : LANES};
    EMP_CHECK(EMP_ALLOC(panels->data, (size_t)panel_count(panels) * (size_t)rows *
                                          (size_t)panels->width));
    return EMP_OK;
}

void emp_panels_clear(emp_panels *panels)
{
    emp_free(panels->data);
    *panels = (emp_panels){0};
}

static void pack_rows(emp_real *out, const emp_real *w, int64_t rows, int64_t cols,
                      int64_t count, int64_t width)
{
    for (int64_t r = 0; r < rows; r++)
        memcpy(&out[r * width], &w[r * cols], (size_t)count * sizeof *out);
}

/* Some rows of the panel at a time, so that each line of w is read once. */
static void pack_columns(emp_real *out, const emp_real *w, int64_t rows, int64_t count,
                         int64_t width)
{
    for (int64_t first = 0; first < rows; first += LANES) {
        int64_t end = rows - first < LANES ? rows : first + LANES;
        for (int64_t c = 0; c < count; c++) {
            for (int64_t r = first; r < end; r++) out[r * width + c] = w[c * rows + r];
        }
    }
}

void emp_panels_pack(emp_panels *panels, const emp_real *w, bool transpose)
{
    int64_t   rows = panels->rows, cols = panels->cols, width = panels->width;
    emp_real *out = panels->data;

    for (int64_t first = 0; first < cols; first += width, out += rows * width) {
        int64_t count = cols - first < width ? cols - first : width;
        if (transpose)
            pack_columns(out, &w[first * rows], rows, count, width);
        else
            pack_rows(out, &w[first], rows, cols, count, width);
    }
}

/* Operands of some rows: y = start + x W. */
typedef struct {
    emp_real       *y;
    const emp_real *x, *start; /* y itself, or a bias with stride 0 */
    int64_t         y_stride, x_stride, start_stride, depth;
} task;

/* `count` rows (a constant after inlining, as is `vecs`) of one panel, accumulated in
 * registers; columns beyond the matrix are dropped. */
__attribute__((always_inline)) static inline void
multiply_panel(const task *t, int64_t row, const emp_real *panel, int64_t width,
               const int count, const int vecs)
{
    vec             acc[ROWS][VECS];
    int64_t         x_stride = t->x_stride, depth = t->depth;
    const emp_real *x = t->x + row * x_stride;

    /* One by one: an initializer would first clear the array in memory. */
    for (int r = 0; r < count; r++) {
        for (int v = 0; v < vecs; v++) acc[r][v] = (vec){0};
    }
    for (int64_t k = 0; k < depth; k++, panel += vecs * LANES) {
        const vec *w = (const vec *)panel;
        for (int r = 0; r < count; r++) {
            for (int v = 0; v < vecs; v++) acc[r][v] += x[r * x_stride + k] * w[v];
        }
    }
    for (int r = 0; r < count; r++) {
        emp_real       *y = t->y + (row + r) * t->y_stride;
        const emp_real *start = t->start + (row + r) * t->start_stride;
        if (width == vecs * LANES) {
            for (int v = 0; v < vecs; v++)
                ((vec *)y)[v] = ((const vec *)start)[v] + acc[r][v];
        } else {
            emp_real sum[WIDTH] = {0};
            for (int v = 0; v < vecs; v++) *(vec *)&sum[v * LANES] = acc[r][v];
            for (int64_t c = 0; c < width; c++) y[c] = start[c] + sum[c];
        }
    }
}

__attribute__((always_inline)) static inline void
multiply_rows(const task *t, int64_t count, const emp_real *panel, int64_t width,
              const int vecs)
{
    int64_t row = 0;

    for (; row + ROWS <= count; row += ROWS)
        multiply_panel(t, row, panel, width, ROWS, vecs);
    switch (count - row) {
    case 1: multiply_panel(t, row, panel, width, 1, vecs); break;
    case 2: multiply_panel(t, row, panel, width, 2, vecs); break;
    case 3: multiply_panel(t, row, panel, width, 3, vecs); break;
    case 4: multiply_panel(t, row, panel, width, 4, vecs); break;
    case 5: multiply_panel(t, row, panel, width, 5, vecs); break;
    default: break;
    }
}

EMP_KERNEL static void multiply_wide(const task *t, int64_t count, const emp_real *panel,
                                     int64_t width)
{
    multiply_rows(t, count, panel, width, VECS);
}

EMP_KERNEL static void multiply_narrow(const task *t, int64_t count,
                                       const emp_real *panel, int64_t width)
{
    multiply_rows(t, count, panel, width, 1);
}

static void multiply(const emp_panels *panels, const task *whole, int32_t count,
                     emp_panels_pass pass)
{
    int64_t all = panel_count(panels), width = panels->width;
    int64_t low = all * pass.part / pass.parts, high = all * (pass.part + 1) / pass.parts;

    for (int64_t i = low; i < high; i++) {
        int64_t p = pass.descends ? low + high - 1 - i : i, first = p * width;
        int64_t cols = panels->cols - first < width ? panels->cols - first : width;
        const emp_real *panel = panels->data + first * panels->rows;
        task            t = *whole;
        t.depth = panels->rows;
        t.y += first;
        t.start += first;
        if (width == WIDTH)
            multiply_wide(&t, count, panel, cols);
        else
            multiply_narrow(&t, count, panel, cols);
    }
}

void emp_panels_multiply(const emp_panels *panels, emp_real *y, int64_t y_stride,
                         const emp_real *x, int64_t x_stride, int32_t count,
                         emp_panels_pass pass)
{
    const task t = {.y = y,
                    .x = x,
                    .start = y,
                    .y_stride = y_stride,
                    .x_stride = x_stride,
                    .start_stride = y_stride};

    multiply(panels, &t, count, pass);
}

void emp_panels_affine(const emp_panels *panels, emp_real *y, int64_t y_stride,
                       const emp_real *bias, const emp_real *x, int64_t x_stride,
                       int32_t count)
{
    const task t = {
        .y = y, .x = x, .start = bias, .y_stride = y_stride, .x_stride = x_stride};

    multiply(panels, &t, count, (emp_panels_pass){0, 1, false});
}

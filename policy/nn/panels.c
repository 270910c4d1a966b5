// SPDX-License-Identifier: GPL-3.0-or-later
#include "policy/nn/panels.h"

#include <string.h>

#include "base/mem.h"

/* A narrow matrix has panels of one long register. Packing reads lines of LANES numbers. The sums of
 * ROWS rows stay in registers: VECS long ones a row, or shorter ones that have LANES numbers together. */
enum { LANES = EMP_PANEL_LANES, WIDTH = EMP_PANEL_COLS, VECS = WIDTH / LANES, ROWS = 6 };

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
    const emp_real *x, *start; /* y itself, a bias with stride 0, or NULL for zeros */
    int64_t         y_stride, x_stride, start_stride;
    int64_t         first, depth; /* rows of W */
} task;

#define VEC_BYTES   EMP_LONG_VECTOR
#define NAMED(name) name##_long
#include "policy/nn/panels_rows.inc"

#define VEC_BYTES   EMP_MIDDLE_VECTOR
#define NAMED(name) name##_middle
#include "policy/nn/panels_rows.inc"

#define VEC_BYTES   EMP_SHORT_VECTOR
#define NAMED(name) name##_short
#include "policy/nn/panels_rows.inc"

EMP_KERNEL static void multiply_wide(const task *t, int64_t count, const emp_real *panel,
                                     int64_t width)
{
    if (t->start == NULL)
        multiply_rows_long(t, count, panel, WIDTH, width, VECS, false);
    else
        multiply_rows_long(t, count, panel, WIDTH, width, VECS, true);
}

EMP_KERNEL static void multiply_narrow(const task *t, int64_t count,
                                       const emp_real *panel, int64_t width)
{
    if (t->start == NULL)
        multiply_rows_long(t, count, panel, LANES, width, 1, false);
    else
        multiply_rows_long(t, count, panel, LANES, width, 1, true);
}

/* At most LANES columns of a panel whose rows have `stride`. */
EMP_KERNEL static void multiply_middle(const task *t, int64_t count,
                                       const emp_real *panel, int64_t stride,
                                       int64_t width)
{
    enum { ALL = EMP_LONG_VECTOR / EMP_MIDDLE_VECTOR };

    if (t->start == NULL)
        multiply_rows_middle(t, count, panel, stride, width, ALL, false);
    else
        multiply_rows_middle(t, count, panel, stride, width, ALL, true);
}

EMP_KERNEL static void multiply_short(const task *t, int64_t count, const emp_real *panel,
                                      int64_t stride, int64_t width)
{
    enum { ALL = EMP_LONG_VECTOR / EMP_SHORT_VECTOR };

    if (t->start == NULL)
        multiply_rows_short(t, count, panel, stride, width, ALL, false);
    else
        multiply_rows_short(t, count, panel, stride, width, ALL, true);
}

static task from_column(const task *whole, int64_t first)
{
    task t = *whole;

    t.y += first;
    if (t.start != NULL) t.start += first;
    return t;
}

static void multiply_columns(const task *t, int64_t count, const emp_real *panel,
                             int64_t stride, int64_t cols)
{
    if (emp_has_avx512()) {
        if (stride == WIDTH)
            multiply_wide(t, count, panel, cols);
        else
            multiply_narrow(t, count, panel, cols);
        return;
    }
    for (int64_t first = 0; first < cols; first += LANES) {
        const task    of = from_column(t, first);
        const int64_t width = cols - first < LANES ? cols - first : LANES;
        if (emp_has_avx2())
            multiply_middle(&of, count, panel + first, stride, width);
        else
            multiply_short(&of, count, panel + first, stride, width);
    }
}

static void multiply(const emp_panels *panels, const task *whole, int32_t count,
                     emp_panels_pass pass)
{
    int64_t all = panel_count(panels), width = panels->width;
    int64_t low = all * pass.part / pass.parts, high = all * (pass.part + 1) / pass.parts;

    for (int64_t i = low; i < high; i++) {
        int64_t p = pass.descends ? low + high - 1 - i : i, first = p * width;
        int64_t cols = panels->cols - first < width ? panels->cols - first : width;
        const emp_real *panel =
            panels->data + first * panels->rows + whole->first * width;
        const task t = from_column(whole, first);
        multiply_columns(&t, count, panel, width, cols);
    }
}

void emp_panels_part(const emp_panels *panels, emp_real *y, int64_t y_stride,
                     const emp_real *start, int64_t start_stride, const emp_real *x,
                     int64_t x_stride, int32_t count, int32_t first, int32_t depth)
{
    const task t = {.y = y,
                    .x = x + first,
                    .start = start,
                    .y_stride = y_stride,
                    .x_stride = x_stride,
                    .start_stride = start_stride,
                    .first = first,
                    .depth = depth};

    multiply(panels, &t, count, (emp_panels_pass){0, 1, false});
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
                    .start_stride = y_stride,
                    .depth = panels->rows};

    multiply(panels, &t, count, pass);
}

void emp_panels_affine(const emp_panels *panels, emp_real *y, int64_t y_stride,
                       const emp_real *bias, const emp_real *x, int64_t x_stride,
                       int32_t count)
{
    const task t = {.y = y,
                    .x = x,
                    .start = bias,
                    .y_stride = y_stride,
                    .x_stride = x_stride,
                    .depth = panels->rows};

    multiply(panels, &t, count, (emp_panels_pass){0, 1, false});
}

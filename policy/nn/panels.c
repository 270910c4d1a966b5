// SPDX-License-Identifier: GPL-3.0-or-later
#include "policy/nn/panels.h"

#include <string.h>

#include "base/mem.h"

/* One register of AVX-512; narrower machines split it. */
typedef emp_real vec
    __attribute__((vector_size(64), aligned(sizeof(emp_real)), may_alias));

/* A narrow matrix has panels of one register. Packing reads lines of LANES numbers. */
enum { LANES = EMP_PANEL_LANES, WIDTH = EMP_PANEL_COLS, VECS = WIDTH / LANES, ROWS = 6 };

bool emp_panels_has_registers(void)
{
#if EMP_HAS_CLONES
    return __builtin_cpu_supports("avx512f");
#else
    return false;
#endif
}

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

/* Stores sums of whole panels; `count`, `vecs` and `has_start` are constants after inlining, here and
 * below. */
__attribute__((always_inline)) static inline void
store_whole(const task *t, int64_t row, vec acc[ROWS][VECS], const int count,
            const int vecs, const bool has_start)
{
    EMP_UNROLL
    for (int r = 0; r < count; r++) {
        vec       *y = (vec *)(t->y + (row + r) * t->y_stride);
        const vec *start =
            has_start ? (const vec *)(t->start + (row + r) * t->start_stride) : NULL;
        EMP_UNROLL
        for (int v = 0; v < vecs; v++) {
            if (has_start)
                y[v] = start[v] + acc[r][v];
            else
                y[v] = acc[r][v];
        }
    }
}

/* The first `width` columns. */
__attribute__((always_inline)) static inline void
store_part(const task *t, int64_t row, vec acc[ROWS][VECS], int64_t width,
           const int count, const int vecs, const bool has_start)
{
    EMP_UNROLL
    for (int r = 0; r < count; r++) {
        emp_real        sum[WIDTH] = {0}, *y = t->y + (row + r) * t->y_stride;
        const emp_real *start = has_start ? t->start + (row + r) * t->start_stride : NULL;
        EMP_UNROLL
        for (int v = 0; v < vecs; v++) *(vec *)&sum[v * LANES] = acc[r][v];
        for (int64_t c = 0; c < width; c++) y[c] = has_start ? start[c] + sum[c] : sum[c];
    }
}

/* Rows of one panel, accumulated in registers; columns beyond the matrix are dropped. */
__attribute__((always_inline)) static inline void
multiply_panel(const task *t, int64_t row, const emp_real *panel, int64_t width,
               const int count, const int vecs, const bool has_start)
{
    vec             acc[ROWS][VECS];
    int64_t         x_stride = t->x_stride, depth = t->depth;
    const emp_real *x = t->x + row * x_stride;

    /* One by one: an initializer would first clear the array in memory. */
    EMP_UNROLL
    for (int r = 0; r < count; r++) {
        EMP_UNROLL
        for (int v = 0; v < vecs; v++) acc[r][v] = (vec){0};
    }
    for (int64_t k = 0; k < depth; k++, panel += vecs * LANES) {
        const vec *w = (const vec *)panel;
        EMP_UNROLL
        for (int r = 0; r < count; r++) {
            EMP_UNROLL
            for (int v = 0; v < vecs; v++) acc[r][v] += x[r * x_stride + k] * w[v];
        }
    }
    if (width == vecs * LANES)
        store_whole(t, row, acc, count, vecs, has_start);
    else
        store_part(t, row, acc, width, count, vecs, has_start);
}

__attribute__((always_inline)) static inline void
multiply_rows(const task *t, int64_t count, const emp_real *panel, int64_t width,
              const int vecs, const bool has_start)
{
    int64_t row = 0;

    for (; row + ROWS <= count; row += ROWS)
        multiply_panel(t, row, panel, width, ROWS, vecs, has_start);
    switch (count - row) {
    case 1: multiply_panel(t, row, panel, width, 1, vecs, has_start); break;
    case 2: multiply_panel(t, row, panel, width, 2, vecs, has_start); break;
    case 3: multiply_panel(t, row, panel, width, 3, vecs, has_start); break;
    case 4: multiply_panel(t, row, panel, width, 4, vecs, has_start); break;
    case 5: multiply_panel(t, row, panel, width, 5, vecs, has_start); break;
    default: break;
    }
}

EMP_KERNEL static void multiply_wide(const task *t, int64_t count, const emp_real *panel,
                                     int64_t width)
{
    if (t->start == NULL)
        multiply_rows(t, count, panel, width, VECS, false);
    else
        multiply_rows(t, count, panel, width, VECS, true);
}

EMP_KERNEL static void multiply_narrow(const task *t, int64_t count,
                                       const emp_real *panel, int64_t width)
{
    if (t->start == NULL)
        multiply_rows(t, count, panel, width, 1, false);
    else
        multiply_rows(t, count, panel, width, 1, true);
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
        task t = *whole;
        t.y += first;
        if (t.start != NULL) t.start += first;
        if (width == WIDTH)
            multiply_wide(&t, count, panel, cols);
        else
            multiply_narrow(&t, count, panel, cols);
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

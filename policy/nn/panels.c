// SPDX-License-Identifier: GPL-3.0-or-later
#include "policy/nn/panels.h"

#include <string.h>

#include "base/mem.h"

/* One register of AVX-512; narrower machines split it. */
typedef emp_real vec
    __attribute__((vector_size(64), aligned(sizeof(emp_real)), may_alias));

enum { LANES = 64 / (int)sizeof(emp_real), VECS = 4, WIDTH = VECS * LANES, ROWS = 4 };

static int32_t panel_count(int32_t cols) { return (cols + WIDTH - 1) / WIDTH; }

emp_status emp_panels_init(emp_panels *panels, int32_t rows, int32_t cols, emp_error *err)
{
    emp_status st = EMP_OK;

    *panels = (emp_panels){.rows = rows, .cols = cols};
    panels->data =
        EMP_NEW_ARRAY(emp_real, (size_t)panel_count(cols) * (size_t)rows * WIDTH);
    if (panels->data == NULL) EMP_FAIL(EMP_ENOMEM, "packed %d x %d matrix", rows, cols);

cleanup:
    return st;
}

void emp_panels_clear(emp_panels *panels)
{
    emp_free(panels->data);
    *panels = (emp_panels){0};
}

void emp_panels_pack(emp_panels *panels, const emp_real *w, bool transpose)
{
    int64_t   rows = panels->rows, cols = panels->cols;
    emp_real *out = panels->data;

    for (int64_t first = 0; first < cols; first += WIDTH) {
        int64_t width = cols - first < WIDTH ? cols - first : WIDTH;
        if (transpose) {
            for (int64_t c = 0; c < width; c++) {
                for (int64_t r = 0; r < rows; r++) {
                    out[r * WIDTH + c] = w[(first + c) * rows + r];
                }
            }
        } else {
            for (int64_t r = 0; r < rows; r++) {
                memcpy(&out[r * WIDTH], &w[r * cols + first],
                       (size_t)width * sizeof *out);
            }
        }
        out += rows * WIDTH;
    }
}

/* `count` rows (a constant after inlining) of one panel, accumulated in registers;
 * columns beyond the matrix are dropped. */
__attribute__((always_inline)) static inline void
multiply_panel(emp_real *y, int64_t y_stride, const emp_real *x, int64_t x_stride,
               const emp_real *panel, int64_t depth, int64_t width, const int count)
{
    vec acc[ROWS][VECS] = {{{0}}};

    for (int64_t k = 0; k < depth; k++, panel += WIDTH) {
        const vec *w = (const vec *)panel;
        for (int r = 0; r < count; r++) {
            for (int v = 0; v < VECS; v++) acc[r][v] += x[r * x_stride + k] * w[v];
        }
    }
    for (int r = 0; r < count; r++) {
        emp_real sum[WIDTH];
        for (int v = 0; v < VECS; v++) *(vec *)&sum[v * LANES] = acc[r][v];
        for (int64_t c = 0; c < width; c++) y[r * y_stride + c] += sum[c];
    }
}

EMP_KERNEL static void multiply_rows(const emp_real *data, int64_t depth, int64_t cols,
                                     emp_real *y, int64_t y_stride, const emp_real *x,
                                     int64_t x_stride, int32_t count)
{
    for (int64_t first = 0; first < cols; first += WIDTH, data += depth * WIDTH) {
        int64_t   width = cols - first < WIDTH ? cols - first : WIDTH;
        emp_real *out = y + first;
        switch (count) {
        case 1: multiply_panel(out, y_stride, x, x_stride, data, depth, width, 1); break;
        case 2: multiply_panel(out, y_stride, x, x_stride, data, depth, width, 2); break;
        case 3: multiply_panel(out, y_stride, x, x_stride, data, depth, width, 3); break;
        default: multiply_panel(out, y_stride, x, x_stride, data, depth, width, ROWS);
        }
    }
}

void emp_panels_multiply(const emp_panels *panels, emp_real *y, int64_t y_stride,
                         const emp_real *x, int64_t x_stride, int32_t count)
{
    for (int32_t r = 0; r < count; r += ROWS) {
        multiply_rows(panels->data, panels->rows, panels->cols, y + r * y_stride,
                      y_stride, x + r * x_stride, x_stride,
                      count - r < ROWS ? count - r : ROWS);
    }
}

// SPDX-License-Identifier: GPL-3.0-or-later
#include "policy/nn/outer.h"

/* One register of AVX-512; narrower machines split it. */
typedef emp_real vec
    __attribute__((vector_size(64), aligned(sizeof(emp_real)), may_alias));

/* A tile of dw has so many rows and registers a row. */
enum { LANES = 64 / (int)sizeof(emp_real), TALL = 6, VECS = 4 };

/* Operands of a tile. */
typedef struct {
    emp_real       *dw;
    const emp_real *x, *dy;
    int64_t         dw_stride, x_stride, dy_stride, rows;
} task;

/* Adds the sums of a tile; `tall` and `vecs` are constants after inlining, here and below. */
__attribute__((always_inline)) static inline void add_sums(emp_real *dw, int64_t stride,
                                                           vec     acc[TALL][VECS],
                                                           int64_t width, const int tall,
                                                           const int vecs)
{
    if (width == vecs * LANES) {
        EMP_UNROLL
        for (int i = 0; i < tall; i++) {
            EMP_UNROLL
            for (int v = 0; v < vecs; v++) ((vec *)(dw + i * stride))[v] += acc[i][v];
        }
    } else {
        for (int i = 0; i < tall; i++)
            for (int64_t c = 0; c < width; c++)
                dw[i * stride + c] += acc[i][c / LANES][c % LANES];
    }
}

/* `tall` rows and `vecs` registers of dw, of which `width` columns exist. */
__attribute__((always_inline)) static inline void add_tile(const task *t, int64_t row,
                                                           int64_t col, int64_t width,
                                                           const int tall, const int vecs)
{
    vec             acc[TALL][VECS];
    const emp_real *x = t->x + row, *dy = t->dy + col;

    /* One by one: an initializer would first clear the array in memory. */
    EMP_UNROLL
    for (int i = 0; i < tall; i++) {
        EMP_UNROLL
        for (int v = 0; v < vecs; v++) acc[i][v] = (vec){0};
    }
    for (int64_t r = 0; r < t->rows; r++, x += t->x_stride, dy += t->dy_stride) {
        const vec *d = (const vec *)dy;
        EMP_UNROLL
        for (int i = 0; i < tall; i++) {
            EMP_UNROLL
            for (int v = 0; v < vecs; v++) acc[i][v] += x[i] * d[v];
        }
    }
    add_sums(t->dw + row * t->dw_stride + col, t->dw_stride, acc, width, tall, vecs);
}

__attribute__((always_inline)) static inline void
add_columns(const task *t, int64_t m, int64_t col, int64_t width, const int vecs)
{
    int64_t row = 0;

    for (; row + TALL <= m; row += TALL) add_tile(t, row, col, width, TALL, vecs);
    if (row + 4 <= m) {
        add_tile(t, row, col, width, 4, vecs);
        row += 4;
    }
    for (; row < m; row++) add_tile(t, row, col, width, 1, vecs);
}

EMP_KERNEL static void add_wide(const task *t, int64_t m, int64_t col)
{
    add_columns(t, m, col, VECS * LANES, VECS);
}

EMP_KERNEL static void add_narrow(const task *t, int64_t m, int64_t col, int64_t width)
{
    add_columns(t, m, col, width, 1);
}

void emp_outer_add_part(emp_real *dw, int64_t dw_stride, const emp_real *x,
                        int64_t x_stride, int32_t m, const emp_real *dy,
                        int64_t dy_stride, int32_t n, int32_t rows)
{
    const task t = {.dw = dw,
                    .x = x,
                    .dy = dy,
                    .dw_stride = dw_stride,
                    .x_stride = x_stride,
                    .dy_stride = dy_stride,
                    .rows = rows};
    int32_t    col = 0;

    for (; col + VECS * LANES <= n; col += VECS * LANES) add_wide(&t, m, col);
    for (; col < n; col += LANES)
        add_narrow(&t, m, col, n - col < LANES ? n - col : LANES);
}

void emp_outer_add(emp_real *dw, const emp_real *x, int64_t x_stride, int32_t m,
                   const emp_real *dy, int64_t dy_stride, int32_t n, int32_t rows)
{
    emp_outer_add_part(dw, n, x, x_stride, m, dy, dy_stride, n, rows);
}

EMP_KERNEL static void add_rows(emp_real *restrict db, const emp_real *dy, int64_t stride,
                                int64_t n, int64_t rows)
{
    int64_t r = 0;

    for (; r + 4 <= rows; r += 4, dy += 4 * stride) {
        for (int64_t c = 0; c < n; c++) {
            emp_real sum = db[c] + dy[c];
            sum += dy[stride + c];
            sum += dy[2 * stride + c];
            db[c] = sum + dy[3 * stride + c];
        }
    }
    for (; r < rows; r++, dy += stride) {
        for (int64_t c = 0; c < n; c++) db[c] += dy[c];
    }
}

void emp_outer_add_rows(emp_real *db, const emp_real *dy, int64_t dy_stride, int32_t n,
                        int32_t rows)
{
    add_rows(db, dy, dy_stride, n, rows);
}

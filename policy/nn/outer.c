// SPDX-License-Identifier: GPL-3.0-or-later
#include "policy/nn/outer.h"

/* A tile of dw has TALL rows. With AVX-512 a register has LANES numbers, and a row VECS registers. Shorter
 * registers make rows of LANES numbers. */
enum { LANES = 64 / (int)sizeof(emp_real), TALL = 6, VECS = 4 };

/* Operands of a tile. */
typedef struct {
    emp_real       *dw;
    const emp_real *x, *dy;
    int64_t         dw_stride, x_stride, dy_stride, rows;
} task;

#define VEC_BYTES   EMP_LONG_VECTOR
#define NAMED(name) name##_long
#include "policy/nn/outer_tile.inc"

#define VEC_BYTES   EMP_MIDDLE_VECTOR
#define NAMED(name) name##_middle
#include "policy/nn/outer_tile.inc"

#define VEC_BYTES   EMP_SHORT_VECTOR
#define NAMED(name) name##_short
#include "policy/nn/outer_tile.inc"

EMP_KERNEL static void add_wide(const task *t, int64_t m, int64_t col)
{
    add_columns_long(t, m, col, VECS * LANES, VECS);
}

EMP_KERNEL static void add_narrow(const task *t, int64_t m, int64_t col, int64_t width)
{
    add_columns_long(t, m, col, width, 1);
}

EMP_KERNEL static void add_middle(const task *t, int64_t m, int64_t col, int64_t width)
{
    add_columns_middle(t, m, col, width, EMP_LONG_VECTOR / EMP_MIDDLE_VECTOR);
}

EMP_KERNEL static void add_short(const task *t, int64_t m, int64_t col, int64_t width)
{
    add_columns_short(t, m, col, width, EMP_LONG_VECTOR / EMP_SHORT_VECTOR);
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

    void (*add)(const task *, int64_t, int64_t, int64_t) = emp_has_avx512() ? add_narrow
                                                           : emp_has_avx2() ? add_middle
                                                                            : add_short;

    if (emp_has_avx512())
        for (; col + VECS * LANES <= n; col += VECS * LANES) add_wide(&t, m, col);
    for (; col < n; col += LANES) add(&t, m, col, n - col < LANES ? n - col : LANES);
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

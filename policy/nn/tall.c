// SPDX-License-Identifier: GPL-3.0-or-later
#include "policy/nn/tall.h"

#include "base/mem.h"
#include "policy/nn/flush.h"
#include "policy/nn/outer.h"
#include "policy/nn/panels.h"
#include "policy/nn/team.h"

/* Numbers and columns of a matrix that is packed; columns of a panel. */
enum { MOST_PACKED = 1 << 16, MOST_COLS = 512, PANEL = EMP_PANEL_COLS };

/* Rows from which packing the matrix takes little time beside the product; rows of the matrix from which
 * adding to the result does. */
enum { LEAST_ROWS = 512, LEAST_DEPTH = 64 };

/* Columns of x beyond which its rows drive each other out of the nearest cache. */
enum { MOST_OUTER_ROWS = 384 };

/* Rows that go through all panels before the next ones do. */
enum { STRIP = 48 };

/* OpenBLAS adds up so many products, then adds the sum to the result. */
enum { MOST_SUMMED = 320, SUMMED_MULTIPLE = 16 };

/* How many of \a left products are the next sum. */
static int32_t next_sum(int32_t left)
{
    const int32_t half = (left / 2 + SUMMED_MULTIPLE - 1) / SUMMED_MULTIPLE;

    if (left >= 2 * MOST_SUMMED) return MOST_SUMMED;
    return left > MOST_SUMMED ? half * SUMMED_MULTIPLE : left;
}

/* Without AVX-512 BLAS is as fast. */
bool emp_tall_suits(int32_t rows, int32_t depth, int32_t cols)
{
    return emp_has_avx512() && rows >= LEAST_ROWS && depth >= LEAST_DEPTH &&
           cols % PANEL == 0 && cols <= MOST_COLS && (int64_t)depth * cols <= MOST_PACKED;
}

/* Operands of a product. */
typedef struct {
    emp_panels      w;
    emp_real       *y;
    const emp_real *start, *x;
    int64_t         start_stride;
} task;

static void multiply_strip(const task *t, int64_t row, int32_t count)
{
    const int32_t   depth = t->w.rows, cols = t->w.cols;
    emp_real       *y = &t->y[row * cols];
    const emp_real *start = t->start == NULL ? NULL : t->start + row * t->start_stride;
    const emp_real *x = &t->x[row * depth];
    int64_t         stride = t->start_stride;

    for (int32_t first = 0, sum; first < depth; first += sum) {
        sum = next_sum(depth - first);
        emp_panels_part(&t->w, y, cols, start, stride, x, depth, count, first, sum);
        start = y;
        stride = cols;
    }
}

bool emp_tall_multiply(emp_real *y, const emp_real *start, int64_t start_stride,
                       const emp_real *x, const emp_real *w, bool transpose, int32_t rows,
                       int32_t depth, int32_t cols, int32_t threads)
{
    task          t = {.w = {.rows = depth, .cols = cols, .width = PANEL},
                       .y = y,
                       .x = x,
                       .start = start,
                       .start_stride = start_stride};
    const int32_t team = emp_team_size((int64_t)rows * depth * cols, threads);

    t.w.data = EMP_NEW_ARRAY(emp_real, (size_t)depth * (size_t)cols);
    if (t.w.data == NULL) return false;
    emp_panels_pack(&t.w, w, transpose);
#pragma omp parallel for num_threads(team)
    for (int32_t row = 0; row < rows; row += STRIP) {
        unsigned saved = emp_flush_begin();
        multiply_strip(&t, row, rows - row < STRIP ? rows - row : STRIP);
        emp_flush_end(saved);
    }
    emp_free(t.w.data);
    return true;
}

bool emp_tall_suits_outer(int32_t rows, int32_t m, int32_t n)
{
    return emp_has_avx512() && rows >= LEAST_ROWS && m <= MOST_OUTER_ROWS &&
           n % PANEL == 0 && n <= MOST_COLS;
}

void emp_tall_add_outer(emp_real *dw, const emp_real *x, const emp_real *dy, int32_t rows,
                        int32_t m, int32_t n, int32_t threads)
{
    const int32_t panels = n / PANEL;
    const int32_t team = emp_team_size((int64_t)rows * m * n, threads);
    const int32_t parts = team < panels ? team : panels;

#pragma omp parallel for num_threads(parts)
    for (int32_t part = 0; part < parts; part++) {
        const int32_t first = panels * part / parts * PANEL;
        const int32_t end = panels * (part + 1) / parts * PANEL;
        unsigned      saved = emp_flush_begin();
        for (int32_t row = 0, sum; row < rows; row += sum) {
            sum = next_sum(rows - row);
            emp_outer_add_part(dw + first, n, x + (int64_t)row * m, m, m,
                               dy + (int64_t)row * n + first, n, end - first, sum);
        }
        emp_flush_end(saved);
    }
}

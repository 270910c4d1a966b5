// SPDX-License-Identifier: GPL-3.0-or-later
/* Sums of outer products. */
#include <string.h>

#include "policy/nn/products.h"
#include "policy/nn/threads.h"

/* A tile of dw has TALL rows. With AVX-512 a register has TILE_LANES numbers, and a row TILE_VECS registers. Shorter
 * registers make rows of TILE_LANES numbers. */
enum { TILE_LANES = 64 / (int)sizeof(emp_real), TALL = 6, TILE_VECS = 4 };

/* Operands of a tile. */
typedef struct {
    emp_real       *dw;
    const emp_real *x, *dy;
    int64_t         dw_stride, x_stride, dy_stride, rows;
} tile_task;

#define VEC_BYTES   EMP_LONG_VECTOR
#define NAMED(name) name##_long
#include "policy/nn/outer_tile.inc"

#define VEC_BYTES   EMP_MIDDLE_VECTOR
#define NAMED(name) name##_middle
#include "policy/nn/outer_tile.inc"

#define VEC_BYTES   EMP_SHORT_VECTOR
#define NAMED(name) name##_short
#include "policy/nn/outer_tile.inc"

EMP_ONLY_AVX512 static void add_wide(const tile_task *t, int64_t m, int64_t col)
{
    add_columns_long(t, m, col, TILE_VECS * TILE_LANES, TILE_VECS);
}

EMP_ONLY_AVX512 static void add_narrow(const tile_task *t, int64_t m, int64_t col,
                                       int64_t width)
{
    add_columns_long(t, m, col, width, 1);
}

EMP_ONLY_AVX2 static void add_middle(const tile_task *t, int64_t m, int64_t col,
                                     int64_t width)
{
    add_columns_middle(t, m, col, width, EMP_LONG_VECTOR / EMP_MIDDLE_VECTOR);
}

static void add_short(const tile_task *t, int64_t m, int64_t col, int64_t width)
{
    add_columns_short(t, m, col, width, EMP_LONG_VECTOR / EMP_SHORT_VECTOR);
}

/* The same where dw is part of a wider matrix, whose rows are dw_stride apart. */
static void add_part(emp_real *dw, int64_t dw_stride, const emp_real *x, int64_t x_stride,
                     int32_t m, const emp_real *dy, int64_t dy_stride, int32_t n,
                     int32_t rows)
{
    const tile_task t = {.dw = dw,
                         .x = x,
                         .dy = dy,
                         .dw_stride = dw_stride,
                         .x_stride = x_stride,
                         .dy_stride = dy_stride,
                         .rows = rows};
    int32_t         col = 0;

    void (*add)(const tile_task *, int64_t, int64_t, int64_t) =
        emp_has_avx512() ? add_narrow
        : emp_has_avx2() ? add_middle
                         : add_short;

    if (emp_has_avx512())
        for (; col + TILE_VECS * TILE_LANES <= n; col += TILE_VECS * TILE_LANES)
            add_wide(&t, m, col);
    for (; col < n; col += TILE_LANES)
        add(&t, m, col, n - col < TILE_LANES ? n - col : TILE_LANES);
}

void emp_outer_add(emp_real *dw, const emp_real *x, int64_t x_stride, int32_t m,
                   const emp_real *dy, int64_t dy_stride, int32_t n, int32_t rows)
{
    add_part(dw, n, x, x_stride, m, dy, dy_stride, n, rows);
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

/* ---- rows some of whose numbers are 0 ---- */

enum { PANEL = EMP_PANEL_COLS, MOST_COLS = 512, MOST_SUMS = 1 << 16 };

/* The sum of outer products of the rows of b, of which some numbers are 0, and those of v. It goes through v
 * panel by panel. */
typedef struct {
    emp_real       *dw;
    const emp_real *b, *v;
    int64_t         p, q, rows;   /* columns of b and of v */
    bool            is_exchanged; /* dw is (q, p) instead of (p, q) */
} sparse_task;

/* Rows whose lists of columns are made at once. */
enum { LISTED_ROWS = 288, LISTS = LISTED_ROWS / EMP_ZEROS_ROWS };

typedef emp_real panel_vec
    __attribute__((vector_size(EMP_LONG_VECTOR), aligned(sizeof(emp_real)), may_alias));

/* sum[i] += b[r][i] v[r] for `rows` rows r and the columns i that are used. The rows of v stay in registers. */
EMP_ONLY_AVX512 __attribute__((always_inline)) static inline void
add_group(const sparse_task *t, emp_real *sum, const emp_real *b,
          const emp_used_columns *used, const emp_real *v, const int rows)
{
    panel_vec row[EMP_ZEROS_ROWS][TILE_VECS];

    EMP_UNROLL
    for (int r = 0; r < rows; r++) {
        EMP_UNROLL
        for (int c = 0; c < TILE_VECS; c++)
            row[r][c] = ((const panel_vec *)(v + r * t->q))[c];
    }
    for (int32_t i = 0; i < used->count; i++) {
        const int64_t column = used->column[i];
        panel_vec    *to = (panel_vec *)(sum + column * PANEL), acc[TILE_VECS];
        EMP_UNROLL
        for (int c = 0; c < TILE_VECS; c++) acc[c] = to[c];
        EMP_UNROLL
        for (int r = 0; r < rows; r++) {
            EMP_UNROLL
            for (int c = 0; c < TILE_VECS; c++)
                acc[c] += b[r * t->p + column] * row[r][c];
        }
        EMP_UNROLL
        for (int c = 0; c < TILE_VECS; c++) to[c] = acc[c];
    }
}

EMP_ONLY_AVX512 static void add_groups(const sparse_task *t, emp_real *sum,
                                       const emp_real *b, const emp_used_columns *used,
                                       const emp_real *v, int64_t rows)
{
    int64_t r = 0;

    for (; r + EMP_ZEROS_ROWS <= rows; r += EMP_ZEROS_ROWS, used++)
        add_group(t, sum, b + r * t->p, used, v + r * t->q, EMP_ZEROS_ROWS);
    for (; r < rows; r++) add_group(t, sum, b + r * t->p, used, v + r * t->q, 1);
}

/* dw += the sums of one panel. */
static void add_panel(const sparse_task *t, const emp_real *sum, int32_t panel)
{
    const int64_t p = t->p, first = (int64_t)panel * PANEL;
    emp_real      turned[EMP_ZEROS_MOST * PANEL];

    if (!t->is_exchanged) {
        for (int64_t i = 0; i < p; i++)
            emp_outer_add_rows(&t->dw[i * t->q + first], &sum[i * PANEL], PANEL, PANEL,
                               1);
        return;
    }
    emp_transpose(turned, p, sum, PANEL, p, PANEL);
    for (int64_t c = 0; c < PANEL; c++)
        emp_outer_add_rows(&t->dw[(first + c) * p], &turned[c * p], p, (int32_t)p, 1);
}

/* The panels from `low` up to `high`, which share lists. */
static void add_panels(const sparse_task *t, int32_t low, int32_t high)
{
    _Alignas(64) emp_real sum[MOST_SUMS];
    emp_used_columns      used[LISTS];
    const int64_t         size = t->p * PANEL;

    memset(sum, 0, (size_t)((high - low) * size) * sizeof *sum);
    for (int64_t r = 0; r < t->rows; r += LISTED_ROWS) {
        const int64_t rows = t->rows - r < LISTED_ROWS ? t->rows - r : LISTED_ROWS;
        emp_zeros_list(used, &t->b[r * t->p], t->p, rows, t->p);
        for (int32_t i = low; i < high; i++)
            add_groups(t, &sum[(i - low) * size], &t->b[r * t->p], used,
                       &t->v[r * t->q + (int64_t)i * PANEL], rows);
    }
    for (int32_t i = low; i < high; i++) add_panel(t, &sum[(i - low) * size], i);
}

/* ---- many rows ---- */

/* Columns of x beyond which its rows drive each other out of the nearest cache. */
enum { MOST_OUTER_ROWS = 384 };

bool emp_outer_suits(int32_t rows, int32_t m, int32_t n)
{
    enum { LEAST_ROWS = 64, MOST_SMALL = 1000000, LEAST_LONG = 512 };
    const bool is_long =
        rows >= LEAST_LONG || (rows >= LEAST_ROWS && (int64_t)rows * m * n > MOST_SMALL);

    return emp_has_avx512() && is_long && m <= MOST_OUTER_ROWS && n % PANEL == 0 &&
           n <= MOST_COLS;
}

/* Whether lists of the columns of p numbers a row, so many percent of them 0, are worth it. */
static bool suits_lists(int32_t percent, int32_t p, int32_t q)
{
    return percent >= EMP_ZEROS_WORTH && p <= EMP_ZEROS_MOST && q % PANEL == 0 &&
           (int64_t)p * q <= MOST_SUMS;
}

/* Finds where zeros can be left out, if anywhere: in the rows of x or of dy, by some of them. */
static bool find_zeros(sparse_task *t, emp_real *dw, const emp_real *x,
                       const emp_real *dy, int32_t rows, int32_t m, int32_t n)
{
    enum { SAMPLES = 4 };
    const int32_t in_x = emp_zeros_percent(x, m, rows, m, SAMPLES),
                  in_dy = emp_zeros_percent(dy, n, rows, n, SAMPLES);

    *t = (sparse_task){.dw = dw, .b = x, .v = dy, .p = m, .q = n, .rows = rows};
    if (in_dy > in_x && suits_lists(in_dy, n, m)) {
        *t = (sparse_task){dw, dy, x, n, m, rows, true};
        return true;
    }
    return suits_lists(in_x, m, n);
}

/* The same without lists, of some columns of dy. */
static void add_columns_of(emp_real *dw, const emp_real *x, const emp_real *dy,
                           int32_t rows, int32_t m, int32_t n, int32_t first, int32_t end)
{
    for (int32_t row = 0, sum; row < rows; row += sum) {
        sum = emp_next_sum(rows - row);
        add_part(dw + first, n, x + (int64_t)row * m, m, m, dy + (int64_t)row * n + first,
                 n, end - first, sum);
    }
}

void emp_tall_add_outer(emp_real *dw, const emp_real *x, const emp_real *dy, int32_t rows,
                        int32_t m, int32_t n, int32_t threads)
{
    sparse_task   t;
    const bool    is_sparse = find_zeros(&t, dw, x, dy, rows, m, n);
    const int32_t panels = (int32_t)(is_sparse ? t.q : n) / PANEL;
    const int32_t team = emp_team_size((int64_t)rows * m * n, threads);
    const int32_t parts = team < panels ? team : panels;

#pragma omp parallel for num_threads(parts)
    for (int32_t part = 0; part < parts; part++) {
        const int32_t low = panels * part / parts, high = panels * (part + 1) / parts;
        unsigned      saved = emp_flush_begin();
        if (is_sparse)
            add_panels(&t, low, high);
        else
            add_columns_of(dw, x, dy, rows, m, n, low * PANEL, high * PANEL);
        emp_flush_end(saved);
    }
}

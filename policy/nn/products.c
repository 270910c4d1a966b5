// SPDX-License-Identifier: GPL-3.0-or-later
#include "policy/nn/products.h"

#include <string.h>

#include "base/blas/openblas.h"
#include "base/mem.h"
#include "policy/nn/threads.h"

#if EMP_HAS_CLONES
#include <immintrin.h>
#endif

/* ---- transposes ---- */

/* Rows and columns of a block: of floats, as many as a long register has. */
enum { SIDE = 16 };

static void turn_part(emp_real *y, int64_t y_stride, const emp_real *x, int64_t x_stride,
                      int64_t rows, int64_t cols)
{
    for (int64_t c = 0; c < cols; c++)
        for (int64_t r = 0; r < rows; r++) y[c * y_stride + r] = x[r * x_stride + c];
}

static void turn_short(emp_real *y, int64_t y_stride, const emp_real *x, int64_t x_stride)
{
    turn_part(y, y_stride, x, x_stride, SIDE, SIDE);
}

#if EMP_HAS_CLONES && !defined(EMP_REAL_DOUBLE)
/* Puts columns c, 4 + c, 8 + c and 12 + c of rows 4 q .. 4 q + 3 into t[4 q + c], one after another. */
EMP_ONLY_AVX512 __attribute__((always_inline)) static inline void
turn_fours(__m512 t[SIDE], const float *x, int64_t stride)
{
    EMP_UNROLL
    for (int q = 0; q < SIDE; q += 4) {
        const __m512 a = _mm512_loadu_ps(&x[q * stride]),
                     b = _mm512_loadu_ps(&x[(q + 1) * stride]),
                     c = _mm512_loadu_ps(&x[(q + 2) * stride]),
                     d = _mm512_loadu_ps(&x[(q + 3) * stride]);
        const __m512d ab = _mm512_castps_pd(_mm512_unpacklo_ps(a, b)),
                      cd = _mm512_castps_pd(_mm512_unpacklo_ps(c, d)),
                      AB = _mm512_castps_pd(_mm512_unpackhi_ps(a, b)),
                      CD = _mm512_castps_pd(_mm512_unpackhi_ps(c, d));
        t[q] = _mm512_castpd_ps(_mm512_unpacklo_pd(ab, cd));
        t[q + 1] = _mm512_castpd_ps(_mm512_unpackhi_pd(ab, cd));
        t[q + 2] = _mm512_castpd_ps(_mm512_unpacklo_pd(AB, CD));
        t[q + 3] = _mm512_castpd_ps(_mm512_unpackhi_pd(AB, CD));
    }
}

EMP_ONLY_AVX512 static void turn_long(float *y, int64_t y_stride, const float *x,
                                      int64_t x_stride)
{
    enum { EVEN = 0x88, ODD = 0xdd }; /* quarters of two registers */
    __m512 t[SIDE];

    turn_fours(t, x, x_stride);
    EMP_UNROLL
    for (int c = 0; c < 4; c++) {
        const __m512 a = _mm512_shuffle_f32x4(t[c], t[4 + c], EVEN),
                     b = _mm512_shuffle_f32x4(t[8 + c], t[12 + c], EVEN),
                     A = _mm512_shuffle_f32x4(t[c], t[4 + c], ODD),
                     B = _mm512_shuffle_f32x4(t[8 + c], t[12 + c], ODD);
        float *to = &y[c * y_stride];
        _mm512_storeu_ps(to, _mm512_shuffle_f32x4(a, b, EVEN));
        _mm512_storeu_ps(to + 4 * y_stride, _mm512_shuffle_f32x4(A, B, EVEN));
        _mm512_storeu_ps(to + 8 * y_stride, _mm512_shuffle_f32x4(a, b, ODD));
        _mm512_storeu_ps(to + 12 * y_stride, _mm512_shuffle_f32x4(A, B, ODD));
    }
}
#else
#define turn_long turn_short
#endif

/* Block by block, so that each line of x is read once. */
void emp_transpose(emp_real *y, int64_t y_stride, const emp_real *x, int64_t x_stride,
                   int64_t rows, int64_t cols)
{
    void (*turn)(emp_real *, int64_t, const emp_real *, int64_t) =
        emp_has_avx512() ? turn_long : turn_short;

    for (int64_t r = 0; r < rows; r += SIDE) {
        const int64_t height = rows - r < SIDE ? rows - r : SIDE;
        for (int64_t c = 0; c < cols; c += SIDE) {
            const int64_t   width = cols - c < SIDE ? cols - c : SIDE;
            emp_real       *to = &y[c * y_stride + r];
            const emp_real *from = &x[r * x_stride + c];
            if (height == SIDE && width == SIDE)
                turn(to, y_stride, from, x_stride);
            else
                turn_part(to, y_stride, from, x_stride, height, width);
        }
    }
}

/* ---- columns of zeros ---- */

EMP_KERNEL static int32_t count_zeros(const emp_real *x, int64_t count)
{
    int32_t zeros = 0;

    for (int64_t i = 0; i < count; i++) zeros += x[i] == 0;
    return zeros;
}

int32_t emp_zeros_percent(const emp_real *x, int64_t stride, int64_t rows,
                          int64_t columns, int64_t samples)
{
    int64_t zeros = 0;

    for (int64_t i = 0; i < samples; i++)
        zeros += count_zeros(&x[rows * i / samples * stride], columns);
    return (int32_t)(100 * zeros / (samples * columns));
}

static int32_t list_short(int32_t *column, const emp_real *x, int64_t stride,
                          int64_t rows, int64_t columns)
{
    int32_t count = 0;

    for (int64_t i = 0; i < columns; i++) {
        bool is_used = false;
        for (int64_t r = 0; r < rows; r++) is_used |= x[r * stride + i] != 0;
        column[count] = (int32_t)i;
        count += is_used;
    }
    return count;
}

#if EMP_HAS_CLONES && !defined(EMP_REAL_DOUBLE)
/* -0 counts as a number that is used. */
EMP_ONLY_AVX512 static int32_t list_long(int32_t *column, const float *x, int64_t stride,
                                         int64_t rows, int64_t columns)
{
    int32_t count = 0;
    __m512i lane =
        _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);

    for (int64_t i = 0; i < columns; i += EMP_ZEROS_LANES) {
        const int64_t   left = columns - i;
        const __mmask16 in = (__mmask16)(left < EMP_ZEROS_LANES ? (1 << left) - 1 : -1);
        __m512i         any = _mm512_maskz_loadu_epi32(in, &x[i]);
        for (int64_t r = 1; r < rows; r++)
            any = _mm512_or_si512(any, _mm512_maskz_loadu_epi32(in, &x[r * stride + i]));
        const __mmask16 used = _mm512_test_epi32_mask(any, any);
        _mm512_storeu_si512(&column[count], _mm512_maskz_compress_epi32(used, lane));
        count += __builtin_popcount(used);
        lane = _mm512_add_epi32(lane, _mm512_set1_epi32(EMP_ZEROS_LANES));
    }
    return count;
}
#else
#define list_long list_short
#endif

void emp_zeros_list(emp_used_columns *used, const emp_real *x, int64_t stride,
                    int64_t rows, int64_t columns)
{
    int32_t (*list)(int32_t *, const emp_real *, int64_t, int64_t, int64_t) =
        emp_has_avx512() ? list_long : list_short;

    for (int64_t r = 0; r < rows; r += EMP_ZEROS_ROWS, used++)
        used->count =
            list(used->column, &x[r * stride], stride,
                 rows - r < EMP_ZEROS_ROWS ? rows - r : EMP_ZEROS_ROWS, columns);
}

/* ---- panels ---- */

/* A narrow matrix has panels of one long register. Packing reads lines of LANES numbers. The sums of
 * ROWS rows stay in registers: VECS long ones a row, or shorter ones that have LANES numbers together. */
enum {
    LANES = EMP_PANEL_LANES,
    WIDTH = EMP_PANEL_COLS,
    VECS = WIDTH / LANES,
    ROWS = EMP_ZEROS_ROWS
};

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

void emp_panels_pack(emp_panels *panels, const emp_real *w, bool transpose)
{
    int64_t   rows = panels->rows, cols = panels->cols, width = panels->width;
    emp_real *out = panels->data;

    for (int64_t first = 0; first < cols; first += width, out += rows * width) {
        int64_t count = cols - first < width ? cols - first : width;
        if (transpose)
            emp_transpose(out, width, &w[first * rows], rows, count, rows);
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
    /* [ROWS rows] columns of x, which need no others; NULL: all columns. */
    const emp_used_columns *used;
} task;

/* Stores sums of part of a row. One function for all lengths of registers, as compilers would unroll each. */
__attribute__((noinline)) static void store_row(const task *t, int64_t row,
                                                const emp_real *sum, int64_t width)
{
    emp_real       *y = t->y + row * t->y_stride;
    const emp_real *start = t->start == NULL ? NULL : t->start + row * t->start_stride;

    for (int64_t c = 0; c < width; c++) y[c] = start == NULL ? sum[c] : start[c] + sum[c];
}

#define VEC_BYTES   EMP_LONG_VECTOR
#define NAMED(name) name##_long
#include "policy/nn/panels_rows.inc"

#define VEC_BYTES   EMP_MIDDLE_VECTOR
#define NAMED(name) name##_middle
#include "policy/nn/panels_rows.inc"

#define VEC_BYTES   EMP_SHORT_VECTOR
#define NAMED(name) name##_short
#include "policy/nn/panels_rows.inc"

EMP_ONLY_AVX512 static void multiply_wide(const task *t, int64_t count,
                                          const emp_real *panel, int64_t width)
{
    multiply_rows_long(t, count, panel, WIDTH, width, VECS);
}

EMP_ONLY_AVX512 static void multiply_narrow(const task *t, int64_t count,
                                            const emp_real *panel, int64_t width)
{
    multiply_rows_long(t, count, panel, LANES, width, 1);
}

/* At most LANES columns of a panel whose rows have `stride`. */
EMP_ONLY_AVX2 static void multiply_middle(const task *t, int64_t count,
                                          const emp_real *panel, int64_t stride,
                                          int64_t width)
{
    enum { ALL = EMP_LONG_VECTOR / EMP_MIDDLE_VECTOR };

    multiply_rows_middle(t, count, panel, stride, width, ALL);
}

static void multiply_short(const task *t, int64_t count, const emp_real *panel,
                           int64_t stride, int64_t width)
{
    enum { ALL = EMP_LONG_VECTOR / EMP_SHORT_VECTOR };

    multiply_rows_short(t, count, panel, stride, width, ALL);
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

/* The columns of a part of x. */
static task part_of(emp_real *y, int64_t y_stride, const emp_real *start,
                    int64_t start_stride, const emp_real *x, int64_t x_stride,
                    int32_t first, int32_t depth)
{
    return (task){.y = y,
                  .x = x + first,
                  .start = start,
                  .y_stride = y_stride,
                  .x_stride = x_stride,
                  .start_stride = start_stride,
                  .first = first,
                  .depth = depth};
}

static const emp_panels_pass all = {0, 1, false};

void emp_panels_part(const emp_panels *panels, emp_real *y, int64_t y_stride,
                     const emp_real *start, int64_t start_stride, const emp_real *x,
                     int64_t x_stride, int32_t count, int32_t first, int32_t depth)
{
    const task t = part_of(y, y_stride, start, start_stride, x, x_stride, first, depth);

    multiply(panels, &t, count, all);
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

    multiply(panels, &t, count, all);
}

/* Numbers and columns of a matrix that is packed; columns of a panel. */
enum { MOST_PACKED = 1 << 16, MOST_COLS = 512, PANEL = EMP_PANEL_COLS };

/* Rows from which packing the matrix takes little time beside the product; rows of the matrix from which
 * adding to the result does. */
enum { LEAST_ROWS = 64, LEAST_DEPTH = 64 };

/* Rows, or columns if there are more of them, that BLAS is given at once. */
enum { BLOCK = 256 };

int32_t emp_next_sum(int32_t left)
{
    enum { MOST_SUMMED = EMP_ZEROS_MOST, SUMMED_MULTIPLE = 16 };
    const int32_t half = (left / 2 + SUMMED_MULTIPLE - 1) / SUMMED_MULTIPLE;

    if (left >= 2 * MOST_SUMMED) return MOST_SUMMED;
    return left > MOST_SUMMED ? half * SUMMED_MULTIPLE : left;
}

/* Without AVX-512 BLAS is as fast. Its kernels for a few rows, which blocks of all rows may leave, round otherwise:
 * so that results are BLAS's own, such products are left to it. */
bool emp_tall_suits(int32_t rows, int32_t depth, int32_t cols)
{
    const bool leaves_few = rows > BLOCK && rows < BLOCK + LEAST_ROWS;

    return emp_has_avx512() && rows >= LEAST_ROWS && !leaves_few &&
           depth >= LEAST_DEPTH && cols % PANEL == 0 && cols <= MOST_COLS &&
           (int64_t)depth * cols <= MOST_PACKED;
}

void emp_panels_rows(const emp_panels *w, emp_real *y, const emp_real *start,
                     int64_t start_stride, const emp_real *x, int32_t count)
{
    emp_used_columns used[EMP_STRIP_ROWS / ROWS];

    for (int32_t first = 0, sum; first < w->rows; first += sum) {
        sum = emp_next_sum(w->rows - first);
        task t = part_of(y, w->cols, start, start_stride, x, w->rows, first, sum);
        if (emp_zeros_percent(t.x, w->rows, count, sum, 1) >= EMP_ZEROS_WORTH) {
            emp_zeros_list(used, t.x, w->rows, count, sum);
            t.used = used;
        }
        multiply(w, &t, count, all);
        start = y;
        start_stride = w->cols;
    }
}

void emp_tall_multiply(emp_real *y, const emp_real *start, int64_t start_stride,
                       const emp_real *x, const emp_real *w, bool transpose, int32_t rows,
                       int32_t depth, int32_t cols, int32_t threads)
{
    _Alignas(64) emp_real packed[MOST_PACKED];
    emp_panels    panels = {.data = packed, .rows = depth, .cols = cols, .width = PANEL};
    const int32_t team = emp_team_size((int64_t)rows * depth * cols, threads);

    emp_panels_pack(&panels, w, transpose);
#pragma omp parallel for num_threads(team)
    for (int32_t row = 0; row < rows; row += EMP_STRIP_ROWS) {
        unsigned saved = emp_flush_begin();
        emp_panels_rows(&panels, y + (int64_t)row * cols,
                        start == NULL ? NULL : start + row * start_stride, start_stride,
                        x + (int64_t)row * depth,
                        rows - row < EMP_STRIP_ROWS ? rows - row : EMP_STRIP_ROWS);
        emp_flush_end(saved);
    }
}

void emp_blas_gemm(bool transpose_a, bool transpose_b, int32_t m, int32_t n, int32_t k,
                   const emp_real *a, int32_t lda, const emp_real *b, int32_t ldb,
                   emp_real beta, emp_real *c, int32_t ldc)
{
    if (m == 0 || n == 0) return;
#ifdef EMP_REAL_DOUBLE
    emp_openblas_dgemm(
#else
    emp_openblas_sgemm(
#endif
        transpose_a, transpose_b, m, n, k, 1, a, lda, b, ldb, beta, c, ldc);
}

/* Some rows of c, or columns, from `first` on. */
typedef struct {
    bool            transpose_a, transpose_b, by_rows;
    int32_t         m, n, k, lda, ldb, ldc;
    const emp_real *a, *b;
    emp_real       *c;
    emp_real        beta;
} blas_task;

static void multiply_block(const blas_task *t, int32_t first, int32_t count)
{
    const int64_t at = first;

    if (t->by_rows)
        emp_blas_gemm(t->transpose_a, t->transpose_b, count, t->n, t->k,
                      t->a + (t->transpose_a ? at : at * t->lda), t->lda, t->b, t->ldb,
                      t->beta, t->c + at * t->ldc, t->ldc);
    else
        emp_blas_gemm(t->transpose_a, t->transpose_b, t->m, count, t->k, t->a, t->lda,
                      t->b + (t->transpose_b ? at * t->ldb : at), t->ldb, t->beta,
                      t->c + at, t->ldc);
}

static void multiply_blocks(const blas_task *t, int32_t threads)
{
    const int32_t size = t->by_rows ? t->m : t->n;
    const int32_t team =
        size > BLOCK ? emp_team_size((int64_t)t->m * t->n * t->k, threads) : 1;

    if (size <=
        BLOCK) { /* many products are small, and even a region of one thread takes time */
        multiply_block(t, 0, size);
        return;
    }
#pragma omp parallel for num_threads(team)
    for (int32_t first = 0; first < size; first += BLOCK) {
        unsigned saved = emp_flush_begin();
        multiply_block(t, first, size - first < BLOCK ? size - first : BLOCK);
        emp_flush_end(saved);
    }
}

void emp_blas_gemm_shared(bool transpose_a, bool transpose_b, int32_t m, int32_t n,
                          int32_t k, const emp_real *a, int32_t lda, const emp_real *b,
                          int32_t ldb, emp_real beta, emp_real *c, int32_t ldc,
                          int32_t threads)
{
    const bool is_whole =
        ldc == n && lda == (transpose_a ? m : k) && ldb == (transpose_b ? k : n);
    const blas_task t = {.transpose_a = transpose_a,
                         .transpose_b = transpose_b,
                         .by_rows = m > n,
                         .m = m,
                         .n = n,
                         .k = k,
                         .lda = lda,
                         .ldb = ldb,
                         .ldc = ldc,
                         .a = a,
                         .b = b,
                         .c = c,
                         .beta = beta};

    if (is_whole && !transpose_a && (beta == 0 || beta == 1) && emp_tall_suits(m, k, n))
        emp_tall_multiply(c, beta == 0 ? NULL : c, n, a, b, transpose_b, m, k, n,
                          threads);
    else if (is_whole && transpose_a && !transpose_b && beta == 1 &&
             emp_outer_suits(k, m, n))
        emp_tall_add_outer(c, a, b, k, m, n, threads);
    else
        multiply_blocks(&t, threads);
}

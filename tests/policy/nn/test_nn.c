// SPDX-License-Identifier: GPL-3.0-or-later
/* Are the float kernels accurate, independent of how rows are batched, and are sampling,
 * clipping and Adam what their names say? */
#include <omp.h>

#include "base/blas/openblas.h"
#include "policy/nn/attention.h"
#include "policy/nn/categorical.h"
#include "policy/nn/layers.h"
#include "policy/nn/params.h"
#include "policy/nn/products.h"
#include "policy/nn/recurrent.h"
#include "policy/nn/threads.h"
#include "tests/support/status.h"

Test(activation, tanh_is_accurate_and_saturates)
{
    enum { COUNT = 40001 };
    static float x[COUNT];

    for (int i = 0; i < COUNT; i++) x[i] = (float)(i - COUNT / 2) * 1e-3f;
    emp_activation_forward(EMP_ACTIVATION_TANH, x, COUNT);
    for (int i = 0; i < COUNT; i++) {
        double want = tanh((double)((float)(i - COUNT / 2) * 1e-3f));
        cr_assert_lt(fabs((double)x[i] - want), 5e-7, "tanh of step %d: %g", i,
                     (double)x[i]);
    }
}

/* One column with v = 1: the score is tanh(q + m). */
Test(attention, tanh_is_accurate_and_saturates)
{
    enum { COUNT = 20001 };
    static const float query[] = {0.0f, 0.3f, -30.0f, 42.0f, -1e30f};
    static float       m[COUNT], m_exp[COUNT], e[COUNT];
    const float        v = 1.0f;

    for (int i = 0; i < COUNT; i++) m[i] = (float)(i - COUNT / 2) * 4e-3f;
    emp_attention_exp(m_exp, m, COUNT);
    for (size_t q = 0; q < COUNT(query); q++) {
        emp_attention_score(e, COUNT, &query[q], 1, 1, m_exp, &v, 0, COUNT, 1);
        double limited = fmax((double)query[q], -43.0);
        for (int i = 0; i < COUNT; i++) {
            double want = tanh(limited + (double)m[i]);
            cr_assert_lt(fabs((double)e[i] - want), 2e-6, "tanh(%g + %g): %g",
                         (double)query[q], (double)m[i], (double)e[i]);
        }
    }
}

Test(categorical, softmax_of_rows_is_that_of_each)
{
    enum { ROWS_OF = 7, COUNT = 37, STRIDE = 40 };
    static float together[ROWS_OF * STRIDE], alone[ROWS_OF * STRIDE];
    double       sum = 0.0;

    for (int i = 0; i < ROWS_OF * STRIDE; i++)
        together[i] = alone[i] = (float)(i * 7919 % 101) / 10.0f;
    for (int r = 0; r < ROWS_OF; r++)
        sum += emp_categorical_softmax(&alone[r * STRIDE], COUNT);
    double all = emp_categorical_softmax_rows(together, STRIDE, ROWS_OF, COUNT);
    cr_expect_float_eq(all, sum, 1e-12);
    cr_expect_arr_eq(together, alone, sizeof alone);
}

Test(categorical, softmax_is_accurate_for_extreme_logits)
{
    float        row[] = {100.0f, 99.0f, -1000.0f, 0.0f, 100.0f};
    const double e = exp(-1.0), sum = 2.0 + e;
    double       entropy = emp_categorical_softmax(row, 5);

    cr_expect_float_eq((double)row[0], 1.0 / sum, 1e-6);
    cr_expect_float_eq((double)row[1], e / sum, 1e-6);
    cr_expect_lt((double)row[2], 1e-30);
    cr_expect_float_eq(entropy, log(sum) + e / sum, 1e-6);
}

Test(categorical, samples_follow_the_probabilities)
{
    enum { COUNT = 37, DRAWS = 200000 };
    float   p[COUNT];
    int     seen[COUNT] = {0};
    emp_rng rng;

    for (int i = 0; i < COUNT; i++) p[i] = i % 3 == 0 ? 0.0f : (float)i / 432.0f;
    emp_rng_init(&rng, 3, 1, 4); /* 432: the sum of the i that 3 does not divide */
    for (int i = 0; i < DRAWS; i++)
        seen[emp_categorical_sample(p, COUNT, emp_rng_uniform(&rng))]++;
    for (int i = 0; i < COUNT; i++) {
        double mean = DRAWS * (double)p[i];
        cr_expect_lt(fabs(seen[i] - mean), 5.0 * sqrt(mean) + 1e-9, "%d: %d, mean %g", i,
                     seen[i], mean);
    }
}

Test(categorical, sample_at_the_ends_is_possible)
{
    const float p[] = {0.0f, 0.5f, 0.4999f, 0.0f};

    cr_expect_eq(emp_categorical_sample(p, 4, 0.0), 1);
    cr_expect_eq(emp_categorical_sample(p, 4, 0.99999999), 2, "a rest beyond the end");
}

enum { DEPTH = 70, COLS = 150, ROWS = 7 };

static void fill(float *x, int count, uint32_t stream)
{
    emp_rng rng;

    emp_rng_init(&rng, 5, stream, 0);
    for (int i = 0; i < count; i++) x[i] = (float)emp_rng_normal(&rng);
}

/* sum over k of x[r][k] w[k][c]; w may be stored by columns. */
static double product(const float *x, const float *w, bool transpose, int depth, int cols,
                      int r, int c)
{
    double sum = 0.0;

    for (int k = 0; k < depth; k++)
        sum += (double)x[r * depth + k] *
               (double)w[transpose ? c * depth + k : k * cols + c];
    return sum;
}

/* sum over r of x[r][i] dy[r][j] */
static double outer(const float *x, int x_stride, const float *dy, int dy_stride,
                    int rows, int i, int j)
{
    double sum = 0.0;

    for (int r = 0; r < rows; r++)
        sum += (double)x[r * x_stride + i] * (double)dy[r * dy_stride + j];
    return sum;
}

static const emp_panels_pass whole = {0, 1, false};
static float                 w[DEPTH * COLS], x[ROWS * DEPTH];

static emp_panels pack(int cols, bool transpose)
{
    emp_panels panels;

    fill(w, DEPTH * COLS, 1);
    fill(x, ROWS * DEPTH, 2);
    MUST(emp_panels_init(&panels, DEPTH, cols, NULL));
    emp_panels_pack(&panels, w, transpose);
    return panels;
}

Test(panels, multiply_equals_the_plain_product)
{
    float y[ROWS * COLS];

    for (int transpose = 0; transpose < 2; transpose++) {
        SCOPED(emp_panels, emp_panels_clear) panels = pack(COLS, transpose);
        for (int i = 0; i < ROWS * COLS; i++) y[i] = 1.0f;
        emp_panels_multiply(&panels, y, COLS, x, DEPTH, ROWS, whole);
        for (int i = 0; i < ROWS * COLS; i++)
            cr_assert_float_eq(
                (double)y[i],
                1.0 + product(x, w, transpose, DEPTH, COLS, i / COLS, i % COLS), 1e-4,
                "[%d][%d]", i / COLS, i % COLS);
    }
}

Test(panels, a_row_does_not_depend_on_its_neighbours)
{
    float together[ROWS * COLS], alone[COLS];
    SCOPED(emp_panels, emp_panels_clear) panels = pack(COLS, false);

    for (int rows = 1; rows <= ROWS; rows++) {
        memset(together, 0, sizeof together);
        emp_panels_multiply(&panels, together, COLS, x, DEPTH, rows, whole);
        for (int r = 0; r < rows; r++) {
            memset(alone, 0, sizeof alone);
            emp_panels_multiply(&panels, alone, 0, &x[r * DEPTH], 0, 1, whole);
            cr_assert_eq(memcmp(alone, &together[r * COLS], sizeof alone), 0,
                         "row %d of %d", r, rows);
        }
    }
}

/* A narrow matrix has another kind of panels. An affine map starts from the bias. */
Test(panels, passes_add_up_to_the_whole)
{
    float want[ROWS * COLS], got[ROWS * COLS], bias[COLS];

    fill(bias, COLS, 3);
    for (int cols = 5; cols <= COLS; cols += COLS - 5) {
        SCOPED(emp_panels, emp_panels_clear) panels = pack(cols, false);
        for (int r = 0; r < ROWS; r++)
            memcpy(&want[r * cols], bias, (size_t)cols * sizeof *bias);
        emp_panels_multiply(&panels, want, cols, x, DEPTH, ROWS, whole);
        for (int parts = 1; parts <= 3; parts++) {
            for (int r = 0; r < ROWS; r++)
                memcpy(&got[r * cols], bias, (size_t)cols * sizeof *bias);
            for (int part = 0; part < parts; part++)
                emp_panels_multiply(&panels, got, cols, x, DEPTH, ROWS,
                                    (emp_panels_pass){part, parts, part % 2 == 0});
            cr_expect_arr_eq(got, want, (size_t)(ROWS * cols) * sizeof *want,
                             "%d parts of %d columns", parts, cols);
        }
        emp_panels_affine(&panels, got, cols, bias, x, DEPTH, ROWS);
        cr_expect_arr_eq(got, want, (size_t)(ROWS * cols) * sizeof *want, "affine");
    }
}

/* Shapes with and without a rest in each direction; beyond its columns dy holds NaN. */
Test(outer, sums_the_outer_products_of_rows)
{
    enum { MOST = 71, STRIDE = 96, DEEP = 13 };
    static float  in[DEEP * STRIDE], dy[DEEP * STRIDE], dw[MOST * MOST];
    const int32_t shape[][2] = {{1, 1}, {6, 64}, {5, 16}, {4, 65}, {36, 64}, {71, 71}};

    for (size_t s = 0; s < COUNT(shape); s++) {
        int32_t m = shape[s][0], n = shape[s][1];
        fill(in, DEEP * STRIDE, 1);
        fill(dy, DEEP * STRIDE, 2);
        for (int r = 0; r < DEEP; r++)
            for (int c = n; c < STRIDE; c++) dy[r * STRIDE + c] = NAN;
        for (int i = 0; i < m * n; i++) dw[i] = 3.0f;
        emp_outer_add(dw, in, STRIDE, m, dy, STRIDE, n, DEEP);
        for (int i = 0; i < m * n; i++)
            cr_assert_float_eq((double)dw[i],
                               3.0 + outer(in, STRIDE, dy, STRIDE, DEEP, i / n, i % n),
                               1e-5, "%d x %d at %d", m, n, i);
    }
}

Test(outer, adds_rows_up)
{
    enum { N = 19, STRIDE = 24, DEEP = 7 };
    static float dy[DEEP * STRIDE], db[N];

    fill(dy, DEEP * STRIDE, 5);
    fill(db, N, 6);
    for (int c = 0; c < N; c++) {
        float want = db[c], got[N];
        for (int r = 0; r < DEEP; r++) want += dy[r * STRIDE + c];
        memcpy(got, db, sizeof got);
        emp_outer_add_rows(got, dy, STRIDE, N, DEEP);
        cr_expect_eq(got[c], want);
    }
}

/* A depth that is two sums, columns that are two panels, a strip with a rest. */
enum { TALL_ROWS = 517, TALL_DEPTH = 336, TALL_COLS = 128 };

static float tall_x[TALL_ROWS * TALL_DEPTH], tall_w[TALL_DEPTH * TALL_COLS],
    tall_y[TALL_ROWS * TALL_COLS], tall_again[TALL_ROWS * TALL_COLS];

Test(tall, multiply_equals_the_plain_product)
{
    static float bias[TALL_COLS];

    fill(tall_x, TALL_ROWS * TALL_DEPTH, 1);
    fill(tall_w, TALL_DEPTH * TALL_COLS, 2);
    fill(bias, TALL_COLS, 3);
    for (int transpose = 0; transpose < 2; transpose++) {
        emp_tall_multiply(tall_y, bias, 0, tall_x, tall_w, transpose, TALL_ROWS,
                          TALL_DEPTH, TALL_COLS, 1);
        emp_tall_multiply(tall_again, bias, 0, tall_x, tall_w, transpose, TALL_ROWS,
                          TALL_DEPTH, TALL_COLS, 3);
        cr_expect_arr_eq(tall_y, tall_again, sizeof tall_y, "on three threads");
        for (int i = 0; i < TALL_ROWS * TALL_COLS; i += 7)
            cr_assert_float_eq((double)tall_y[i],
                               (double)bias[i % TALL_COLS] +
                                   product(tall_x, tall_w, transpose, TALL_DEPTH,
                                           TALL_COLS, i / TALL_COLS, i % TALL_COLS),
                               2e-4, "at %d", i);
    }
}

static void expect_outer(const float *dw, double tolerance)
{
    for (int i = 0; i < TALL_DEPTH * TALL_COLS; i += 7)
        cr_assert_float_eq((double)dw[i],
                           2.0 + outer(tall_x, TALL_DEPTH, tall_y, TALL_COLS, TALL_ROWS,
                                       i / TALL_COLS, i % TALL_COLS),
                           tolerance, "at %d", i);
}

/* The same products where layers ask for them. Sums of hundreds of products are rounded to float, and one
 * product, row or bias that is lost is off by tenths. */
Test(tall, is_what_linear_layers_and_gradients_use)
{
    static float bias[TALL_COLS], dw[TALL_DEPTH * TALL_COLS], db[TALL_COLS];
    static float wt[TALL_DEPTH * TALL_COLS];

    fill(tall_x, TALL_ROWS * TALL_DEPTH, 1);
    fill(tall_w, TALL_DEPTH * TALL_COLS, 2);
    fill(bias, TALL_COLS, 3);
    emp_linear_forward(tall_y, tall_x, tall_w, bias, TALL_ROWS, TALL_DEPTH, TALL_COLS, 2);
    for (int i = 0; i < TALL_DEPTH * TALL_COLS; i++)
        wt[i % TALL_COLS * TALL_DEPTH + i / TALL_COLS] = tall_w[i];
    for (int transpose = 0; transpose < 2; transpose++) {
        for (int r = 0; r < TALL_ROWS; r++)
            memcpy(&tall_again[r * TALL_COLS], bias, sizeof bias);
        for (int i = 0; i < 2; i++) /* once into it, once onto it */
            emp_blas_gemm_shared(false, transpose, TALL_ROWS, TALL_COLS, TALL_DEPTH,
                                 tall_x, TALL_DEPTH, transpose ? wt : tall_w,
                                 transpose ? TALL_DEPTH : TALL_COLS, (float)i, tall_again,
                                 TALL_COLS, 2);
        for (int i = 0; i < TALL_ROWS * TALL_COLS; i++)
            cr_assert_float_eq((double)tall_again[i],
                               2 * (double)(tall_y[i] - bias[i % TALL_COLS]), 1e-3,
                               "at %d", i);
    }
    for (int i = 0; i < TALL_DEPTH * TALL_COLS; i++) dw[i] = 2.0f;
    emp_linear_backward(NULL, dw, db, tall_y, tall_x, tall_w, TALL_ROWS, TALL_DEPTH,
                        TALL_COLS, 2);
    expect_outer(dw, 1e-2);
}

enum { ZERO_ROWS = 517, ZERO_SIDE = 128 };

/* Numbers of a layer behind a ReLU: half of them 0, and every third column 0 in all rows. */
static void fill_sparse(float *to, uint32_t stream)
{
    fill(to, ZERO_ROWS * ZERO_SIDE, stream);
    for (int i = 0; i < ZERO_ROWS * ZERO_SIDE; i++)
        if (to[i] < 0 || i % ZERO_SIDE % 3 == 0) to[i] = 0;
}

/* With AVX-512. A number times 0 would be NaN if it were not left out. */
Test(tall, leaves_out_columns_of_zeros)
{
    static const int32_t rows[] = {64, 101, ZERO_ROWS};
    const bool           leaves_out = emp_has_avx512();

    fill_sparse(tall_x, 1);
    fill(tall_w, ZERO_SIDE * ZERO_SIDE, 2);
    for (int i = 0; i < ZERO_SIDE * ZERO_SIDE && leaves_out; i++)
        if (i / ZERO_SIDE % 3 == 0) tall_w[i] = NAN;
    for (size_t k = 0; k < COUNT(rows); k++) {
        memset(tall_y, 0, sizeof tall_y);
        for (int32_t threads = 1; threads <= 3; threads += 2)
            emp_linear_forward(threads == 1 ? tall_y : tall_again, tall_x, tall_w, NULL,
                               rows[k], ZERO_SIDE, ZERO_SIDE, threads);
        const size_t count = (size_t)rows[k] * ZERO_SIDE;
        cr_expect_arr_eq(tall_y, tall_again, count * sizeof *tall_y, "on three threads");
        for (size_t i = 0; i < count; i += 7) {
            double want = 0.0;
            for (size_t c = 0; c < ZERO_SIDE; c++)
                if (c % 3 != 0)
                    want += (double)tall_x[i / ZERO_SIDE * ZERO_SIDE + c] *
                            (double)tall_w[c * ZERO_SIDE + i % ZERO_SIDE];
            cr_assert_float_eq((double)tall_y[i], want, 1e-4, "%d rows, at %zu", rows[k],
                               i);
        }
    }
}

/* Zeros in the rows that go in, in the gradients of those that come out, and in both. */
Test(tall, sums_outer_products_of_rows_with_zeros)
{
    static float dw[ZERO_SIDE * ZERO_SIDE], again[ZERO_SIDE * ZERO_SIDE];

    for (int which = 1; which < 4; which++) {
        fill(tall_x, ZERO_ROWS * ZERO_SIDE, 1);
        fill(tall_y, ZERO_ROWS * ZERO_SIDE, 2);
        if (which & 1) fill_sparse(tall_x, 3);
        if (which & 2) fill_sparse(tall_y, 4);
        for (int i = 0; i < ZERO_SIDE * ZERO_SIDE; i++) dw[i] = again[i] = 2.0f;
        emp_linear_backward(NULL, dw, NULL, tall_y, tall_x, NULL, ZERO_ROWS, ZERO_SIDE,
                            ZERO_SIDE, 1);
        emp_linear_backward(NULL, again, NULL, tall_y, tall_x, NULL, ZERO_ROWS, ZERO_SIDE,
                            ZERO_SIDE, 2);
        cr_expect_arr_eq(dw, again, sizeof dw, "on two threads");
        for (int i = 0; i < ZERO_SIDE * ZERO_SIDE; i++)
            cr_assert_float_eq((double)dw[i],
                               2.0 + outer(tall_x, ZERO_SIDE, tall_y, ZERO_SIDE,
                                           ZERO_ROWS, i / ZERO_SIDE, i % ZERO_SIDE),
                               1e-3, "zeros in %d, at %d", which, i);
    }
}

Test(tall, inputs_start_where_they_are_told)
{
    static float         start[ZERO_ROWS * ZERO_SIDE];
    static const int32_t rows[] = {3, ZERO_ROWS}; /* by BLAS and here */

    fill(tall_x, ZERO_ROWS * ZERO_SIDE, 1);
    fill(tall_w, ZERO_SIDE * ZERO_SIDE, 2);
    fill(start, ZERO_ROWS * ZERO_SIDE, 3);
    for (size_t k = 0; k < COUNT(rows); k++) {
        const int count = rows[k] * ZERO_SIDE;
        emp_linear_inputs(tall_y, NULL, tall_x, tall_w, rows[k], ZERO_SIDE, ZERO_SIDE, 1);
        emp_linear_inputs(tall_again, start, tall_x, tall_w, rows[k], ZERO_SIDE,
                          ZERO_SIDE, 1);
        for (int i = 0; i < count; i++) {
            cr_assert_float_eq((double)tall_y[i],
                               product(tall_x, tall_w, true, ZERO_SIDE, ZERO_SIDE,
                                       i / ZERO_SIDE, i % ZERO_SIDE),
                               1e-4, "at %d", i);
            cr_assert_float_eq((double)tall_again[i],
                               (double)start[i] + (double)tall_y[i], 1e-5, "at %d", i);
        }
    }
}

Test(zeros, columns_that_are_used_are_listed)
{
    enum {
        R = 13,
        C = 37,
        STRIDE = 40,
        LISTS = (R + EMP_ZEROS_ROWS - 1) / EMP_ZEROS_ROWS
    };
    static float     in[R * STRIDE];
    emp_used_columns used[LISTS];

    for (int i = 0; i < R * STRIDE; i++) in[i] = i * 7 % 11 == 0 ? (float)i : 0;
    for (int i = C; i < R * STRIDE; i += STRIDE) in[i] = NAN; /* behind the columns */
    emp_zeros_list(used, in, STRIDE, R, C);
    for (int l = 0; l < LISTS; l++) {
        int32_t count = 0;
        for (int32_t c = 0; c < C; c++) {
            bool is_used = false;
            for (int r = l * EMP_ZEROS_ROWS; r < R && r < (l + 1) * EMP_ZEROS_ROWS; r++)
                is_used |= in[r * STRIDE + c] != 0;
            if (is_used) cr_expect_eq(used[l].column[count++], c, "list %d", l);
        }
        cr_expect_eq(used[l].count, count, "list %d", l);
    }
    memset(in, 0, sizeof in);
    for (int c = 0; c < C; c += 2) in[c] = 1;
    cr_expect_eq(emp_zeros_percent(in, STRIDE, R, C, 1), 100 * 18 / 37);
    cr_expect_eq(emp_zeros_percent(in, STRIDE, R, C, R), 100 * (R * C - 19) / (R * C));
}

Test(transpose, exchanges_rows_and_columns)
{
    enum { MOST = 50, STRIDE = 53 };
    static float         in[MOST * STRIDE], out[MOST * STRIDE];
    static const int32_t shape[][2] = {{1, 1}, {16, 16}, {17, 31}, {48, 32}, {50, 50}};

    fill(in, MOST * STRIDE, 1);
    for (size_t s = 0; s < COUNT(shape); s++) {
        const int32_t rows = shape[s][0], cols = shape[s][1];
        for (int i = 0; i < MOST * STRIDE; i++) out[i] = 7;
        emp_transpose(out, STRIDE, in, STRIDE, rows, cols);
        for (int r = 0; r < MOST; r++)
            for (int c = 0; c < MOST; c++)
                cr_assert_eq(out[c * STRIDE + r],
                             r < rows && c < cols ? in[r * STRIDE + c] : 7);
    }
}

/* Each reads what all wrote before they met. */
Test(team, meets_when_the_last_has_come)
{
    enum { SIZE = 3, MEETINGS = 200 };
    emp_team team = {0};
    int      seen[SIZE] = {0}, late = 0;

#pragma omp parallel num_threads(SIZE) reduction(+ : late)
    {
        int me = omp_get_thread_num(), size = omp_get_num_threads();
        for (int i = 1; i <= MEETINGS; i++) {
            seen[me] = i;
            emp_team_meet(&team, size);
            for (int other = 0; other < size; other++) late += seen[other] < i;
            emp_team_meet(&team, size);
        }
    }
    cr_expect_eq(late, 0);
}

static const emp_param_slice slices[] = {{"weight", 3, 5, 0}, {"bias", 1, 5, 0}};

Test(params, slices_are_aligned_and_not_empty)
{
    emp_params p;
    emp_panels panels;

    SURVIVES_EVERY_ALLOCATION_FAILURE(emp_params_init(&p, slices, 2, NULL), (void)0);
    cr_expect_eq(p.slice[1].offset, 16, "15 values fill one line of 16");
    emp_params_clear(&p);
    MUST_FAIL(emp_params_init(&p, &(emp_param_slice){"w", 0, 5, 0}, 1, &why), EMP_EINVAL,
              "w is 0 x 5");
    emp_mem_fail_after(0);
    cr_expect_eq(emp_panels_init(&panels, 2, 2, NULL), EMP_ENOMEM);
    emp_mem_fail_after(-1);
    cr_expect_eq(emp_mem_live_blocks(), 0);
}

Test(params, glorot_has_the_stated_range)
{
    const emp_param_slice big = {"w", 40, 56, 0};
    const double          limit = sqrt(6.0 / 96.0);
    SCOPED(emp_params, emp_params_clear) p;
    emp_rng rng;
    double  largest = 0.0, squares = 0.0;

    MUST(emp_params_init(&p, &big, 1, NULL));
    emp_rng_init(&rng, 1, 0, 0);
    emp_params_glorot(&p, 0, 1.0, &rng);
    for (int i = 0; i < 40 * 56; i++) {
        double v = (double)p.value[i];
        largest = fmax(largest, fabs(v));
        squares += v * v;
    }
    cr_expect(largest <= limit * 1.000001 && largest > 0.99 * limit);
    cr_expect_float_eq(squares / (40 * 56), limit * limit / 3.0, 0.05 * limit * limit);
}

/* Checks the shorter side's vectors, tall and wide. */
Test(params, orthogonal_vectors_are_so)
{
    enum { SHORT = 5, LONG = 9 };
    const emp_param_slice both[2] = {{"wide", SHORT, LONG, 0}, {"tall", LONG, SHORT, 0}};
    SCOPED(emp_params, emp_params_clear) p;
    emp_rng rng;

    MUST(emp_params_init(&p, both, 2, NULL));
    emp_rng_init(&rng, 1, 0, 0);
    for (int s = 0; s < 2; s++) {
        emp_params_orthogonal(&p, s, &rng);
        const emp_real *v = emp_params_value(&p, s);
        for (int i = 0; i < SHORT; i++) {
            for (int j = 0; j < SHORT; j++) {
                double sum = 0.0;
                for (int k = 0; k < LONG; k++)
                    sum += s == 0 ? (double)v[i * LONG + k] * (double)v[j * LONG + k]
                                  : (double)v[k * SHORT + i] * (double)v[k * SHORT + j];
                cr_expect_float_eq(sum, i == j, 1e-5, "%d: %d and %d: %g", s, i, j, sum);
            }
        }
    }
}

Test(params, adam_forgets)
{
    const emp_adam adam = {0.1, 0.9, 0.999, 1e-8, false};
    SCOPED(emp_params, emp_params_clear) p;
    double first = 0.0;

    MUST(emp_params_init(&p, slices, 2, NULL));
    for (int step = 0; step < 3; step++) {
        if (step == 2) emp_params_forget(&p);
        p.value[0] = 0;
        p.gradient[0] = step == 1 ? -7.0f : 2.0f;
        emp_params_adam(&p, &adam);
        if (step == 0) first = (double)p.value[0];
    }
    cr_expect_float_eq((double)p.value[0], first, 1e-7, "as the first step");
    cr_expect_eq(p.step, 1);
}

Test(params, clip_keeps_the_direction)
{
    SCOPED(emp_params, emp_params_clear) p;

    MUST(emp_params_init(&p, slices, 2, NULL));
    p.gradient[0] = 3.0f;
    p.gradient[16] = -4.0f;
    cr_expect_float_eq(emp_params_clip(&p, 1.0), 5.0, 1e-6);
    cr_expect_float_eq((double)p.gradient[0], 0.6, 1e-6);
    cr_expect_float_eq((double)p.gradient[16], -0.8, 1e-6);
    cr_expect_float_eq(emp_params_clip(&p, 2.0), 1.0, 1e-6);
    cr_expect_float_eq((double)p.gradient[0], 0.6, 1e-6,
                       "a short gradient is left alone");
}

/* Two steps with gradients 1 and 3, by the paper's algorithm 1, and by its section 2's variant, which TensorFlow
 * documents, written out. */
Test(params, adam_follows_its_definitions)
{
    for (int is_hat = 0; is_hat < 2; is_hat++) {
        const emp_adam adam = {0.1, 0.9, 0.999, 1e-3, is_hat};
        double         m = 0.0, v = 0.0, value = 0.0;
        SCOPED(emp_params, emp_params_clear) p;
        MUST(emp_params_init(&p, slices, 2, NULL));
        for (int t = 1; t <= 2; t++) {
            const double g = 2 * t - 1, fast = 1.0 - pow(0.9, t),
                         slow = 1.0 - pow(0.999, t);
            p.gradient[2] = (float)g;
            emp_params_adam(&p, &adam);
            m = 0.9 * m + 0.1 * g;
            v = 0.999 * v + 0.001 * g * g;
            value -= is_hat ? 0.1 * sqrt(slow) / fast * m / (sqrt(v) + 1e-3)
                            : 0.1 * (m / fast) / (sqrt(v / slow) + 1e-3);
            cr_expect_float_eq((double)p.value[2], value, 1e-6, "step %d", t);
        }
        cr_expect_eq((double)p.value[3], 0.0, "no gradient, no step");
    }
}

Test(flush, makes_denormals_zero_and_restores)
{
    volatile float tiny = 1e-30f, product;
    unsigned       saved = emp_flush_begin();

    product = tiny * 1e-10f;
#if defined(__x86_64__)
    if (getenv("EMP_LAUNCHED") == NULL) /* valgrind keeps them */
        cr_expect_eq((double)product, 0.0);
#endif
    emp_flush_end(saved);
    product = tiny * 1e-10f;
    cr_expect_gt((double)product, 0.0);
}

Test(blas, names_its_core_and_multiplies)
{
    const float a[] = {1, 2, 3, 4, 5, 6}, b[] = {1, 0, 2, 1, 0, 3};
    float       c[4] = {1, 1, 1, 1};

    cr_expect_gt(strlen(emp_openblas_core_name()), 0);
    MUST(emp_openblas_open(NULL));
    emp_blas_gemm(false, false, 2, 2, 3, a, 3, b, 2, 1, c, 2); /* c = 1 + a b */
    cr_expect_eq((double)c[0], 1.0 + 1 + 4 + 0);
    cr_expect_eq((double)c[1], 1.0 + 0 + 2 + 9);
    cr_expect_eq((double)c[2], 1.0 + 4 + 10 + 0);
    cr_expect_eq((double)c[3], 1.0 + 0 + 5 + 18);
}

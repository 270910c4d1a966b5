// SPDX-License-Identifier: GPL-3.0-or-later
#include "policy/nn/layers.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "policy/nn/products.h"
#include "policy/nn/threads.h"

EMP_KERNEL static void add_row(emp_real *y, const emp_real *x, int64_t count)
{
    for (int64_t i = 0; i < count; i++) y[i] += x[i];
}

void emp_vector_add(emp_real *y, const emp_real *x, int64_t count)
{
    add_row(y, x, count);
}

EMP_KERNEL static void add_multiple(emp_real *y, const emp_real *x, emp_real factor,
                                    int64_t count)
{
    for (int64_t i = 0; i < count; i++) y[i] += factor * x[i];
}

void emp_vector_add_scaled(emp_real *y, const emp_real *x, emp_real factor, int64_t count)
{
    add_multiple(y, x, factor, count);
}

void emp_linear_forward(emp_real *y, const emp_real *x, const emp_real *w,
                        const emp_real *b, int32_t B, int32_t C, int32_t K,
                        int32_t threads)
{
    if (emp_tall_suits(B, C, K)) {
        emp_tall_multiply(y, b, 0, x, w, false, B, C, K, threads);
        return;
    }
    if (b != NULL) {
        for (int64_t n = 0; n < B; n++) memcpy(&y[n * K], b, (size_t)K * sizeof *y);
    }
    emp_blas_gemm_shared(false, false, B, K, C, x, C, w, K, b != NULL, y, K, threads);
}

void emp_linear_backward(emp_real *dx, emp_real *dw, emp_real *db, const emp_real *dy,
                         const emp_real *x, const emp_real *w, int32_t B, int32_t C,
                         int32_t K, int32_t threads)
{
    if (dx != NULL)
        emp_blas_gemm_shared(false, true, B, C, K, dy, K, w, K, 0, dx, C, threads);
    emp_blas_gemm_shared(true, false, C, K, B, x, C, dy, K, 1, dw, K, threads);
    if (db != NULL) emp_outer_add_rows(db, dy, K, K, B);
}

void emp_linear_inputs(emp_real *dx, const emp_real *start, const emp_real *dy,
                       const emp_real *w, int32_t B, int32_t C, int32_t K,
                       int32_t threads)
{
    if (emp_tall_suits(B, K, C)) {
        emp_tall_multiply(dx, start, C, dy, w, true, B, K, C, threads);
        return;
    }
    if (start != NULL && start != dx)
        memcpy(dx, start, (size_t)B * (size_t)C * sizeof *dx);
    emp_blas_gemm_shared(false, true, B, C, K, dy, K, w, K, start != NULL, dx, C,
                         threads);
}

void emp_embedding_forward(emp_real *y, const emp_real *e, const int32_t *index,
                           int32_t B, int32_t K)
{
    for (int64_t n = 0; n < B; n++) add_row(&y[n * K], &e[(int64_t)index[n] * K], K);
}

void emp_embedding_backward(emp_real *de, const emp_real *dy, const int32_t *index,
                            int32_t B, int32_t K)
{
    for (int64_t n = 0; n < B; n++) add_row(&de[(int64_t)index[n] * K], &dy[n * K], K);
}

/* ---- activations ---- */

EMP_KERNEL static void relu(emp_real *x, int64_t count)
{
    for (int64_t i = 0; i < count; i++) x[i] = x[i] > 0 ? x[i] : 0;
}

EMP_KERNEL static void relu_backward(emp_real *dy, const emp_real *y, int64_t count)
{
    for (int64_t i = 0; i < count; i++) dy[i] = y[i] > 0 ? dy[i] : 0;
}

EMP_KERNEL static void tanh_all(emp_real *x, int64_t count)
{
    for (int64_t i = 0; i < count; i++) x[i] = emp_tanh(x[i]);
}

EMP_KERNEL static void tanh_backward(emp_real *dy, const emp_real *y, int64_t count)
{
    for (int64_t i = 0; i < count; i++) dy[i] *= 1 - y[i] * y[i];
}

static const emp_real LEAK = (emp_real)0.1;

EMP_KERNEL static void leaky(emp_real *x, int64_t count)
{
    for (int64_t i = 0; i < count; i++) x[i] = x[i] > 0 ? x[i] : LEAK * x[i];
}

EMP_KERNEL static void leaky_backward(emp_real *dy, const emp_real *y, int64_t count)
{
    for (int64_t i = 0; i < count; i++) dy[i] = y[i] > 0 ? dy[i] : LEAK * dy[i];
}

void emp_activation_forward(emp_activation f, emp_real *x, int64_t count)
{
    switch (f) {
    case EMP_ACTIVATION_RELU: relu(x, count); break;
    case EMP_ACTIVATION_TANH: tanh_all(x, count); break;
    case EMP_ACTIVATION_LEAKY: leaky(x, count); break;
    }
}

void emp_activation_backward(emp_activation f, emp_real *dy, const emp_real *y,
                             int64_t count)
{
    switch (f) {
    case EMP_ACTIVATION_RELU: relu_backward(dy, y, count); break;
    case EMP_ACTIVATION_TANH: tanh_backward(dy, y, count); break;
    case EMP_ACTIVATION_LEAKY: leaky_backward(dy, y, count); break;
    }
}

/* ---- neighbours ---- */

/* Threads that share B rows of K numbers. A number takes as long as some multiplications in a cache. */
static int32_t team_of(int64_t B, int64_t K, int32_t threads)
{
    enum { OPERATIONS = 16 };

    return emp_team_size(B * K * OPERATIONS, threads);
}

/* The weight of an edge between nodes with so many neighbours. */
static emp_real weight(int32_t degree_u, int32_t degree_v)
{
    return (emp_real)(1.0 / sqrt((degree_u + 1.0) * (degree_v + 1.0)));
}

EMP_KERNEL static void scale_row(emp_real *y, const emp_real *x, emp_real factor,
                                 int64_t K)
{
#pragma omp simd
    for (int64_t i = 0; i < K; i++) y[i] = factor * x[i];
}

EMP_KERNEL static void scale_row_onto(emp_real *y, const emp_real *start,
                                      const emp_real *x, emp_real factor, int64_t K)
{
#pragma omp simd
    for (int64_t i = 0; i < K; i++) y[i] = start[i] + factor * x[i];
}

/* y += the rows x[k], each times its factor, one after another. */
EMP_KERNEL static void add_four(emp_real *y, const emp_real *const x[4],
                                const emp_real factor[4], int64_t K)
{
    const emp_real *a = x[0], *b = x[1], *c = x[2], *d = x[3];
    const emp_real  fa = factor[0], fb = factor[1], fc = factor[2], fd = factor[3];

#pragma omp simd
    for (int64_t i = 0; i < K; i++) {
        emp_real sum = y[i];
        sum += fa * a[i];
        sum += fb * b[i];
        sum += fc * c[i];
        sum += fd * d[i];
        y[i] = sum;
    }
}

static void mix_row(emp_real *y, const emp_real *start, const emp_real *x,
                    const int32_t *first, const int32_t *node, int64_t v, int64_t K)
{
    const int32_t   degree = first[v + 1] - first[v];
    const emp_real *row[4];
    emp_real        factor[4];
    int             count = 0;

    if (start == NULL)
        scale_row(y, &x[v * K], weight(degree, degree), K);
    else
        scale_row_onto(y, start, &x[v * K], weight(degree, degree), K);
    for (int32_t e = first[v]; e < first[v + 1]; e++) {
        const int64_t u = node[e];
        row[count] = &x[u * K];
        factor[count++] = weight(degree, first[u + 1] - first[u]);
        if (count < 4) continue;
        add_four(y, row, factor, K);
        count = 0;
    }
    for (int k = 0; k < count; k++) add_multiple(y, row[k], factor[k], K);
}

void emp_graph_conv(emp_real *y, const emp_real *start, const emp_real *x,
                    const int32_t *first, const int32_t *node, int32_t B, int32_t K,
                    int32_t threads)
{
#pragma omp parallel for num_threads(team_of(B, K, threads))
    for (int64_t v = 0; v < B; v++)
        mix_row(&y[v * K], start == NULL ? NULL : &start[v * K], x, first, node, v, K);
}

EMP_KERNEL static void take(emp_real *restrict m, int32_t *restrict chosen,
                            const emp_real *restrict x, int32_t u, int32_t C)
{
    for (int32_t i = 0; i < C; i++) {
        bool is_more = chosen[i] < 0 || x[i] > m[i];
        m[i] = is_more ? x[i] : m[i];
        chosen[i] = is_more ? u : chosen[i];
    }
}

void emp_neighbor_max_forward(emp_real *m, int32_t *chosen, const emp_real *x,
                              const int32_t *first, const int32_t *node, int32_t N,
                              int32_t C, int32_t threads)
{
#pragma omp parallel for num_threads(team_of(N, C, threads))
    for (int64_t v = 0; v < N; v++) {
        memset(&m[v * C], 0, (size_t)C * sizeof *m);
        for (int32_t i = 0; i < C; i++) chosen[v * C + i] = -1;
        for (int32_t e = first[v]; e < first[v + 1]; e++)
            take(&m[v * C], &chosen[v * C], &x[(int64_t)node[e] * C], node[e], C);
    }
}

/* Columns that threads share out: a cache line of them. */
enum { COLUMNS = 16 };

/* Row by row through the columns from `low` to `high`. */
static void scatter(emp_real *dx, const emp_real *dm, const int32_t *chosen, int64_t N,
                    int64_t C, int64_t low, int64_t high)
{
    for (int64_t i = 0; i < N * C; i += C)
        for (int64_t c = low; c < high; c++)
            if (chosen[i + c] >= 0) dx[chosen[i + c] * C + c] += dm[i + c];
}

void emp_neighbor_max_backward(emp_real *dx, const emp_real *dm, const int32_t *chosen,
                               int32_t N, int32_t C, int32_t threads)
{
    const int64_t lines = ((int64_t)C + COLUMNS - 1) / COLUMNS;
    const int32_t team = team_of(N, C, threads);
    const int64_t parts = team < lines ? team : lines;

    memset(dx, 0, (size_t)N * (size_t)C * sizeof *dx);
#pragma omp parallel for num_threads((int)parts)
    for (int64_t part = 0; part < parts; part++) {
        const int64_t low = lines * part / parts * COLUMNS;
        const int64_t high = lines * (part + 1) / parts * COLUMNS;
        scatter(dx, dm, chosen, N, C, low, high < C ? high : C);
    }
}

static emp_real scale_of(double rate) { return (emp_real)(1.0 / (1.0 - rate)); }

void emp_relu_dropout_forward(emp_real *x, int64_t count, double rate, emp_rng *rng)
{
    const uint32_t limit = (uint32_t)(rate * 4294967296.0);
    const emp_real scale = scale_of(rate);

    emp_activation_forward(EMP_ACTIVATION_RELU, x, count);
    if (!(rate > 0.0)) return;
    for (int64_t i = 0; i < count; i++)
        x[i] = emp_rng_u32(rng) < limit ? 0 : scale * x[i];
}

EMP_KERNEL static void keep_above_0(emp_real *dx, const emp_real *dy, const emp_real *y,
                                    emp_real factor, int64_t count)
{
#pragma omp simd
    for (int64_t i = 0; i < count; i++) dx[i] = y[i] > 0 ? factor * dy[i] : 0;
}

void emp_relu_dropout_backward(emp_real *dx, const emp_real *dy, const emp_real *y,
                               int64_t count, double rate)
{
    keep_above_0(dx, dy, y, scale_of(rate), count);
}

EMP_KERNEL static void sigmoid_all(emp_real *x, int64_t count)
{
    for (int64_t i = 0; i < count; i++) x[i] = emp_sigmoid(x[i]);
}

void emp_sigmoid_forward(emp_real *x, int64_t count) { sigmoid_all(x, count); }

EMP_KERNEL static void sigmoid_gradient(emp_real *restrict dy, const emp_real *restrict y,
                                        int64_t count)
{
    for (int64_t i = 0; i < count; i++) dy[i] *= y[i] * (1 - y[i]);
}

void emp_sigmoid_backward(emp_real *dy, const emp_real *y, int64_t count)
{
    sigmoid_gradient(dy, y, count);
}

EMP_KERNEL static void gate_row(emp_real *y, const emp_real *z, const emp_real *s,
                                int32_t C)
{
    for (int32_t i = 0; i < C; i++) y[i] = 2 * s[i] * z[i];
}

void emp_gate_forward(emp_real *y, const emp_real *z, const emp_real *s,
                      int32_t gate_rows, int32_t B, int32_t C, int32_t threads)
{
#pragma omp parallel for num_threads(team_of(B, C, threads))
    for (int64_t n = 0; n < B; n++)
        gate_row(&y[n * C], &z[n * C], gate_rows == 1 ? s : &s[n * C], C);
}

EMP_KERNEL static void add_products(emp_real *restrict ds, const emp_real *dy,
                                    const emp_real *z, int32_t C)
{
    for (int32_t i = 0; i < C; i++) ds[i] += 2 * dy[i] * z[i];
}

void emp_gate_backward(emp_real *dz, emp_real *ds, const emp_real *dy, const emp_real *z,
                       const emp_real *s, int32_t gate_rows, int32_t B, int32_t C,
                       int32_t threads)
{
    memset(ds, 0, (size_t)gate_rows * (size_t)C * sizeof *ds);
    for (int64_t n = 0; n < B; n++)
        add_products(gate_rows == 1 ? ds : &ds[n * C], &dy[n * C], &z[n * C], C);
    emp_gate_forward(dz, dy, s, gate_rows, B, C, threads);
}

static const emp_real EPSILON = (emp_real)1e-5;

static emp_real inverse_root(emp_real variance)
{
#ifdef EMP_REAL_DOUBLE
    return 1 / sqrt(variance + EPSILON);
#else
    return 1 / sqrtf(variance + EPSILON);
#endif
}

/* A row is summed in LANES parts. The parts of AT_ONCE rows are added up side by side, because an addition waits for
 * the one before it. `rows` is a constant after inlining, here and below. */
enum { LANES = 64 / (int)sizeof(emp_real), AT_ONCE = 8 };

typedef emp_real lanes[AT_ONCE][LANES];

__attribute__((always_inline)) static inline void clear_lanes(lanes lane, const int rows)
{
    for (int r = 0; r < rows; r++)
        for (int l = 0; l < LANES; l++) lane[r][l] = 0;
}

/* The mean of the numbers whose sums are in the lanes. */
__attribute__((always_inline)) static inline void
mean_of_lanes(emp_real *mean, lanes lane, int64_t K, const int rows)
{
    for (int r = 0; r < rows; r++) mean[r] = lane[r][0];
    for (int l = 1; l < LANES; l++)
        for (int r = 0; r < rows; r++) mean[r] += lane[r][l];
    for (int r = 0; r < rows; r++) mean[r] /= (emp_real)K;
}

__attribute__((always_inline)) static inline void
find_means(emp_real *mean, const emp_real *x, int64_t K, const int rows)
{
    const int64_t whole = K / LANES * LANES;
    lanes         lane;

    clear_lanes(lane, rows);
    for (int64_t i = 0; i < whole; i += LANES)
        for (int r = 0; r < rows; r++) {
#pragma omp simd
            for (int l = 0; l < LANES; l++) lane[r][l] += x[r * K + i + l];
        }
    for (int r = 0; r < rows; r++)
        for (int64_t i = whole; i < K; i++) lane[r][0] += x[r * K + i];
    mean_of_lanes(mean, lane, K, rows);
}

__attribute__((always_inline)) static inline void
find_variances(emp_real *variance, const emp_real *x, const emp_real *mean, int64_t K,
               const int rows)
{
    const int64_t whole = K / LANES * LANES;
    lanes         lane;

    clear_lanes(lane, rows);
    for (int64_t i = 0; i < whole; i += LANES)
        for (int r = 0; r < rows; r++) {
#pragma omp simd
            for (int l = 0; l < LANES; l++) {
                const emp_real off = x[r * K + i + l] - mean[r];
                lane[r][l] += off * off;
            }
        }
    for (int r = 0; r < rows; r++)
        for (int64_t i = whole; i < K; i++)
            lane[r][0] += (x[r * K + i] - mean[r]) * (x[r * K + i] - mean[r]);
    mean_of_lanes(variance, lane, K, rows);
}

/* Where the sums of some rows are that go into layer norm: x, or in `normal`. */
__attribute__((always_inline)) static inline const emp_real *
add_plus(emp_real *normal, const emp_real *x, const emp_real *plus, int64_t count)
{
    if (plus == NULL) return x;
#pragma omp simd
    for (int64_t i = 0; i < count; i++) normal[i] = x[i] + plus[i];
    return normal;
}

__attribute__((always_inline)) static inline void
normalize_some(emp_real *y, emp_real *normal, emp_real *inverse, const emp_real *x,
               const emp_real *gain, const emp_real *shift, int64_t K, const int rows)
{
    emp_real mean[AT_ONCE], factor[AT_ONCE];

    find_means(mean, x, K, rows);
    find_variances(factor, x, mean, K, rows);
    for (int r = 0; r < rows; r++) inverse[r] = factor[r] = inverse_root(factor[r]);
    for (int r = 0; r < rows; r++) {
#pragma omp simd
        for (int64_t i = 0; i < K; i++) {
            emp_real n = (x[r * K + i] - mean[r]) * factor[r];
            normal[r * K + i] = n;
            y[r * K + i] = gain[i] * n + shift[i];
        }
    }
}

/* Rows that go into layer norm and come out of it. */
typedef struct {
    emp_real       *y, *normal, *inverse;
    const emp_real *x, *plus, *gain, *shift;
    int64_t         K;
} norm_task;

EMP_KERNEL static void normalize_rows(const norm_task *t, int64_t first, int64_t rows)
{
    const int64_t K = t->K;

    for (int64_t r = first, count; r < first + rows; r += count) {
        emp_real *normal = t->normal + r * K;
        count = first + rows - r < AT_ONCE ? 1 : AT_ONCE;
        const emp_real *sum = add_plus(
            normal, t->x + r * K, t->plus == NULL ? NULL : t->plus + r * K, count * K);
        if (count == AT_ONCE)
            normalize_some(t->y + r * K, normal, t->inverse + r, sum, t->gain, t->shift,
                           K, AT_ONCE);
        else
            normalize_some(t->y + r * K, normal, t->inverse + r, sum, t->gain, t->shift,
                           K, 1);
    }
}

/* Rows that a thread takes at once. */
enum { NORM_ROWS = 16 };

static int64_t norm_rows(int64_t left) { return left < NORM_ROWS ? left : NORM_ROWS; }

void emp_layer_norm_forward(emp_real *y, emp_real *normal, emp_real *inverse,
                            const emp_real *x, const emp_real *plus, const emp_real *gain,
                            const emp_real *shift, int32_t B, int32_t K, int32_t threads)
{
    const norm_task t = {y, normal, inverse, x, plus, gain, shift, K};

#pragma omp parallel for num_threads(team_of(B, K, threads))
    for (int64_t r = 0; r < B; r += NORM_ROWS) {
        const unsigned saved = emp_flush_begin();
        normalize_rows(&t, r, norm_rows(B - r));
        emp_flush_end(saved);
    }
}

EMP_KERNEL static void scale_and_shift(emp_real *y, const emp_real *normal,
                                       const emp_real *gain, const emp_real *shift,
                                       int64_t K)
{
#pragma omp simd
    for (int64_t i = 0; i < K; i++) y[i] = gain[i] * normal[i] + shift[i];
}

void emp_layer_norm_again(emp_real *y, const emp_real *normal, const emp_real *gain,
                          const emp_real *shift, int32_t B, int32_t K)
{
    for (int64_t r = 0; r < B; r++)
        scale_and_shift(&y[r * K], &normal[r * K], gain, shift, K);
}

/* Four rows go into a sum before it is stored, one after another. */
EMP_KERNEL static void add_to_sums(emp_real *restrict dgain, emp_real *restrict dshift,
                                   const emp_real *dy, const emp_real *normal,
                                   int64_t rows, int64_t K)
{
    int64_t r = 0;

    for (; r + 4 <= rows; r += 4, dy += 4 * K, normal += 4 * K) {
#pragma omp simd
        for (int64_t i = 0; i < K; i++) {
            emp_real gain = dgain[i], shift = dshift[i];
            gain += dy[i] * normal[i];
            gain += dy[K + i] * normal[K + i];
            gain += dy[2 * K + i] * normal[2 * K + i];
            gain += dy[3 * K + i] * normal[3 * K + i];
            shift += dy[i];
            shift += dy[K + i];
            shift += dy[2 * K + i];
            shift += dy[3 * K + i];
            dgain[i] = gain;
            dshift[i] = shift;
        }
    }
    for (; r < rows; r++, dy += K, normal += K) {
#pragma omp simd
        for (int64_t i = 0; i < K; i++) {
            dgain[i] += dy[i] * normal[i];
            dshift[i] += dy[i];
        }
    }
}

/* Means of g = gain dy and of g n over each row. */
__attribute__((always_inline)) static inline void
find_gradient_means(emp_real *mean, emp_real *along, const emp_real *dy,
                    const emp_real *normal, const emp_real *gain, int64_t K,
                    const int rows)
{
    const int64_t whole = K / LANES * LANES;
    lanes         sum, dot;

    clear_lanes(sum, rows);
    clear_lanes(dot, rows);
    for (int64_t i = 0; i < whole; i += LANES)
        for (int r = 0; r < rows; r++) {
#pragma omp simd
            for (int l = 0; l < LANES; l++) {
                sum[r][l] += gain[i + l] * dy[r * K + i + l];
                dot[r][l] += gain[i + l] * dy[r * K + i + l] * normal[r * K + i + l];
            }
        }
    for (int r = 0; r < rows; r++)
        for (int64_t i = whole; i < K; i++) {
            sum[r][0] += gain[i] * dy[r * K + i];
            dot[r][0] += gain[i] * dy[r * K + i] * normal[r * K + i];
        }
    mean_of_lanes(mean, sum, K, rows);
    mean_of_lanes(along, dot, K, rows);
}

__attribute__((always_inline)) static inline void
some_backward(emp_real *dx, const emp_real *dy, const emp_real *normal,
              const emp_real *inverse, const emp_real *gain, int64_t K, const int rows)
{
    emp_real mean[AT_ONCE], along[AT_ONCE];

    find_gradient_means(mean, along, dy, normal, gain, K, rows);
    for (int r = 0; r < rows; r++) {
#pragma omp simd
        for (int64_t i = 0; i < K; i++)
            dx[r * K + i] = inverse[r] * (gain[i] * dy[r * K + i] - mean[r] -
                                          normal[r * K + i] * along[r]);
    }
}

EMP_KERNEL static void rows_backward(emp_real *dx, const emp_real *dy,
                                     const emp_real *normal, const emp_real *inverse,
                                     const emp_real *gain, int64_t rows, int64_t K)
{
    int64_t r = 0;

    for (; r + AT_ONCE <= rows; r += AT_ONCE)
        some_backward(&dx[r * K], &dy[r * K], &normal[r * K], &inverse[r], gain, K,
                      AT_ONCE);
    for (; r < rows; r++)
        some_backward(&dx[r * K], &dy[r * K], &normal[r * K], &inverse[r], gain, K, 1);
}

void emp_layer_norm_backward(emp_real *dx, emp_real *dgain, emp_real *dshift,
                             const emp_real *dy, const emp_real *normal,
                             const emp_real *inverse, const emp_real *gain, int32_t B,
                             int32_t K, int32_t threads)
{
    const int32_t  team = team_of(B, K, threads);
    const unsigned saved = emp_flush_begin();

    if (team > 1) add_to_sums(dgain, dshift, dy, normal, B, K);
#pragma omp parallel for num_threads(team)
    for (int64_t r = 0; r < B; r += NORM_ROWS) {
        const unsigned own = emp_flush_begin();
        const int64_t  rows = norm_rows(B - r);
        /* One thread reads rows once for both. */
        if (team == 1) add_to_sums(dgain, dshift, &dy[r * K], &normal[r * K], rows, K);
        rows_backward(&dx[r * K], &dy[r * K], &normal[r * K], &inverse[r], gain, rows, K);
        emp_flush_end(own);
    }
    emp_flush_end(saved);
}

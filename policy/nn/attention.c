// SPDX-License-Identifier: GPL-3.0-or-later
#include "policy/nn/attention.h"

#include <math.h>
#include <omp.h>
#include <string.h>

#include "policy/nn/categorical.h"
#include "policy/nn/products.h"
#include "policy/nn/threads.h"

/* ---- additive ---- */

/* The product of two of them is at most infinite, never 0 times infinity. */
static const emp_real LARGEST = 43;

EMP_KERNEL static void exp_all(emp_real *restrict y, const emp_real *restrict x,
                               int64_t count)
{
#pragma omp simd
    for (int64_t i = 0; i < count; i++) {
        emp_real c = x[i] < -LARGEST ? -LARGEST : x[i] > LARGEST ? LARGEST : x[i];
        y[i] = emp_exp(2 * c);
    }
}

void emp_attention_exp(emp_real *y, const emp_real *x, int64_t count)
{
    exp_all(y, x, count);
}

/* r = 1 / (1 + e^{2(q + m)}): then tanh = 1 - 2r, and its derivative is 4 r (1 - r). */
static inline emp_real half_of_rest(emp_real q_exp, emp_real m_exp)
{
    const emp_real large = (emp_real)0x1p59; /* the sum of 1 and this is in range */
    emp_real       x = q_exp * m_exp;

    return emp_reciprocal(1 + (x < large ? x : large));
}

/* Rows of the memory that share the loads of a query. */
enum { MEMORY_ROWS = 4 };

/* Adds to e of `rows` rows (a constant after inlining), A apart. */
__attribute__((always_inline)) static inline void
score_rows(emp_real *restrict e, const emp_real *restrict q_exp,
           const emp_real *restrict m_exp, const emp_real *restrict v, int64_t A,
           int64_t width, const int rows)
{
    emp_real sum[MEMORY_ROWS][16] = {{0}};
    int64_t  vectors = width / 16 * 16;

    for (int64_t j = 0; j < vectors; j += 16) {
        for (int r = 0; r < rows; r++) {
#pragma omp simd
            for (int l = 0; l < 16; l++)
                sum[r][l] +=
                    v[j + l] * (1 - 2 * half_of_rest(q_exp[j + l], m_exp[r * A + j + l]));
        }
    }
    for (int r = 0; r < rows; r++) {
        emp_real all = 0;
        for (int64_t j = vectors; j < width; j++)
            all += v[j] * (1 - 2 * half_of_rest(q_exp[j], m_exp[r * A + j]));
        for (int l = 0; l < 16; l++) all += sum[r][l];
        e[r] += all;
    }
}

EMP_KERNEL static void score_queries(emp_real *e, const emp_real *q_exp,
                                     const emp_real *m_exp, const emp_real *v, int64_t A,
                                     int64_t width, int64_t count)
{
    int64_t s = 0;

    for (; s + MEMORY_ROWS <= count; s += MEMORY_ROWS)
        score_rows(&e[s], q_exp, &m_exp[s * A], v, A, width, MEMORY_ROWS);
    for (; s < count; s++) score_rows(&e[s], q_exp, &m_exp[s * A], v, A, width, 1);
}

void emp_attention_score(emp_real *e, int64_t e_stride, const emp_real *query,
                         int64_t query_stride, int32_t count, const emp_real *memory_exp,
                         const emp_real *v, int32_t first, int32_t end, int32_t A)
{
    enum { BLOCK = 512 };
    emp_real q_exp[BLOCK];

    for (int64_t n = 0; n < count; n++, e += e_stride, query += query_stride) {
        for (int64_t s = first; s < end; s++) e[s] = 0;
        for (int64_t j = 0; j < A; j += BLOCK) {
            int64_t width = A - j < BLOCK ? A - j : BLOCK;
            exp_all(q_exp, &query[j], width);
            score_queries(&e[first], q_exp, &memory_exp[first * (int64_t)A + j], &v[j], A,
                          width, end - first);
        }
    }
}

EMP_KERNEL static void mix(emp_real *restrict context, const emp_real *restrict a,
                           const emp_real *restrict m, int64_t S, int64_t A)
{
    int64_t s = 0;

    for (int64_t j = 0; j < A; j++) context[j] = 0;
    for (; s + MEMORY_ROWS <= S; s += MEMORY_ROWS, m += MEMORY_ROWS * A) {
        for (int64_t j = 0; j < A; j++) {
            context[j] += a[s] * m[j] + a[s + 1] * m[A + j] + a[s + 2] * m[2 * A + j] +
                          a[s + 3] * m[3 * A + j];
        }
    }
    for (; s < S; s++, m += A) {
        for (int64_t j = 0; j < A; j++) context[j] += a[s] * m[j];
    }
}

void emp_attention_mix(emp_real *e, emp_real *context, const emp_real *memory, int32_t S,
                       int32_t A)
{
    emp_categorical_softmax(e, S);
    mix(context, e, memory, S, A);
}

/* de_s = a_s (da_s - sum_r a_r da_r), from da in place. */
EMP_KERNEL static void score_gradient(emp_real *restrict de, const emp_real *restrict a,
                                      int64_t S)
{
    emp_real mean = 0;

#pragma omp simd reduction(+ : mean)
    for (int64_t s = 0; s < S; s++) mean += a[s] * de[s];
    for (int64_t s = 0; s < S; s++) de[s] = a[s] * (de[s] - mean);
}

/* Columns and queries that go together: their sums stay in the nearest cache. */
enum { COLUMNS = 64, QUERIES = 4 };

/* Operations that take as long as one tanh and its gradient. */
enum { ACTIVATION = 16 };

/* With r as above and u = de_s r (1 - r): dm_s += 4 v u, dq = 4 v sum of u, and
 * dv += de_s tanh. For `queries` (a constant after inlining) at a time. */
__attribute__((always_inline)) static inline void
spread(emp_real *restrict query, emp_real *restrict dm, emp_real *restrict dv,
       const emp_real *restrict de, const emp_real *restrict m_exp,
       const emp_real *restrict v, int64_t S, int64_t A, int64_t width, const int queries)
{
    emp_real q_exp[QUERIES][COLUMNS], w[QUERIES][COLUMNS] = {{0}}, sum[COLUMNS] = {0};

    for (int n = 0; n < queries; n++) exp_all(q_exp[n], &query[n * A], width);
    for (int64_t s = 0; s < S; s++, m_exp += A, dm += A) {
#pragma omp simd
        for (int64_t j = 0; j < width; j++) {
            emp_real u_sum = 0, t_sum = 0;
            for (int n = 0; n < queries; n++) {
                emp_real r = half_of_rest(q_exp[n][j], m_exp[j]), d = de[n * S + s] * r;
                emp_real u = d - d * r;
                w[n][j] += u;
                u_sum += u;
                t_sum += de[n * S + s] - 2 * d;
            }
            dm[j] += 4 * v[j] * u_sum;
            sum[j] += t_sum;
        }
    }
    for (int64_t j = 0; j < width; j++) {
        for (int n = 0; n < queries; n++) query[n * A + j] = 4 * v[j] * w[n][j];
        dv[j] += sum[j];
    }
}

EMP_KERNEL static void spread_all(emp_real *query, emp_real *dm, emp_real *dv,
                                  const emp_real *de, const emp_real *m,
                                  const emp_real *v, int64_t count, int64_t S, int64_t A,
                                  int64_t width)
{
    int64_t n = 0;

    for (; n + QUERIES <= count; n += QUERIES)
        spread(&query[n * A], dm, dv, &de[n * S], m, v, S, A, width, QUERIES);
    for (; n < count; n++)
        spread(&query[n * A], dm, dv, &de[n * S], m, v, S, A, width, 1);
}

void emp_attention_backward(emp_real *query, emp_real *dmemory, emp_real *dv,
                            const emp_attention_past *past, emp_real *scratch,
                            int32_t threads)
{
    int32_t   count = past->count, S = past->S, A = past->A;
    int32_t   team = emp_team_size(ACTIVATION * (int64_t)count * S * A, threads);
    emp_real *de = scratch;

    emp_blas_gemm_shared(false, true, count, S, A, past->dcontext, past->dcontext_stride,
                         past->memory, A, 0, de, S, threads);
    emp_blas_gemm_shared(true, false, S, A, count, past->weights, S, past->dcontext,
                         past->dcontext_stride, 1, dmemory, A, threads);
#pragma omp parallel num_threads(team)
    {
        unsigned saved = emp_flush_begin();
#pragma omp for
        for (int64_t n = 0; n < count; n++)
            score_gradient(&de[n * S], &past->weights[n * S], S);
#pragma omp for
        for (int64_t j = 0; j < A; j += COLUMNS) {
            int64_t width = A - j < COLUMNS ? A - j : COLUMNS;
            if (emp_stop_is_set(past->stop)) continue;
            spread_all(query + j, dmemory + j, dv + j, de, past->memory_exp + j,
                       past->v + j, count, S, A, width);
        }
        emp_flush_end(saved);
    }
}

/* ---- by dot products ---- */

/* Rows that go through all products before the next ones do, so that their weights stay in a
 * near cache; and those whose exponentials are taken together. */
enum { BLOCK = 48, ROWS = 4, LANES = EMP_PANEL_LANES };

/* The inputs of one head of one segment. */
typedef struct {
    int32_t  first, count; /* its rows */
    int32_t  memory;       /* rows before them that it sees */
    int32_t  column, size; /* of the head in a row's query */
    int32_t  number;       /* of the head */
    emp_real scale;
} head;

static int32_t keys_of(const head *h) { return h->memory + h->count; }

static head head_at(const emp_dot_attention *a, int32_t segment, int32_t number)
{
    int32_t first = segment * a->segment, left = a->rows - first;
    head    h = {.first = first,
                 .count = left < a->segment ? left : a->segment,
                 .memory = a->has_memory && segment > 0 ? a->segment : 0,
                 .size = a->width / a->heads,
                 .number = number};

    h.column = number * h.size;
    h.scale = (emp_real)(1.0 / sqrt((double)h.size));
    return h;
}

static int32_t team_of(const emp_dot_attention *a)
{
    const int64_t keys = (a->has_memory ? 2 : 1) * (int64_t)a->segment;

    return emp_team_size(2 * keys * a->rows * a->width, a->threads);
}

static int32_t segments_of(const emp_dot_attention *a)
{
    return (a->rows + a->segment - 1) / a->segment;
}

/* ---- scratch ---- */

/* The buffers of a thread. Keys are padded to whole panels: those beyond the last repeat it, and what comes
 * of them is dropped. */
typedef struct {
    emp_panels kt, vt;          /* (size, keys) */
    emp_panels k, v;            /* (keys, size) */
    emp_real  *q, *d, *out;     /* (segment, size) */
    emp_real  *dkt, *dvt;       /* (size, keys) */
    emp_real  *weight, *change; /* (rows of a block, keys) */
} space;

static int32_t round_up(int32_t count, int32_t multiple)
{
    return (count + multiple - 1) / multiple * multiple;
}

static int32_t padded(int32_t keys) { return round_up(keys, EMP_PANEL_COLS); }

/* The memory of a thread, and how much of it is taken. */
typedef struct {
    emp_real *start;
    size_t    used;
} heap;

/* Whole lines of cache; NULL if there is nothing to take from. */
static emp_real *take(heap *from, int32_t rows, int32_t cols)
{
    emp_real *taken = from->start == NULL ? NULL : from->start + from->used;

    from->used += ((size_t)rows * (size_t)cols + LANES - 1) / LANES * LANES;
    return taken;
}

static void lay_out(space *s, const emp_dot_attention *a, heap *from)
{
    const int32_t size = a->width / a->heads, wide = round_up(size, LANES);
    const int32_t keys = padded((a->has_memory ? 2 : 1) * a->segment);

    s->kt.data = take(from, size, keys);
    s->vt.data = take(from, size, keys);
    s->k.data = take(from, keys, wide);
    s->v.data = take(from, keys, wide);
    s->q = take(from, a->segment, size);
    s->d = take(from, a->segment, size);
    s->out = take(from, a->segment, size);
    s->dkt = take(from, size, keys);
    s->dvt = take(from, size, keys);
    s->weight = take(from, BLOCK, keys);
    s->change = take(from, BLOCK, keys);
}

static size_t space_of_thread(const emp_dot_attention *a)
{
    heap  none = {0};
    space s;

    lay_out(&s, a, &none);
    return none.used;
}

size_t emp_dot_attention_scratch(const emp_dot_attention *a)
{
    return space_of_thread(a) * (size_t)a->threads;
}

static space space_here(const emp_dot_attention *a, const head *h)
{
    const int32_t keys = padded(keys_of(h));
    heap          mine = {a->scratch, space_of_thread(a) * (size_t)omp_get_thread_num()};
    space         s;

    lay_out(&s, a, &mine);
    s.kt.rows = s.vt.rows = s.k.cols = s.v.cols = h->size;
    s.kt.cols = s.vt.cols = s.k.rows = s.v.rows = keys;
    s.kt.width = s.vt.width = EMP_PANEL_COLS;
    s.k.width = s.v.width = LANES;
    return s;
}

/* ---- what a head sees ---- */

/* From \a keys rows, \a stride apart. The keys of a row of panels lie side by side. */
static void pack_across(const emp_panels *panels, const emp_real *first, int64_t stride,
                        int32_t keys)
{
    const int32_t width = panels->width;
    emp_real     *out = panels->data;

    for (int32_t key = 0; key < panels->cols; key++) {
        const emp_real *from = first + (key < keys ? key : keys - 1) * stride;
        emp_real       *to = out + key / width * width * panels->rows + key % width;
        for (int32_t c = 0; c < panels->rows; c++) to[c * width] = from[c];
    }
}

static void pack_along(const emp_panels *panels, const emp_real *first, int64_t stride,
                       int32_t keys)
{
    const int32_t most = panels->width;

    for (int32_t c = 0; c < panels->cols; c += most) {
        const int32_t width = panels->cols - c < most ? panels->cols - c : most;
        emp_real     *to = panels->data + (int64_t)c * panels->rows;
        for (int32_t key = 0; key < keys; key++, to += most)
            memcpy(to, first + key * stride + c, (size_t)width * sizeof *to);
    }
}

/* Columns of \a count rows, without gaps. */
static void gather(emp_real *to, const emp_real *first, int64_t stride, int32_t count,
                   int32_t size)
{
    for (int64_t r = 0; r < count; r++)
        memcpy(&to[r * size], first + r * stride, (size_t)size * sizeof *to);
}

/* ---- weights of some rows ---- */

/* x = e^(x scale - shift), and the sums of rows; `rows` is a constant after inlining. */
__attribute__((always_inline)) static inline void
take_exp(emp_real *restrict x, int64_t stride, int64_t n, emp_real scale,
         const emp_real *shift, emp_real *sum, const int rows)
{
    emp_real lane[ROWS][LANES] = {{0}};
    int64_t  whole = n / LANES * LANES;

    for (int64_t i = 0; i < whole; i += LANES) {
        for (int r = 0; r < rows; r++) {
#pragma omp simd
            for (int l = 0; l < LANES; l++) {
                emp_real e = emp_exp_below_0(x[r * stride + i + l] * scale - shift[r]);
                lane[r][l] += e;
                x[r * stride + i + l] = e;
            }
        }
    }
    for (int r = 0; r < rows; r++) {
        sum[r] = 0;
        for (int l = 0; l < LANES; l++) sum[r] += lane[r][l];
        for (int64_t i = whole; i < n; i++) {
            emp_real e = emp_exp_below_0(x[r * stride + i] * scale - shift[r]);
            sum[r] += e;
            x[r * stride + i] = e;
        }
    }
}

EMP_KERNEL static emp_real largest_of(const emp_real *x, int64_t n)
{
    emp_real top = x[0];

#pragma omp simd reduction(max : top)
    for (int64_t i = 0; i < n; i++) top = x[i] > top ? x[i] : top;
    return top;
}

EMP_KERNEL static void exp_rows(emp_real *x, int64_t stride, int64_t n, emp_real scale,
                                const emp_real *shift, emp_real *sum, int64_t rows)
{
    int64_t r = 0;

    for (; r + ROWS <= rows; r += ROWS)
        take_exp(&x[r * stride], stride, n, scale, &shift[r], &sum[r], ROWS);
    for (; r < rows; r++)
        take_exp(&x[r * stride], stride, n, scale, &shift[r], &sum[r], 1);
}

/* ---- products ---- */

/* y = x W for some rows; W has `depth` rows, or more that are not meant. */
static void multiply(const emp_panels *w, emp_real *y, const emp_real *x,
                     int32_t x_stride, int32_t count, int32_t depth)
{
    emp_panels_part(w, y, w->cols, NULL, 0, x, x_stride, count, 0, depth);
}

static int32_t rows_of_block(const head *h, int32_t row)
{
    return h->count - row < BLOCK ? h->count - row : BLOCK;
}

/* Products of queries and keys. */
static void score(const space *s, const head *h, int32_t row, int32_t count)
{
    multiply(&s->kt, s->weight, &s->q[(int64_t)row * h->size], h->size, count, h->size);
}

/* ---- forward ---- */

static void block_forward(const space *s, const head *h, int32_t row, int32_t count,
                          emp_real *shift, emp_real *inverse)
{
    const int32_t keys = keys_of(h), stride = s->kt.cols;
    emp_real      sum[BLOCK], *out = &s->out[(int64_t)row * h->size];

    score(s, h, row, count);
    for (int32_t r = 0; r < count; r++)
        shift[r] = h->scale * largest_of(&s->weight[(int64_t)r * stride], keys);
    exp_rows(s->weight, stride, keys, h->scale, shift, sum, count);
    for (int32_t r = 0; r < count; r++) inverse[r] = 1 / sum[r];
    multiply(&s->v, out, s->weight, stride, count, keys);
    for (int32_t r = 0; r < count; r++)
        for (int32_t c = 0; c < h->size; c++) out[r * h->size + c] *= inverse[r];
}

/* Where the shifts of a head's rows stand; the inverse sums follow all heads' shifts. */
static int64_t normalizer(const emp_dot_attention *a, const head *h)
{
    return (int64_t)h->number * a->rows + h->first;
}

static void run_forward(const emp_dot_attention *a, const head *h, emp_real *out,
                        emp_real *normalizers, const emp_real *qkv)
{
    const int64_t   stride = 3 * (int64_t)a->width, first = h->first, W = a->width;
    const emp_real *q = &qkv[first * stride + h->column];
    const emp_real *k = &qkv[(first - h->memory) * stride + W + h->column];
    emp_real       *shift = &normalizers[normalizer(a, h)];
    emp_real       *inverse = shift + (int64_t)a->rows * a->heads;
    space           s = space_here(a, h);

    gather(s.q, q, stride, h->count, h->size);
    pack_across(&s.kt, k, stride, keys_of(h));
    pack_along(&s.v, k + W, stride, keys_of(h));
    for (int32_t row = 0; row < h->count; row += rows_of_block(h, row))
        block_forward(&s, h, row, rows_of_block(h, row), &shift[row], &inverse[row]);
    for (int64_t r = 0; r < h->count; r++)
        memcpy(&out[(first + r) * W + h->column], &s.out[r * h->size],
               (size_t)h->size * sizeof *out);
}

size_t emp_dot_attention_normalizers(const emp_dot_attention *a)
{
    return 2 * (size_t)a->rows * (size_t)a->heads;
}

void emp_dot_attention_forward(const emp_dot_attention *a, emp_real *out,
                               emp_real *normalizers, const emp_real *qkv)
{
    const int32_t segments = segments_of(a);

#pragma omp parallel for num_threads(team_of(a)) collapse(2)
    for (int32_t s = 0; s < segments; s++) {
        for (int32_t n = 0; n < a->heads; n++) {
            unsigned saved = emp_flush_begin();
            head     h = head_at(a, s, n);
            run_forward(a, &h, out, normalizers, qkv);
            emp_flush_end(saved);
        }
    }
}

/* ---- backward ---- */

/* x = w (x - mean), row by row. */
EMP_KERNEL static void weigh_changes(emp_real *restrict x, const emp_real *restrict w,
                                     int64_t stride, int64_t n, const emp_real *mean,
                                     int64_t rows)
{
    for (int64_t r = 0; r < rows; r++, x += stride, w += stride)
        for (int64_t i = 0; i < n; i++) x[i] = w[i] * (x[i] - mean[r]);
}

/* From d and out to d over the normalizer, times the scale; \a mean gets its product with out. */
EMP_KERNEL static void scale_changes(emp_real *restrict d, const emp_real *restrict out,
                                     int64_t stride, const emp_real *inverse,
                                     emp_real *mean, emp_real scale, int32_t size,
                                     int32_t rows)
{
    for (int64_t r = 0; r < rows; r++) {
        const emp_real factor = inverse[r] * scale;
        emp_real       dot = 0;
        for (int64_t c = 0; c < size; c++) {
            d[r * size + c] *= factor;
            dot += d[r * size + c] * out[r * stride + c];
        }
        mean[r] = dot;
    }
}

/* With weights before they were divided by their sums, since d is divided. */
static void block_backward(const space *s, const head *h, int32_t row, int32_t count,
                           const emp_real *shift, const emp_real *mean)
{
    const int32_t   keys = s->kt.cols, size = h->size;
    const emp_real *q = &s->q[(int64_t)row * size], *d = &s->d[(int64_t)row * size];
    emp_real        sum[BLOCK];

    score(s, h, row, count);
    exp_rows(s->weight, keys, keys, h->scale, shift, sum, count);
    multiply(&s->vt, s->change, d, size, count, size);
    emp_outer_add(s->dvt, d, size, size, s->weight, keys, keys, count);
    weigh_changes(s->change, s->weight, keys, keys, mean, count);
    emp_outer_add(s->dkt, q, size, size, s->change, keys, keys, count);
    multiply(&s->k, &s->out[(int64_t)row * size], s->change, keys, count, keys_of(h));
}

/* Columns of dt as rows, times the factor. */
static void turn(emp_real *to, int64_t stride, const emp_real *dt, int64_t keys,
                 int32_t count, int32_t size, emp_real factor)
{
    for (int64_t r = 0; r < count; r++)
        for (int64_t c = 0; c < size; c++) to[r * stride + c] = factor * dt[c * keys + r];
}

/* The inputs and outputs of a pass. */
typedef struct {
    const emp_real *dout, *out, *normalizers, *qkv;
    emp_real       *dqkv, *dmemory;
} task;

static void load_backward(const space *s, const emp_dot_attention *a, const head *h,
                          const task *t)
{
    const int64_t   W = a->width, stride = 3 * W, first = h->first;
    const size_t    bytes = (size_t)s->kt.cols * (size_t)h->size * sizeof(emp_real);
    const emp_real *k = &t->qkv[(first - h->memory) * stride + W + h->column];

    gather(s->q, &t->qkv[first * stride + h->column], stride, h->count, h->size);
    gather(s->d, &t->dout[first * W + h->column], W, h->count, h->size);
    pack_across(&s->kt, k, stride, keys_of(h));
    pack_along(&s->k, k, stride, keys_of(h));
    pack_across(&s->vt, k + W, stride, keys_of(h));
    memset(s->dkt, 0, bytes);
    memset(s->dvt, 0, bytes);
}

static void store_backward(const space *s, const emp_dot_attention *a, const head *h,
                           const task *t)
{
    const int64_t  W = a->width, stride = 3 * W, narrow = 2 * W, first = h->first;
    const int32_t  keys = s->kt.cols, size = h->size;
    const emp_real back = 1 / h->scale; /* scale_changes() put it into dvt */
    emp_real      *dq = &t->dqkv[first * stride + h->column];
    emp_real      *dk = &t->dmemory[(first - h->memory) * narrow + h->column];

    for (int64_t r = 0; r < h->count; r++)
        memcpy(&dq[r * stride], &s->out[r * size], (size_t)size * sizeof *dq);
    turn(dq + W, stride, s->dkt + h->memory, keys, h->count, size, 1);
    turn(dq + 2 * W, stride, s->dvt + h->memory, keys, h->count, size, back);
    turn(dk, narrow, s->dkt, keys, h->memory, size, 1);
    turn(dk + W, narrow, s->dvt, keys, h->memory, size, back);
}

static void run_backward(const emp_dot_attention *a, const head *h, const task *t)
{
    const int64_t   W = a->width;
    const emp_real *shift = &t->normalizers[normalizer(a, h)];
    const emp_real *inverse = shift + (int64_t)a->rows * a->heads;
    const space     s = space_here(a, h);
    emp_real        mean[BLOCK];

    load_backward(&s, a, h, t);
    for (int32_t row = 0; row < h->count; row += rows_of_block(h, row)) {
        const int32_t count = rows_of_block(h, row);
        scale_changes(&s.d[row * h->size], &t->out[(h->first + row) * W + h->column], W,
                      &inverse[row], mean, h->scale, h->size, count);
        block_backward(&s, h, row, count, &shift[row], mean);
    }
    store_backward(&s, a, h, t);
}

/* Rows outside every segment's memory. */
static void clear_unseen(const emp_dot_attention *a, emp_real *dmemory)
{
    int64_t first = a->has_memory ? (int64_t)(segments_of(a) - 1) * a->segment : 0;
    int64_t narrow = 2 * (int64_t)a->width;

    memset(&dmemory[first * narrow], 0,
           (size_t)((a->rows - first) * narrow) * sizeof *dmemory);
}

void emp_dot_attention_backward(const emp_dot_attention *a, emp_real *dqkv,
                                emp_real *dmemory, const emp_real *dout,
                                const emp_real *out, const emp_real *normalizers,
                                const emp_real *qkv)
{
    const int32_t segments = segments_of(a);
    const task    t = {.dout = dout,
                       .out = out,
                       .normalizers = normalizers,
                       .qkv = qkv,
                       .dqkv = dqkv,
                       .dmemory = dmemory};

    clear_unseen(a, dmemory);
#pragma omp parallel for num_threads(team_of(a)) collapse(2)
    for (int32_t s = 0; s < segments; s++) {
        for (int32_t n = 0; n < a->heads; n++) {
            unsigned saved = emp_flush_begin();
            head     h = head_at(a, s, n);
            run_backward(a, &h, &t);
            emp_flush_end(saved);
        }
    }
}

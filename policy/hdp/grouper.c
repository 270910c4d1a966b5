// SPDX-License-Identifier: GPL-3.0-or-later
#include "policy/hdp/hdp.h"

#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "policy/nn/categorical.h"
#include "policy/nn/layers.h"
#include "policy/nn/products.h"
#include "policy/nn/threads.h"

enum {
    TYPE_EMBEDDING,
    TYPE_WEIGHT,
    VALUE_WEIGHT,
    HIDDEN_BIAS,
    OUT_WEIGHT,
    OUT_BIAS,
    SLICES
};

/* Rows are cut into CHUNKS parts, each summed on its own and then added in order: so the
 * result does not depend on the number of threads. Within a chunk, BLOCK rows at a time. */
enum { CHUNKS = 16, BLOCK = 256 };

/* Within a block, so many rows of logits at a time go all the way to the gradients of the
 * hidden units, and stay in the nearest cache. */
enum { STRIP = 24 };

/* The columns of positions follow the columns of sizes. */
enum { FIRST_POSITION = EMP_FEATURE_SIZES };

/* A given group may have a probability of 0 in float. So many of these multiply to a
 * normal double, and need one logarithm. */
static const double SMALLEST = 1e-38;
enum { FACTORS = 8 };

/* A chunk's workspace: gradients of -log p laid out as the parameters' (the type slices' and
 * the hidden bias's stay unused) and of the type image; then one block of activations. */
typedef struct {
    emp_real *gradient, *d_type_image;
    emp_real *hidden, *d_hidden, *logits;
    double    log_prob, entropy, squares;
} chunk_work;

/* The values that all rows of a run share. */
typedef struct {
    const emp_draw *draw;
    const int32_t  *given;
    double          deviation; /* of the noise of the logits */
    bool for_entropy;          /* gradients are those of the entropy; nothing is drawn */
} sampling;

/* Away from the streams that groups are drawn from, which begin at their first row. */
enum { STREAM_NOISE = INT32_MAX };

static size_t round_up(size_t count) { return (count + 15) / 16 * 16; }

/* Rows of logits are one line longer than they need to be: rows a power of two apart
 * would share a few sets of the cache. */
static int32_t logits_stride(const emp_grouper *gr)
{
    return (int32_t)round_up((size_t)gr->shape.groups) + EMP_OUTER_ALIGN;
}

static int32_t hidden_stride(const emp_grouper *gr)
{
    return (int32_t)round_up((size_t)gr->shape.hidden);
}

/* Reals of a chunk's gradients. */
static size_t sums_count(const emp_grouper *gr)
{
    size_t image = (size_t)gr->ops->type_count * (size_t)gr->shape.hidden;

    return gr->params.count + round_up(image);
}

/* A thread uses the same block for all its chunks, so that it stays in its cache. */
static chunk_work chunk_at(const emp_grouper *gr, int chunk, int thread)
{
    size_t     block = (size_t)BLOCK * (size_t)hidden_stride(gr);
    chunk_work w = {.gradient = gr->work + (size_t)chunk * gr->work_count};

    w.d_type_image = w.gradient + gr->params.count;
    w.hidden = gr->work + (size_t)thread * gr->work_count + sums_count(gr);
    w.d_hidden = w.hidden + block;
    w.logits = w.d_hidden + block;
    return w;
}

emp_status emp_grouper_init(emp_grouper *gr, const emp_grouper_shape *shape,
                            const emp_op_features *ops, emp_error *err)
{
    emp_status            st = EMP_OK;
    int32_t               H = shape->hidden, G = shape->groups;
    size_t                image = (size_t)ops->type_count * (size_t)H;
    const emp_param_slice slices[SLICES] = {
        [TYPE_EMBEDDING] = {"type_embedding", ops->type_count, shape->type_width, 0},
        [TYPE_WEIGHT] = {"type_weight", shape->type_width, H, 0},
        [VALUE_WEIGHT] = {"value_weight", ops->width, H, 0},
        [HIDDEN_BIAS] = {"hidden_bias", 1, H, 0},
        [OUT_WEIGHT] = {"out_weight", H, G, 0},
        [OUT_BIAS] = {"out_bias", 1, G, 0}};

    *gr = (emp_grouper){.shape = *shape, .ops = ops};
    EMP_TRY(emp_params_init(&gr->params, slices, SLICES, err));
    gr->work_count = gr->params.count + round_up(image) +
                     BLOCK * (2 * (size_t)hidden_stride(gr) + (size_t)logits_stride(gr));
    EMP_TRY(emp_panels_init(&gr->value, ops->width, H, err));
    EMP_TRY(emp_panels_init(&gr->out, H, G, err));
    EMP_TRY(emp_panels_init(&gr->out_t, G, H, err));
    EMP_TRY(EMP_ALLOC(gr->group_of_row, (size_t)ops->row_count));
    EMP_TRY(EMP_ALLOC(gr->type_image, image));
    EMP_TRY(EMP_ALLOC(gr->work, CHUNKS * gr->work_count));

cleanup:
    if (st != EMP_OK) emp_grouper_clear(gr);
    return st;
}

void emp_grouper_clear(emp_grouper *gr)
{
    emp_params_clear(&gr->params);
    emp_panels_clear(&gr->value);
    emp_panels_clear(&gr->out);
    emp_panels_clear(&gr->out_t);
    emp_free(gr->group_of_row);
    emp_free(gr->type_image);
    emp_free(gr->work);
    *gr = (emp_grouper){0};
}

void emp_grouper_randomize(emp_grouper *gr, emp_rng *rng)
{
    emp_params_glorot(&gr->params, TYPE_EMBEDDING, 1.0, rng);
    emp_params_glorot(&gr->params, TYPE_WEIGHT, 1.0, rng);
    emp_params_glorot(&gr->params, VALUE_WEIGHT, 1.0, rng);
    emp_params_glorot(&gr->params, OUT_WEIGHT, 1.0, rng);
}

static int compare_reals(const void *a, const void *b)
{
    emp_real x = *(const emp_real *)a, y = *(const emp_real *)b;

    return (x > y) - (x < y);
}

/* Mean of the columns: positions of an op's neighbours; its own only fills in for those that it
 * lacks. */
static emp_real mean_position(const emp_real *value, int32_t width)
{
    emp_real sum = 0;

    for (int32_t c = FIRST_POSITION; c < width; c++) sum += value[c];
    return sum / (emp_real)(width - FIRST_POSITION);
}

/* The (i + 1/2) / parts quantile. */
static emp_real quantile(const emp_real *sorted, int32_t count, int32_t i, int32_t parts)
{
    return sorted[(2 * (int64_t)i + 1) * count / (2 * parts)];
}

static void set_hidden_units(emp_grouper *gr, const emp_real *sorted, emp_real slope)
{
    int32_t   H = gr->shape.hidden, width = gr->ops->width;
    emp_real *weight = emp_params_value(&gr->params, VALUE_WEIGHT);
    emp_real *bias = emp_params_value(&gr->params, HIDDEN_BIAS);

    memset(emp_params_value(&gr->params, TYPE_WEIGHT), 0,
           (size_t)(gr->shape.type_width * H) * sizeof *weight);
    memset(weight, 0, (size_t)(FIRST_POSITION * H) * sizeof *weight);
    for (int32_t i = FIRST_POSITION * H; i < width * H; i++)
        weight[i] = slope / (emp_real)(width - FIRST_POSITION);
    for (int32_t j = 0; j < H; j++)
        bias[j] = -slope * quantile(sorted, gr->ops->row_count, j, H);
}

/* Expects the hidden units to be set. */
static void set_groups(emp_grouper *gr, const emp_real *sorted, emp_real slope,
                       emp_real gain)
{
    int32_t         H = gr->shape.hidden, G = gr->shape.groups;
    const emp_real *hidden_bias = emp_params_value(&gr->params, HIDDEN_BIAS);
    emp_real       *weight = emp_params_value(&gr->params, OUT_WEIGHT);
    emp_real       *bias = emp_params_value(&gr->params, OUT_BIAS);
    emp_real       *hidden = chunk_at(gr, 0, 0).hidden;

    for (int32_t g = 0; g < G; g++) {
        emp_real centre = quantile(sorted, gr->ops->row_count, g, G), square = 0;
        for (int32_t j = 0; j < H; j++) hidden[j] = slope * centre + hidden_bias[j];
        emp_activation_forward(gr->shape.activation, hidden, H);
        for (int32_t j = 0; j < H; j++) {
            weight[j * G + g] = gain * hidden[j];
            square += hidden[j] * hidden[j];
        }
        bias[g] = -gain / 2 * square;
    }
}

emp_status emp_grouper_start_ranges(emp_grouper *gr, double slope, double gain,
                                    emp_rng *rng, emp_error *err)
{
    emp_status st = EMP_OK;
    int32_t    rows = gr->ops->row_count, width = gr->ops->width;
    emp_real  *sorted = EMP_NEW_ARRAY(emp_real, (size_t)rows);

    if (width == FIRST_POSITION)
        EMP_FAIL(EMP_EINVAL,
                 "the first groups cannot be ranges of positions that ops do not have; "
                 "give ranges=0 with window=0");
    if (sorted == NULL) EMP_FAIL(EMP_ENOMEM, "positions of %d ops", rows);
    for (int32_t r = 0; r < rows; r++)
        sorted[r] = mean_position(&gr->ops->value[(int64_t)r * width], width);
    qsort(sorted, (size_t)rows, sizeof *sorted, compare_reals);
    emp_params_glorot(&gr->params, TYPE_EMBEDDING, 1.0, rng);
    set_hidden_units(gr, sorted, (emp_real)slope);
    set_groups(gr, sorted, (emp_real)slope, (emp_real)gain);

cleanup:
    emp_free(sorted);
    return st;
}

static const emp_panels_pass whole = {0, 1, false};

static void forward_hidden(const emp_grouper *gr, const chunk_work *w, int32_t first,
                           int32_t count)
{
    int64_t H = gr->shape.hidden, stride = hidden_stride(gr);

    for (int64_t i = 0; i < count; i++) {
        int64_t type = gr->ops->type[first + i];
        memcpy(&w->hidden[i * stride], &gr->type_image[type * H],
               (size_t)H * sizeof *w->hidden);
    }
    emp_panels_multiply(&gr->value, w->hidden, stride,
                        &gr->ops->value[(int64_t)first * gr->ops->width], gr->ops->width,
                        count, whole);
    emp_activation_forward(gr->shape.activation, w->hidden, count * stride);
}

/* Logits of a strip become the gradient of -log p(group) by the logits. */
static void draw_strip(emp_grouper *gr, chunk_work *w, emp_real *logits, emp_rng *rng,
                       const int32_t *given, int32_t first, int32_t count)
{
    int32_t G = gr->shape.groups, stride = logits_stride(gr);
    double  product = 1.0;

    w->entropy += emp_categorical_softmax_rows(logits, stride, count, G);
    for (int32_t i = 0; i < count; i++) {
        emp_real *row = &logits[(int64_t)i * stride];
        int32_t   group = given != NULL ? given[first + i] : -1;
        if (group < 0) group = emp_categorical_sample(row, G, emp_rng_uniform(rng));
        product *= (double)row[group] > SMALLEST ? (double)row[group] : SMALLEST;
        if (i % FACTORS == FACTORS - 1 || i == count - 1) {
            w->log_prob += log(product);
            product = 1.0;
        }
        row[group] -= 1;
        gr->group_of_row[first + i] = group;
    }
}

/* Logits of a strip become the gradient of minus the mean entropy of all rows by the logits. */
static void spread_strip(const emp_grouper *gr, chunk_work *w, emp_real *logits,
                         int32_t count)
{
    const int32_t G = gr->shape.groups, stride = logits_stride(gr);

    for (int32_t i = 0; i < count; i++) {
        emp_real    *row = &logits[(int64_t)i * stride];
        const double entropy = emp_categorical_softmax(row, G);
        w->entropy += entropy;
        for (int32_t g = 0; g < G; g++) {
            const double p = (double)row[g];
            row[g] =
                (emp_real)(p > 0 ? p * (log(p) + entropy) / gr->ops->row_count : 0.0);
        }
    }
}

static void add_noise(emp_real *logits, int32_t stride, int32_t groups, int32_t rows,
                      double deviation, emp_rng *rng)
{
    for (int32_t i = 0; i < rows; i++)
        for (int32_t g = 0; g < groups; g++)
            logits[(int64_t)i * stride + g] +=
                (emp_real)(deviation * emp_rng_normal(rng));
}

/* From hidden units to the gradients by logits and hidden units. */
static void draw_block(emp_grouper *gr, chunk_work *w, const sampling *how, int32_t first,
                       int32_t count)
{
    int32_t         H = hidden_stride(gr), G = logits_stride(gr);
    const emp_real *bias = emp_params_value(&gr->params, OUT_BIAS);
    emp_real       *d_bias = w->gradient + gr->params.slice[OUT_BIAS].offset;
    const emp_draw *draw = how->draw;
    emp_rng         rng, normal;

    emp_rng_init(&rng, draw->seed, draw->update, (uint32_t)first);
    emp_rng_init(&normal, draw->seed, draw->update,
                 (uint32_t)STREAM_NOISE + (uint32_t)first);
    for (int32_t i = 0; i < count; i += STRIP) {
        int32_t   rows = count - i < STRIP ? count - i : STRIP;
        emp_real *logits = &w->logits[(int64_t)i * G];
        emp_real *hidden = &w->hidden[(int64_t)i * H];
        emp_real *d_hidden = &w->d_hidden[(int64_t)i * H];
        emp_panels_affine(&gr->out, logits, G, bias, hidden, H, rows);
        if (how->deviation > 0)
            add_noise(logits, G, gr->shape.groups, rows, how->deviation, &normal);
        if (how->for_entropy)
            spread_strip(gr, w, logits, rows);
        else
            draw_strip(gr, w, logits, &rng, how->given, first + i, rows);
        emp_outer_add_rows(d_bias, logits, G, gr->shape.groups, rows);
        memset(d_hidden, 0, (size_t)(rows * H) * sizeof *d_hidden);
        emp_panels_multiply(&gr->out_t, d_hidden, H, logits, G, rows, whole);
    }
}

static void backward_block(const emp_grouper *gr, const chunk_work *w, int32_t first,
                           int32_t count)
{
    const emp_param_slice *s = gr->params.slice;
    int32_t                H = gr->shape.hidden, stride = hidden_stride(gr);

    emp_outer_add(w->gradient + s[OUT_WEIGHT].offset, w->hidden, stride, H, w->logits,
                  logits_stride(gr), gr->shape.groups, count);
    emp_activation_backward(gr->shape.activation, w->d_hidden, w->hidden,
                            (int64_t)count * stride);
    for (int64_t i = 0; i < count; i++)
        emp_outer_add_rows(&w->d_type_image[(int64_t)gr->ops->type[first + i] * H],
                           &w->d_hidden[i * stride], 0, H, 1);
    emp_outer_add(w->gradient + s[VALUE_WEIGHT].offset,
                  &gr->ops->value[(int64_t)first * gr->ops->width], gr->ops->width,
                  gr->ops->width, w->d_hidden, stride, H, count);
}

/* Rows first .. end-1 of a chunk. */
typedef struct {
    int32_t first, end;
} range;

static range range_of(const emp_grouper *gr, int chunk)
{
    int64_t rows = gr->ops->row_count;

    return (range){(int32_t)(rows * chunk / CHUNKS),
                   (int32_t)(rows * (chunk + 1) / CHUNKS)};
}

static void run_chunk(emp_grouper *gr, chunk_work *w, int chunk, const sampling *how)
{
    range r = range_of(gr, chunk);

    memset(w->gradient, 0, sums_count(gr) * sizeof *w->gradient);
    for (; r.first < r.end; r.first += BLOCK) {
        int32_t count = r.end - r.first < BLOCK ? r.end - r.first : BLOCK;
        forward_hidden(gr, w, r.first, count);
        draw_block(gr, w, how, r.first, count);
        backward_block(gr, w, r.first, count);
    }
}

/* The squares of a chunk's logits, added up. */
static void square_chunk(const emp_grouper *gr, chunk_work *w, int chunk)
{
    const emp_real *bias = emp_params_value(&gr->params, OUT_BIAS);
    int32_t         H = hidden_stride(gr), G = logits_stride(gr);
    range           r = range_of(gr, chunk);

    for (; r.first < r.end; r.first += BLOCK) {
        int32_t count = r.end - r.first < BLOCK ? r.end - r.first : BLOCK;
        forward_hidden(gr, w, r.first, count);
        emp_panels_affine(&gr->out, w->logits, G, bias, w->hidden, H, count);
        for (int32_t i = 0; i < count; i++) {
            const emp_real *row = &w->logits[(int64_t)i * G];
            for (int32_t g = 0; g < gr->shape.groups; g++)
                w->squares += (double)row[g] * (double)row[g];
        }
    }
}

/* Runs over all logits, which are not kept. */
static double root_mean_square(const emp_grouper *gr, int threads)
{
    double squares[CHUNKS], sum = 0.0;

#pragma omp parallel for schedule(dynamic) num_threads(threads)
    for (int c = 0; c < CHUNKS; c++) {
        unsigned   saved = emp_flush_begin();
        chunk_work w = chunk_at(gr, c, omp_get_thread_num());
        square_chunk(gr, &w, c);
        squares[c] = w.squares;
        emp_flush_end(saved);
    }
    for (int c = 0; c < CHUNKS; c++) sum += squares[c];
    return sqrt(sum / ((double)gr->ops->row_count * gr->shape.groups));
}

/* Forward and backward over all rows. */
static void run(emp_grouper *gr, sampling all)
{
    emp_params *p = &gr->params;
    int32_t     V = gr->ops->type_count, W = gr->shape.type_width, H = gr->shape.hidden;
    chunk_work  work[CHUNKS];
    emp_real   *image = chunk_at(gr, 0, 0).d_type_image;
    int         threads = all.draw->threads < CHUNKS ? all.draw->threads : CHUNKS;

    emp_linear_forward(gr->type_image, emp_params_value(p, TYPE_EMBEDDING),
                       emp_params_value(p, TYPE_WEIGHT), emp_params_value(p, HIDDEN_BIAS),
                       V, W, H, 1);
    emp_panels_pack(&gr->value, emp_params_value(p, VALUE_WEIGHT), false);
    emp_panels_pack(&gr->out, emp_params_value(p, OUT_WEIGHT), false);
    emp_panels_pack(&gr->out_t, emp_params_value(p, OUT_WEIGHT), true);
    if (gr->noise > 0) all.deviation = gr->noise * root_mean_square(gr, threads);
#pragma omp parallel for schedule(dynamic) num_threads(threads)
    for (int c = 0; c < CHUNKS; c++) {
        unsigned saved = emp_flush_begin();
        work[c] = chunk_at(gr, c, omp_get_thread_num());
        run_chunk(gr, &work[c], c, &all);
        emp_flush_end(saved);
    }
    emp_params_zero_gradient(p);
    gr->log_prob = gr->entropy = 0.0;
    for (int c = 0; c < CHUNKS; c++) {
        for (size_t i = 0; i < p->count; i++) p->gradient[i] -= work[c].gradient[i];
        if (c > 0) {
            for (int64_t i = 0; i < (int64_t)V * H; i++)
                image[i] += work[c].d_type_image[i];
        }
        gr->log_prob += work[c].log_prob;
        gr->entropy += work[c].entropy / gr->ops->row_count;
    }
    for (int64_t i = 0; i < (int64_t)V * H; i++) image[i] = -image[i];
    emp_linear_backward(
        emp_params_gradient(p, TYPE_EMBEDDING), emp_params_gradient(p, TYPE_WEIGHT),
        emp_params_gradient(p, HIDDEN_BIAS), image, emp_params_value(p, TYPE_EMBEDDING),
        emp_params_value(p, TYPE_WEIGHT), V, W, H, 1);
}

void emp_grouper_run(emp_grouper *gr, const emp_draw *draw, const int32_t *given)
{
    run(gr, (sampling){.draw = draw, .given = given});
}

void emp_grouper_run_entropy(emp_grouper *gr, int32_t threads)
{
    run(gr, (sampling){.draw = &(emp_draw){.threads = threads}, .for_entropy = true});
}

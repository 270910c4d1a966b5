// SPDX-License-Identifier: GPL-3.0-or-later
/* Kernels of several passes: softmax, batch norm, pools; and work of the host. */
#include <math.h>
#include <stddef.h>
#include <string.h>

#include "base/clones.h"
#include "replay/cpu/kernels.h"
#include "replay/cpu/kernels_internal.h"

enum { CHANNEL_GRAIN = 16, LANES = 64 };

/* Exponentials of a row to \a to, and their sum. */
EMP_CLONES static float exponentials(const float *x, float *to, int64_t count)
{
    float most = x[0], sum = 0.0f;

    for (int64_t i = 1; i < count; i++) most = x[i] > most ? x[i] : most;
    for (int64_t i = 0; i < count; i++) to[i] = emp_fast_exp(x[i] - most);
    for (int64_t i = 0; i < count; i++) sum += to[i];
    return sum;
}

EMP_CLONES static void scale(float *x, float factor, int64_t count)
{
    for (int64_t i = 0; i < count; i++) x[i] *= factor;
}

EMP_CPU_KERNEL(softmax)
{
    const int64_t *s = call->kernel->size;
    bool           is_loss = call->kernel->variant == EMP_SOFTMAX_LOSS;
    int64_t        columns = s[EMP_SOFTMAX_COLUMNS];
    emp_range      range = emp_range_of(s[EMP_SOFTMAX_ROWS], part, parts, 1);

    for (int64_t row = range.first; row < range.end; row++) {
        const float *x = emp_floats(&call->input[0]) + row * columns;
        float       *to = emp_floats(&call->output[is_loss ? 1 : 0]) + row * columns;
        float        sum = exponentials(x, to, columns);
        scale(to, 1.0f / sum, columns);
        if (!is_loss) continue;
        int64_t      labels = call->input[1].bytes / 4; /* a row, or a number a row */
        const float *label = emp_floats(&call->input[1]);
        for (int64_t i = 0; labels >= (row + 1) * columns && i < columns; i++)
            to[i] -= label[row * columns + i];
        emp_floats(&call->output[0])[row] =
            emp_bounded(logf(sum) + 0.5f * label[row % labels]);
    }
    if (part == 0) emp_cpu_fill_outputs(call, is_loss ? 2 : 1);
}

struct norm {
    const float *x, *y; /* y: the second input of the gradient, else x */
    float       *to;
    int64_t      outer, channels, inner;
};

/* Sums over a range of channels, as (sum, sum of products) pairs in \a sums. */
EMP_CLONES static void sum_channels(const struct norm *v, emp_range c, float *sums)
{
    int64_t width = c.end - c.first;
    float  *products = sums + width;

    memset(sums, 0, 2 * (size_t)width * sizeof *sums);
    for (int64_t o = 0; o < v->outer; o++) {
        const float *x = v->x + (o * v->channels + c.first) * v->inner;
        const float *y = v->y + (o * v->channels + c.first) * v->inner;
        for (int64_t i = 0; v->inner == 1 && i < width; i++) {
            sums[i] += x[i];
            products[i] += x[i] * y[i];
        }
        for (int64_t i = 0; v->inner > 1 && i < width; i++) {
            for (int64_t j = i * v->inner; j < (i + 1) * v->inner; j++) {
                sums[i] += x[j];
                products[i] += x[j] * y[j];
            }
        }
    }
}

EMP_CLONES static void scale_channels(const struct norm *v, emp_range c,
                                      const float *shift, const float *scale)
{
    int64_t width = c.end - c.first;

    for (int64_t o = 0; o < v->outer; o++) {
        int64_t at = (o * v->channels + c.first) * v->inner;
        for (int64_t i = 0; v->inner == 1 && i < width; i++) {
            v->to[at + i] =
                emp_bounded((0.5f * (v->x[at + i] + v->y[at + i]) - shift[i]) * scale[i]);
        }
        for (int64_t i = 0; v->inner > 1 && i < width; i++) {
            for (int64_t j = at + i * v->inner; j < at + (i + 1) * v->inner; j++)
                v->to[j] =
                    emp_bounded((0.5f * (v->x[j] + v->y[j]) - shift[i]) * scale[i]);
        }
    }
}

EMP_CPU_KERNEL(norm)
{
    const int64_t *s = call->kernel->size;
    struct norm    v = {
           .x = emp_floats(&call->input[0]),
           .y = emp_floats(&call->input[call->kernel->variant == EMP_NORM_GRAD ? 1 : 0]),
           .to = emp_floats(&call->output[0]),
           .outer = s[EMP_NORM_OUTER],
           .channels = s[EMP_NORM_CHANNELS],
           .inner = s[EMP_NORM_INNER]};
    float     count = (float)(v.outer * v.inner);
    emp_range all = emp_range_of(v.channels, part, parts, CHANNEL_GRAIN);
    int64_t   most = EMP_CPU_SCRATCH_BYTES / 8;

    for (int64_t first = all.first; first < all.end; first += most) {
        emp_range c = {first, first + most < all.end ? first + most : all.end};
        int64_t   width = c.end - c.first;
        sum_channels(&v, c, scratch);
        for (int64_t i = 0; i < width; i++) {
            scratch[i] /= count;
            scratch[width + i] = 1.0f / sqrtf(fabsf(scratch[width + i]) / count + 0.01f);
        }
        scale_channels(&v, c, scratch, scratch + width);
    }
    if (part == 0) emp_cpu_fill_outputs(call, 1);
}

/* Pools over images; channels-first ones are images of one channel each. */
struct pool {
    int64_t n, h, w, c, kh, kw, oh, ow, sh, sw;
    float  *image, *out;
    float   scale;
    bool    is_max;
};

/* Result (y, x) of image n meets the image from (y sh, x sw) on, as far as it goes. */
EMP_CLONES static void pool_forward(const struct pool *v, int64_t n, int64_t y, int64_t x,
                                    emp_range c)
{
    float *out = v->out + ((n * v->oh + y) * v->ow + x) * v->c;

    for (int64_t i = c.first; i < c.end; i++) out[i] = v->is_max ? -2.0f : 0.0f;
    for (int64_t ky = y * v->sh; ky < y * v->sh + v->kh && ky < v->h; ky++) {
        for (int64_t kx = x * v->sw; kx < x * v->sw + v->kw && kx < v->w; kx++) {
            const float *in = v->image + ((n * v->h + ky) * v->w + kx) * v->c;
            for (int64_t i = c.first; v->is_max && i < c.end; i++)
                out[i] = in[i] > out[i] ? in[i] : out[i];
            for (int64_t i = c.first; !v->is_max && i < c.end; i++)
                out[i] += v->scale * in[i];
        }
    }
}

/* Spreads result (y, x) of image n over its window. */
EMP_CLONES static void spread_back(const struct pool *v, int64_t n, int64_t y, int64_t x,
                                   emp_range c)
{
    const float *out = v->out + ((n * v->oh + y) * v->ow + x) * v->c;

    for (int64_t ky = y * v->sh; ky < y * v->sh + v->kh && ky < v->h; ky++) {
        for (int64_t kx = x * v->sw; kx < x * v->sw + v->kw && kx < v->w; kx++) {
            float *image = v->image + ((n * v->h + ky) * v->w + kx) * v->c;
            for (int64_t i = c.first; i < c.end; i++) image[i] += v->scale * out[i];
        }
    }
}

/* Adds result (y, x) of image n to the largest of its window in \a from, the image that the pool
 * read. Without branches that depend on values: its time does not. */
EMP_CLONES static void send_back(const struct pool *v, const float *from, int64_t n,
                                 int64_t y, int64_t x, emp_range c)
{
    const float *out = v->out + ((n * v->oh + y) * v->ow + x) * v->c;

    for (int64_t first = c.first; first < c.end; first += LANES) {
        int32_t count = (int32_t)(c.end - first < LANES ? c.end - first : LANES);
        int64_t best[LANES];
        float   most[LANES];
        for (int32_t i = 0; i < count; i++) most[i] = -INFINITY, best[i] = -1;
        for (int64_t ky = y * v->sh; ky < y * v->sh + v->kh && ky < v->h; ky++) {
            for (int64_t kx = x * v->sw; kx < x * v->sw + v->kw && kx < v->w; kx++) {
                int64_t at = ((n * v->h + ky) * v->w + kx) * v->c + first;
                for (int32_t i = 0; i < count; i++) {
                    bool is_more = from[at + i] > most[i];
                    most[i] = is_more ? from[at + i] : most[i];
                    best[i] = is_more ? at + i : best[i];
                }
            }
        }
        for (int32_t i = 0; i < count; i++)
            if (best[i] >= 0) v->image[best[i]] += v->scale * out[first + i];
    }
}

static void clear_image(const struct pool *v, int64_t n, emp_range c)
{
    for (int64_t p = n * v->h * v->w; p < (n + 1) * v->h * v->w; p++)
        memset(v->image + p * v->c + c.first, 0,
               (size_t)(c.end - c.first) * sizeof *v->image);
}

EMP_CPU_KERNEL(pool)
{
    const int64_t *s = call->kernel->size;
    int32_t        variant = call->kernel->variant;
    bool           is_grad = variant & EMP_POOL_GRAD, is_avg = variant & EMP_POOL_AVG;
    bool           is_nchw = variant & EMP_POOL_NCHW;
    struct pool    v = {.n = is_nchw ? s[EMP_POOL_N] * s[EMP_POOL_C] : s[EMP_POOL_N],
                        .h = s[EMP_POOL_H],
                        .w = s[EMP_POOL_W],
                        .c = is_nchw ? 1 : s[EMP_POOL_C],
                        .kh = s[EMP_POOL_KH],
                        .kw = s[EMP_POOL_KW],
                        .oh = s[EMP_POOL_OH],
                        .ow = s[EMP_POOL_OW],
                        .sh = s[EMP_POOL_SH],
                        .sw = s[EMP_POOL_SW],
                        .is_max = !is_avg};
    const float   *from = is_avg && is_grad ? NULL : emp_floats(&call->input[0]);

    v.scale = 1.0f / (float)(v.kh * v.kw);
    v.image = is_grad ? emp_floats(&call->output[0]) : emp_floats(&call->input[0]);
    v.out =
        is_grad ? emp_floats(&call->input[is_avg ? 1 : 2]) : emp_floats(&call->output[0]);
    emp_range images = {0, v.n}, c = {0, v.c};
    if (v.n >= parts)
        images = emp_range_of(v.n, part, parts, 1);
    else
        c = emp_range_of(v.c, part, parts, CHANNEL_GRAIN);
    for (int64_t n = images.first; n < images.end; n++) {
        if (is_grad) clear_image(&v, n, c);
        for (int64_t pixel = 0; pixel < v.oh * v.ow; pixel++) {
            if (is_grad && is_avg)
                spread_back(&v, n, pixel / v.ow, pixel % v.ow, c);
            else if (is_grad)
                send_back(&v, from, n, pixel / v.ow, pixel % v.ow, c);
            else
                pool_forward(&v, n, pixel / v.ow, pixel % v.ow, c);
        }
    }
}

/* Sampling, strings, input: a chain of integer arithmetic, four cycles a round. */
EMP_CPU_KERNEL(host)
{
    uint32_t x = UINT32_C(2463534242);

    if (part != 0) return;
    for (int64_t i = 0; i < call->kernel->size[EMP_HOST_ROUNDS]; i++)
        x = (x ^ x << 13) + (x >> 7);
    scratch[0] = (float)(x >> 8); /* so that it is not left out */
    emp_cpu_fill_outputs(call, 0);
}

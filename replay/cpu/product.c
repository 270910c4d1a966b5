// SPDX-License-Identifier: GPL-3.0-or-later
/* Matrix products, and convolutions as products: forward over blocks of pixels whose
 * windows are laid out as rows (im2col), the gradients tap by tap of the filter. */
#include <math.h>
#include <string.h>

#include "replay/cpu/gemm.h"
#include "replay/cpu/kernels_internal.h"

enum { SCRATCH_FLOATS = EMP_CPU_SCRATCH_BYTES / 4, ROW_GRAIN = 8, CHANNEL_GRAIN = 16 };

static float scale_of(int64_t k) { return 1.0f / sqrtf((float)k); }

/* Rows and columns of one of a batch of products; the batch comes first where it is long. */
static void multiply(const emp_kernel_call *call, int64_t batch, emp_range rows,
                     emp_range columns)
{
    const int64_t *s = call->kernel->size;
    int64_t        m = s[EMP_PRODUCT_M], n = s[EMP_PRODUCT_N], k = s[EMP_PRODUCT_K];
    bool           ta = call->kernel->variant & EMP_PRODUCT_TRANSPOSE_A;
    bool           tb = call->kernel->variant & EMP_PRODUCT_TRANSPOSE_B;
    const float   *a = emp_floats(&call->input[s[EMP_PRODUCT_A]]) + batch * m * k;
    const float   *b = emp_floats(&call->input[s[EMP_PRODUCT_B]]) + batch * k * n;
    float         *c = emp_floats(&call->output[0]) + batch * m * n;

    if (rows.first >= rows.end || columns.first >= columns.end) return;
    emp_gemm(ta, tb, rows.end - rows.first, columns.end - columns.first, k, scale_of(k),
             a + rows.first * (ta ? 1 : k), ta ? m : k, b + columns.first * (tb ? k : 1),
             tb ? k : n, 0.0f, c + rows.first * n + columns.first, n);
}

EMP_CPU_KERNEL(product)
{
    const int64_t *s = call->kernel->size;
    int64_t        m = s[EMP_PRODUCT_M], n = s[EMP_PRODUCT_N];

    emp_range all_rows = {0, m}, all_columns = {0, n};
    if (s[EMP_PRODUCT_BATCH] == 1 && m >= n) {
        multiply(call, 0, emp_range_of(m, part, parts, ROW_GRAIN), all_columns);
    } else if (s[EMP_PRODUCT_BATCH] == 1) { /* wide and low */
        multiply(call, 0, all_rows, emp_range_of(n, part, parts, 2 * ROW_GRAIN));
    } else {
        emp_range batches = emp_range_of(s[EMP_PRODUCT_BATCH], part, parts, 1);
        for (int64_t b = batches.first; b < batches.end; b++)
            multiply(call, b, all_rows, all_columns);
    }
}

/* An image batch: distances of neighbours in each direction. */
struct image {
    float  *at;
    int64_t n, y, x, c;
};

static struct image image_of(float *at, int64_t height, int64_t width, int64_t channels,
                             bool is_nchw)
{
    if (is_nchw)
        return (struct image){at, channels * height * width, width, 1, height * width};
    return (struct image){at, height * width * channels, width * channels, channels, 1};
}

/* A convolution with its operands by what they are. */
struct conv {
    const int64_t *s;
    struct image   image, out;
    float         *filter;
    int64_t        pixels; /* of the out images */
};

static struct conv conv_of(const emp_kernel_call *call)
{
    const int64_t *s = call->kernel->size;
    int32_t        direction = call->kernel->variant & EMP_CONV_DIRECTION;
    bool           is_nchw = call->kernel->variant & EMP_CONV_NCHW;
    float         *result = emp_floats(&call->output[0]);
    float *image = direction == EMP_CONV_INPUT ? result : emp_floats(&call->input[0]);
    float *filter = direction == EMP_CONV_FILTER ? result : emp_floats(&call->input[1]);
    float *out = direction == EMP_CONV_FORWARD ? result : emp_floats(&call->input[2]);

    return (struct conv){
        .s = s,
        .image = image_of(image, s[EMP_CONV_H], s[EMP_CONV_W], s[EMP_CONV_C], is_nchw),
        .out = image_of(out, s[EMP_CONV_OH], s[EMP_CONV_OW], s[EMP_CONV_F], is_nchw),
        .filter = filter,
        .pixels = s[EMP_CONV_N] * s[EMP_CONV_OH] * s[EMP_CONV_OW]};
}

/* One pixel of the out images. */
struct pixel {
    int64_t n, y, x;
};

static struct pixel pixel_at(const struct conv *v, int64_t number)
{
    int64_t ow = v->s[EMP_CONV_OW], oh = v->s[EMP_CONV_OH];

    return (struct pixel){number / (ow * oh), number / ow % oh, number % ow};
}

/* Where tap (ky, kx) of the filter meets the image; NULL = outside. */
static float *tap_of(const struct conv *v, const struct pixel *p, int64_t ky, int64_t kx)
{
    const int64_t *s = v->s;
    int64_t        y = p->y * s[EMP_CONV_SH] + ky - s[EMP_CONV_PH];
    int64_t        x = p->x * s[EMP_CONV_SW] + kx - s[EMP_CONV_PW];

    if (y < 0 || y >= s[EMP_CONV_H] || x < 0 || x >= s[EMP_CONV_W]) return NULL;
    return v->image.at + p->n * v->image.n + y * v->image.y + x * v->image.x;
}

static void gather(float *to, const float *from, int64_t stride, int64_t count)
{
    if (from == NULL) {
        memset(to, 0, (size_t)count * sizeof *to);
    } else if (stride == 1) {
        memcpy(to, from, (size_t)count * sizeof *to);
    } else {
        for (int64_t i = 0; i < count; i++) to[i] = from[i * stride];
    }
}

static void conv_forward(const struct conv *v, emp_range pixels, float *scratch)
{
    const int64_t *s = v->s;
    int64_t        c = s[EMP_CONV_C], f = s[EMP_CONV_F];
    int64_t        k = s[EMP_CONV_KH] * s[EMP_CONV_KW] * c;
    int64_t        block = SCRATCH_FLOATS / (k + f);
    float         *rows = scratch, *results = scratch + block * k;

    for (int64_t first = pixels.first; first < pixels.end; first += block) {
        int64_t count = pixels.end - first < block ? pixels.end - first : block;
        float  *to = rows;
        for (int64_t i = 0; i < count; i++) {
            struct pixel p = pixel_at(v, first + i);
            for (int64_t ky = 0; ky < s[EMP_CONV_KH]; ky++) {
                for (int64_t kx = 0; kx < s[EMP_CONV_KW]; kx++, to += c)
                    gather(to, tap_of(v, &p, ky, kx), v->image.c, c);
            }
        }
        if (v->out.c == 1) results = v->out.at + first * f;
        emp_gemm(false, false, count, f, k, scale_of(k), rows, k, v->filter, f, 0.0f,
                 results, f);
        for (int64_t i = 0; v->out.c != 1 && i < count; i++) {
            struct pixel p = pixel_at(v, first + i);
            float *out = v->out.at + p.n * v->out.n + p.y * v->out.y + p.x * v->out.x;
            for (int64_t j = 0; j < f; j++) out[j * v->out.c] = results[i * f + j];
        }
    }
}

/* The gradient of the out images as rows of pixels; in place where it is stored so. */
static const float *out_rows(const struct conv *v, int64_t first, int64_t count,
                             float *to)
{
    int64_t f = v->s[EMP_CONV_F];

    if (v->out.c == 1) return v->out.at + first * f;
    for (int64_t i = 0; i < count; i++) {
        struct pixel p = pixel_at(v, first + i);
        gather(to + i * f, v->out.at + p.n * v->out.n + p.y * v->out.y + p.x * v->out.x,
               v->out.c, f);
    }
    return to;
}

static void clear_channels(const struct conv *v, emp_range channels)
{
    const int64_t *s = v->s;

    for (int64_t n = 0; n < s[EMP_CONV_N]; n++) {
        for (int64_t y = 0; y < s[EMP_CONV_H]; y++) {
            for (int64_t x = 0; x < s[EMP_CONV_W]; x++) {
                float *at =
                    v->image.at + n * v->image.n + y * v->image.y + x * v->image.x;
                for (int64_t c = channels.first; c < channels.end; c++)
                    at[c * v->image.c] = 0.0f;
            }
        }
    }
}

/* For some of the image's channels: for each tap, rows of out times the tap's matrix,
 * added where the tap meets the image. */
static void conv_input(const struct conv *v, emp_range channels, float *scratch)
{
    const int64_t *s = v->s;
    int64_t        c = channels.end - channels.first, f = s[EMP_CONV_F];
    int64_t        block = SCRATCH_FLOATS / (c + f);
    float         *sums = scratch, *rows = scratch + block * c;
    float          scale = scale_of(s[EMP_CONV_KH] * s[EMP_CONV_KW] * f);

    if (c <= 0) return;
    clear_channels(v, channels);
    for (int64_t first = 0; first < v->pixels; first += block) {
        int64_t      count = v->pixels - first < block ? v->pixels - first : block;
        const float *out = out_rows(v, first, count, rows);
        for (int64_t tap = 0; tap < s[EMP_CONV_KH] * s[EMP_CONV_KW]; tap++) {
            int64_t ky = tap / s[EMP_CONV_KW], kx = tap % s[EMP_CONV_KW];
            emp_gemm(false, true, count, c, f, scale, out, f,
                     v->filter + (tap * s[EMP_CONV_C] + channels.first) * f, f, 0.0f,
                     sums, c);
            for (int64_t i = 0; i < count; i++) {
                struct pixel p = pixel_at(v, first + i);
                float       *to = tap_of(v, &p, ky, kx);
                if (to == NULL) continue;
                to += channels.first * v->image.c;
                for (int64_t j = 0; j < c; j++) to[j * v->image.c] += sums[i * c + j];
            }
        }
    }
}

/* Some rows of the filter's gradient: a row is a tap and a channel. */
static void conv_filter(const struct conv *v, emp_range taps, float *scratch)
{
    const int64_t *s = v->s;
    int64_t        channels = s[EMP_CONV_C], f = s[EMP_CONV_F];
    int64_t        block = SCRATCH_FLOATS / (channels + f);
    float         *columns = scratch, *rows = scratch + block * channels;
    float          scale = scale_of(v->pixels);

    for (int64_t first = 0; first < v->pixels; first += block) {
        int64_t      count = v->pixels - first < block ? v->pixels - first : block;
        const float *out = out_rows(v, first, count, rows);
        for (int64_t row = taps.first; row < taps.end;) {
            int64_t tap = row / channels, c = row % channels;
            int64_t end =
                taps.end < (tap + 1) * channels ? taps.end : (tap + 1) * channels;
            int64_t width = end - row;
            for (int64_t i = 0; i < count; i++) {
                struct pixel p = pixel_at(v, first + i);
                const float *from =
                    tap_of(v, &p, tap / s[EMP_CONV_KW], tap % s[EMP_CONV_KW]);
                gather(columns + i * width, from == NULL ? NULL : from + c * v->image.c,
                       v->image.c, width);
            }
            emp_gemm(true, false, width, f, count, scale, columns, width, out, f,
                     first == 0 ? 0.0f : 1.0f, v->filter + row * f, f);
            row = end;
        }
    }
}

EMP_CPU_KERNEL(conv)
{
    struct conv    v = conv_of(call);
    const int64_t *s = v.s;

    switch (call->kernel->variant & EMP_CONV_DIRECTION) {
    case EMP_CONV_FORWARD:
        conv_forward(&v, emp_range_of(v.pixels, part, parts, ROW_GRAIN), scratch);
        return;
    case EMP_CONV_INPUT:
        conv_input(&v, emp_range_of(s[EMP_CONV_C], part, parts, CHANNEL_GRAIN), scratch);
        return;
    default:
        conv_filter(&v,
                    emp_range_of(s[EMP_CONV_KH] * s[EMP_CONV_KW] * s[EMP_CONV_C], part,
                                 parts, CHANNEL_GRAIN),
                    scratch);
    }
}

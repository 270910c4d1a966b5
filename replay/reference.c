// SPDX-License-Identifier: GPL-3.0-or-later
#include "replay/reference.h"

#include <math.h>

struct sum {
    double value, absolute;
};

static void add(struct sum *sum, float a, float b)
{
    sum->value += (double)a * (double)b;
    sum->absolute += fabs((double)a * (double)b);
}

static const float *floats(const emp_operand *operand)
{
    return (const float *)operand->data;
}

static struct sum product_element(const emp_kernel_call *call, int64_t index)
{
    const int64_t *s = call->kernel->size;
    int64_t        m = s[EMP_PRODUCT_M], n = s[EMP_PRODUCT_N], k = s[EMP_PRODUCT_K];
    int64_t        batch = index / (m * n), i = index / n % m, j = index % n;
    const float   *a = floats(&call->input[s[EMP_PRODUCT_A]]) + batch * m * k;
    const float   *b = floats(&call->input[s[EMP_PRODUCT_B]]) + batch * k * n;
    int            ta = call->kernel->variant & EMP_PRODUCT_TRANSPOSE_A;
    int            tb = call->kernel->variant & EMP_PRODUCT_TRANSPOSE_B;
    struct sum     sum = {0};

    for (int64_t p = 0; p < k; p++)
        add(&sum, a[ta ? p * m + i : i * k + p], b[tb ? j * k + p : p * n + j]);
    return sum;
}

/* Places in an image batch and in a filter. */
static int64_t image_at(const emp_kernel *kernel, int64_t height, int64_t width,
                        int64_t channels, int64_t n, int64_t y, int64_t x, int64_t c)
{
    if (kernel->variant & EMP_CONV_NCHW)
        return ((n * channels + c) * height + y) * width + x;
    return ((n * height + y) * width + x) * channels + c;
}

static int64_t in_at(const emp_kernel *kernel, int64_t n, int64_t y, int64_t x, int64_t c)
{
    const int64_t *s = kernel->size;

    return image_at(kernel, s[EMP_CONV_H], s[EMP_CONV_W], s[EMP_CONV_C], n, y, x, c);
}

static int64_t out_at(const emp_kernel *kernel, int64_t n, int64_t y, int64_t x,
                      int64_t f)
{
    const int64_t *s = kernel->size;

    return image_at(kernel, s[EMP_CONV_OH], s[EMP_CONV_OW], s[EMP_CONV_F], n, y, x, f);
}

static int64_t filter_at(const emp_kernel *kernel, int64_t ky, int64_t kx, int64_t c,
                         int64_t f)
{
    const int64_t *s = kernel->size;

    return ((ky * s[EMP_CONV_KW] + kx) * s[EMP_CONV_C] + c) * s[EMP_CONV_F] + f;
}

/* Every triple (pixel of out, tap) with its pixel of the image, once. */
struct meeting {
    int64_t n, oy, ox, ky, kx, y, x;
};

static int meets(const int64_t *s, struct meeting *at)
{
    at->y = at->oy * s[EMP_CONV_SH] + at->ky - s[EMP_CONV_PH];
    at->x = at->ox * s[EMP_CONV_SW] + at->kx - s[EMP_CONV_PW];
    return at->y >= 0 && at->y < s[EMP_CONV_H] && at->x >= 0 && at->x < s[EMP_CONV_W];
}

/* Splits a place in an image batch into its coordinates. */
static void split_image(const emp_kernel *kernel, int64_t height, int64_t width,
                        int64_t channels, int64_t index, int64_t at[4])
{
    if (kernel->variant & EMP_CONV_NCHW) {
        at[2] = index % width;
        at[1] = index / width % height;
        at[3] = index / (width * height) % channels;
    } else {
        at[3] = index % channels;
        at[2] = index / channels % width;
        at[1] = index / (channels * width) % height;
    }
    at[0] = index / (height * width * channels);
}

static struct sum forward_element(const emp_kernel_call *call, int64_t index)
{
    const emp_kernel *k = call->kernel;
    const int64_t    *s = k->size;
    struct meeting    at = {0};
    struct sum        sum = {0};
    int64_t           of[4];

    split_image(k, s[EMP_CONV_OH], s[EMP_CONV_OW], s[EMP_CONV_F], index, of);
    at = (struct meeting){.n = of[0], .oy = of[1], .ox = of[2]};
    for (at.ky = 0; at.ky < s[EMP_CONV_KH]; at.ky++) {
        for (at.kx = 0; at.kx < s[EMP_CONV_KW]; at.kx++) {
            for (int64_t c = 0; meets(s, &at) && c < s[EMP_CONV_C]; c++)
                add(&sum, floats(&call->input[0])[in_at(k, at.n, at.y, at.x, c)],
                    floats(&call->input[1])[filter_at(k, at.ky, at.kx, c, of[3])]);
        }
    }
    return sum;
}

static struct sum input_element(const emp_kernel_call *call, int64_t index)
{
    const emp_kernel *k = call->kernel;
    const int64_t    *s = k->size;
    struct meeting    at = {0};
    struct sum        sum = {0};
    int64_t           of[4];

    split_image(k, s[EMP_CONV_H], s[EMP_CONV_W], s[EMP_CONV_C], index, of);
    at.n = of[0];
    for (at.oy = 0; at.oy < s[EMP_CONV_OH]; at.oy++) {
        for (at.ox = 0; at.ox < s[EMP_CONV_OW]; at.ox++) {
            at.ky = of[1] - at.oy * s[EMP_CONV_SH] + s[EMP_CONV_PH];
            at.kx = of[2] - at.ox * s[EMP_CONV_SW] + s[EMP_CONV_PW];
            if (at.ky < 0 || at.ky >= s[EMP_CONV_KH] || at.kx < 0 ||
                at.kx >= s[EMP_CONV_KW])
                continue;
            for (int64_t f = 0; f < s[EMP_CONV_F]; f++)
                add(&sum, floats(&call->input[2])[out_at(k, at.n, at.oy, at.ox, f)],
                    floats(&call->input[1])[filter_at(k, at.ky, at.kx, of[3], f)]);
        }
    }
    return sum;
}

static struct sum filter_element(const emp_kernel_call *call, int64_t index)
{
    const emp_kernel *k = call->kernel;
    const int64_t    *s = k->size;
    int64_t        f = index % s[EMP_CONV_F], c = index / s[EMP_CONV_F] % s[EMP_CONV_C];
    int64_t        tap = index / (s[EMP_CONV_F] * s[EMP_CONV_C]);
    struct meeting at = {.ky = tap / s[EMP_CONV_KW], .kx = tap % s[EMP_CONV_KW]};
    struct sum     sum = {0};

    for (at.n = 0; at.n < s[EMP_CONV_N]; at.n++) {
        for (at.oy = 0; at.oy < s[EMP_CONV_OH]; at.oy++) {
            for (at.ox = 0; at.ox < s[EMP_CONV_OW]; at.ox++) {
                if (!meets(s, &at)) continue;
                add(&sum, floats(&call->input[0])[in_at(k, at.n, at.y, at.x, c)],
                    floats(&call->input[2])[out_at(k, at.n, at.oy, at.ox, f)]);
            }
        }
    }
    return sum;
}

double emp_reference_element(const emp_kernel_call *call, int64_t index, double *absolute)
{
    int32_t    direction = call->kernel->variant & EMP_CONV_DIRECTION;
    double     scale = 1.0 / sqrt(emp_kernel_terms(call->kernel));
    struct sum sum = call->kernel->kind == EMP_KERNEL_PRODUCT
                         ? product_element(call, index)
                     : direction == EMP_CONV_FORWARD ? forward_element(call, index)
                     : direction == EMP_CONV_INPUT   ? input_element(call, index)
                                                     : filter_element(call, index);

    *absolute = scale * sum.absolute;
    return scale * sum.value;
}

int64_t emp_reference_count(const emp_kernel *kernel)
{
    const int64_t *s = kernel->size;

    if (kernel->kind == EMP_KERNEL_PRODUCT)
        return s[EMP_PRODUCT_M] * s[EMP_PRODUCT_N] * s[EMP_PRODUCT_BATCH];
    switch (kernel->variant & EMP_CONV_DIRECTION) {
    case EMP_CONV_FORWARD:
        return s[EMP_CONV_N] * s[EMP_CONV_OH] * s[EMP_CONV_OW] * s[EMP_CONV_F];
    case EMP_CONV_INPUT:
        return s[EMP_CONV_N] * s[EMP_CONV_H] * s[EMP_CONV_W] * s[EMP_CONV_C];
    default: return s[EMP_CONV_KH] * s[EMP_CONV_KW] * s[EMP_CONV_C] * s[EMP_CONV_F];
    }
}

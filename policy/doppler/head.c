// SPDX-License-Identifier: GPL-3.0-or-later
#include "policy/doppler/head.h"

#include "policy/nn/categorical.h"
#include "policy/nn/linear.h"

enum { F = EMP_DOPPLER_FEATURES };
enum { FEATURE_W, FEATURE_B, ROW_W, ROW_B, OUT_W, OUT_B };

static int32_t inner(int32_t width) { return width < 2 ? 1 : width / 2; }

void emp_doppler_head_slices(emp_param_slice s[EMP_DOPPLER_HEAD_SLICES], int32_t H)
{
    const int32_t G = inner(H);

    s[FEATURE_W] = (emp_param_slice){"feature_w", F, H, 0};
    s[FEATURE_B] = (emp_param_slice){"feature_b", 1, H, 0};
    s[ROW_W] = (emp_param_slice){"row_w", EMP_DOPPLER_BLOCKS * H, G, 0};
    s[ROW_B] = (emp_param_slice){"row_b", 1, G, 0};
    s[OUT_W] = (emp_param_slice){"out_w", G, 1, 0};
    s[OUT_B] = (emp_param_slice){"out_b", 1, 1, 0};
}

emp_doppler_head emp_doppler_head_of(const emp_params *params, int32_t first, int32_t H)
{
    const int32_t after = first + EMP_DOPPLER_HEAD_SLICES;
    const size_t  end =
        after < params->slice_count ? params->slice[after].offset : params->count;

    return (emp_doppler_head){.params = params,
                              .first = first,
                              .width = H,
                              .gradient_count = end - params->slice[first].offset};
}

void emp_doppler_head_randomize(emp_params *params, int32_t first, emp_rng *rng)
{
    emp_params_orthogonal(params, first + FEATURE_W, rng);
    emp_params_orthogonal(params, first + ROW_W, rng);
    emp_params_orthogonal(params, first + OUT_W, rng);
}

emp_status emp_doppler_choices_init(emp_doppler_choices *c, int32_t most, int32_t width,
                                    emp_error *err)
{
    const size_t n = (size_t)most, H = (size_t)width, G = (size_t)inner(width);

    *c = (emp_doppler_choices){0};
    c->plain = EMP_ADD_ARRAY(&c->arrays, double, n *F);
    c->feature = EMP_ADD_ARRAY(&c->arrays, emp_real, n * F);
    c->row = EMP_ADD_ARRAY(&c->arrays, emp_real, n * EMP_DOPPLER_BLOCKS * H);
    c->d_row = EMP_ADD_ARRAY(&c->arrays, emp_real, n * EMP_DOPPLER_BLOCKS * H);
    c->d_first = EMP_ADD_ARRAY(&c->arrays, emp_real, n * H);
    c->hidden = EMP_ADD_ARRAY(&c->arrays, emp_real, n * G);
    c->d_hidden = EMP_ADD_ARRAY(&c->arrays, emp_real, n * G);
    c->p = EMP_ADD_ARRAY(&c->arrays, emp_real, n);
    c->d_logit = EMP_ADD_ARRAY(&c->arrays, emp_real, n);
    c->target = EMP_ADD_ARRAY(&c->arrays, double, n);
    c->deviation = EMP_ADD_ARRAY(&c->arrays, emp_real, EMP_DOPPLER_BLOCKS * H);
    if (c->arrays.is_short)
        return EMP_ERROR(EMP_ENOMEM, "%d choices of width %d", most, width);
    return EMP_OK;
}

void emp_doppler_choices_clear(emp_doppler_choices *c) { emp_arrays_clear(&c->arrays); }

static const emp_real *value(const emp_doppler_head *h, int32_t slice)
{
    return emp_params_value(h->params, h->first + slice);
}

static emp_real *part(const emp_doppler_head *h, emp_real *gradient, int32_t slice)
{
    const emp_param_slice *s = &h->params->slice[h->first];

    return gradient + (s[slice].offset - s[0].offset);
}

/* The first block of rows, to and from rows of H. */
static void copy_first(emp_real *to, int64_t to_stride, const emp_real *from,
                       int64_t from_stride, int32_t rows, int32_t H)
{
    for (int64_t i = 0; i < rows; i++)
        for (int32_t k = 0; k < H; k++) to[i * to_stride + k] = from[i * from_stride + k];
}

double emp_doppler_head_forward(const emp_doppler_head *h, emp_doppler_choices *c)
{
    const int32_t n = c->count, H = h->width, G = inner(H), R = EMP_DOPPLER_BLOCKS * H;

    emp_linear_forward(c->d_first, c->feature, value(h, FEATURE_W), value(h, FEATURE_B),
                       n, F, H, 1);
    emp_activation_forward(EMP_ACTIVATION_LEAKY, c->d_first, (int64_t)n * H);
    copy_first(c->row, R, c->d_first, H, n, H);
    emp_linear_forward(c->hidden, c->row, value(h, ROW_W), value(h, ROW_B), n, R, G, 1);
    emp_activation_forward(EMP_ACTIVATION_LEAKY, c->hidden, (int64_t)n * G);
    emp_linear_forward(c->p, c->hidden, value(h, OUT_W), value(h, OUT_B), n, G, 1, 1);
    return emp_categorical_softmax(c->p, n);
}

void emp_doppler_head_backward(const emp_doppler_head *h, emp_doppler_choices *c,
                               emp_real *gradient)
{
    const int32_t n = c->count, H = h->width, G = inner(H), R = EMP_DOPPLER_BLOCKS * H;

    emp_linear_backward(c->d_hidden, part(h, gradient, OUT_W), part(h, gradient, OUT_B),
                        c->d_logit, c->hidden, value(h, OUT_W), n, G, 1, 1);
    emp_activation_backward(EMP_ACTIVATION_LEAKY, c->d_hidden, c->hidden, (int64_t)n * G);
    emp_linear_backward(c->d_row, part(h, gradient, ROW_W), part(h, gradient, ROW_B),
                        c->d_hidden, c->row, value(h, ROW_W), n, R, G, 1);
    for (int64_t i = 0; i < n; i++)
        emp_activation_backward(EMP_ACTIVATION_LEAKY, c->d_row + i * R, c->row + i * R,
                                H);
    copy_first(c->d_first, H, c->d_row, R, n, H);
    emp_linear_backward(NULL, part(h, gradient, FEATURE_W), part(h, gradient, FEATURE_B),
                        c->d_first, c->feature, value(h, FEATURE_W), n, F, H, 1);
}

void emp_doppler_head_add(const emp_doppler_head *h, emp_params *params,
                          const emp_real *gradient)
{
    emp_real *to = emp_params_gradient(params, h->first);

    for (size_t i = 0; i < h->gradient_count; i++) to[i] += gradient[i];
}

// SPDX-License-Identifier: GPL-3.0-or-later
#include "policy/nn/params.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "policy/nn/threads.h"

enum { ALIGN_REALS = 16 }; /* a slice starts on a cache line */

/* Loops over a block are cut into so many parts on any number of threads. */
enum { PARTS = 64 };

/* Operations that take as long as what a loop does to one parameter. */
enum { OPERATIONS = 16 };

static int32_t team_of(const emp_params *params)
{
    return emp_team_size((int64_t)params->count * OPERATIONS, params->threads);
}

typedef struct {
    size_t first, count;
} range;

static range part_of(const emp_params *params, size_t part)
{
    size_t lines = params->count / ALIGN_REALS, first = lines * part / PARTS;

    return (range){first * ALIGN_REALS,
                   (lines * (part + 1) / PARTS - first) * ALIGN_REALS};
}

emp_status emp_params_init(emp_params *params, const emp_param_slice *slices,
                           int32_t count, emp_error *err)
{
    emp_status st = EMP_OK;
    size_t     total = 0;

    *params = (emp_params){0};
    if (count < 1 || count > EMP_MAX_SLICES) {
        EMP_FAIL(EMP_EINVAL, "%d parameter slices, want 1..%d", count, EMP_MAX_SLICES);
    }
    for (int32_t i = 0; i < count; i++) {
        if (slices[i].rows < 1 || slices[i].cols < 1) {
            EMP_FAIL(EMP_EINVAL, "parameter %s is %d x %d, want at least 1 x 1",
                     slices[i].name, slices[i].rows, slices[i].cols);
        }
        params->slice[i] = slices[i];
        params->slice[i].offset = total;
        total += (size_t)slices[i].rows * (size_t)slices[i].cols;
        total = (total + ALIGN_REALS - 1) / ALIGN_REALS * ALIGN_REALS;
    }
    params->slice_count = count;
    params->threads = 1;
    params->count = total;
    EMP_TRY(EMP_ALLOC(params->value, total));
    EMP_TRY(EMP_ALLOC(params->gradient, total));
    EMP_TRY(EMP_ALLOC(params->moment1, total));
    EMP_TRY(EMP_ALLOC(params->moment2, total));

cleanup:
    if (st != EMP_OK) emp_params_clear(params);
    return st;
}

void emp_params_clear(emp_params *params)
{
    emp_free(params->value);
    emp_free(params->gradient);
    emp_free(params->moment1);
    emp_free(params->moment2);
    *params = (emp_params){0};
}

void emp_params_copy_allocate(emp_params_copy *copy, const emp_params *params,
                              emp_arrays *arrays)
{
    copy->value = EMP_ADD_ARRAY(arrays, emp_real, params->count);
    copy->moment1 = EMP_ADD_ARRAY(arrays, emp_real, params->count);
    copy->moment2 = EMP_ADD_ARRAY(arrays, emp_real, params->count);
}

void emp_params_copy_take(emp_params_copy *copy, const emp_params *params)
{
    const size_t bytes = params->count * sizeof *params->value;

    memcpy(copy->value, params->value, bytes);
    memcpy(copy->moment1, params->moment1, bytes);
    memcpy(copy->moment2, params->moment2, bytes);
    copy->step = params->step;
}

void emp_params_copy_give_back(emp_params *params, const emp_params_copy *copy)
{
    const size_t bytes = params->count * sizeof *params->value;

    memcpy(params->value, copy->value, bytes);
    memcpy(params->moment1, copy->moment1, bytes);
    memcpy(params->moment2, copy->moment2, bytes);
    params->step = copy->step;
}

emp_real *emp_params_value(const emp_params *params, int32_t slice)
{
    return params->value + params->slice[slice].offset;
}

emp_real *emp_params_gradient(const emp_params *params, int32_t slice)
{
    return params->gradient + params->slice[slice].offset;
}

void emp_params_zero_gradient(emp_params *params)
{
#pragma omp parallel for num_threads(team_of(params))
    for (size_t i = 0; i < PARTS; i++) {
        range r = part_of(params, i);
        memset(params->gradient + r.first, 0, r.count * sizeof *params->gradient);
    }
}

void emp_params_uniform(emp_params *params, int32_t slice, double limit, emp_rng *rng)
{
    const emp_param_slice *s = &params->slice[slice];
    emp_real              *value = emp_params_value(params, slice);

    for (int64_t i = 0; i < (int64_t)s->rows * s->cols; i++) {
        value[i] = (emp_real)(limit * (2.0 * emp_rng_uniform(rng) - 1.0));
    }
}

void emp_params_glorot(emp_params *params, int32_t slice, double gain, emp_rng *rng)
{
    const emp_param_slice *s = &params->slice[slice];

    emp_params_uniform(params, slice,
                       gain * sqrt(6.0 / ((double)s->rows + (double)s->cols)), rng);
}

/* Vectors of a matrix: item k of vector i is value[i * vector + k * item]. */
typedef struct {
    emp_real *value;
    int64_t   vector, item, length;
} vectors;

static double dot(const vectors *v, int64_t i, int64_t j)
{
    double sum = 0.0;

    for (int64_t k = 0; k < v->length; k++)
        sum += (double)v->value[i * v->vector + k * v->item] *
               (double)v->value[j * v->vector + k * v->item];
    return sum;
}

/* Vector i += factor x vector j. */
static void add_vector(const vectors *v, int64_t i, int64_t j, double factor)
{
    for (int64_t k = 0; k < v->length; k++)
        v->value[i * v->vector + k * v->item] +=
            (emp_real)factor * v->value[j * v->vector + k * v->item];
}

void emp_params_orthogonal(emp_params *params, int32_t slice, emp_rng *rng)
{
    const emp_param_slice *s = &params->slice[slice];
    const bool             by_rows = s->rows <= s->cols;
    const int64_t          count = by_rows ? s->rows : s->cols;
    const vectors          v = {.value = emp_params_value(params, slice),
                                .vector = by_rows ? s->cols : 1,
                                .item = by_rows ? 1 : s->cols,
                                .length = by_rows ? s->cols : s->rows};

    for (int64_t i = 0; i < (int64_t)s->rows * s->cols; i++)
        v.value[i] = (emp_real)emp_rng_normal(rng);
    for (int64_t i = 0; i < count; i++) {
        for (int64_t j = 0; j < i; j++) add_vector(&v, i, j, -dot(&v, i, j));
        add_vector(&v, i, i, 1.0 / sqrt(dot(&v, i, i)) - 1.0);
    }
}

EMP_KERNEL static double sum_of_squares(const emp_real *x, size_t count)
{
    double sum = 0.0;

#pragma omp simd reduction(+ : sum)
    for (size_t i = 0; i < count; i++) sum += (double)x[i] * (double)x[i];
    return sum;
}

static double gradient_norm(const emp_params *params)
{
    double part[PARTS], sum = 0.0;

#pragma omp parallel for num_threads(team_of(params))
    for (size_t i = 0; i < PARTS; i++) {
        range r = part_of(params, i);
        part[i] = sum_of_squares(params->gradient + r.first, r.count);
    }
    for (int i = 0; i < PARTS; i++) sum += part[i];
    return sqrt(sum);
}

EMP_KERNEL static void scale_all(emp_real *x, size_t count, emp_real factor)
{
    for (size_t i = 0; i < count; i++) x[i] *= factor;
}

void emp_params_scale_gradient(emp_params *params, double factor)
{
#pragma omp parallel for num_threads(team_of(params))
    for (size_t i = 0; i < PARTS; i++) {
        unsigned saved = emp_flush_begin();
        range    r = part_of(params, i);
        scale_all(params->gradient + r.first, r.count, (emp_real)factor);
        emp_flush_end(saved);
    }
}

double emp_params_clip(emp_params *params, double limit)
{
    double norm = gradient_norm(params);

    if (norm > limit) emp_params_scale_gradient(params, limit / norm);
    return norm;
}

/* m <- m + s1 (g - m);  v <- v + s2 (g^2 - v);  x <- x - rate m / (sqrt(v) + eps), with
 * s = 1 - beta and the bias corrections folded into rate and eps. */
typedef struct {
    emp_real factor; /* of the gradient held, to give g */
    emp_real s1, s2, rate, eps;
} adam_step;

EMP_KERNEL static void adam_update(emp_real *x, emp_real *m, emp_real *v,
                                   const emp_real *gradient, size_t count,
                                   const adam_step *step)
{
    const emp_real factor = step->factor, s1 = step->s1, s2 = step->s2;
    const emp_real rate = step->rate, eps = step->eps;

#pragma omp simd
    for (size_t i = 0; i < count; i++) {
        const emp_real g = factor * gradient[i];
        m[i] += s1 * (g - m[i]);
        v[i] += s2 * (g * g - v[i]);
#ifdef EMP_REAL_DOUBLE
        x[i] -= rate * m[i] / (sqrt(v[i]) + eps);
#else
        x[i] -= rate * m[i] / (sqrtf(v[i]) + eps);
#endif
    }
}

/* A step against \a factor, 1 or -1, times the gradient that is held: a factor that rounds would give other
 * bits than a gradient that is scaled before. */
static void step_against(emp_params *params, double factor, const emp_adam *adam)
{
    const double    step = (double)++params->step;
    const double    root = sqrt(1.0 - pow(adam->beta2, step));
    const double    rate = adam->learning_rate * root / (1.0 - pow(adam->beta1, step));
    const adam_step a = {
        .factor = (emp_real)factor,
        .s1 = (emp_real)(1.0 - adam->beta1),
        .s2 = (emp_real)(1.0 - adam->beta2),
        .rate = (emp_real)rate,
        .eps = (emp_real)(adam->epsilon_hat ? adam->epsilon : adam->epsilon * root)};

#pragma omp parallel for num_threads(team_of(params))
    for (size_t i = 0; i < PARTS; i++) {
        unsigned saved = emp_flush_begin();
        range    r = part_of(params, i);
        adam_update(params->value + r.first, params->moment1 + r.first,
                    params->moment2 + r.first, params->gradient + r.first, r.count, &a);
        emp_flush_end(saved);
    }
}

void emp_params_adam(emp_params *params, const emp_adam *adam)
{
    step_against(params, 1.0, adam);
}

void emp_params_forget(emp_params *params)
{
    params->step = 0;
    memset(params->moment1, 0, params->count * sizeof *params->moment1);
    memset(params->moment2, 0, params->count * sizeof *params->moment2);
}

double emp_params_ascend(emp_params *params, double limit, const emp_adam *adam)
{
    const double norm = gradient_norm(params);

    if (norm > limit) emp_params_scale_gradient(params, limit / norm);
    step_against(params, -1.0, adam);
    return norm;
}

// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/policy/differences.h"

#include <criterion/criterion.h>
#include <math.h>

#include "base/rng.h"

void fill(double *x, int count, uint32_t stream)
{
    emp_rng rng;

    emp_rng_init(&rng, 17, stream, 0);
    for (int i = 0; i < count; i++) x[i] = emp_rng_normal(&rng);
}

double dot(const double *a, const double *b, int count)
{
    double sum = 0.0;

    for (int i = 0; i < count; i++) sum += a[i] * b[i];
    return sum;
}

static double difference(double *x, double step, loss_function *loss)
{
    const double kept = *x;

    *x = kept + step;
    const double up = loss();
    *x = kept - step;
    const double down = loss();
    *x = kept;
    return (up - down) / (2.0 * step);
}

static double largest_of(const double *x, size_t count)
{
    double largest = 0.0;

    for (size_t i = 0; i < count; i++) largest = fmax(largest, fabs(x[i]));
    return largest;
}

double differentiate(double *gradient, double *x, size_t count, double step,
                     loss_function *loss)
{
    for (size_t i = 0; i < count; i++) gradient[i] = difference(&x[i], step, loss);
    return largest_of(gradient, count);
}

void check_some(const char *what, loss_function *loss, double *x, const double *gradient,
                int count, int every)
{
    const double largest = largest_of(gradient, (size_t)count);

    cr_assert_gt(largest, 1e-6, "%s: the gradient is all but zero", what);
    for (int i = 0; i < count; i += every) {
        const double want = difference(&x[i], 1e-5, loss);
        cr_assert_lt(fabs(gradient[i] - want), 1e-6 * fmax(largest, fabs(want)),
                     "%s[%d]: %.12g, differences say %.12g", what, i, gradient[i], want);
    }
}

void check(const char *what, loss_function *loss, double *x, const double *gradient,
           int count)
{
    check_some(what, loss, x, gradient, count, 1);
}

void expect_gradient(const emp_params *p, const double *want, double sign,
                     double tolerance)
{
    for (int32_t s = 0; s < p->slice_count; s++) {
        const emp_param_slice *slice = &p->slice[s];
        for (size_t i = slice->offset;
             i < slice->offset + (size_t)(slice->rows * slice->cols); i++)
            cr_assert_float_eq(sign * p->gradient[i], want[i], tolerance,
                               "%s (slice %d): %.9g, differences say %.9g", slice->name,
                               s, sign * p->gradient[i], want[i]);
    }
}

void plain_adam(plain_block *b, size_t count, double lr, double epsilon, double clip,
                int number)
{
    const double norm = sqrt(dot(b->gradient, b->gradient, (int)count));

    cr_assert_leq(count, ADAM_MOST);
    for (size_t i = 0; i < count; i++) {
        const double g = b->gradient[i] * fmin(1.0, clip / norm);
        b->moment1[i] = 0.9 * b->moment1[i] + 0.1 * g;
        b->moment2[i] = 0.999 * b->moment2[i] + 0.001 * g * g;
        b->value[i] += lr * (b->moment1[i] / (1.0 - pow(0.9, number))) /
                       (sqrt(b->moment2[i] / (1.0 - pow(0.999, number))) + epsilon);
    }
}

void expect_block(const emp_params *p, const plain_block *b, double tolerance,
                  const char *name)
{
    for (size_t i = 0; i < p->count; i++)
        cr_assert_float_eq(p->value[i], b->value[i], tolerance,
                           "%s[%zu] is %.9g, want %.9g", name, i, p->value[i],
                           b->value[i]);
}

/** \file policy/nn/real.h
 * The number type of every network, its functions, and the build rules of hot loops.
 *
 * The library is built twice from the same sources: `nn` in float, which is what runs,
 * and `nn_double`, in which gradients are checked by central differences.
 */
#ifndef EMP_POLICY_NN_REAL_H
#define EMP_POLICY_NN_REAL_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "base/clones.h"
#include "base/collections.h"

#ifdef EMP_REAL_DOUBLE
typedef double emp_real;
#define EMP_ARRAY_REAL EMP_ARRAY_DOUBLE /**< emp_array_type of emp_real */
#else
typedef float emp_real;
#define EMP_ARRAY_REAL EMP_ARRAY_FLOAT
#endif

#define EMP_KERNEL EMP_CLONES /**< of hot loops */

/* exp, tanh, the logistic function and the reciprocal, free of branches and calls so that a compiler
 * turns a loop over them into vector code. The float forms do not depend on the C library; the double
 * build, which only checks gradients, takes the library's. */

#ifdef EMP_REAL_DOUBLE

static inline double emp_exp(double x) { return exp(x); }
static inline double emp_exp_below_0(double x) { return exp(x); }
static inline double emp_tanh(double x) { return tanh(x); }
static inline double emp_reciprocal(double x) { return 1.0 / x; }

#else

/* 2^n e^r with x = n ln 2 + r, |r| <= ln 2 / 2; relative error below 2e-7 on [-87, 88],
 * which x must not leave. */
static inline float emp_exp_within(float x)
{
    /* Adding it rounds to an integer, leaves that + 127 in the low bits: an exponent. */
    const float magic = 0x1.8p23f + 127.0f;
    float       shifted = x * 1.44269504f + magic, n = shifted - magic, scale;
    float       r = x - n * 0.693359375f - n * -2.12194440e-4f;
    uint32_t    bits;
    float       p = 1.3888889e-3f;

    p = p * r + 8.3333333e-3f;
    p = p * r + 4.1666667e-2f;
    p = p * r + 1.6666667e-1f;
    p = p * r + 0.5f;
    p = p * r * r + r + 1.0f;
    memcpy(&bits, &shifted, sizeof bits);
    bits <<= 23;
    memcpy(&scale, &bits, sizeof scale);
    return p * scale;
}

/* Beyond [-87, 88], x is clamped. */
static inline float emp_exp(float x)
{
    return emp_exp_within(x < -87.0f ? -87.0f : x > 88.0f ? 88.0f : x);
}

static inline float emp_exp_below_0(float x)
{
    return emp_exp_within(x < -87.0f ? -87.0f : x);
}

/* Rational minimax approximation x P(x^2) / Q(x^2) of degree 13 over 6, as in Eigen;
 * within 5e-7 of tanh everywhere, exactly odd, clamped where it reaches 1. */
static inline float emp_tanh(float x)
{
    float c = x < -7.9053111f ? -7.9053111f : x > 7.9053111f ? 7.9053111f : x;
    float s = c * c;
    float p = -2.76076847742355e-16f, q = 1.19825839466702e-06f;

    p = p * s + 2.00018790482477e-13f;
    p = p * s + -8.60467152213735e-11f;
    p = p * s + 5.12229709037114e-08f;
    p = p * s + 1.48572235717979e-05f;
    p = p * s + 6.37261928875436e-04f;
    p = p * s + 4.89352455891786e-03f;
    q = q * s + 1.18534705686654e-04f;
    q = q * s + 2.26843463243900e-03f;
    q = q * s + 4.89352518554385e-03f;
    return c * p / q;
}

/* 1 / x for x in [1, 2^60] without a division, of which a core has one slow unit: the
 * exponent's sign turned is right to 5 %, then a step of third and one of second order
 * leave a relative error below 2e-7. */
static inline float emp_reciprocal(float x)
{
    uint32_t bits;
    float    r, e;

    memcpy(&bits, &x, sizeof bits);
    bits = 0x7ef311c7u - bits;
    memcpy(&r, &bits, sizeof r);
    e = 1.0f - x * r;
    r = r + r * (e + e * e);
    return r + r * (1.0f - x * r);
}

#endif

/* 1 / (1 + e^-x). */
static inline emp_real emp_sigmoid(emp_real x)
{
    return (emp_real)0.5 + (emp_real)0.5 * emp_tanh((emp_real)0.5 * x);
}

#endif /* EMP_POLICY_NN_REAL_H */

// SPDX-License-Identifier: GPL-3.0-or-later
/* The generator is Philox4x32-10, streams are independent, distributions are right; the Mersenne
 * twister draws as NumPy and Python do. */
#include <gsl/gsl_randist.h>

#include "base/random.h"
#include "base/rng.h"
#include "tests/support/survive.h"

/* Known answers published with Random123 (Salmon et al.). */
static const struct {
    uint32_t counter[4], key[2], answer[4];
} known_answers[] = {
    {{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
    {{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
     {0xffffffff, 0xffffffff},
     {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
    {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
     {0xa4093822, 0x299f31d0},
     {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
};

Test(rng, gives_the_known_answers)
{
    for (size_t k = 0; k < COUNT(known_answers); k++) {
        emp_rng rng = {.used = 4};
        memcpy(rng.counter, known_answers[k].counter, sizeof rng.counter);
        memcpy(rng.key, known_answers[k].key, sizeof rng.key);
        for (int i = 0; i < 4; i++)
            cr_expect_eq(emp_rng_u32(&rng), known_answers[k].answer[i], "word %d", i);
    }
}

Test(rng, seed_stream_and_substream_name_the_counter)
{
    emp_rng a, b = {.key = {0x9abcdef0, 0x12345678}, .counter = {0, 0, 7, 9}, .used = 4};

    emp_rng_init(&a, UINT64_C(0x123456789abcdef0), 7, 9);
    for (int i = 0; i < 100; i++) cr_assert_eq(emp_rng_u32(&a), emp_rng_u32(&b));
}

Test(rng, the_block_counter_carries)
{
    emp_rng a = {.counter = {0xffffffff, 0, 1, 2}, .used = 4};
    emp_rng b = {.counter = {0, 1, 1, 2}, .used = 4};

    for (int i = 0; i < 4; i++) emp_rng_u32(&a);
    cr_expect_eq(emp_rng_u32(&a), emp_rng_u32(&b));
}

Test(rng, streams_and_ranks_differ)
{
    enum { STREAMS = 50 };
    uint64_t first[5 * STREAMS];

    cr_expect_eq(emp_rng_seed_of_rank(7, 0), 7);
    for (uint32_t i = 0; i < STREAMS; i++) {
        emp_rng rng;
        emp_rng_init(&rng, i, 0, 0);
        first[i] = emp_rng_u32(&rng);
        emp_rng_init(&rng, 0, i + 1, 0);
        first[STREAMS + i] = emp_rng_u32(&rng);
        emp_rng_init(&rng, 0, 0, i + 1);
        first[2 * STREAMS + i] = emp_rng_u32(&rng);
        first[3 * STREAMS + i] = emp_rng_seed_of_rank(7, (int32_t)i);
        first[4 * STREAMS + i] = emp_rng_seed_of_rank(8, (int32_t)i);
    }
    for (int i = 0; i < 5 * STREAMS; i++)
        for (int k = 0; k < i; k++) cr_assert_neq(first[i], first[k]);
}

/* 200,000 draws: the mean of a uniform variable then has a deviation of 0.00065. */
Test(rng, distributions_have_the_right_moments)
{
    enum { DRAWS = 200000 };
    emp_rng rng;
    double  uniform[2] = {0}, normal[2] = {0};

    emp_rng_init(&rng, 42, 0, 0);
    for (int i = 0; i < DRAWS; i++) {
        double u = emp_rng_uniform(&rng), x = emp_rng_normal(&rng);
        cr_assert(u >= 0.0 && u < 1.0);
        uniform[0] += u / DRAWS;
        uniform[1] += u * u / DRAWS;
        normal[0] += x / DRAWS;
        normal[1] += x * x / DRAWS;
    }
    cr_expect_float_eq(uniform[0], 1.0 / 2.0, 0.004);
    cr_expect_float_eq(uniform[1], 1.0 / 3.0, 0.004);
    cr_expect_float_eq(normal[0], 0.0, 0.012);
    cr_expect_float_eq(normal[1], 1.0, 0.02);
}

/* Chi-square with 6 degrees of freedom: above 22.5 with probability 0.001. */
Test(rng, below_is_uniform_over_its_range)
{
    enum { BOUND = 7, DRAWS = 70000 };
    emp_rng rng;
    int     count[BOUND] = {0};
    double  chi_square = 0.0, expected = (double)DRAWS / BOUND;

    emp_rng_init(&rng, 5, 0, 0);
    for (int i = 0; i < DRAWS; i++) {
        uint32_t k = emp_rng_below(&rng, BOUND);
        cr_assert_lt(k, (uint32_t)BOUND);
        count[k]++;
    }
    for (int k = 0; k < BOUND; k++)
        chi_square += (count[k] - expected) * (count[k] - expected) / expected;
    cr_expect_lt(chi_square, 22.5);
    cr_expect_eq(emp_rng_below(&rng, 1), 0u);
}

Test(rng, feeds_gsl_distributions)
{
    emp_rng rng, twin;
    double  sum = 0.0;

    emp_rng_init(&rng, 9, 0, 0);
    twin = rng;
    gsl_rng gsl = emp_rng_as_gsl(&rng), gsl_twin = emp_rng_as_gsl(&twin);
    for (int i = 0; i < 100000; i++) {
        double x = gsl_ran_exponential(&gsl, 2.0);
        cr_assert_eq(x, gsl_ran_exponential(&gsl_twin, 2.0));
        sum += x;
    }
    cr_expect_float_eq(sum / 100000, 2.0, 0.04);
    cr_expect_eq(gsl_rng_max(&gsl), 0xffffffffUL);
}

Test(mt19937, draws_as_numpy_does)
{
    static const uint32_t below_5[] = {4, 0, 3, 3, 3, 1, 3, 2, 4, 0};
    emp_mt19937           mt;

    emp_mt19937_seed_numpy(&mt, 0);
    cr_expect_eq(emp_mt19937_uniform(&mt), 0.5488135039273248);
    emp_mt19937_seed_numpy(&mt, 42);
    cr_expect_eq(emp_mt19937_uniform(&mt), 0.3745401188473625);
    emp_mt19937_seed_numpy(&mt, 0);
    for (int i = 0; i < 10; i++)
        cr_expect_eq(emp_mt19937_below_numpy(&mt, 5), below_5[i], "%d", i);
    emp_mt19937_seed_numpy(&mt, 0);
    cr_expect_eq(emp_mt19937_below_numpy(&mt, 1), 0);
    cr_expect_eq(emp_mt19937_between(&mt, 10.0, 12.0), 10.0 + 2.0 * 0.5488135039273248);
}

Test(mt19937, draws_as_python_does)
{
    static const uint32_t below_10[] = {5, 2, 6, 0, 1, 8, 1, 5, 9, 0};
    emp_mt19937           mt;

    emp_mt19937_seed_python(&mt, 7);
    for (int i = 0; i < 10; i++)
        cr_expect_eq(emp_mt19937_below_python(&mt, 10), below_10[i], "%d", i);
    cr_expect_eq(emp_mt19937_uniform(&mt), 0.9097040631431023);
}

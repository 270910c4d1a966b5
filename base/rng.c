// SPDX-License-Identifier: GPL-3.0-or-later
#include "base/rng.h"

#include <gsl/gsl_randist.h>

#include "base/random.h"

static void fill_block(emp_rng *rng)
{
    emp_philox_block(rng->block, rng->key, rng->counter);
    if (++rng->counter[0] == 0) rng->counter[1]++;
    rng->used = 0;
}

void emp_rng_init(emp_rng *rng, uint64_t seed, uint32_t stream, uint32_t substream)
{
    *rng = (emp_rng){.key = {(uint32_t)seed, (uint32_t)(seed >> 32)},
                     .counter = {0, 0, stream, substream},
                     .used = 4};
}

uint32_t emp_rng_u32(emp_rng *rng)
{
    if (rng->used == 4) fill_block(rng);
    return rng->block[rng->used++];
}

double emp_rng_uniform(emp_rng *rng)
{
    uint64_t high = emp_rng_u32(rng) >> 5, low = emp_rng_u32(rng) >> 6;

    return (double)(high << 26 | low) * 0x1p-53;
}

/* Lemire's multiply-and-reject (ACM TOMACS 29(1), 2019). */
uint32_t emp_rng_below(emp_rng *rng, uint32_t bound)
{
    uint32_t reject_below = (0u - bound) % bound;
    uint64_t product;

    do product = (uint64_t)emp_rng_u32(rng) * bound;
    while ((uint32_t)product < reject_below);
    return (uint32_t)(product >> 32);
}

static void          gsl_set(void *state, unsigned long seed) { (void)state, (void)seed; }
static unsigned long gsl_get(void *state) { return emp_rng_u32((emp_rng *)state); }
static double gsl_get_double(void *state) { return emp_rng_uniform((emp_rng *)state); }

gsl_rng emp_rng_as_gsl(emp_rng *rng)
{
    static const gsl_rng_type type = {"emp_philox4x32", 0xffffffffUL, 0,
                                      sizeof(emp_rng),  gsl_set,      gsl_get,
                                      gsl_get_double};

    return (gsl_rng){&type, rng};
}

double emp_rng_normal(emp_rng *rng)
{
    gsl_rng gsl = emp_rng_as_gsl(rng);
    return gsl_ran_gaussian_ziggurat(&gsl, 1.0);
}

uint64_t emp_rng_seed_of_rank(uint64_t seed, int32_t rank)
{
    emp_rng  rng;
    uint64_t high;

    if (rank == 0) return seed;
    emp_rng_init(&rng, seed, UINT32_MAX, (uint32_t)rank);
    high = emp_rng_u32(&rng);
    return high << 32 | emp_rng_u32(&rng);
}

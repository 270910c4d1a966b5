/** \file base/random.h
 * Generators of other programs, whose instances Emplace makes again, and the block function of its
 * own streams (base/rng.h).
 */
#ifndef EMP_BASE_RANDOM_H
#define EMP_BASE_RANDOM_H

#include <stdint.h>

/* The Mersenne Twister (Matsumoto and Nishimura, ACM TOMACS 8, 1998), as NumPy's RandomState and Python's
 * random draw from it. */

enum { EMP_MT19937_WORDS = 624 };

typedef struct {
    uint32_t word[EMP_MT19937_WORDS];
    int32_t  used; /**< words handed out */
} emp_mt19937;

/** numpy.random.seed(seed). */
void emp_mt19937_seed_numpy(emp_mt19937 *mt, uint32_t seed);
/** random.seed(seed) of Python. */
void emp_mt19937_seed_python(emp_mt19937 *mt, uint32_t seed);

/** In [0, 1), 53 bits: numpy.random.rand() and random.random(). */
double emp_mt19937_uniform(emp_mt19937 *mt);
/** numpy.random.uniform(low, high). */
double emp_mt19937_between(emp_mt19937 *mt, double low, double high);
/** numpy.random.randint(bound), as numpy.random.choice(bound) draws; bound > 0. With a bound of 1
 * nothing is drawn. */
uint32_t emp_mt19937_below_numpy(emp_mt19937 *mt, uint32_t bound);
/** The index that random.choice() of Python takes of \a bound; bound > 0. */
uint32_t emp_mt19937_below_python(emp_mt19937 *mt, uint32_t bound);

/** Fills \a block with one block of Philox4x32-10 (Salmon et al., SC 2011). \a key: the seed; \a counter:
 * number of the block, stream, substream. */
void emp_philox_block(uint32_t block[4], const uint32_t key[2],
                      const uint32_t counter[4]);

#endif /* EMP_BASE_RANDOM_H */

/** \file base/rng.h
 * Counter-based random streams: Philox4x32-10 (Salmon et al., SC 2011).
 *
 * A stream is named by (seed, stream, substream) and needs no state from any other, so
 * sample k of update t draws the same numbers on any thread. As a gsl_rng it feeds every
 * gsl_ran_* distribution. An emp_rng is plain data: copy it to save it.
 */
#ifndef EMP_BASE_RNG_H
#define EMP_BASE_RNG_H

#include <gsl/gsl_rng.h>
#include <stdint.h>

typedef struct {
    uint32_t key[2];     /**< from the seed */
    uint32_t counter[4]; /**< block, stream, substream */
    uint32_t block[4];   /**< current output block */
    uint32_t used;       /**< words of the block handed out, 0..4 */
} emp_rng;

/** Starts the stream (seed, stream, substream) at its beginning. */
void emp_rng_init(emp_rng *rng, uint64_t seed, uint32_t stream, uint32_t substream);

/** The seed from which a rank draws what is its own: \a seed itself for rank 0, else a
 * number from the last stream of \a seed. */
uint64_t emp_rng_seed_of_rank(uint64_t seed, int32_t rank);

uint32_t emp_rng_u32(emp_rng *rng);
/** Uniform in [0, 1), 53 bits. */
double emp_rng_uniform(emp_rng *rng);
/** Standard normal, by GSL's ziggurat on this stream. */
double emp_rng_normal(emp_rng *rng);
/** Uniform in 0 .. bound-1 without bias; bound > 0. */
uint32_t emp_rng_below(emp_rng *rng, uint32_t bound);

/** A gsl_rng that draws from \a rng, which is borrowed. Lives in the caller's storage and
 * needs no release; never pass it to gsl_rng_free(). */
gsl_rng emp_rng_as_gsl(emp_rng *rng);

#endif /* EMP_BASE_RNG_H */

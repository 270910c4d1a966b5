/** \file base/random/philox.h
 * One block of Philox4x32-10 (Salmon et al., SC 2011). Emplace's streams, base/rng.h and
 * <emplace/random.h>, are its blocks one after another.
 */
#ifndef EMP_BASE_RANDOM_PHILOX_H
#define EMP_BASE_RANDOM_PHILOX_H

#include <stdint.h>

/** Fills \a block from a key, the seed, and a counter: number of the block, stream, substream. */
void emp_philox_block(uint32_t block[4], const uint32_t key[2],
                      const uint32_t counter[4]);

#endif /* EMP_BASE_RANDOM_PHILOX_H */

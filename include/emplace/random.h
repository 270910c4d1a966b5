/** \file emplace/random.h
 * The random streams of the program's methods, so that methods from outside can draw the same
 * numbers: Philox4x32-10 (Salmon et al., SC 2011).
 *
 * A stream is named by (seed, stream, substream) and needs no state. Method `random` draws its
 * candidate i from the stream (seed, i, 0): for each colocation class in turn one number below
 * the number of devices.
 *
 * From words to other numbers, as the program makes them:
 *
 *  - below n: the high half of the 64-bit product word * n. A word is skipped whose product has
 *    a low half under (2^32 - n) mod n (Lemire, ACM TOMACS 29(1), 2019);
 *  - in [0, 1): ((a >> 5) * 2^26 + (b >> 6)) / 2^53 of two words a, b.
 */
#ifndef EMP_EMPLACE_RANDOM_H
#define EMP_EMPLACE_RANDOM_H

#include <stdint.h>

#include <emplace/api.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Fills word[count] with the words \a first, \a first + 1, ... of a stream. O(count); nothing
 * happens if \a word is NULL or \a count is below 1. Any thread may call it. */
EMP_API void emp_random_words(uint32_t *word, int64_t count, uint64_t seed,
                              uint32_t stream, uint32_t substream, uint64_t first);

#ifdef __cplusplus
}
#endif

#endif /* EMP_EMPLACE_RANDOM_H */

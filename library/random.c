// SPDX-License-Identifier: GPL-3.0-or-later
/* <emplace/random.h>: the streams of base/rng.h from any word on. */
#include <emplace/random.h>
#include <stddef.h>

#include "base/random.h"

void emp_random_words(uint32_t *word, int64_t count, uint64_t seed, uint32_t stream,
                      uint32_t substream, uint64_t first)
{
    const uint32_t key[2] = {(uint32_t)seed, (uint32_t)(seed >> 32)};
    uint64_t       number = first / 4;
    uint32_t       block[4], used = (uint32_t)(first % 4);

    if (word == NULL) return;
    for (int64_t i = 0; i < count; number++, used = 0) {
        const uint32_t counter[4] = {(uint32_t)number, (uint32_t)(number >> 32), stream,
                                     substream};
        emp_philox_block(block, key, counter);
        while (used < 4 && i < count) word[i++] = block[used++];
    }
}

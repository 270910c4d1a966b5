// SPDX-License-Identifier: GPL-3.0-or-later
#include "base/random/philox.h"

#include <string.h>

void emp_philox_block(uint32_t block[4], const uint32_t key[2], const uint32_t counter[4])
{
    uint32_t c[4], k0 = key[0], k1 = key[1];

    memcpy(c, counter, sizeof c);
    for (int round = 0; round < 10; round++) {
        uint64_t a = (uint64_t)c[0] * 0xD2511F53u, b = (uint64_t)c[2] * 0xCD9E8D57u;
        uint32_t next[4] = {(uint32_t)(b >> 32) ^ c[1] ^ k0, (uint32_t)b,
                            (uint32_t)(a >> 32) ^ c[3] ^ k1, (uint32_t)a};
        memcpy(c, next, sizeof c);
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    memcpy(block, c, sizeof c);
}

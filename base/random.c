// SPDX-License-Identifier: GPL-3.0-or-later
#include "base/random.h"

#include <string.h>

#include "base/clones.h"

enum { SHIFT = 397 };

void emp_mt19937_seed_numpy(emp_mt19937 *mt, uint32_t seed)
{
    mt->word[0] = seed;
    for (uint32_t i = 1; i < EMP_MT19937_WORDS; i++)
        mt->word[i] = 1812433253u * (mt->word[i - 1] ^ mt->word[i - 1] >> 30) + i;
    mt->used = EMP_MT19937_WORDS;
}

/* Python seeds by an array, here of one word. */
void emp_mt19937_seed_python(emp_mt19937 *mt, uint32_t seed)
{
    uint32_t *w = mt->word, i = 1;

    emp_mt19937_seed_numpy(mt, 19650218u);
    for (int32_t k = 0; k < EMP_MT19937_WORDS; k++) {
        w[i] = (w[i] ^ (w[i - 1] ^ w[i - 1] >> 30) * 1664525u) + seed;
        if (++i < EMP_MT19937_WORDS) continue;
        w[0] = w[EMP_MT19937_WORDS - 1];
        i = 1;
    }
    for (int32_t k = 1; k < EMP_MT19937_WORDS; k++) {
        w[i] = (w[i] ^ (w[i - 1] ^ w[i - 1] >> 30) * 1566083941u) - i;
        if (++i < EMP_MT19937_WORDS) continue;
        w[0] = w[EMP_MT19937_WORDS - 1];
        i = 1;
    }
    w[0] = 0x80000000u;
}

static void refill(emp_mt19937 *mt)
{
    uint32_t *w = mt->word;

    for (int32_t i = 0; i < EMP_MT19937_WORDS; i++) {
        uint32_t next = w[(i + 1) % EMP_MT19937_WORDS];
        uint32_t y = (w[i] & 0x80000000u) | (next & 0x7fffffffu);
        w[i] = w[(i + SHIFT) % EMP_MT19937_WORDS] ^ y >> 1 ^
               ((y & 1u) != 0 ? 0x9908b0dfu : 0u);
    }
    mt->used = 0;
}

static uint32_t emp_mt19937_u32(emp_mt19937 *mt)
{
    if (mt->used == EMP_MT19937_WORDS) refill(mt);
    uint32_t y = mt->word[mt->used++];
    y ^= y >> 11;
    y ^= y << 7 & 0x9d2c5680u;
    y ^= y << 15 & 0xefc60000u;
    return y ^ y >> 18;
}

double emp_mt19937_uniform(emp_mt19937 *mt)
{
    uint32_t high = emp_mt19937_u32(mt) >> 5, low = emp_mt19937_u32(mt) >> 6;

    return (high * 67108864.0 + low) / 9007199254740992.0;
}

double emp_mt19937_between(emp_mt19937 *mt, double low, double high)
{
    return low + (high - low) * emp_mt19937_uniform(mt);
}

/* Draws again what is beyond the bound, of as many low bits as it takes. */
uint32_t emp_mt19937_below_numpy(emp_mt19937 *mt, uint32_t bound)
{
    uint32_t mask = 0, value = 0;

    while (mask < bound - 1) mask = mask << 1 | 1u;
    if (mask == 0) return 0;
    do value = emp_mt19937_u32(mt) & mask;
    while (value >= bound);
    return value;
}

/* Draws as many high bits as the bound itself has. */
uint32_t emp_mt19937_below_python(emp_mt19937 *mt, uint32_t bound)
{
    uint32_t value;
    int32_t  bits = 0;

    while (bits < 32 && bound >> bits != 0) bits++;
    do value = emp_mt19937_u32(mt) >> (32 - bits);
    while (value >= bound);
    return value;
}

void emp_philox_block(uint32_t block[4], const uint32_t key[2], const uint32_t counter[4])
{
    uint32_t c[4], k0 = key[0], k1 = key[1];

    memcpy(c, counter, sizeof c);
    EMP_UNROLL
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

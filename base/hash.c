// SPDX-License-Identifier: GPL-3.0-or-later
#include "base/hash.h"

uint64_t emp_hash_bytes(uint64_t hash, const void *bytes, size_t count)
{
    const unsigned char *at = (const unsigned char *)bytes;

    for (size_t i = 0; i < count; i++) hash = (hash ^ at[i]) * UINT64_C(0x100000001b3);
    return hash ^ (hash >> 32);
}

/* The finaliser of splitmix64 (Steele, Lea, Flood, OOPSLA 2014) on the running sum. */
uint64_t emp_hash_u64(uint64_t hash, uint64_t word)
{
    uint64_t z = (hash + UINT64_C(0x9e3779b97f4a7c15)) ^ word;

    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

static uint64_t rotate(uint64_t x, int bits) { return x << bits | x >> (64 - bits); }

static void sip_round(uint64_t v[4])
{
    v[0] += v[1], v[1] = rotate(v[1], 13) ^ v[0], v[0] = rotate(v[0], 32);
    v[2] += v[3], v[3] = rotate(v[3], 16) ^ v[2];
    v[0] += v[3], v[3] = rotate(v[3], 21) ^ v[0];
    v[2] += v[1], v[1] = rotate(v[1], 17) ^ v[2], v[2] = rotate(v[2], 32);
}

static void sip_absorb(uint64_t v[4], uint64_t word)
{
    v[3] ^= word;
    sip_round(v);
    sip_round(v);
    v[0] ^= word;
}

/* Up to 8 bytes, little-endian. */
static uint64_t word_of(const unsigned char *bytes, size_t count)
{
    uint64_t word = 0;

    for (size_t i = 0; i < count; i++) word |= (uint64_t)bytes[i] << 8 * i;
    return word;
}

uint64_t emp_hash_keyed(const uint64_t key[2], const void *bytes, size_t count)
{
    const unsigned char *at = (const unsigned char *)bytes;
    uint64_t             v[4] = {
                    key[0] ^ UINT64_C(0x736f6d6570736575), key[1] ^ UINT64_C(0x646f72616e646f6d),
                    key[0] ^ UINT64_C(0x6c7967656e657261), key[1] ^ UINT64_C(0x7465646279746573)};

    for (size_t left = count; left >= 8; left -= 8, at += 8)
        sip_absorb(v, word_of(at, 8));
    sip_absorb(v, word_of(at, count % 8) | (uint64_t)count << 56);
    v[2] ^= 0xff;
    for (int i = 0; i < 4; i++) sip_round(v);
    return v[0] ^ v[1] ^ v[2] ^ v[3];
}

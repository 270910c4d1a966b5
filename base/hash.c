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

// SPDX-License-Identifier: GPL-3.0-or-later
/* Hash values are part of file formats: they must never change. */
#include <criterion/criterion.h>

#include "base/collections.h"

/* FNV-1a of the bytes as published, then folded by its upper half. */
static uint64_t folded(uint64_t fnv) { return fnv ^ (fnv >> 32); }

Test(hash, bytes_give_published_fnv_values)
{
    cr_expect_eq(emp_hash_bytes(EMP_HASH_SEED, "", 0),
                 folded(UINT64_C(0xcbf29ce484222325)));
    cr_expect_eq(emp_hash_bytes(EMP_HASH_SEED, "a", 1),
                 folded(UINT64_C(0xaf63dc4c8601ec8c)));
    cr_expect_eq(emp_hash_bytes(EMP_HASH_SEED, "foobar", 6),
                 folded(UINT64_C(0x85944171f73967e8)));
}

/* The first output of splitmix64 from seed 0. */
Test(hash, word_gives_the_published_splitmix_value)
{
    cr_expect_eq(emp_hash_u64(0, 0), UINT64_C(0xe220a8397b1dcdaf));
}

/* The paper's test vector: key and message are 0, 1, 2, ... */
Test(hash, under_a_key_gives_the_published_siphash_value)
{
    const uint64_t key[2] = {UINT64_C(0x0706050403020100), UINT64_C(0x0f0e0d0c0b0a0908)};
    unsigned char  message[15];

    for (size_t i = 0; i < sizeof message; i++) message[i] = (unsigned char)i;
    cr_expect_eq(emp_hash_keyed(key, message, sizeof message),
                 UINT64_C(0xa129ca6149be45e5));
    cr_expect_eq(emp_hash_keyed(key, "", 0), UINT64_C(0x726fdb47dd0e0e31));
}

Test(hash, order_matters)
{
    uint64_t ab = emp_hash_u64(emp_hash_u64(EMP_HASH_SEED, 1), 2);
    uint64_t ba = emp_hash_u64(emp_hash_u64(EMP_HASH_SEED, 2), 1);

    cr_expect_neq(ab, ba);
}

// SPDX-License-Identifier: GPL-3.0-or-later
/* A map of many names finds each, and no other; sets are joined as stated; sorted keys are in order and found;
 * hash values, which are part of file formats, never change. */
#include "base/collections.h"

#include "base/rng.h"
#include "tests/support/survive.h"

Test(strmap, finds_what_was_set_and_nothing_else)
{
    enum { NAMES = 5000 };
    static char names[NAMES][16];
    emp_strmap  map = {0};

    for (int32_t i = 0; i < NAMES; i++) {
        snprintf(names[i], sizeof names[i], "op_%d", i * 31);
        cr_assert_eq(emp_strmap_set(&map, names[i], strlen(names[i]), i, NULL), EMP_OK);
    }
    cr_expect_eq(map.count, (size_t)NAMES);
    for (int32_t i = 0; i < NAMES; i++) {
        char other[20];
        snprintf(other, sizeof other, "op_%d_", i * 31);
        cr_assert_eq(emp_strmap_get(&map, names[i], strlen(names[i])), i);
        cr_assert_eq(emp_strmap_get(&map, other, strlen(other)), -1);
    }
    emp_strmap_clear(&map);
    cr_expect_eq(emp_mem_live_blocks(), 0);
}

Test(strmap, keys_have_a_length_and_may_hold_any_byte)
{
    SCOPED(emp_strmap, emp_strmap_clear) map = {0};

    cr_assert_eq(emp_strmap_set(&map, "a\0b", 3, 1, NULL), EMP_OK);
    cr_assert_eq(emp_strmap_set(&map, "a\0c", 3, 2, NULL), EMP_OK);
    cr_assert_eq(emp_strmap_set(&map, "", 0, 3, NULL), EMP_OK);
    cr_expect_eq(emp_strmap_get(&map, "a\0b", 3), 1);
    cr_expect_eq(emp_strmap_get(&map, "a\0cxyz", 3), 2);
    cr_expect_eq(emp_strmap_get(&map, "a", 1), -1);
    cr_expect_eq(emp_strmap_get(&map, "", 0), 3);
}

Test(strmap, is_unchanged_when_it_cannot_grow)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
    emp_strmap        map = {0};
    size_t            done = 0;

    cr_assert_eq(emp_strmap_set(&map, letters, 1, 0, NULL), EMP_OK);
    emp_mem_fail_after(0);
    for (done = 1; done < sizeof letters - 1; done++)
        if (emp_strmap_set(&map, letters + done, 1, (int32_t)done, NULL) != EMP_OK) break;
    emp_mem_fail_after(-1);
    cr_expect_lt(done, sizeof letters - 1);
    for (size_t i = 0; i < done; i++)
        cr_expect_eq(emp_strmap_get(&map, letters + i, 1), (int32_t)i);
    cr_expect_eq(emp_strmap_get(&map, letters + done, 1), -1);
    emp_strmap_clear(&map);
}

/* Who writes a file knows the plain hash of its names. Their places in the map depend on a key, too. */
Test(strmap, places_of_names_cannot_be_foreseen)
{
    enum { NAMES = 24 };
    static char names[NAMES][16];
    SCOPED(emp_strmap, emp_strmap_clear) map = {0};
    int foreseen = 0;

    for (int32_t i = 0; i < NAMES; i++) {
        snprintf(names[i], sizeof names[i], "op_%d", i);
        cr_assert_eq(emp_strmap_set(&map, names[i], strlen(names[i]), i, NULL), EMP_OK);
    }
    for (int32_t i = 0; i < NAMES; i++) {
        uint64_t hash = emp_hash_bytes(EMP_HASH_SEED, names[i], strlen(names[i]));
        foreseen += map.slots[hash & (map.capacity - 1)].key == names[i];
    }
    cr_expect_lt(foreseen, NAMES / 2);
}

enum { COUNT = 40, JOINS = 30, ROUNDS = 200 };

Test(strmap, adds_what_is_new_and_forgets_all)
{
    static char names[600][8];
    SCOPED(emp_strmap, emp_strmap_clear) map = {0};
    int32_t there;

    for (int round = 0; round < 2; round++) {
        const int count = round == 0 ? 600 : 20;
        for (int i = 0; i < 2 * count; i++) {
            snprintf(names[i % count], sizeof names[0], "n%d", i % count);
            const char *name = names[i % count];
            ASSERT_OK(emp_strmap_add(&map, name, strlen(name), i, &there, NULL));
            cr_assert_eq(there, i < count ? -1 : i - count);
        }
        cr_expect_eq(map.count, (size_t)count);
        emp_strmap_empty(&map);
        cr_expect_eq(map.count, 0);
        cr_expect_eq(emp_strmap_get(&map, "n1", 2), -1);
    }
}

Test(values, equal_ones_are_kept_once)
{
    emp_value_set set = {0};
    SCOPED(emp_arena, emp_arena_clear) arena = {0};
    const void   *kept[500];
    unsigned char bytes[500] = {0};

    for (size_t i = 0; i < 500; i++) { /* differ in their last byte, or their length */
        bytes[i] = 1;
        kept[i] = emp_value_keep(&set, &arena, bytes, i + 1);
        cr_assert_not_null(kept[i]);
        cr_assert_eq(memcmp(kept[i], bytes, i + 1), 0);
        bytes[i] = 0;
    }
    for (size_t i = 0; i < 500; i++) {
        bytes[i] = 1;
        cr_assert_eq(emp_value_keep(&set, &arena, bytes, i + 1), kept[i]);
        bytes[i] = 0;
    }
    cr_expect_eq(set.count, 500);
    emp_value_set_clear(&set);
}

Test(disjoint, agrees_with_plain_labels)
{
    for (uint64_t seed = 0; seed < ROUNDS; seed++) {
        int32_t parent[COUNT], label[COUNT];
        emp_rng rng;
        emp_rng_init(&rng, seed, 0, 0);
        emp_disjoint_init(parent, COUNT);
        for (int32_t i = 0; i < COUNT; i++) label[i] = i;

        for (int32_t n = 0; n < JOINS; n++) {
            int32_t one = (int32_t)emp_rng_below(&rng, COUNT);
            int32_t other = (int32_t)emp_rng_below(&rng, COUNT);
            int32_t a = label[one], b = label[other];
            cr_expect_eq(emp_disjoint_join(parent, one, other), a != b);
            for (int32_t i = 0; i < COUNT; i++)
                if (label[i] == a || label[i] == b) label[i] = a < b ? a : b;
        }
        for (int32_t i = 0; i < COUNT; i++)
            cr_expect_eq(emp_disjoint_root(parent, i), label[i], "%d", i);
    }
}

/* Few keys, so that many are equal. */
Test(keyed, are_sorted_and_found_as_by_counting)
{
    enum { MANY = 300, KEYS = 20 };
    emp_keyed rising[MANY], falling[MANY];
    emp_rng   rng;
    int32_t   first;

    emp_rng_init(&rng, 1, 0, 0);
    for (int32_t i = 0; i < MANY; i++)
        rising[i] = falling[i] = (emp_keyed){emp_rng_below(&rng, KEYS), MANY - i};
    emp_keyed_sort(rising, MANY);
    emp_keyed_sort_falling(falling, MANY);
    for (int32_t i = 1; i < MANY; i++) {
        const emp_keyed *a = &rising[i - 1], *b = &falling[i - 1];
        cr_expect(a->key < a[1].key || (a->key == a[1].key && a->number < a[1].number));
        cr_expect(b->key > b[1].key || (b->key == b[1].key && b->number < b[1].number));
    }
    for (int key = -1; key <= KEYS; key++) {
        int32_t below = 0;
        for (int32_t i = 0; i < MANY; i++) below += falling[i].key < key;
        EMP_COUNT_FIRST(first, MANY, i, rising[i].key < key);
        cr_expect_eq(first, below);
    }
    EMP_COUNT_FIRST(first, 0, i, rising[i].key < 1);
    cr_expect_eq(first, 0);
}

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

/* The paper's reference code with one round a word and three at the end: key and message are 0, 1, 2, ... Python's hash
 * of b"abc" under PYTHONHASHSEED=0 is of the key 0. */
Test(hash, under_a_key_gives_the_published_siphash_value)
{
    const uint64_t key[2] = {UINT64_C(0x0706050403020100), UINT64_C(0x0f0e0d0c0b0a0908)};
    unsigned char  message[15];

    for (size_t i = 0; i < sizeof message; i++) message[i] = (unsigned char)i;
    cr_expect_eq(emp_hash_keyed(key, message, sizeof message),
                 UINT64_C(0xd320d86d2a519956));
    cr_expect_eq(emp_hash_keyed(key, "", 0), UINT64_C(0xabac0158050fc4dc));
    cr_expect_eq(emp_hash_keyed((uint64_t[]){0, 0}, "abc", 3),
                 UINT64_C(0xc03bc3a0042630f2));
}

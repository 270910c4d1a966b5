// SPDX-License-Identifier: GPL-3.0-or-later
/* A map of many names finds each, and no other. */
#include <criterion/criterion.h>
#include <stdio.h>

#include "base/collections.h"
#include "base/mem.h"

Test(strmap, empty_map_finds_nothing)
{
    emp_strmap map = {0};

    cr_expect_eq(emp_strmap_get(&map, "a", 1), -1);
    emp_strmap_clear(&map);
}

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

Test(strmap, set_replaces_the_value)
{
    emp_strmap map = {0};

    cr_assert_eq(emp_strmap_set(&map, "a", 1, 1, NULL), EMP_OK);
    cr_assert_eq(emp_strmap_set(&map, "a", 1, 2, NULL), EMP_OK);
    cr_expect_eq(map.count, 1u);
    cr_expect_eq(emp_strmap_get(&map, "a", 1), 2);
    emp_strmap_clear(&map);
}

Test(strmap, keys_have_a_length_and_may_hold_any_byte)
{
    emp_strmap map = {0};

    cr_assert_eq(emp_strmap_set(&map, "a\0b", 3, 1, NULL), EMP_OK);
    cr_assert_eq(emp_strmap_set(&map, "a\0c", 3, 2, NULL), EMP_OK);
    cr_assert_eq(emp_strmap_set(&map, "", 0, 3, NULL), EMP_OK);
    cr_expect_eq(emp_strmap_get(&map, "a\0b", 3), 1);
    cr_expect_eq(emp_strmap_get(&map, "a\0cxyz", 3), 2);
    cr_expect_eq(emp_strmap_get(&map, "a", 1), -1);
    cr_expect_eq(emp_strmap_get(&map, "", 0), 3);
    emp_strmap_clear(&map);
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
    emp_strmap  map = {0};
    int         foreseen = 0;

    for (int32_t i = 0; i < NAMES; i++) {
        snprintf(names[i], sizeof names[i], "op_%d", i);
        cr_assert_eq(emp_strmap_set(&map, names[i], strlen(names[i]), i, NULL), EMP_OK);
    }
    for (int32_t i = 0; i < NAMES; i++) {
        uint64_t hash = emp_hash_bytes(EMP_HASH_SEED, names[i], strlen(names[i]));
        foreseen += map.slots[hash & (map.capacity - 1)].key == names[i];
    }
    cr_expect_lt(foreseen, NAMES / 2);
    emp_strmap_clear(&map);
}

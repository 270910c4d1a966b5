// SPDX-License-Identifier: GPL-3.0-or-later
/* Counted, zeroed, aligned allocation that fails on demand and on overflow; arenas and arrays whose
 * pieces are freed together. */
#include <stdalign.h>
#include <stdint.h>

#include "tests/support/survive.h"

Test(mem, bytes_are_counted_and_limited)
{
    const int64_t before = emp_mem_live_bytes();
    char         *small = EMP_NEW_ARRAY(char, 100);
    char         *large = EMP_NEW_ARRAY(char, 100000);

    cr_expect_geq(emp_mem_live_bytes() - before, 100100);
    cr_expect_leq(emp_mem_live_bytes() - before, 110000);
    emp_mem_limit(emp_mem_live_bytes() + 1000);
    char *more = EMP_NEW_ARRAY(char, 900);
    cr_expect_not_null(more);
    cr_expect_null(EMP_NEW_ARRAY(char, 900));
    cr_expect_null(emp_realloc(large, 200000, 1));
    cr_expect(emp_mem_limit(-1), "the limit was met");
    cr_expect_not(emp_mem_limit(-1));
    large = emp_realloc(large, 50, 1);
    emp_free(more);
    emp_free(small);
    cr_expect_leq(emp_mem_live_bytes() - before, 200);
    emp_free(large);
    cr_expect_eq(emp_mem_live_bytes(), before);
}

Test(mem, counts_live_blocks)
{
    void *a = emp_calloc(10, 8), *b = emp_calloc(0, 8);
    char *c = emp_strdup("text");

    cr_expect_eq(emp_mem_live_blocks(), 3);
    cr_expect_not_null(b, "a count of 0 gives a distinct block");
    cr_expect_neq(a, b);
    cr_expect_str_eq(c, "text");
    emp_free(a);
    emp_free(b);
    emp_free(c);
    emp_free(NULL);
    cr_expect_eq(emp_mem_live_blocks(), 0);
}

Test(mem, calloc_zeroes_and_aligns_large_blocks)
{
    for (size_t size = 1; size <= 100000; size = size * 3 + 1) {
        OWN_EMP_FREE unsigned char *block = emp_calloc(size, 1);
        cr_assert_not_null(block);
        for (size_t i = 0; i < size; i++) cr_assert_eq(block[i], 0);
        if (size >= 4096) cr_expect_eq((uintptr_t)block % 64, 0u, "%zu bytes", size);
        memset(block, 0xff, size); /* the next block must not come back dirty */
    }
}

static emp_status allocate(double **array, size_t *count, emp_error *err)
{
    return EMP_ALLOC(*array, (*count)++);
}

Test(mem, alloc_takes_its_count_once_and_says_what_is_missing)
{
    double    unset, *array = &unset;
    size_t    count = 3;
    emp_error err = {0};

    cr_assert_eq(allocate(&array, &count, &err), EMP_OK);
    cr_expect_eq(count, 4);
    for (int i = 0; i < 3; i++) cr_expect_eq(array[i], 0);
    emp_free(array);
    count = SIZE_MAX / 4;
    cr_expect_eq(allocate(&array, &count, &err), EMP_ENOMEM);
    cr_expect_null(array);
    cr_expect_not_null(strstr(err.file, "test_mem.c"));
    cr_expect_not_null(strstr(err.msg, " items of 8 bytes"), "%s", err.msg);
}

Test(mem, refuses_sizes_that_overflow)
{
    cr_expect_null(emp_calloc(SIZE_MAX / 2, 3));
    cr_expect_null(emp_realloc(NULL, SIZE_MAX / 8 + 1, 8));
    cr_expect_eq(emp_mem_live_blocks(), 0);
}

Test(mem, fails_after_the_given_number_of_allocations)
{
    emp_mem_fail_after(2);
    void *a = emp_calloc(1, 1), *b = emp_calloc(1, 1);
    cr_expect_not_null(a);
    cr_expect_not_null(b);
    cr_expect_null(emp_calloc(1, 1));
    cr_expect_null(emp_realloc(a, 2, 1), "a block that cannot grow stays valid");
    cr_expect_null(emp_strdup("x"));
    emp_mem_fail_after(-1);
    void *c = emp_calloc(1, 1);
    cr_expect_not_null(c);
    emp_free(a);
    emp_free(b);
    emp_free(c);
    cr_expect_eq(emp_mem_live_blocks(), 0);
}

Test(arena, pieces_are_zeroed_aligned_and_disjoint)
{
    enum { PIECES = 2000 };
    emp_arena      arena = {0};
    unsigned char *piece[PIECES];

    for (size_t i = 0; i < PIECES; i++) {
        size_t size = i * 7 % 900 + 1;
        piece[i] = emp_arena_alloc(&arena, size);
        cr_assert_not_null(piece[i]);
        cr_assert_eq((uintptr_t)piece[i] % alignof(max_align_t), 0u);
        for (size_t k = 0; k < size; k++) cr_assert_eq(piece[i][k], 0);
        memset(piece[i], (int)(i % 251 + 1), size);
    }
    for (size_t i = 0; i < PIECES; i++)
        for (size_t k = 0; k < i * 7 % 900 + 1; k++)
            cr_assert_eq(piece[i][k], i % 251 + 1, "piece %zu was overwritten", i);
    emp_arena_clear(&arena);
    cr_expect_eq(emp_mem_live_blocks(), 0);
}

Test(arena, the_newest_piece_grows_in_place_and_others_by_a_copy)
{
    SCOPED(emp_arena, emp_arena_clear) arena = {0};
    char *a = emp_arena_extend(&arena, NULL, 0, 4, 4);
    cr_assert_not_null(a);
    memcpy(a, "abc", 4);

    cr_expect_eq(emp_arena_extend(&arena, a, 4, 12, 4), a);
    cr_expect_str_eq(a, "abc");
    cr_expect_eq(a[11], 0);
    char *b = emp_arena_extend(&arena, NULL, 0, 4, 4);
    cr_expect_eq(b, a + 12, "pieces of one unit leave no gap");
    char *moved = emp_arena_extend(&arena, a, 12, 16, 4);
    cr_expect(moved > b);
    cr_expect_str_eq(moved, "abc");
    char *large = emp_arena_extend(&arena, moved, 16, 3000000, 4);
    cr_assert_not_null(large);
    cr_expect_str_eq(large, "abc");
    cr_expect_eq(large[2999999], 0);
}

Test(arena, can_be_used_again_after_clear_and_survives_failure)
{
    emp_arena arena = {0};

    emp_mem_fail_after(0);
    cr_expect_null(emp_arena_alloc(&arena, 8));
    emp_mem_fail_after(-1);
    cr_expect_null(emp_arena_alloc(&arena, SIZE_MAX - 3), "sizes near the end overflow");
    cr_expect_not_null(emp_arena_alloc(&arena, 8));
    emp_arena_clear(&arena);
    emp_arena_clear(&arena);
    cr_expect_not_null(emp_arena_alloc(&arena, 8));
    emp_arena_clear(&arena);
    cr_expect_eq(emp_mem_live_blocks(), 0);
}

Test(arrays, are_zeroed_aligned_and_freed_together)
{
    emp_arrays arrays = {0};
    int32_t   *few = EMP_ADD_ARRAY(&arrays, int32_t, 3);
    double    *many = EMP_ADD_ARRAY(&arrays, double, 10000);
    bool      *none = EMP_ADD_ARRAY(&arrays, bool, 0);

    cr_assert(!arrays.is_short && few != NULL && many != NULL && none != NULL);
    cr_expect_eq((uintptr_t)many % 64, 0u);
    for (int32_t i = 0; i < 3; i++) cr_expect_eq(few[i], 0);
    for (int32_t i = 0; i < 10000; i++) cr_expect_eq(many[i], 0.0);
    cr_expect_eq(emp_mem_live_blocks(), 3);
    emp_arrays_clear(&arrays);
    cr_expect_eq(emp_mem_live_blocks(), 0);
    emp_arrays_clear(&arrays);
}

Test(arrays, remember_that_memory_was_out_for_one)
{
    emp_arrays arrays = {0};

    cr_expect_null(EMP_ADD_ARRAY(&arrays, double, SIZE_MAX / 8),
                   "sizes near the end overflow");
    cr_expect(arrays.is_short);
    emp_arrays_clear(&arrays);
    cr_expect(!arrays.is_short);
    cr_assert_not_null(EMP_ADD_ARRAY(&arrays, double, 1));
    emp_mem_fail_after(0);
    cr_expect_null(EMP_ADD_ARRAY(&arrays, double, 1));
    emp_mem_fail_after(-1);
    cr_expect_not_null(EMP_ADD_ARRAY(&arrays, double, 1));
    cr_expect(arrays.is_short);
    emp_arrays_clear(&arrays);
    cr_expect_eq(emp_mem_live_blocks(), 0);
}

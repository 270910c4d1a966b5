// SPDX-License-Identifier: GPL-3.0-or-later
/* Pieces of an arena are zeroed, aligned, disjoint, and freed together. */
#include <criterion/criterion.h>
#include <stdalign.h>
#include <stdint.h>

#include "base/mem.h"

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

Test(arena, holds_pieces_larger_than_a_chunk)
{
    emp_arena      arena = {0};
    unsigned char *large = emp_arena_alloc(&arena, 3000000);

    cr_assert_not_null(large);
    large[2999999] = 1;
    cr_expect_not_null(emp_arena_alloc(&arena, 16));
    cr_expect_null(emp_arena_alloc(&arena, SIZE_MAX - 3), "sizes near the end overflow");
    emp_arena_clear(&arena);
}

Test(arena, strndup_copies_and_terminates)
{
    emp_arena arena = {0};

    cr_expect_str_eq(emp_arena_strndup(&arena, "abcdef", 3), "abc");
    cr_expect_str_eq(emp_arena_strndup(&arena, "", 0), "");
    emp_arena_clear(&arena);
}

Test(arena, can_be_used_again_after_clear_and_survives_failure)
{
    emp_arena arena = {0};

    emp_mem_fail_after(0);
    cr_expect_null(emp_arena_alloc(&arena, 8));
    emp_mem_fail_after(-1);
    cr_expect_not_null(emp_arena_alloc(&arena, 8));
    emp_arena_clear(&arena);
    emp_arena_clear(&arena);
    cr_expect_not_null(emp_arena_alloc(&arena, 8));
    emp_arena_clear(&arena);
    cr_expect_eq(emp_mem_live_blocks(), 0);
}

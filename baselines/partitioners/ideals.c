// SPDX-License-Identifier: GPL-3.0-or-later
#include "baselines/partitioners/ideals.h"

#include <string.h>

#include "base/hash.h"
#include "base/mem.h"

enum { WORD_BITS = 64, FIRST_CAPACITY = 1024 };

/* Sets of blocks, each as words of bits, and a hash table of their numbers. */
typedef struct {
    const emp_blocks *blocks;
    emp_ideals       *ideals;
    int32_t           words, capacity, step_capacity, step_count;
    uint64_t         *members;   /* [ideal][word] */
    uint64_t         *waits;     /* [block][word] */
    int32_t          *slot;      /* [2 capacity] number of an ideal + 1, or 0 */
    uint64_t         *candidate; /* [word] */
} finder;

static bool has(const uint64_t *set, int32_t i)
{
    return set[i / WORD_BITS] >> (i % WORD_BITS) & 1u;
}

static void add(uint64_t *set, int32_t i)
{
    set[i / WORD_BITS] |= UINT64_C(1) << (i % WORD_BITS);
}

static uint64_t *members_of(const finder *f, int32_t ideal)
{
    return &f->members[(size_t)ideal * (size_t)f->words];
}

/* ---- storage ---- */

static emp_status allocate(finder *f, emp_error *err)
{
    size_t blocks = (size_t)f->blocks->count;

    f->words = (f->blocks->count + WORD_BITS - 1) / WORD_BITS + 1;
    EMP_CHECK(EMP_ALLOC(f->waits, blocks * (size_t)f->words));
    EMP_CHECK(EMP_ALLOC(f->candidate, (size_t)f->words));
    for (int32_t b = 0; b < f->blocks->count; b++) {
        for (int32_t i = f->blocks->wait_offset[b]; i < f->blocks->wait_offset[b + 1];
             i++)
            add(&f->waits[(size_t)b * (size_t)f->words], f->blocks->wait[i]);
    }
    return EMP_OK;
}

static uint32_t place_of(const finder *f, const uint64_t *set)
{
    uint64_t hash = EMP_HASH_SEED;
    uint32_t mask = 2 * (uint32_t)f->capacity - 1;

    for (int32_t w = 0; w < f->words; w++) hash = emp_hash_u64(hash, set[w]);
    return (uint32_t)(hash >> 32) & mask;
}

/* The slot of the set, or the free one where it would be. */
static int32_t *find_slot(const finder *f, const uint64_t *set)
{
    size_t   bytes = (size_t)f->words * sizeof *set;
    uint32_t mask = 2 * (uint32_t)f->capacity - 1;

    for (uint32_t at = place_of(f, set);; at = (at + 1) & mask) {
        int32_t *slot = &f->slot[at];
        if (*slot == 0 || memcmp(members_of(f, *slot - 1), set, bytes) == 0) return slot;
    }
}

static emp_status grow_sets(finder *f, emp_error *err)
{
    int32_t   capacity = f->capacity == 0 ? FIRST_CAPACITY : 2 * f->capacity;
    size_t    rows = (size_t)capacity;
    uint64_t *members =
        emp_realloc(f->members, rows * (size_t)f->words, sizeof *f->members);

    if (members == NULL) return EMP_ERROR(EMP_ENOMEM, "%d ideals", capacity);
    f->members = members;
    int32_t *offset =
        emp_realloc(f->ideals->step_offset, rows + 1, sizeof *f->ideals->step_offset);
    if (offset == NULL) return EMP_ERROR(EMP_ENOMEM, "%d ideals", capacity);
    f->ideals->step_offset = offset;
    emp_ideal_step *origin =
        emp_realloc(f->ideals->origin, rows, sizeof *f->ideals->origin);
    if (origin == NULL) return EMP_ERROR(EMP_ENOMEM, "%d ideals", capacity);
    f->ideals->origin = origin;
    emp_free(f->slot);
    EMP_CHECK(EMP_ALLOC(f->slot, 2 * rows));
    f->capacity = capacity;
    for (int32_t i = 0; i < f->ideals->count; i++)
        *find_slot(f, members_of(f, i)) = i + 1;
    return EMP_OK;
}

static emp_status add_step(finder *f, int32_t block, int32_t ideal, emp_error *err)
{
    if (f->step_count == f->step_capacity) {
        int32_t capacity = f->step_capacity == 0 ? FIRST_CAPACITY : 2 * f->step_capacity;
        emp_ideal_step *step =
            emp_realloc(f->ideals->step, (size_t)capacity, sizeof *step);
        if (step == NULL)
            return EMP_ERROR(EMP_ENOMEM, "%d steps between ideals", capacity);
        f->ideals->step = step;
        f->step_capacity = capacity;
    }
    f->ideals->step[f->step_count++] = (emp_ideal_step){block, ideal};
    return EMP_OK;
}

/* ---- search ---- */

/* Takes over the candidate, which \a origin led to, unless it is known; *ideal becomes its
 * number. */
static emp_status intern(finder *f, emp_ideal_step origin, int32_t *ideal, emp_error *err)
{
    if (f->ideals->count == f->capacity) EMP_CHECK(grow_sets(f, err));
    int32_t *slot = find_slot(f, f->candidate);
    if (*slot == 0) {
        memcpy(members_of(f, f->ideals->count), f->candidate,
               (size_t)f->words * sizeof *f->candidate);
        f->ideals->origin[f->ideals->count] = origin;
        *slot = ++f->ideals->count;
    }
    *ideal = *slot - 1;
    return EMP_OK;
}

static bool can_follow(const finder *f, int32_t ideal, int32_t block)
{
    const uint64_t *set = members_of(f, ideal);
    const uint64_t *waits = &f->waits[(size_t)block * (size_t)f->words];

    if (has(set, block)) return false;
    for (int32_t w = 0; w < f->words; w++)
        if (waits[w] & ~set[w]) return false;
    return true;
}

/* Steps from an ideal lead to those of one block more, so that numbers rise with size. */
static emp_status expand(finder *f, int32_t ideal, emp_error *err)
{
    int32_t larger;

    f->ideals->step_offset[ideal] = f->step_count;
    for (int32_t b = 0; b < f->blocks->count; b++) {
        if (!can_follow(f, ideal, b)) continue;
        memcpy(f->candidate, members_of(f, ideal), (size_t)f->words * sizeof(uint64_t));
        add(f->candidate, b);
        EMP_CHECK(intern(f, (emp_ideal_step){b, ideal}, &larger, err));
        EMP_CHECK(add_step(f, b, larger, err));
    }
    f->ideals->step_offset[ideal + 1] = f->step_count;
    return EMP_OK;
}

emp_status emp_ideals_init(emp_ideals *ideals, bool *is_whole, const emp_blocks *blocks,
                           int32_t limit, emp_error *err)
{
    emp_status st = EMP_OK;
    finder     f = {.blocks = blocks, .ideals = ideals};
    int32_t    empty;

    *ideals = (emp_ideals){0};
    EMP_TRY(allocate(&f, err));
    EMP_TRY(intern(&f, (emp_ideal_step){-1, -1}, &empty, err));
    for (int32_t i = 0; i < ideals->count && ideals->count <= limit; i++)
        EMP_TRY(expand(&f, i, err));
    *is_whole = ideals->count <= limit;

cleanup:
    emp_free(f.members);
    emp_free(f.waits);
    emp_free(f.slot);
    emp_free(f.candidate);
    return st;
}

emp_status emp_ideals_init_line(emp_ideals *ideals, int32_t block_count, emp_error *err)
{
    *ideals = (emp_ideals){.count = block_count + 1};
    EMP_CHECK(EMP_ALLOC(ideals->step_offset, (size_t)block_count + 2));
    EMP_CHECK(EMP_ALLOC(ideals->step, (size_t)block_count));
    EMP_CHECK(EMP_ALLOC(ideals->origin, (size_t)block_count + 1));
    for (int32_t i = 0; i < block_count; i++) {
        ideals->step_offset[i + 1] = i + 1;
        ideals->step[i] = (emp_ideal_step){i, i + 1};
        ideals->origin[i + 1] = (emp_ideal_step){i, i};
    }
    ideals->origin[0] = (emp_ideal_step){-1, -1};
    ideals->step_offset[block_count + 1] = block_count;
    return EMP_OK;
}

void emp_ideals_clear(emp_ideals *ideals)
{
    emp_free(ideals->step_offset);
    emp_free(ideals->step);
    emp_free(ideals->origin);
    *ideals = (emp_ideals){0};
}

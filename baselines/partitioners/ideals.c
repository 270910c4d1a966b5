// SPDX-License-Identifier: GPL-3.0-or-later
#include "baselines/partitioners/blocks.h"

#include <string.h>

#include "base/collections.h"
#include "base/mem.h"

enum { WORD_BITS = 64, FIRST_CAPACITY = 1024 };

/* Sets of blocks, each as words of bits, and a hash table of their numbers. */
typedef struct {
    const emp_blocks *blocks;
    emp_ideals       *ideals;
    int32_t           words, capacity, step_capacity, step_count;
    uint64_t         *members;       /* [ideal][word] */
    int32_t          *waiter_offset; /* [block + 2] */
    int32_t          *waiter;        /* blocks that wait for a block, ascending */
    int32_t          *slot;          /* [2 capacity] number of an ideal + 1, or 0 */
    uint64_t         *hash;          /* [ideal] */
    uint64_t         *candidate;     /* [word] */
    uint64_t          candidate_hash;
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

/* Turns the lists of whom a block waits for round. */
static void list_waiters(finder *f)
{
    const emp_blocks *b = f->blocks;
    int32_t          *next = &f->waiter_offset[1]; /* [block] where its list goes on */

    for (int32_t i = 0; i < b->wait_offset[b->count]; i++) next[b->wait[i] + 1]++;
    for (int32_t i = 0; i < b->count; i++) next[i + 1] += next[i];
    for (int32_t block = 0; block < b->count; block++) {
        for (int32_t i = b->wait_offset[block]; i < b->wait_offset[block + 1]; i++)
            f->waiter[next[b->wait[i]]++] = block;
    }
}

static emp_status allocate(finder *f, emp_error *err)
{
    const size_t blocks = (size_t)f->blocks->count;

    f->words = (f->blocks->count + WORD_BITS - 1) / WORD_BITS + 1;
    EMP_CHECK(EMP_ALLOC(f->waiter_offset, blocks + 2));
    EMP_CHECK(EMP_ALLOC(f->waiter, (size_t)f->blocks->wait_offset[blocks]));
    return EMP_ALLOC(f->candidate, (size_t)f->words);
}

/* Sets that differ by a block have hashes that differ by it. */
static uint64_t hash_of(int32_t block)
{
    return emp_hash_u64(EMP_HASH_SEED, (uint64_t)block);
}

/* The slot of the set, or the free one where it would be. */
static int32_t *find_slot(const finder *f, const uint64_t *set, uint64_t hash)
{
    const size_t   bytes = (size_t)f->words * sizeof *set;
    const uint32_t mask = 2 * (uint32_t)f->capacity - 1;

    for (uint32_t at = (uint32_t)(hash >> 32) & mask;; at = (at + 1) & mask) {
        int32_t *slot = &f->slot[at];
        if (*slot == 0) return slot;
        if (f->hash[*slot - 1] == hash &&
            memcmp(members_of(f, *slot - 1), set, bytes) == 0)
            return slot;
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
    uint64_t *hash = emp_realloc(f->hash, rows, sizeof *f->hash);
    if (hash == NULL) return EMP_ERROR(EMP_ENOMEM, "%d ideals", capacity);
    f->hash = hash;
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
        *find_slot(f, members_of(f, i), f->hash[i]) = i + 1;
    return EMP_OK;
}

static emp_status add_step(finder *f, int32_t block, int32_t ideal, emp_error *err)
{
    EMP_CHECK(EMP_GROW(f->ideals->step, f->step_count + 1, f->step_capacity));
    f->ideals->step[f->step_count++] = (emp_ideal_step){block, ideal};
    return EMP_OK;
}

/* ---- search ---- */

/* Takes over the candidate, which \a origin led to, unless it is known; *ideal becomes its
 * number. */
static emp_status intern(finder *f, emp_ideal_step origin, int32_t *ideal, emp_error *err)
{
    if (f->ideals->count == f->capacity) EMP_CHECK(grow_sets(f, err));
    int32_t *slot = find_slot(f, f->candidate, f->candidate_hash);
    if (*slot == 0) {
        memcpy(members_of(f, f->ideals->count), f->candidate,
               (size_t)f->words * sizeof *f->candidate);
        f->hash[f->ideals->count] = f->candidate_hash;
        f->ideals->origin[f->ideals->count] = origin;
        *slot = ++f->ideals->count;
    }
    *ideal = *slot - 1;
    return EMP_OK;
}

static bool can_follow(const finder *f, int32_t ideal, int32_t block)
{
    const emp_blocks *b = f->blocks;
    const uint64_t   *set = members_of(f, ideal);

    for (int32_t i = b->wait_offset[block]; i < b->wait_offset[block + 1]; i++)
        if (!has(set, b->wait[i])) return false;
    return true;
}

static emp_status follow(finder *f, int32_t ideal, int32_t block, emp_error *err)
{
    int32_t larger;

    memcpy(f->candidate, members_of(f, ideal), (size_t)f->words * sizeof(uint64_t));
    add(f->candidate, block);
    f->candidate_hash = f->hash[ideal] ^ hash_of(block);
    EMP_CHECK(intern(f, (emp_ideal_step){block, ideal}, &larger, err));
    return add_step(f, block, larger, err);
}

static emp_status expand_empty(finder *f, emp_error *err)
{
    for (int32_t b = 0; b < f->blocks->count; b++)
        if (can_follow(f, 0, b)) EMP_CHECK(follow(f, 0, b, err));
    return EMP_OK;
}

/* An ideal is followed by what followed the one that it came from, and by blocks that waited only
 * for its new block. Both lists ascend, and no block is in both. */
static emp_status expand_from_origin(finder *f, int32_t ideal, emp_error *err)
{
    const emp_ideal_step origin = f->ideals->origin[ideal];
    const int32_t       *step_offset = &f->ideals->step_offset[origin.ideal];
    int32_t              old = step_offset[0], old_end = step_offset[1];
    int32_t              waiter = f->waiter_offset[origin.block];
    const int32_t        waiter_end = f->waiter_offset[origin.block + 1];

    while (old < old_end || waiter < waiter_end) {
        const int32_t old_block = old < old_end ? f->ideals->step[old].block : INT32_MAX;
        const int32_t new_block = waiter < waiter_end ? f->waiter[waiter] : INT32_MAX;
        const bool    is_old = old_block < new_block;
        const int32_t block = is_old ? old_block : new_block;
        old += is_old;
        waiter += !is_old;
        if (is_old ? block != origin.block : can_follow(f, ideal, block))
            EMP_CHECK(follow(f, ideal, block, err));
    }
    return EMP_OK;
}

/* Steps from an ideal lead to ideals with one block more, so that numbers rise with size. */
static emp_status expand(finder *f, int32_t ideal, emp_error *err)
{
    f->ideals->step_offset[ideal] = f->step_count;
    EMP_CHECK(ideal == 0 ? expand_empty(f, err) : expand_from_origin(f, ideal, err));
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
    list_waiters(&f);
    EMP_TRY(intern(&f, (emp_ideal_step){-1, -1}, &empty, err));
    for (int32_t i = 0; i < ideals->count && ideals->count <= limit; i++)
        EMP_TRY(expand(&f, i, err));
    *is_whole = ideals->count <= limit;

cleanup:
    emp_free(f.members);
    emp_free(f.waiter_offset);
    emp_free(f.waiter);
    emp_free(f.slot);
    emp_free(f.hash);
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

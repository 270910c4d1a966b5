// SPDX-License-Identifier: GPL-3.0-or-later
#include "sim/engine/caching.h"

#include <stdbool.h>

#include "base/mem.h"

enum { BINS = 32, NONE = -1, GRANULE = 512, MIB = 1 << 20 };
enum { SMALL, LARGE, POOLS };

/* Requests up to SMALL_MOST are small; those from LARGE_LEAST on have segments of their own. */
static const int64_t SMALL_MOST = MIB, SMALL_SEGMENT = 2 * MIB, LARGE_SEGMENT = 20 * MIB,
                     LARGE_LEAST = 10 * MIB, LARGE_STEP = 2 * MIB;

struct block {
    int64_t address, bytes;
    int32_t before, after; /* neighbours in the segment */
    int32_t previous,
        next; /* in the list of its bin; next also in that of spare records */
    int32_t device, pool;
    bool    is_free;
};

/* What a device has. */
struct memory {
    int64_t bytes, reserved;
    int32_t bin[POOLS][BINS]; /* free blocks by rising size, then address */
};

struct emp_caching {
    struct block  *block;
    struct memory *memory; /* [device] */
    int64_t        next_address;
    int32_t        device_count;
    int32_t        block_count; /* records that have been used since the reset */
    int32_t        spare;       /* records that are no block any more */
};

emp_status emp_caching_create(emp_caching **out, int32_t device_count,
                              int64_t request_limit, emp_error *err)
{
    emp_status   st = EMP_OK;
    emp_caching *c = EMP_NEW(emp_caching);
    /* in use, free ones between them, free ones that are a segment; a split needs one more */
    size_t blocks = 3 * (size_t)request_limit + 1;

    *out = NULL;
    if (c == NULL) EMP_FAIL(EMP_ENOMEM, "allocator");
    c->device_count = device_count;
    c->memory = EMP_NEW_ARRAY(struct memory, (size_t)device_count);
    c->block = EMP_NEW_ARRAY(struct block, blocks);
    if (!c->memory || !c->block) EMP_FAIL(EMP_ENOMEM, "allocator of %zu blocks", blocks);
    emp_caching_reset(c);
    *out = c;
    c = NULL;

cleanup:
    emp_caching_destroy(c);
    return st;
}

void emp_caching_destroy(emp_caching *caching)
{
    if (caching == NULL) return;
    emp_free(caching->memory);
    emp_free(caching->block);
    emp_free(caching);
}

void emp_caching_reset(emp_caching *caching)
{
    caching->block_count = 0;
    caching->next_address = 0;
    caching->spare = NONE;
    for (int32_t d = 0; d < caching->device_count; d++) {
        struct memory *m = &caching->memory[d];
        m->bytes = m->reserved = 0;
        for (int32_t b = 0; b < BINS; b++) m->bin[SMALL][b] = m->bin[LARGE][b] = NONE;
    }
}

void emp_caching_set_memory(emp_caching *caching, int32_t device, int64_t bytes)
{
    caching->memory[device].bytes = bytes;
}

int64_t emp_caching_reserved(const emp_caching *caching, int32_t device)
{
    return caching->memory[device].reserved;
}

/* ---- free blocks ---- */

/* Bin b has blocks of 512 2^b bytes up to twice that; the last is open. */
static int32_t bin_of(int64_t bytes)
{
    int32_t bin = 63 - __builtin_clzll((uint64_t)(bytes / GRANULE));

    return bin < BINS ? bin : BINS - 1;
}

static bool precedes(const struct block *a, const struct block *b)
{
    return a->bytes != b->bytes ? a->bytes < b->bytes : a->address < b->address;
}

static int32_t *head_of(emp_caching *c, const struct block *b)
{
    return &c->memory[b->device].bin[b->pool][bin_of(b->bytes)];
}

static void put_in_bin(emp_caching *c, int32_t id)
{
    struct block *b = &c->block[id];
    int32_t      *head = head_of(c, b);
    int32_t       previous = NONE, next = *head;

    while (next != NONE && precedes(&c->block[next], b)) {
        previous = next;
        next = c->block[next].next;
    }
    b->is_free = true;
    b->previous = previous;
    b->next = next;
    if (next != NONE) c->block[next].previous = id;
    if (previous != NONE)
        c->block[previous].next = id;
    else
        *head = id;
}

static void take_from_bin(emp_caching *c, int32_t id)
{
    struct block *b = &c->block[id];

    b->is_free = false;
    if (b->next != NONE) c->block[b->next].previous = b->previous;
    if (b->previous != NONE)
        c->block[b->previous].next = b->next;
    else
        *head_of(c, b) = b->next;
}

static int32_t find_free(const emp_caching *c, int32_t device, int32_t pool,
                         int64_t bytes)
{
    for (int32_t bin = bin_of(bytes); bin < BINS; bin++) {
        int32_t id = c->memory[device].bin[pool][bin];
        while (id != NONE && c->block[id].bytes < bytes) id = c->block[id].next;
        if (id != NONE) return id;
    }
    return NONE;
}

/* ---- segments ---- */

static int32_t new_record(emp_caching *c)
{
    int32_t id = c->spare;

    if (id == NONE) return c->block_count++;
    c->spare = c->block[id].next;
    return id;
}

static void drop_record(emp_caching *c, int32_t id)
{
    c->block[id].next = c->spare;
    c->spare = id;
}

static int64_t segment_for(int64_t bytes)
{
    if (bytes <= SMALL_MOST) return SMALL_SEGMENT;
    if (bytes < LARGE_LEAST) return LARGE_SEGMENT;
    return (bytes + LARGE_STEP - 1) / LARGE_STEP * LARGE_STEP;
}

/* A segment as one block that is in no bin; NONE: the device has no room for it. */
static int32_t add_segment(emp_caching *c, int32_t device, int32_t pool, int64_t bytes)
{
    struct memory *m = &c->memory[device];

    if (bytes > m->bytes - m->reserved) return NONE;
    int32_t id = new_record(c);
    c->block[id] = (struct block){.address = c->next_address,
                                  .bytes = bytes,
                                  .before = NONE,
                                  .after = NONE,
                                  .device = device,
                                  .pool = pool};
    c->next_address += bytes;
    m->reserved += bytes;
    return id;
}

/* Gives all segments back that are one free block. */
static void release_segments(emp_caching *c, int32_t device)
{
    struct memory *m = &c->memory[device];

    for (int32_t i = 0; i < POOLS * BINS; i++) {
        for (int32_t id = m->bin[i / BINS][i % BINS], next; id != NONE; id = next) {
            const struct block *b = &c->block[id];
            next = b->next;
            if (b->before != NONE || b->after != NONE) continue;
            m->reserved -= b->bytes;
            take_from_bin(c, id);
            drop_record(c, id);
        }
    }
}

/* ---- requests ---- */

/* Cuts a block that is in no bin down to \a bytes; the rest becomes a free one. */
static void split(emp_caching *c, int32_t id, int64_t bytes)
{
    int32_t       rest = new_record(c);
    struct block *b = &c->block[id];

    c->block[rest] = (struct block){.address = b->address + bytes,
                                    .bytes = b->bytes - bytes,
                                    .before = id,
                                    .after = b->after,
                                    .device = b->device,
                                    .pool = b->pool};
    if (b->after != NONE) c->block[b->after].before = rest;
    b->after = rest;
    b->bytes = bytes;
    put_in_bin(c, rest);
}

int32_t emp_caching_allocate(emp_caching *caching, int32_t device, int64_t bytes)
{
    bytes = (bytes + GRANULE - 1) / GRANULE * GRANULE;
    int32_t pool = bytes <= SMALL_MOST ? SMALL : LARGE;
    int64_t least_rest = pool == SMALL ? GRANULE : SMALL_MOST + 1;
    int32_t id = find_free(caching, device, pool, bytes);

    if (id != NONE) {
        take_from_bin(caching, id);
    } else {
        int64_t segment = segment_for(bytes);
        id = add_segment(caching, device, pool, segment);
        if (id == NONE) {
            release_segments(caching, device);
            id = add_segment(caching, device, pool, segment);
        }
    }
    if (id == NONE) return NONE;
    if (caching->block[id].bytes - bytes >= least_rest) split(caching, id, bytes);
    return id;
}

/* Makes a block and the one behind it one. */
static void join(emp_caching *c, int32_t id)
{
    struct block *b = &c->block[id];
    int32_t       gone = b->after;

    b->bytes += c->block[gone].bytes;
    b->after = c->block[gone].after;
    if (b->after != NONE) c->block[b->after].before = id;
    drop_record(c, gone);
}

void emp_caching_free(emp_caching *caching, int32_t block)
{
    int32_t before = caching->block[block].before, after = caching->block[block].after;

    if (after != NONE && caching->block[after].is_free) {
        take_from_bin(caching, after);
        join(caching, block);
    }
    if (before != NONE && caching->block[before].is_free) {
        take_from_bin(caching, before);
        join(caching, before);
        block = before;
    }
    put_in_bin(caching, block);
}

// SPDX-License-Identifier: GPL-3.0-or-later
#include "sim/engine/allocator.h"

#include <stdbool.h>

#include "base/mem.h"

/* ---- blocks, which both allocators cut and join ---- */

enum { BINS = 32, NONE = -1 };

struct block {
    int64_t offset, bytes;
    int32_t before, after; /* neighbours in memory */
    int32_t previous,
        next; /* in the list of its bin; next also in that of spare records */
    int32_t pool;
    bool    is_free;
};

typedef struct {
    struct block *block;
    int32_t (*bin)[BINS]; /* [pool]: free blocks by rising size, then offset */
    int32_t pool_count;
    int32_t block_count; /* records that have been used since the reset */
    int32_t spare;       /* records that are no block any more */
    int     least_bits;  /* bin b has blocks of 2^(b + least_bits) bytes up to twice that;
                            the last is open */
} block_heap;

static void reset(block_heap *h)
{
    h->block_count = 0;
    h->spare = NONE;
    for (int32_t p = 0; p < h->pool_count; p++)
        for (int32_t b = 0; b < BINS; b++) h->bin[p][b] = NONE;
}

static emp_status init(block_heap *h, int32_t pool_count, int least_bits, size_t blocks,
                       emp_error *err)
{
    h->pool_count = pool_count;
    h->least_bits = least_bits;
    h->bin = emp_calloc((size_t)pool_count, sizeof *h->bin);
    h->block = EMP_NEW_ARRAY(struct block, blocks);
    if (!h->bin || !h->block)
        return EMP_ERROR(EMP_ENOMEM, "allocator of %zu blocks", blocks);
    reset(h);
    return EMP_OK;
}

static void clear(block_heap *h)
{
    emp_free(h->bin);
    emp_free(h->block);
}

static int32_t bin_of(const block_heap *h, int64_t bytes)
{
    int32_t bin = 63 - __builtin_clzll((uint64_t)bytes >> h->least_bits);

    return bin < BINS ? bin : BINS - 1;
}

static bool precedes(const struct block *a, const struct block *b)
{
    return a->bytes != b->bytes ? a->bytes < b->bytes : a->offset < b->offset;
}

static void put_in_bin(block_heap *h, int32_t id)
{
    struct block *b = &h->block[id];
    int32_t      *head = &h->bin[b->pool][bin_of(h, b->bytes)];
    int32_t       previous = NONE, next = *head;

    while (next != NONE && precedes(&h->block[next], b)) {
        previous = next;
        next = h->block[next].next;
    }
    b->is_free = true;
    b->previous = previous;
    b->next = next;
    if (next != NONE) h->block[next].previous = id;
    if (previous != NONE)
        h->block[previous].next = id;
    else
        *head = id;
}

static void take_from_bin(block_heap *h, int32_t id)
{
    struct block *b = &h->block[id];

    b->is_free = false;
    if (b->next != NONE) h->block[b->next].previous = b->previous;
    if (b->previous != NONE)
        h->block[b->previous].next = b->next;
    else
        h->bin[b->pool][bin_of(h, b->bytes)] = b->next;
}

/* Takes the smallest free block that is large enough from its bin; NONE: there is none. */
static int32_t take_free(block_heap *h, int32_t pool, int64_t bytes)
{
    for (int32_t bin = bin_of(h, bytes); bin < BINS; bin++) {
        int32_t id = h->bin[pool][bin];
        while (id != NONE && h->block[id].bytes < bytes) id = h->block[id].next;
        if (id == NONE) continue;
        take_from_bin(h, id);
        return id;
    }
    return NONE;
}

/* Adds a block without neighbours, which is in no bin. */
static int32_t add_block(block_heap *h, struct block block)
{
    int32_t id = h->spare;

    if (id == NONE)
        id = h->block_count++;
    else
        h->spare = h->block[id].next;
    h->block[id] = block;
    return id;
}

static void drop_record(block_heap *h, int32_t id)
{
    h->block[id].next = h->spare;
    h->spare = id;
}

/* Cuts a block that is in no bin down to \a bytes; the rest becomes a free one. */
static void split(block_heap *h, int32_t id, int64_t bytes)
{
    struct block *b = &h->block[id];
    int32_t       rest = add_block(h, (struct block){.offset = b->offset + bytes,
                                                     .bytes = b->bytes - bytes,
                                                     .before = id,
                                                     .after = b->after,
                                                     .pool = b->pool});

    if (b->after != NONE) h->block[b->after].before = rest;
    b->after = rest;
    b->bytes = bytes;
    put_in_bin(h, rest);
}

/* Makes a block and the one behind it one. */
static void join(block_heap *h, int32_t id)
{
    struct block *b = &h->block[id];
    int32_t       gone = b->after;

    b->bytes += h->block[gone].bytes;
    b->after = h->block[gone].after;
    if (b->after != NONE) h->block[b->after].before = id;
    drop_record(h, gone);
}

static void give_back(block_heap *h, int32_t id)
{
    int32_t before = h->block[id].before, after = h->block[id].after;

    if (after != NONE && h->block[after].is_free) {
        take_from_bin(h, after);
        join(h, id);
    }
    if (before != NONE && h->block[before].is_free) {
        take_from_bin(h, before);
        join(h, before);
        id = before;
    }
    put_in_bin(h, id);
}

/* ---- TensorFlow's; a pool is a region ---- */

enum { BFC_LEAST_BITS = 8 };

struct emp_bfc {
    block_heap heap;
};

emp_status emp_bfc_create(emp_bfc **out, int32_t region_count, int64_t live_limit,
                          emp_error *err)
{
    emp_status st = EMP_OK;
    emp_bfc   *bfc = EMP_NEW(emp_bfc);
    /* between two chunks in use lies at most one free one; a split needs one more */
    size_t chunks = 2 * (size_t)live_limit + 2 * (size_t)region_count;

    *out = NULL;
    if (bfc == NULL) EMP_FAIL(EMP_ENOMEM, "allocator");
    EMP_TRY(init(&bfc->heap, region_count, BFC_LEAST_BITS, chunks, err));
    *out = bfc;
    bfc = NULL;

cleanup:
    emp_bfc_destroy(bfc);
    return st;
}

void emp_bfc_destroy(emp_bfc *bfc)
{
    if (bfc == NULL) return;
    clear(&bfc->heap);
    emp_free(bfc);
}

void emp_bfc_reset(emp_bfc *bfc) { reset(&bfc->heap); }

void emp_bfc_add_region(emp_bfc *bfc, int32_t region, int64_t bytes)
{
    bytes = bytes >> BFC_LEAST_BITS << BFC_LEAST_BITS;
    int32_t id = add_block(
        &bfc->heap,
        (struct block){.bytes = bytes, .before = NONE, .after = NONE, .pool = region});

    if (bytes > 0) put_in_bin(&bfc->heap, id);
}

int32_t emp_bfc_allocate(emp_bfc *bfc, int32_t region, int64_t bytes)
{
    int32_t id = take_free(&bfc->heap, region, bytes);

    if (id != NONE && bfc->heap.block[id].bytes >= 2 * bytes)
        split(&bfc->heap, id, bytes);
    return id;
}

void emp_bfc_free(emp_bfc *bfc, int32_t chunk) { give_back(&bfc->heap, chunk); }

int64_t emp_bfc_end(const emp_bfc *bfc, int32_t chunk)
{
    return bfc->heap.block[chunk].offset + bfc->heap.block[chunk].bytes;
}

/* ---- PyTorch's; a device has two pools ---- */

enum { CACHING_LEAST_BITS = 9, GRANULE = 1 << CACHING_LEAST_BITS, MIB = 1 << 20 };
enum { SMALL, LARGE, POOLS };

/* Requests up to SMALL_MOST are small; those from LARGE_LEAST on have segments of their own. */
static const int64_t SMALL_MOST = MIB, SMALL_SEGMENT = 2 * MIB, LARGE_SEGMENT = 20 * MIB,
                     LARGE_LEAST = 10 * MIB, LARGE_STEP = 2 * MIB;

/* The memory of a device. */
struct memory {
    int64_t bytes, reserved;
};

struct emp_caching {
    block_heap     heap;
    struct memory *memory; /* [device] */
    int64_t        next_address;
    int32_t        device_count;
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
    EMP_TRY(EMP_ALLOC(c->memory, (size_t)device_count));
    EMP_TRY(init(&c->heap, POOLS * device_count, CACHING_LEAST_BITS, blocks, err));
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
    clear(&caching->heap);
    emp_free(caching->memory);
    emp_free(caching);
}

void emp_caching_reset(emp_caching *caching)
{
    reset(&caching->heap);
    caching->next_address = 0;
    for (int32_t d = 0; d < caching->device_count; d++)
        caching->memory[d] = (struct memory){0};
}

void emp_caching_set_memory(emp_caching *caching, int32_t device, int64_t bytes)
{
    caching->memory[device].bytes = bytes;
}

int64_t emp_caching_reserved(const emp_caching *caching, int32_t device)
{
    return caching->memory[device].reserved;
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
    int32_t id = add_block(&c->heap, (struct block){.offset = c->next_address,
                                                    .bytes = bytes,
                                                    .before = NONE,
                                                    .after = NONE,
                                                    .pool = device * POOLS + pool});
    c->next_address += bytes;
    m->reserved += bytes;
    return id;
}

/* Gives all segments back that are one free block. */
static void release_segments(emp_caching *c, int32_t device)
{
    block_heap *h = &c->heap;

    for (int32_t i = 0; i < POOLS * BINS; i++) {
        for (int32_t id = h->bin[device * POOLS + i / BINS][i % BINS], next; id != NONE;
             id = next) {
            const struct block *b = &h->block[id];
            next = b->next;
            if (b->before != NONE || b->after != NONE) continue;
            c->memory[device].reserved -= b->bytes;
            take_from_bin(h, id);
            drop_record(h, id);
        }
    }
}

int32_t emp_caching_allocate(emp_caching *caching, int32_t device, int64_t bytes)
{
    bytes = (bytes + GRANULE - 1) / GRANULE * GRANULE;
    int32_t pool = bytes <= SMALL_MOST ? SMALL : LARGE;
    int64_t least_rest = pool == SMALL ? GRANULE : SMALL_MOST + 1;
    int32_t id = take_free(&caching->heap, device * POOLS + pool, bytes);

    if (id == NONE) {
        int64_t segment = segment_for(bytes);
        id = add_segment(caching, device, pool, segment);
        if (id == NONE) {
            release_segments(caching, device);
            id = add_segment(caching, device, pool, segment);
        }
    }
    if (id == NONE) return NONE;
    if (caching->heap.block[id].bytes - bytes >= least_rest)
        split(&caching->heap, id, bytes);
    return id;
}

void emp_caching_free(emp_caching *caching, int32_t block)
{
    give_back(&caching->heap, block);
}

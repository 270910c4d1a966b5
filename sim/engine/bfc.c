// SPDX-License-Identifier: GPL-3.0-or-later
#include "sim/engine/bfc.h"

#include "base/mem.h"

enum { BINS = 21, GRANULE = 256, NONE = -1 };

struct chunk {
    int64_t offset, bytes;
    int32_t before, after; /* neighbours in the region */
    int32_t previous,
        next; /* in the list of its bin; next also in that of spare records */
    int32_t region;
    bool    is_free;
};

struct emp_bfc {
    struct chunk *chunk;
    int32_t       chunk_count; /* records that have been used since the reset */
    int32_t       spare;       /* records that are no chunk any more */
    int32_t (*bin)[BINS];      /* [region]: free chunks by rising size, then offset */
    int32_t region_count;
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
    bfc->region_count = region_count;
    bfc->bin = emp_calloc((size_t)region_count, sizeof *bfc->bin);
    bfc->chunk = EMP_NEW_ARRAY(struct chunk, chunks);
    if (!bfc->bin || !bfc->chunk) EMP_FAIL(EMP_ENOMEM, "allocator of %zu chunks", chunks);
    emp_bfc_reset(bfc);
    *out = bfc;
    bfc = NULL;

cleanup:
    emp_bfc_destroy(bfc);
    return st;
}

void emp_bfc_destroy(emp_bfc *bfc)
{
    if (bfc == NULL) return;
    emp_free(bfc->bin);
    emp_free(bfc->chunk);
    emp_free(bfc);
}

/* Bin b has chunks of 256 2^b bytes up to twice that; the last is open. */
static int32_t bin_of(int64_t bytes)
{
    int32_t bin = 63 - __builtin_clzll((uint64_t)(bytes / GRANULE));

    return bin < BINS ? bin : BINS - 1;
}

static bool precedes(const struct chunk *a, const struct chunk *b)
{
    return a->bytes != b->bytes ? a->bytes < b->bytes : a->offset < b->offset;
}

static void put_in_bin(emp_bfc *bfc, int32_t id)
{
    struct chunk *c = &bfc->chunk[id];
    int32_t      *head = &bfc->bin[c->region][bin_of(c->bytes)];
    int32_t       previous = NONE, next = *head;

    while (next != NONE && precedes(&bfc->chunk[next], c)) {
        previous = next;
        next = bfc->chunk[next].next;
    }
    c->is_free = true;
    c->previous = previous;
    c->next = next;
    if (next != NONE) bfc->chunk[next].previous = id;
    if (previous != NONE) {
        bfc->chunk[previous].next = id;
    } else {
        *head = id;
    }
}

static void take_from_bin(emp_bfc *bfc, int32_t id)
{
    struct chunk *c = &bfc->chunk[id];

    c->is_free = false;
    if (c->next != NONE) bfc->chunk[c->next].previous = c->previous;
    if (c->previous != NONE) {
        bfc->chunk[c->previous].next = c->next;
    } else {
        bfc->bin[c->region][bin_of(c->bytes)] = c->next;
    }
}

static int32_t new_record(emp_bfc *bfc)
{
    int32_t id = bfc->spare;

    if (id == NONE) return bfc->chunk_count++;
    bfc->spare = bfc->chunk[id].next;
    return id;
}

void emp_bfc_reset(emp_bfc *bfc)
{
    bfc->chunk_count = 0;
    bfc->spare = NONE;
    for (int32_t r = 0; r < bfc->region_count; r++) {
        for (int32_t b = 0; b < BINS; b++) bfc->bin[r][b] = NONE;
    }
}

void emp_bfc_add_region(emp_bfc *bfc, int32_t region, int64_t bytes)
{
    int32_t id = new_record(bfc);

    bytes -= bytes % GRANULE;
    bfc->chunk[id] =
        (struct chunk){.bytes = bytes, .before = NONE, .after = NONE, .region = region};
    if (bytes > 0) put_in_bin(bfc, id);
}

/* Cuts a chunk that is in no bin down to \a bytes; the rest becomes a free one. */
static void split(emp_bfc *bfc, int32_t id, int64_t bytes)
{
    int32_t       rest = new_record(bfc);
    struct chunk *c = &bfc->chunk[id];

    bfc->chunk[rest] = (struct chunk){.offset = c->offset + bytes,
                                      .bytes = c->bytes - bytes,
                                      .before = id,
                                      .after = c->after,
                                      .region = c->region};
    if (c->after != NONE) bfc->chunk[c->after].before = rest;
    c->after = rest;
    c->bytes = bytes;
    put_in_bin(bfc, rest);
}

int32_t emp_bfc_allocate(emp_bfc *bfc, int32_t region, int64_t bytes)
{
    for (int32_t b = bin_of(bytes); b < BINS; b++) {
        int32_t id = bfc->bin[region][b];
        while (id != NONE && bfc->chunk[id].bytes < bytes) id = bfc->chunk[id].next;
        if (id == NONE) continue;
        take_from_bin(bfc, id);
        if (bfc->chunk[id].bytes >= 2 * bytes) split(bfc, id, bytes);
        return id;
    }
    return NONE;
}

/* Makes a chunk and the one behind it one. */
static void join(emp_bfc *bfc, int32_t id)
{
    struct chunk *c = &bfc->chunk[id];
    int32_t       gone = c->after;

    c->bytes += bfc->chunk[gone].bytes;
    c->after = bfc->chunk[gone].after;
    if (c->after != NONE) bfc->chunk[c->after].before = id;
    bfc->chunk[gone].next = bfc->spare;
    bfc->spare = gone;
}

void emp_bfc_free(emp_bfc *bfc, int32_t chunk)
{
    int32_t before = bfc->chunk[chunk].before, after = bfc->chunk[chunk].after;

    if (after != NONE && bfc->chunk[after].is_free) {
        take_from_bin(bfc, after);
        join(bfc, chunk);
    }
    if (before != NONE && bfc->chunk[before].is_free) {
        take_from_bin(bfc, before);
        join(bfc, before);
        chunk = before;
    }
    put_in_bin(bfc, chunk);
}

int64_t emp_bfc_end(const emp_bfc *bfc, int32_t chunk)
{
    return bfc->chunk[chunk].offset + bfc->chunk[chunk].bytes;
}

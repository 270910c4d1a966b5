// SPDX-License-Identifier: GPL-3.0-or-later
/* Do the allocators of TensorFlow and PyTorch hand out blocks as their rules say? By hand, and against a
 * list of all blocks that is searched from end to end. */
#include "base/rng.h"
#include "sim/engine/allocator.h"
#include "tests/support/survive.h"

enum { KIB = 1024, MIB = 1024 * KIB, LIVE = 60, STEPS = 3000, REGION = 64 * KIB };

TestSuite(caching, .fini = expect_all_freed);
TestSuite(bfc, .fini = expect_all_freed);

static emp_caching *create(int64_t memory, int64_t requests)
{
    emp_caching *c = NULL;

    cr_assert_eq(emp_caching_create(&c, 1, requests, NULL), EMP_OK);
    emp_caching_set_memory(c, 0, memory);
    return c;
}

static int64_t reserved_after(emp_caching *c, int64_t bytes)
{
    cr_assert_geq(emp_caching_allocate(c, 0, bytes), 0);
    return emp_caching_reserved(c, 0);
}

/* 1 MiB is the last small request, 10 MiB the first with a segment of its own. */
Test(caching, segments_have_three_sizes)
{
    static const struct {
        int64_t request, segment;
    } cases[] = {{1, 2 * MIB},         {MIB, 2 * MIB},
                 {MIB + 1, 20 * MIB},  {10 * MIB - 512, 20 * MIB},
                 {10 * MIB, 10 * MIB}, {10 * MIB + 1, 12 * MIB},
                 {21 * MIB, 22 * MIB}};

    for (size_t i = 0; i < COUNT(cases); i++) {
        emp_caching *c = create(INT64_C(1) << 40, 1);
        cr_expect_eq(reserved_after(c, cases[i].request), cases[i].segment, "%" PRId64,
                     cases[i].request);
        emp_caching_destroy(c);
    }
}

/* ---- against a plain one ---- */

struct piece {
    int64_t address, bytes;
    int     segment;
    bool    is_small, is_used;
};

struct plain {
    struct piece piece[4 * LIVE];
    int          count, segments;
    int64_t      memory, reserved, next_address;
};

static void insert(struct plain *p, int at, struct piece piece)
{
    for (int i = p->count++; i > at; i--) p->piece[i] = p->piece[i - 1];
    p->piece[at] = piece;
    cr_assert_lt(p->count, 4 * LIVE);
}

static void erase(struct plain *p, int at)
{
    p->count--;
    for (int i = at; i < p->count; i++) p->piece[i] = p->piece[i + 1];
}

static bool is_whole(const struct plain *p, int i)
{
    return (i == 0 || p->piece[i - 1].segment != p->piece[i].segment) &&
           (i + 1 == p->count || p->piece[i + 1].segment != p->piece[i].segment);
}

static int add_piece(struct plain *p, int64_t bytes)
{
    int64_t size = bytes <= MIB       ? 2 * MIB
                   : bytes < 10 * MIB ? 20 * MIB
                                      : (bytes + 2 * MIB - 1) / (2 * MIB) * (2 * MIB);

    for (int i = p->count - 1; p->reserved + size > p->memory && i >= 0; i--) {
        if (p->piece[i].is_used || !is_whole(p, i)) continue;
        p->piece[i].bytes = -p->piece[i].bytes; /* goes if any goes */
    }
    for (int i = p->count - 1; i >= 0; i--) {
        if (p->piece[i].bytes > 0) continue;
        p->reserved += p->piece[i].bytes;
        erase(p, i);
    }
    if (p->reserved + size > p->memory) return -1;
    insert(p, p->count,
           (struct piece){p->next_address, size, p->segments++, bytes <= MIB, false});
    p->next_address += size;
    p->reserved += size;
    return p->count - 1;
}

/* Takes the first bytes of a piece that is free; the rest becomes a piece behind it. */
static void split(struct plain *p, int at, int64_t bytes)
{
    struct piece behind = p->piece[at];

    behind.address += bytes;
    behind.bytes -= bytes;
    p->piece[at].bytes = bytes;
    insert(p, at + 1, behind);
}

/* \return the address, or -1. */
static int64_t plain_allocate(struct plain *p, int64_t bytes)
{
    int best = -1;

    bytes = (bytes + 511) / 512 * 512;
    for (int i = 0; i < p->count; i++) {
        const struct piece *b = &p->piece[i];
        if (b->is_used || b->is_small != (bytes <= MIB) || b->bytes < bytes) continue;
        if (best < 0 || b->bytes < p->piece[best].bytes) best = i;
    }
    if (best < 0) best = add_piece(p, bytes);
    if (best < 0) return -1;
    int64_t rest = p->piece[best].bytes - bytes;
    if (p->piece[best].is_small ? rest >= 512 : rest > MIB) split(p, best, bytes);
    p->piece[best].is_used = true;
    return p->piece[best].address;
}

static void join_behind(struct plain *p, int i)
{
    if (i < 0 || i + 1 >= p->count || p->piece[i].is_used || p->piece[i + 1].is_used ||
        p->piece[i].segment != p->piece[i + 1].segment)
        return;
    p->piece[i].bytes += p->piece[i + 1].bytes;
    erase(p, i + 1);
}

static void plain_free(struct plain *p, int at)
{
    cr_assert(at < p->count && p->piece[at].is_used);
    p->piece[at].is_used = false;
    join_behind(p, at);
    join_behind(p, at - 1);
}

static int find_address(const struct plain *p, int64_t address)
{
    int at = 0;

    while (p->piece[at].address != address) at++;
    return at;
}

static int find_end(const struct plain *p, int64_t end)
{
    int at = 0;

    while (p->piece[at].address + p->piece[at].bytes != end) at++;
    return at;
}

static int64_t draw_bytes(emp_rng *rng)
{
    static const uint32_t most[] = {4 * KIB, MIB, 4 * MIB, 30 * MIB};

    return 1 + emp_rng_below(rng, most[emp_rng_below(rng, 4)]);
}

Test(caching, equals_a_plain_one)
{
    int refused = 0;

    for (uint64_t seed = 0; seed < 20; seed++) {
        static struct plain p;
        emp_rng             rng;
        int32_t             block[LIVE];
        int64_t             address[LIVE];
        int                 live = 0;
        emp_caching        *c = create(200 * MIB, STEPS);
        p = (struct plain){.memory = 200 * MIB};
        emp_rng_init(&rng, seed, 0, 0);
        for (int step = 0; step < STEPS; step++) {
            if (live < LIVE && (live == 0 || emp_rng_below(&rng, 2) == 0)) {
                int64_t bytes = draw_bytes(&rng);
                block[live] = emp_caching_allocate(c, 0, bytes);
                address[live] = plain_allocate(&p, bytes);
                cr_assert_eq(block[live] < 0, address[live] < 0, "seed %" PRIu64, seed);
                if (block[live] >= 0)
                    live++;
                else
                    refused++;
            } else {
                int which = (int)emp_rng_below(&rng, (uint32_t)live--);
                emp_caching_free(c, block[which]);
                plain_free(&p, find_address(&p, address[which]));
                block[which] = block[live];
                address[which] = address[live];
            }
            cr_assert_eq(emp_caching_reserved(c, 0), p.reserved,
                         "seed %" PRIu64 ", step %d", seed, step);
        }
        emp_caching_destroy(c);
    }
    cr_expect_gt(refused, 0, "memory was short");
}

static int bin_of(int64_t bytes)
{
    int bin = 0;

    while (bin < 20 && bytes >= INT64_C(512) << bin) bin++;
    return bin;
}

/* \return the end of the chunk, or -1. */
static int64_t plain_bfc_allocate(struct plain *p, int64_t bytes)
{
    int best = -1;

    for (int i = 0; i < p->count; i++) {
        if (p->piece[i].is_used || p->piece[i].bytes < bytes) continue;
        if (bin_of(p->piece[i].bytes) < bin_of(bytes)) continue;
        if (best < 0 || p->piece[i].bytes < p->piece[best].bytes) best = i;
    }
    if (best < 0) return -1;
    if (p->piece[best].bytes >= 2 * bytes) split(p, best, bytes);
    p->piece[best].is_used = true;
    return p->piece[best].address + p->piece[best].bytes;
}

Test(bfc, equals_a_search_of_all_chunks)
{
    emp_bfc     *bfc = NULL;
    struct plain plain = {.count = 1, .piece = {{.bytes = REGION}}};
    int32_t      live[LIVE];
    int          live_count = 0, refused = 0;
    emp_rng      rng;

    emp_rng_init(&rng, 1, 0, 0);
    cr_assert_eq(emp_bfc_create(&bfc, 2, LIVE, NULL), EMP_OK);
    emp_bfc_add_region(bfc, 0, 1024);
    emp_bfc_add_region(bfc, 1, REGION + 100); /* the odd bytes are of no use */
    for (int step = 0; step < 4000; step++) {
        bool grows = emp_rng_below(&rng, 100) < (step / 500 % 2 == 0 ? 70u : 35u);
        if (live_count > 0 && (!grows || live_count == LIVE)) {
            int k = (int)emp_rng_below(&rng, (uint32_t)live_count);
            plain_free(&plain, find_end(&plain, emp_bfc_end(bfc, live[k])));
            emp_bfc_free(bfc, live[k]);
            live[k] = live[--live_count];
            continue;
        }
        int64_t bytes =
            256 * (1 + (int64_t)emp_rng_below(&rng, 1u << emp_rng_below(&rng, 6)));
        int64_t want = plain_bfc_allocate(&plain, bytes);
        int32_t chunk = emp_bfc_allocate(bfc, 1, bytes);
        refused += want < 0;
        cr_assert_eq(chunk < 0 ? -1 : emp_bfc_end(bfc, chunk), want, "step %d", step);
        if (chunk >= 0) live[live_count++] = chunk;
    }
    cr_expect_gt(refused, 20);
    while (live_count > 0) emp_bfc_free(bfc, live[--live_count]);
    cr_expect_eq(emp_bfc_end(bfc, emp_bfc_allocate(bfc, 1, REGION)), REGION);
    emp_bfc_destroy(bfc);
}

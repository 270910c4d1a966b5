// SPDX-License-Identifier: GPL-3.0-or-later
/* Does the allocator hand out chunks as its rules say? Against a list of all chunks that
 * is searched from end to end. */
#include <criterion/criterion.h>
#include <inttypes.h>

#include "base/mem.h"
#include "base/rng.h"
#include "sim/engine/allocator.h"

enum { REGION = 64 * 1024, LIVE = 60, STEPS = 4000 };

/* The plain one: chunks in the order of their offsets. */
struct plain {
    int     count;
    int64_t offset[4 * LIVE], bytes[4 * LIVE];
    bool    is_used[4 * LIVE];
};

static int bin_of(int64_t bytes)
{
    int bin = 0;

    while (bin < 20 && bytes >= INT64_C(512) << bin) bin++;
    return bin;
}

static void plain_insert(struct plain *p, int at, int64_t offset, int64_t bytes)
{
    for (int i = p->count; i > at; i--) {
        p->offset[i] = p->offset[i - 1];
        p->bytes[i] = p->bytes[i - 1];
        p->is_used[i] = p->is_used[i - 1];
    }
    p->offset[at] = offset;
    p->bytes[at] = bytes;
    p->is_used[at] = false;
    p->count++;
}

static void plain_remove(struct plain *p, int at)
{
    p->count--;
    for (int i = at; i < p->count; i++) {
        p->offset[i] = p->offset[i + 1];
        p->bytes[i] = p->bytes[i + 1];
        p->is_used[i] = p->is_used[i + 1];
    }
}

/* \return the end of the chunk, or -1. */
static int64_t plain_allocate(struct plain *p, int64_t bytes)
{
    int best = -1;

    for (int i = 0; i < p->count; i++) {
        if (p->is_used[i] || p->bytes[i] < bytes) continue;
        if (bin_of(p->bytes[i]) < bin_of(bytes)) continue;
        if (best < 0 || p->bytes[i] < p->bytes[best]) best = i;
    }
    if (best < 0) return -1;
    p->is_used[best] = true;
    if (p->bytes[best] >= 2 * bytes) {
        plain_insert(p, best + 1, p->offset[best] + bytes, p->bytes[best] - bytes);
        p->bytes[best] = bytes;
    }
    return p->offset[best] + p->bytes[best];
}

static void plain_free(struct plain *p, int64_t end)
{
    int i = 0;

    while (p->offset[i] + p->bytes[i] != end) i++;
    cr_assert(p->is_used[i]);
    p->is_used[i] = false;
    if (i + 1 < p->count && !p->is_used[i + 1]) {
        p->bytes[i] += p->bytes[i + 1];
        plain_remove(p, i + 1);
    }
    if (i > 0 && !p->is_used[i - 1]) {
        p->bytes[i - 1] += p->bytes[i];
        plain_remove(p, i);
    }
}

Test(bfc, equals_a_search_of_all_chunks)
{
    emp_bfc     *bfc = NULL;
    struct plain plain = {.count = 1, .bytes = {REGION}};
    int32_t      live[LIVE];
    int          live_count = 0, refused = 0;
    emp_rng      rng;

    emp_rng_init(&rng, 1, 0, 0);
    cr_assert_eq(emp_bfc_create(&bfc, 2, LIVE, NULL), EMP_OK);
    emp_bfc_add_region(bfc, 0, 1024);
    emp_bfc_add_region(bfc, 1, REGION + 100); /* the odd bytes are of no use */
    for (int step = 0; step < STEPS; step++) {
        bool grows = emp_rng_below(&rng, 100) < (step / 500 % 2 == 0 ? 70u : 35u);
        if (live_count > 0 && (!grows || live_count == LIVE)) {
            int k = (int)emp_rng_below(&rng, (uint32_t)live_count);
            plain_free(&plain, emp_bfc_end(bfc, live[k]));
            emp_bfc_free(bfc, live[k]);
            live[k] = live[--live_count];
            continue;
        }
        int64_t bytes =
            256 * (1 + (int64_t)emp_rng_below(&rng, 1u << emp_rng_below(&rng, 6)));
        int64_t want = plain_allocate(&plain, bytes);
        int32_t chunk = emp_bfc_allocate(bfc, 1, bytes);
        refused += want < 0;
        cr_assert_eq(chunk < 0 ? -1 : emp_bfc_end(bfc, chunk), want, "step %d", step);
        if (chunk >= 0) live[live_count++] = chunk;
    }
    cr_expect_gt(refused, 20);
    while (live_count > 0) emp_bfc_free(bfc, live[--live_count]);
    cr_expect_eq(emp_bfc_end(bfc, emp_bfc_allocate(bfc, 1, REGION)), REGION);
    emp_bfc_destroy(bfc);
    cr_expect_eq(emp_mem_live_blocks(), 0);
}

/* A request is never given half of a chunk that is less than twice as large. */
Test(bfc, splits_only_what_is_twice_as_large)
{
    emp_bfc *bfc = NULL;

    cr_assert_eq(emp_bfc_create(&bfc, 1, 4, NULL), EMP_OK);
    emp_bfc_add_region(bfc, 0, 256 * 7);
    cr_expect_eq(emp_bfc_end(bfc, emp_bfc_allocate(bfc, 0, 256 * 4)), 256 * 7);
    cr_expect_eq(emp_bfc_allocate(bfc, 0, 256), -1);
    emp_bfc_destroy(bfc);
}

// SPDX-License-Identifier: GPL-3.0-or-later
#include "replay/pool.h"

#include "base/mem.h"

enum { CLASSES = 48, NONE = -1 };

struct part {
    int64_t offset, bytes;
    int32_t before, after;  /* neighbours in the region */
    int32_t previous, next; /* in the list of free ones of a class */
    bool    is_free;
};

struct emp_pool {
    struct part *part;
    int32_t      unused; /* list of parts that are no part of the region, by next */
    int32_t      first_free[CLASSES];
    int64_t      used, peak, reach;
};

static int32_t class_of(int64_t bytes)
{
    int32_t c = 0;

    for (bytes /= EMP_REPLAY_ALIGNMENT; bytes > 1 && c < CLASSES - 1; bytes /= 2) c++;
    return c;
}

static void push_free(emp_pool *pool, int32_t id)
{
    struct part *p = &pool->part[id];
    int32_t     *first = &pool->first_free[class_of(p->bytes)];

    p->is_free = true;
    p->previous = NONE;
    p->next = *first;
    if (*first != NONE) pool->part[*first].previous = id;
    *first = id;
}

static void pull_free(emp_pool *pool, int32_t id)
{
    struct part *p = &pool->part[id];

    if (p->previous != NONE)
        pool->part[p->previous].next = p->next;
    else
        pool->first_free[class_of(p->bytes)] = p->next;
    if (p->next != NONE) pool->part[p->next].previous = p->previous;
    p->is_free = false;
}

emp_status emp_pool_create(emp_pool **out, int64_t bytes, int32_t parts, emp_error *err)
{
    emp_status st = EMP_OK;
    emp_pool  *pool = EMP_NEW(emp_pool);
    int32_t    count = 2 * parts + 2; /* a free one between any two */

    *out = NULL;
    if (pool == NULL) EMP_FAIL(EMP_ENOMEM, "pool");
    EMP_TRY(EMP_ALLOC(pool->part, (size_t)count));
    for (int32_t c = 0; c < CLASSES; c++) pool->first_free[c] = NONE;
    for (int32_t i = 1; i < count; i++) pool->part[i].next = i + 1 < count ? i + 1 : NONE;
    pool->unused = 1;
    pool->part[0] =
        (struct part){.bytes = bytes / EMP_REPLAY_ALIGNMENT * EMP_REPLAY_ALIGNMENT,
                      .before = NONE,
                      .after = NONE};
    push_free(pool, 0);
    *out = pool;
    pool = NULL;

cleanup:
    emp_pool_destroy(pool);
    return st;
}

void emp_pool_destroy(emp_pool *pool)
{
    if (pool == NULL) return;
    emp_free(pool->part);
    emp_free(pool);
}

/* The smallest free part of a class that is large enough; of the lower offset first, so
 * that the region is filled from its beginning. */
static int32_t best_of(const emp_pool *pool, int32_t c, int64_t bytes)
{
    int32_t best = NONE;

    for (int32_t i = pool->first_free[c]; i != NONE; i = pool->part[i].next) {
        const struct part *p = &pool->part[i];
        if (p->bytes < bytes) continue;
        if (best == NONE || p->bytes < pool->part[best].bytes ||
            (p->bytes == pool->part[best].bytes && p->offset < pool->part[best].offset))
            best = i;
    }
    return best;
}

static void split(emp_pool *pool, int32_t id, int64_t bytes)
{
    struct part *p = &pool->part[id];
    int32_t      rest = pool->unused;

    if (p->bytes == bytes || rest == NONE) return;
    pool->unused = pool->part[rest].next;
    pool->part[rest] = (struct part){.offset = p->offset + bytes,
                                     .bytes = p->bytes - bytes,
                                     .before = id,
                                     .after = p->after};
    if (p->after != NONE) pool->part[p->after].before = rest;
    p->after = rest;
    p->bytes = bytes;
    push_free(pool, rest);
}

int32_t emp_pool_allocate(emp_pool *pool, int64_t bytes)
{
    int32_t id = NONE;

    bytes = emp_replay_round_up(bytes > 0 ? bytes : 1);
    for (int32_t c = class_of(bytes); c < CLASSES && id == NONE; c++)
        id = best_of(pool, c, bytes);
    if (id == NONE) return NONE;
    pull_free(pool, id);
    split(pool, id, bytes);
    pool->used += pool->part[id].bytes;
    if (pool->used > pool->peak) pool->peak = pool->used;
    if (pool->part[id].offset + pool->part[id].bytes > pool->reach)
        pool->reach = pool->part[id].offset + pool->part[id].bytes;
    return id;
}

/* The part after \a id becomes the end of it. */
static void join(emp_pool *pool, int32_t id)
{
    struct part *p = &pool->part[id];
    int32_t      gone = p->after;
    struct part *g = &pool->part[gone];

    p->bytes += g->bytes;
    p->after = g->after;
    if (g->after != NONE) pool->part[g->after].before = id;
    g->next = pool->unused;
    pool->unused = gone;
}

void emp_pool_free(emp_pool *pool, int32_t id)
{
    struct part *p = &pool->part[id];

    pool->used -= p->bytes;
    if (p->after != NONE && pool->part[p->after].is_free) {
        pull_free(pool, p->after);
        join(pool, id);
    }
    if (p->before != NONE && pool->part[p->before].is_free) {
        id = p->before;
        pull_free(pool, id);
        join(pool, id);
    }
    push_free(pool, id);
}

int64_t emp_pool_offset(const emp_pool *pool, int32_t id)
{
    return pool->part[id].offset;
}
int64_t emp_pool_bytes(const emp_pool *pool, int32_t id) { return pool->part[id].bytes; }
int64_t emp_pool_used(const emp_pool *pool) { return pool->used; }
int64_t emp_pool_peak(const emp_pool *pool) { return pool->peak; }
int64_t emp_pool_reach(const emp_pool *pool) { return pool->reach; }

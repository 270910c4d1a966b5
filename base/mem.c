// SPDX-License-Identifier: GPL-3.0-or-later
#define _DEFAULT_SOURCE /* madvise() */
#include "base/mem.h"

#include <malloc.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { ALIGNMENT = 64, ALIGN_FROM_BYTES = 4096 };

static atomic_long     live_blocks;
static _Atomic int64_t live_bytes, most_bytes = -1; /* -1: no limit */
static atomic_bool     is_limit_hit;
static atomic_long     allowed = -1; /* -1: no limit */

static int may_allocate(void)
{
    long left = atomic_load(&allowed);

    while (left >= 0) {
        if (left == 0) return 0;
        if (atomic_compare_exchange_weak(&allowed, &left, left - 1)) return 1;
    }
    return 1;
}

/* Whether so many bytes more are within the limit. */
static bool has_room(size_t bytes)
{
    const int64_t most = atomic_load(&most_bytes);

    if (most < 0 || (int64_t)bytes <= most - atomic_load(&live_bytes)) return true;
    atomic_store(&is_limit_hit, true);
    return false;
}

static void count_bytes(void *block)
{
    atomic_fetch_add(&live_bytes, (int64_t)malloc_usable_size(block));
}

void *emp_calloc(size_t count, size_t size)
{
    void *block;

    if (!may_allocate() || (size != 0 && count > SIZE_MAX / 2 / size)) return NULL;
    size_t bytes = count * size;
    if (!has_room(bytes)) return NULL;
    if (bytes >= ALIGN_FROM_BYTES) {
        bytes = (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
        block = aligned_alloc(ALIGNMENT, bytes);
        if (block != NULL) memset(block, 0, bytes);
    } else {
        block = calloc(1, bytes == 0 ? 1 : bytes);
    }
    if (block == NULL) return NULL;
    atomic_fetch_add(&live_blocks, 1);
    count_bytes(block);
    return block;
}

emp_status emp_mem_allocate(void *pointer, size_t count, size_t size, const char *file,
                            int line, emp_error *err)
{
    void *block = emp_calloc(count, size);

    memcpy(pointer, &block, sizeof block);
    if (block != NULL) return EMP_OK;
    return emp_error_set(err, EMP_ENOMEM, file, line, "%zu items of %zu bytes", count,
                         size);
}

void *emp_realloc(void *block, size_t count, size_t size)
{
    if (!may_allocate() || (size != 0 && count > SIZE_MAX / 2 / size)) return NULL;
    size_t bytes = count * size;
    size_t before = block != NULL ? malloc_usable_size(block) : 0;
    if (bytes > before && !has_room(bytes - before)) return NULL;
    void *grown = realloc(block, bytes == 0 ? 1 : bytes);
    if (grown == NULL) return NULL;
    if (block == NULL) atomic_fetch_add(&live_blocks, 1);
    atomic_fetch_sub(&live_bytes, (int64_t)before);
    count_bytes(grown);
    return grown;
}

void *emp_calloc_for_random_access(size_t count, size_t size)
{
    const size_t bytes = count * size;
    void        *block = emp_realloc(NULL, count, size);

    if (block == NULL) return NULL;
#ifdef MADV_HUGEPAGE
    const uintptr_t page = 4096, large = (uintptr_t)1 << 23;
    const uintptr_t first = ((uintptr_t)block + page - 1) / page * page;
    if (bytes >= large)
        (void)madvise((void *)first, (bytes - page) / page * page, MADV_HUGEPAGE);
#endif
    return memset(block, 0, bytes);
}

emp_status emp_mem_grow(void *pointer, int64_t wanted, int32_t *capacity, size_t size,
                        const char *file, int line, emp_error *err)
{
    int64_t room = *capacity > 0 ? *capacity : 64;
    void   *block, *grown = NULL;

    if (wanted <= *capacity) return EMP_OK;
    while (room < wanted) room *= 2;
    memcpy(&block, pointer, sizeof block);
    if (room <= INT32_MAX) grown = emp_realloc(block, (size_t)room, size);
    if (grown == NULL)
        return emp_error_set(err, EMP_ENOMEM, file, line, "%lld items of %zu bytes",
                             (long long)room, size);
    memcpy(pointer, &grown, sizeof grown);
    *capacity = (int32_t)room;
    return EMP_OK;
}

char *emp_strdup(const char *text)
{
    size_t bytes = strlen(text) + 1;
    char  *copy = (char *)emp_calloc(bytes, 1);

    if (copy != NULL) memcpy(copy, text, bytes);
    return copy;
}

void emp_free(void *block)
{
    if (block == NULL) return;
    atomic_fetch_sub(&live_blocks, 1);
    atomic_fetch_sub(&live_bytes, (int64_t)malloc_usable_size(block));
    free(block);
}

long emp_mem_live_blocks(void) { return atomic_load(&live_blocks); }

int64_t emp_mem_live_bytes(void) { return atomic_load(&live_bytes); }

bool emp_mem_limit(int64_t bytes)
{
    atomic_store(&most_bytes, bytes);
    return atomic_exchange(&is_limit_hit, false);
}

void emp_mem_fail_after(long count) { atomic_store(&allowed, count); }

enum { HEAD_BYTES = 64 }; /* keeps the alignment of large blocks */

void *emp_arrays_add(emp_arrays *arrays, size_t count, size_t size)
{
    bool   is_endless = size != 0 && count > SIZE_MAX / 4 / size;
    void **block = is_endless ? NULL : emp_calloc(1, HEAD_BYTES + count * size);

    if (block == NULL) {
        arrays->is_short = true;
        return NULL;
    }
    *block = arrays->newest;
    arrays->newest = block;
    return (char *)block + HEAD_BYTES;
}

void emp_arrays_clear(emp_arrays *arrays)
{
    while (arrays->newest != NULL) {
        void *block = arrays->newest;
        arrays->newest = *(void **)block;
        emp_free(block);
    }
    arrays->is_short = false;
}

enum { CHUNK_BYTES = 1 << 18 };

struct emp_arena_chunk {
    emp_arena_chunk *previous;
    size_t           used, size;
    alignas(max_align_t) unsigned char bytes[];
};

/* Bytes that begin at a multiple of \a unit in a chunk. */
static void *take(emp_arena *arena, size_t bytes, size_t unit)
{
    emp_arena_chunk *chunk = arena->last;
    size_t           first = chunk == NULL ? 0 : (chunk->used + unit - 1) / unit * unit;

    if (bytes > SIZE_MAX / 4) return NULL;
    if (chunk == NULL || chunk->size < first || chunk->size - first < bytes) {
        size_t size = bytes > CHUNK_BYTES ? bytes : CHUNK_BYTES;
        chunk = (emp_arena_chunk *)emp_calloc(1, sizeof *chunk + size);
        if (chunk == NULL) return NULL;
        chunk->size = size;
        chunk->previous = arena->last;
        arena->last = chunk;
        first = 0;
    }
    chunk->used = first + bytes;
    return chunk->bytes + first;
}

void *emp_arena_alloc(emp_arena *arena, size_t bytes)
{
    return take(arena, bytes, alignof(max_align_t));
}

/* The block is the newest one of the arena, and its chunk has room for so many bytes of it. */
static bool has_room_behind(const emp_arena *arena, const void *block, size_t used,
                            size_t wanted)
{
    const emp_arena_chunk *chunk = arena->last;

    return block != NULL && chunk != NULL &&
           (const unsigned char *)block + used == chunk->bytes + chunk->used &&
           wanted - used <= chunk->size - chunk->used;
}

void *emp_arena_extend(emp_arena *arena, const void *block, size_t used, size_t wanted,
                       size_t unit)
{
    if (has_room_behind(arena, block, used, wanted)) {
        emp_arena_chunk *chunk = arena->last;
        unsigned char   *end = chunk->bytes + chunk->used;
        chunk->used += wanted - used;
        return end - used;
    }
    void *moved = take(arena, wanted, unit);
    if (moved != NULL && used > 0) memcpy(moved, block, used);
    return moved;
}

char *emp_arena_strndup(emp_arena *arena, const char *text, size_t length)
{
    char *copy = take(arena, length + 1, 1);

    if (copy != NULL) memcpy(copy, text, length);
    return copy;
}

void emp_arena_clear(emp_arena *arena)
{
    while (arena->last != NULL) {
        emp_arena_chunk *previous = arena->last->previous;
        emp_free(arena->last);
        arena->last = previous;
    }
}

// SPDX-License-Identifier: GPL-3.0-or-later
#include "base/arena.h"

#include <stdalign.h>
#include <stdint.h>
#include <string.h>

#include "base/mem.h"

enum { CHUNK_BYTES = 1 << 18 };

struct emp_arena_chunk {
    emp_arena_chunk *previous;
    size_t           used, size;
    alignas(max_align_t) unsigned char bytes[];
};

void *emp_arena_alloc(emp_arena *arena, size_t bytes)
{
    const size_t     unit = alignof(max_align_t);
    emp_arena_chunk *chunk = arena->last;

    if (bytes > SIZE_MAX / 4) return NULL;
    bytes = (bytes + unit - 1) / unit * unit;
    if (chunk == NULL || chunk->size - chunk->used < bytes) {
        size_t size = bytes > CHUNK_BYTES ? bytes : CHUNK_BYTES;
        chunk = (emp_arena_chunk *)emp_calloc(1, sizeof *chunk + size);
        if (chunk == NULL) return NULL;
        chunk->size = size;
        chunk->previous = arena->last;
        arena->last = chunk;
    }
    void *result = chunk->bytes + chunk->used;
    chunk->used += bytes;
    return result;
}

char *emp_arena_strndup(emp_arena *arena, const char *text, size_t length)
{
    char *copy = (char *)emp_arena_alloc(arena, length + 1);

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

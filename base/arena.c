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

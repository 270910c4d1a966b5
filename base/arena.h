/** \file base/arena.h
 * Memory for objects that are built piece by piece and freed as a whole (names, nodes of
 * a graph under construction). Zero-initialise an emp_arena, allocate, clear once.
 */
#ifndef EMP_BASE_ARENA_H
#define EMP_BASE_ARENA_H

#include <stddef.h>

typedef struct emp_arena_chunk emp_arena_chunk;

typedef struct {
    emp_arena_chunk *last; /**< newest chunk, or NULL */
} emp_arena;

/** Zeroed bytes, aligned for any type; NULL when memory is out. O(1) amortised. */
void *emp_arena_alloc(emp_arena *arena, size_t bytes);

/** Copies \a length bytes of \a text and terminates them; NULL when memory is out. */
char *emp_arena_strndup(emp_arena *arena, const char *text, size_t length);

/** Releases everything; the arena may be used again. */
void emp_arena_clear(emp_arena *arena);

#endif /* EMP_BASE_ARENA_H */

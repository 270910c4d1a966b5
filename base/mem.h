/** \file base/mem.h
 * Counted allocation. All memory of the project comes from here, so that a test can make
 * every allocation fail in turn and see that nothing leaks. Thread-safe.
 */
#ifndef EMP_BASE_MEM_H
#define EMP_BASE_MEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

#define EMP_NEW(type)              ((type *)emp_calloc(1, sizeof(type)))
#define EMP_NEW_ARRAY(type, count) ((type *)emp_calloc((count), sizeof(type)))

/** Gives the pointer \a array zeroed memory for \a count items. The value is a status; a
 * failure is recorded into the local `err`, as EMP_ERROR() does it. */
#define EMP_ALLOC(array, count) \
    emp_mem_allocate(&(array), (count), sizeof *(array), __FILE__, __LINE__, err)

/** Grows the array \a array, whose room for items is the int32_t \a capacity, until \a wanted items fit; new
 * items are not zeroed. The value is a status, as of EMP_ALLOC(). O(1) amortised. */
#define EMP_GROW(array, wanted, capacity)                                              \
    emp_mem_grow(&(array), (wanted), &(capacity), sizeof *(array), __FILE__, __LINE__, \
                 err)

/** Zeroed memory for \a count items, aligned to 64 bytes when it is 4 KiB or more; NULL
 * on failure or overflow. A count of 0 gives a distinct block. Release with emp_free(). */
void *emp_calloc(size_t count, size_t size);

/** Implements EMP_ALLOC(); \a pointer is the address of a pointer to items of \a size bytes.
 * \retval EMP_ENOMEM  The pointer is NULL. */
emp_status emp_mem_allocate(void *pointer, size_t count, size_t size, const char *file,
                            int line, emp_error *err);

/** Implements EMP_GROW(); \a pointer is the address of a pointer to items of \a size bytes.
 * \retval EMP_ENOMEM  The array is as before. */
emp_status emp_mem_grow(void *pointer, int64_t wanted, int32_t *capacity, size_t size,
                        const char *file, int line, emp_error *err);

/** Grows or shrinks \a block (NULL is allowed) to \a count items; new bytes are not
 * zeroed. On failure returns NULL and \a block stays valid. */
void *emp_realloc(void *block, size_t count, size_t size);

/** emp_calloc() of a block that is read and written at random places, as tables of names are: a large one has huge
 * pages where the system gives them, so that an access takes one miss of a cache instead of two. */
void *emp_calloc_for_random_access(size_t count, size_t size);

/** A copy of the string; NULL on failure. */
char *emp_strdup(const char *text);

/** Releases \a block; NULL is allowed. */
void emp_free(void *block);

/** Blocks handed out and not yet freed. */
long emp_mem_live_blocks(void);

/** Bytes of these blocks, as the C library has rounded them up. */
int64_t emp_mem_live_bytes(void);

/** Lets allocations fail that would make the live bytes more than \a bytes; -1 = no limit. For a program
 * that does not trust what it loads. Not for several threads at once.
 * \return  Whether one has failed since the call before. */
bool emp_mem_limit(int64_t bytes);

/** For tests: the next \a count allocations succeed, all later ones fail; -1 = never
 * fail. */
void emp_mem_fail_after(long count);

/* Arrays that are freed together. Zero-initialise an emp_arrays, add, ask once whether
 * an allocation failed, clear:
 *
 *     s->start = EMP_ADD_ARRAY(&s->arrays, double, tasks);
 *     s->end = EMP_ADD_ARRAY(&s->arrays, double, tasks);
 *     if (s->arrays.is_short) return EMP_ERROR(EMP_ENOMEM, "times of %zu tasks", tasks);
 *     ...
 *     emp_arrays_clear(&s->arrays);
 *
 * Each is a block of its own, zeroed and aligned as emp_calloc() does it, so that tools which
 * look for accesses beyond a block see them. */

typedef struct {
    void *newest;   /**< block, whose head points to the one before, or NULL */
    bool  is_short; /**< an allocation of one of them failed */
} emp_arrays;

#define EMP_ADD_ARRAY(arrays, type, count) \
    ((type *)emp_arrays_add((arrays), (count), sizeof(type)))

/** \a count zeroed items, or NULL, and the arrays are short. */
void *emp_arrays_add(emp_arrays *arrays, size_t count, size_t size);

/** Frees them all; the arrays may be used again. */
void emp_arrays_clear(emp_arrays *arrays);

/* Memory for objects that are built piece by piece and freed as a whole (names, nodes of
 * a graph under construction). Zero-initialise an emp_arena, allocate, clear once. */

typedef struct emp_arena_chunk emp_arena_chunk;

typedef struct {
    emp_arena_chunk *last; /**< newest chunk, or NULL */
} emp_arena;

/** Zeroed bytes, aligned for any type; NULL when out of memory. O(1) amortised. */
void *emp_arena_alloc(emp_arena *arena, size_t bytes);

/** Makes the \a used bytes of \a block (NULL: none) \a wanted bytes, aligned to \a unit: in place if the
 * block is the newest one of the arena, else by a copy. New bytes are zero; NULL when out of memory. */
void *emp_arena_extend(emp_arena *arena, const void *block, size_t used, size_t wanted,
                       size_t unit);

/** Copies \a length bytes of \a text and terminates them; NULL when out of memory. */
char *emp_arena_strndup(emp_arena *arena, const char *text, size_t length);

/** Releases everything; the arena may be used again. */
void emp_arena_clear(emp_arena *arena);

#endif /* EMP_BASE_MEM_H */

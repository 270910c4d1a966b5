/** \file base/mem.h
 * Counted allocation. All memory of the project comes from here, so that a test can make
 * every allocation fail in turn and see that nothing leaks. Thread-safe.
 */
#ifndef EMP_BASE_MEM_H
#define EMP_BASE_MEM_H

#include <stddef.h>

#define EMP_NEW(type)              ((type *)emp_calloc(1, sizeof(type)))
#define EMP_NEW_ARRAY(type, count) ((type *)emp_calloc((count), sizeof(type)))

/** Gives the pointer \a array zeroed memory for \a count items. The value is a status; the
 * message of a failure names \a array. Needs base/error.h and a local `err`. */
#define EMP_ALLOC(array, count)                                            \
    (((array) = emp_calloc((count), sizeof *(array))) != NULL              \
         ? EMP_OK                                                          \
         : EMP_ERROR(EMP_ENOMEM, "%zu x %zu bytes of %s", (size_t)(count), \
                     sizeof *(array), #array))

/** Zeroed memory for \a count items, aligned to 64 bytes when it is 4 KiB or more; NULL
 * on failure or overflow. A count of 0 gives a distinct block. Release with emp_free().
 */
void *emp_calloc(size_t count, size_t size);

/** Grows or shrinks \a block (NULL is allowed) to \a count items; new bytes are not
 * zeroed. On failure returns NULL and \a block stays valid. */
void *emp_realloc(void *block, size_t count, size_t size);

/** A copy of the string; NULL on failure. */
char *emp_strdup(const char *text);

/** Releases \a block; NULL is allowed. */
void emp_free(void *block);

/** Blocks handed out and not yet freed. */
long emp_mem_live_blocks(void);

/** For tests: the next \a count allocations succeed, all later ones fail; -1 = never
 * fail. */
void emp_mem_fail_after(long count);

#endif /* EMP_BASE_MEM_H */

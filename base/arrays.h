/** \file base/arrays.h
 * Arrays that are freed together. Zero-initialise an emp_arrays, add, ask once whether
 * memory was out, clear:
 *
 *     s->start = EMP_ADD_ARRAY(&s->arrays, double, tasks);
 *     s->end = EMP_ADD_ARRAY(&s->arrays, double, tasks);
 *     if (s->arrays.is_short) return EMP_ERROR(EMP_ENOMEM, "times of %zu tasks", tasks);
 *     ...
 *     emp_arrays_clear(&s->arrays);
 *
 * Each is a block of its own, zeroed and aligned as emp_calloc() does it, so that tools which
 * look for accesses beyond a block see them.
 */
#ifndef EMP_BASE_ARRAYS_H
#define EMP_BASE_ARRAYS_H

#include <stdbool.h>
#include <stddef.h>

typedef struct {
    void *newest;   /**< block, whose head points to the one before, or NULL */
    bool  is_short; /**< memory was out for one of them */
} emp_arrays;

#define EMP_ADD_ARRAY(arrays, type, count) \
    ((type *)emp_arrays_add((arrays), (count), sizeof(type)))

/** \a count zeroed items, or NULL, and the arrays are short. */
void *emp_arrays_add(emp_arrays *arrays, size_t count, size_t size);

/** Frees them all; the arrays may be used again. */
void emp_arrays_clear(emp_arrays *arrays);

#endif /* EMP_BASE_ARRAYS_H */

/** \file base/strmap.h
 * Map from strings to dense 32-bit numbers: op names to ids, type names to indices.
 * Open addressing with linear probing, by a hash with a key that no file knows; keys are borrowed and
 * must outlive the map.
 */
#ifndef EMP_BASE_STRMAP_H
#define EMP_BASE_STRMAP_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

typedef struct {
    const char *key; /**< borrowed, not necessarily terminated; NULL = free slot */
    uint32_t    length;
    int32_t     value;
} emp_strmap_slot;

/** Zero-initialise before use. */
typedef struct {
    emp_strmap_slot *slots;
    size_t           capacity; /**< a power of two, or 0 */
    size_t           count;
} emp_strmap;

/** The value of the key of \a length bytes, or -1. O(1) expected. */
int32_t emp_strmap_get(const emp_strmap *map, const char *key, size_t length);

/** Adds a key or replaces its value (>= 0). \retval EMP_ENOMEM  The map is unchanged. */
emp_status emp_strmap_set(emp_strmap *map, const char *key, size_t length, int32_t value,
                          emp_error *err);

/** Releases the slots, not the keys. */
void emp_strmap_clear(emp_strmap *map);

#endif /* EMP_BASE_STRMAP_H */

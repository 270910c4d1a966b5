/** \file base/collections.h
 * Hashes, maps from strings, disjoint sets, numbers sorted by keys, and lists of named arrays.
 */
#ifndef EMP_BASE_COLLECTIONS_H
#define EMP_BASE_COLLECTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/mem.h"

/* 64-bit hashes. Files contain their values, which therefore depend on no machine. Only the keyed one is
 * cryptographic. */

#define EMP_HASH_SEED UINT64_C(0xcbf29ce484222325)

/** FNV-1a over bytes, continued from \a hash. */
uint64_t emp_hash_bytes(uint64_t hash, const void *bytes, size_t count);

/** SipHash-1-3 (Aumasson and Bernstein, 2012) of bytes under a key: who does not know the key cannot make
 * bytes whose hashes collide, as long as hashes are not shown. For maps whose keys come from files. */
uint64_t emp_hash_keyed(const uint64_t key[2], const void *bytes, size_t count);

/** Mixes one word into \a hash; order matters. */
uint64_t emp_hash_u64(uint64_t hash, uint64_t word);

/* Maps from strings to dense numbers, such as op names to ids: open addressing with linear probing, by a
 * keyed hash. Keys are borrowed and must outlive the map. */

typedef struct {
    const char *key; /**< borrowed, not necessarily terminated; NULL = free slot */
    uint32_t    length;
    int32_t     value;
    uint64_t    hash; /**< of the key, so that growing reads no keys */
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

/** Adds a key that is new; else \a *there becomes its value, which stays. \a *there is -1 if it is new.
 * \retval EMP_ENOMEM  The map is unchanged. */
emp_status emp_strmap_add(emp_strmap *map, const char *key, size_t length, int32_t value,
                          int32_t *there, emp_error *err);

/** Forgets all keys; a small map keeps its slots. */
void emp_strmap_empty(emp_strmap *map);

/** Releases the slots, not the keys. */
void emp_strmap_clear(emp_strmap *map);

/** The hash by which maps and sets find bytes: of this process, for no file. */
uint64_t emp_hash_of_process(const void *bytes, size_t count);

/* Values of any sizes, of which equal ones are kept once. */

typedef struct {
    const void *value; /**< NULL = free slot */
    uint32_t    bytes, hash;
} emp_value_slot;

/** Zero-initialise before use. */
typedef struct {
    emp_value_slot *slots;
    size_t          capacity, count;
} emp_value_set;

/** The one copy of a value, which is in the arena, aligned for any type; NULL when out of memory. Values are equal if their
 * bytes are, padding included. O(bytes) expected. */
const void *emp_value_keep(emp_value_set *set, emp_arena *arena, const void *value,
                           size_t bytes);

/** Releases the slots; values stay in the arena. */
void emp_value_set_clear(emp_value_set *set);

/* Disjoint sets of the numbers 0 .. n - 1 (union-find) in the caller's array of n parents. The lowest number
 * of a set is its root. */

/** Each number a set of its own. O(n). */
void emp_disjoint_init(int32_t *parent, int32_t n);

/** The root of \a i's set; halves the path to it. O(log n) amortised. */
int32_t emp_disjoint_root(int32_t *parent, int32_t i);

/** Makes the sets of two numbers one; false: they are one already. */
bool emp_disjoint_join(int32_t *parent, int32_t one, int32_t other);

/* Searches of sorted arrays, and numbers sorted by keys. */

/** Sets \a number to how many of \a total sorted elements the condition, in which \a at is an element's number, holds
 * for; these are the first ones. O(log total). */
#define EMP_COUNT_FIRST(number, total, at, condition)     \
    do {                                                  \
        int32_t low_ = 0, high_ = (total);                \
        while (low_ < high_) {                            \
            const int32_t at = low_ + (high_ - low_) / 2; \
            if (condition)                                \
                low_ = at + 1;                            \
            else                                          \
                high_ = at;                               \
        }                                                 \
        (number) = low_;                                  \
    } while (0)

typedef struct {
    double  key; /**< no NaN */
    int32_t number;
} emp_keyed;

/** Sorts by rising keys, or by falling ones; equal keys by rising numbers. O(n log n). */
void emp_keyed_sort(emp_keyed *list, size_t count);
void emp_keyed_sort_falling(emp_keyed *list, size_t count);

/* The state of a module as named arrays, which are saved and restored without knowing their meaning. */

enum {
    EMP_MAX_NAMED_ARRAYS = 32, /* of one list */
    EMP_ARRAY_NAME_BYTES = 32  /* of a name, with its end */
};

typedef enum {
    EMP_ARRAY_UINT8,
    EMP_ARRAY_INT32,
    EMP_ARRAY_INT64,
    EMP_ARRAY_FLOAT,
    EMP_ARRAY_DOUBLE
} emp_array_type;

typedef struct {
    const char    *name; /**< static storage; unique in its list */
    emp_array_type type;
    size_t         count;
    void          *values; /**< borrowed from the module that lists it */
} emp_named_array;

/** Bytes of one value. */
size_t emp_array_type_bytes(emp_array_type type);

#endif /* EMP_BASE_COLLECTIONS_H */

// SPDX-License-Identifier: GPL-3.0-or-later
#define _DEFAULT_SOURCE /* getrandom() */
#include "base/strmap.h"

#include <pthread.h>
#include <string.h>
#include <sys/random.h>

#include "base/hash.h"
#include "base/mem.h"

/* Drawn once a process, so that nobody can write a file whose names all collide. Nothing that a map
 * returns depends on it. */
static uint64_t key_of_process[2];

static void draw_key(void)
{
    if (getrandom(key_of_process, sizeof key_of_process, GRND_NONBLOCK) < 0)
        key_of_process[0] =
            (uint64_t)(uintptr_t)&key_of_process; /* no worse than before */
}

static uint64_t hash_of(const char *key, size_t length)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, draw_key);
    return emp_hash_keyed(key_of_process, key, length);
}

static emp_strmap_slot *find(const emp_strmap *map, const char *key, size_t length)
{
    size_t mask = map->capacity - 1;

    for (size_t i = (size_t)hash_of(key, length) & mask;; i = (i + 1) & mask) {
        emp_strmap_slot *slot = &map->slots[i];
        if (slot->key == NULL) return slot;
        if (slot->length == length && memcmp(slot->key, key, length) == 0) return slot;
    }
}

int32_t emp_strmap_get(const emp_strmap *map, const char *key, size_t length)
{
    if (map->capacity == 0) return -1;
    const emp_strmap_slot *slot = find(map, key, length);
    return slot->key == NULL ? -1 : slot->value;
}

static emp_status grow(emp_strmap *map, emp_error *err)
{
    emp_strmap bigger = {.capacity = map->capacity == 0 ? 64 : 2 * map->capacity,
                         .count = map->count};

    EMP_CHECK(EMP_ALLOC(bigger.slots, bigger.capacity));
    for (size_t i = 0; i < map->capacity; i++) {
        const emp_strmap_slot *slot = &map->slots[i];
        if (slot->key != NULL) *find(&bigger, slot->key, slot->length) = *slot;
    }
    emp_free(map->slots);
    *map = bigger;
    return EMP_OK;
}

emp_status emp_strmap_set(emp_strmap *map, const char *key, size_t length, int32_t value,
                          emp_error *err)
{
    if (2 * (map->count + 1) > map->capacity) EMP_CHECK(grow(map, err));
    emp_strmap_slot *slot = find(map, key, length);
    if (slot->key == NULL) {
        slot->key = key;
        slot->length = (uint32_t)length;
        map->count++;
    }
    slot->value = value;
    return EMP_OK;
}

void emp_strmap_clear(emp_strmap *map)
{
    emp_free(map->slots);
    *map = (emp_strmap){0};
}

// SPDX-License-Identifier: GPL-3.0-or-later
#define _DEFAULT_SOURCE /* getrandom() */

#include "base/collections.h"

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/mem.h"

uint64_t emp_hash_bytes(uint64_t hash, const void *bytes, size_t count)
{
    const unsigned char *at = (const unsigned char *)bytes;

    for (size_t i = 0; i < count; i++) hash = (hash ^ at[i]) * UINT64_C(0x100000001b3);
    return hash ^ (hash >> 32);
}

/* The finaliser of splitmix64 (Steele, Lea, Flood, OOPSLA 2014) on the running sum. */
uint64_t emp_hash_u64(uint64_t hash, uint64_t word)
{
    uint64_t z = (hash + UINT64_C(0x9e3779b97f4a7c15)) ^ word;

    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

static uint64_t rotate(uint64_t x, int bits) { return x << bits | x >> (64 - bits); }

static inline void sip_round(uint64_t v[4])
{
    v[0] += v[1], v[1] = rotate(v[1], 13) ^ v[0], v[0] = rotate(v[0], 32);
    v[2] += v[3], v[3] = rotate(v[3], 16) ^ v[2];
    v[0] += v[3], v[3] = rotate(v[3], 21) ^ v[0];
    v[2] += v[1], v[1] = rotate(v[1], 17) ^ v[2], v[2] = rotate(v[2], 32);
}

static void sip_absorb(uint64_t v[4], uint64_t word)
{
    v[3] ^= word;
    sip_round(v);
    v[0] ^= word;
}

/* Up to 8 bytes, little-endian. */
static uint64_t word_of(const unsigned char *bytes, size_t count)
{
    uint64_t word = 0;

    for (size_t i = 0; i < count; i++) word |= (uint64_t)bytes[i] << 8 * i;
    return word;
}

static bool is_little_endian(void)
{
    const uint16_t one = 1;

    return *(const unsigned char *)&one == 1;
}

uint64_t emp_hash_keyed(const uint64_t key[2], const void *bytes, size_t count)
{
    const unsigned char *at = (const unsigned char *)bytes;
    uint64_t             v[4] = {
                    key[0] ^ UINT64_C(0x736f6d6570736575), key[1] ^ UINT64_C(0x646f72616e646f6d),
                    key[0] ^ UINT64_C(0x6c7967656e657261), key[1] ^ UINT64_C(0x7465646279746573)};

    for (size_t left = count; left >= 8; left -= 8, at += 8) {
        uint64_t word;
        memcpy(&word, at, sizeof word);
        sip_absorb(v, is_little_endian() ? word : word_of(at, 8));
    }
    sip_absorb(v, word_of(at, count % 8) | (uint64_t)count << 56);
    v[2] ^= 0xff;
    for (int i = 0; i < 3; i++) sip_round(v);
    return v[0] ^ v[1] ^ v[2] ^ v[3];
}

/* Drawn once a process, so that no file can be written whose names all collide. Nothing that a map
 * returns depends on it. */
static uint64_t       key_of_process[2];
static pthread_once_t key_once = PTHREAD_ONCE_INIT;

static void draw_key(void)
{
    if (getrandom(key_of_process, sizeof key_of_process, GRND_NONBLOCK) < 0)
        key_of_process[0] =
            (uint64_t)(uintptr_t)&key_of_process; /* no worse than before */
}

uint64_t emp_hash_of_process(const void *bytes, size_t count)
{
    pthread_once(&key_once, draw_key);
    return emp_hash_keyed(key_of_process, bytes, count);
}

static emp_strmap_slot *find(const emp_strmap *map, const char *key, size_t length,
                             uint64_t hash)
{
    const size_t mask = map->capacity - 1;

    for (size_t i = (size_t)hash & mask;; i = (i + 1) & mask) {
        emp_strmap_slot *slot = &map->slots[i];
        if (slot->key == NULL) return slot;
        if (slot->hash == hash && slot->length == length &&
            memcmp(slot->key, key, length) == 0)
            return slot;
    }
}

int32_t emp_strmap_get(const emp_strmap *map, const char *key, size_t length)
{
    if (map->capacity == 0) return -1;
    const emp_strmap_slot *slot =
        find(map, key, length, emp_hash_of_process(key, length));
    return slot->key == NULL ? -1 : slot->value;
}

static emp_status grow(emp_strmap *map, emp_error *err)
{
    emp_strmap bigger = {.capacity = map->capacity == 0 ? 64 : 2 * map->capacity,
                         .count = map->count};

    EMP_CHECK(EMP_ALLOC(bigger.slots, bigger.capacity));
    for (size_t i = 0; i < map->capacity; i++) {
        const emp_strmap_slot *slot = &map->slots[i];
        size_t                 at = (size_t)slot->hash & (bigger.capacity - 1);
        if (slot->key == NULL) continue;
        while (bigger.slots[at].key != NULL) at = (at + 1) & (bigger.capacity - 1);
        bigger.slots[at] = *slot;
    }
    emp_free(map->slots);
    *map = bigger;
    return EMP_OK;
}

emp_status emp_strmap_add(emp_strmap *map, const char *key, size_t length, int32_t value,
                          int32_t *there, emp_error *err)
{
    if (2 * (map->count + 1) > map->capacity) EMP_CHECK(grow(map, err));
    const uint64_t   hash = emp_hash_of_process(key, length);
    emp_strmap_slot *slot = find(map, key, length, hash);
    *there = slot->key != NULL ? slot->value : -1;
    if (slot->key != NULL) return EMP_OK;
    *slot = (emp_strmap_slot){key, (uint32_t)length, value, hash};
    map->count++;
    return EMP_OK;
}

emp_status emp_strmap_set(emp_strmap *map, const char *key, size_t length, int32_t value,
                          emp_error *err)
{
    if (2 * (map->count + 1) > map->capacity) EMP_CHECK(grow(map, err));
    const uint64_t   hash = emp_hash_of_process(key, length);
    emp_strmap_slot *slot = find(map, key, length, hash);
    if (slot->key == NULL) {
        *slot = (emp_strmap_slot){.key = key, .length = (uint32_t)length, .hash = hash};
        map->count++;
    }
    slot->value = value;
    return EMP_OK;
}

void emp_strmap_empty(emp_strmap *map)
{
    enum { SMALL = 256 };

    if (map->capacity > SMALL) emp_strmap_clear(map);
    if (map->count > 0) memset(map->slots, 0, map->capacity * sizeof *map->slots);
    map->count = 0;
}

void emp_strmap_clear(emp_strmap *map)
{
    emp_free(map->slots);
    *map = (emp_strmap){0};
}

/* A product of 128 bits, its halves as one. */
static uint64_t fold(uint64_t a, uint64_t b)
{
    __extension__ typedef unsigned __int128 wide;
    const wide                              product = (wide)a * b;

    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/* The hash of a value: sixteen bytes a product, by factors that only this process knows. */
static uint32_t hash_value(const void *value, size_t bytes)
{
    const unsigned char *at = (const unsigned char *)value;
    uint64_t             hash = bytes, word[2];

    pthread_once(&key_once, draw_key);
    for (; bytes >= sizeof word; at += sizeof word, bytes -= sizeof word) {
        memcpy(word, at, sizeof word);
        hash = fold(word[0] ^ key_of_process[0] ^ hash, word[1] ^ key_of_process[1]);
    }
    word[0] = word[1] = 0;
    memcpy(word, at, bytes);
    return (uint32_t)fold(word[0] ^ key_of_process[0] ^ hash,
                          word[1] ^ key_of_process[1]);
}

/* The slot of a value, or the free one where it belongs. */
static emp_value_slot *find_value(const emp_value_set *set, const void *value,
                                  size_t bytes, uint32_t hash)
{
    const size_t mask = set->capacity - 1;

    for (size_t i = hash & mask;; i = (i + 1) & mask) {
        emp_value_slot *slot = &set->slots[i];
        if (slot->value == NULL ||
            (slot->hash == hash && slot->bytes == bytes &&
             (value == slot->value || memcmp(slot->value, value, bytes) == 0)))
            return slot;
    }
}

static bool grow_values(emp_value_set *set)
{
    emp_value_set larger = {.capacity = set->capacity > 0 ? 2 * set->capacity : 64,
                            .count = set->count};

    larger.slots = EMP_NEW_ARRAY(emp_value_slot, larger.capacity);
    if (larger.slots == NULL) return false;
    for (size_t i = 0; i < set->capacity; i++) {
        size_t at = set->slots[i].hash & (larger.capacity - 1);
        if (set->slots[i].value == NULL) continue;
        while (larger.slots[at].value != NULL) at = (at + 1) & (larger.capacity - 1);
        larger.slots[at] = set->slots[i];
    }
    emp_free(set->slots);
    *set = larger;
    return true;
}

const void *emp_value_keep(emp_value_set *set, emp_arena *arena, const void *value,
                           size_t bytes)
{
    if (2 * (set->count + 1) > set->capacity && !grow_values(set)) return NULL;
    const uint32_t  hash = hash_value(value, bytes);
    emp_value_slot *slot = find_value(set, value, bytes, hash);
    if (slot->value == NULL) {
        void *copy = emp_arena_alloc(arena, bytes);
        if (copy == NULL) return NULL;
        memcpy(copy, value, bytes);
        *slot = (emp_value_slot){copy, (uint32_t)bytes, hash};
        set->count++;
    }
    return slot->value;
}

void emp_value_set_clear(emp_value_set *set)
{
    emp_free(set->slots);
    *set = (emp_value_set){0};
}

void emp_disjoint_init(int32_t *parent, int32_t n)
{
    for (int32_t i = 0; i < n; i++) parent[i] = i;
}

int32_t emp_disjoint_root(int32_t *parent, int32_t i)
{
    while (parent[i] != i) {
        parent[i] = parent[parent[i]];
        i = parent[i];
    }
    return i;
}

bool emp_disjoint_join(int32_t *parent, int32_t one, int32_t other)
{
    int32_t a = emp_disjoint_root(parent, one), b = emp_disjoint_root(parent, other);

    parent[a > b ? a : b] = a > b ? b : a;
    return a != b;
}

static int by_key(const void *left, const void *right)
{
    const emp_keyed *l = left, *r = right;

    if (l->key != r->key) return l->key < r->key ? -1 : 1;
    return (l->number > r->number) - (l->number < r->number);
}

static int by_falling_key(const void *left, const void *right)
{
    const emp_keyed *l = left, *r = right;

    return l->key != r->key ? by_key(right, left) : by_key(left, right);
}

void emp_keyed_sort(emp_keyed *list, size_t count)
{
    qsort(list, count, sizeof *list, by_key);
}

void emp_keyed_sort_falling(emp_keyed *list, size_t count)
{
    qsort(list, count, sizeof *list, by_falling_key);
}

size_t emp_array_type_bytes(emp_array_type type)
{
    static const size_t bytes[] = {[EMP_ARRAY_UINT8] = sizeof(uint8_t),
                                   [EMP_ARRAY_INT32] = sizeof(int32_t),
                                   [EMP_ARRAY_INT64] = sizeof(int64_t),
                                   [EMP_ARRAY_FLOAT] = sizeof(float),
                                   [EMP_ARRAY_DOUBLE] = sizeof(double)};

    return bytes[type];
}

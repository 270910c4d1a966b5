// SPDX-License-Identifier: GPL-3.0-or-later
#include "sim/graph/store.h"

#include <stdatomic.h>
#include <string.h>

#include "base/collections.h"
#include "base/mem.h"

/* Values of one size, found by their bytes: open addressing, at most half full. */
typedef struct {
    size_t       bytes;
    const void **slot;
    size_t       capacity, count; /* the capacity is a power of two, or 0 */
} value_set;

struct emp_graph_store {
    atomic_int users;
    emp_arena  names, values;
    value_set  shapes, costs;
};

enum { FIRST_CAPACITY = 64 };

static size_t place_of(const value_set *set, const void *value)
{
    size_t place = emp_hash_bytes(EMP_HASH_SEED, value, set->bytes) & (set->capacity - 1);

    while (set->slot[place] != NULL && memcmp(set->slot[place], value, set->bytes) != 0)
        place = (place + 1) & (set->capacity - 1);
    return place;
}

static bool grow(value_set *set)
{
    value_set larger = {set->bytes, NULL,
                        set->capacity > 0 ? 2 * set->capacity : FIRST_CAPACITY,
                        set->count};

    larger.slot = EMP_NEW_ARRAY(const void *, larger.capacity);
    if (larger.slot == NULL) return false;
    for (size_t i = 0; i < set->capacity; i++)
        if (set->slot[i] != NULL)
            larger.slot[place_of(&larger, set->slot[i])] = set->slot[i];
    emp_free(set->slot);
    *set = larger;
    return true;
}

static const void *keep(value_set *set, emp_arena *values, const void *value)
{
    if (2 * set->count >= set->capacity && !grow(set)) return NULL;
    size_t place = place_of(set, value);
    if (set->slot[place] == NULL) {
        void *copy = emp_arena_alloc(values, set->bytes);
        if (copy == NULL) return NULL;
        set->slot[place] = memcpy(copy, value, set->bytes);
        set->count++;
    }
    return set->slot[place];
}

emp_status emp_graph_store_create(emp_graph_store **out, emp_error *err)
{
    emp_graph_store *s = *out = EMP_NEW(emp_graph_store);

    if (s == NULL) return EMP_ERROR(EMP_ENOMEM, "names of a graph");
    s->users = 1;
    s->shapes.bytes = sizeof(emp_shape);
    s->costs.bytes = sizeof(emp_op_cost);
    return EMP_OK;
}

void emp_graph_store_take_names(emp_graph_store *store, emp_arena *names)
{
    store->names = *names;
    *names = (emp_arena){0};
}

emp_graph_store *emp_graph_store_share(emp_graph_store *store)
{
    store->users++;
    return store;
}

void emp_graph_store_release(emp_graph_store *store)
{
    if (store == NULL || --store->users > 0) return;
    emp_graph_store_seal(store);
    emp_arena_clear(&store->names);
    emp_arena_clear(&store->values);
    emp_free(store);
}

const emp_shape *emp_graph_store_shape(emp_graph_store *store, const emp_shape *shape)
{
    emp_shape plain; /* nothing between its members, or in sizes that it has not */

    memset(&plain, 0, sizeof plain);
    plain.rank = shape->rank;
    for (int32_t d = 0; d < shape->rank; d++) plain.dim[d] = shape->dim[d];
    return keep(&store->shapes, &store->values, &plain);
}

const emp_op_cost *emp_graph_store_cost(emp_graph_store *store, const emp_op_cost *cost)
{
    return keep(&store->costs, &store->values, cost);
}

emp_op_cost *emp_graph_store_own(emp_graph_store *store, const emp_op_cost *cost)
{
    emp_op_cost *copy = emp_arena_alloc(&store->values, sizeof *copy);

    if (copy != NULL) *copy = *cost;
    return copy;
}

void emp_graph_store_seal(emp_graph_store *store)
{
    emp_free(store->shapes.slot);
    emp_free(store->costs.slot);
    store->shapes = (value_set){.bytes = store->shapes.bytes};
    store->costs = (value_set){.bytes = store->costs.bytes};
}

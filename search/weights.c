// SPDX-License-Identifier: GPL-3.0-or-later
#include "search/weights.h"

#include <stdio.h>
#include <string.h>

#include "base/collections.h"

static size_t bytes_of(const emp_named_array *array)
{
    return array->count * emp_array_type_bytes(array->type);
}

static const emp_named_array *find(const emp_weights *w, const char *name)
{
    for (int32_t i = 0; i < w->array_count; i++) {
        if (strcmp(w->array[i].name, name) == 0) return &w->array[i];
    }
    return NULL;
}

static emp_status check_array(const emp_weights *w, const char *name, int64_t count,
                              emp_error *err)
{
    const size_t length = strlen(name);

    if (w->array_count == EMP_MAX_NAMED_ARRAYS)
        return EMP_ERROR(EMP_EINVAL, "weights have at most %d arrays",
                         EMP_MAX_NAMED_ARRAYS);
    if (length == 0 || length >= EMP_ARRAY_NAME_BYTES)
        return EMP_ERROR(EMP_EINVAL, "a name of weights has 1 to %d letters, not %zu",
                         EMP_ARRAY_NAME_BYTES - 1, length);
    if (find(w, name) != NULL)
        return EMP_ERROR(EMP_EINVAL, "two arrays of weights are named \"%s\"", name);
    if (count < 0 || count > EMP_WEIGHTS_MOST)
        return EMP_ERROR(EMP_EINVAL, "weights \"%s\" have %lld values; at most %lld",
                         name, (long long)count, (long long)EMP_WEIGHTS_MOST);
    return EMP_OK;
}

emp_status emp_weights_add(emp_weights *w, const char *name, emp_array_type type,
                           int64_t count, emp_error *err)
{
    EMP_CHECK(check_array(w, name, count, err));
    char *own = EMP_ADD_ARRAY(&w->memory, char, EMP_ARRAY_NAME_BYTES);
    void *values = emp_arrays_add(&w->memory, (size_t)count, emp_array_type_bytes(type));

    if (own == NULL || values == NULL)
        return EMP_ERROR(EMP_ENOMEM, "%lld weights \"%s\"", (long long)count, name);
    snprintf(own, EMP_ARRAY_NAME_BYTES, "%s", name);
    w->array[w->array_count] = (emp_named_array){own, type, (size_t)count, values};
    w->array_count++;
    return EMP_OK;
}

/* Whether the arrays are of the networks that the weights are of. */
static emp_status check_networks(const emp_weights *w, const emp_named_array *arrays,
                                 int32_t count, emp_error *err)
{
    for (int32_t i = 0; i < count; i++) {
        const emp_named_array *own = find(w, arrays[i].name);
        if (own == NULL)
            return EMP_ERROR(EMP_EINVAL, "the weights lack \"%s\"", arrays[i].name);
        if (own->type != arrays[i].type || own->count != arrays[i].count)
            return EMP_ERROR(EMP_EINVAL,
                             "\"%s\" are %zu values in the weights, and %zu here",
                             arrays[i].name, own->count, arrays[i].count);
    }
    if (count != w->array_count)
        return EMP_ERROR(EMP_EINVAL, "the weights have %d arrays, and there are %d here",
                         w->array_count, count);
    return EMP_OK;
}

emp_status emp_weights_take(emp_weights *w, const emp_named_array *arrays, int32_t count,
                            emp_error *err)
{
    for (int32_t i = 0; i < count && w->array_count < count; i++)
        EMP_CHECK(emp_weights_add(w, arrays[i].name, arrays[i].type,
                                  (int64_t)arrays[i].count, err));
    EMP_CHECK(check_networks(w, arrays, count, err));
    for (int32_t i = 0; i < count; i++)
        memcpy(find(w, arrays[i].name)->values, arrays[i].values, bytes_of(&arrays[i]));
    return EMP_OK;
}

emp_status emp_weights_give(const emp_weights *w, const emp_named_array *arrays,
                            int32_t count, emp_error *err)
{
    EMP_CHECK(check_networks(w, arrays, count, err));
    for (int32_t i = 0; i < count; i++)
        memcpy(arrays[i].values, find(w, arrays[i].name)->values, bytes_of(&arrays[i]));
    return EMP_OK;
}

static void set_text(char *text, size_t size, const char *value)
{
    snprintf(text, size, "%s", value != NULL ? value : "");
}

void emp_weights_describe(emp_weights *w, const char *preset, const char *options,
                          const emp_weights *before, int64_t evaluations)
{
    set_text(w->preset, sizeof w->preset, preset);
    set_text(w->options, sizeof w->options, options);
    set_text(w->tasks, sizeof w->tasks, before != NULL ? before->tasks : NULL);
    w->evaluations = evaluations + (before != NULL ? before->evaluations : 0);
}

void emp_weights_add_task(emp_weights *w, const char *workload, const char *machine)
{
    const size_t length = strlen(w->tasks);

    snprintf(w->tasks + length, sizeof w->tasks - length, "%s%s on %s",
             length > 0 ? ", " : "", workload, machine);
}

bool emp_weights_equal(const emp_weights *w, const emp_named_array *arrays)
{
    for (int32_t i = 0; i < w->array_count; i++) {
        const emp_named_array *own = find(w, arrays[i].name);
        if (memcmp(own->values, arrays[i].values, bytes_of(own)) != 0) return false;
    }
    return true;
}

uint64_t emp_weights_hash(const emp_weights *w)
{
    uint64_t hash = emp_hash_bytes(EMP_HASH_SEED, w->method, strlen(w->method));

    for (int32_t i = 0; i < w->array_count; i++)
        hash = emp_hash_bytes(hash, w->array[i].values, bytes_of(&w->array[i]));
    return hash != 0 ? hash : 1;
}

void emp_weights_clear(emp_weights *w)
{
    emp_arrays_clear(&w->memory);
    *w = (emp_weights){0};
}

// SPDX-License-Identifier: GPL-3.0-or-later
#include "run/store/weights_file.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "run/store/h5_internal.h"

#define FORMAT "emplace-weights-1"

#define FIELD(type, member)                           \
    {                                                 \
#member, type, offsetof(emp_weights, member), \
            sizeof((const emp_weights *)NULL)->member \
    }
static const emp_h5_field fields[] = {
    FIELD(EMP_H5_TEXT, method),       FIELD(EMP_H5_TEXT, preset),
    FIELD(EMP_H5_TEXT, options),      FIELD(EMP_H5_TEXT, tasks),
    FIELD(EMP_H5_INT64, evaluations), FIELD(EMP_H5_INT32, array_count)};
enum { FIELDS = sizeof fields / sizeof *fields };

_Static_assert((int)EMP_ARRAY_NAME_BYTES == (int)EMP_H5_NAME_BYTES,
               "a name is what arrays hold");

/* What the arrays are. */
typedef struct {
    char    name[EMP_MAX_NAMED_ARRAYS][EMP_ARRAY_NAME_BYTES];
    int32_t type[EMP_MAX_NAMED_ARRAYS];
    int64_t size[EMP_MAX_NAMED_ARRAYS];
} listing;

enum { LISTS = 3 };

static void list_datasets(listing *l, int32_t count, emp_h5_array lists[LISTS])
{
    const uint64_t rows = (uint64_t)count;

    lists[0] = (emp_h5_array){"array_name", EMP_H5_TEXT, rows, 0, l->name};
    lists[1] = (emp_h5_array){"array_type", EMP_H5_INT32, rows, 0, l->type};
    lists[2] = (emp_h5_array){"array_size", EMP_H5_INT64, rows, 0, l->size};
}

static bool write_weights(emp_h5_file file, const void *object)
{
    const emp_weights *w = (const emp_weights *)object;
    listing            l = {0};
    emp_h5_array       lists[LISTS];
    char               name[EMP_H5_ARRAY_NAME_BYTES];
    bool               is_written = true;

    for (int32_t i = 0; i < w->array_count; i++) {
        snprintf(l.name[i], sizeof l.name[i], "%s", w->array[i].name);
        l.type[i] = (int32_t)w->array[i].type;
        l.size[i] = (int64_t)w->array[i].count;
    }
    list_datasets(&l, w->array_count, lists);
    for (int i = 0; i < FIELDS && is_written; i++)
        is_written = emp_h5_write_field(file, &fields[i], w);
    for (int i = 0; i < LISTS && is_written; i++)
        is_written = emp_h5_write_array(file, &lists[i]);
    for (int32_t i = 0; i < w->array_count && is_written; i++) {
        const emp_h5_array array = emp_h5_of_named(&w->array[i], "weights", name);
        is_written = emp_h5_write_array(file, &array);
    }
    return is_written;
}

emp_status emp_weights_save(const char *path, const emp_weights *weights, emp_error *err)
{
    return emp_h5_save(path, FORMAT, write_weights, weights, err);
}

static emp_status read_listing(const emp_h5_image *image, listing *l, int32_t count,
                               const char *path, emp_error *err)
{
    emp_h5_array lists[LISTS];

    if (count < 0 || count > EMP_MAX_NAMED_ARRAYS)
        return EMP_ERROR(EMP_EFORMAT, "%s is damaged: it has %d arrays", path, count);
    list_datasets(l, count, lists);
    for (int i = 0; i < LISTS; i++) {
        if (!emp_h5_read_array(image, &lists[i]))
            return emp_h5_lacks_array(&lists[i], path, err);
    }
    return EMP_OK;
}

/* Several arrays may claim the same packed bytes. */
static emp_status check_packed_size(const emp_h5_image *image, const listing *l,
                                    int32_t count, const char *path, emp_error *err)
{
    uint64_t bytes = 0;

    for (int32_t i = 0; i < count; i++) {
        if (l->type[i] == EMP_ARRAY_UINT8 && l->size[i] > 0)
            bytes += (uint64_t)l->size[i];
        if (!emp_h5_may_unpack(image, bytes))
            return EMP_ERROR(EMP_EFORMAT,
                             "%s is damaged: its arrays of bytes are larger than it can "
                             "hold",
                             path);
    }
    return EMP_OK;
}

static emp_status read_array(const emp_h5_image *image, emp_weights *w, const listing *l,
                             int32_t index, const char *path, emp_error *err)
{
    char      name[EMP_H5_ARRAY_NAME_BYTES];
    emp_error why = {0};

    if (l->type[index] < 0 || l->type[index] > EMP_ARRAY_DOUBLE ||
        memchr(l->name[index], '\0', sizeof l->name[index]) == NULL)
        return EMP_ERROR(EMP_EFORMAT, "%s is damaged: array %d is of type %d", path,
                         index, l->type[index]);
    const emp_named_array stated = {l->name[index], (emp_array_type)l->type[index],
                                    (size_t)l->size[index], NULL};
    emp_h5_array          array = emp_h5_of_named(&stated, "weights", name);
    if (!emp_h5_has_array(image, &array)) return emp_h5_lacks_array(&array, path, err);
    const emp_status st =
        emp_weights_add(w, stated.name, stated.type, l->size[index], &why);
    if (st != EMP_OK)
        return EMP_ERROR(st == EMP_EINVAL ? EMP_EFORMAT : st, "%s: %s", path, why.msg);
    array.values = w->array[index].values;
    return emp_h5_read_array(image, &array) ? EMP_OK
                                            : emp_h5_lacks_array(&array, path, err);
}

static emp_status read_weights(const emp_h5_image *image, void *object, const char *path,
                               emp_error *err)
{
    emp_status   st = EMP_OK;
    emp_weights *w = (emp_weights *)object;
    listing     *l = EMP_NEW(listing);

    if (l == NULL) EMP_FAIL(EMP_ENOMEM, "list of weights");
    for (int i = 0; i < FIELDS; i++) {
        if (!emp_h5_read_field(image, &fields[i], w))
            EMP_FAIL(EMP_EFORMAT, "%s is torn: it lacks the field \"%s\"", path,
                     fields[i].name);
    }
    const int32_t count = w->array_count;
    w->array_count = 0;
    EMP_TRY(read_listing(image, l, count, path, err));
    EMP_TRY(check_packed_size(image, l, count, path, err));
    for (int32_t i = 0; i < count; i++) EMP_TRY(read_array(image, w, l, i, path, err));

cleanup:
    emp_free(l);
    return st;
}

emp_status emp_weights_load(emp_weights *weights, const char *path, emp_error *err)
{
    static const char *const formats[] = {FORMAT, NULL};

    *weights = (emp_weights){0};
    return emp_h5_load(path, formats, "file of weights", read_weights, weights, err);
}

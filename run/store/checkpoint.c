// SPDX-License-Identifier: GPL-3.0-or-later
#include "run/store/checkpoint.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "run/store/store_internal.h"

static const emp_h5_field times_spent[] = {
    {"elapsed_s", EMP_H5_DOUBLE, offsetof(emp_checkpoint, elapsed_s), 0},
    {"cpu_s", EMP_H5_DOUBLE, offsetof(emp_checkpoint, cpu_s), 0}};
enum { TIMES_SPENT = sizeof times_spent / sizeof *times_spent };

static const emp_h5_field code_field = {"code", EMP_H5_TEXT,
                                        offsetof(emp_checkpoint, code),
                                        sizeof((emp_checkpoint *)0)->code};
static const emp_h5_field kernels_field = {"kernels", EMP_H5_TEXT,
                                           offsetof(emp_checkpoint, kernels),
                                           sizeof((emp_checkpoint *)0)->kernels};

static emp_h5_array feasible_times(const emp_record *r)
{
    return (emp_h5_array){"feasible_s", EMP_H5_DOUBLE, (uint64_t)r->feasible_count, 0,
                          r->feasible_s};
}

static bool write_checkpoint(emp_h5_file file, const void *object)
{
    const emp_checkpoint *c = (const emp_checkpoint *)object;
    const emp_h5_array    times = feasible_times(c->record);
    char                  name[EMP_H5_ARRAY_NAME_BYTES];
    bool                  is_written =
        emp_h5_write_record(file, c->record) && emp_h5_write_array(file, &times);

    for (int i = 0; i < TIMES_SPENT && is_written; i++)
        is_written = emp_h5_write_field(file, &times_spent[i], c);
    is_written = is_written && emp_h5_write_field(file, &code_field, c) &&
                 emp_h5_write_field(file, &kernels_field, c);
    for (int32_t i = 0; i < c->array_count && is_written; i++) {
        const emp_h5_array array = emp_h5_of_named(&c->array[i], "method_state", name);
        is_written = emp_h5_write_array(file, &array);
    }
    return is_written;
}

emp_status emp_checkpoint_save(const char *path, const emp_checkpoint *checkpoint,
                               emp_error *err)
{
    return emp_h5_save(path, EMP_H5_CHECKPOINT_FORMAT, write_checkpoint, checkpoint, err);
}

/* Sizes as the run has them. */
static bool sizes_fit(const emp_record *so_far, const emp_record *run)
{
    return so_far->decision.op_count == run->decision.op_count &&
           so_far->device_count == run->device_count;
}

/* Learners sum floats, in the order that the compiler has chosen. */
static emp_status check_code(const emp_h5_image *image, emp_checkpoint *c,
                             const char *path, emp_error *err)
{
    char own[sizeof c->code];

    memcpy(own, c->code, sizeof own);
    if (!emp_h5_read_field(image, &code_field, c) ||
        !emp_h5_read_field(image, &kernels_field, c))
        return EMP_ERROR(EMP_EFORMAT, "%s is torn: it lacks the field \"code\"", path);
    if (strcmp(own, c->code) == 0) return EMP_OK;
    return EMP_ERROR(
        EMP_EINVAL,
        "%s was written by an emplace that was built by %s; this one was built "
        "by %s and would end with a record that neither makes; go on with that "
        "one, or remove %s to start anew",
        path, c->code, own, path);
}

static emp_status read_times(const emp_h5_image *image, emp_record *r, const char *path,
                             emp_error *err)
{
    emp_h5_array times = feasible_times(r);

    if (!emp_h5_has_array(image, &times)) return emp_h5_lacks_array(&times, path, err);
    EMP_CHECK(EMP_ALLOC(r->feasible_s, (size_t)r->feasible_count));
    times.values = r->feasible_s;
    return emp_h5_read_array(image, &times) ? EMP_OK
                                            : emp_h5_lacks_array(&times, path, err);
}

static emp_status check_progress(const emp_checkpoint *checkpoint,
                                 const emp_record *so_far, const char *path,
                                 emp_error *err)
{
    if (!emp_h5_is_amount(checkpoint->elapsed_s) ||
        !emp_h5_is_amount_or_none(checkpoint->cpu_s))
        return EMP_ERROR(EMP_EFORMAT, "%s is damaged: it took %g s, %g s of a CPU", path,
                         checkpoint->elapsed_s, checkpoint->cpu_s);
    for (int64_t i = 0; i < so_far->feasible_count; i++) {
        if (!emp_h5_is_amount(so_far->feasible_s[i]))
            return EMP_ERROR(EMP_EFORMAT,
                             "%s is damaged: candidate %" PRId64 " takes %g s", path, i,
                             so_far->feasible_s[i]);
    }
    return EMP_OK;
}

static emp_status read_checkpoint(const emp_h5_image *image, void *object,
                                  const char *path, emp_error *err)
{
    emp_status      st = EMP_OK;
    emp_checkpoint *c = (emp_checkpoint *)object;
    emp_record     *so_far = EMP_NEW(emp_record);
    char            name[EMP_H5_ARRAY_NAME_BYTES];

    if (so_far == NULL) EMP_FAIL(EMP_ENOMEM, "record of a checkpoint");
    EMP_TRY(emp_h5_read_record(image, so_far, path, err));
    EMP_TRY(emp_h5_check_same_run(so_far, c->record, path, err));
    if (!sizes_fit(so_far, c->record))
        EMP_FAIL(EMP_EFORMAT, "%s is damaged: %d devices, %d ops", path,
                 so_far->device_count, so_far->decision.op_count);
    EMP_TRY(check_code(image, c, path, err));
    EMP_TRY(read_times(image, so_far, path, err));
    for (int i = 0; i < TIMES_SPENT; i++) {
        if (!emp_h5_read_field(image, &times_spent[i], c))
            EMP_FAIL(EMP_EFORMAT, "%s is torn: it lacks the field \"%s\"", path,
                     times_spent[i].name);
    }
    EMP_TRY(check_progress(c, so_far, path, err));
    for (int32_t i = 0; i < c->array_count; i++) {
        const emp_h5_array array = emp_h5_of_named(&c->array[i], "method_state", name);
        if (!emp_h5_read_array(image, &array))
            EMP_TRY(emp_h5_lacks_array(&array, path, err));
    }
    so_far->op_name = c->record->op_name;
    so_far->machine_text = c->record->machine_text;
    emp_record_clear(c->record);
    *c->record = *so_far;
    *so_far = (emp_record){0};

cleanup:
    if (so_far != NULL) emp_record_clear(so_far);
    emp_free(so_far);
    return st;
}

emp_status emp_checkpoint_load(emp_checkpoint *checkpoint, const char *path,
                               emp_error *err)
{
    static const char *const formats[] = {EMP_H5_CHECKPOINT_FORMAT, NULL};

    return emp_h5_load(path, formats, "checkpoint", read_checkpoint, checkpoint, err);
}

#define WEIGHTS_FORMAT "emplace-weights-1"

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

/* The types and sizes of the arrays. */
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
    return emp_h5_save(path, WEIGHTS_FORMAT, write_weights, weights, err);
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
    static const char *const formats[] = {WEIGHTS_FORMAT, NULL};

    *weights = (emp_weights){0};
    return emp_h5_load(path, formats, "file of weights", read_weights, weights, err);
}

#define COLUMNS_FORMAT "emplace-columns-1"

_Static_assert((int)EMP_COLUMN_TEXT_BYTES == (int)EMP_H5_NAME_BYTES,
               "a text is what arrays hold");

static emp_h5_array array_of(const emp_columns *c, int32_t index)
{
    static const emp_h5_type type[] = {EMP_H5_TEXT, EMP_H5_INT64, EMP_H5_DOUBLE};
    const emp_column        *column = &c->column[index];

    return (emp_h5_array){column->name, type[column->type], (uint64_t)c->row_count, 0,
                          column->values};
}

static emp_h5_field field_of(const emp_columns_text *text)
{
    return (emp_h5_field){text->key, EMP_H5_TEXT, offsetof(emp_columns_text, value),
                          sizeof text->value};
}

static bool write_columns(emp_h5_file file, const void *object)
{
    const emp_columns *c = (const emp_columns *)object;

    for (int32_t i = 0; i < c->text_count; i++) {
        emp_h5_field field = field_of(&c->text[i]);
        if (!emp_h5_write_field(file, &field, &c->text[i])) return false;
    }
    for (int32_t i = 0; i < c->column_count; i++) {
        emp_h5_array array = array_of(c, i);
        if (!emp_h5_write_array(file, &array)) return false;
    }
    return true;
}

static emp_status read_columns(const emp_h5_image *image, void *object, const char *path,
                               emp_error *err)
{
    emp_columns *c = (emp_columns *)object;

    for (int32_t i = 0; i < c->text_count; i++) {
        emp_h5_field field = field_of(&c->text[i]);
        if (!emp_h5_read_field(image, &field, &c->text[i]))
            return EMP_ERROR(EMP_EFORMAT, "%s has no text %s", path, c->text[i].key);
    }
    for (int32_t i = 0; i < c->column_count; i++) {
        emp_h5_array array = array_of(c, i);
        if (!emp_h5_read_array(image, &array))
            return EMP_ERROR(EMP_EFORMAT, "%s has no column %s of %lld values", path,
                             c->column[i].name, (long long)c->row_count);
    }
    return EMP_OK;
}

emp_status emp_columns_save(const char *path, const emp_columns *columns, emp_error *err)
{
    return emp_h5_save(path, COLUMNS_FORMAT, write_columns, columns, err);
}

emp_status emp_columns_load(emp_columns *columns, const char *path, emp_error *err)
{
    static const char *const formats[] = {COLUMNS_FORMAT, NULL};

    return emp_h5_load(path, formats, "table", read_columns, columns, err);
}

// SPDX-License-Identifier: GPL-3.0-or-later
#include "run/store/checkpoint.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "run/store/h5_internal.h"

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
    EMP_TRY(emp_h5_check_progress(c, so_far, path, err));
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

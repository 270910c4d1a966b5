// SPDX-License-Identifier: GPL-3.0-or-later
/* The texts that a record carries and its load leaves out: the names of its ops and its machine. */
#include <inttypes.h>
#include <stddef.h>
#include <string.h>

#include "base/mem.h"
#include "run/store/store_internal.h"

enum { MAX_MACHINE_BYTES = 1 << 24 };

const char *const emp_h5_record_formats[] = {EMP_H5_RECORD_FORMAT,
                                             EMP_H5_CHECKPOINT_FORMAT, NULL};

/* Only records that are saved with the names of their ops have this field, the size of the array
 * "op_name": all names, each with a 0 behind it. */
typedef struct {
    int32_t op_count;
    int64_t op_name_bytes;
} name_fields;

static const emp_h5_field name_count_field = {"op_count", EMP_H5_INT32,
                                              offsetof(name_fields, op_count), 0};
static const emp_h5_field name_bytes_field = {"op_name_bytes", EMP_H5_INT64,
                                              offsetof(name_fields, op_name_bytes), 0};

static emp_h5_array name_array(char *text, int64_t bytes)
{
    return (emp_h5_array){"op_name", EMP_H5_PACKED, (uint64_t)bytes, 0, text};
}

/* Likewise of the machine's text; without its terminator. */
typedef struct {
    int64_t machine_text_bytes;
} machine_fields;

static const emp_h5_field machine_bytes_field = {
    "machine_text_bytes", EMP_H5_INT64, offsetof(machine_fields, machine_text_bytes), 0};

static emp_h5_array machine_array(char *text, int64_t bytes)
{
    return (emp_h5_array){"machine_text", EMP_H5_PACKED, (uint64_t)bytes, 0, text};
}

/* ---- writing ---- */

bool emp_h5_write_machine(emp_h5_file file, const emp_record *r)
{
    machine_fields size = {(int64_t)strlen(r->machine_text)};
    char *text = emp_strdup(r->machine_text); /* arrays are listed to read, too */

    if (text == NULL) return false;
    const emp_h5_array array = machine_array(text, size.machine_text_bytes);
    bool is_written = emp_h5_write_field(file, &machine_bytes_field, &size) &&
                      emp_h5_write_array(file, &array);
    emp_free(text);
    return is_written;
}

bool emp_h5_write_names(emp_h5_file file, const emp_record *r)
{
    name_fields fields_of_names = {.op_count = r->decision.op_count};
    size_t      used = 0;

    for (int32_t op = 0; op < r->decision.op_count; op++)
        fields_of_names.op_name_bytes += (int64_t)strlen(r->op_name[op]) + 1;
    char *text = EMP_NEW_ARRAY(char, (size_t)fields_of_names.op_name_bytes);
    if (text == NULL) return false;
    for (int32_t op = 0; op < r->decision.op_count; op++) {
        size_t size = strlen(r->op_name[op]) + 1;
        memcpy(text + used, r->op_name[op], size);
        used += size;
    }
    const emp_h5_array array = name_array(text, fields_of_names.op_name_bytes);
    bool is_written = emp_h5_write_field(file, &name_bytes_field, &fields_of_names) &&
                      emp_h5_write_array(file, &array);
    emp_free(text);
    return is_written;
}

/* ---- reading ---- */

/* Every name ends within the text, and there is one for each op. */
static emp_status find_names(emp_op_names *names, size_t bytes, const char *path,
                             emp_error *err)
{
    const char *at = names->text, *end = names->text + bytes;

    EMP_CHECK(EMP_ALLOC(names->name, (size_t)names->count));
    for (int32_t op = 0; op < names->count; op++) {
        const char *zero = at < end ? memchr(at, '\0', (size_t)(end - at)) : NULL;
        if (zero == NULL)
            return EMP_ERROR(EMP_EFORMAT, "%s is damaged: op %d has no name", path, op);
        names->name[op] = at;
        at = zero + 1;
    }
    if (at != end)
        return EMP_ERROR(EMP_EFORMAT, "%s is damaged: it names more than its %d ops",
                         path, names->count);
    return EMP_OK;
}

static emp_status read_names(const emp_h5_image *image, void *object, const char *path,
                             emp_error *err)
{
    emp_op_names *names = (emp_op_names *)object;
    name_fields   size = {0};

    if (!emp_h5_read_field(image, &name_count_field, &size) || size.op_count < 0)
        return EMP_ERROR(EMP_EFORMAT, "%s is damaged: %d ops", path, size.op_count);
    if (!emp_h5_read_field(image, &name_bytes_field, &size))
        return EMP_ERROR(EMP_EUNSUPPORTED,
                         "%s does not name its ops, as it is of an older program", path);
    if (size.op_name_bytes < 0)
        return EMP_ERROR(EMP_EFORMAT, "%s is damaged: names of %" PRId64 " bytes", path,
                         size.op_name_bytes);
    emp_h5_array       array = name_array(NULL, size.op_name_bytes);
    const emp_h5_array devices = {"device_of_op", EMP_H5_INT32, (uint64_t)size.op_count,
                                  0, NULL};
    if (!emp_h5_has_array(image, &devices))
        return emp_h5_lacks_array(&devices, path, err);
    if (!emp_h5_has_array(image, &array)) return emp_h5_lacks_array(&array, path, err);
    names->count = size.op_count;
    EMP_CHECK(EMP_ALLOC(names->text, (size_t)size.op_name_bytes));
    array.values = names->text;
    if (!emp_h5_read_array(image, &array)) return emp_h5_lacks_array(&array, path, err);
    return find_names(names, (size_t)size.op_name_bytes, path, err);
}

emp_status emp_record_load_names(emp_op_names *names, const char *path, emp_error *err)
{
    memset(names, 0, sizeof *names);
    return emp_h5_load(path, emp_h5_record_formats, "run record", read_names, names, err);
}

void emp_op_names_clear(emp_op_names *names)
{
    emp_free(names->name);
    emp_free(names->text);
    memset(names, 0, sizeof *names);
}

static emp_status read_machine(const emp_h5_image *image, void *object, const char *path,
                               emp_error *err)
{
    char         **text = (char **)object;
    machine_fields size = {0};

    if (!emp_h5_read_field(image, &machine_bytes_field, &size))
        return EMP_ERROR(EMP_EUNSUPPORTED, "%s does not have the file of its machine",
                         path);
    if (size.machine_text_bytes < 0 || size.machine_text_bytes > MAX_MACHINE_BYTES)
        return EMP_ERROR(EMP_EFORMAT, "%s is damaged: a machine of %" PRId64 " bytes",
                         path, size.machine_text_bytes);
    emp_h5_array array = machine_array(NULL, size.machine_text_bytes);
    if (!emp_h5_has_array(image, &array)) return emp_h5_lacks_array(&array, path, err);
    EMP_CHECK(EMP_ALLOC(*text, (size_t)size.machine_text_bytes + 1));
    array.values = *text;
    if (!emp_h5_read_array(image, &array)) return emp_h5_lacks_array(&array, path, err);
    return EMP_OK;
}

emp_status emp_record_load_machine(char **text, const char *path, emp_error *err)
{
    *text = NULL;
    emp_status st =
        emp_h5_load(path, emp_h5_record_formats, "run record", read_machine, text, err);
    if (st == EMP_OK) return EMP_OK;
    emp_free(*text);
    *text = NULL;
    return st;
}

/* Whether what a file says can be said of a run. */
static emp_status check_counts(const emp_record *r, const char *path, emp_error *err)
{
    const struct {
        const char *name;
        int64_t     count;
    } counts[] = {{"evaluations", r->evaluations},
                  {"feasible_count", r->feasible_count},
                  {"budget_evaluations", r->budget_evaluations},
                  {"traffic_bytes", r->traffic_bytes}};

    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        if (counts[i].count < 0)
            return EMP_ERROR(EMP_EFORMAT, "%s is damaged: its %s is %" PRId64, path,
                             counts[i].name, counts[i].count);
    }
    if (r->feasible_count > r->evaluations)
        return EMP_ERROR(EMP_EFORMAT,
                         "%s is damaged: %" PRId64 " of %" PRId64 " candidates fit", path,
                         r->feasible_count, r->evaluations);
    return EMP_OK;
}

static emp_status check_times(const emp_record *r, const char *path, emp_error *err)
{
    if (!emp_h5_is_amount(r->budget_s))
        return EMP_ERROR(EMP_EFORMAT, "%s is damaged: its budget_s is %g", path,
                         r->budget_s);
    if (!emp_h5_is_amount(r->best_step_time_s))
        return EMP_ERROR(EMP_EFORMAT, "%s is damaged: its best_step_time_s is %g", path,
                         r->best_step_time_s);
    if (!emp_h5_is_amount_or_none(r->median_s))
        return EMP_ERROR(EMP_EFORMAT, "%s is damaged: its median_s is %g", path,
                         r->median_s);
    return EMP_OK;
}

static emp_status check_devices(const emp_record *r, const char *path, emp_error *err)
{
    for (int32_t d = 0; d < r->device_count; d++) {
        if (r->peak_bytes[d] < 0 || !emp_h5_is_amount(r->busy_s[d]))
            return EMP_ERROR(EMP_EFORMAT,
                             "%s is damaged: device %d has %" PRId64
                             " bytes and is busy for %g s",
                             path, d, r->peak_bytes[d], r->busy_s[d]);
    }
    for (int32_t op = 0; op < r->decision.op_count; op++) {
        if (r->decision.device_of_op[op] < 0 ||
            r->decision.device_of_op[op] >= r->device_count)
            return EMP_ERROR(EMP_EFORMAT, "%s is damaged: op %d is on device %d of %d",
                             path, op, r->decision.device_of_op[op], r->device_count);
        if (r->has_order && r->decision.level_of_op[op] >= EMP_LEVELS)
            return EMP_ERROR(EMP_EFORMAT, "%s is damaged: op %d has level %d of %d", path,
                             op, r->decision.level_of_op[op], EMP_LEVELS);
        if (r->has_fusion && (r->decision.leader_of_op[op] < 0 ||
                              r->decision.leader_of_op[op] >= r->decision.op_count))
            return EMP_ERROR(EMP_EFORMAT, "%s is damaged: op %d has leader %d of %d",
                             path, op, r->decision.leader_of_op[op],
                             r->decision.op_count);
    }
    return EMP_OK;
}

static emp_status check_curve(const emp_record *r, const char *path, emp_error *err)
{
    int64_t before = 0;

    for (int32_t i = 0; i < r->point_count; i++) {
        const emp_curve_point *p = &r->curve[i];
        if (p->evaluations < before || p->evaluations > r->evaluations ||
            p->feasible_count < 0 || p->feasible_count > p->evaluations ||
            !emp_h5_is_amount_or_none(p->best_s) || !emp_h5_is_amount_or_none(p->mean_s))
            return EMP_ERROR(EMP_EFORMAT,
                             "%s is damaged: point %d of its curve has %" PRId64
                             " evaluations, %" PRId64 " that fit, best %g s, mean %g s",
                             path, i, p->evaluations, p->feasible_count, p->best_s,
                             p->mean_s);
        before = p->evaluations;
    }
    return EMP_OK;
}

emp_status emp_h5_check_sense(const emp_record *record, const char *path, emp_error *err)
{
    EMP_CHECK(check_counts(record, path, err));
    EMP_CHECK(check_times(record, path, err));
    EMP_CHECK(check_devices(record, path, err));
    return check_curve(record, path, err);
}

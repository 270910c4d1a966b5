// SPDX-License-Identifier: GPL-3.0-or-later
#define _POSIX_C_SOURCE 200809L
#include "run/store/store.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/collections.h"
#include "base/mem.h"
#include "run/store/store_internal.h"

/* The scalars of a record, one HDF5 attribute each. The first ones say what run it is. */
#define FIELD(type, member)                                                          \
    {                                                                                \
#member, type, offsetof(emp_record, member), sizeof((emp_record *)0)->member \
    }

static const emp_h5_field fields[] = {
    FIELD(EMP_H5_TEXT, method),
    FIELD(EMP_H5_TEXT, preset),
    FIELD(EMP_H5_TEXT, options),
    FIELD(EMP_H5_TEXT, workload),
    FIELD(EMP_H5_TEXT, machine),
    FIELD(EMP_H5_TEXT, runtime),
    FIELD(EMP_H5_UINT64, seed),
    FIELD(EMP_H5_INT64, budget_evaluations),
    FIELD(EMP_H5_DOUBLE, budget_s),
    FIELD(EMP_H5_UINT64, graph_hash),
    FIELD(EMP_H5_UINT64, machine_hash),
    FIELD(EMP_H5_UINT64, runtime_hash),
    FIELD(EMP_H5_TEXT, version),
    FIELD(EMP_H5_TEXT, commit),
    FIELD(EMP_H5_BOOLEAN, is_dirty),
    FIELD(EMP_H5_TEXT, stopped_by),
    FIELD(EMP_H5_INT64, evaluations),
    FIELD(EMP_H5_INT64, feasible_count),
    FIELD(EMP_H5_DOUBLE, median_s),
    FIELD(EMP_H5_DOUBLE, best_step_time_s),
    FIELD(EMP_H5_BOOLEAN, is_feasible),
    FIELD(EMP_H5_TEXT, oom_device),
    FIELD(EMP_H5_INT64, traffic_bytes),
    FIELD(EMP_H5_UINT64, fingerprint),
    FIELD(EMP_H5_INT32, device_count),
    {"op_count", EMP_H5_INT32, offsetof(emp_record, decision.op_count), 0},
    FIELD(EMP_H5_INT32, point_count),
    FIELD(EMP_H5_INT32, metric_count),
};
enum { FIELD_COUNT = sizeof fields / sizeof *fields, IDENTITY_COUNT = 15 };

/* Only runs that ranks shared have these. */
static const emp_h5_field rank_fields[] = {FIELD(EMP_H5_INT32, ranks),
                                           FIELD(EMP_H5_BOOLEAN, is_async)};
enum { RANK_FIELD_COUNT = sizeof rank_fields / sizeof *rank_fields };

/* Only runs with such a budget have it. */
static const emp_h5_field clock_field = FIELD(EMP_H5_DOUBLE, budget_cpu_s);

/* Only runs that decide the order have it. */
static const emp_h5_field order_field = FIELD(EMP_H5_BOOLEAN, has_order);

/* Only runs that decide the fusion have it. */
static const emp_h5_field fusion_field = FIELD(EMP_H5_BOOLEAN, has_fusion);

/* Only runs with a start or weights have it. */
static const emp_h5_field start_field = FIELD(EMP_H5_UINT64, start_hash);
static const emp_h5_field weights_field = FIELD(EMP_H5_UINT64, weights_hash);

/* Only runs of a method from outside have it. */
static const emp_h5_field code_field = FIELD(EMP_H5_UINT64, method_hash);

/* Only runs whose problem was changed by options have it. */
static const emp_h5_field overrides_field = FIELD(EMP_H5_TEXT, overrides);

/* Only runs of a portfolio have it. */
static const emp_h5_field winner_field = FIELD(EMP_H5_TEXT, winner);

static emp_h5_array level_array(const emp_record *r)
{
    return (emp_h5_array){"level_of_op", EMP_H5_PACKED, (uint64_t)r->decision.op_count, 0,
                          r->decision.level_of_op};
}

static emp_h5_array leader_array(const emp_record *r)
{
    return (emp_h5_array){"leader_of_op", EMP_H5_INT32, (uint64_t)r->decision.op_count, 0,
                          r->decision.leader_of_op};
}

/* The arrays of a record, one HDF5 dataset each. */
enum { MAX_ARRAYS = 7 };

static int list_arrays(emp_record *r, emp_h5_array arrays[MAX_ARRAYS])
{
    uint64_t devices = (uint64_t)r->device_count, metrics = (uint64_t)r->metric_count;
    uint64_t points = (uint64_t)r->point_count;
    const emp_h5_array all[MAX_ARRAYS] = {
        {"device_name", EMP_H5_TEXT, devices, 0, r->device_name},
        {"peak_bytes", EMP_H5_INT64, devices, 0, r->peak_bytes},
        {"busy_s", EMP_H5_DOUBLE, devices, 0, r->busy_s},
        {"device_of_op", EMP_H5_INT32, (uint64_t)r->decision.op_count, 0,
         r->decision.device_of_op},
        {"curve", EMP_H5_CURVE, points, 0, r->curve},
        {"metric_name", EMP_H5_TEXT, metrics, 0, r->metric_name},
        {"metric", EMP_H5_DOUBLE, points, metrics, r->metric},
    };

    memcpy(arrays, all, sizeof all);
    return metrics > 0 ? MAX_ARRAYS : MAX_ARRAYS - 2;
}

/* ---- writing ---- */

bool emp_h5_write_record(emp_h5_file file, const void *record)
{
    emp_h5_array arrays[MAX_ARRAYS];
    emp_record   copy = *(const emp_record *)record; /* arrays are listed to read, too */
    int          array_count = list_arrays(&copy, arrays);
    bool         is_written = true;

    for (int i = 0; i < FIELD_COUNT && is_written; i++) {
        is_written = emp_h5_write_field(file, &fields[i], record);
    }
    for (int i = 0; i < RANK_FIELD_COUNT && is_written && copy.ranks > 1; i++) {
        is_written = emp_h5_write_field(file, &rank_fields[i], record);
    }
    if (is_written && copy.budget_cpu_s > 0)
        is_written = emp_h5_write_field(file, &clock_field, record);
    for (int i = 0; i < array_count && is_written; i++) {
        is_written = emp_h5_write_array(file, &arrays[i]);
    }
    if (is_written && copy.start_hash != 0)
        is_written = emp_h5_write_field(file, &start_field, record);
    if (is_written && copy.winner[0] != '\0')
        is_written = emp_h5_write_field(file, &winner_field, record);
    if (is_written && copy.overrides[0] != '\0')
        is_written = emp_h5_write_field(file, &overrides_field, record);
    if (is_written && copy.weights_hash != 0)
        is_written = emp_h5_write_field(file, &weights_field, record);
    if (is_written && copy.method_hash != 0)
        is_written = emp_h5_write_field(file, &code_field, record);
    if (is_written && copy.has_order) {
        const emp_h5_array levels = level_array(&copy);
        is_written = emp_h5_write_field(file, &order_field, record) &&
                     emp_h5_write_array(file, &levels);
    }
    if (is_written && copy.has_fusion) {
        const emp_h5_array leaders = leader_array(&copy);
        is_written = emp_h5_write_field(file, &fusion_field, record) &&
                     emp_h5_write_array(file, &leaders);
    }
    if (is_written && copy.op_name != NULL) is_written = emp_h5_write_names(file, &copy);
    if (is_written && copy.machine_text != NULL)
        is_written = emp_h5_write_machine(file, &copy);
    return is_written;
}

emp_status emp_record_save(const char *path, const emp_record *record, emp_error *err)
{
    return emp_h5_save(path, EMP_H5_RECORD_FORMAT, emp_h5_write_record, record, err);
}

/* ---- reading ---- */

static bool sizes_are_sane(const emp_record *r)
{
    return r->device_count >= 0 && r->device_count <= EMP_MAX_DEVICES &&
           r->decision.op_count >= 0 && r->point_count >= 0 && r->metric_count >= 0 &&
           r->metric_count <= EMP_MAX_METRICS;
}

static emp_status read_fields(const emp_h5_image *image, emp_record *r, const char *path,
                              emp_error *err)
{
    for (int i = 0; i < FIELD_COUNT; i++) {
        if (!emp_h5_read_field(image, &fields[i], r)) {
            return EMP_ERROR(EMP_EFORMAT, "%s is torn: it lacks the field \"%s\"", path,
                             fields[i].name);
        }
    }
    if (!sizes_are_sane(r)) {
        return EMP_ERROR(
            EMP_EFORMAT, "%s is damaged: %d devices, %d ops, %d tells, %d metrics", path,
            r->device_count, r->decision.op_count, r->point_count, r->metric_count);
    }
    return EMP_OK;
}

/* Reads the fields that only some records have. */
static emp_status read_more_fields(const emp_h5_image *image, emp_record *r,
                                   const char *path, emp_error *err)
{
    r->ranks = 0;
    r->is_async = r->has_order = r->has_fusion = false;
    if (emp_h5_read_field(image, &rank_fields[0], r) &&
        (r->ranks < 2 || !emp_h5_read_field(image, &rank_fields[1], r))) {
        return EMP_ERROR(EMP_EFORMAT, "%s is damaged: %d ranks", path, r->ranks);
    }
    r->budget_cpu_s = 0;
    if (emp_h5_read_field(image, &clock_field, r) && !(r->budget_cpu_s > 0))
        return EMP_ERROR(EMP_EFORMAT, "%s is damaged: a budget of %g CPU seconds", path,
                         r->budget_cpu_s);
    r->start_hash = r->weights_hash = r->method_hash = 0;
    (void)emp_h5_read_field(image, &start_field, r);
    if (!emp_h5_read_field(image, &winner_field, r)) r->winner[0] = '\0';
    if (!emp_h5_read_field(image, &overrides_field, r)) r->overrides[0] = '\0';
    (void)emp_h5_read_field(image, &weights_field, r);
    (void)emp_h5_read_field(image, &code_field, r);
    (void)emp_h5_read_field(image, &order_field, r);
    (void)emp_h5_read_field(image, &fusion_field, r);
    return EMP_OK;
}

/* Reads the arrays. Before memory is taken all of them must be there, as long as the fields say. */
static emp_status read_arrays(const emp_h5_image *image, emp_record *r, const char *path,
                              emp_error *err)
{
    emp_h5_array arrays[MAX_ARRAYS + 2];
    bool         is_there = true;

    for (int pass = 0; pass < 2; pass++) {
        int count = list_arrays(r, arrays);
        if (r->has_order) arrays[count++] = level_array(r);
        if (r->has_fusion) arrays[count++] = leader_array(r);
        for (int i = 0; i < count; i++) {
            is_there = pass == 0 ? emp_h5_has_array(image, &arrays[i])
                                 : emp_h5_read_array(image, &arrays[i]);
            if (!is_there) return emp_h5_lacks_array(&arrays[i], path, err);
        }
        if (pass > 0) break;
        EMP_CHECK(emp_decision_init(&r->decision, r->decision.op_count,
                                    (r->has_order ? EMP_DECIDES_ORDER : 0) |
                                        (r->has_fusion ? EMP_DECIDES_FUSION : 0),
                                    err));
        EMP_CHECK(EMP_ALLOC(r->curve, (size_t)r->point_count));
        EMP_CHECK(EMP_ALLOC(r->metric, (size_t)r->point_count * (size_t)r->metric_count));
    }
    for (int32_t i = 0; i < r->device_count; i++)
        r->device_name[i][EMP_H5_NAME_BYTES - 1] = '\0';
    for (int32_t i = 0; i < r->metric_count; i++)
        r->metric_name[i][EMP_H5_NAME_BYTES - 1] = '\0';
    return EMP_OK;
}

emp_status emp_h5_read_record(const emp_h5_image *image, void *record, const char *path,
                              emp_error *err)
{
    emp_record *r = (emp_record *)record;

    EMP_CHECK(read_fields(image, r, path, err));
    EMP_CHECK(read_more_fields(image, r, path, err));
    EMP_CHECK(read_arrays(image, r, path, err));
    return emp_h5_check_sense(r, path, err);
}

emp_status emp_record_load(emp_record *record, const char *path, emp_error *err)
{
    memset(record, 0, sizeof *record);
    return emp_h5_load(path, emp_h5_record_formats, "run record", emp_h5_read_record,
                       record, err);
}

emp_decision_origin emp_record_origin(const emp_record *r)
{
    emp_decision_origin origin = {.run = emp_record_identity(r),
                                  .step_time_s =
                                      r->is_feasible ? r->best_step_time_s : -1.0};

    snprintf(origin.workload, sizeof origin.workload, "%s", r->workload);
    snprintf(origin.machine, sizeof origin.machine, "%s", r->machine);
    snprintf(origin.runtime, sizeof origin.runtime, "%s", r->runtime);
    return origin;
}

const char *emp_record_decides(const emp_record *record)
{
    if (record->has_fusion)
        return record->has_order ? "devices,order,fusion" : "devices,fusion";
    return record->has_order ? "devices,order" : "devices";
}

/* ---- comparing ---- */

static void print_value(char *text, size_t size, const emp_h5_field *field,
                        const emp_record *record)
{
    const void *value = (const char *)record + field->offset;

    switch (field->type) {
    case EMP_H5_TEXT: snprintf(text, size, "\"%s\"", (const char *)value); return;
    case EMP_H5_INT64: snprintf(text, size, "%" PRId64, *(const int64_t *)value); return;
    case EMP_H5_UINT64:
        snprintf(text, size, "%" PRIu64, *(const uint64_t *)value);
        return;
    case EMP_H5_DOUBLE: snprintf(text, size, "%.17g", *(const double *)value); return;
    default: snprintf(text, size, "%d", *(const bool *)value); return;
    }
}

enum { DIFFERENCE_BYTES = EMP_RECORD_DIFFERENCE_BYTES };

static int32_t rank_count(const emp_record *r) { return r->ranks > 1 ? r->ranks : 1; }

bool emp_record_differs(char text[DIFFERENCE_BYTES], const emp_record *there,
                        const emp_record *here)
{
    int32_t their_ranks = rank_count(there), our_ranks = rank_count(here);
    char    theirs[EMP_RECORD_TEXT_BYTES + 8], ours[EMP_RECORD_TEXT_BYTES + 8];

    if (there->has_order != here->has_order) {
        snprintf(text, DIFFERENCE_BYTES, "the order is %s there",
                 there->has_order ? "decided, too," : "not decided");
        return true;
    }
    if (there->has_fusion != here->has_fusion) {
        snprintf(text, DIFFERENCE_BYTES, "the fusion is %s there",
                 there->has_fusion ? "decided, too," : "not decided");
        return true;
    }
    if (strcmp(there->overrides, here->overrides) != 0) {
        snprintf(text, DIFFERENCE_BYTES,
                 "options of its problem \"%s\" there, \"%s\" here", there->overrides,
                 here->overrides);
        return true;
    }
    if (there->start_hash != here->start_hash) {
        snprintf(text, DIFFERENCE_BYTES, "it began at another placement");
        return true;
    }
    if (there->weights_hash != here->weights_hash) {
        snprintf(text, DIFFERENCE_BYTES, "it began with other weights");
        return true;
    }
    if (there->budget_cpu_s != here->budget_cpu_s) {
        snprintf(text, DIFFERENCE_BYTES, "budget_cpu_s %.17g there, %.17g here",
                 there->budget_cpu_s, here->budget_cpu_s);
        return true;
    }
    if (their_ranks != our_ranks || there->is_async != here->is_async) {
        bool is_count = their_ranks != our_ranks;
        snprintf(text, DIFFERENCE_BYTES, "%s %d there, %d here",
                 is_count ? "ranks" : "async", is_count ? their_ranks : there->is_async,
                 is_count ? our_ranks : here->is_async);
        return true;
    }
    for (int i = 0; i < IDENTITY_COUNT; i++) {
        print_value(theirs, sizeof theirs, &fields[i], there);
        print_value(ours, sizeof ours, &fields[i], here);
        if (strcmp(theirs, ours) == 0) continue;
        snprintf(text, DIFFERENCE_BYTES, "%s %s there, %s here", fields[i].name, theirs,
                 ours);
        return true;
    }
    if (there->method_hash != here->method_hash) {
        snprintf(text, DIFFERENCE_BYTES, "the code of method %s has changed since",
                 there->method);
        return true;
    }
    return false;
}

uint64_t emp_record_identity(const emp_record *record)
{
    const int32_t shared[] = {rank_count(record), record->is_async};
    char          text[EMP_RECORD_TEXT_BYTES + 8];
    uint64_t      hash = emp_hash_bytes(EMP_HASH_SEED, shared, sizeof shared);

    for (int i = 0; i < IDENTITY_COUNT; i++) {
        print_value(text, sizeof text, &fields[i], record);
        hash = emp_hash_bytes(hash, text, strlen(text) + 1);
    }
    if (record->budget_cpu_s > 0) {
        uint64_t clock_bits;
        memcpy(&clock_bits, &record->budget_cpu_s, sizeof clock_bits);
        hash = emp_hash_u64(hash, clock_bits);
    }
    if (record->has_order) hash = emp_hash_u64(hash, 1);
    if (record->has_fusion) hash = emp_hash_u64(hash, 2);
    if (record->start_hash != 0) hash = emp_hash_u64(hash, record->start_hash);
    if (record->weights_hash != 0) hash = emp_hash_u64(hash, record->weights_hash);
    if (record->method_hash != 0) hash = emp_hash_u64(hash, record->method_hash);
    if (record->overrides[0] != '\0')
        hash = emp_hash_bytes(hash, record->overrides, strlen(record->overrides));
    return hash != 0 ? hash : 1;
}

emp_status emp_h5_check_same_run(const emp_record *there, const emp_record *here,
                                 const char *path, emp_error *err)
{
    char text[DIFFERENCE_BYTES];

    if (!emp_record_differs(text, there, here)) return EMP_OK;
    return EMP_ERROR(EMP_EINVAL,
                     "%s is of another run: %s; give that run's options, or remove %s to "
                     "start anew",
                     path, text, path);
}

emp_status emp_record_check_replaced(const char *path, const emp_record *run,
                                     emp_error *err)
{
    char       text[DIFFERENCE_BYTES] = "it cannot be read";
    emp_record there;
    emp_error  unread = {0};

    if (access(path, F_OK) != 0) return EMP_OK;
    emp_status st = emp_record_load(&there, path, &unread);
    bool       is_other = st != EMP_OK || emp_record_differs(text, &there, run);
    if (!is_other &&
        emp_h5_check_format(path, EMP_H5_RECORD_FORMAT, "run record", NULL) != EMP_OK) {
        is_other = true;
        snprintf(text, sizeof text, "it is the checkpoint of a run");
    }
    emp_record_clear(&there);
    if (st == EMP_ENOMEM) return EMP_ERROR(st, "%s", unread.msg);
    if (!is_other) return EMP_OK;
    return EMP_ERROR(EMP_EINVAL,
                     "%s is not a record of this run, but would be replaced: %s; name "
                     "another file, or give --force",
                     path, text);
}

void emp_record_clear(emp_record *record)
{
    emp_decision_clear(&record->decision);
    emp_free(record->curve);
    emp_free(record->metric);
    emp_free(record->feasible_s);
    memset(record, 0, sizeof *record);
}

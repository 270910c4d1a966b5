// SPDX-License-Identifier: GPL-3.0-or-later
#include "sim/store/store.h"

#include <hdf5.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"

#define FORMAT "emplace-run-1"

/* The longest arrays that a record may hold; a hostile file cannot ask for more. */
enum { MAX_OPS = 1 << 26, MAX_POINTS = 1 << 26 };

static pthread_mutex_t library_lock = PTHREAD_MUTEX_INITIALIZER;

/* The scalars of a record, one HDF5 attribute each. */
typedef enum { TEXT, INT64, UINT64, DOUBLE, BOOLEAN, INT32 } field_type;

struct field {
    const char *name;
    field_type  type;
    size_t      offset;
    size_t      size; /**< of a text */
};

#define FIELD(type, member)                                                          \
    {                                                                                \
#member, type, offsetof(emp_record, member), sizeof((emp_record *)0)->member \
    }

static const struct field fields[] = {
    FIELD(TEXT, method),         FIELD(TEXT, preset),
    FIELD(TEXT, options),        FIELD(TEXT, workload),
    FIELD(TEXT, machine),        FIELD(TEXT, runtime),
    FIELD(UINT64, seed),         FIELD(INT64, budget_evaluations),
    FIELD(DOUBLE, budget_s),     FIELD(UINT64, graph_hash),
    FIELD(UINT64, machine_hash), FIELD(UINT64, runtime_hash),
    FIELD(TEXT, version),        FIELD(TEXT, commit),
    FIELD(BOOLEAN, is_dirty),    FIELD(TEXT, stopped_by),
    FIELD(INT64, evaluations),   FIELD(INT64, feasible_count),
    FIELD(DOUBLE, median_s),     FIELD(DOUBLE, best_step_time_s),
    FIELD(BOOLEAN, is_feasible), FIELD(TEXT, oom_device),
    FIELD(INT64, traffic_bytes), FIELD(UINT64, fingerprint),
    FIELD(INT32, device_count),  FIELD(INT32, op_count),
    FIELD(INT32, point_count),   FIELD(INT32, metric_count),
};
enum { FIELD_COUNT = sizeof fields / sizeof *fields };

static const struct field format_field = {"format", TEXT, 0, EMP_RECORD_NAME_BYTES};

/* ---- types ---- */

/* Fixed-length text: variable-length strings would live in a heap whose layout HDF5
 * decides. */
static hid_t create_text_type(size_t size)
{
    hid_t type = H5Tcopy(H5T_C_S1);

    if (type >= 0 && H5Tset_size(type, size) < 0) {
        H5Tclose(type);
        return H5I_INVALID_HID;
    }
    return type;
}

/* The type of a field in memory or, little-endian on every machine, in the file. */
static hid_t create_field_type(const struct field *field, bool in_file)
{
    switch (field->type) {
    case TEXT: return create_text_type(field->size);
    case INT64: return H5Tcopy(in_file ? H5T_STD_I64LE : H5T_NATIVE_INT64);
    case UINT64: return H5Tcopy(in_file ? H5T_STD_U64LE : H5T_NATIVE_UINT64);
    case DOUBLE: return H5Tcopy(in_file ? H5T_IEEE_F64LE : H5T_NATIVE_DOUBLE);
    case BOOLEAN: return H5Tcopy(in_file ? H5T_STD_U8LE : H5T_NATIVE_UINT8);
    case INT32: return H5Tcopy(in_file ? H5T_STD_I32LE : H5T_NATIVE_INT32);
    }
    return H5I_INVALID_HID;
}

static hid_t create_curve_type(bool in_file)
{
    hid_t integer = in_file ? H5T_STD_I64LE : H5T_NATIVE_INT64;
    hid_t real = in_file ? H5T_IEEE_F64LE : H5T_NATIVE_DOUBLE;
    hid_t type = H5Tcreate(H5T_COMPOUND, sizeof(emp_curve_point));

    if (type < 0) return type;
    if (H5Tinsert(type, "evaluations", offsetof(emp_curve_point, evaluations), integer) <
            0 ||
        H5Tinsert(type, "feasible_count", offsetof(emp_curve_point, feasible_count),
                  integer) < 0 ||
        H5Tinsert(type, "best_s", offsetof(emp_curve_point, best_s), real) < 0 ||
        H5Tinsert(type, "mean_s", offsetof(emp_curve_point, mean_s), real) < 0) {
        H5Tclose(type);
        return H5I_INVALID_HID;
    }
    return type;
}

/* ---- writing ---- */

static bool write_attribute(hid_t file, const struct field *field, const void *base)
{
    const void *value = (const char *)base + field->offset;
    hid_t       memory = create_field_type(field, false);
    hid_t       stored = create_field_type(field, true);
    hid_t       space = H5Screate(H5S_SCALAR);
    hid_t       attribute =
        H5Acreate2(file, field->name, stored, space, H5P_DEFAULT, H5P_DEFAULT);
    bool is_written = attribute >= 0 && H5Awrite(attribute, memory, value) >= 0;

    if (attribute >= 0) H5Aclose(attribute);
    H5Sclose(space);
    H5Tclose(stored);
    H5Tclose(memory);
    return is_written;
}

/* Writes rows x columns values (columns 0: one dimension); takes over both types. */
static bool write_array(hid_t file, const char *name, hid_t memory, hid_t stored,
                        hsize_t rows, hsize_t columns, const void *values)
{
    const hsize_t extent[2] = {rows, columns};
    hid_t         space = H5Screate_simple(columns == 0 ? 1 : 2, extent, NULL);
    hid_t         settings = H5Pcreate(H5P_DATASET_CREATE);
    hid_t         dataset = H5I_INVALID_HID;

    if (H5Pset_obj_track_times(settings, false) >= 0) {
        dataset =
            H5Dcreate2(file, name, stored, space, H5P_DEFAULT, settings, H5P_DEFAULT);
    }
    bool is_written = dataset >= 0 && H5Dwrite(dataset, memory, H5S_ALL, H5S_ALL,
                                               H5P_DEFAULT, values) >= 0;

    if (dataset >= 0) H5Dclose(dataset);
    H5Pclose(settings);
    H5Sclose(space);
    H5Tclose(stored);
    H5Tclose(memory);
    return is_written;
}

static bool write_arrays(hid_t file, const emp_record *r)
{
    hsize_t devices = (hsize_t)r->device_count, points = (hsize_t)r->point_count;
    hsize_t metrics = (hsize_t)r->metric_count;
    size_t  name_bytes = sizeof r->device_name[0];

    if (!write_array(file, "device_name", create_text_type(name_bytes),
                     create_text_type(name_bytes), devices, 0, r->device_name) ||
        !write_array(file, "peak_bytes", H5Tcopy(H5T_NATIVE_INT64),
                     H5Tcopy(H5T_STD_I64LE), devices, 0, r->peak_bytes) ||
        !write_array(file, "busy_s", H5Tcopy(H5T_NATIVE_DOUBLE), H5Tcopy(H5T_IEEE_F64LE),
                     devices, 0, r->busy_s) ||
        !write_array(file, "device_of_op", H5Tcopy(H5T_NATIVE_INT32),
                     H5Tcopy(H5T_STD_I32LE), (hsize_t)r->op_count, 0, r->device_of_op) ||
        !write_array(file, "curve", create_curve_type(false), create_curve_type(true),
                     points, 0, r->curve)) {
        return false;
    }
    if (metrics == 0) return true;
    return write_array(file, "metric_name", create_text_type(name_bytes),
                       create_text_type(name_bytes), metrics, 0, r->metric_name) &&
           write_array(file, "metric", H5Tcopy(H5T_NATIVE_DOUBLE),
                       H5Tcopy(H5T_IEEE_F64LE), points, metrics, r->metric);
}

static bool write_file(const char *path, const emp_record *record)
{
    static const char format[EMP_RECORD_NAME_BYTES] = FORMAT;
    hid_t             settings = H5Pcreate(H5P_FILE_CREATE);
    bool              is_written = false;

    H5Pset_obj_track_times(settings, false);
    hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, settings, H5P_DEFAULT);
    H5Pclose(settings);
    if (file < 0) return false;

    is_written = write_attribute(file, &format_field, format);
    for (int i = 0; i < FIELD_COUNT && is_written; i++) {
        is_written = write_attribute(file, &fields[i], record);
    }
    is_written = is_written && write_arrays(file, record);
    return H5Fclose(file) >= 0 && is_written;
}

emp_status emp_record_save(const char *path, const emp_record *record, emp_error *err)
{
    emp_status st = EMP_OK;
    size_t     bytes = strlen(path) + sizeof ".4294967295.part";
    char      *part = EMP_NEW_ARRAY(char, bytes);

    if (part == NULL) EMP_FAIL(EMP_ENOMEM, "name of a temporary file beside %s", path);
    snprintf(part, bytes, "%s.%u.part", path, (unsigned)getpid());

    pthread_mutex_lock(&library_lock);
    bool is_written = write_file(part, record);
    pthread_mutex_unlock(&library_lock);
    if (!is_written || rename(part, path) != 0) {
        remove(part);
        EMP_FAIL(EMP_EIO, "cannot write the run record %s", path);
    }

cleanup:
    emp_free(part);
    return st;
}

/* ---- reading ---- */

/* False when there is no such attribute or it holds something else. */
static bool read_attribute(hid_t file, const struct field *field, void *base)
{
    char *value = (char *)base + field->offset;
    bool  is_read = false;
    hid_t attribute = H5Aopen(file, field->name, H5P_DEFAULT);

    if (attribute < 0) return false;
    hid_t stored = H5Aget_type(attribute);
    hid_t space = H5Aget_space(attribute);
    hid_t memory = create_field_type(field, false);
    if (H5Sget_simple_extent_type(space) == H5S_SCALAR &&
        H5Tget_class(stored) == H5Tget_class(memory) && H5Tis_variable_str(stored) <= 0) {
        is_read = H5Aread(attribute, memory, value) >= 0;
    }
    if (field->type == TEXT) value[field->size - 1] = '\0';
    if (field->type == BOOLEAN) *value = *value != 0; /* any other byte is no bool */
    H5Tclose(memory);
    H5Sclose(space);
    H5Tclose(stored);
    H5Aclose(attribute);
    return is_read;
}

/* Reads rows x columns values (columns 0: one dimension) of exactly that extent; takes
 * over the type. */
static bool read_array(hid_t file, const char *name, hid_t memory, hsize_t rows,
                       hsize_t columns, void *values)
{
    hsize_t extent[2] = {0, 0};
    bool    is_read = false;
    hid_t   dataset = H5Dopen2(file, name, H5P_DEFAULT);

    if (dataset >= 0) {
        hid_t space = H5Dget_space(dataset);
        hid_t stored = H5Dget_type(dataset);
        if (H5Sget_simple_extent_ndims(space) == (columns == 0 ? 1 : 2) &&
            H5Sget_simple_extent_dims(space, extent, NULL) >= 0 && extent[0] == rows &&
            extent[1] == columns && H5Tget_class(stored) == H5Tget_class(memory) &&
            H5Tis_variable_str(stored) <= 0) {
            is_read =
                H5Dread(dataset, memory, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >= 0;
        }
        H5Tclose(stored);
        H5Sclose(space);
        H5Dclose(dataset);
    }
    H5Tclose(memory);
    return is_read;
}

static bool sizes_are_sane(const emp_record *r)
{
    return r->device_count >= 0 && r->device_count <= EMP_MAX_DEVICES &&
           r->op_count >= 0 && r->op_count <= MAX_OPS && r->point_count >= 0 &&
           r->point_count <= MAX_POINTS && r->metric_count >= 0 &&
           r->metric_count <= EMP_MAX_METRICS;
}

static bool read_arrays(hid_t file, emp_record *r)
{
    hsize_t devices = (hsize_t)r->device_count, points = (hsize_t)r->point_count;
    hsize_t metrics = (hsize_t)r->metric_count;
    size_t  name_bytes = sizeof r->device_name[0];

    if (!read_array(file, "device_name", create_text_type(name_bytes), devices, 0,
                    r->device_name) ||
        !read_array(file, "peak_bytes", H5Tcopy(H5T_NATIVE_INT64), devices, 0,
                    r->peak_bytes) ||
        !read_array(file, "busy_s", H5Tcopy(H5T_NATIVE_DOUBLE), devices, 0, r->busy_s) ||
        !read_array(file, "device_of_op", H5Tcopy(H5T_NATIVE_INT32), (hsize_t)r->op_count,
                    0, r->device_of_op) ||
        !read_array(file, "curve", create_curve_type(false), points, 0, r->curve)) {
        return false;
    }
    if (metrics == 0) return true;
    return read_array(file, "metric_name", create_text_type(name_bytes), metrics, 0,
                      r->metric_name) &&
           read_array(file, "metric", H5Tcopy(H5T_NATIVE_DOUBLE), points, metrics,
                      r->metric);
}

static emp_status read_file(hid_t file, emp_record *r, const char *path, emp_error *err)
{
    emp_status st = EMP_OK;
    char       format[EMP_RECORD_NAME_BYTES] = "";

    if (!read_attribute(file, &format_field, format)) {
        EMP_FAIL(EMP_EFORMAT, "%s is an HDF5 file but no run record", path);
    }
    if (strcmp(format, FORMAT) != 0) {
        EMP_FAIL(EMP_EFORMAT, "%s is of format \"%s\"; this program reads \"%s\"", path,
                 format, FORMAT);
    }
    for (int i = 0; i < FIELD_COUNT; i++) {
        if (!read_attribute(file, &fields[i], r)) {
            EMP_FAIL(EMP_EFORMAT, "%s is torn: it lacks the field \"%s\"", path,
                     fields[i].name);
        }
    }
    if (!sizes_are_sane(r)) {
        EMP_FAIL(EMP_EFORMAT, "%s is damaged: %d devices, %d ops, %d tells, %d metrics",
                 path, r->device_count, r->op_count, r->point_count, r->metric_count);
    }
    r->device_of_op = EMP_NEW_ARRAY(emp_device_id, (size_t)r->op_count);
    r->curve = EMP_NEW_ARRAY(emp_curve_point, (size_t)r->point_count);
    r->metric = EMP_NEW_ARRAY(double, (size_t)r->point_count *(size_t)r->metric_count);
    if (r->device_of_op == NULL || r->curve == NULL || r->metric == NULL) {
        EMP_FAIL(EMP_ENOMEM, "record of %d ops, %d tells", r->op_count, r->point_count);
    }
    if (!read_arrays(file, r)) {
        EMP_FAIL(EMP_EFORMAT, "%s is torn: an array is missing or cut short", path);
    }
    for (int32_t i = 0; i < r->device_count; i++) r->device_name[i][31] = '\0';
    for (int32_t i = 0; i < r->metric_count; i++) r->metric_name[i][31] = '\0';
    for (int32_t op = 0; op < r->op_count; op++) {
        if (r->device_of_op[op] < 0 || r->device_of_op[op] >= r->device_count) {
            EMP_FAIL(EMP_EFORMAT, "%s is damaged: op %d is on device %d of %d", path, op,
                     r->device_of_op[op], r->device_count);
        }
    }

cleanup:
    return st;
}

emp_status emp_record_load(emp_record *record, const char *path, emp_error *err)
{
    emp_status st = EMP_OK;
    hid_t      file = H5I_INVALID_HID;

    memset(record, 0, sizeof *record);
    pthread_mutex_lock(&library_lock);
    if (access(path, R_OK) != 0) EMP_FAIL(EMP_EIO, "cannot read %s", path);
    file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);
    if (file < 0) {
        EMP_FAIL(EMP_EFORMAT, "%s is no run record: not an HDF5 file, or a torn one",
                 path);
    }
    EMP_TRY(read_file(file, record, path, err));

cleanup:
    if (file >= 0) H5Fclose(file);
    pthread_mutex_unlock(&library_lock);
    return st;
}

void emp_record_clear(emp_record *record)
{
    emp_free(record->device_of_op);
    emp_free(record->curve);
    emp_free(record->metric);
    memset(record, 0, sizeof *record);
}

void emp_store_silence(void) { H5Eset_auto2(H5E_DEFAULT, NULL, NULL); }

const char *emp_store_library_version(void) { return H5_VERS_INFO; }

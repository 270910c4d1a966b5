// SPDX-License-Identifier: GPL-3.0-or-later
#include "sim/store/store.h"

#include <hdf5.h>
#include <inttypes.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/mem.h"

#define FORMAT "emplace-run-1"

/* The first bytes, HDF5's user block, hold the format and a checksum of all that follows:
 * the library is given only what we wrote, as damaged files make it run wild. */
enum { SEAL_BYTES = 512 };

/* The longest arrays that a record may hold; a hostile file cannot ask for more. */
enum { MAX_OPS = 1 << 26, MAX_POINTS = 1 << 26 };

static pthread_mutex_t library_lock = PTHREAD_MUTEX_INITIALIZER;

typedef enum { TEXT, INT32, INT64, UINT64, DOUBLE, BOOLEAN, CURVE } value_type;

/* The scalars of a record, one HDF5 attribute each. */
struct field {
    const char *name;
    value_type  type;
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

/* The type of a value in memory or, little-endian on every machine, in the file. The size
 * is that of a text. */
static hid_t create_type(value_type type, size_t size, bool in_file)
{
    switch (type) {
    case TEXT: return create_text_type(size);
    case INT32: return H5Tcopy(in_file ? H5T_STD_I32LE : H5T_NATIVE_INT32);
    case INT64: return H5Tcopy(in_file ? H5T_STD_I64LE : H5T_NATIVE_INT64);
    case UINT64: return H5Tcopy(in_file ? H5T_STD_U64LE : H5T_NATIVE_UINT64);
    case DOUBLE: return H5Tcopy(in_file ? H5T_IEEE_F64LE : H5T_NATIVE_DOUBLE);
    case BOOLEAN: return H5Tcopy(in_file ? H5T_STD_U8LE : H5T_NATIVE_UINT8);
    case CURVE: return create_curve_type(in_file);
    }
    return H5I_INVALID_HID;
}

/* The arrays of a record, one HDF5 dataset each. */
struct array {
    const char *name;
    value_type  type;
    hsize_t     rows, columns; /**< columns 0: one dimension */
    void       *values;
};
enum { MAX_ARRAYS = 7, NAME_BYTES = 32 /* of a device or a metric */ };

static int list_arrays(emp_record *r, struct array arrays[MAX_ARRAYS])
{
    hsize_t devices = (hsize_t)r->device_count, metrics = (hsize_t)r->metric_count;
    hsize_t points = (hsize_t)r->point_count;
    const struct array all[MAX_ARRAYS] = {
        {"device_name", TEXT, devices, 0, r->device_name},
        {"peak_bytes", INT64, devices, 0, r->peak_bytes},
        {"busy_s", DOUBLE, devices, 0, r->busy_s},
        {"device_of_op", INT32, (hsize_t)r->op_count, 0, r->device_of_op},
        {"curve", CURVE, points, 0, r->curve},
        {"metric_name", TEXT, metrics, 0, r->metric_name},
        {"metric", DOUBLE, points, metrics, r->metric},
    };

    memcpy(arrays, all, sizeof all);
    return metrics > 0 ? MAX_ARRAYS : MAX_ARRAYS - 2;
}

/* ---- writing ---- */

static bool write_attribute(hid_t file, const struct field *field, const void *base)
{
    const void *value = (const char *)base + field->offset;
    hid_t       memory = create_type(field->type, field->size, false);
    hid_t       stored = create_type(field->type, field->size, true);
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

static bool write_array(hid_t file, const struct array *array)
{
    const hsize_t extent[2] = {array->rows, array->columns};
    hid_t         memory = create_type(array->type, NAME_BYTES, false);
    hid_t         stored = create_type(array->type, NAME_BYTES, true);
    hid_t         space = H5Screate_simple(array->columns == 0 ? 1 : 2, extent, NULL);
    hid_t         settings = H5Pcreate(H5P_DATASET_CREATE);
    hid_t         dataset = H5I_INVALID_HID;

    if (H5Pset_obj_track_times(settings, false) >= 0) {
        dataset = H5Dcreate2(file, array->name, stored, space, H5P_DEFAULT, settings,
                             H5P_DEFAULT);
    }
    bool is_written = dataset >= 0 && H5Dwrite(dataset, memory, H5S_ALL, H5S_ALL,
                                               H5P_DEFAULT, array->values) >= 0;

    if (dataset >= 0) H5Dclose(dataset);
    H5Pclose(settings);
    H5Sclose(space);
    H5Tclose(stored);
    H5Tclose(memory);
    return is_written;
}

static bool write_file(const char *path, const emp_record *record)
{
    struct array arrays[MAX_ARRAYS];
    emp_record   copy = *record; /* the list of arrays is for reading, too */
    int          array_count = list_arrays(&copy, arrays);
    hid_t        settings = H5Pcreate(H5P_FILE_CREATE);
    bool         is_written = true;

    H5Pset_obj_track_times(settings, false);
    H5Pset_userblock(settings, SEAL_BYTES);
    hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, settings, H5P_DEFAULT);
    H5Pclose(settings);
    if (file < 0) return false;

    for (int i = 0; i < FIELD_COUNT && is_written; i++) {
        is_written = write_attribute(file, &fields[i], record);
    }
    for (int i = 0; i < array_count && is_written; i++) {
        is_written = write_array(file, &arrays[i]);
    }
    return H5Fclose(file) >= 0 && is_written;
}

/* Hashes what follows the seal. */
static bool hash_content(FILE *file, uint64_t *hash)
{
    unsigned char bytes[4096];
    size_t        count;

    *hash = EMP_HASH_SEED;
    if (fseek(file, SEAL_BYTES, SEEK_SET) != 0) return false;
    while ((count = fread(bytes, 1, sizeof bytes, file)) > 0) {
        *hash = emp_hash_bytes(*hash, bytes, count);
    }
    return ferror(file) == 0;
}

static bool seal_file(const char *path)
{
    char     seal[SEAL_BYTES] = "";
    uint64_t hash;
    FILE    *file = fopen(path, "r+b");

    if (file == NULL) return false;
    bool is_sealed = hash_content(file, &hash);
    snprintf(seal, sizeof seal, FORMAT " %016" PRIx64 "\n", hash);
    is_sealed = is_sealed && fseek(file, 0, SEEK_SET) == 0 &&
                fwrite(seal, 1, sizeof seal, file) == sizeof seal;
    return fclose(file) == 0 && is_sealed;
}

emp_status emp_record_save(const char *path, const emp_record *record, emp_error *err)
{
    emp_status st = EMP_OK;
    size_t     bytes = strlen(path) + sizeof ".4294967295.part";
    char      *part = EMP_NEW_ARRAY(char, bytes);

    if (part == NULL) EMP_FAIL(EMP_ENOMEM, "name of a temporary file beside %s", path);
    snprintf(part, bytes, "%s.%u.part", path, (unsigned)getpid());

    pthread_mutex_lock(&library_lock);
    bool is_written = write_file(part, record) && seal_file(part);
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

/* False when there is no such attribute or it is of another type. */
static bool read_attribute(hid_t file, const struct field *field, void *base)
{
    char *value = (char *)base + field->offset;
    bool  is_read = false;
    hid_t attribute = H5Aopen(file, field->name, H5P_DEFAULT);

    if (attribute < 0) return false;
    hid_t stored = H5Aget_type(attribute);
    hid_t space = H5Aget_space(attribute);
    hid_t memory = create_type(field->type, field->size, false);
    hid_t expected = create_type(field->type, field->size, true);
    if (H5Sget_simple_extent_type(space) == H5S_SCALAR &&
        H5Tequal(stored, expected) > 0) {
        is_read = H5Aread(attribute, memory, value) >= 0;
    }
    if (field->type == TEXT) value[field->size - 1] = '\0';
    if (field->type == BOOLEAN) *value = *value != 0; /* any other byte is no bool */
    H5Tclose(expected);
    H5Tclose(memory);
    H5Sclose(space);
    H5Tclose(stored);
    H5Aclose(attribute);
    return is_read;
}

static bool read_array(hid_t file, const struct array *array)
{
    hsize_t extent[2] = {0, 0};
    bool    is_read = false;
    hid_t   dataset = H5Dopen2(file, array->name, H5P_DEFAULT);

    if (dataset < 0) return false;
    hid_t space = H5Dget_space(dataset);
    hid_t stored = H5Dget_type(dataset);
    hid_t memory = create_type(array->type, NAME_BYTES, false);
    hid_t expected = create_type(array->type, NAME_BYTES, true);
    if (H5Sget_simple_extent_ndims(space) == (array->columns == 0 ? 1 : 2) &&
        H5Sget_simple_extent_dims(space, extent, NULL) >= 0 && extent[0] == array->rows &&
        extent[1] == array->columns && H5Tequal(stored, expected) > 0) {
        is_read =
            H5Dread(dataset, memory, H5S_ALL, H5S_ALL, H5P_DEFAULT, array->values) >= 0;
    }
    H5Tclose(expected);
    H5Tclose(memory);
    H5Tclose(stored);
    H5Sclose(space);
    H5Dclose(dataset);
    return is_read;
}

static bool sizes_are_sane(const emp_record *r)
{
    return r->device_count >= 0 && r->device_count <= EMP_MAX_DEVICES &&
           r->op_count >= 0 && r->op_count <= MAX_OPS && r->point_count >= 0 &&
           r->point_count <= MAX_POINTS && r->metric_count >= 0 &&
           r->metric_count <= EMP_MAX_METRICS;
}

static emp_status check_seal(const char *path, emp_error *err)
{
    emp_status st = EMP_OK;
    char       seal[SEAL_BYTES] = "", format[32] = "";
    uint64_t   sealed = 0, hash = 0;
    FILE      *file = fopen(path, "rb");

    if (file == NULL) EMP_FAIL(EMP_EIO, "cannot read %s", path);
    if (fread(seal, 1, sizeof seal, file) != sizeof seal ||
        seal[sizeof seal - 1] != '\0' ||
        sscanf(seal, "%31s %16" SCNx64, format, &sealed) != 2 ||
        strncmp(format, "emplace-run-", 12) != 0) {
        EMP_FAIL(EMP_EFORMAT, "%s is no run record", path);
    }
    if (strcmp(format, FORMAT) != 0) {
        EMP_FAIL(EMP_EFORMAT, "%s is of format \"%s\"; this program reads \"%s\"", path,
                 format, FORMAT);
    }
    if (!hash_content(file, &hash)) EMP_FAIL(EMP_EIO, "cannot read %s", path);
    if (hash != sealed)
        EMP_FAIL(EMP_EFORMAT, "%s is torn or damaged: its checksum differs", path);

cleanup:
    if (file != NULL) fclose(file);
    return st;
}

static emp_status read_file(hid_t file, emp_record *r, const char *path, emp_error *err)
{
    emp_status   st = EMP_OK;
    struct array arrays[MAX_ARRAYS];

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
    int array_count = list_arrays(r, arrays);
    for (int i = 0; i < array_count; i++) {
        if (!read_array(file, &arrays[i])) {
            EMP_FAIL(EMP_EFORMAT, "%s is torn: it lacks the array \"%s\"", path,
                     arrays[i].name);
        }
    }
    for (int32_t i = 0; i < r->device_count; i++)
        r->device_name[i][NAME_BYTES - 1] = '\0';
    for (int32_t i = 0; i < r->metric_count; i++)
        r->metric_name[i][NAME_BYTES - 1] = '\0';
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
    EMP_TRY(check_seal(path, err));
    file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);
    if (file < 0) EMP_FAIL(EMP_EFORMAT, "%s holds no HDF5 file after its seal", path);
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

// SPDX-License-Identifier: GPL-3.0-or-later
#include <errno.h>
#include <hdf5.h>
#include <inttypes.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <zlib.h>

#include "base/collections.h"
#include "base/io/atomic_file.h"
#include "base/io/input.h"
#include "base/mem.h"
#include "base/text/file.h"
#include "run/store/h5.h"

/* The first bytes, HDF5's user block, hold the format and a checksum of all that follows. */
enum { SEAL_BYTES = 512, HASH_BYTES = 4096 /* hashed in pieces of that size */ };

/* A file is put together in memory, which grows in such steps: the library, which does
 * not survive a full disk, never sees one. */
enum { IMAGE_STEP_BYTES = 1 << 20 };

enum { PACKING_LEVEL = 6 };

/* In the superblock of version 0: whether the file is open. */
enum { CONSISTENCY_AT = 20, CONSISTENCY_BYTES = 4 };

/* A file that is read is in memory as a whole. */
static const size_t MAX_FILE_BYTES = (size_t)1 << 34;

/* The library would read a file of the name that it is given. None can have this one. Files that are
 * open at a time have other numbers. */
#define NO_FILE "/dev/null/image-%llu"
enum { NO_FILE_BYTES = 64 };

static pthread_mutex_t library_lock = PTHREAD_MUTEX_INITIALIZER;
/* Both under the lock. */
static bool               is_silent;
static unsigned long long file_count;

_Static_assert(sizeof(emp_h5_file) == sizeof(hid_t), "a file is an hid_t");

/* Whether it prints its errors the library keeps by thread: each has to say it. */
static void enter_library(void)
{
    pthread_mutex_lock(&library_lock);
    if (is_silent) H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
}

static void leave_library(void) { pthread_mutex_unlock(&library_lock); }

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

/* The type of a value in memory or, little-endian on every machine, in the file. The
 * size of a text. */
static hid_t create_type(emp_h5_type type, size_t size, bool in_file)
{
    switch (type) {
    case EMP_H5_TEXT: return create_text_type(size);
    case EMP_H5_INT32: return H5Tcopy(in_file ? H5T_STD_I32LE : H5T_NATIVE_INT32);
    case EMP_H5_INT64: return H5Tcopy(in_file ? H5T_STD_I64LE : H5T_NATIVE_INT64);
    case EMP_H5_UINT64: return H5Tcopy(in_file ? H5T_STD_U64LE : H5T_NATIVE_UINT64);
    case EMP_H5_FLOAT: return H5Tcopy(in_file ? H5T_IEEE_F32LE : H5T_NATIVE_FLOAT);
    case EMP_H5_DOUBLE: return H5Tcopy(in_file ? H5T_IEEE_F64LE : H5T_NATIVE_DOUBLE);
    case EMP_H5_PACKED:
    case EMP_H5_BOOLEAN: return H5Tcopy(in_file ? H5T_STD_U8LE : H5T_NATIVE_UINT8);
    case EMP_H5_CURVE: return create_curve_type(in_file);
    }
    return H5I_INVALID_HID;
}

/* ---- writing ---- */

bool emp_h5_write_field(emp_h5_file file, const emp_h5_field *field, const void *base)
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

/* A chunk that is the whole array. Without the filter, bytes are stored as they are. */
static bool set_packing(hid_t settings, const emp_h5_array *array)
{
    const hsize_t whole[1] = {array->rows};

    if (array->type != EMP_H5_PACKED || array->rows == 0 ||
        H5Zfilter_avail(H5Z_FILTER_DEFLATE) <= 0)
        return true;
    return H5Pset_chunk(settings, 1, whole) >= 0 &&
           H5Pset_deflate(settings, PACKING_LEVEL) >= 0;
}

emp_h5_array emp_h5_of_named(const emp_named_array *array, const char *group,
                             char name[EMP_H5_ARRAY_NAME_BYTES])
{
    static const emp_h5_type type_of[] = {[EMP_ARRAY_UINT8] = EMP_H5_PACKED,
                                          [EMP_ARRAY_INT32] = EMP_H5_INT32,
                                          [EMP_ARRAY_INT64] = EMP_H5_INT64,
                                          [EMP_ARRAY_FLOAT] = EMP_H5_FLOAT,
                                          [EMP_ARRAY_DOUBLE] = EMP_H5_DOUBLE};

    snprintf(name, EMP_H5_ARRAY_NAME_BYTES, "%s/%s", group, array->name);
    return (emp_h5_array){name, type_of[array->type], array->count, 0, array->values};
}

bool emp_h5_write_array(emp_h5_file file, const emp_h5_array *array)
{
    const hsize_t extent[2] = {array->rows, array->columns};
    hid_t         memory = create_type(array->type, EMP_H5_NAME_BYTES, false);
    hid_t         stored = create_type(array->type, EMP_H5_NAME_BYTES, true);
    hid_t         space = H5Screate_simple(array->columns == 0 ? 1 : 2, extent, NULL);
    hid_t         settings = H5Pcreate(H5P_DATASET_CREATE);
    hid_t         way = H5Pcreate(H5P_LINK_CREATE);
    hid_t         dataset = H5I_INVALID_HID;

    if (H5Pset_obj_track_times(settings, false) >= 0 && set_packing(settings, array) &&
        H5Pset_create_intermediate_group(way, 1) >= 0) {
        dataset =
            H5Dcreate2(file, array->name, stored, space, way, settings, H5P_DEFAULT);
    }
    bool is_written = dataset >= 0 && H5Dwrite(dataset, memory, H5S_ALL, H5S_ALL,
                                               H5P_DEFAULT, array->values) >= 0;

    if (dataset >= 0) H5Dclose(dataset);
    H5Pclose(way);
    H5Pclose(settings);
    H5Sclose(space);
    H5Tclose(stored);
    H5Tclose(memory);
    return is_written;
}

static hid_t create_file(void)
{
    hid_t creation = H5Pcreate(H5P_FILE_CREATE), access = H5Pcreate(H5P_FILE_ACCESS);
    hid_t file = H5I_INVALID_HID;
    char  name[NO_FILE_BYTES];

    snprintf(name, sizeof name, NO_FILE, file_count++);
    /* image.c reads only the oldest format */
    if (H5Pset_libver_bounds(access, H5F_LIBVER_EARLIEST, H5F_LIBVER_LATEST) >= 0 &&
        H5Pset_obj_track_times(creation, false) >= 0 &&
        H5Pset_userblock(creation, SEAL_BYTES) >= 0 &&
        H5Pset_fapl_core(access, IMAGE_STEP_BYTES, false) >= 0) {
        file = H5Fcreate(name, H5F_ACC_TRUNC, creation, access);
    }
    H5Pclose(access);
    H5Pclose(creation);
    return file;
}

/* The bytes of an open file behind its user block, where the library keeps them until the file is
 * closed. A copy of a large checkpoint would take long. */
static const unsigned char *find_image(hid_t file, size_t *size)
{
    void *memory = NULL; /* of the driver H5FD_CORE: where it keeps the address */

    if (H5Fflush(file, H5F_SCOPE_GLOBAL) < 0 ||
        H5Fget_vfd_handle(file, H5P_DEFAULT, &memory) < 0)
        return NULL;
    const ssize_t bytes = H5Fget_file_image(file, NULL, 0);
    if (bytes <= 0) return NULL;
    *size = (size_t)bytes;
    unsigned char *image = *(unsigned char *const *)memory + SEAL_BYTES;
    memset(image + CONSISTENCY_AT, 0, CONSISTENCY_BYTES); /* as of a closed file */
    return image;
}

static void close_file(hid_t file)
{
    enter_library();
    if (file >= 0) H5Fclose(file);
    leave_library();
}

static uint64_t hash_image(const unsigned char *image, size_t size)
{
    uint64_t hash = EMP_HASH_SEED;

    for (size_t at = 0; at < size; at += HASH_BYTES) {
        size_t count = size - at < HASH_BYTES ? size - at : HASH_BYTES;
        hash = emp_hash_bytes(hash, image + at, count);
    }
    return hash;
}

emp_status emp_h5_save(const char *path, const char *format, emp_h5_writer *write,
                       const void *object, emp_error *err)
{
    emp_status           st = EMP_OK;
    emp_atomic_file      out = {0};
    const unsigned char *image = NULL;
    size_t               size = 0;
    char                 seal[SEAL_BYTES] = "";

    enter_library();
    const hid_t file = create_file();
    if (file >= 0 && write(file, object)) image = find_image(file, &size);
    leave_library();
    if (image == NULL) EMP_FAIL(EMP_ENOMEM, "content of %s", path);

    snprintf(seal, sizeof seal, "%s %016" PRIx64 "\n", format, hash_image(image, size));
    EMP_TRY(emp_atomic_file_open(&out, path, err));
    if (fwrite(seal, 1, sizeof seal, out.stream) != sizeof seal ||
        fwrite(image, 1, size, out.stream) != size) /* the cause is known only now */
        EMP_FAIL(EMP_EIO, "%s cannot be written: %s", path, strerror(errno));
    EMP_TRY(emp_atomic_file_commit(&out, err));

cleanup:
    emp_atomic_file_abort(&out);
    close_file(file);
    return st;
}

/* ---- reading ---- */

/* The format among those wanted that differs from this one in its version at most. */
static const char *find_relative(const char *format, const char *const *formats)
{
    for (int i = 0; formats[i] != NULL; i++) {
        size_t stem = (size_t)(strrchr(formats[i], '-') + 1 - formats[i]);
        if (strncmp(format, formats[i], stem) == 0) return formats[i];
    }
    return NULL;
}

/* Looks at what a seal says of its file. \a sealed: the checksum of what follows. */
static emp_status check_seal(const char seal[SEAL_BYTES], uint64_t *sealed,
                             const char *path, const char *const *formats,
                             const char *noun, emp_error *err)
{
    char        format[32] = "";
    const char *relative = NULL;

    if (seal[SEAL_BYTES - 1] != '\0' ||
        sscanf(seal, "%31s %16" SCNx64, format, sealed) != 2 ||
        (relative = find_relative(format, formats)) == NULL)
        return EMP_ERROR(EMP_EFORMAT, "%s is no %s", path, noun);
    if (strcmp(format, relative) != 0)
        return EMP_ERROR(EMP_EFORMAT, "%s is of format \"%s\"; this program reads \"%s\"",
                         path, format, relative);
    return EMP_OK;
}

/* Leaves the file behind its seal. */
static emp_status read_seal(char seal[SEAL_BYTES], FILE *file, const char *path,
                            const char *noun, emp_error *err)
{
    memset(seal, 0, SEAL_BYTES);
    if (fread(seal, 1, SEAL_BYTES, file) == SEAL_BYTES) return EMP_OK;
    if (ferror(file))
        return EMP_ERROR(EMP_EIO, "%s cannot be read: %s", path, strerror(errno));
    return EMP_ERROR(EMP_EFORMAT, "%s is no %s", path, noun);
}

emp_status emp_h5_check_format(const char *path, const char *format, const char *noun,
                               emp_error *err)
{
    const char *const formats[] = {format, NULL};
    FILE             *file;
    char              seal[SEAL_BYTES];
    uint64_t          sealed;

    EMP_CHECK(emp_input_open(&file, path, err));
    emp_status st = read_seal(seal, file, path, noun, err);
    if (st == EMP_OK) st = check_seal(seal, &sealed, path, formats, noun, err);
    fclose(file);
    return st;
}

emp_status emp_h5_load(const char *path, const char *const *formats, const char *noun,
                       emp_h5_reader *read, void *object, emp_error *err)
{
    emp_status   st = EMP_OK;
    FILE        *file = NULL;
    char         seal[SEAL_BYTES], *bytes = NULL;
    uint64_t     sealed = 0;
    size_t       size = 0;
    emp_h5_image image;

    EMP_TRY(emp_input_open(&file, path, err));
    EMP_TRY(read_seal(seal, file, path, noun, err));
    EMP_TRY(check_seal(seal, &sealed, path, formats, noun, err));
    EMP_TRY(emp_whole_file_read(&bytes, &size, file, path, MAX_FILE_BYTES, err));
    const unsigned char *content = (const unsigned char *)bytes;
    if (hash_image(content, size) != sealed)
        EMP_FAIL(EMP_EFORMAT, "%s is torn or damaged: its checksum differs", path);
    if (!emp_h5_image_open(&image, content, size, SEAL_BYTES))
        EMP_FAIL(EMP_EFORMAT, "%s holds no HDF5 file of ours after its seal", path);
    EMP_TRY(read(&image, object, path, err));

cleanup:
    if (file != NULL) fclose(file);
    emp_free(bytes);
    return st;
}

void emp_store_silence(void)
{
    pthread_mutex_lock(&library_lock);
    is_silent = true;
    pthread_mutex_unlock(&library_lock);
}

const char *emp_store_library_version(void) { return H5_VERS_INFO; }

/* Fields and arrays from the bytes of a file, which the HDF5 library never sees. The only includer of
 * zlib.h here. */
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
               "values are copied as they stand in the file");

/* The largest size of unpacked bytes, as a multiple of the file: names that repeat each other, or orders of
 * ops that are all the same, next to the 4 bytes an op of a placement. */
enum { MAX_UNPACKING = 100, FREE_UNPACKING_BYTES = 1 << 24 };

/* An encoded type, IV.A.2.d of the format's specification. */
typedef struct {
    unsigned char bytes[256];
    size_t        size;
} encoding;

static void add(encoding *e, const void *bytes, size_t size)
{
    memcpy(e->bytes + e->size, bytes, size);
    e->size += size;
}

static void add_number(encoding *e, uint64_t number, size_t size)
{
    add(e, &number, size);
}

/* Class and version, flags, size in bytes: for integers bit 3 of the flags is the sign. */
static void add_integer(encoding *e, size_t size, bool is_signed)
{
    const unsigned char head[] = {0x10, is_signed ? 0x08 : 0, 0, 0};

    add(e, head, sizeof head);
    add_number(e, size, 4);
    add_number(e, 0, 2);
    add_number(e, 8 * size, 2);
}

/* IEEE 754: the second byte of the flags is where the sign is, then come offset and bits of the
 * whole, of exponent and mantissa, and the bias. */
static void add_real(encoding *e, size_t size)
{
    const bool          is_double = size == sizeof(double);
    const unsigned char head[] = {0x11, 0x20, is_double ? 63 : 31, 0};
    const unsigned char parts[] = {is_double ? 52 : 23, is_double ? 11 : 8, 0,
                                   is_double ? 52 : 23};

    add(e, head, sizeof head);
    add_number(e, size, 4);
    add_number(e, 0, 2);
    add_number(e, 8 * size, 2);
    add(e, parts, sizeof parts);
    add_number(e, is_double ? 1023 : 127, 4);
}

/* The type of ASCII that ends with a zero. */
static void add_text(encoding *e, size_t size)
{
    const unsigned char head[] = {0x13, 0, 0, 0};

    add(e, head, sizeof head);
    add_number(e, size, 4);
}

/* A name padded to 8 bytes, the offset, and the sizes of an array, of which there is none. */
static void add_member(encoding *e, const char *name, size_t offset)
{
    enum { NO_ARRAY_BYTES = 28, MEMBER_NAME_BYTES = 16 };
    const char   padded[MEMBER_NAME_BYTES + NO_ARRAY_BYTES] = "";
    const size_t size = strlen(name) + 1;

    add(e, name, size);
    add(e, padded, (8 - size % 8) % 8);
    add_number(e, offset, 4);
    add(e, padded, NO_ARRAY_BYTES);
}

static void add_curve(encoding *e)
{
    const unsigned char head[] = {0x16, 4 /* members */, 0, 0};

    add(e, head, sizeof head);
    add_number(e, sizeof(emp_curve_point), 4);
    add_member(e, "evaluations", offsetof(emp_curve_point, evaluations));
    add_integer(e, sizeof(int64_t), true);
    add_member(e, "feasible_count", offsetof(emp_curve_point, feasible_count));
    add_integer(e, sizeof(int64_t), true);
    add_member(e, "best_s", offsetof(emp_curve_point, best_s));
    add_real(e, sizeof(double));
    add_member(e, "mean_s", offsetof(emp_curve_point, mean_s));
    add_real(e, sizeof(double));
}

/* Encodes a type as the library does. The size of a text.
 * Returns the size of a value. */
static size_t encode(encoding *e, emp_h5_type type, size_t text_bytes)
{
    *e = (encoding){0};
    switch (type) {
    case EMP_H5_TEXT: add_text(e, text_bytes); return text_bytes;
    case EMP_H5_INT32: add_integer(e, sizeof(int32_t), true); return sizeof(int32_t);
    case EMP_H5_INT64: add_integer(e, sizeof(int64_t), true); return sizeof(int64_t);
    case EMP_H5_UINT64: add_integer(e, sizeof(uint64_t), false); return sizeof(uint64_t);
    case EMP_H5_FLOAT: add_real(e, sizeof(float)); return sizeof(float);
    case EMP_H5_DOUBLE: add_real(e, sizeof(double)); return sizeof(double);
    case EMP_H5_PACKED:
    case EMP_H5_BOOLEAN: add_integer(e, 1, false); return 1;
    case EMP_H5_CURVE: add_curve(e); return sizeof(emp_curve_point);
    }
    return 0;
}

bool emp_h5_read_field(const emp_h5_image *image, const emp_h5_field *field, void *base)
{
    char             *value = (char *)base + field->offset;
    encoding          type;
    const size_t      size = encode(&type, field->type, field->size);
    const emp_h5_span found = emp_h5_image_attribute(
        image, field->name, (emp_h5_span){type.bytes, type.size}, size);

    if (found.bytes == NULL) return false;
    memcpy(value, found.bytes, size);
    if (field->type == EMP_H5_TEXT) value[size - 1] = '\0';
    if (field->type == EMP_H5_BOOLEAN)
        *value = *value != 0; /* any other byte is no bool */
    return true;
}

bool emp_h5_may_unpack(const emp_h5_image *image, uint64_t bytes)
{
    const uint64_t most = MAX_UNPACKING * (uint64_t)image->whole.size;

    return bytes <= most + FREE_UNPACKING_BYTES;
}

/* Whether the stored bytes can belong to the array. A product that overflows is no size. */
static bool bytes_fit(const emp_h5_image *image, const emp_h5_dataset *dataset,
                      const emp_h5_array *array, size_t value_bytes)
{
    const uint64_t columns = array->columns == 0 ? 1 : array->columns;

    if (dataset->is_packed)
        return array->type == EMP_H5_PACKED && emp_h5_may_unpack(image, array->rows);
    return (columns * value_bytes == 0 ||
            array->rows <= UINT64_MAX / (columns * value_bytes)) &&
           dataset->values.size == array->rows * columns * value_bytes;
}

/* Finds the dataset of an array, of its very type and extent. */
static bool find_array(const emp_h5_image *image, const emp_h5_array *array,
                       emp_h5_dataset *dataset)
{
    encoding     type;
    const size_t value_bytes = encode(&type, array->type, EMP_H5_NAME_BYTES);

    return emp_h5_image_dataset(image, array->name, dataset) &&
           dataset->rank == (array->columns == 0 ? 1 : 2) &&
           dataset->extent[0] == array->rows && dataset->extent[1] == array->columns &&
           dataset->type.size >= type.size &&
           memcmp(dataset->type.bytes, type.bytes, type.size) == 0 &&
           bytes_fit(image, dataset, array, value_bytes);
}

bool emp_h5_has_array(const emp_h5_image *image, const emp_h5_array *array)
{
    emp_h5_dataset dataset;

    return find_array(image, array, &dataset);
}

bool emp_h5_read_array(const emp_h5_image *image, const emp_h5_array *array)
{
    emp_h5_dataset dataset;

    if (!find_array(image, array, &dataset)) return false;
    if (!dataset.is_packed) {
        if (dataset.values.size > 0)
            memcpy(array->values, dataset.values.bytes, dataset.values.size);
        return true;
    }
    uLongf size = array->rows;
    return uncompress(array->values, &size, dataset.values.bytes, dataset.values.size) ==
               Z_OK &&
           size == array->rows;
}

emp_status emp_h5_lacks_array(const emp_h5_array *array, const char *path, emp_error *err)
{
    return EMP_ERROR(EMP_EFORMAT, "%s is torn: it lacks the array \"%s\"", path,
                     array->name);
}

// SPDX-License-Identifier: GPL-3.0-or-later
/* Fields and arrays from the bytes of a file, which the HDF5 library never sees. The only includer of
 * zlib.h here. */
#include <string.h>
#include <zlib.h>

#include "run/store/h5_internal.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
               "values are copied as they stand in the file");

/* What packed bytes may become, as a multiple of the file: names that repeat each other, or orders of
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

/* Of ASCII that ends with a zero. */
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

/* Encodes a type as the library does. The size is that of a text.
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

/* Whether the stored bytes can be those of the array. A product that overflows is no size. */
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

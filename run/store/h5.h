/** \file run/store/h5.h
 * What the formats of this folder share: HDF5 files under a seal, scalars as attributes,
 * arrays as datasets. The library writes them; functions that take a file need the lock that
 * emp_h5_save() holds while it calls back. We read them ourselves, without a lock.
 */
#ifndef EMP_RUN_STORE_H5_H
#define EMP_RUN_STORE_H5_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/collections.h"
#include "base/error.h"

/* The structures of an HDF5 file as the library writes them for us, found in the bytes of the file.
 *
 * A file is input like any other: the library crashes on some damaged ones, so it reads none. We
 * write few of its structures: a superblock and object headers of the first version, groups with a
 * B-tree of one node, attributes in headers, datasets in one piece. Any other one is refused, among
 * them links and everything that points into another file.
 *
 * Source: "HDF5 File Format Specification Version 3.0", The HDF Group; section numbers are its own.
 *
 * A function takes at most as long as a look at 65,535 messages of a header, takes no memory, and
 * may be called from any thread. */

/** Some bytes of an image, borrowed from it; bytes NULL: none. */
typedef struct {
    const unsigned char *bytes;
    size_t               size;
} emp_h5_span;

/** The part of a file behind its user block. */
typedef struct {
    emp_h5_span whole; /**< borrowed */
    uint64_t    root;  /**< address of the root group */
} emp_h5_image;

/** A dataset whose bytes are within the image. */
typedef struct {
    emp_h5_span type;      /**< encoded; there may be padding behind it */
    int         rank;      /**< 1 or 2 */
    uint64_t    extent[2]; /**< [rank] */
    emp_h5_span values;    /**< as they are stored */
    bool        is_packed; /**< by deflate, of one dimension */
} emp_h5_dataset;

/** Looks at the superblock. \param user_block_bytes  Size of what precedes the image in the file.
 * \return false if it is no such file, or the file is longer or shorter. */
bool emp_h5_image_open(emp_h5_image *image, const unsigned char *bytes, size_t size,
                       size_t user_block_bytes);

/** Finds the attribute of the root group that is one value of the encoded \a type.
 * \return its bytes; none if there is no such attribute. */
emp_h5_span emp_h5_image_attribute(const emp_h5_image *image, const char *name,
                                   emp_h5_span type, size_t value_bytes);

/** Finds the dataset of that name, "group/name" in a group. \return false if there is none. */
bool emp_h5_image_dataset(const emp_h5_image *image, const char *name,
                          emp_h5_dataset *dataset);

/** The learning curve after one tell: a row of an array of the type EMP_H5_CURVE. */
typedef struct {
    int64_t evaluations;    /**< so far */
    int64_t feasible_count; /**< in this batch */
    double  best_s; /**< best feasible step time so far; NaN while there is none */
    double  mean_s; /**< of the batch, out-of-memory candidates included */
} emp_curve_point;

enum { EMP_H5_NAME_BYTES = 32 /* of a text in an array */ };

typedef int64_t emp_h5_file; /**< HDF5's hid_t */

typedef enum {
    EMP_H5_TEXT,
    EMP_H5_INT32,
    EMP_H5_INT64,
    EMP_H5_UINT64,
    EMP_H5_FLOAT,
    EMP_H5_DOUBLE,
    EMP_H5_BOOLEAN,
    EMP_H5_PACKED, /**< bytes, of an array; compressed in the file */
    EMP_H5_CURVE
} emp_h5_type;

/** A scalar, member of some struct; an attribute in the file. */
typedef struct {
    const char *name;
    emp_h5_type type;
    size_t      offset;
    size_t      size; /**< of a text */
} emp_h5_field;

/** An array; a dataset in the file. */
typedef struct {
    const char *name; /**< "group/name": in a group, which is made with its first array */
    emp_h5_type type;
    uint64_t    rows, columns; /**< columns 0: one dimension */
    void       *values;
} emp_h5_array;

enum { EMP_H5_ARRAY_NAME_BYTES = 96 /* of an array in the file */ };

/** How a named array stands in a group of the file; \a name gets its name there. */
emp_h5_array emp_h5_of_named(const emp_named_array *array, const char *group,
                             char name[EMP_H5_ARRAY_NAME_BYTES]);

/** Writes the member of the struct at \a base. */
bool emp_h5_write_field(emp_h5_file file, const emp_h5_field *field, const void *base);
bool emp_h5_write_array(emp_h5_file file, const emp_h5_array *array);

/** False when there is no such attribute or it is of another type. */
bool emp_h5_read_field(const emp_h5_image *image, const emp_h5_field *field, void *base);
/** Whether there is such a dataset, of that type and size, with all its bytes. Ask before memory
 * is taken for its values, which may be NULL here: they then take no more than the file, or, of a
 * packed array, than emp_h5_may_unpack() allows. */
bool emp_h5_has_array(const emp_h5_image *image, const emp_h5_array *array);
/** Whether the packed arrays of a file may have so many bytes: 100 times the file's, and
 * 16 MiB. */
bool emp_h5_may_unpack(const emp_h5_image *image, uint64_t bytes);
/** False when there is no such dataset, or its bytes cannot be unpacked. */
bool emp_h5_read_array(const emp_h5_image *image, const emp_h5_array *array);

/** Says that there is no such array. \return EMP_EFORMAT */
emp_status emp_h5_lacks_array(const emp_h5_array *array, const char *path,
                              emp_error *err);

/** Writes \a object into an empty file. */
typedef bool emp_h5_writer(emp_h5_file file, const void *object);
/** Reads \a object from a file of which messages may tell the path. */
typedef emp_status emp_h5_reader(const emp_h5_image *image, void *object,
                                 const char *path, emp_error *err);

/** Puts a file of that format together in memory and then in its place.
 * \retval EMP_ENOMEM \retval EMP_EIO */
emp_status emp_h5_save(const char *path, const char *format, emp_h5_writer *write,
                       const void *object, emp_error *err);

/** Whether the seal of a file is of that format. \retval EMP_EIO \retval EMP_EFORMAT  It is of another one. */
emp_status emp_h5_check_format(const char *path, const char *format, const char *noun,
                               emp_error *err);

/** Reads a file of one of the \a formats (NULL ends the list) into memory, once, and then looks at
 * its seal and its structures. The seal tells damage; who forges a file makes it anew.
 *
 * \param noun  What it should be, for the message: "run record".
 * \retval EMP_EIO      No such file, or it cannot be read.
 * \retval EMP_EFORMAT  Of no such format or version, its checksum differs, or it is no HDF5 file
 *                      as emp_h5_save() writes them.
 * Else it returns what \a read does. */
emp_status emp_h5_load(const char *path, const char *const *formats, const char *noun,
                       emp_h5_reader *read, void *object, emp_error *err);

/** Keeps the HDF5 library from printing, in all threads; main() calls it once. */
void emp_store_silence(void);

/** Version of the HDF5 library; static storage. */
const char *emp_store_library_version(void);

#endif /* EMP_RUN_STORE_H5_H */

/** \file run/store/image_internal.h
 * The structures of an HDF5 file as the library writes them for us, found in the bytes of the file.
 *
 * A file is input like any other: the library crashes on some damaged ones, so it reads none. We
 * write few of its structures: a superblock and object headers of the first version, groups with a
 * B-tree of one node, attributes in headers, datasets in one piece. Any other one is refused, among
 * them links and everything that points into another file.
 *
 * Source: "HDF5 File Format Specification Version 3.0", The HDF Group; section numbers are its own.
 *
 * A function takes at most as long as a look at 65,535 messages of a header, takes no memory, and
 * may be called from any thread.
 */
#ifndef EMP_RUN_STORE_IMAGE_INTERNAL_H
#define EMP_RUN_STORE_IMAGE_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** Some bytes of an image, borrowed from it; bytes NULL: none. */
typedef struct {
    const unsigned char *bytes;
    size_t               size;
} emp_h5_span;

/** What follows the user block of a file. */
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

#endif /* EMP_RUN_STORE_IMAGE_INTERNAL_H */

/** \file graphs/import/proto/cursor.h
 * Places in a file that lies in memory: what the two readers, wire.h and text.h, share.
 *
 * Nothing is copied: slices point into the file's bytes, which must outlive them.
 */
#ifndef EMP_GRAPHS_IMPORT_PROTO_CURSOR_H
#define EMP_GRAPHS_IMPORT_PROTO_CURSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/** Borrowed bytes, not terminated. */
typedef struct {
    const char *data;
    size_t      size;
} emp_slice;

/** The part of a file that is still to be read. */
typedef struct {
    const char *origin; /**< first byte of the file, for positions in messages */
    const char *at;
    const char *end;
} emp_cursor;

/** For "%.*s": at most 80 bytes of a slice. */
#define EMP_SLICE_ARG(s) (int)((s).size < 80 ? (s).size : 80), (s).data

static inline bool emp_slice_is(emp_slice slice, const char *text)
{
    size_t size = strlen(text);
    return slice.size == size && memcmp(slice.data, text, size) == 0;
}

static inline bool emp_slice_starts(emp_slice slice, const char *text)
{
    size_t size = strlen(text);
    return slice.size >= size && memcmp(slice.data, text, size) == 0;
}

/** The integer part, saturated; 0 for a NaN. */
static inline int64_t emp_truncate(double x)
{
    if (!(x > -9.2e18)) return x < 0 ? INT64_MIN : 0;
    return x < 9.2e18 ? (int64_t)x : INT64_MAX;
}

#endif /* EMP_GRAPHS_IMPORT_PROTO_CURSOR_H */

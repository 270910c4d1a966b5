/** \file graphs/import/proto/cursor.h
 * Places in a file that lies in memory: what the two readers, wire.h and text.h, share.
 *
 * Nothing is copied: slices point into the file's bytes, which must outlive them.
 */
#ifndef EMP_GRAPHS_IMPORT_PROTO_CURSOR_H
#define EMP_GRAPHS_IMPORT_PROTO_CURSOR_H

#include <stdint.h>

#include "base/text/text.h"

/** The part of a file that is still to be read. */
typedef struct {
    const char *origin; /**< first byte of the file, for positions in messages */
    const char *at;
    const char *end;
} emp_cursor;

/** The integer part, saturated; 0 for a NaN. */
static inline int64_t emp_truncate(double x)
{
    if (!(x > -9.2e18)) return x < 0 ? INT64_MIN : 0;
    return x < 9.2e18 ? (int64_t)x : INT64_MAX;
}

#endif /* EMP_GRAPHS_IMPORT_PROTO_CURSOR_H */

/** \file graphs/import/proto/wire.h
 * A bounds-checked reader of the protobuf wire format.
 *
 * A message is a run of fields; the cursor hands them out one by one, and a field that
 * holds bytes (a string, a message, packed numbers) is a slice of the file. Nothing
 * recurses: who wants to look into a nested message puts a cursor on its slice.
 */
#ifndef EMP_GRAPHS_IMPORT_PROTO_WIRE_H
#define EMP_GRAPHS_IMPORT_PROTO_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/error.h"
#include "base/text/text.h"

/* Places in a file that lies in memory: the readers of both formats share them.
 *
 * Nothing is copied: slices point into the file's bytes, which must outlive them.
 */

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

/** Wire types, by their numbers in the format. The deprecated groups (3, 4) are refused.
 */
typedef enum {
    EMP_WIRE_VARINT = 0,
    EMP_WIRE_FIXED64 = 1,
    EMP_WIRE_BYTES = 2,
    EMP_WIRE_FIXED32 = 5
} emp_wire_type;

typedef struct {
    int32_t       number; /**< 1 .. 2^29 - 1 */
    emp_wire_type type;
    uint64_t      bits;  /**< unless EMP_WIRE_BYTES */
    emp_slice     bytes; /**< of EMP_WIRE_BYTES */
} emp_wire_field;

/** emp_wire_varint() for numbers of several bytes. */
emp_status emp_wire_long_varint(emp_cursor *cursor, uint64_t *value, emp_error *err);

/** Reads a base-128 number of at most 10 bytes.
 * \retval EMP_EFORMAT  It is longer, or the bytes end before it does. */
static inline emp_status emp_wire_varint(emp_cursor *cursor, uint64_t *value,
                                         emp_error *err)
{
    if (cursor->at < cursor->end && (unsigned char)*cursor->at < 0x80) {
        *value = (unsigned char)*cursor->at++;
        return EMP_OK;
    }
    return emp_wire_long_varint(cursor, value, err);
}

/** Reads \a count (4 or 8) bytes, least significant first. */
emp_status emp_wire_fixed(emp_cursor *cursor, int count, uint64_t *value, emp_error *err);

/** Takes a field below 16 that holds less than 128 bytes, as most do; false: it is another one. */
static inline bool emp_wire_take_short(emp_cursor *cursor, emp_wire_field *field)
{
    const unsigned char *at = (const unsigned char *)cursor->at;
    const size_t         left = (size_t)(cursor->end - cursor->at);

    if (left < 2 || at[0] > 0x7f || at[0] < 1 << 3 || (at[0] & 7) != EMP_WIRE_BYTES ||
        at[1] > 0x7f || at[1] > left - 2)
        return false;
    field->number = at[0] >> 3;
    field->type = EMP_WIRE_BYTES;
    field->bits = 0;
    field->bytes = (emp_slice){cursor->at + 2, at[1]};
    cursor->at += 2 + at[1];
    return true;
}

/** emp_wire_next() for fields of every kind. */
emp_status emp_wire_next_any(emp_cursor *cursor, emp_wire_field *field, emp_error *err);

/** Reads the field under the cursor, which must not be at its end.
 * \retval EMP_EFORMAT  Not a field; the message gives the byte's position in the file. */
static inline emp_status emp_wire_next(emp_cursor *cursor, emp_wire_field *field,
                                       emp_error *err)
{
    if (emp_wire_take_short(cursor, field)) return EMP_OK;
    return emp_wire_next_any(cursor, field, err);
}

/* Writes protobuf's wire format to a stream.
 *
 * The length of a message stands before it. So a message is written twice: first into a sink without a
 * stream, which counts its bytes, then behind its head. */

/** Where bytes go. Failures of the stream stay in it, as in stdio. */
typedef struct {
    FILE  *stream; /**< NULL: bytes are counted only */
    size_t size;   /**< bytes so far */
} emp_wire_sink;

/** Bytes as they are. */
void emp_wire_put(emp_wire_sink *sink, const void *bytes, size_t size);

/** A base-128 number. */
void emp_wire_put_varint(emp_wire_sink *sink, uint64_t value);

/** A field that holds one number. */
void emp_wire_put_number(emp_wire_sink *sink, int32_t field, uint64_t value);

/** The length before the bytes of a string, a message or packed numbers. */
void emp_wire_put_head(emp_wire_sink *sink, int32_t field, size_t size);

/** A field that holds a text. */
void emp_wire_put_text(emp_wire_sink *sink, int32_t field, const char *text);

#endif /* EMP_GRAPHS_IMPORT_PROTO_WIRE_H */

/** \file graphs/import/proto/wire.h
 * A bounds-checked reader of the protobuf wire format.
 *
 * A message is a run of fields; the cursor hands them out one by one, and a field that
 * holds bytes (a string, a message, packed numbers) is a slice of the file. Nothing
 * recurses: who wants to look into a nested message puts a cursor on its slice.
 */
#ifndef EMP_GRAPHS_IMPORT_PROTO_WIRE_H
#define EMP_GRAPHS_IMPORT_PROTO_WIRE_H

#include <stdint.h>

#include "base/error.h"
#include "graphs/import/proto/cursor.h"

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

/** Reads a base-128 number of at most 10 bytes.
 * \retval EMP_EFORMAT  It is longer, or the bytes end before it does. */
emp_status emp_wire_varint(emp_cursor *cursor, uint64_t *value, emp_error *err);

/** Reads \a count (4 or 8) bytes, least significant first. */
emp_status emp_wire_fixed(emp_cursor *cursor, int count, uint64_t *value, emp_error *err);

/** Reads the field under the cursor, which must not be at its end.
 * \retval EMP_EFORMAT  Not a field; the message gives the byte's position in the file. */
emp_status emp_wire_next(emp_cursor *cursor, emp_wire_field *field, emp_error *err);

#endif /* EMP_GRAPHS_IMPORT_PROTO_WIRE_H */

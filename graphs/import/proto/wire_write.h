/** \file graphs/import/proto/wire_write.h
 * Writes protobuf's wire format to a stream.
 *
 * The length of a message stands before it. So a message is written twice: first into a sink without a
 * stream, which counts its bytes, then behind its head.
 */
#ifndef EMP_GRAPHS_IMPORT_PROTO_WIRE_WRITE_H
#define EMP_GRAPHS_IMPORT_PROTO_WIRE_WRITE_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

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

/** What stands before the bytes of a string, a message or packed numbers. */
void emp_wire_put_head(emp_wire_sink *sink, int32_t field, size_t size);

/** A field that holds a text. */
void emp_wire_put_text(emp_wire_sink *sink, int32_t field, const char *text);

#endif /* EMP_GRAPHS_IMPORT_PROTO_WIRE_WRITE_H */

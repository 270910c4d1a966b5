/** \file tests/support/proto_writer.h
 * Writes protobuf messages for tests, in wire format or as text, from the same calls; so
 * one test input comes in both syntaxes. Aborts when out of memory.
 */
#ifndef EMP_TESTS_SUPPORT_PROTO_WRITER_H
#define EMP_TESTS_SUPPORT_PROTO_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** Zero-initialise, set is_text if wanted; clear at the end. */
typedef struct {
    char  *data;
    size_t size, capacity;
    bool   is_text;
} proto_writer;

void proto_clear(proto_writer *w);

/** Raw bytes. */
void proto_append(proto_writer *w, const void *bytes, size_t size);
void proto_varint(proto_writer *w, uint64_t value);

/** A nested message: what is written between the two. \a begin returns what end takes. */
size_t proto_begin(proto_writer *w, int number, const char *name);
void   proto_end(proto_writer *w, size_t begin);

void proto_bytes(proto_writer *w, int number, const char *name, const void *bytes,
                 size_t size);
void proto_string(proto_writer *w, int number, const char *name, const char *text);
void proto_int(proto_writer *w, int number, const char *name, int64_t value);
/** Several integers as one packed field, in text as a list. */
void proto_ints(proto_writer *w, int number, const char *name, const int64_t *values,
                int count);
void proto_float(proto_writer *w, int number, const char *name, float value);
/** A word that text spells out, e.g. {1, "DT_FLOAT"}, {1, "true"}. */
void proto_word(proto_writer *w, int number, const char *name, int64_t value,
                const char *word);

/* Parts of a GraphDef. */

/** Opens a NodeDef; \a inputs are separated by spaces. Close by proto_end(). */
size_t proto_node(proto_writer *w, const char *name, const char *op, const char *inputs);
/** A node without attributes but T = DT_FLOAT. */
void proto_plain_node(proto_writer *w, const char *name, const char *op,
                      const char *inputs);
/** Opens attr { key value {; close by proto_end_attr(). */
typedef struct {
    size_t entry, value;
} proto_attr;
proto_attr proto_begin_attr(proto_writer *w, const char *key);
void       proto_end_attr(proto_writer *w, proto_attr attr);

void proto_attr_type(proto_writer *w, const char *key, int64_t dtype, const char *word);
void proto_attr_int(proto_writer *w, const char *key, int64_t value);
void proto_attr_bool(proto_writer *w, const char *key, bool value);
void proto_attr_string(proto_writer *w, const char *key, const char *value);
void proto_attr_ints(proto_writer *w, const char *key, const int64_t *values, int count);
/** attr shape; a rank of -1 is unknown_rank. */
void proto_attr_shape(proto_writer *w, const char *key, const int64_t *dims, int rank);
/** _output_shapes of one output. */
void proto_output_shape(proto_writer *w, const int64_t *dims, int rank);
/** A TensorShapeProto. */
void proto_shape(proto_writer *w, int number, const char *name, const int64_t *dims,
                 int rank);

#endif /* EMP_TESTS_SUPPORT_PROTO_WRITER_H */

/** \file graphs/import/proto/message.h
 * One way to read a protobuf message, whatever its syntax: wire format or text format.
 *
 *     enum { NODE_NAME = 1, NODE_OP = 2 };
 *     static const emp_field_name names[] = {{"name", NODE_NAME}, {"op", NODE_OP}, {0}};
 *
 *     emp_message node = emp_message_open(file, body, names);
 *     for (;;) {
 *         EMP_TRY(emp_message_next(&node, &field, &found, err));
 *         if (!found) break;
 *         if (field.number == NODE_NAME)
 *             EMP_TRY(emp_field_string(&node, &field, &name, err));
 *     }
 *
 * Fields that \a names does not list come out with number 0 and are skipped by not
 * looking at them.
 */
#ifndef EMP_GRAPHS_IMPORT_PROTO_MESSAGE_H
#define EMP_GRAPHS_IMPORT_PROTO_MESSAGE_H

#include "graphs/import/proto/text.h"
#include "graphs/import/proto/wire.h"

/** A word of a schema: the name and number of a field, or of a value of an enumeration.
 */
typedef struct {
    const char *name;
    int32_t     number;
} emp_field_name;

/** The file that the messages are parts of. Borrowed by every message of it. */
typedef struct {
    emp_slice bytes;
    bool      is_text;
    emp_arena scratch; /**< holds strings of text files that had to be unescaped */
} emp_message_file;

typedef struct {
    emp_message_file     *file;
    const emp_field_name *names; /**< ends with {0} */
    emp_text_body         text;  /**< its cursor serves the wire format, too */
} emp_message;

typedef struct {
    int32_t        number; /**< 0 = none that is listed */
    emp_wire_field wire;   /**< of a binary file */
    emp_text_field text;   /**< of a text file */
} emp_field;

/** How numbers lie on the wire; in text they say it themselves. */
typedef enum { EMP_NUMBER_VARINT, EMP_NUMBER_FLOAT, EMP_NUMBER_DOUBLE } emp_number_type;

/** Puts a reader on \a body, a part of \a file. */
emp_message emp_message_open(emp_message_file *file, emp_slice body,
                             const emp_field_name *names);

/** What is still to be read. */
emp_slice emp_message_body(const emp_message *message);

/** Reads the next field; \a *found is false at the end of the message. */
emp_status emp_message_next(emp_message *message, emp_field *field, bool *found,
                            emp_error *err);

/* What a field holds; each fails with EMP_EFORMAT where it holds something else. */
emp_status emp_field_string(const emp_message *message, const emp_field *field,
                            emp_slice *out, emp_error *err);
emp_status emp_field_message(const emp_message *message, const emp_field *field,
                             const emp_field_name *names, emp_message *out,
                             emp_error *err);

/** Takes the next number out of a field, which holds one, or on the wire several; floats
 * are cut to integers. \a *found is false when none is left. */
emp_status emp_field_next_number(const emp_message *message, emp_field *field,
                                 emp_number_type type, int64_t *value, bool *found,
                                 emp_error *err);

/** The last number of a field, as a repeated scalar that is not repeated is read. */
emp_status emp_field_integer(const emp_message *message, const emp_field *field,
                             int64_t *value, emp_error *err);

/** A value of the enumeration \a values, by number or, in text, by name; a name that is
 * not listed is 0. Of several packed values it is the first. */
emp_status emp_field_enum(const emp_message *message, const emp_field *field,
                          const emp_field_name *values, int64_t *value, emp_error *err);

#endif /* EMP_GRAPHS_IMPORT_PROTO_MESSAGE_H */

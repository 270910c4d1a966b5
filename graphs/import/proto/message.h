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

#include <stdint.h>

#include "base/error.h"
#include "base/mem.h"
#include "graphs/import/proto/wire.h"

/* A reader of the protobuf text format (.pbtxt), the twin of wire.h.
 *
 *     node { name: "a" op: 'Const' attr < key: "T" value { type: DT_FLOAT } > }
 *
 * A nested message is a slice between its brackets, found by matching brackets; what it
 * holds is looked at only by who puts a cursor on it. Lists `x: [1, 2]` come out as one
 * field per element, just like `x: 1 x: 2`.
 */

enum { EMP_TEXT_MAX_DEPTH = 100 };

/** A message being read. */
typedef struct {
    emp_cursor cursor;
    emp_slice  list_name; /**< of the list that the cursor is in */
    bool       in_list;
} emp_text_body;

typedef enum {
    EMP_TEXT_SCALAR,  /**< a number or a word: 12, -0x1F, 1.5e3, inf, true, DT_FLOAT */
    EMP_TEXT_STRING,  /**< one or more literals, raw, quotes included */
    EMP_TEXT_MESSAGE, /**< what stands between the brackets */
} emp_text_kind;

typedef struct {
    emp_slice     name;
    emp_text_kind kind;
    emp_slice     value;
    bool is_negative; /**< a minus sign, not in value, stands before the scalar */
} emp_text_field;

/** Puts a reader on \a body, a part of the file that starts at \a origin. */
static inline emp_text_body emp_text_open(const char *origin, emp_slice body)
{
    return (emp_text_body){.cursor = {origin, body.data, body.data + body.size}};
}

/** Reads the next field; \a *found is false at the end.
 * \retval EMP_EFORMAT  Not text format, or nested deeper than EMP_TEXT_MAX_DEPTH; the
 *                      message gives the line. */
emp_status emp_text_next(emp_text_body *text, emp_text_field *field, bool *found,
                         emp_error *err);

/** The value of an EMP_TEXT_STRING's literals: a slice of the file where they hold no
 * escape, else of \a scratch. */
emp_status emp_text_unquote(emp_slice literals, emp_arena *scratch, emp_slice *out,
                            emp_error *err);

/** The value of a number, its fraction cut off, or 1 and 0 for true and false.
 * \retval EMP_EFORMAT  The scalar is another word. */
emp_status emp_text_integer(const emp_text_field *field, int64_t *value, emp_error *err);

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
static inline emp_message emp_message_open(emp_message_file *file, emp_slice body,
                                           const emp_field_name *names)
{
    return (emp_message){file, names, emp_text_open(file->bytes.data, body)};
}

/** The part that is still to be read. */
emp_slice emp_message_body(const emp_message *message);

/** emp_message_next() for text. */
emp_status emp_message_next_text(emp_message *message, emp_field *field, bool *found,
                                 emp_error *err);

/** Reads the next field; \a *found is false at the end of the message. */
static inline emp_status emp_message_next(emp_message *message, emp_field *field,
                                          bool *found, emp_error *err)
{
    emp_cursor           *cursor = &message->text.cursor;
    const emp_field_name *name = message->names;

    if (message->file->is_text) return emp_message_next_text(message, field, found, err);
    *found = cursor->at < cursor->end;
    if (!*found) return EMP_OK;
    EMP_CHECK(emp_wire_next(cursor, &field->wire, err));
    while (name->name != NULL && name->number != field->wire.number) name++;
    field->number = name->name != NULL ? field->wire.number : 0;
    return EMP_OK;
}

/* The value of a field; each fails with EMP_EFORMAT where it holds something else. */
emp_status emp_field_string(const emp_message *message, const emp_field *field,
                            emp_slice *out, emp_error *err);
emp_status emp_field_message_text(const emp_message *message, const emp_field *field,
                                  const emp_field_name *names, emp_message *out,
                                  emp_error *err);
static inline emp_status emp_field_message(const emp_message    *message,
                                           const emp_field      *field,
                                           const emp_field_name *names, emp_message *out,
                                           emp_error *err)
{
    if (message->file->is_text || field->wire.type != EMP_WIRE_BYTES)
        return emp_field_message_text(message, field, names, out, err);
    out->file = message->file;
    out->names = names;
    out->text.cursor.origin = message->file->bytes.data;
    out->text.cursor.at = field->wire.bytes.data;
    out->text.cursor.end = field->wire.bytes.data + field->wire.bytes.size;
    out->text.in_list = false;
    return EMP_OK;
}

/** Takes the next number out of a field, which holds one, or on the wire several; floats
 * are cut to integers. \a *found is false when none is left. */
emp_status emp_field_next_number(const emp_message *message, emp_field *field,
                                 emp_number_type type, int64_t *value, bool *found,
                                 emp_error *err);

/** The last number of a field, as a repeated scalar that is not repeated is read. */
emp_status emp_field_integer(const emp_message *message, const emp_field *field,
                             int64_t *value, emp_error *err);

/** A value of the enumeration \a values, by number or, in text, by name; a name that is
 * not listed is 0. From several packed values it takes the first. */
emp_status emp_field_enum(const emp_message *message, const emp_field *field,
                          const emp_field_name *values, int64_t *value, emp_error *err);

/** Reads the last string of that number in a message; "" if it has none. O(bytes). */
emp_status emp_message_string(emp_slice *out, emp_message message, int32_t number,
                              emp_error *err);

#endif /* EMP_GRAPHS_IMPORT_PROTO_MESSAGE_H */

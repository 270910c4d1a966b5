/** \file graphs/import/proto/text.h
 * A reader of the protobuf text format (.pbtxt), the twin of wire.h.
 *
 *     node { name: "a" op: 'Const' attr < key: "T" value { type: DT_FLOAT } > }
 *
 * A nested message is a slice between its brackets, found by matching brackets; what it
 * holds is looked at only by who puts a cursor on it. Lists `x: [1, 2]` come out as one
 * field per element, just like `x: 1 x: 2`.
 */
#ifndef EMP_GRAPHS_IMPORT_PROTO_TEXT_H
#define EMP_GRAPHS_IMPORT_PROTO_TEXT_H

#include <stdint.h>

#include "base/error.h"
#include "base/mem.h"
#include "graphs/import/proto/cursor.h"

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
emp_text_body emp_text_open(const char *origin, emp_slice body);

/** Reads the next field; \a *found is false at the end.
 * \retval EMP_EFORMAT  Not text format, or nested deeper than EMP_TEXT_MAX_DEPTH; the
 *                      message gives the line. */
emp_status emp_text_next(emp_text_body *text, emp_text_field *field, bool *found,
                         emp_error *err);

/** What the literals of an EMP_TEXT_STRING mean: a slice of the file where they hold no
 * escape, else of \a scratch. */
emp_status emp_text_unquote(emp_slice literals, emp_arena *scratch, emp_slice *out,
                            emp_error *err);

/** The value of a number, its fraction cut off, or 1 and 0 for true and false.
 * \retval EMP_EFORMAT  The scalar is another word. */
emp_status emp_text_integer(const emp_text_field *field, int64_t *value, emp_error *err);

#endif /* EMP_GRAPHS_IMPORT_PROTO_TEXT_H */

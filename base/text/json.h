/** \file base/text/json.h
 * JSON (RFC 8259) read into values that stay as they are, and its strings written.
 *
 *     emp_json_document d = {0};
 *     EMP_TRY(emp_json_parse(&d, bytes, size, err));
 *     const emp_json *names = emp_json_get(d.root, "names");
 *     for (const emp_json *v = emp_json_first(names); v != NULL; v = emp_json_next(v))
 *         puts(emp_json_string(v));
 *     emp_json_clear(&d);
 *
 * A whole number that 64 bits hold is an integer; every other number is a real one. Python's json
 * writes NaN, Infinity and -Infinity, which RFC 8259 does not have: each is read as a value of its
 * own kind, so that a reader that wants a number refuses it. An object has a key once. Text is valid UTF-8, and strings have no zero in them. Decimal points do not depend
 * on the locale.
 *
 * Queries take NULL for a value that is not there. Threads. Read-only after parsing.
 */
#ifndef EMP_BASE_TEXT_JSON_H
#define EMP_BASE_TEXT_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/error.h"

enum { EMP_JSON_DEPTH_MAX = 64 };
#define EMP_JSON_BYTES_MAX ((size_t)16 << 30) /* placements of 100 million ops */

typedef enum {
    EMP_JSON_NULL,
    EMP_JSON_FALSE,
    EMP_JSON_TRUE,
    EMP_JSON_INTEGER,
    EMP_JSON_REAL,
    EMP_JSON_NOT_FINITE, /**< NaN, Infinity or -Infinity */
    EMP_JSON_STRING,
    EMP_JSON_ARRAY,
    EMP_JSON_OBJECT
} emp_json_kind;

/** A value; borrowed from its document. */
typedef struct emp_json emp_json;

/** Zero-initialise; emp_json_clear() releases it, also after a failure. */
typedef struct {
    const emp_json *root;

    /* private */
    emp_json *value; /* in the order of the text: a list, then what is in it */
    size_t    count, capacity;
    char *
        text; /* what was read; each string has an end, then blanks, in the place of its quote */
    size_t size;
} emp_json_document;

/** Reads one value and nothing behind it. O(size).
 * \retval EMP_EFORMAT       The message begins with "line 3: ".
 * \retval EMP_EUNSUPPORTED  More than EMP_JSON_BYTES_MAX, 2^32 values or 2^31 members of a list. \retval EMP_ENOMEM */
emp_status emp_json_parse(emp_json_document *document, const char *bytes, size_t size,
                          emp_error *err);

/** The same of bytes that were allocated by base/mem.h, which the document takes whatever happens: \a *bytes becomes
 * NULL. Saves a copy. */
emp_status emp_json_parse_taken(emp_json_document *document, char **bytes, size_t size,
                                emp_error *err);

/** Looks at a member of a list that is read; borrowed until it returns. */
typedef void emp_json_visit(void *context, const emp_json_document *document,
                            const emp_json *member);

/** The same, but the long list is visited while it is read, and only its first member stays in the document. The
 * long list is the root, if that is an array, or else the array that the root has under \a key. */
emp_status emp_json_parse_visiting(emp_json_document *document, char **bytes, size_t size,
                                   const char *key, emp_json_visit *visit, void *context,
                                   emp_error *err);

/** Where the value of an object's member stands in the document's text, for emp_json_parse_again(). */
const char *emp_json_source(const emp_json *member);

/** Reads a value of a document again that does not have it any more. \a into is zeroed, or read by this before; its strings
 * are those of \a from. \retval EMP_ENOMEM */
emp_status emp_json_parse_again(emp_json_document *into, const emp_json_document *from,
                                const char *source, emp_error *err);

/** The same from a file; messages begin with its path, and with its line if it has one.
 * \retval EMP_EIO      It cannot be read.
 * \retval EMP_EFORMAT  Also if it is longer than EMP_JSON_BYTES_MAX. */
emp_status emp_json_load(emp_json_document *document, const char *path, emp_error *err);

void emp_json_clear(emp_json_document *document);

/** Whether the value is there and of that kind. */
bool emp_json_is(const emp_json *value, emp_json_kind kind);

/** The member of an object; NULL: there is none, or \a object is no object. O(members and
 * what is in them). */
const emp_json *emp_json_get(const emp_json *object, const char *key);

/** Members of an object or an array; 0 of all else. */
int32_t emp_json_count(const emp_json *list);
/** The first member; NULL: there is none. */
const emp_json *emp_json_first(const emp_json *list);
/** The next member of the same list; NULL behind the last one. O(1). */
const emp_json *emp_json_next(const emp_json *member);
/** The key of a member of an object; NULL of all else. */
const char *emp_json_key(const emp_json *member);

/** The text of a string; NULL of all else. */
const char *emp_json_string(const emp_json *value);
/** An integer; 0 of all else. */
int64_t emp_json_integer(const emp_json *value);
/** A finite number, whole or not; 0 of all else. */
double emp_json_number(const emp_json *value);

/** Writes a string with its quotes; errors of the stream are the caller's.
 * \return  Whether \a text is valid UTF-8; if not, nothing is written. */
bool emp_json_write_string(FILE *stream, const char *text);

#endif /* EMP_BASE_TEXT_JSON_H */

/** \file base/text/text.h
 * A text that is built up piece by piece in an array of the caller's; what does not fit is
 * cut off.
 *
 *     char     array[512];
 *     emp_text line = {array, sizeof array, 0};
 *     emp_text_add(&line, "%d seeds", 3);
 */
#ifndef EMP_BASE_TEXT_TEXT_H
#define EMP_BASE_TEXT_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "base/error.h"

typedef struct {
    char  *at; /**< terminated after the first piece; borrowed */
    size_t size;
    size_t used; /**< without the terminator; below size */
} emp_text;

EMP_PRINTF_LIKE(2, 3) void emp_text_add(emp_text *text, const char *format, ...);

/** Adds a word of a command line, quoted for a shell if it has to be. */
void emp_text_add_word(emp_text *text, const char *word);

/** Adds " --name value", the value quoted as a word; nothing if \a value is NULL or empty. */
void emp_text_add_option(emp_text *text, const char *name, const char *value);

/** The first \a length bytes of \a name in at most \a width characters, 8 or more: of a longer
 * name both ends, with "..." between them. Writes it into \a buffer, of more than \a width
 * bytes, and returns it. */
const char *emp_text_shorten(const char *name, size_t length, size_t width, char *buffer);

/** Copies the first \a length bytes of \a from into \a to, which has \a size bytes; if they do not
 * fit, as many whole characters as do. \return Whether all fit. */
bool emp_text_copy(char *to, size_t size, const char *from, size_t length);

/** Length in bytes of the UTF-8 character (RFC 3629) at the beginning of \a text, of which \a left bytes,
 * one or more, are there; 0: they begin with no valid character. */
size_t emp_utf8_length(const char *text, size_t left);

/** True if all of \a text is valid UTF-8. */
bool emp_text_is_utf8(const char *text);

/** Whether a name has this ending, and something before it. */
bool emp_text_ends_in(const char *name, const char *ending);

/* Borrowed bytes, mostly text of a file that lies in memory: cut at lines, words and separators
 * without a copy.
 *
 * Threads. No state. */

/** Borrowed bytes, not terminated. */
typedef struct {
    const char *data;
    size_t      size;
} emp_slice;

/** For "%.*s": at most 80 bytes of a slice. */
#define EMP_SLICE_ARG(s) (int)((s).size < 80 ? (s).size : 80), (s).data

static inline bool emp_slice_starts(emp_slice slice, const char *text)
{
    size_t size = strlen(text);
    return slice.size >= size && memcmp(slice.data, text, size) == 0;
}

static inline bool emp_slice_is(emp_slice slice, const char *text)
{
    return slice.size == strlen(text) && emp_slice_starts(slice, text);
}

static inline bool emp_slice_same(emp_slice a, emp_slice b)
{
    return a.size == b.size && (a.size == 0 || memcmp(a.data, b.data, a.size) == 0);
}

/** All but the first \a count bytes, of which there are as many. */
static inline emp_slice emp_slice_behind(emp_slice slice, size_t count)
{
    return (emp_slice){slice.data + count, slice.size - count};
}

bool emp_slice_ends(emp_slice slice, const char *text);
bool emp_slice_has(emp_slice slice, const char *word);

/** Where \a word begins first; the size of the slice: nowhere. O(size). */
size_t emp_slice_find(emp_slice slice, const char *word);

/** Without blanks, tabs and carriage returns at both ends. */
emp_slice emp_slice_trim(emp_slice slice);

/** Cuts what stands before \a word, and the word, off the front of \a rest; false: there is no such word,
 * and \a rest is as it was. */
bool emp_slice_cut(emp_slice *part, emp_slice *rest, const char *word);

/** Cuts the next line off, without its end, which may be "\r\n"; false behind the last one. */
bool emp_slice_next_line(emp_slice *line, emp_slice *rest);

/** Cuts the next word off; words are separated by blanks, tabs and carriage returns. False behind the last
 * one, and \a word is empty. */
bool emp_slice_next_word(emp_slice *word, emp_slice *rest);

/** Copies what fits of it into \a size bytes, terminated; all but printable ASCII becomes '?'. */
void emp_slice_copy(char *to, size_t size, emp_slice slice);

#endif /* EMP_BASE_TEXT_TEXT_H */

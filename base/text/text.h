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

#include "base/error.h"

typedef struct {
    char  *at; /**< terminated after the first piece; borrowed */
    size_t size;
    size_t used; /**< without the terminator; below size */
} emp_text;

EMP_PRINTF_LIKE(2, 3) void emp_text_add(emp_text *text, const char *format, ...);

/** Adds a word of a command line, quoted for a shell if it has to be. */
void emp_text_add_word(emp_text *text, const char *word);

/** The first \a length bytes of \a name in at most \a width characters, 8 or more: of a longer
 * name both ends, with "..." between them. Writes it into \a buffer, of more than \a width
 * bytes, and returns it. */
const char *emp_text_shorten(const char *name, size_t length, size_t width, char *buffer);

/** Copies the first \a length bytes of \a from into \a to, which has \a size bytes; if they do not
 * fit, as many whole characters as do. \return Whether all fit. */
bool emp_text_copy(char *to, size_t size, const char *from, size_t length);

/** Whether a name has this ending, and something before it. */
bool emp_text_ends_in(const char *name, const char *ending);

#endif /* EMP_BASE_TEXT_TEXT_H */

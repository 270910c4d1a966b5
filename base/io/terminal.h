/** \file base/io/terminal.h
 * Terminals: their size, and text that may be written to them.
 */
#ifndef EMP_BASE_IO_TERMINAL_H
#define EMP_BASE_IO_TERMINAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Text from files on its way to a person: a name may hold escapes that move the cursor, change colours or
 * clear the screen of a terminal, and ends of lines that make one message look like two. */

enum { EMP_CLEAN_GROWTH = 4 }; /**< a byte becomes at most so many */

/** Copies \a length bytes of UTF-8 to \a clean, which has room for EMP_CLEAN_GROWTH times as many
 * and a zero. Control characters are spelt out: an escape as "\x1b", the end of a line as "\n".
 * So is the last byte of a mark that turns the direction of text or ends a line.
 * \param is_page  Ends of lines and tabs stay.
 * \param before   The two bytes before the text, for text in pieces; becomes its last two. Begin with 0.
 * \return the length of the copy. O(length). */
size_t emp_text_clean(char *clean, const char *text, size_t length, bool is_page,
                      uint16_t *before);

/** A stream to the terminal \a file whose text is cleaned (base/io/terminal.h), for names that come from
 * files. One in a program. Closing it leaves \a file open. \return NULL on failure. */
FILE *emp_terminal_open(int file);

/** Whether lines of a stream's file can be drawn in place: it is a terminal, and TERM is not "dumb". */
bool emp_terminal_is_drawn_on(int file);

/** In characters; all 0: the stream writes to no terminal, or to one that does not tell. */
typedef struct {
    int columns, lines;
} emp_terminal_size;

emp_terminal_size emp_terminal_size_of(FILE *stream);

#endif /* EMP_BASE_IO_TERMINAL_H */

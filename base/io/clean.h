/** \file base/io/clean.h
 * Text from files on its way to a person: a name may hold escapes that move the cursor, change colours or
 * clear the screen of a terminal, and ends of lines that make one message look like two.
 */
#ifndef EMP_BASE_IO_CLEAN_H
#define EMP_BASE_IO_CLEAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { EMP_CLEAN_GROWTH = 4 }; /**< a byte becomes at most so many */

/** Copies \a length bytes of UTF-8 to \a clean, which has room for EMP_CLEAN_GROWTH times as many
 * and a zero. Control characters are spelt out: an escape as "\x1b", the end of a line as "\n".
 * So is the last byte of a mark that turns the direction of text or ends a line.
 * \param is_page  Ends of lines and tabs stay.
 * \param before   The two bytes before the text, for text in pieces; becomes its last two. Begin with 0.
 * \return the length of the copy. O(length). */
size_t emp_text_clean(char *clean, const char *text, size_t length, bool is_page,
                      uint16_t *before);

#endif /* EMP_BASE_IO_CLEAN_H */

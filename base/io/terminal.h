/** \file base/io/terminal.h
 * Terminals: how large one is, and what may be written to it.
 */
#ifndef EMP_BASE_IO_TERMINAL_H
#define EMP_BASE_IO_TERMINAL_H

#include <stdbool.h>
#include <stdio.h>

/** A stream to the terminal \a file whose text is cleaned (base/io/clean.h), for names that come from
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

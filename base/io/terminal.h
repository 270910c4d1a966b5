/** \file base/io/terminal.h
 * How large the terminal is that a stream writes to.
 */
#ifndef EMP_BASE_IO_TERMINAL_H
#define EMP_BASE_IO_TERMINAL_H

#include <stdio.h>

/** In characters; all 0: the stream writes to no terminal, or to one that does not tell. */
typedef struct {
    int columns, lines;
} emp_terminal_size;

emp_terminal_size emp_terminal_size_of(FILE *stream);

#endif /* EMP_BASE_IO_TERMINAL_H */

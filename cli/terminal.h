/** \file cli/terminal.h
 * The width of a line, and texts that fit in it.
 */
#ifndef EMP_CLI_TERMINAL_H
#define EMP_CLI_TERMINAL_H

#include <stdio.h>

/** Columns of the terminal that \a stream is: at least 40; 80 if it is none. */
int cli_terminal_width(FILE *stream);

/** Prints "  word  text" on standard output, the text from column \a column on and broken
 * between words where the terminal ends. */
void cli_print_entry(const char *word, int column, const char *text);

#endif /* EMP_CLI_TERMINAL_H */

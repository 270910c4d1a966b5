/** \file cli/format.h
 * The option --format, the same in every command that prints a result.
 */
#ifndef EMP_CLI_FORMAT_H
#define EMP_CLI_FORMAT_H

#include <argp.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

#include "run/sheet/sheet.h"

/** The option and its parser. A command adds it as an argp child with an emp_sheet_format as
 * input, which keeps its value unless the option is given; zero is text. */
extern const struct argp cli_format_argp;

/** Whether people read the format: text and Markdown. */
bool cli_format_is_for_people(emp_sheet_format format);

/** Prints one JSON object to standard output and releases it: as it is, or as lines of a key
 * and a value. Keys of objects within it are joined by dots, places in lists likewise. The
 * ending of a key states the unit in which people read the number: step_time_s, peak_bytes.
 * \retval EMP_ENOMEM  Also if \a object is NULL.
 * \retval EMP_EIO     Standard output has failed. */
emp_status cli_print_object(json_t *object, emp_sheet_format format, emp_error *err);

/** Columns of the terminal that \a stream is: at least 40; 80 if it is none. */
int cli_terminal_width(FILE *stream);

/** Prints "  word  text" on standard output, the text from column \a column on and broken
 * between words where the terminal ends. */
void cli_print_entry(const char *word, int column, const char *text);

#endif /* EMP_CLI_FORMAT_H */

/** \file cli/commands/option_table.h
 * Tables of options by name (base/text/options.h), as people and programs read them.
 */
#ifndef EMP_CLI_COMMANDS_OPTION_TABLE_H
#define EMP_CLI_COMMANDS_OPTION_TABLE_H

#include <jansson.h>

#include "base/text/options.h"

/** A line an option: name=default, meaning, range. \a presets may be NULL; of two that differ
 * the default is "256/12". */
void cli_print_option_table(const emp_option *list, const char *presets);

/** The same as an object by name; NULL when memory is out. */
json_t *cli_json_option_table(const emp_option *list, const char *presets);

/** "careful|fast" as a list. */
json_t *cli_json_words(const char *words);

#endif /* EMP_CLI_COMMANDS_OPTION_TABLE_H */

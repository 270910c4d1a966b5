/** \file cli/parse.h
 * The grammar of all commands: options as their tables say, -h and -V everywhere, and one
 * sentence for what is wrong.
 */
#ifndef EMP_CLI_PARSE_H
#define EMP_CLI_PARSE_H

#include <argp.h>
#include <stdbool.h>
#include <stdint.h>

enum { CLI_MOST_OPTIONS = 64 };

/** Parses the options of a command into \a args, which its parser finds in state->input.
 * Prints help or the version to standard output and exits 0 where they are asked for; exits 2
 * on bad usage. */
void cli_parse(const struct argp *argp, int argc, char **argv, void *args);

/** Prints the help of a command, \a name being "emplace place", for the width of the terminal. */
void cli_print_help(const struct argp *argp, const char *name);

/** The options of a command and of all its argp children, in \a list; hidden ones, too.
 * \return their number. */
int32_t cli_collect_options(const struct argp        *argp,
                            const struct argp_option *list[CLI_MOST_OPTIONS]);

/** Prints the version and commit; \a is_verbose: the libraries, too. */
void cli_print_version(bool is_verbose);

#endif /* EMP_CLI_PARSE_H */

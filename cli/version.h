/** \file cli/version.h
 * What this program is and which libraries it runs with.
 */
#ifndef EMP_CLI_VERSION_H
#define EMP_CLI_VERSION_H

#include <stdbool.h>

/** Prints the version and commit; \a is_verbose: the libraries, too. */
void cli_print_version(bool is_verbose);

#endif /* EMP_CLI_VERSION_H */

/** \file cli/exit.h
 * The exit statuses of the program.
 */
#ifndef EMP_CLI_EXIT_H
#define EMP_CLI_EXIT_H

enum {
    CLI_EXIT_INPUT = 1,
    CLI_EXIT_USAGE = 2,
    CLI_EXIT_AGAIN = 75, /**< EX_TEMPFAIL: the same command goes on */
    CLI_EXIT_INTERRUPTED = 130
};

#endif /* EMP_CLI_EXIT_H */

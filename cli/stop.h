/** \file cli/stop.h
 * Ctrl-C: the first SIGINT or SIGTERM asks for an orderly end, the second one kills.
 */
#ifndef EMP_CLI_STOP_H
#define EMP_CLI_STOP_H

#include <signal.h>

/** Installs the handlers and returns the flag that they set; static storage. */
const volatile sig_atomic_t *cli_stop_flag(void);

#endif /* EMP_CLI_STOP_H */

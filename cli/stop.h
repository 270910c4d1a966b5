/** \file cli/stop.h
 * Ctrl-C: the first SIGINT or SIGTERM asks for an orderly end, the second one kills.
 */
#ifndef EMP_CLI_STOP_H
#define EMP_CLI_STOP_H

#include <signal.h>
#include <stdbool.h>

/** Installs the handlers, unless the flag that they set is set, and returns it; static
 * storage. Call it before work that takes long, and again wherever the flag is needed. */
const volatile sig_atomic_t *cli_stop_flag(void);

/** Whether that flag is set. */
bool cli_stop_is_asked(void);

/** From now on SIGINT and SIGTERM end the program, if the handlers are installed: for work
 * that has nothing to save. */
void cli_stop_at_once(void);

#endif /* EMP_CLI_STOP_H */

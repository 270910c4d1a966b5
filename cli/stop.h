/** \file cli/stop.h
 * Ctrl-C: the first SIGINT or SIGTERM asks for an orderly end, the second one kills.
 *
 * Set-up may take long inside of libraries that look at no flag. While the program is watched,
 * a signal that finds nothing worth saving therefore ends it after a second:
 *
 *     params.stop = cli_stop_flag();
 *     params.keeping = cli_stop_kept();
 *     cli_stop_watch("interrupted before a placement was found");
 *     st = emp_run(..., &params, err);
 *     cli_stop_unwatch();
 */
#ifndef EMP_CLI_STOP_H
#define EMP_CLI_STOP_H

#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "base/error.h"

/** Installs the handlers, unless the flag that they set is set, and returns it; static
 * storage. Call it before work that takes long, and again wherever the flag is needed. */
const volatile sig_atomic_t *cli_stop_flag(void);

/** Whether that flag is set. */
bool cli_stop_is_asked(void);

/** The number of runs that have something to save; static storage. Runs change it. */
atomic_int *cli_stop_kept(void);

/** From now on the program ends a second after the first signal, or as soon after it as
 * nothing is kept: with this sentence on standard error and status 130. Orderly work may
 * come first. The sentence is cut after 500 bytes. */
EMP_PRINTF_LIKE(1, 2) void cli_stop_watch(const char *format, ...);

/** From now on an orderly end may take its time. */
void cli_stop_unwatch(void);

/** From now on SIGINT and SIGTERM end the program, if the handlers are installed: for work
 * that has nothing to save. */
void cli_stop_at_once(void);

#endif /* EMP_CLI_STOP_H */

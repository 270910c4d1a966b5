/** \file cli/stop.h
 * Ctrl-C, SIGTERM, SIGHUP and SIGXCPU (a limit of CPU time is reached) are answered within a second,
 * whatever the program is doing. Under nohup SIGHUP is ignored. A file that grows beyond a limit
 * (SIGXFSZ) ends nothing: writing it fails.
 *
 * A program that has called cli_stop_begin() is in one of three states:
 *
 * - *At once*, the state at the start: a signal ends the program.
 * - *Soon*, after cli_stop_flag(): the first signal sets the flag, and the work ends in good order.
 *   Libraries look at no flag. So the program ends after PATIENCE_MS, unless a run has something to
 *   save: then it says on a terminal that it ends after the batch.
 * - *In order*, after cli_stop_unwatch(): the first signal sets the flag, and that is all.
 *
 * In every state the second signal ends the program, unless it is SIGXCPU, which comes every second.
 * A signal that ends the program has it say so in a sentence, with status 130. Files that were not
 * written whole are gone then, and so are programs that worked for it. A part of a study has another
 * status (cli_stop_for_scheduler()):
 *
 *     params.stop = cli_stop_flag();
 *     params.keeping = cli_stop_kept();
 *     cli_stop_watch("interrupted before a placement was found");
 *     st = emp_run(..., &params, err);
 *     cli_stop_unwatch();
 */
#ifndef EMP_CLI_STOP_H
#define EMP_CLI_STOP_H

#include <stdatomic.h>
#include <stdbool.h>

#include "base/error.h"

/** The exit statuses of the program beside 0. */
enum {
    CLI_EXIT_INPUT = 1,
    CLI_EXIT_USAGE = 2,
    CLI_EXIT_AGAIN = 75, /**< EX_TEMPFAIL: the same command goes on */
    CLI_EXIT_INTERRUPTED = 130
};

/** Installs the handlers; the state is *at once*. Children that are forked and do not call exec()
 * die of the signals as if there were no handlers. If the environment's EMPLACE_PARENT is the number of the
 * parent, the end of the parent is answered as SIGTERM is. */
void cli_stop_begin(void);

/** For parts of studies, which a cluster's scheduler warns before their time is up: from now on SIGUSR1
 * is answered as SIGTERM is, and whatever these two, SIGHUP or SIGXCPU end has the status CLI_EXIT_AGAIN. */
void cli_stop_for_scheduler(void);

/** The status of a program that a signal has ended: CLI_EXIT_INTERRUPTED, or CLI_EXIT_AGAIN. */
int cli_stop_status(void);

/** The flag that the first signal sets to its number; static storage. The state is *soon*, unless it is
 * *in order*. Call it before work that takes long, and again wherever the flag is needed. */
const atomic_int *cli_stop_flag(void);

/** Sets that flag, as SIGTERM does, since another rank was stopped. The state is *in order*. */
void cli_stop_with_others(void);

/** Whether that flag is set. */
bool cli_stop_is_asked(void);

/** Whether a line on the terminal has said that the program ends after the batch. */
bool cli_stop_is_told(void);

/** The number of runs that have something to save; static storage. Runs change it. */
atomic_int *cli_stop_kept(void);

/** The state is *soon*, with this sentence as the program's last words. It is cut after 500
 * bytes. */
EMP_PRINTF_LIKE(1, 2) void cli_stop_watch(const char *format, ...);

/** Ends the program with this sentence and status 1 when so many seconds have passed, if it is *soon*
 * then and no run has something to save. The sentence is cut after 500 bytes. */
EMP_PRINTF_LIKE(2, 3)
void cli_stop_give_up_after(double seconds, const char *format, ...);

/** The state is *in order*: what ends now may take its time. */
void cli_stop_unwatch(void);

/** The state is *at once*: for work that has nothing to save. A signal that has come already ends
 * nothing, since its end is under way; the next one does. */
void cli_stop_at_once(void);

#endif /* EMP_CLI_STOP_H */

// SPDX-License-Identifier: GPL-3.0-or-later
#define _XOPEN_SOURCE 700 /* setitimer() */
#include "cli/stop.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/io/atomic_file.h"
#include "base/io/process.h"
#include "base/io/terminal.h"

/* Under a second, so that there is time to end. */
enum { PATIENCE_MS = 500, SENTENCE_BYTES = 500 };

enum { AT_ONCE, SOON, IN_ORDER }; /* states */

/* One row of a terminal of 60 columns. */
static const char saving[] =
    "\r\033[Jemplace: ending after this batch; Ctrl-C again ends at once\n";

static atomic_int state, is_asked, is_told, is_terminal, owner, is_scheduled;
static atomic_int exit_status = CLI_EXIT_INTERRUPTED;
static atomic_int kept_count;
static char       last_words[SENTENCE_BYTES + 32];
static char       giving_up[SENTENCE_BYTES + 32];

static void handle(int signal, void (*handler)(int signal))
{
    struct sigaction action;

    memset(&action, 0, sizeof action);
    action.sa_handler = handler;
    action.sa_flags = SA_RESTART;
    sigemptyset(&action.sa_mask);
    sigaction(signal, &action, NULL);
}

/* All below that handlers call, calls only what handlers may call. */

_Noreturn static void end(const char *words, int status)
{
    ssize_t written = write(STDERR_FILENO, words, strlen(words));
    (void)written;
    emp_atomic_file_drop_all();
    emp_watcher_end_all();
    _exit(status);
}

static void wait_ms(int64_t ms)
{
    const struct itimerval moment = {
        .it_value = {.tv_sec = ms / 1000, .tv_usec = ms % 1000 * 1000}};

    setitimer(ITIMER_REAL, &moment, NULL);
}

/* Who waits at a terminal learns why. */
static void tell_once(void)
{
    if (!is_terminal || is_told) return;
    ssize_t written = write(STDERR_FILENO, saving, sizeof saving - 1);
    (void)written;
    is_told = 1;
}

static void end_unless_kept(void)
{
    if (state != SOON || getpid() != (pid_t)owner) return;
    bool is_kept = atomic_load(&kept_count) > 0;
    if (!is_asked && !is_kept) end(giving_up, CLI_EXIT_INPUT);
    if (!is_kept) end(last_words, exit_status);
    if (!is_asked) return;
    tell_once();
    wait_ms(PATIENCE_MS);
}

/* The time that the timer was set to is over. */
static void on_alarm(int signal)
{
    const int cause = errno;

    (void)signal;
    end_unless_kept();
    errno = cause;
}

static void ask_to_stop(int signal)
{
    if (getpid() != (pid_t)owner) { /* a forked child has nothing to say */
        handle(signal, SIG_DFL);
        raise(signal);
        return;
    }
    if (signal == SIGXCPU && is_asked) return; /* it comes every second */
    if (is_scheduled && signal != SIGINT) exit_status = CLI_EXIT_AGAIN;
    if (is_asked || state == AT_ONCE) end(last_words, exit_status);
    is_asked = signal;
    if (state == SOON) wait_ms(PATIENCE_MS);
}

static void on_request(int signal)
{
    const int cause = errno;

    ask_to_stop(signal);
    errno = cause;
}

/* Writing fails, and says so. To ignore the signal would hand that on to programs that are started. */
static void on_file_limit(int signal) { (void)signal; }

static void handle_unless_ignored(int signal)
{
    struct sigaction before;

    if (sigaction(signal, NULL, &before) == 0 && before.sa_handler != SIG_IGN)
        handle(signal, on_request);
}

/* Words that take the place of a progress line. */
static void word(char words[SENTENCE_BYTES + 32], const char *sentence)
{
    snprintf(words, SENTENCE_BYTES + 32, "%semplace: %s\n", is_terminal ? "\r\033[J" : "",
             sentence);
}

/* Ends the program as SIGTERM does when its parent has ended, if the parent asks for it: the Python module
 * starts it in a group of its own, which no terminal signals when it is closed. */
static void end_with_parent(void)
{
    const char *parent = getenv("EMPLACE_PARENT");

    if (parent == NULL || atol(parent) != (long)getppid()) return;
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (atol(parent) != (long)getppid()) raise(SIGTERM); /* it was quicker */
}

void cli_stop_begin(void)
{
    owner = (int)getpid();
    is_terminal = emp_terminal_is_drawn_on(STDERR_FILENO);
    word(last_words, "interrupted");
    handle(SIGALRM, on_alarm);
    handle(SIGINT, on_request);
    handle(SIGTERM, on_request);
    handle_unless_ignored(SIGHUP); /* nohup has it ignored */
    handle_unless_ignored(SIGXCPU);
    handle(SIGXFSZ, on_file_limit);
    end_with_parent();
}

void cli_stop_for_scheduler(void)
{
    is_scheduled = 1;
    handle(SIGUSR1, on_request);
}

int cli_stop_status(void) { return exit_status; }

const atomic_int *cli_stop_flag(void)
{
    if (state == AT_ONCE) state = SOON;
    return &is_asked;
}

void cli_stop_with_others(void)
{
    if (is_asked) return;
    if (is_scheduled) exit_status = CLI_EXIT_AGAIN;
    is_asked = SIGTERM;
}

bool cli_stop_is_asked(void) { return is_asked; }

bool cli_stop_is_told(void) { return is_told; }

atomic_int *cli_stop_kept(void) { return &kept_count; }

void cli_stop_watch(const char *format, ...)
{
    char    sentence[SENTENCE_BYTES];
    va_list args;

    va_start(args, format);
    vsnprintf(sentence, sizeof sentence, format, args);
    va_end(args);
    word(last_words, sentence);
    state = SOON;
    if (is_asked) wait_ms(PATIENCE_MS);
}

void cli_stop_give_up_after(double seconds, const char *format, ...)
{
    enum { MOST_S = 1000000 };
    char    sentence[SENTENCE_BYTES];
    va_list args;

    if (is_asked || seconds > MOST_S) return;
    va_start(args, format);
    vsnprintf(sentence, sizeof sentence, format, args);
    va_end(args);
    word(giving_up, sentence);
    wait_ms((int64_t)(seconds * 1000) + 1);
}

void cli_stop_unwatch(void)
{
    state = IN_ORDER;
    wait_ms(0); /* no more */
}

void cli_stop_at_once(void)
{
    word(last_words, "interrupted");
    state = AT_ONCE;
}

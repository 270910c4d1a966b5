// SPDX-License-Identifier: GPL-3.0-or-later
#define _POSIX_C_SOURCE 200809L
#include "cli/stop.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"

enum { PATIENCE_S = 1, SENTENCE_BYTES = 500 };

static volatile sig_atomic_t is_asked, is_watched;
static bool                  is_handled;
static atomic_int            kept_count;
static char                  last_words[SENTENCE_BYTES + 32];

static void handle(int signal, void (*handler)(int signal), int flags)
{
    struct sigaction action;

    memset(&action, 0, sizeof action);
    action.sa_handler = handler;
    action.sa_flags = flags;
    sigemptyset(&action.sa_mask);
    sigaction(signal, &action, NULL);
}

/* A handler: it calls only what handlers may call. */
static void end_unless_kept(int signal)
{
    (void)signal;
    if (!is_watched) return;
    if (atomic_load(&kept_count) > 0) {
        (void)alarm(PATIENCE_S);
        return;
    }
    ssize_t written = write(STDERR_FILENO, last_words, strlen(last_words));
    (void)written;
    _exit(CLI_EXIT_INTERRUPTED);
}

static void handle_both(void (*handler)(int signal))
{
    handle(SIGINT, handler, SA_RESTART);
    handle(SIGTERM, handler, SA_RESTART);
}

/* The next signal, whichever of the two it is, kills. */
static void ask_to_stop(int signal)
{
    (void)signal;
    handle_both(SIG_DFL);
    is_asked = 1;
    if (is_watched) (void)alarm(PATIENCE_S);
}

const volatile sig_atomic_t *cli_stop_flag(void)
{
    if (!is_asked) handle_both(ask_to_stop); /* else the next one is to kill */
    is_handled = true;
    return &is_asked;
}

bool cli_stop_is_asked(void) { return is_asked; }

atomic_int *cli_stop_kept(void) { return &kept_count; }

void cli_stop_watch(const char *format, ...)
{
    char    sentence[SENTENCE_BYTES];
    va_list args;

    if (is_watched) return;
    va_start(args, format);
    vsnprintf(sentence, sizeof sentence, format, args);
    va_end(args);
    snprintf(last_words, sizeof last_words, "%semplace: %s\n",
             isatty(STDERR_FILENO) == 1 ? "\r\033[J" : "", sentence);
    handle(SIGALRM, end_unless_kept, SA_RESTART);
    is_watched = 1;
    if (is_asked) (void)alarm(PATIENCE_S);
}

void cli_stop_unwatch(void)
{
    is_watched = 0;
    (void)alarm(0);
}

void cli_stop_at_once(void)
{
    if (is_handled) handle_both(SIG_DFL); /* else it is as whoever started us wants it */
}

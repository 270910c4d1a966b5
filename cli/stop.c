// SPDX-License-Identifier: GPL-3.0-or-later
#define _POSIX_C_SOURCE 200809L
#include "cli/stop.h"

#include <string.h>

static volatile sig_atomic_t is_asked;
static bool                  is_handled;

static void ask_to_stop(int signal)
{
    (void)signal;
    is_asked = 1;
}

static void handle(void (*handler)(int signal))
{
    struct sigaction action;

    memset(&action, 0, sizeof action);
    action.sa_handler = handler;
    action.sa_flags = (int)SA_RESETHAND | SA_RESTART;
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
}

const volatile sig_atomic_t *cli_stop_flag(void)
{
    if (!is_asked) handle(ask_to_stop); /* else the next one is to kill */
    is_handled = true;
    return &is_asked;
}

bool cli_stop_is_asked(void) { return is_asked; }

void cli_stop_at_once(void)
{
    if (is_handled) handle(SIG_DFL); /* else it is as whoever started us wants it */
}

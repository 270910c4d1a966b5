// SPDX-License-Identifier: GPL-3.0-or-later
#define _POSIX_C_SOURCE 200809L
#include "cli/stop.h"

#include <string.h>

static volatile sig_atomic_t is_asked;

static void ask_to_stop(int signal)
{
    (void)signal;
    is_asked = 1;
}

const volatile sig_atomic_t *cli_stop_flag(void)
{
    struct sigaction action;

    if (is_asked) return &is_asked; /* the next one is to kill */
    memset(&action, 0, sizeof action);
    action.sa_handler = ask_to_stop;
    action.sa_flags = (int)SA_RESETHAND | SA_RESTART;
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    return &is_asked;
}

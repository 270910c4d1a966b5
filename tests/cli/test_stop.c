// SPDX-License-Identifier: GPL-3.0-or-later
/* Does the first signal ask for an end, and the second one kill, whichever of the two they are? */
#include <criterion/criterion.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/stop.h"

/* Sends itself both; what it exits with says how far it came. */
static int status_after(int first, int second)
{
    int   status = 0;
    pid_t child = fork();

    cr_assert_geq(child, 0);
    if (child == 0) {
        const volatile sig_atomic_t *stop = cli_stop_flag();
        raise(first);
        if (!*stop || !cli_stop_is_asked()) _exit(1);
        raise(second);
        _exit(2);
    }
    cr_assert_eq(waitpid(child, &status, 0), child);
    return status;
}

Test(stop, the_second_signal_kills)
{
    static const int signals[] = {SIGINT, SIGTERM};

    for (int i = 0; i < 4; i++) {
        int second = signals[i % 2], status = status_after(signals[i / 2], second);
        cr_expect(WIFSIGNALED(status), "case %d ends with %d", i, status);
        cr_expect_eq(WTERMSIG(status), second);
    }
}

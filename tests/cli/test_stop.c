// SPDX-License-Identifier: GPL-3.0-or-later
/* Does the first signal ask for an end, and the second one kill, whichever of the two they are?
 * Does a run that has ended leave the next one free to end in its set-up? */
#include <criterion/criterion.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/options/run_options.h"
#include "cli/stop.h"
#include "run/methods.h"
#include "tests/support/problems.h"

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

Test(stop, a_run_that_has_ended_keeps_nothing)
{
    const emp_method     *method = NULL;
    const cli_run_options options = cli_run_options_default();
    emp_record            record = {0};
    emp_error             err = {0};
    task                  t;

    task_create(&t, "rnnlm:steps=2", "k40x2", "ideal");
    cr_assert_eq(emp_method_find(&method, "gpu", &err), EMP_OK, "%s", err.msg);
    cr_assert_eq(cli_run(&record, NULL, &options, t.problem, method, 1, &err), EMP_OK,
                 "%s", err.msg);
    cr_expect_eq(atomic_load(cli_stop_kept()), 0);
    emp_record_clear(&record);
    task_destroy(&t);
}

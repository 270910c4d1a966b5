// SPDX-License-Identifier: GPL-3.0-or-later
/* Is it told whether a program succeeds, fails, or is not there? Do signals stay as they are? */
#include <criterion/criterion.h>
#include <signal.h>
#include <unistd.h>

#include "base/io/program.h"

Test(program, success_failure_and_absence)
{
    const char *const good[] = {"true", NULL}, *const bad[] = {"false", NULL};
    const char *const absent[] = {"emplace-no-such-program", NULL};
    const char *const sees_its_arguments[] = {"test", "a b", "=", "a b", NULL};

    cr_expect(emp_program_succeeds(good));
    cr_expect(emp_program_succeeds(sees_its_arguments));
    cr_expect_not(emp_program_succeeds(bad));
    cr_expect_not(emp_program_succeeds(absent));
}

static volatile sig_atomic_t is_hit;

static void note(int signal) { is_hit = signal; }

Test(program, a_signal_that_comes_meanwhile_is_seen)
{
    const char *const slow[] = {"sh", "-c", "kill -INT $PPID; sleep 0.1", NULL};

    signal(SIGINT, note);
    cr_expect(emp_program_succeeds(slow));
    cr_expect_eq(is_hit, SIGINT);
}

// SPDX-License-Identifier: GPL-3.0-or-later
/* Under limits of the shell, does each command end, with a sentence where it cannot work? */
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/work.h"
#include "tests/support/program.h"
#include "tests/test.h"

static const double PATIENCE_S = 60;

TestSuite(limits, .init = scratch_create, .fini = scratch_remove);

/* Runs it under a limit. Returns its exit status, or -1 if it did not end by itself. */
static int run_under(const char *limit, const char *arguments)
{
    const double before_s = emp_clock_now_s();
    const pid_t  child = program_start(limit, "cli/emplace", arguments);
    int          status = 0;

    while (waitpid(child, &status, WNOHANG) == 0) {
        usleep(10000);
        if (emp_clock_now_s() - before_s < PATIENCE_S) continue;
        kill(child, SIGKILL);
        waitpid(child, &status, 0);
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void expect_one_sentence(const char *about)
{
    char *text = scratch_text("stderr");

    cr_expect(program_is_one_sentence(text, "emplace: "), "%s", text);
    cr_expect_not_null(strstr(text, about), "%s", text);
}

Test(limits, commands_of_the_oracle_need_little_address_space)
{
    static const char *const limits[] = {"ulimit -v 100000 &&", "ulimit -v 200000 &&",
                                         "ulimit -v 400000 &&", "ulimit -s 256 &&"};

    for (int i = 0; i < 4; i++) {
        cr_expect_eq(run_under(limits[i], "machines"), 0, "%s", limits[i]);
        cr_expect_eq(
            run_under(limits[i], "simulate rnnlm:layers=1,steps=2 -m k40x2 -p gpu"), 0,
            "%s", limits[i]);
    }
}

Test(limits, a_learner_without_room_says_so)
{
    static const char place[] = "place rnnlm:layers=1,steps=2 -m k40x2 -M hdp -b 20 -t 1 "
                                "--no-bound";

    cr_expect_eq(run_under("ulimit -v 200000 &&", place), 1);
    expect_one_sentence("128 MiB of address space");
    cr_expect_eq(run_under("ulimit -v 400000 &&", place), 0);
}

Test(limits, a_stack_that_is_too_small_is_refused)
{
    cr_expect_eq(run_under("ulimit -s 128 &&", "machines"), 1);
    expect_one_sentence("ulimit -s 256");
}

Test(limits, a_file_that_may_not_grow_is_none)
{
    cr_expect_eq(
        run_under("ulimit -f 1 &&",
                  "simulate rnnlm:layers=1,steps=2 -m k40x2 -p gpu --trace t.json"),
        1);
    expect_one_sentence("t.json cannot be written: File too large");
    cr_expect_null(scratch_find("t.json*"));
}

/* By default a thread that has nothing to do would keep its core busy for milliseconds. */
Test(limits, threads_wait_briefly_unless_the_user_sets_how)
{
    static const char        place[] = "place rnnlm:layers=1,steps=2 -m k40x2 -b 2 "
                                       "-M 'cmd:printenv GOMP_SPINCOUNT > waits'";
    static const char *const cases[][2] = {
        {"unset OMP_WAIT_POLICY GOMP_SPINCOUNT &&", "1000\n"},
        {"unset OMP_WAIT_POLICY && GOMP_SPINCOUNT=7", "7\n"},
        {"unset GOMP_SPINCOUNT && OMP_WAIT_POLICY=active", ""}};

    for (int i = 0; i < 3; i++) {
        cr_expect_eq(run_under(cases[i][0], place), 1, "the method has ended");
        cr_expect_str_eq(scratch_text("waits"), cases[i][1], "%s", cases[i][0]);
    }
}

// SPDX-License-Identifier: GPL-3.0-or-later
/* Is the result of a program that succeeds, fails, or is missing reported? Do signals stay as they are? Does a
 * child end with its parent, and not by signals that are for its parent? */
#include <criterion/criterion.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/io/process.h"

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

static void expect_parent_alone_hears(int number)
{
    const pid_t child = emp_program_fork();
    int         status = 0;

    if (child == 0) {
        raise(number);
        _exit(3);
    }
    cr_assert_gt(child, 0);
    cr_assert_eq(waitpid(child, &status, 0), child);
    cr_expect(WIFEXITED(status) && WEXITSTATUS(status) == 3, "signal %d", number);
    signal(number, note);
    raise(number);
    cr_expect_eq(is_hit, number, "its parent does");
}

Test(program, a_child_does_not_hear_signals_of_its_group)
{
    expect_parent_alone_hears(SIGINT);
    expect_parent_alone_hears(SIGTERM);
    expect_parent_alone_hears(SIGHUP);
    expect_parent_alone_hears(SIGUSR1);
}

Test(program, what_a_program_prints_can_be_read)
{
    const char *const good[] = {"echo", "a b", NULL}, *const bad[] = {"false", NULL};
    const char *const absent[] = {"emplace-no-such-program", NULL};
    emp_program       program = emp_program_open(good);
    char              line[16] = "";

    cr_assert_not_null(fgets(line, sizeof line, program.output));
    cr_expect_str_eq(line, "a b\n");
    cr_expect_null(fgets(line, sizeof line, program.output));
    cr_expect(emp_program_close(&program));
    program = emp_program_open(bad);
    cr_expect_not(emp_program_close(&program));
    program = emp_program_open(absent);
    cr_expect_not(emp_program_close(&program));
}

/* From its first moment on: it cannot have said that it will not. */
Test(program, one_that_is_read_does_not_hear_ctrl_c)
{
    const char *const argument[] = {"sleep", "0.2", NULL};
    emp_program       program = emp_program_open(argument);

    cr_assert_eq(kill(program.child, SIGINT), 0);
    cr_expect(emp_program_close(&program));
    signal(SIGINT, note);
    raise(SIGINT);
    cr_expect_eq(is_hit, SIGINT, "its reader does");
}

/* The child holds the pipe that is read here until it ends. */
Test(program, a_child_ends_with_its_parent, .timeout = 20)
{
    int  fd[2];
    char byte;

    cr_assert_eq(pipe(fd), 0);
    const pid_t parent = fork();
    if (parent == 0) {
        if (emp_program_fork() == 0) {
            cr_assert_eq(write(fd[1], "x", 1), 1);
            for (;;) pause();
        }
        close(fd[1]);
        _exit(read(fd[0], &byte, 1) == 1 ? 0 : 1);
    }
    close(fd[1]);
    int status = 0;
    cr_assert_eq(waitpid(parent, &status, 0), parent);
    cr_expect(WIFEXITED(status) && WEXITSTATUS(status) == 0, "the child has begun");
    cr_expect_eq(read(fd[0], &byte, 1), 0, "and has ended");
}

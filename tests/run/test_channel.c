// SPDX-License-Identifier: GPL-3.0-or-later
/* Does a program at the other end of a channel, and what it has started, end with who has started it? */
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/io/process.h"
#include "run/outside/channel.h"
#include "tests/test.h"

static void expect_byte(int pipe_end)
{
    char byte = 0;

    cr_assert_eq(read(pipe_end, &byte, 1), 1);
    cr_assert_eq(byte, '!');
}

enum { HELD = 9 }; /* a shell knows no descriptor of two digits */

/* Until the other end is closed. */
static void expect_end(int life, const char *command)
{
    char byte;

    cr_assert_eq(poll(&(struct pollfd){life, POLLIN, 0}, 1, 60000), 1,
                 "it is still there: %s", command);
    cr_expect_eq(read(life, &byte, 1), 0);
    close(life);
}

/* Starts a command that holds the pipe \a life open, and then is killed or closes the channel. A child by
 * other means, which ends with this process at the latest, is none of the command's. */
static void start_and_end(const char *command, const int life[2], const int go_on[2],
                          bool is_killed)
{
    emp_channel channel = {0};
    int         status = 0;
    char        byte;
    const pid_t other = is_killed ? -1 : emp_program_fork();

    close(go_on[1]);
    if (other == 0) {
        close(life[1]);
        for (;;) pause();
    }
    dup2(life[1], HELD);
    if (emp_channel_start(&channel, command, NULL) != EMP_OK) _exit(1);
    if (!is_killed) close(HELD);
    close(life[1]);
    if (read(go_on[0], &byte, 1) != 1) _exit(2);
    if (is_killed) raise(SIGKILL);
    emp_channel_close(&channel);
    if (poll(&(struct pollfd){life[0], POLLIN, 0}, 1, 0) != 1) _exit(4); /* it lives */
    _exit(waitpid(other, &status, WNOHANG) == 0 ? 0 : 3);
}

static void expect_death(const char *command, bool is_killed)
{
    int life[2], go_on[2], status = 0;

    cr_assert_eq(pipe(life), 0);
    cr_assert_eq(pipe(go_on), 0);
    cr_assert_neq(go_on[0], HELD);
    const pid_t parent = fork();
    if (parent == 0) start_and_end(command, life, go_on, is_killed);
    close(life[1]);
    expect_byte(life[0]); /* the program works */
    cr_assert_eq(write(go_on[1], "!", 1), 1);
    cr_assert_eq(waitpid(parent, &status, 0), parent);
    if (is_killed)
        cr_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    else
        cr_expect_eq(status, 0, "%s: %d", command, WEXITSTATUS(status));
    expect_end(life[0], command);
    close(go_on[0]);
    close(go_on[1]);
}

/* The processes that a program starts: beside itself, in a session of its own, and as another's child. */
Test(channel, programs_and_what_they_start_die_with_parent_and_channel, .timeout = 100)
{
    static const char *const starting[] = {
        "printf ! >&9; exec sleep 600",
        "(printf ! >&9; sleep 600) & sleep 600; true",
        "setsid sh -c 'printf ! >&9; exec sleep 600' & sleep 600; true",
        "setsid sh -c '(trap \"\" TERM HUP INT; printf ! >&9; exec sleep 600) &'; cat",
    };

    for (size_t i = 0; i < sizeof starting / sizeof *starting; i++) {
        expect_death(starting[i], true);
        expect_death(starting[i], false);
    }
}

static void start_in_a_session(emp_channel *channel, void *context)
{
    const int life = *(const int *)context;

    if (fork() == 0) {
        setsid();
        close(channel->socket);
        if (write(life, "!", 1) != 1) _exit(1);
        for (;;) pause();
    }
    _exit(7);
}

/* As a shared library may do. The status is the worker's, though what it started is there. */
Test(channel, what_a_fork_starts_dies_when_it_is_closed, .timeout = 100)
{
    emp_channel channel = {0};
    int         life[2];

    cr_assert_eq(pipe(life), 0);
    ASSERT_OK(emp_channel_fork(&channel, start_in_a_session, &life[1], NULL));
    close(life[1]);
    expect_byte(life[0]);
    emp_channel_close(&channel);
    expect_end(life[0], "a fork");
}

Test(channel, the_end_of_a_watcher_is_that_of_its_child)
{
    int how = 0;

    for (int by_signal = 0; by_signal <= 1; by_signal++) {
        const pid_t watcher = emp_watcher_fork();
        if (watcher == 0) {
            if (by_signal) raise(SIGUSR2);
            _exit(7);
        }
        cr_assert_gt(watcher, 0);
        cr_assert_eq(waitpid(watcher, &how, 0), watcher);
        cr_expect(by_signal ? WIFSIGNALED(how) && WTERMSIG(how) == SIGUSR2
                            : WIFEXITED(how) && WEXITSTATUS(how) == 7);
    }
    const pid_t endless = emp_watcher_fork();
    if (endless == 0)
        for (;;) pause();
    how = emp_watcher_end(endless);
    cr_expect(WIFSIGNALED(how) && WTERMSIG(how) == SIGKILL);
    cr_expect_eq(waitpid(endless, &how, 0), -1, "it is waited for");
}

/* The program says more than is read. */
static void start_and_close(const char *command)
{
    emp_channel channel = {0};

    ASSERT_OK(emp_channel_start(&channel, command, &err));
    cr_assert_eq(poll(&(struct pollfd){channel.socket, POLLIN, 0}, 1, 60000), 1);
    emp_channel_close(&channel);
}

enum { TRIES = 20 };

/* The program says in a file how its input has ended. On a busy computer it may be killed before that. */
static void expect_end_of_input(const char *program)
{
    scratch_create();
    const char *path = scratch_path("status");
    const char *command = scratch_print("%s; echo $? >'%s.new'; mv '%s.new' '%s'",
                                        program, path, path, path);
    for (int i = 0; i < TRIES && access(path, F_OK) != 0; i++) start_and_close(command);
    cr_expect_str_eq(scratch_text("status"), "0\n", "%s", program);
    scratch_remove();
}

Test(channel, the_input_of_a_program_ends_though_it_says_more, .timeout = 100)
{
    expect_end_of_input("echo more; cat >&2");
    expect_end_of_input("echo more; cat >&2 && echo more");
    expect_end_of_input("head -c 100000 /dev/zero; cat >&2");
}

/* Ctrl-C reaches the whole group, but not the program, which hears only what is sent to it. */
Test(channel, signals_of_the_group_are_kept_away, .timeout = 100)
{
    int         status = 0;
    const pid_t parent = fork();

    if (parent == 0) {
        emp_channel      channel = {0};
        emp_channel_wait wait = {.until_s = 1e18};
        char            *number = NULL;
        size_t           length = 0;
        setpgid(0, 0);
        signal(SIGINT, SIG_IGN);
        kill(0, SIGINT);
        signal(SIGTERM, SIG_DFL);
        if (emp_channel_start(&channel, "echo $$; exec sleep 600", NULL) != EMP_OK)
            _exit(1);
        if (emp_channel_receive_line(&channel, &number, &length, 100, &wait, NULL) !=
            EMP_OK)
            _exit(4);
        signal(SIGTERM, SIG_IGN);
        kill(0, SIGTERM);
        usleep(50000);
        if (waitpid(channel.child, &status, WNOHANG) != 0) _exit(2);
        kill((pid_t)atol(number), SIGTERM);
        waitpid(channel.child, &status, 0);
        _exit(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM ? 0 : 3);
    }
    cr_assert_eq(waitpid(parent, &status, 0), parent);
    cr_expect_eq(status, 0, "%d", WEXITSTATUS(status));
}

Test(channel, a_command_that_is_not_there_ends_with_127)
{
    emp_channel      channel = {0};
    emp_channel_wait wait = {.until_s = 1e18};
    char             byte;

    ASSERT_OK(emp_channel_start(&channel, "no-such-program", &err));
    EXPECT_REFUSED(emp_channel_receive(&channel, &byte, 1, &wait, &err), EMP_EEXTERNAL,
                   "status 127");
    emp_channel_close(&channel);
}

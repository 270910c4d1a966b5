// SPDX-License-Identifier: GPL-3.0-or-later
/* Is a signal answered in every state, by status 130, or 75 for a scheduler? Is a run with something
 * to save waited for, and nothing else, and does a terminal say so? Is no half of a file left? Does a run that has ended
 * leave the next one free to end in its set-up? */
#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/io/atomic_file.h"
#include "base/io/process.h"
#include "cli/options/placement_input.h"
#include "cli/stop.h"
#include "run/methods.h"
#include "tests/support/problems.h"
#include "tests/test.h"

static int status_of(void (*live)(int signal), int signal)
{
    int   status = 0;
    pid_t child = fork();

    cr_assert_geq(child, 0);
    if (child == 0) {
        cli_stop_begin();
        live(signal);
        _exit(0);
    }
    cr_assert_eq(waitpid(child, &status, 0), child);
    cr_assert(WIFEXITED(status), "killed by signal %d", WTERMSIG(status));
    return WEXITSTATUS(status);
}

static void sleep_ms(long ms)
{
    struct timespec left = {ms / 1000, ms % 1000 * 1000000};

    while (nanosleep(&left, &left) != 0) {
    }
}

static void is_hit(int signal) { raise(signal); }

Test(stop, nohup_keeps_the_end_of_a_terminal_away)
{
    signal(SIGHUP, SIG_IGN);
    cr_expect_eq(status_of(is_hit, SIGHUP), 0);
}

static void is_hit_by_the_limit_every_second(int signal)
{
    const atomic_int *stop = cli_stop_flag();

    cli_stop_unwatch();
    raise(signal);
    raise(SIGXCPU);
    _exit(*stop == signal ? 0 : 1);
}

static int life[2]; /* a pipe that a program holds open */

static void has_a_program(int signal)
{
    char byte;
    int  begun[2];

    if (pipe(begun) != 0) _exit(1);
    if (emp_watcher_fork() == 0) {
        if (write(begun[1], "!", 1) != 1) _exit(1);
        for (;;) pause();
    }
    close(life[1]);
    if (read(begun[0], &byte, 1) != 1) _exit(1);
    raise(signal);
}

Test(stop, programs_that_work_for_it_end_with_it)
{
    char byte;

    cr_assert_eq(pipe(life), 0);
    cr_expect_eq(status_of(has_a_program, SIGTERM), 130);
    close(life[1]);
    do { /* until the other end is closed */
        cr_assert_eq(poll(&(struct pollfd){life[0], POLLIN, 0}, 1, 60000), 1,
                     "the program is still there");
    } while (read(life[0], &byte, 1) == 1);
}

static void is_hit_in_a_part(int signal)
{
    cli_stop_for_scheduler();
    raise(signal);
}

static void is_hit_in_a_busy_part(int signal)
{
    cli_stop_for_scheduler();
    (void)cli_stop_flag();
    raise(signal);
    _exit(cli_stop_is_asked() ? cli_stop_status() : 1);
}

static void is_hit_twice(int signal)
{
    const atomic_int *stop = cli_stop_flag();

    cli_stop_unwatch();
    raise(signal);
    if (!*stop || !cli_stop_is_asked()) _exit(1);
    raise(signal == SIGINT ? SIGTERM : SIGINT);
    _exit(2);
}

static void is_busy_in_a_library(int signal)
{
    (void)cli_stop_flag();
    raise(signal);
    sleep_ms(30000);
}

static void saves_for_longer_than_patience(int signal)
{
    (void)cli_stop_flag();
    atomic_fetch_add(cli_stop_kept(), 1);
    raise(signal);
    sleep_ms(1000);
    cli_stop_unwatch();
    atomic_fetch_sub(cli_stop_kept(), 1);
}

static void read_all(int terminal, char *said, size_t size)
{
    size_t  used = 0;
    ssize_t count;

    fcntl(terminal, F_SETFL, O_NONBLOCK);
    while ((count = read(terminal, said + used, size - 1 - used)) > 0)
        used += (size_t)count;
    said[used] = '\0';
}

Test(stop, a_terminal_is_told_why_it_waits)
{
    int  terminal, program, kept = dup(STDERR_FILENO);
    char said[400];

    cr_assert_eq(openpty(&terminal, &program, NULL, NULL, NULL), 0);
    dup2(program, STDERR_FILENO);
    int status = status_of(saves_for_longer_than_patience, SIGINT);
    dup2(kept, STDERR_FILENO);
    read_all(terminal, said, sizeof said);
    cr_expect_eq(status, 0);
    cr_expect_not_null(strstr(said, "ending after this batch"), "%s", said);
    close(terminal);
    close(program);
    close(kept);
}

/* A random placement of a search that has long to go, while another process sends the signal. */
static void searches_for_a_placement(int signal)
{
    cli_run_options options = cli_run_options_default();
    const pid_t     own = getpid();
    task            t = {0};

    options.budget = INT64_C(1) << 40;
    task_create(&t, "rnnlm:layers=1,steps=2", "k40x2", "ideal");
    if (fork() == 0) {
        sleep_ms(300);
        kill(own, signal);
        _exit(0);
    }
    _exit(cli_placement_by_method(t.device_of_op, NULL, "random", &options, t.problem,
                                  NULL) == EMP_EINTERRUPTED
              ? 7
              : 1);
}

static void gives_up(int signal)
{
    (void)signal;
    (void)cli_stop_flag();
    cli_stop_give_up_after(0.05, "nothing yet");
    sleep_ms(30000);
}

static void writes_half(int signal)
{
    emp_atomic_file file = {0};

    if (emp_atomic_file_open(&file, "stop_half.txt", NULL) != EMP_OK) _exit(3);
    fputs("half", file.stream);
    fflush(file.stream);
    raise(signal);
}

static void has_a_child(int signal)
{
    int   status = 0;
    pid_t child = fork();

    if (child == 0) {
        raise(signal);
        _exit(0);
    }
    waitpid(child, &status, 0);
    _exit(WIFSIGNALED(status) && WTERMSIG(status) == signal ? 0 : 1);
}

enum { ALL = -1 }; /* SIGINT, SIGTERM and SIGHUP */

/* The second signal ends it in every state, and so does a limit of time; a limit of files never does. A part of a study
 * can be given again. */
static const struct {
    const char *name;
    void (*live)(int signal);
    int signal, status;
} lives[] = {{"saves nothing", is_hit, ALL, 130},
             {"has spent its time", is_hit, SIGXCPU, 130},
             {"may write no more", is_hit, SIGXFSZ, 0},
             {"is reminded every second", is_hit_by_the_limit_every_second, SIGXCPU, 0},
             {"is reminded every second", is_hit_by_the_limit_every_second, SIGTERM, 0},
             {"is a part of a study", is_hit_in_a_part, SIGINT, 130},
             {"is a part of a study", is_hit_in_a_part, SIGTERM, 75},
             {"is a part of a study", is_hit_in_a_part, SIGUSR1, 75},
             {"is a part of a study", is_hit_in_a_part, SIGHUP, 75},
             {"is a busy part", is_hit_in_a_busy_part, SIGINT, 130},
             {"is a busy part", is_hit_in_a_busy_part, SIGUSR1, 75},
             {"is hit twice", is_hit_twice, ALL, 130},
             {"looks at no flag", is_busy_in_a_library, ALL, 130},
             {"has something to save", saves_for_longer_than_patience, ALL, 0},
             {"wants a whole search", searches_for_a_placement, ALL, 7},
             {"finds nothing in its time", gives_up, ALL, 1},
             {"has written half a file", writes_half, ALL, 130},
             {"has a forked child, which dies as without handlers", has_a_child, ALL, 0}};

Test(stop, a_signal_is_answered_in_every_state)
{
    static const int all[] = {SIGINT, SIGTERM, SIGHUP};

    for (size_t i = 0; i < sizeof lives / sizeof *lives; i++)
        for (int k = 0; k < (lives[i].signal == ALL ? 3 : 1); k++) {
            const int number = lives[i].signal == ALL ? all[k] : lives[i].signal;
            cr_expect_eq(status_of(lives[i].live, number), lives[i].status,
                         "signal %d to a program that %s", number, lives[i].name);
        }
    cr_expect_eq(access("stop_half.txt", F_OK), -1);
    cr_expect_eq(access("stop_half.txt.tmp0", F_OK), -1);
}

Test(stop, a_run_that_has_ended_keeps_nothing)
{
    const emp_method     *method = NULL;
    const cli_run_options options = cli_run_options_default();
    SCOPED(emp_record, emp_record_clear) record = {0};
    OWN_TASK t;

    task_create(&t, "rnnlm:steps=2", "k40x2", "ideal");
    ASSERT_OK(emp_method_find(&method, "gpu", &err));
    ASSERT_OK(cli_run(&record, NULL, &options, t.problem, method, 1, &err));
    cr_expect_eq(atomic_load(cli_stop_kept()), 0);
}

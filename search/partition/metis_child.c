// SPDX-License-Identifier: GPL-3.0-or-later
#define _GNU_SOURCE /* pipe2(), close_range(), wait4() */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/io/process.h"
#include "base/work.h"
#include "search/partition/metis_internal.h"

enum { LOOK_MS = 20 }; /* from one look at the flag to the next */

static bool write_all(int fd, const void *data, size_t size)
{
    const char *next = data;

    while (size > 0) {
        ssize_t count = write(fd, next, size);
        if (count < 0 && errno == EINTR) continue;
        if (count <= 0) return false;
        next += count;
        size -= (size_t)count;
    }
    return true;
}

static bool read_all(int fd, void *data, size_t size)
{
    char *next = data;

    while (size > 0) {
        ssize_t count = read(fd, next, size);
        if (count < 0 && errno == EINTR) continue;
        if (count <= 0) return false;
        next += count;
        size -= (size_t)count;
    }
    return true;
}

/* Leaves open only \a fd, and /dev/null as the standard files. All other open files are the parent's: a
 * pipe that stays open here would keep its reader waiting. Returns the new number of \a fd. */
static int keep_alone(int fd)
{
    enum { RESULT_FILENO = STDERR_FILENO + 1 };
    int nowhere = open("/dev/null", O_RDWR);

    for (int i = STDIN_FILENO; i <= STDERR_FILENO; i++) {
        if (fd == i) fd = dup(fd);
        dup2(nowhere, i);
    }
    dup2(fd, RESULT_FILENO);
    close_range(RESULT_FILENO + 1, UINT_MAX, 0);
    return RESULT_FILENO;
}

/* METIS raises SIGTERM where it fails, so the child has to hear it. One for the parent's group does not
 * come here: the child has a group of its own, and drops one that came before. */
static void hear_sigterm_of_metis(void)
{
    sigset_t of_metis;

    setpgid(0, 0);
    signal(SIGTERM, SIG_IGN);
    sigemptyset(&of_metis);
    sigaddset(&of_metis, SIGTERM);
    pthread_sigmask(SIG_UNBLOCK, &of_metis, NULL);
}

/* Never returns. */
static void be_child(const emp_metis_task *t, int fd)
{
    idx_t vertices = t->vertex_count, parts = t->part_count, weight = 0;
    idx_t constraints = t->constraint_count;
    idx_t options[METIS_NOPTIONS];

    hear_sigterm_of_metis();
    signal(SIGALRM, SIG_IGN); /* a time limit is the caller's, and ends it */
    fd = keep_alone(fd);
    memcpy(options, t->options, sizeof options);
    int  result = t->function(&vertices, &constraints, t->row, t->neighbor, t->load, NULL,
                              t->traffic, &parts, t->share, t->tolerance, options, &weight,
                              t->part);
    bool is_told = write_all(fd, &result, sizeof result) &&
                   write_all(fd, t->part, (size_t)vertices * sizeof *t->part);
    _exit(is_told ? 0 : 1);
}

/* Waits until the child answers or ends. true: the flag was set before. */
static bool is_stopped(const atomic_int *stop, int fd)
{
    struct pollfd answer = {.fd = fd, .events = POLLIN};

    while (!emp_stop_is_set(stop))
        if (poll(&answer, 1, stop != NULL ? LOOK_MS : -1) > 0) return false;
    return true;
}

static double seconds_of(struct timeval t)
{
    return (double)t.tv_sec + 1e-6 * (double)t.tv_usec;
}

static void await_end(pid_t child)
{
    struct rusage used = {0};

    while (wait4(child, NULL, 0, &used) < 0 && errno == EINTR) continue;
    emp_clock_count_s(seconds_of(used.ru_utime) + seconds_of(used.ru_stime));
}

emp_status emp_metis_run(const emp_metis_task *t, int *code, emp_error *err)
{
    emp_status st = EMP_OK;
    int        fd[2] = {-1, -1};
    pid_t      child = -1;

    if (pipe2(fd, O_CLOEXEC) != 0 || (child = emp_program_fork()) < 0)
        EMP_FAIL(EMP_EIO, "no process for METIS: %s", strerror(errno));
    if (child == 0) be_child(t, fd[1]);
    close(fd[1]);
    fd[1] = -1;
    const bool is_over = is_stopped(t->stop, fd[0]);
    if (is_over) kill(child, SIGKILL);
    bool is_told = !is_over && read_all(fd[0], code, sizeof *code) &&
                   read_all(fd[0], t->part, (size_t)t->vertex_count * sizeof *t->part);
    await_end(child);
    if (is_over) EMP_FAIL(EMP_EINTERRUPTED, "interrupted");
    if (!is_told) EMP_FAIL(EMP_EEXTERNAL, "METIS ended without a result");

cleanup:
    if (fd[0] >= 0) close(fd[0]);
    if (fd[1] >= 0) close(fd[1]);
    return st;
}

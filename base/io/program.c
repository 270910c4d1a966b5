// SPDX-License-Identifier: GPL-3.0-or-later
#define _GNU_SOURCE /* pipe2() */
#include "base/io/program.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MOST_ARGUMENTS = 16 };

/* Terminals and schedulers send them to a whole group. Its first process answers them. */
static const int of_groups[] = {SIGINT, SIGTERM, SIGHUP, SIGUSR1};

enum { OF_GROUPS = sizeof of_groups / sizeof *of_groups };

static void block_signals(sigset_t *before)
{
    sigset_t deaf;

    sigemptyset(&deaf);
    for (int i = 0; i < OF_GROUPS; i++) sigaddset(&deaf, of_groups[i]);
    pthread_sigmask(SIG_BLOCK, &deaf, before);
}

static void restore_signals(const sigset_t *before)
{
    const int cause = errno;

    pthread_sigmask(SIG_SETMASK, before, NULL);
    errno = cause;
}

/* A parent that has ended before the call sends no signal. */
static void end_with(pid_t parent)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(1);
}

pid_t emp_program_fork(void)
{
    const pid_t parent = getpid();
    sigset_t    before;

    block_signals(&before);
    const pid_t child = fork();
    if (child == 0)
        end_with(parent);
    else
        restore_signals(&before);
    return child;
}

/* ---- programs ---- */

static void be_program(const char *const *argument)
{
    char *argv[MOST_ARGUMENTS] = {NULL};

    /* execvp() does not write to them, but its type does not say so */
    for (int i = 0; i < MOST_ARGUMENTS - 1 && argument[i] != NULL; i++)
        memcpy(&argv[i], &argument[i], sizeof(char *));
    execvp(argv[0], argv);
    _exit(127);
}

static bool has_succeeded(pid_t child)
{
    int status = 0;

    while (waitpid(child, &status, 0) < 0) {
        if (errno != EINTR) return false;
    }
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static void close_quietly(int fd)
{
    const int cause = errno;

    close(fd);
    errno = cause;
}

emp_program emp_program_open(const char *const *argument)
{
    emp_program program = {0};
    int         end[2];

    if (pipe2(end, O_CLOEXEC) != 0) return program;
    program.child = emp_program_fork();
    if (program.child == 0) {
        if (dup2(end[1], STDOUT_FILENO) == end[1]) fcntl(end[1], F_SETFD, 0);
        be_program(argument);
    }
    close(end[1]);
    if (program.child > 0) program.output = fdopen(end[0], "r");
    if (program.output == NULL) close_quietly(end[0]);
    return program;
}

bool emp_program_close(emp_program *program)
{
    if (program->output != NULL) fclose(program->output);
    return program->child > 0 && has_succeeded(program->child);
}

bool emp_program_succeeds(const char *const *argument)
{
    const pid_t child = emp_program_fork();

    if (child == 0) {
        const int nowhere = open("/dev/null", O_RDWR);
        for (int i = STDIN_FILENO; i <= STDERR_FILENO; i++) dup2(nowhere, i);
        be_program(argument);
    }
    return child > 0 && has_succeeded(child);
}

/* ---- files for programs ---- */

emp_status emp_program_create_input(FILE **file, emp_error *err)
{
    const char *folder = getenv("TMPDIR");
    char        path[PATH_MAX];

    if (folder == NULL || *folder == '\0') folder = "/tmp";
    snprintf(path, sizeof path, "%s/emplace-XXXXXX", folder);
    const int fd = mkstemp(path);
    if (fd >= 0) unlink(path);
    *file = fd < 0 ? NULL : fdopen(fd, "w+");
    if (*file != NULL) return EMP_OK;
    if (fd >= 0) close(fd);
    return EMP_ERROR(EMP_EIO, "no temporary file in %s: %s", folder, strerror(errno));
}

emp_status emp_program_finish_input(FILE *file, char path[EMP_PROGRAM_PATH_BYTES],
                                    emp_error *err)
{
    if (fflush(file) != 0 || ferror(file) != 0)
        return EMP_ERROR(EMP_EIO, "a temporary file cannot be written: %s",
                         strerror(errno));
    snprintf(path, EMP_PROGRAM_PATH_BYTES, "/dev/fd/%d", fileno(file));
    return EMP_OK;
}

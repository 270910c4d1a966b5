// SPDX-License-Identifier: GPL-3.0-or-later
#define _POSIX_C_SOURCE 200809L
#include "base/io/program.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MOST_ARGUMENTS = 16 };

/* A parent that has ended before the call sends no signal. */
static void end_with(pid_t parent)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(1);
}

/* What is blocked, children and their programs inherit. */
static sigset_t block_ctrl_c(void)
{
    sigset_t ctrl_c, before;

    sigemptyset(&ctrl_c);
    sigaddset(&ctrl_c, SIGINT);
    pthread_sigmask(SIG_BLOCK, &ctrl_c, &before);
    return before;
}

pid_t emp_program_fork(void)
{
    const pid_t    parent = getpid();
    const sigset_t before = block_ctrl_c();
    const pid_t    child = fork();

    if (child == 0)
        end_with(parent);
    else
        pthread_sigmask(SIG_SETMASK, &before, NULL);
    return child;
}

FILE *emp_program_read(const char *command)
{
    const sigset_t before = block_ctrl_c();
    FILE          *stream = popen(command, "r");

    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return stream;
}

static void be_program(char *const *argv)
{
    const int nowhere = open("/dev/null", O_RDWR);

    for (int i = STDIN_FILENO; i <= STDERR_FILENO; i++) dup2(nowhere, i);
    execvp(argv[0], argv);
    _exit(127);
}

bool emp_program_succeeds(const char *const *argument)
{
    char *argv[MOST_ARGUMENTS] = {NULL};
    int   status = 0;

    /* execvp() does not write to them, but its type does not say so */
    for (int i = 0; i < MOST_ARGUMENTS - 1 && argument[i] != NULL; i++)
        memcpy(&argv[i], &argument[i], sizeof(char *));
    const pid_t child = emp_program_fork();
    if (child < 0) return false;
    if (child == 0) be_program(argv);
    while (waitpid(child, &status, 0) < 0) {
        if (errno != EINTR) return false;
    }
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

// SPDX-License-Identifier: GPL-3.0-or-later
#define _POSIX_C_SOURCE 200809L
#include "base/io/program.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

enum { MOST_ARGUMENTS = 16 };

bool emp_program_succeeds(const char *const *argument)
{
    posix_spawn_file_actions_t actions;
    char                      *argv[MOST_ARGUMENTS] = {NULL};
    pid_t                      child;
    int                        status = 0;

    /* posix_spawnp() does not write to them, but its type does not say so */
    for (int i = 0; i < MOST_ARGUMENTS - 1 && argument[i] != NULL; i++)
        memcpy(&argv[i], &argument[i], sizeof(char *));
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    int cause = posix_spawnp(&child, argv[0], &actions, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    if (cause != 0) return false;
    while (waitpid(child, &status, 0) < 0) {
        if (errno != EINTR) return false;
    }
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

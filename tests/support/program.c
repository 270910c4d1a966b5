// SPDX-License-Identifier: GPL-3.0-or-later
#define _POSIX_C_SOURCE 200809L
#include "tests/support/program.h"

#include <criterion/criterion.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/support/scratch.h"

enum { COMMAND_BYTES = 8 * SCRATCH_PATH_BYTES };

char *program_out, *program_err;

pid_t program_start(const char *before, const char *path, const char *arguments)
{
    char command[COMMAND_BYTES];

    snprintf(command, sizeof command, "cd '%s' && %s exec '%s/%s' %s >stdout 2>stderr",
             scratch_path(""), before, getenv("EMP_BINARY_DIR"), path, arguments);
    pid_t child = fork();
    cr_assert_geq(child, 0);
    if (child == 0) {
        execl("/bin/sh", "sh", "-c", command, (char *)NULL);
        _exit(127);
    }
    return child;
}

/* CPU seconds of a process, which has ended if they are negative. */
static double cpu_s_of(pid_t process)
{
    char          path[64], line[1024] = "", state = 'Z';
    unsigned long user = 0, system_ = 0;

    snprintf(path, sizeof path, "/proc/%d/stat", (int)process);
    FILE *file = fopen(path, "r");
    if (file == NULL) return -1;
    char *name_end = fgets(line, sizeof line, file) != NULL ? strrchr(line, ')') : NULL;
    fclose(file);
    if (name_end == NULL ||
        sscanf(name_end, ") %c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &state,
               &user, &system_) != 3)
        return -1;
    return state == 'Z' ? -1 : (double)(user + system_) / (double)sysconf(_SC_CLK_TCK);
}

/* Until it is at work, however busy the computer is; false: it has ended before. */
static bool wait_for_work(pid_t program)
{
    static const double   enough_s = 0.7;
    const struct timespec pause = {0, 10 * 1000 * 1000};

    for (double used_s = 0; used_s >= 0; nanosleep(&pause, NULL)) {
        used_s = cpu_s_of(program);
        if (used_s >= enough_s) return true;
    }
    return false;
}

/* Ends a program and returns its status. */
static int finish(int status, const char *arguments)
{
    program_forget();
    program_out = scratch_read("stdout", NULL);
    program_err = scratch_read("stderr", NULL);
    cr_assert(WIFEXITED(status), "%s: %s", arguments, program_err);
    return WEXITSTATUS(status);
}

int program_run(const char *path, const char *arguments)
{
    char command[COMMAND_BYTES];

    snprintf(command, sizeof command, "cd '%s' && '%s/%s' %s >stdout 2>stderr",
             scratch_path(""), getenv("EMP_BINARY_DIR"), path, arguments);
    return finish(system(command), arguments);
}

int program_interrupt(const char *path, const char *arguments)
{
    int   status = 0;
    pid_t child = program_start("", path, arguments);

    cr_expect(wait_for_work(child), "%s", arguments);
    cr_assert_eq(kill(child, SIGTERM), 0);
    cr_assert_eq(waitpid(child, &status, 0), child);
    return finish(status, arguments);
}

void program_forget(void)
{
    free(program_out);
    free(program_err);
    program_out = program_err = NULL;
}

bool program_is_one_sentence(const char *text, const char *begin)
{
    const char *end = strchr(text, '\n');

    return strncmp(text, begin, strlen(begin)) == 0 && end != NULL && end[1] == '\0';
}

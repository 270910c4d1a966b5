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

/* The signals that a process catches, bit 0 for signal 1; -1 = it has ended. */
static long long caught_by(pid_t process)
{
    char      path[64], line[256], state = 'Z';
    long long caught = -1;

    snprintf(path, sizeof path, "/proc/%d/status", (int)process);
    FILE *file = fopen(path, "r");
    if (file == NULL) return -1;
    while (fgets(line, sizeof line, file) != NULL) {
        if (strncmp(line, "State:", 6) == 0) state = line[6 + strspn(line + 6, " \t")];
        if (strncmp(line, "SigCgt:", 7) == 0) caught = strtoll(line + 7, NULL, 16);
    }
    fclose(file);
    return state == 'Z' ? -1 : caught;
}

/* Until it has a handler for the signal; false: it has ended without one. */
static bool wait_to_catch(pid_t program, int signal)
{
    const struct timespec pause = {0, 10 * 1000 * 1000};

    for (long long caught = 0; caught >= 0; nanosleep(&pause, NULL)) {
        caught = caught_by(program);
        if (caught >= 0 && (caught >> (signal - 1) & 1) != 0) return true;
    }
    return false;
}

/* What came of a program. */
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

    cr_expect(wait_to_catch(child, SIGTERM), "%s", arguments);
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

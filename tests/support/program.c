// SPDX-License-Identifier: GPL-3.0-or-later
#define _POSIX_C_SOURCE 200809L
#include "tests/support/program.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "tests/support/scratch.h"

enum { COMMAND_BYTES = 8 * SCRATCH_PATH_BYTES };

char *program_out, *program_err;

int program_run(const char *path, const char *arguments)
{
    char command[COMMAND_BYTES];

    snprintf(command, sizeof command, "cd '%s' && '%s/%s' %s >stdout 2>stderr",
             scratch_path(""), getenv("EMP_BINARY_DIR"), path, arguments);
    int status = system(command);
    program_forget();
    program_out = scratch_read("stdout", NULL);
    program_err = scratch_read("stderr", NULL);
    cr_assert(WIFEXITED(status), "%s: %s", arguments, program_err);
    return WEXITSTATUS(status);
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

// SPDX-License-Identifier: GPL-3.0-or-later
/* The command that runs a method in a file of Python. */
#define _GNU_SOURCE /* PATH_MAX, readlink() */
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/text/text.h"
#include "run/outside/outside.h"

/* Adds the folders with the package emplace that lie where a build tree and a prefix have it. */
static void add_folders(emp_text *text)
{
    static const char *const places[] = {"/../python", "/../lib/python3*/*-packages"};
    char                     here[PATH_MAX / 2] = "", pattern[PATH_MAX];
    const ssize_t            length = readlink("/proc/self/exe", here, sizeof here - 1);

    if (length <= 0 || strrchr(here, '/') == NULL) return;
    *strrchr(here, '/') = '\0';
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        glob_t found = {0};
        snprintf(pattern, sizeof pattern, "%s%s/emplace/agent.py", here, places[i]);
        if (glob(pattern, 0, NULL, &found) == 0) {
            for (size_t k = 0; k < found.gl_pathc; k++) {
                char *folder = found.gl_pathv[k];
                folder[strlen(folder) - strlen("/emplace/agent.py")] = '\0';
                emp_text_add(text, ":");
                emp_text_add_word(text, folder);
            }
        }
        globfree(&found);
    }
}

emp_status emp_outsider_command(char        command[EMP_OUTSIDE_COMMAND_BYTES],
                                const char *address, emp_error *err)
{
    emp_text    text = {command, EMP_OUTSIDE_COMMAND_BYTES, 0};
    const char *colon = strrchr(address, ':');
    char        file[PATH_MAX];

    if (strncmp(address, "cmd:", 4) == 0) {
        emp_text_add(&text, "%s", address + 4);
    } else {
        const size_t length = emp_text_ends_in(address, ".py") || colon == NULL
                                  ? strlen(address)
                                  : (size_t)(colon - address);
        snprintf(file, sizeof file, "%.*s", (int)length, address);
        emp_text_add(&text, "PYTHONPATH=\"$PYTHONPATH\"");
        add_folders(&text);
        emp_text_add(&text, " \"${EMPLACE_PYTHON:-python3}\" -m emplace.agent ");
        emp_text_add_word(&text, file);
        if (address[length] == ':') {
            emp_text_add(&text, " ");
            emp_text_add_word(&text, address + length + 1);
        }
    }
    if (text.used + 1 < EMP_OUTSIDE_COMMAND_BYTES) return EMP_OK;
    return EMP_ERROR(EMP_EINVAL, "method %.40s...: its command is too long", address);
}

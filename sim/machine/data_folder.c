// SPDX-License-Identifier: GPL-3.0-or-later
/* Where the machine and runtime files are. */
#define _GNU_SOURCE /* dladdr, PATH_MAX */
#include <dlfcn.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sim/machine/machine.h"

/* Fills the folder of the file at \a path, links followed. */
static bool find_folder(char folder[PATH_MAX], const char *path)
{
    if (realpath(path, folder) == NULL) return false;
    char *slash = strrchr(folder, '/');
    if (slash == NULL) return false;
    *slash = '\0';
    return true;
}

/* Whether installed data are at \a relative to a folder. */
static bool try_data(char *path, size_t size, const char *folder, const char *relative)
{
    char machines[PATH_MAX];

    int length = snprintf(machines, sizeof machines, "%s/%s/machines", folder, relative);
    if (length >= (int)sizeof machines || access(machines, R_OK) != 0) return false;
    return snprintf(path, size, "%s/%s", folder, relative) < (int)size;
}

/* Installed data are beside the folder of the shared library, or of the program. */
static bool find_installed(char *path, size_t size)
{
    static const char here = 0; /* of this library, or of the program */
    const char       *module[] = {NULL, "/proc/self/exe"};
    char              folder[PATH_MAX];
    Dl_info           info;

    if (dladdr(&here, &info) != 0 && strchr(info.dli_fname, '/') != NULL)
        module[0] = info.dli_fname;
    for (int i = 0; i < 2; i++) {
        if (module[i] == NULL || !find_folder(folder, module[i])) continue;
        if (try_data(path, size, folder, EMP_DATA_FROM_LIBRARY)) return true;
        if (try_data(path, size, folder, EMP_DATA_FROM_PROGRAM)) return true;
    }
    return false;
}

void emp_data_folder(char *path, size_t size, const char *folder)
{
    const char *data = getenv("EMPLACE_DATA");

    if (data != NULL && *data != '\0')
        snprintf(path, size, "%s", data);
    else if (!find_installed(path, size))
        snprintf(path, size, "%s", EMP_DATA_DIR);
    size_t used = strlen(path);
    snprintf(path + used, size - used, "/%s", folder);
}

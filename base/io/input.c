// SPDX-License-Identifier: GPL-3.0-or-later
#define _POSIX_C_SOURCE 200809L
#include "base/io/input.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *kind_of(mode_t mode)
{
    if (S_ISDIR(mode)) return "folder";
    if (S_ISFIFO(mode)) return "pipe";
    return S_ISSOCK(mode) ? "socket" : "device";
}

emp_status emp_input_open(FILE **file, const char *path, emp_error *err)
{
    emp_status  st = EMP_OK;
    struct stat info;
    /* A pipe would be waited for, and a terminal would become this process's. */
    int descriptor = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);

    *file = NULL;
    if (descriptor < 0 || fstat(descriptor, &info) != 0)
        EMP_FAIL(EMP_EIO, "%s cannot be read: %s", path, strerror(errno));
    if (!S_ISREG(info.st_mode))
        EMP_FAIL(EMP_EIO, "%s cannot be read: it is a %s, not a file", path,
                 kind_of(info.st_mode));
    *file = fdopen(descriptor, "rb");
    if (*file == NULL) EMP_FAIL(EMP_ENOMEM, "stream of %s", path);
    descriptor = -1;

cleanup:
    if (descriptor >= 0) close(descriptor);
    return st;
}

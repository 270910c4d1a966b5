// SPDX-License-Identifier: GPL-3.0-or-later
#include "base/io/folder.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

emp_status emp_folder_make(const char *path, emp_error *err)
{
    emp_status  st = EMP_OK;
    struct stat there;

    if (mkdir(path, 0777) == 0) goto cleanup;
    if (errno != EEXIST)
        EMP_FAIL(EMP_EIO, "cannot make the folder %s: %s", path, strerror(errno));
    if (stat(path, &there) != 0 || !S_ISDIR(there.st_mode))
        EMP_FAIL(EMP_EIO, "cannot make the folder %s: it is a file", path);

cleanup:
    return st;
}

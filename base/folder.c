// SPDX-License-Identifier: GPL-3.0-or-later
#include "base/folder.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

emp_status emp_folder_make(const char *path, emp_error *err)
{
    emp_status st = EMP_OK;

    if (mkdir(path, 0777) != 0 && errno != EEXIST)
        EMP_FAIL(EMP_EIO, "cannot make the folder %s: %s", path, strerror(errno));

cleanup:
    return st;
}

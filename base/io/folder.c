// SPDX-License-Identifier: GPL-3.0-or-later
#include "base/io/folder.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

emp_status emp_folder_make(const char *path, emp_error *err)
{
    struct stat there;

    if (path[0] == '\0') return EMP_ERROR(EMP_EINVAL, "a folder needs a name");
    if (mkdir(path, 0777) == 0) return EMP_OK;
    if (errno != EEXIST)
        return EMP_ERROR(EMP_EIO, "cannot make the folder %s: %s", path, strerror(errno));
    if (stat(path, &there) != 0 || !S_ISDIR(there.st_mode))
        return EMP_ERROR(EMP_EIO, "cannot make the folder %s: it is a file", path);
    return EMP_OK;
}

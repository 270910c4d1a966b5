// SPDX-License-Identifier: GPL-3.0-or-later
#define _XOPEN_SOURCE 700 /* realpath() */
#include "base/io/output.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io/atomic_file.h"

enum { FOLDER_BYTES = 4096 };

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash != NULL ? slash + 1 : path;
}

static void copy_folder(char folder[FOLDER_BYTES], const char *path)
{
    int length = (int)(base_name(path) - path);

    if (length > 1) length--; /* the slash; the root is nothing else */
    snprintf(folder, FOLDER_BYTES, "%.*s", length, path);
    if (length == 0) snprintf(folder, FOLDER_BYTES, ".");
}

static bool has_ending(const char *path, const char *ending)
{
    const size_t length = strlen(path), tail = strlen(ending);

    return length >= tail && strcmp(path + length - tail, ending) == 0;
}

/* As emp_atomic_file_sweep() removes them: r.h5.tmp0. */
static bool is_temporary(const char *path)
{
    return emp_atomic_file_owner(base_name(path)) > 0;
}

/* Whether what is printed goes to that file: a new one in its place would lose it. */
static bool is_printed_to(const char *path)
{
    struct stat there, stream;

    if (stat(path, &there) != 0 || !S_ISREG(there.st_mode)) return false;
    for (int descriptor = STDOUT_FILENO; descriptor <= STDERR_FILENO; descriptor++)
        if (fstat(descriptor, &stream) == 0 && stream.st_dev == there.st_dev &&
            stream.st_ino == there.st_ino)
            return true;
    return false;
}

/* Makes the temporary file of the output, and removes it: a disk that cannot be written to, a name that
 * is too long, or a link into a folder of somebody else is told before the work. */
static emp_status try_to_open(const char *path, emp_error *err)
{
    emp_atomic_file file = {0};
    struct stat     there;

    if (stat(path, &there) == 0 && !S_ISREG(there.st_mode)) {
        if (access(path, W_OK) == 0) return EMP_OK;
        return EMP_ERROR(EMP_EIO, "%s cannot be written: %s", path, strerror(errno));
    }
    EMP_CHECK(emp_atomic_file_open(&file, path, err));
    emp_atomic_file_abort(&file);
    return EMP_OK;
}

emp_status emp_output_check(const char *path, emp_error *err)
{
    char        folder[FOLDER_BYTES];
    struct stat there;

    if (path == NULL) return EMP_OK;
    if (path[0] == '\0')
        return EMP_ERROR(EMP_EINVAL, "an output needs the name of a file");
    if (strcmp(path, "-") == 0)
        return EMP_ERROR(
            EMP_EINVAL,
            "\"-\" names no file to write; for one of this name give \"./-\"");
    if (has_ending(path, ".lock"))
        return EMP_ERROR(EMP_EINVAL,
                         "%s has the name of a lock; name another file for the output",
                         path);
    if (is_temporary(path))
        return EMP_ERROR(
            EMP_EINVAL,
            "%s has the name of a temporary file, and such are removed; name "
            "another file for the output",
            path);
    if (is_printed_to(path))
        return EMP_ERROR(EMP_EINVAL,
                         "what is printed goes to %s, too; name another file for the "
                         "output",
                         path);
    if (stat(path, &there) == 0 && S_ISDIR(there.st_mode))
        return EMP_ERROR(
            EMP_EIO, "%s cannot be written: it is a directory; name a file in it", path);
    copy_folder(folder, path);
    if (access(folder, W_OK) != 0) {
        return EMP_ERROR(EMP_EIO, "%s cannot be written: %s: %s", path, folder,
                         strerror(errno));
    }
    if (stat(folder, &there) == 0 && !S_ISDIR(there.st_mode))
        return EMP_ERROR(EMP_EIO, "%s cannot be written: %s is no directory", path,
                         folder);
    return try_to_open(path, err);
}

/* Whether both names lead to one file, by links or hard links. Files that are not there yet are the
 * same if they have one name in one folder, however that is spelt. */
static bool is_same_file(const char *path, const char *other)
{
    char        folder[FOLDER_BYTES];
    struct stat here, there;

    if (stat(path, &here) == 0 && stat(other, &there) == 0)
        return here.st_dev == there.st_dev && here.st_ino == there.st_ino;
    if (strcmp(base_name(path), base_name(other)) != 0) return false;
    copy_folder(folder, path);
    if (stat(folder, &here) != 0) return false;
    copy_folder(folder, other);
    if (stat(folder, &there) != 0) return false;
    return here.st_dev == there.st_dev && here.st_ino == there.st_ino;
}

emp_status emp_output_check_all(const char *const *paths, int32_t count, emp_error *err)
{
    for (int32_t i = 0; i < count; i++) {
        EMP_CHECK(emp_output_check(paths[i], err));
        for (int32_t j = 0; j < i && paths[i] != NULL; j++) {
            if (paths[j] != NULL && is_same_file(paths[i], paths[j]))
                return EMP_ERROR(EMP_EINVAL,
                                 "two outputs are to be written to %s; name two files",
                                 paths[i]);
        }
    }
    return EMP_OK;
}

/* Whether the output is the file of that input, or one that a spec names: layers:path=FILE,model=NAME.
 * Then \a path is its name. */
static bool is_read(char path[PATH_MAX], const char *output, const char *input)
{
    const char *value = input;

    snprintf(path, PATH_MAX, "%s", input);
    if (is_same_file(output, path)) return true;
    while ((value = strchr(value, '=')) != NULL) {
        value++;
        snprintf(path, PATH_MAX, "%.*s", (int)strcspn(value, ","), value);
        if (access(path, F_OK) == 0 && is_same_file(output, path)) return true;
    }
    return false;
}

emp_status emp_output_check_inputs(const char *const *inputs, int32_t input_count,
                                   const char *const *outputs, int32_t output_count,
                                   emp_error *err)
{
    char path[PATH_MAX];

    for (int32_t k = 0; k < input_count * output_count; k++) {
        const char *input = inputs[k / output_count], *output = outputs[k % output_count];
        if (input != NULL && is_temporary(input) && access(input, F_OK) == 0)
            return EMP_ERROR(EMP_EINVAL,
                             "%s has the name of a temporary file, and such are removed; "
                             "rename it first",
                             input);
        if (input != NULL && output != NULL && is_read(path, output, input))
            return EMP_ERROR(EMP_EINVAL,
                             "%s is an input; name another file for the output", path);
    }
    return EMP_OK;
}

static bool is_in(const char *path, const char *folder)
{
    char        target[PATH_MAX], own[FOLDER_BYTES];
    struct stat here, there;

    copy_folder(own, realpath(path, target) != NULL ? target : path);
    return stat(own, &here) == 0 && stat(folder, &there) == 0 &&
           here.st_dev == there.st_dev && here.st_ino == there.st_ino;
}

emp_status emp_output_check_outside(const char *folder, const char *const *outputs,
                                    int32_t count, emp_error *err)
{
    for (int32_t i = 0; i < count; i++) {
        if (outputs[i] != NULL && is_in(outputs[i], folder))
            return EMP_ERROR(EMP_EINVAL,
                             "%s is among the run records of %s; name a file in another "
                             "folder",
                             outputs[i], folder);
    }
    return EMP_OK;
}

static bool holds_something(const char *path)
{
    struct stat there;

    return stat(path, &there) == 0 && S_ISREG(there.st_mode) && there.st_size > 0;
}

emp_status emp_output_check_replaced(const char *const *paths, int32_t count,
                                     bool is_forced, emp_error *err)
{
    for (int32_t i = 0; i < count && !is_forced; i++) {
        if (paths[i] == NULL) continue;
        if (access(paths[i], F_OK) != 0)
            emp_atomic_file_expect_none(paths[i]);
        else if (holds_something(paths[i]))
            return EMP_ERROR(EMP_EINVAL,
                             "%s is there already; name another file, or give --force "
                             "to replace it",
                             paths[i]);
    }
    return EMP_OK;
}

/* "." and ".." are in every folder. */
static bool has_files(const char *path)
{
    DIR *folder = opendir(path);
    int  count = 0;

    while (folder != NULL && count < 3 && readdir(folder) != NULL) count++;
    if (folder != NULL) closedir(folder);
    return count == 3;
}

emp_status emp_output_check_folder(const char *path, bool is_forced, emp_error *err)
{
    if (path == NULL || is_forced || !has_files(path)) return EMP_OK;
    return EMP_ERROR(EMP_EINVAL,
                     "%s is a folder with files; name another one, or give --force to "
                     "write into it",
                     path);
}

// SPDX-License-Identifier: GPL-3.0-or-later
#define _DEFAULT_SOURCE     /* flock() */
#define _XOPEN_SOURCE   700 /* realpath() */

#include "base/io/output.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io/atomic_file.h"
#include "base/mem.h"

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
 * is too long, or a link into another user's folder is an error before the work. */
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

static const char SUFFIX[] = ".lock";

/* Names the lock of a file after the target of its links, so that all its names share one lock. The caller frees it. */
static char *name_lock(const char *path)
{
    char        *target = realpath(path, NULL);
    const char  *file = target != NULL ? target : path;
    const size_t size = strlen(file) + sizeof SUFFIX;
    char        *name = (char *)emp_calloc(size, 1);

    if (name != NULL) snprintf(name, size, "%s%s", file, SUFFIX);
    free(target);
    return name;
}

static bool is_special(const char *path)
{
    struct stat info;

    return stat(path, &info) == 0 && !S_ISREG(info.st_mode);
}

/* Whether the file of that name is the one that was opened: whoever had it may have removed it. */
static bool is_still_there(int descriptor, const char *name)
{
    struct stat here, there;

    return fstat(descriptor, &here) == 0 && stat(name, &there) == 0 &&
           here.st_dev == there.st_dev && here.st_ino == there.st_ino;
}

static emp_status say_who(int descriptor, const char *path, emp_error *err)
{
    char    number[24] = "";
    ssize_t length = pread(descriptor, number, sizeof number - 1, 0);

    if (length < 0) number[0] = '\0';
    number[strspn(number, "0123456789")] = '\0';
    if (number[0] == '\0') snprintf(number, sizeof number, "unknown");
    return EMP_ERROR(EMP_EINVAL, "%s is being written by another program (process %s)",
                     path, number);
}

/* A lock is empty or holds a number. Another program's file of its name is left as it is. */
static bool is_lock(int descriptor)
{
    struct stat info;
    char        text[24];

    if (fstat(descriptor, &info) != 0 || !S_ISREG(info.st_mode)) return false;
    const ssize_t length = pread(descriptor, text, sizeof text, 0);
    if (info.st_nlink > 1 || length < 0 || length == sizeof text) return false;
    for (ssize_t i = 0; i < length; i++)
        if (text[i] != '\n' && (text[i] < '0' || text[i] > '9')) return false;
    return true;
}

static void write_number(int descriptor)
{
    char number[24];
    int  length = snprintf(number, sizeof number, "%ld\n", (long)getpid());

    if (ftruncate(descriptor, 0) == 0 &&
        pwrite(descriptor, number, (size_t)length, 0) != length)
        return; /* a full disk: the lock holds, and says less */
}

/* \param[out] who  The sentence that another program has the lock; EMP_OK: none has. */
static emp_status take(emp_file_lock *lock, const char *path, emp_error *who,
                       emp_error *err)
{
    emp_status st = EMP_OK;
    char      *name = NULL;
    int        descriptor = -1;

    *lock = (emp_file_lock){0};
    *who = (emp_error){0};
    if (is_special(path)) return EMP_OK;
    name = name_lock(path);
    if (name == NULL) EMP_FAIL(EMP_ENOMEM, "name of the lock of %s", path);
    do {
        if (descriptor >= 0) close(descriptor);
        descriptor =
            open(name, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0666);
        if (descriptor < 0)
            EMP_FAIL(EMP_EIO, "%s cannot be written: %s: %s", path, name,
                     strerror(errno));
        if (flock(descriptor, LOCK_EX | LOCK_NB) == 0) continue;
        if (errno == EWOULDBLOCK) {
            (void)say_who(descriptor, path, who);
            goto cleanup;
        }
        break; /* there are no locks here */
    } while (!is_still_there(descriptor, name));
    if (!is_lock(descriptor))
        EMP_FAIL(
            EMP_EINVAL,
            "%s cannot be written: its lock would be %s, which is another file; move "
            "that one",
            path, name);
    write_number(descriptor);
    *lock = (emp_file_lock){name, descriptor};
    emp_atomic_file_list(name);
    name = NULL;
    descriptor = -1;

cleanup:
    if (descriptor >= 0) close(descriptor);
    emp_free(name);
    return st;
}

emp_status emp_file_lock_take(emp_file_lock *lock, const char *path, emp_error *err)
{
    emp_error who;

    EMP_CHECK(take(lock, path, &who, err));
    return who.status == EMP_OK ? EMP_OK : EMP_ERROR(who.status, "%s", who.msg);
}

emp_status emp_file_lock_try(emp_file_lock *lock, bool *is_taken, const char *path,
                             emp_error *err)
{
    emp_error who;

    EMP_CHECK(take(lock, path, &who, err));
    *is_taken = who.status == EMP_OK;
    return EMP_OK;
}

/* Removed before it is unlocked: a program that opened it meanwhile looks whether it is there. */
void emp_file_lock_release(emp_file_lock *lock)
{
    if (lock->name == NULL) return;
    emp_atomic_file_unlist(lock->name);
    unlink(lock->name);
    close(lock->descriptor);
    emp_free(lock->name);
    *lock = (emp_file_lock){0};
}

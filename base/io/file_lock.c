// SPDX-License-Identifier: GPL-3.0-or-later
#define _DEFAULT_SOURCE /* flock() */
#define _XOPEN_SOURCE   700
#include "base/io/file_lock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io/atomic_file.h"
#include "base/mem.h"

static const char SUFFIX[] = ".lock";

/* Of the file that links lead to, so that all its names have one lock; the caller frees it. */
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

/* A lock is empty or holds a number. A file of somebody's that has its name is left as it is. */
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

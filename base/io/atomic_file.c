// SPDX-License-Identifier: GPL-3.0-or-later
#define _DEFAULT_SOURCE     /* flock() */
#define _XOPEN_SOURCE   700 /* realpath() */
#include "base/io/atomic_file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/collections.h"
#include "base/io/input.h"
#include "base/mem.h"

enum { SUFFIX_BYTES = 16, MAX_ATTEMPTS = 1000, MOST_LISTED = 64 };

/* The temporary files that are open, for a handler that has to remove them. */
static _Atomic(char *) listed[MOST_LISTED];

/* Threads that change the list, or make a file that is about to be on it. */
static atomic_int changing;
/* Set by emp_atomic_file_drop_all(): nothing may change any more. */
static atomic_int is_ending;

/* No signal comes to this thread until end_change(), and a handler in another one waits for that. So what
 * stands between takes no lock. */
static void begin_change(sigset_t *before)
{
    sigset_t all;

    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, before);
    changing++;
    if (!is_ending) return;
    changing--;
    for (;;) pause(); /* another thread ends the program */
}

static void end_change(const sigset_t *before)
{
    const int cause = errno;

    changing--;
    pthread_sigmask(SIG_SETMASK, before, NULL);
    errno = cause;
}

static void add_to_list(char *name)
{
    for (int i = 0; i < MOST_LISTED; i++) {
        char *nothing = NULL;
        if (atomic_compare_exchange_strong(&listed[i], &nothing, name)) return;
    }
}

void emp_atomic_file_list(char *name)
{
    sigset_t before;

    begin_change(&before);
    add_to_list(name);
    end_change(&before);
}

void emp_atomic_file_unlist(char *name)
{
    sigset_t before;

    begin_change(&before);
    for (int i = 0; i < MOST_LISTED; i++) {
        char *same = name;
        if (atomic_compare_exchange_strong(&listed[i], &same, NULL)) break;
    }
    end_change(&before);
}

/* Hashes of the paths where no file is yet. */
static _Atomic uint64_t absent[MOST_LISTED];

static uint64_t name_path(const char *path)
{
    return emp_hash_bytes(EMP_HASH_SEED, path, strlen(path));
}

void emp_atomic_file_expect_none(const char *path)
{
    for (int i = 0; i < MOST_LISTED; i++) {
        uint64_t nothing = 0;
        if (atomic_compare_exchange_strong(&absent[i], &nothing, name_path(path))) return;
    }
}

/* \return 0: a file may be there. */
static uint64_t find_absent(const char *path)
{
    const uint64_t name = name_path(path);

    for (int i = 0; i < MOST_LISTED; i++)
        if (atomic_load(&absent[i]) == name) return name;
    return 0;
}

static void expect_none_no_more(uint64_t name)
{
    for (int i = 0; name != 0 && i < MOST_LISTED; i++)
        if (atomic_load(&absent[i]) == name) atomic_store(&absent[i], 0);
}

void emp_atomic_file_drop_all(void)
{
    enum { MOST_MS = 300 };

    is_ending = 1;
    for (int ms = 0; ms < MOST_MS && changing > 0; ms++) poll(NULL, 0, 1);
    for (int i = 0; i < MOST_LISTED; i++) {
        const char *temporary = atomic_load(&listed[i]);
        if (temporary != NULL) unlink(temporary);
    }
}

/* Says fsync() of a file system that has no such thing. */
static bool lacks_sync(int cause) { return cause == EINVAL || cause == ENOSYS; }

static void name_temporary(char *name, size_t size, const char *path, int number)
{
    snprintf(name, size, "%s.tmp%d", path, number);
}

/* Locks a temporary file against sweeps. False: another program has taken it for a stale one. */
static bool is_guarded(int descriptor)
{
    struct stat info;

    if (flock(descriptor, LOCK_EX | LOCK_NB) != 0) return errno != EWOULDBLOCK;
    return fstat(descriptor, &info) == 0 && info.st_nlink > 0;
}

/* A file that was not there, so that no other program's file is written to, on the list. \a mode: mode_of().
 * \return its descriptor, or -1. */
static int create_listed(char *name, int mode)
{
    sigset_t before;

    begin_change(&before);
    int descriptor =
        open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode >= 0 ? mode : 0666);
    if (descriptor >= 0 && !is_guarded(descriptor)) {
        close(descriptor);
        descriptor = -1;
        errno = EEXIST;
    }
    if (descriptor >= 0) {
        if (mode >= 0) (void)!fchmod(descriptor, (mode_t)mode); /* what umask took */
        add_to_list(name);
    }
    end_change(&before);
    return descriptor;
}

/* The permissions of a file, or -1 if there is none. The one that replaces it has them from its beginning on. */
static int mode_of(const char *path)
{
    struct stat info;

    return stat(path, &info) == 0 && S_ISREG(info.st_mode) ? (int)(info.st_mode & 0777)
                                                           : -1;
}

/* Creates the temporary file, beside its place. It has none if that fails, which errno tells. */
static void begin_beside(emp_atomic_file *file)
{
    const int    mode = mode_of(file->path);
    const size_t size = strlen(file->path) + SUFFIX_BYTES;
    char        *name = (char *)emp_calloc(size, 1);
    int          descriptor = -1;

    if (name == NULL) {
        errno = ENOMEM;
        return;
    }
    for (int i = 0; i < MAX_ATTEMPTS && descriptor < 0; i++) {
        name_temporary(name, size, file->path, i);
        descriptor = create_listed(name, mode);
        if (descriptor < 0 && errno != EEXIST) break;
    }
    if (descriptor >= 0) file->stream = fdopen(descriptor, "w");
    if (file->stream != NULL) {
        file->temporary = name;
        file->guard = fcntl(descriptor, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
        return;
    }
    const int cause = errno;
    if (descriptor >= 0) {
        close(descriptor);
        unlink(name);
        emp_atomic_file_unlist(name);
    }
    emp_free(name);
    errno = cause;
}

/* The path with its links followed, if it leads to something; the caller frees it. */
static char *follow_links(const char *path)
{
    char *target = realpath(path, NULL);
    char *copy = emp_strdup(target != NULL ? target : path);

    free(target);
    return copy;
}

/* A pipe, a terminal or /dev/null, which cannot be replaced by a file. */
static bool is_special(const char *path)
{
    struct stat info;

    return stat(path, &info) == 0 && !S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode);
}

static bool is_pipe(const char *path)
{
    struct stat info;

    return stat(path, &info) == 0 && S_ISFIFO(info.st_mode);
}

static bool is_lost_link(const char *path)
{
    struct stat info;

    return lstat(path, &info) == 0 && S_ISLNK(info.st_mode) && stat(path, &info) != 0 &&
           (errno == ENOENT || errno == ELOOP);
}

/* A pipe without a reader would be waited for, whatever signals come. A reader that is about to open
 * it has a second. */
static FILE *open_special(const char *path)
{
    enum { TRIES = 100 };
    const struct timespec pause = {.tv_nsec = 10000000};
    int                   descriptor = -1;

    for (int i = 0; i < TRIES && descriptor < 0; i++) {
        if (i > 0) nanosleep(&pause, NULL);
        descriptor = open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC);
        if (descriptor < 0 && (errno != ENXIO || !is_pipe(path))) return NULL;
    }
    if (descriptor < 0) {
        errno = EPIPE;
        return NULL;
    }
    fcntl(descriptor, F_SETFL, 0); /* writing waits as ever */
    FILE *stream = fdopen(descriptor, "w");
    if (stream == NULL) close(descriptor);
    return stream;
}

emp_status emp_atomic_file_open(emp_atomic_file *file, const char *path, emp_error *err)
{
    emp_status st = EMP_OK;

    *file = (emp_atomic_file){.path = follow_links(path), .absent = find_absent(path)};
    if (file->path == NULL) EMP_FAIL(EMP_ENOMEM, "name of %s", path);
    if (is_lost_link(path))
        EMP_FAIL(EMP_EIO, "%s cannot be written: it is a link that leads to nothing",
                 path);
    if (is_special(path))
        file->stream = open_special(path);
    else
        begin_beside(file);
    if (file->stream == NULL && errno == EPIPE)
        EMP_FAIL(EMP_EIO, "%s cannot be written: nobody reads this pipe", path);
    if (file->stream == NULL)
        EMP_FAIL(errno == ENOMEM ? EMP_ENOMEM : EMP_EIO, "%s cannot be written: %s", path,
                 strerror(errno));

cleanup:
    if (st != EMP_OK) emp_atomic_file_abort(file);
    return st;
}

/* Makes the renaming last: it is the folder that holds names. Some file systems cannot;
 * they have no better to offer. */
static void sync_folder(char *path)
{
    char *slash = strrchr(path, '/');
    char *end = slash == path ? path + 1 : slash; /* the root keeps its name */
    char  cut = end != NULL ? *end : '\0';

    if (end != NULL) *end = '\0';
    int folder = open(slash != NULL ? path : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (end != NULL) *end = cut;
    if (folder < 0) return;
    fsync(folder);
    close(folder);
}

static void release_temporary(emp_atomic_file *file)
{
    if (file->temporary != NULL) emp_atomic_file_unlist(file->temporary);
    if (file->guard > 0) close(file->guard);
    emp_free(file->temporary);
    file->temporary = NULL;
    file->guard = 0;
}

bool emp_file_is_same(const char *one, const char *other)
{
    struct stat a, b;

    return stat(one, &a) == 0 && stat(other, &b) == 0 && a.st_dev == b.st_dev &&
           a.st_ino == b.st_ino;
}

/* Gives the temporary file a second name, which no file may have, and takes the first. Over a network the
 * word that it has succeeded may be lost. File systems that have no second names get what comes
 * close. */
static int put_where_none_is(const char *temporary, const char *path)
{
    if (link(temporary, path) == 0 ||
        (errno == EEXIST && emp_file_is_same(temporary, path))) {
        unlink(temporary);
        return 0;
    }
    if (errno != EEXIST && access(path, F_OK) != 0) return rename(temporary, path);
    errno = EEXIST;
    return -1;
}

static int put_in_place(const emp_atomic_file *file)
{
    if (file->absent != 0) return put_where_none_is(file->temporary, file->path);
    return rename(file->temporary, file->path);
}

/* Gives the temporary file a name like the path's that nothing sweeps: r.kept.h5. Returns it, or NULL. */
static char *put_aside(const char *temporary, const char *path)
{
    const char *slash = strrchr(path, '/'), *name = slash != NULL ? slash + 1 : path;
    const char *dot = strrchr(name, '.');
    const char *ending = dot != NULL && dot > name ? dot : path + strlen(path);
    const int   stem = (int)(ending - path);
    size_t      size = strlen(path) + SUFFIX_BYTES;
    char       *kept = (char *)emp_calloc(size, 1), number[8] = "";

    for (int i = 2; kept != NULL && i < MAX_ATTEMPTS; i++) {
        snprintf(kept, size, "%.*s.kept%s%s", stem, path, number, ending);
        if (put_where_none_is(temporary, kept) == 0) return kept;
        if (errno != EEXIST) break;
        snprintf(number, sizeof number, "%d", i);
    }
    emp_free(kept);
    return NULL;
}

/* The new file stays for the user; no handler removes it from now on. */
static emp_status keep(emp_atomic_file *file, const char *why, emp_error *err)
{
    emp_atomic_file_unlist(file->temporary);
    char       *kept = put_aside(file->temporary, file->path);
    const char *whole = kept != NULL ? kept : file->temporary;
    sync_folder(file->path);
    const char *slash = strrchr(whole, '/');

    EMP_ERROR(EMP_EIO, "%s %s and stays; what was to be written there is beside it: %s",
              file->path, why, slash != NULL ? slash + 1 : whole);
    emp_free(kept);
    release_temporary(file);
    return EMP_EIO;
}

/* Flushes what is left. \return 0, or why this or a write before it failed. A stream keeps no cause of a write
 * that failed with nothing left to flush: another byte meets the same one. Who reads a pipe or a terminal would
 * see it. */
static int flush_all(FILE *stream, bool is_read)
{
    if (fflush(stream) != 0) return errno;
    if (!ferror(stream)) return 0;
    if (is_read) return EIO;
    return write(fileno(stream), "", 1) < 0 ? errno : EIO;
}

emp_status emp_atomic_file_commit(emp_atomic_file *file, emp_error *err)
{
    FILE *stream = file->stream;
    int   cause = flush_all(stream, is_pipe(file->path) || isatty(fileno(stream)));

    if (cause == 0 && fsync(fileno(stream)) != 0 && !lacks_sync(errno)) cause = errno;
    file->stream = NULL;
    if (fclose(stream) != 0 && cause == 0) cause = errno;
    if (cause == 0 && file->temporary != NULL && emp_input_is_kept(file->path))
        return keep(file, "is a file that this run has read", err);
    if (cause == 0 && file->temporary != NULL && put_in_place(file) != 0) cause = errno;
    if (cause == EEXIST && file->absent != 0)
        return keep(file, "was made by another program meanwhile", err);
    if (cause != 0)
        return EMP_ERROR(EMP_EIO, "%s cannot be written: %s", file->path,
                         strerror(cause));
    if (file->temporary != NULL) sync_folder(file->path);
    expect_none_no_more(file->absent);
    release_temporary(file);
    return EMP_OK;
}

void emp_atomic_file_abort(emp_atomic_file *file)
{
    if (file->stream != NULL) fclose(file->stream);
    if (file->temporary != NULL) remove(file->temporary);
    release_temporary(file);
    emp_free(file->path);
    *file = (emp_atomic_file){0};
}

emp_status emp_atomic_file_write(const char *path,
                                 emp_status (*print)(FILE *stream, const void *what,
                                                     emp_error *err),
                                 const void *what, emp_error *err)
{
    emp_status      st = EMP_OK;
    emp_atomic_file file = {0};

    EMP_TRY(emp_atomic_file_open(&file, path, err));
    st = print(file.stream, what, err);
    if (ferror(file.stream) && err != NULL) *err = (emp_error){0}; /* it has no path */
    if (st == EMP_OK || ferror(file.stream)) st = emp_atomic_file_commit(&file, err);

cleanup:
    emp_atomic_file_abort(&file);
    return st;
}

/* Removes a temporary file unless its writer is there.
 * \param may_be_unlocked  No program writes there, so that it is removed where there are no locks, too. */
static void remove_stale(const char *name, bool may_be_unlocked)
{
    struct stat info;
    int         descriptor = open(name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

    if (descriptor < 0)
        descriptor = open(name, O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (descriptor < 0) return;
    const bool is_locked = flock(descriptor, LOCK_EX | LOCK_NB) == 0;
    const bool is_stale = is_locked || (may_be_unlocked && errno != EWOULDBLOCK);
    if (is_stale && fstat(descriptor, &info) == 0 && S_ISREG(info.st_mode)) unlink(name);
    close(descriptor);
}

emp_status emp_atomic_file_sweep(const char *path, emp_error *err)
{
    emp_status st = EMP_OK;
    size_t     size = strlen(path) + SUFFIX_BYTES;
    char      *name = (char *)emp_calloc(size, 1);

    if (name == NULL) EMP_FAIL(EMP_ENOMEM, "name of %s", path);
    for (int i = 0; i < MAX_ATTEMPTS; i++) { /* of several writers any may be gone */
        name_temporary(name, size, path, i);
        remove_stale(name, true);
    }

cleanup:
    emp_free(name);
    return st;
}

size_t emp_atomic_file_owner(const char *name)
{
    static const char mark[] = ".tmp";
    const size_t      length = strlen(name);
    size_t            digits = 0;

    while (digits < length && strchr("0123456789", name[length - 1 - digits]) != NULL)
        digits++;
    const size_t tail = digits + strlen(mark);
    if (digits == 0 || length <= tail ||
        strncmp(name + length - tail, mark, strlen(mark)) != 0)
        return 0;
    return length - tail;
}

void emp_atomic_file_sweep_folder(const char *folder,
                                  bool (*is_ours)(const char *name, size_t length))
{
    DIR                 *entries = opendir(folder);
    const struct dirent *entry;

    while (entries != NULL && (entry = readdir(entries)) != NULL) {
        const size_t length = emp_atomic_file_owner(entry->d_name);
        const size_t size = strlen(folder) + strlen(entry->d_name) + 2;
        if (length == 0 || !is_ours(entry->d_name, length)) continue;
        char *path = (char *)emp_calloc(size, 1);
        if (path == NULL) break;
        snprintf(path, size, "%s/%s", folder, entry->d_name);
        remove_stale(path, false);
        emp_free(path);
    }
    if (entries != NULL) closedir(entries);
}

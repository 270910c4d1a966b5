// SPDX-License-Identifier: GPL-3.0-or-later
#define _GNU_SOURCE /* pipe2(), close_range() */

#include "base/io/process.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MOST_ARGUMENTS = 16 };

/* Terminals and schedulers send them to a whole group. Its first process answers them. */
static const int of_groups[] = {SIGINT, SIGTERM, SIGHUP, SIGUSR1};

enum { OF_GROUPS = sizeof of_groups / sizeof *of_groups };

static void block_signals(sigset_t *before)
{
    sigset_t deaf;

    sigemptyset(&deaf);
    for (int i = 0; i < OF_GROUPS; i++) sigaddset(&deaf, of_groups[i]);
    pthread_sigmask(SIG_BLOCK, &deaf, before);
}

static void restore_signals(const sigset_t *before)
{
    const int cause = errno;

    pthread_sigmask(SIG_SETMASK, before, NULL);
    errno = cause;
}

/* A parent that has ended before the call sends no signal. */
static void end_with(pid_t parent, int by)
{
    prctl(PR_SET_PDEATHSIG, by);
    if (getppid() != parent) _exit(1);
}

pid_t emp_program_fork(void)
{
    const pid_t parent = getpid();
    sigset_t    before;

    block_signals(&before);
    const pid_t child = fork();
    if (child == 0)
        end_with(parent, SIGKILL);
    else
        restore_signals(&before);
    return child;
}

/* ---- programs ---- */

static void be_program(const char *const *argument)
{
    char *argv[MOST_ARGUMENTS] = {NULL};

    /* execvp() does not write to them, but its type does not say so */
    for (int i = 0; i < MOST_ARGUMENTS - 1 && argument[i] != NULL; i++)
        memcpy(&argv[i], &argument[i], sizeof(char *));
    execvp(argv[0], argv);
    _exit(127);
}

static bool has_succeeded(pid_t child)
{
    int status = 0;

    while (waitpid(child, &status, 0) < 0) {
        if (errno != EINTR) return false;
    }
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static void close_quietly(int fd)
{
    const int cause = errno;

    close(fd);
    errno = cause;
}

emp_program emp_program_open(const char *const *argument)
{
    emp_program program = {0};
    int         end[2];

    if (pipe2(end, O_CLOEXEC) != 0) return program;
    program.child = emp_program_fork();
    if (program.child == 0) {
        if (dup2(end[1], STDOUT_FILENO) == end[1]) fcntl(end[1], F_SETFD, 0);
        be_program(argument);
    }
    close(end[1]);
    if (program.child > 0) program.output = fdopen(end[0], "r");
    if (program.output == NULL) close_quietly(end[0]);
    return program;
}

bool emp_program_close(emp_program *program)
{
    if (program->output != NULL) fclose(program->output);
    return program->child > 0 && has_succeeded(program->child);
}

bool emp_program_succeeds(const char *const *argument)
{
    const pid_t child = emp_program_fork();

    if (child == 0) {
        const int nowhere = open("/dev/null", O_RDWR);
        for (int i = STDIN_FILENO; i <= STDERR_FILENO; i++) dup2(nowhere, i);
        be_program(argument);
    }
    return child > 0 && has_succeeded(child);
}

/* ---- files for programs ---- */

emp_status emp_program_create_input(FILE **file, emp_error *err)
{
    const char *folder = getenv("TMPDIR");
    char        path[PATH_MAX];

    if (folder == NULL || *folder == '\0') folder = "/tmp";
    snprintf(path, sizeof path, "%s/emplace-XXXXXX", folder);
    const int fd = mkstemp(path);
    if (fd >= 0) unlink(path);
    *file = fd < 0 ? NULL : fdopen(fd, "w+");
    if (*file != NULL) return EMP_OK;
    if (fd >= 0) close(fd);
    return EMP_ERROR(EMP_EIO, "no temporary file in %s: %s", folder, strerror(errno));
}

emp_status emp_program_finish_input(FILE *file, char path[EMP_PROGRAM_PATH_BYTES],
                                    emp_error *err)
{
    if (fflush(file) != 0 || ferror(file) != 0)
        return EMP_ERROR(EMP_EIO, "a temporary file cannot be written: %s",
                         strerror(errno));
    snprintf(path, EMP_PROGRAM_PATH_BYTES, "/dev/fd/%d", fileno(file));
    return EMP_OK;
}

enum {
    MOST_LISTED = 64,
    MOST_DESCRIPTORS = 1 << 16,
    KILL_MS =
        2000,     /* that the watcher kills for; what a disk keeps may be there longer */
    END_MS = 3000 /* that it is waited for */
};

static void sleep_ms(long ms)
{
    nanosleep(&(struct timespec){.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000},
              NULL);
}

/* ---- the list ---- */

static _Atomic pid_t listed[MOST_LISTED];

static void list(pid_t watcher)
{
    for (int i = 0; i < MOST_LISTED; i++) {
        pid_t nobody = 0;
        if (atomic_compare_exchange_strong(&listed[i], &nobody, watcher)) return;
    }
}

static void unlist(pid_t watcher)
{
    for (int i = 0; i < MOST_LISTED; i++) {
        pid_t same = watcher;
        if (atomic_compare_exchange_strong(&listed[i], &same, 0)) return;
    }
}

/* Also one that was stopped. */
static void tell_to_end(pid_t watcher)
{
    kill(watcher, SIGTERM);
    kill(watcher, SIGCONT);
}

void emp_watcher_end_all(void)
{
    for (int i = 0; i < MOST_LISTED; i++) {
        const pid_t watcher = atomic_load(&listed[i]);
        if (watcher > 0) tell_to_end(watcher);
    }
}

/* ---- the watcher ---- */

/* How the child has ended, once it has. */
typedef struct {
    pid_t child;
    bool  has_ended;
    int   how;
} watched;

/* Whether a process of that number is a child of this one: the fourth word of its file, behind a name
 * in parentheses that may hold anything. */
static bool is_own_child(const char *number)
{
    char path[32 + sizeof((struct dirent *)0)->d_name], text[512];

    snprintf(path, sizeof path, "/proc/%s/stat", number);
    const int     file = open(path, O_RDONLY | O_CLOEXEC);
    const ssize_t length = file >= 0 ? read(file, text, sizeof text - 1) : 0;
    if (file >= 0) close(file);
    text[length > 0 ? length : 0] = '\0';
    const char *end = strrchr(text, ')');
    long        parent = 0;
    return end != NULL && sscanf(end, ") %*c %ld", &parent) == 1 &&
           parent == (long)getpid();
}

/* The children's own children become this process's when they are dead. */
static void kill_children(const watched *w)
{
    DIR                 *folder = opendir("/proc");
    const struct dirent *entry;

    if (!w->has_ended) kill(w->child, SIGKILL);
    while (folder != NULL && (entry = readdir(folder)) != NULL)
        if (isdigit((unsigned char)entry->d_name[0]) && is_own_child(entry->d_name))
            kill((pid_t)atol(entry->d_name), SIGKILL);
    if (folder != NULL) closedir(folder);
}

/* Takes notice of all that have ended. \return Whether any are left. */
static bool reap(watched *w)
{
    pid_t ended;
    int   how = 0;

    while ((ended = waitpid(-1, &how, WNOHANG)) > 0) {
        if (ended != w->child) continue;
        w->has_ended = true;
        w->how = how;
    }
    return ended == 0;
}

static void kill_all(watched *w)
{
    for (int ms = 0; reap(w) && ms < KILL_MS; ms++) {
        kill_children(w);
        sleep_ms(1);
    }
}

/* Ends as the child has. */
_Noreturn static void end_likewise(const watched *w)
{
    const struct rlimit none = {0, 0};
    sigset_t            its;

    if (!w->has_ended) _exit(1);
    if (WIFEXITED(w->how)) _exit(WEXITSTATUS(w->how));
    setrlimit(RLIMIT_CORE, &none); /* the child has left one, if any */
    signal(WTERMSIG(w->how), SIG_DFL);
    sigemptyset(&its);
    sigaddset(&its, WTERMSIG(w->how));
    sigprocmask(SIG_UNBLOCK, &its, NULL);
    raise(WTERMSIG(w->how));
    _exit(128 + WTERMSIG(w->how));
}

/* Files that stay open here would not end for those who read them. */
static void close_all(void)
{
#ifdef SYS_close_range
    if (syscall(SYS_close_range, 0U, ~0U, 0U) == 0) return;
#endif
    for (int file = 0; file < MOST_DESCRIPTORS; file++) close(file);
}

/* All signals are blocked, so that they wait to be taken. */
_Noreturn static void watch(pid_t child)
{
    watched  w = {.child = child};
    sigset_t taken;

    close_all();
    sigemptyset(&taken);
    sigaddset(&taken, SIGCHLD);
    sigaddset(&taken, SIGTERM);
    for (;;) {
        const int signal = sigwaitinfo(&taken, NULL);
        if (signal == SIGTERM) {
            kill_all(&w);
            break;
        }
        if (!reap(&w)) break;
    }
    end_likewise(&w);
}

pid_t emp_watcher_fork(void)
{
    const pid_t parent = getpid();
    sigset_t    all, before;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pid_t watcher = fork();
    if (watcher == 0) {
        const pid_t own = getpid();
        setpgid(0, 0);
        signal(SIGCHLD, SIG_DFL);
        prctl(PR_SET_CHILD_SUBREAPER, 1);
        end_with(parent, SIGTERM);
        const pid_t child = fork();
        if (child < 0) _exit(127);
        if (child > 0) watch(child);
        setpgid(0, 0);
        end_with(own, SIGKILL);
    } else if (watcher > 0) {
        list(watcher);
    }
    const int cause = errno;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    errno = cause;
    return watcher;
}

int emp_watcher_end(pid_t watcher)
{
    int how = 0, ms = 0;

    tell_to_end(watcher);
    unlist(watcher); /* while its number is in use */
    for (; ms < END_MS && waitpid(watcher, &how, WNOHANG) == 0; ms++) sleep_ms(1);
    if (ms < END_MS) return how;
    kill(watcher, SIGKILL);
    waitpid(watcher, &how, 0);
    return how;
}

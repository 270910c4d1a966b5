// SPDX-License-Identifier: GPL-3.0-or-later
/* A file appears whole or not at all, and nothing else is left or touched. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/io/atomic_file.h"
#include "tests/support/scratch.h"
#include "tests/support/survive.h"

static char folder[SCRATCH_PATH_BYTES], path[SCRATCH_PATH_BYTES],
    beside[SCRATCH_PATH_BYTES];
static int sync_cause; /* errno of fsync(); 0 = it works */

/* In place of the C library's. */
int fsync(int file)
{
    (void)file;
    errno = sync_cause;
    return sync_cause == 0 ? 0 : -1;
}

static int
    signal_within; /* that comes while a file is made in place of another; 0 = none */

static unsigned slow_us; /* that it takes meanwhile */

int fchmod(int file, mode_t mode)
{
    usleep(slow_us);
    if (signal_within != 0) raise(signal_within);
    return (int)syscall(SYS_fchmod, file, mode);
}

static void make_folder(void)
{
    scratch_create();
    snprintf(folder, sizeof folder, "%s", scratch_path(""));
    folder[strlen(folder) - 1] = '\0';
    snprintf(path, sizeof path, "%s", scratch_path("file"));
    snprintf(beside, sizeof beside, "%s", scratch_path("file.tmp0"));
}

static void remove_folder(void)
{
    scratch_remove();
    expect_all_freed();
}

TestSuite(atomic_file, .init = make_folder, .fini = remove_folder);

static void put(const char *name, const char *text)
{
    scratch_write(name, text, strlen(text));
}

static void expect_text(const char *name, const char *want)
{
    OWN_FREE char *text = scratch_read(name, NULL);

    cr_expect_str_eq(text, want, "%s", name);
}

static struct stat status_of(const char *name)
{
    struct stat info;

    cr_assert_eq(lstat(name, &info), 0, "%s", name);
    return info;
}

/* Writes a file and expects that status of its commit. */
static void write_text(const char *name, const char *text, emp_status want,
                       emp_error *err)
{
    emp_atomic_file f = {0};

    cr_assert_eq(emp_atomic_file_open(&f, name, err), EMP_OK, "%s", err->msg);
    fputs(text, f.stream);
    cr_expect_eq(emp_atomic_file_commit(&f, err), want, "%s", err->msg);
    emp_atomic_file_abort(&f);
}

static int files_in_folder(void)
{
    DIR *d = opendir(folder);
    int  count = -2; /* . and .. */

    cr_assert_not_null(d);
    while (readdir(d) != NULL) count++;
    closedir(d);
    return count;
}

Test(atomic_file, commit_replaces_what_was_there_and_abort_leaves_it)
{
    emp_atomic_file f = {0}, g = {0};

    put("file", "old");
    ASSERT_OK(emp_atomic_file_open(&f, path, &err));
    fputs("new", f.stream);
    emp_atomic_file_abort(&f);
    emp_atomic_file_abort(&f);
    expect_text("file", "old");
    cr_expect_eq(files_in_folder(), 1);
    ASSERT_OK(emp_atomic_file_open(&g, path, &err));
    fputs("new", g.stream);
    expect_text("file", "old");
    ASSERT_OK(emp_atomic_file_commit(&g, &err));
    emp_atomic_file_abort(&g);
    expect_text("file", "new");
    cr_expect_eq(files_in_folder(), 1);
}

Test(atomic_file, links_are_followed)
{
    emp_error err = {0};

    put("file", "old");
    cr_assert_eq(symlink(path, beside), 0);
    write_text(beside, "new", EMP_OK, &err);
    expect_text("file", "new");
    cr_expect(S_ISLNK(status_of(beside).st_mode), "the link is gone");
}

Test(atomic_file, what_is_no_file_is_written_to)
{
    emp_error err = {0};
    char      text[8] = "";

    cr_assert_eq(mkfifo(path, 0600), 0);
    int reader = open(path, O_RDWR | O_NONBLOCK); /* a pipe needs one */
    cr_assert_geq(reader, 0);
    write_text(path, "new", EMP_OK, &err);
    cr_expect_eq(read(reader, text, sizeof text - 1), 3);
    cr_expect_str_eq(text, "new");
    close(reader);
    cr_expect(S_ISFIFO(status_of(path).st_mode), "the pipe is gone");
}

static void expect_refused(const char *name, const char *why)
{
    emp_atomic_file f = {0};

    EXPECT_REFUSED(emp_atomic_file_open(&f, name, &err), EMP_EIO, why);
}

Test(atomic_file, pipes_without_a_reader_and_links_to_nothing_are_refused)
{
    cr_assert_eq(mkfifo(path, 0600), 0);
    expect_refused(path, "nobody reads this pipe");
    cr_assert_eq(remove(path), 0);
    cr_assert_eq(symlink(path, beside), 0);
    expect_refused(beside, "a link that leads to nothing");
    cr_expect(S_ISLNK(status_of(beside).st_mode));
    cr_assert_eq(symlink(path, path), 0);
    expect_refused(path, "a link that leads to nothing");
}

Test(atomic_file, a_private_file_stays_private)
{
    static const mode_t modes[] = {0600, 0};
    emp_atomic_file     f = {0};

    put("file", "old");
    for (int i = 0; i < 2; i++) {
        cr_assert_eq(chmod(path, modes[i]), 0);
        ASSERT_OK(emp_atomic_file_open(&f, path, &err));
        cr_expect_eq(status_of(beside).st_mode & 0777, modes[i]);
        ASSERT_OK(emp_atomic_file_commit(&f, &err));
        emp_atomic_file_abort(&f);
        cr_expect_eq(status_of(path).st_mode & 0777, modes[i]);
    }
}

static void drop_all(int number)
{
    (void)number;
    emp_atomic_file_drop_all();
}

Test(atomic_file, a_handler_knows_of_every_temporary_file)
{
    int status = 0;

    put("file", "old");
    const pid_t child = fork();
    if (child == 0) {
        emp_atomic_file file = {0};
        signal(SIGUSR2, drop_all);
        signal_within = SIGUSR2;
        _exit(emp_atomic_file_open(&file, path, NULL) == EMP_OK ? 0 : 1);
    }
    cr_assert_eq(waitpid(child, &status, 0), child);
    cr_assert_eq(status, 0);
    cr_expect_eq(files_in_folder(), 1, "a file is left that the handler missed");
}

static atomic_int written;

static void *write_for_ever(void *nothing)
{
    for (;;) {
        emp_atomic_file file = {0};
        if (emp_atomic_file_open(&file, path, NULL) == EMP_OK &&
            emp_atomic_file_commit(&file, NULL) == EMP_OK)
            written++;
        emp_atomic_file_abort(&file);
    }
    return nothing;
}

/* A writer goes on while another thread ends the program. */
static void end_beside_a_writer(unsigned delay_us)
{
    pthread_t writer;

    slow_us = 1000;
    if (pthread_create(&writer, NULL, write_for_ever, NULL) != 0) _exit(1);
    for (int i = 0; i < 60000 && written == 0; i++) usleep(1000);
    if (written == 0) _exit(2);
    usleep(delay_us);
    emp_atomic_file_drop_all();
    usleep(2000);
    _exit(0);
}

Test(atomic_file, a_handler_in_another_thread_leaves_none, .timeout = 300)
{
    put("file", "old");
    for (unsigned i = 0; i < 50; i++) {
        int         status = 0;
        const pid_t child = fork();
        if (child == 0) end_beside_a_writer(37 * i);
        cr_assert_eq(waitpid(child, &status, 0), child);
        cr_assert_eq(status, 0);
        cr_assert_eq(files_in_folder(), 1, "a temporary file is left, try %u", i);
    }
}

Test(atomic_file, files_of_others_are_left_alone)
{
    emp_atomic_file f = {0}, g = {0};

    put("file.tmp0", "theirs");
    cr_assert_eq(emp_atomic_file_open(&f, path, NULL), EMP_OK);
    cr_assert_eq(emp_atomic_file_open(&g, path, NULL), EMP_OK, "two writers at once");
    fputs("f", f.stream);
    fputs("g", g.stream);
    cr_expect_eq(emp_atomic_file_commit(&f, NULL), EMP_OK);
    emp_atomic_file_abort(&g);
    emp_atomic_file_abort(&f);
    expect_text("file", "f");
    expect_text("file.tmp0", "theirs");
    cr_expect_eq(files_in_folder(), 2);
}

Test(atomic_file, a_file_that_comes_between_is_not_replaced)
{
    emp_error err = {0};

    emp_atomic_file_expect_none(path);
    put("file", "theirs");
    write_text(path, "ours", EMP_EIO, &err);
    expect_text("file", "theirs");
    expect_text("file.kept", "ours");
    cr_expect_not_null(strstr(err.msg, "file.kept"), "%s", err.msg);
    write_text(path, "once more", EMP_EIO, &err);
    expect_text("file.kept2", "once more");
    cr_assert_eq(remove(path), 0);
    write_text(path, "ours", EMP_OK, &err);
    write_text(path, "ours again", EMP_OK, &err);
    expect_text("file", "ours again");
    cr_expect_neq(access(beside, F_OK), 0, "a temporary file is left");
}

Test(atomic_file, messages_name_the_path_and_the_reason)
{
    emp_error err = {0};

    expect_refused("/nowhere/file", "/nowhere/file cannot be written: No such file");
    write_text(folder, "x", EMP_EIO, &err);
    cr_expect_not_null(strstr(err.msg, folder), "%s", err.msg);
    cr_expect_not_null(strstr(err.msg, "Is a directory"), "%s", err.msg);
    cr_expect_eq(files_in_folder(), 0);
}

/* The write fails long before the commit, which has nothing left to flush. */
Test(atomic_file, a_write_that_failed_is_reported_by_commit)
{
    const struct rlimit limit = {4096, RLIM_INFINITY};
    struct rlimit       before;
    static char         block[100000];
    emp_error           err = {0};

    memset(block, 'x', sizeof block - 1);
    cr_assert_eq(getrlimit(RLIMIT_FSIZE, &before), 0);
    signal(SIGXFSZ, SIG_IGN);
    cr_assert_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
    write_text(path, block, EMP_EIO, &err);
    cr_assert_eq(setrlimit(RLIMIT_FSIZE, &before), 0);
    cr_expect_not_null(strstr(err.msg, path), "%s", err.msg);
    cr_expect_not_null(strstr(err.msg, "File too large"), "%s", err.msg);
    cr_expect_eq(files_in_folder(), 0);
}

static emp_status print_and_fail(FILE *stream, const void *what, emp_error *err)
{
    for (int i = 0; i < 100000; i++) fputc('x', stream);
    (void)what;
    return EMP_ERROR(EMP_EIO, "cannot write the table");
}

/* At once, as a report is written: nothing is left to flush. */
static emp_status print_a_block(FILE *stream, const void *what, emp_error *err)
{
    static const char block[100000];

    (void)what;
    if (fwrite(block, 1, sizeof block, stream) == sizeof block) return EMP_OK;
    return EMP_ERROR(EMP_EIO, "cannot write the block");
}

Test(atomic_file, a_printer_that_cannot_write_gets_the_path_named)
{
    EXPECT_REFUSED(emp_atomic_file_write("/dev/full", print_and_fail, NULL, &err),
                   EMP_EIO, "/dev/full cannot be written: No space left on device");
    EXPECT_REFUSED(emp_atomic_file_write("/dev/full", print_a_block, NULL, &err), EMP_EIO,
                   "/dev/full cannot be written: No space left on device");
}

Test(atomic_file, file_systems_without_sync_will_do)
{
    static const int causes[] = {0, EINVAL, ENOSYS, EIO};

    for (size_t i = 0; i < COUNT(causes); i++) {
        emp_error err = {0};
        sync_cause = causes[i];
        write_text(path, "new", causes[i] == EIO ? EMP_EIO : EMP_OK, &err);
        cr_expect_eq(files_in_folder(), 1);
    }
}

Test(atomic_file, sweep_removes_what_killed_writers_left)
{
    put("file", "whole");
    put("file.tmp0", "half");
    put("file.tmp7", "half");
    emp_mem_fail_after(0);
    cr_expect_eq(emp_atomic_file_sweep(path, NULL), EMP_ENOMEM);
    emp_mem_fail_after(-1);
    cr_expect_eq(emp_atomic_file_sweep(path, NULL), EMP_OK);
    expect_text("file", "whole");
    cr_expect_eq(files_in_folder(), 1);
}

static bool is_ours(const char *name, size_t length)
{
    return strncmp(name, "notes.txt", length) != 0;
}

Test(atomic_file, sweep_of_a_folder_leaves_live_writers_and_other_files)
{
    emp_atomic_file f = {0};

    cr_assert_eq(emp_atomic_file_open(&f, path, NULL), EMP_OK);
    fputs("new", f.stream);
    put("other.json.tmp12", "half");
    put("notes.txt.tmp0", "half");
    put("other.json.tmp", "half");
    emp_atomic_file_sweep_folder(folder, is_ours);
    cr_expect_eq(files_in_folder(), 3);
    cr_expect_eq(emp_atomic_file_sweep(path, NULL), EMP_OK);
    cr_expect_eq(emp_atomic_file_commit(&f, NULL), EMP_OK,
                 "its temporary file has stayed");
    emp_atomic_file_abort(&f);
    expect_text("file", "new");
    emp_atomic_file_sweep_folder("/nowhere", is_ours);
}

Test(atomic_file, names_of_temporary_files_say_whose_they_are)
{
    static const char *const others[] = {"r.h5", "r.h5.tmp", "r.h5.tmp0x", ".tmp0", ""};

    cr_expect_eq(emp_atomic_file_owner("r.h5.tmp0"), 4);
    cr_expect_eq(emp_atomic_file_owner("r.tmp1.tmp23"), 6);
    for (size_t i = 0; i < COUNT(others); i++)
        cr_expect_eq(emp_atomic_file_owner(others[i]), 0, "%s", others[i]);
}

Test(atomic_file, open_survives_every_allocation_failure)
{
    emp_atomic_file f = {0};
    SURVIVES_EVERY_ALLOCATION_FAILURE(emp_atomic_file_open(&f, path, NULL),
                                      emp_atomic_file_abort(&f));
    emp_atomic_file_abort(&f);
}

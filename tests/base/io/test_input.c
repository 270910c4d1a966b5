// SPDX-License-Identifier: GPL-3.0-or-later
/* Is what is no file refused by one sentence, without waiting for it? Do files that were read stay?
 * Are folders made once, and has one program at a time a file? */
#define _POSIX_C_SOURCE 200809L
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/io/atomic_file.h"
#include "base/io/input.h"
#include "base/io/output.h"
#include "tests/support/scratch.h"
#include "tests/support/survive.h"

TestSuite(input, .init = scratch_create, .fini = scratch_remove, .timeout = 60);

static void expect_refused(const char *path, const char *why)
{
    FILE     *file;
    emp_error err = {0};

    cr_expect_eq(emp_input_open(&file, path, &err), EMP_EIO);
    cr_expect_null(file);
    cr_expect_not_null(strstr(err.msg, why), "not \"%s\": %s", why, err.msg);
    cr_expect_eq(strncmp(err.msg, path, strlen(path)), 0, "%s", err.msg);
}

Test(input, a_file_is_read_from_its_beginning)
{
    char  text[8] = "";
    FILE *file;

    scratch_write("a", "text", 4);
    cr_assert_eq(emp_input_open(&file, scratch_path("a"), NULL), EMP_OK);
    cr_expect_eq(fread(text, 1, sizeof text, file), 4);
    cr_expect_str_eq(text, "text");
    fclose(file);
}

/* The pipe has no writer: a plain fopen() would wait for ever. */
Test(input, what_is_no_file_is_refused)
{
    cr_assert_eq(mkfifo(scratch_path("pipe"), 0600), 0);
    expect_refused(scratch_path("pipe"), "cannot be read: it is a pipe, not a file");
    expect_refused("/dev/zero", "cannot be read: it is a device, not a file");
    expect_refused("/", "cannot be read: it is a folder, not a file");
    expect_refused("/nowhere/a", "cannot be read: No such file or directory");
    expect_refused("", "\"\" names no file");
}

static emp_status replace(const char *path, emp_error *err)
{
    emp_status      st = EMP_OK;
    emp_atomic_file file = {0};

    EMP_TRY(emp_atomic_file_open(&file, path, err));
    fputs("new", file.stream);
    st = emp_atomic_file_commit(&file, err);

cleanup:
    emp_atomic_file_abort(&file);
    return st;
}

static void expect_text(const char *name, const char *text)
{
    OWN_FREE char *bytes = scratch_read(name, NULL);

    cr_expect_str_eq(bytes, text);
}

Test(input, a_file_that_is_kept_is_not_replaced)
{
    char path[SCRATCH_PATH_BYTES], link[SCRATCH_PATH_BYTES];

    scratch_write("a.csv", "text", 4);
    snprintf(path, sizeof path, "%s", scratch_path("a.csv"));
    snprintf(link, sizeof link, "%s", scratch_path("link"));
    cr_assert_eq(symlink("a.csv", link), 0);
    emp_input_keep(link);
    cr_expect_not(emp_input_is_kept(path), "nobody has asked for it");
    emp_input_keep_all();
    emp_input_keep(link);
    cr_expect(emp_input_is_kept(path) && emp_input_is_kept(link));
    EXPECT_REFUSED(replace(link, &err), EMP_EIO,
                   "is a file that this run has read and stays");
    expect_text("a.csv", "text");
    expect_text("a.kept.csv", "new");
    emp_input_give_up(path, scratch_path("a.kept.csv"));
    cr_expect(emp_input_is_kept(path), "it is not made of that");
    emp_input_give_up(path, link);
    cr_expect_not(emp_input_is_kept(path));
    cr_expect_eq(replace(link, NULL), EMP_OK);
    expect_text("a.csv", "new");
}

Test(input, others_are_replaced)
{
    char path[SCRATCH_PATH_BYTES];

    scratch_write("a", "text", 4);
    snprintf(path, sizeof path, "%s", scratch_path("a"));
    emp_input_keep_all();
    emp_input_keep(scratch_path("missing"));
    cr_expect_not(emp_input_is_kept(scratch_path("missing")));
    cr_expect_not(emp_input_is_kept(path));
    cr_expect_eq(replace(path, NULL), EMP_OK);
    emp_input_keep(path);
    scratch_write("a", "another program's", 17);
    cr_expect_not(emp_input_is_kept(path), "it is another file than was read");
}

TestSuite(folder, .init = scratch_create, .fini = scratch_remove);

static bool is_folder(const char *name)
{
    struct stat there;

    return stat(scratch_path(name), &there) == 0 && S_ISDIR(there.st_mode);
}

Test(folder, is_made_once_and_kept)
{
    for (int again = 0; again < 2; again++) {
        ASSERT_OK(emp_folder_make(scratch_path("new"), &err));
        cr_expect(is_folder("new"));
    }
}

Test(folder, a_file_in_its_place_is_named_and_kept)
{
    struct stat there;

    scratch_write("file", "", 0);
    EXPECT_REFUSED(emp_folder_make(scratch_path("file"), &err), EMP_EIO, "/file");
    EXPECT_REFUSED(emp_folder_make(scratch_path("file"), &err), EMP_EIO, "it is a file");
    cr_expect(stat(scratch_path("file"), &there) == 0 && S_ISREG(there.st_mode));
}

Test(folder, those_above_it_must_be_there)
{
    EXPECT_REFUSED(emp_folder_make(scratch_path("new/deeper"), &err), EMP_EIO,
                   "No such file");
    cr_expect_not(is_folder("new/deeper"));
}

/* ---- locks ---- */

static char path[SCRATCH_PATH_BYTES];

static void set_up(void)
{
    scratch_create();
    snprintf(path, sizeof path, "%s", scratch_path("run.h5"));
}

static void tear_down(void)
{
    scratch_remove();
    expect_all_freed();
}

TestSuite(file_lock, .init = set_up, .fini = tear_down, .timeout = 60);

static bool has_lock_file(void) { return access(scratch_path("run.h5.lock"), F_OK) == 0; }

Test(file_lock, the_second_is_told_at_once_by_whom)
{
    emp_file_lock first = {0}, second = {0};
    bool          is_taken = false;
    char          process[32];

    snprintf(process, sizeof process, "(process %ld)", (long)getpid());
    ASSERT_OK(emp_file_lock_try(&first, &is_taken, path, &err));
    cr_expect(is_taken);
    EXPECT_REFUSED(emp_file_lock_take(&second, path, &err), EMP_EINVAL, process);
    emp_file_lock_release(&second);
    ASSERT_OK(emp_file_lock_try(&second, &is_taken, path, &err));
    cr_expect_not(is_taken);
    emp_file_lock_release(&second);
    cr_expect(has_lock_file());
    emp_file_lock_release(&first);
    cr_expect_not(has_lock_file());
    ASSERT_OK(emp_file_lock_take(&second, path, &err));
    emp_file_lock_release(&second);
    cr_expect_eq(emp_file_lock_try(&second, &is_taken, "/nowhere/x", NULL), EMP_EIO);
}

Test(file_lock, all_names_of_a_file_have_one)
{
    emp_file_lock first = {0}, second = {0};
    char          other[SCRATCH_PATH_BYTES];

    scratch_write("run.h5", "", 0);
    snprintf(other, sizeof other, "%s", scratch_path("link.h5"));
    cr_assert_eq(symlink(path, other), 0);
    cr_assert_eq(emp_file_lock_take(&first, other, NULL), EMP_OK);
    cr_expect_eq(emp_file_lock_take(&second, path, NULL), EMP_EINVAL);
    emp_file_lock_release(&first);
}

Test(file_lock, of_a_program_that_was_killed_is_taken)
{
    emp_file_lock lock = {0};
    const pid_t   child = fork();

    cr_assert_geq(child, 0);
    if (child == 0) {
        if (emp_file_lock_take(&lock, path, NULL) == EMP_OK) raise(SIGKILL);
        _exit(1);
    }
    cr_assert_eq(waitpid(child, NULL, 0), child);
    cr_expect(has_lock_file());
    cr_expect_eq(emp_file_lock_take(&lock, path, NULL), EMP_OK);
    emp_file_lock_release(&lock);
    cr_expect_not(has_lock_file());
}

static void expect_in_the_way(const char *what)
{
    emp_file_lock lock = {0};

    EXPECT_REFUSED(emp_file_lock_take(&lock, path, &err), EMP_EINVAL,
                   "run.h5.lock, which is another file");
    cr_expect(has_lock_file(), "%s", what);
    remove(scratch_path("run.h5.lock"));
}

Test(file_lock, a_file_of_its_name_that_is_no_lock_stays)
{
    scratch_write("run.h5.lock", "precious", strlen("precious"));
    expect_in_the_way("words");
    scratch_write("run.h5.lock", "1234567890123456789012345678901", 31);
    expect_in_the_way("a long number");
    scratch_write("mine", "12\n", 3);
    char mine[SCRATCH_PATH_BYTES];
    snprintf(mine, sizeof mine, "%s", scratch_path("mine"));
    cr_assert_eq(link(mine, scratch_path("run.h5.lock")), 0);
    expect_in_the_way("a file with another name");
    cr_assert_eq(mkfifo(scratch_path("run.h5.lock"), 0600), 0);
    expect_in_the_way("a pipe");
}

Test(file_lock, what_is_no_file_has_none)
{
    emp_file_lock first = {0}, second = {0};

    cr_expect_eq(emp_file_lock_take(&first, "/dev/null", NULL), EMP_OK);
    cr_expect_eq(emp_file_lock_take(&second, "/dev/null", NULL), EMP_OK);
    emp_file_lock_release(&first);
    emp_file_lock_release(&second);
}

Test(file_lock, failures_are_told)
{
    emp_file_lock lock = {0};

    EXPECT_REFUSED(emp_file_lock_take(&lock, "/nowhere/run.h5", &err), EMP_EIO,
                   "/nowhere/run.h5 cannot be written");
    SURVIVES_EVERY_ALLOCATION_FAILURE(emp_file_lock_take(&lock, path, NULL), );
    emp_file_lock_release(&lock);
}

// SPDX-License-Identifier: GPL-3.0-or-later
/* Has one program at a time a file, and is the lock of one that was killed taken? */
#define _POSIX_C_SOURCE 200809L
#include "base/io/output.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/expect.h"
#include "tests/support/scratch.h"
#include "tests/support/survive.h"

static char path[SCRATCH_PATH_BYTES];

static void set_up(void)
{
    scratch_create();
    snprintf(path, sizeof path, "%s", scratch_path("run.h5"));
}

static void tear_down(void)
{
    scratch_remove();
    expect_no_leak();
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

// SPDX-License-Identifier: GPL-3.0-or-later
/* Is what is no file refused by one sentence, without waiting for it? */
#define _POSIX_C_SOURCE 200809L
#include <criterion/criterion.h>
#include <string.h>
#include <sys/stat.h>

#include "base/io/input.h"
#include "tests/support/scratch.h"

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

/* Nobody writes to the pipe: a plain fopen() would wait for ever. */
Test(input, what_is_no_file_is_refused)
{
    cr_assert_eq(mkfifo(scratch_path("pipe"), 0600), 0);
    expect_refused(scratch_path("pipe"), "cannot be read: it is a pipe, not a file");
    expect_refused("/dev/zero", "cannot be read: it is a device, not a file");
    expect_refused("/", "cannot be read: it is a folder, not a file");
    expect_refused("/nowhere/a", "cannot be read: No such file or directory");
}

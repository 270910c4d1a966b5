// SPDX-License-Identifier: GPL-3.0-or-later
/* Is what is no file refused by one sentence, without waiting for it? Do files that were read stay? */
#define _POSIX_C_SOURCE 200809L
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io/atomic_file.h"
#include "base/io/input.h"
#include "tests/support/expect.h"
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
    expect_refused("", "\"\" names no file");
}

/* ---- files that stay ---- */

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
    char *bytes = scratch_read(name, NULL);

    cr_expect_str_eq(bytes, text);
    free(bytes);
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

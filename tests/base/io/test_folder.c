// SPDX-License-Identifier: GPL-3.0-or-later
/* A folder is there afterwards, or one sentence says what is in its way. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io/output.h"

static char scratch[64], path[96];

static void make_scratch(void)
{
    snprintf(scratch, sizeof scratch, P_tmpdir "/emplace-folder-XXXXXX");
    cr_assert_not_null(mkdtemp(scratch));
    snprintf(path, sizeof path, "%s/new", scratch);
}

static void remove_scratch(void)
{
    rmdir(path);
    unlink(path);
    cr_expect_eq(rmdir(scratch), 0, "nothing else is left");
}

TestSuite(folder, .init = make_scratch, .fini = remove_scratch);

static bool is_folder(const char *name)
{
    struct stat there;

    return stat(name, &there) == 0 && S_ISDIR(there.st_mode);
}

static void expect_refusal(const char *name, const char *reason)
{
    emp_error err = {0};

    cr_expect_eq(emp_folder_make(name, &err), EMP_EIO);
    cr_expect_not_null(strstr(err.msg, name), "%s", err.msg);
    cr_expect_not_null(strstr(err.msg, reason), "%s", err.msg);
}

Test(folder, is_made_once_and_kept)
{
    cr_expect_eq(emp_folder_make(path, NULL), EMP_OK);
    cr_expect(is_folder(path));
    cr_expect_eq(emp_folder_make(path, NULL), EMP_OK);
    cr_expect(is_folder(path));
}

Test(folder, a_file_in_its_place_is_named_and_kept)
{
    FILE *file = fopen(path, "w");

    cr_assert_not_null(file);
    fclose(file);
    expect_refusal(path, "it is a file");
    cr_expect_not(is_folder(path));
    cr_expect_eq(access(path, F_OK), 0);
}

Test(folder, those_above_it_must_be_there)
{
    char deep[128];

    snprintf(deep, sizeof deep, "%s/deeper", path);
    expect_refusal(deep, "No such file");
    cr_expect_not(is_folder(path));
}

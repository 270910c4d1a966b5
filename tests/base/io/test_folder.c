// SPDX-License-Identifier: GPL-3.0-or-later
/* A folder is there afterwards, or one sentence says what is in its way. */
#include <criterion/criterion.h>
#include <string.h>
#include <sys/stat.h>

#include "base/io/output.h"
#include "tests/support/expect.h"
#include "tests/support/scratch.h"

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

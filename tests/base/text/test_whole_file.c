// SPDX-License-Identifier: GPL-3.0-or-later
/* Is a file read to its end, and is one that is too long refused before it takes memory? */
#define _POSIX_C_SOURCE 200809L
#include <criterion/criterion.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/text/csv.h"
#include "base/text/file.h"
#include "base/text/json.h"
#include "tests/support/scratch.h"

static void tear_down(void)
{
    scratch_remove();
    cr_expect_eq(emp_mem_live_blocks(), 0);
}

TestSuite(whole_file, .init = scratch_create, .fini = tear_down);

/* A file of zeros that takes no room on the disk. */
static const char *write_sparse(off_t size)
{
    scratch_write("long", "", 0);
    cr_assert_eq(truncate(scratch_path("long"), size), 0);
    return scratch_path("long");
}

static void expect_too_long(emp_status st, const char *why, emp_error *err)
{
    emp_mem_fail_after(-1);
    cr_expect_eq(st, EMP_EFORMAT, "%s: %s", emp_status_str(st), err->msg);
    cr_expect_not_null(strstr(err->msg, why), "%s", err->msg);
    *err = (emp_error){0};
}

Test(whole_file, that_is_too_long_takes_no_memory)
{
    emp_csv           csv = {0};
    emp_json_document document = {0};
    char             *text;
    size_t            size;
    emp_error         err = {0};

    const char *path = write_sparse((off_t)1 << 34);
    emp_mem_fail_after(0);
    expect_too_long(emp_whole_file_load(&text, &size, path, 1 << 20, &err),
                    "long: longer than 1048576 bytes", &err);
    emp_mem_fail_after(0);
    expect_too_long(emp_csv_load(&csv, path, &err), "longer than 268435456 bytes", &err);
    emp_mem_fail_after(0);
    expect_too_long(emp_json_load(&document, path, &err), "longer than 1073741824 bytes",
                    &err);
}

Test(whole_file, that_is_as_long_as_it_may_be_is_read)
{
    char     *text = NULL;
    size_t    size;
    emp_error err = {0};

    const char *path = write_sparse(1 << 20);
    emp_mem_fail_after(1);
    cr_expect_eq(emp_whole_file_load(&text, &size, path, 1 << 20, &err), EMP_OK, "%s",
                 err.msg);
    emp_mem_fail_after(-1);
    cr_expect_eq(size, 1 << 20);
    emp_free(text);
    expect_too_long(emp_whole_file_load(&text, &size, path, (1 << 20) - 1, &err),
                    "longer than", &err);
}

/* The system says that this file has no bytes; so says a file that grows. */
Test(whole_file, of_unknown_size_is_read_to_its_end)
{
    char     *text = NULL;
    size_t    size;
    emp_error err = {0};

    cr_assert_eq(emp_whole_file_load(&text, &size, "/proc/self/smaps", 1 << 30, &err),
                 EMP_OK, "%s", err.msg);
    cr_expect_gt(size, 1 << 14);
    cr_expect_eq(strlen(text), size);
    emp_free(text);
    expect_too_long(emp_whole_file_load(&text, &size, "/proc/self/smaps", 99, &err),
                    "longer than 99 bytes", &err);
}

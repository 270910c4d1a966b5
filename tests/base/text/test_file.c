// SPDX-License-Identifier: GPL-3.0-or-later
/* Files: plain and packed, and everything that can stand in their place; files that are too long are
 * refused before they take memory. */
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "base/text/csv.h"
#include "base/text/file.h"
#include "base/text/json.h"
#include "tests/support/scratch.h"
#include "tests/support/survive.h"

static char path[64];

static void make_path(void)
{
    snprintf(path, sizeof path, P_tmpdir "/emplace-file-XXXXXX");
    int descriptor = mkstemp(path);
    cr_assert_geq(descriptor, 0);
    close(descriptor);
}

static void remove_path(void) { unlink(path); }

TestSuite(file, .init = make_path, .fini = remove_path);

static void write_plain(const void *bytes, size_t size)
{
    FILE *file = fopen(path, "wb");
    cr_assert_not_null(file);
    cr_assert_eq(fwrite(bytes, 1, size, file), size);
    fclose(file);
}

static void write_packed(const void *bytes, size_t size)
{
    gzFile file = gzopen(path, "wb");
    cr_assert_not_null(file);
    cr_assert_eq(gzwrite(file, bytes, (unsigned)size), (int)size);
    gzclose(file);
}

static void expect_error(const char *name, emp_status status, const char *message)
{
    char     *bytes = NULL;
    size_t    size = 0;
    emp_error err = {0};

    cr_expect_eq(emp_file_load(name, &bytes, &size, &err), status);
    cr_expect_str_eq(err.msg, message);
    cr_expect_null(bytes);
    cr_expect_eq(emp_mem_live_blocks(), 0);
}

/* Numbers that compress badly enough to need several reads. */
static unsigned char *make_noise(size_t size)
{
    unsigned char *bytes = malloc(size);
    uint32_t       state = 1;

    cr_assert_not_null(bytes);
    for (size_t i = 0; i < size; i++) {
        state = state * 1664525 + 1013904223;
        bytes[i] = (unsigned char)(state >> 28);
    }
    return bytes;
}

Test(file, loads_plain_and_packed_files_alike)
{
    enum { SIZE = 1 << 20 };
    unsigned char *want = make_noise(SIZE);

    for (int packed = 0; packed < 2; packed++) {
        OWN_EMP_FREE char *got = NULL;
        size_t             size = 0;
        if (packed)
            write_packed(want, SIZE);
        else
            write_plain(want, SIZE);
        ASSERT_OK(emp_file_load(path, &got, &size, &err));
        cr_assert_eq(size, SIZE);
        cr_expect_eq(memcmp(got, want, SIZE), 0);
    }
    free(want);
    cr_expect_eq(emp_mem_live_blocks(), 0);
}

Test(file, says_why_there_is_nothing_to_read)
{
    expect_error(P_tmpdir "/emplace-no-such-file", EMP_EIO,
                 "cannot be read: No such file or directory");
    expect_error(P_tmpdir, EMP_EIO, "a directory, not a file");
    expect_error("/dev/null", EMP_EIO, "not a regular file");
    write_plain("", 0);
    expect_error(path, EMP_EFORMAT, "an empty file");
    write_packed("", 0);
    expect_error(path, EMP_EFORMAT, "an empty file");
}

Test(file, names_a_git_lfs_pointer)
{
    const char pointer[] =
        "version https://git-lfs.github.com/spec/v1\n"
        "oid sha256:4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e"
        "2393\nsize 12345\n";

    write_plain(pointer, sizeof pointer - 1);
    expect_error(path, EMP_EFORMAT,
                 "a Git LFS pointer in place of the file: run \"git lfs pull\" first");
}

Test(file, refuses_truncated_and_damaged_gzip)
{
    enum { SIZE = 10000 };
    OWN_FREE unsigned char *noise = make_noise(SIZE);
    struct stat             info;

    write_packed(noise, SIZE);
    cr_assert_eq(stat(path, &info), 0);
    cr_assert_eq(truncate(path, info.st_size / 2), 0);
    expect_error(path, EMP_EFORMAT, "a truncated gzip file");
    cr_assert_eq(truncate(path, 12), 0);
    expect_error(path, EMP_EFORMAT, "a truncated gzip file");

    write_packed(noise, SIZE);
    FILE *file = fopen(path, "r+b");
    cr_assert_not_null(file);
    fseek(file, (long)info.st_size - 6, SEEK_SET); /* the check sum */
    fputc('?', file);
    fclose(file);
    expect_error(path, EMP_EFORMAT, "a damaged gzip file");
}

/* 64 MiB of blanks in 64 KiB. */
Test(file, refuses_a_bomb_of_blanks)
{
    const size_t size = (size_t)64 << 20;
    char        *blanks = malloc(size);

    cr_assert_not_null(blanks);
    memset(blanks, ' ', size);
    write_packed(blanks, size);
    free(blanks);
    expect_error(path, EMP_EFORMAT,
                 "a gzip file that unpacks to more than 150 times its size");
}

Test(file, survives_every_allocation_failure)
{
    enum { SIZE = 100000 };
    char  *zeros = calloc(SIZE, 1), *bytes = NULL;
    size_t size;

    write_packed(zeros, SIZE); /* packs so well that the block must grow several times */
    SURVIVES_EVERY_ALLOCATION_FAILURE(emp_file_load(path, &bytes, &size, NULL), );
    cr_expect_eq(size, SIZE);
    emp_free(bytes);
    free(zeros);
}

static void tear_down(void)
{
    scratch_remove();
    expect_all_freed();
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

    const char *sparse = write_sparse((off_t)EMP_JSON_BYTES_MAX + 1);
    emp_mem_fail_after(0);
    expect_too_long(emp_whole_file_load(&text, &size, sparse, 1 << 20, &err),
                    "long: longer than 1048576 bytes", &err);
    emp_mem_fail_after(0);
    expect_too_long(emp_csv_load(&csv, sparse, &err), "longer than 268435456 bytes",
                    &err);
    emp_mem_fail_after(0);
    expect_too_long(emp_json_load(&document, sparse, &err),
                    "longer than 17179869184 bytes", &err);
}

Test(whole_file, that_is_as_long_as_it_may_be_is_read)
{
    char     *text = NULL;
    size_t    size;
    emp_error err = {0};

    const char *sparse = write_sparse(1 << 20);
    emp_mem_fail_after(1);
    cr_expect_eq(emp_whole_file_load(&text, &size, sparse, 1 << 20, &err), EMP_OK, "%s",
                 err.msg);
    emp_mem_fail_after(-1);
    cr_expect_eq(size, 1 << 20);
    emp_free(text);
    expect_too_long(emp_whole_file_load(&text, &size, sparse, (1 << 20) - 1, &err),
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

// SPDX-License-Identifier: GPL-3.0-or-later
/* Are tables read as they were written, and is damage an error with its place? */
#include "base/text/csv.h"
#include "tests/support/scratch.h"
#include "tests/support/survive.h"

TestSuite(csv, .fini = expect_all_freed);

static emp_status parse(emp_csv *csv, const char *text, emp_error *err)
{
    return emp_csv_parse(csv, text, strlen(text), "t.csv", err);
}

Test(csv, fields_are_texts_numbers_and_hashes)
{
    emp_error err = {0};
    SCOPED(emp_csv, emp_csv_clear) csv = {0};
    int32_t  column;
    double   real;
    int64_t  count;
    uint64_t hash;

    cr_assert_eq(parse(&csv,
                       "# made by: me, \"quoted\"\nname,step_s,n,hash\n"
                       "\"a,\"\"b\"\"\",1.5e-3,-7,00000000000000ff\n\n,2,8,x\r\n",
                       &err),
                 EMP_OK, "%s", err.msg);
    cr_expect_eq(csv.column_count, 4);
    cr_assert_eq(csv.row_count, 2);
    cr_expect_str_eq(emp_csv_text(&csv, 0, 0), "a,\"b\"");
    cr_expect_str_eq(emp_csv_text(&csv, 1, 0), "");
    cr_assert_eq(emp_csv_find(&column, &csv, "step_s", &err), EMP_OK);
    cr_expect_eq(emp_csv_real(&real, &csv, 0, column, &err), EMP_OK);
    cr_expect_eq(real, 1.5e-3);
    cr_expect_eq(emp_csv_count(&count, &csv, 0, 2, &err), EMP_OK);
    cr_expect_eq(count, -7);
    cr_expect_eq(emp_csv_hash(&hash, &csv, 0, 3, &err), EMP_OK);
    cr_expect_eq(hash, 255);
    cr_expect_eq(emp_csv_hash(&hash, &csv, 1, 3, &err), EMP_EFORMAT);
    cr_expect_not_null(strstr(err.msg, "t.csv, row 2: hash is \"x\""), "%s", err.msg);
    err = (emp_error){0};
    cr_expect_eq(emp_csv_real(&real, &csv, 0, 0, &err), EMP_EFORMAT);
    cr_expect_eq(emp_csv_count(&count, &csv, 0, 1, NULL), EMP_EFORMAT);
    err = (emp_error){0};
    cr_expect_eq(emp_csv_find(&column, &csv, "colour", &err), EMP_EFORMAT);
    cr_expect_not_null(strstr(err.msg, "no column colour"), "%s", err.msg);
}

Test(csv, a_byte_order_mark_is_no_part_of_the_first_name)
{
    SCOPED(emp_csv, emp_csv_clear) csv = {0};
    int32_t column;

    cr_assert_eq(parse(&csv,
                       "\xef\xbb\xbf"
                       "op,us\na,1\n",
                       NULL),
                 EMP_OK);
    cr_assert_eq(emp_csv_find(&column, &csv, "op", NULL), EMP_OK);
    cr_expect_eq(column, 0);
    cr_expect_str_eq(emp_csv_text(&csv, 0, column), "a");
}

Test(csv, numbers_are_decimal_and_columns_without_a_name_are_many)
{
    static const char *const others[] = {"0x10", "-0X1p4", "nan", "inf", ""};
    SCOPED(emp_csv, emp_csv_clear) csv = {0};
    double real;

    ASSERT_OK(parse(&csv, "us,,\n0x10,,\n-0X1p4,,\nnan,,\ninf,,\n\"\",,\n1e1,,\n", NULL));
    for (int32_t row = 0; row < 5; row++)
        EXPECT_REFUSED(emp_csv_real(&real, &csv, row, 0, &err), EMP_EFORMAT, others[row]);
    cr_expect_eq(emp_csv_real(&real, &csv, 5, 0, NULL), EMP_OK);
    cr_expect_eq(real, 10.0);
}

static const char *const refusals[][2] = {
    {"", "no table"},
    {"# nothing\n", "no table"},
    {"a,b\n1\n", "t.csv:2: 1 fields"},
    {"a,b\n1,2\n1,2,3\n", "t.csv:3: 3 fields"},
    {"a,b\n\"1,2\n", "t.csv:2: a quote"},
    {"a,b\n\"1\"x,2\n", "t.csv:2: a quote"},
    {"op,us,us\n1,2,3\n", "the column us twice"},
    {"a\tb\ta\n1\t2\t3\n", "the column a twice"},
};

Test(csv, what_is_no_table_is_refused)
{
    for (size_t i = 0; i < COUNT(refusals); i++) {
        SCOPED(emp_csv, emp_csv_clear) csv = {0};
        EXPECT_REFUSED(parse(&csv, refusals[i][0], &err), EMP_EFORMAT, refusals[i][1]);
    }
}

static const char sample[] =
    "# made by: emplace\nworkload,s,hash\n\"nmt:a=1,b=2\",0.25,0123456789abcdef\n"
    "\"x\"\"y\",1e9,ffffffffffffffff\n";

/* Reads all fields in all ways. \return how many are numbers, or -1: no table. */
static int32_t read_all(const char *bytes, size_t size)
{
    SCOPED(emp_csv, emp_csv_clear) csv = {0};
    int32_t  numbers = -1;
    double   real;
    int64_t  count;
    uint64_t hash;

    if (emp_csv_parse(&csv, bytes, size, "t.csv", NULL) == EMP_OK) {
        numbers = 0;
        for (int32_t r = 0; r < csv.row_count; r++) {
            for (int32_t c = 0; c < csv.column_count; c++) {
                numbers += emp_csv_real(&real, &csv, r, c, NULL) == EMP_OK;
                numbers += emp_csv_count(&count, &csv, r, c, NULL) == EMP_OK;
                numbers += emp_csv_hash(&hash, &csv, r, c, NULL) == EMP_OK;
            }
        }
    }
    return numbers;
}

/* In memory of exactly its size, so that a sanitizer sees what lies beyond. */
Test(csv, damaged_bytes_are_an_error_or_a_table)
{
    uint32_t state = 20261123;
    int      refused = 0;

    for (int round = 0; round < 5000; round++) {
        size_t         size = sizeof sample - 1;
        OWN_FREE char *bytes = malloc(size);
        cr_assert_not_null(bytes);
        memcpy(bytes, sample, size);
        for (int i = 0; i < 3; i++) {
            state = state * 1664525u + 1013904223u;
            bytes[(state >> 8) % size] = "\n,\"#\r\0x9"[(state >> 4) & 7];
            if ((state >> 24) < 8) size = 1 + state % size;
        }
        refused += read_all(bytes, size) < 0;
    }
    cr_expect_gt(refused, 500);
    cr_expect_lt(refused, 5000);
}

Test(csv, files_are_read_and_missing_ones_are_named)
{
    emp_csv csv = {0};

    scratch_create();
    scratch_write("t.csv", sample, strlen(sample));
    ASSERT_OK(emp_csv_load(&csv, scratch_path("t.csv"), &err));
    cr_expect_eq(csv.row_count, 2);
    emp_csv_clear(&csv);
    EXPECT_REFUSED(emp_csv_load(&csv, "nowhere.csv", &err), EMP_EIO, "nowhere.csv");
    emp_csv_clear(&csv);
    scratch_remove();
}

Test(csv, every_allocation_may_fail)
{
    emp_csv csv = {0};

    SURVIVES_EVERY_ALLOCATION_FAILURE(parse(&csv, sample, NULL), emp_csv_clear(&csv));
    emp_csv_clear(&csv);
}

// SPDX-License-Identifier: GPL-3.0-or-later
/* A validation that is saved has every figure of every device in its columns. */
#include <criterion/criterion.h>
#include <string.h>

#include "base/mem.h"
#include "bench/validate/validation_file.h"
#include "run/store/columns.h"
#include "tests/support/scratch.h"

enum { ROWS = 5 };

static const emp_validation_origin origin = {"cpu2", "replay-cpu", "cpu", "1.2", "abc"};

static emp_validation_case cases[] = {
    {.name = "gpu",
     .is_predicted_feasible = true,
     .is_feasible = true,
     .predicted_s = 1.5,
     .measured_s = 1.25,
     .low_s = 1.0,
     .high_s = 2.0,
     .device_count = 2,
     .predicted_busy_s = {0.5, 0.25},
     .busy_s = {0.75, 0.125},
     .predicted_peak_bytes = {10, INT64_C(1) << 40},
     .peak_bytes = {11, 12}},
    {.name = "parts 8 #1", .is_shared = true, .device_count = 2, .peak_bytes = {13, 14}},
    {.name = "cpu", .measured_s = 3.0, .device_count = 1},
};
static const emp_validation_part parts[] = {{"rnnlm", cases, 2}, {"nmt", &cases[2], 1}};

static void set_up(void)
{
    scratch_create();
    emp_store_silence();
}

static void tear_down(void)
{
    scratch_remove();
    cr_expect_eq(emp_mem_live_blocks(), 0);
}

TestSuite(validation_file, .init = set_up, .fini = tear_down);

static emp_status save(emp_error *err)
{
    return emp_validation_save(scratch_path("v.h5"), parts, 2, &origin, err);
}

Test(validation_file, what_is_saved_is_read_again)
{
    emp_error   err = {0};
    int64_t     workload[ROWS], device[ROWS], shared[ROWS], peak[ROWS], predicted[ROWS];
    double      measured_s[ROWS], busy_s[ROWS];
    char        placement[ROWS][EMP_COLUMN_TEXT_BYTES];
    emp_columns c = {.text_count = 2,
                     .text = {{"commit", ""}, {"workload 1", ""}},
                     .row_count = ROWS,
                     .column_count = 8,
                     .column = {{"workload", EMP_COLUMN_INT64, workload},
                                {"device", EMP_COLUMN_INT64, device},
                                {"shared", EMP_COLUMN_INT64, shared},
                                {"peak_bytes", EMP_COLUMN_INT64, peak},
                                {"predicted_peak_bytes", EMP_COLUMN_INT64, predicted},
                                {"measured_s", EMP_COLUMN_DOUBLE, measured_s},
                                {"busy_s", EMP_COLUMN_DOUBLE, busy_s},
                                {"placement", EMP_COLUMN_TEXT, placement}}};

    cr_assert_eq(save(&err), EMP_OK, "%s", err.msg);
    cr_assert_eq(emp_columns_load(&c, scratch_path("v.h5"), &err), EMP_OK, "%s", err.msg);
    cr_expect_str_eq(c.text[0].value, "abc");
    cr_expect_str_eq(c.text[1].value, "nmt");
    cr_expect_arr_eq(workload, ((int64_t[]){0, 0, 0, 0, 1}), sizeof workload);
    cr_expect_arr_eq(device, ((int64_t[]){0, 1, 0, 1, 0}), sizeof device);
    cr_expect_arr_eq(shared, ((int64_t[]){0, 0, 1, 1, 0}), sizeof shared);
    cr_expect_arr_eq(peak, ((int64_t[]){11, 12, 13, 14, 0}), sizeof peak);
    cr_expect_eq(predicted[1], INT64_C(1) << 40);
    cr_expect_arr_eq(measured_s, ((double[]){1.25, 1.25, 0, 0, 3}), sizeof measured_s);
    cr_expect_arr_eq(busy_s, ((double[]){0.75, 0.125, 0, 0, 0}), sizeof busy_s);
    cr_expect_str_eq(placement[2], "parts 8 #1");
}

Test(validation_file, tables_say_what_they_lack)
{
    emp_error   err = {0};
    double      values[ROWS + 1];
    emp_columns c = {.row_count = ROWS + 1,
                     .column_count = 1,
                     .column = {{"busy_s", EMP_COLUMN_DOUBLE, values}}};

    cr_assert_eq(save(&err), EMP_OK, "%s", err.msg);
    cr_expect_eq(emp_columns_load(&c, scratch_path("v.h5"), &err), EMP_EFORMAT);
    cr_expect_not_null(strstr(err.msg, "column busy_s of 6"), "%s", err.msg);
    c = (emp_columns){.text_count = 1, .text = {{"colour", ""}}};
    err = (emp_error){0};
    cr_expect_eq(emp_columns_load(&c, scratch_path("v.h5"), &err), EMP_EFORMAT);
    cr_expect_not_null(strstr(err.msg, "no text colour"), "%s", err.msg);
}

Test(validation_file, no_placement_is_no_record)
{
    emp_error err = {0};

    cr_expect_eq(emp_validation_save(scratch_path("v.h5"), parts, 0, &origin, &err),
                 EMP_EINVAL);
    cr_expect_null(scratch_find("*"), "nothing is written");
}

Test(validation_file, every_allocation_may_fail)
{
    emp_status st = EMP_ENOMEM;

    for (long successes = 0; st != EMP_OK; successes++) {
        emp_error err = {0};
        emp_mem_fail_after(successes);
        st = save(&err);
        emp_mem_fail_after(-1);
        cr_assert(st == EMP_OK || st == EMP_ENOMEM, "%ld: %s", successes, err.msg);
        cr_expect_eq(emp_mem_live_blocks(), 0);
    }
}

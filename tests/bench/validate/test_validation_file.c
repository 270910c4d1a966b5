// SPDX-License-Identifier: GPL-3.0-or-later
/* A validation that is saved has every figure of every device in its columns, and what was
 * measured can be read from its CSV again. */
#include "bench/validate/validate.h"
#include "run/store/checkpoint.h"
#include "tests/test.h"

enum { ROWS = 5 };

static const emp_validation_origin origin = {"cpu2", "replay-cpu", "cpu"};

static emp_validation_case cases[] = {
    {.name = "gpu",
     .hash = 0xfedcba9876543210,
     .is_predicted_feasible = true,
     .is_feasible = true,
     .predicted_s = 1.5,
     .measured_s = 1.25,
     .low_s = 1.0,
     .high_s = 2.0,
     .roofline_s = 0.25,
     .copies_s = 0.125,
     .scheduled_s = 1.375,
     .device_count = 2,
     .predicted_busy_s = {0.5, 0.25},
     .busy_s = {0.75, 0.125},
     .predicted_peak_bytes = {10, INT64_C(1) << 40},
     .peak_bytes = {11, 12}},
    {.name = "parts 8 #1", .is_shared = true, .device_count = 2, .peak_bytes = {13, 14}},
    {.name = "cpu", .measured_s = 3.0, .keeps_rates = true, .device_count = 1},
};

static void tabulate(emp_sheet sheets[2])
{
    emp_validation_sheet_init(&sheets[0], "rnnlm:a=1,b=2");
    emp_validation_sheet_init(&sheets[1], "nmt");
    emp_validation_sheet_add(&sheets[0], "rnnlm:a=1,b=2", &origin, &cases[0]);
    emp_validation_sheet_add(&sheets[0], "rnnlm:a=1,b=2", &origin, &cases[1]);
    emp_validation_sheet_add(&sheets[1], "nmt", &origin, &cases[2]);
    sheets[0].next = &sheets[1];
    sheets[0].commit = "abc";
}

static void clear(emp_sheet sheets[2])
{
    emp_sheet_clear(&sheets[0]);
    emp_sheet_clear(&sheets[1]);
}

static void set_up(void)
{
    scratch_create();
    emp_store_silence();
}

TestSuite(validation_file, .init = set_up, .fini = scratch_tear_down);

static emp_status save(emp_error *err)
{
    emp_sheet sheets[2];

    tabulate(sheets);
    emp_status st = emp_validation_save(scratch_path("v.h5"), sheets, &origin, err);
    clear(sheets);
    return st;
}

Test(validation_file, what_is_saved_is_read_again)
{
    int64_t     workload[ROWS], device[ROWS], shared[ROWS], peak[ROWS], predicted[ROWS];
    int64_t     hash[ROWS];
    double      measured_s[ROWS], busy_s[ROWS], low_s[ROWS], scheduled_s[ROWS];
    char        placement[ROWS][EMP_COLUMN_TEXT_BYTES];
    emp_columns c = {.text_count = 2,
                     .text = {{"commit", ""}, {"workload 1", ""}},
                     .row_count = ROWS,
                     .column_count = 11,
                     .column = {{"workload", EMP_COLUMN_INT64, workload},
                                {"device", EMP_COLUMN_INT64, device},
                                {"shared", EMP_COLUMN_INT64, shared},
                                {"peak_bytes", EMP_COLUMN_INT64, peak},
                                {"predicted_peak_bytes", EMP_COLUMN_INT64, predicted},
                                {"measured_s", EMP_COLUMN_DOUBLE, measured_s},
                                {"busy_s", EMP_COLUMN_DOUBLE, busy_s},
                                {"hash", EMP_COLUMN_INT64, hash},
                                {"low_s", EMP_COLUMN_DOUBLE, low_s},
                                {"scheduled_s", EMP_COLUMN_DOUBLE, scheduled_s},
                                {"placement", EMP_COLUMN_TEXT, placement}}};

    ASSERT_OK(save(&err));
    ASSERT_OK(emp_columns_load(&c, scratch_path("v.h5"), &err));
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
    cr_expect_eq(scheduled_s[0], 1.375);
    cr_expect(isnan(scheduled_s[2]), "not known");
    cr_expect_eq((uint64_t)hash[1], 0xfedcba9876543210);
    cr_expect_eq(low_s[0], 1.0);
}

static void write_csv(void)
{
    emp_sheet sheets[2];
    FILE     *file = fopen(scratch_path("v.csv"), "w");

    cr_assert_not_null(file);
    tabulate(sheets);
    ASSERT_OK(emp_sheet_print(file, sheets, EMP_SHEET_CSV, &err));
    clear(sheets);
    fclose(file);
}

Test(validation_file, what_was_measured_is_read_from_csv_and_nothing_else)
{
    SCOPED(emp_validation_record, emp_validation_record_clear) r = {0};
    const emp_validation_case *c;

    write_csv();
    ASSERT_OK(emp_validation_record_load(&r, scratch_path("v.csv"), &err));
    cr_assert_eq(r.count, 3);
    c = emp_validation_record_find(&r, "rnnlm:a=1,b=2", "gpu", cases[0].hash);
    cr_assert_not_null(c);
    cr_expect(c->is_feasible && !c->is_shared && !c->keeps_rates);
    cr_expect_eq(c->device_count, 2);
    cr_expect_eq(c->measured_s, 1.25);
    cr_expect_eq(c->low_s, 1.0);
    cr_expect_eq(c->high_s, 2.0);
    cr_expect_eq(c->copies_s, 0.125);
    cr_expect_eq(c->busy_s[1], 0.125);
    cr_expect_eq(c->peak_bytes[0], 11);
    cr_expect_eq(c->predicted_s, 0.0, "predictions are not read");
    cr_expect_not(c->is_predicted_feasible);
    c = emp_validation_record_find(&r, "nmt", "cpu", 0);
    cr_assert_not_null(c);
    cr_expect(c->keeps_rates);
    cr_expect_null(emp_validation_record_find(&r, "nmt", "gpu", cases[0].hash));
    cr_expect_null(emp_validation_record_find(&r, "rnnlm:a=1,b=2", "gpu", 1));
}

#define HEAD                                                                       \
    "workload,placement,hash,device,feasible,shared,keeps_rates,measured_s,low_s," \
    "high_s,copies_s,busy_s,peak_bytes\n"
#define ROW(hash, device, measured, peak) \
    "nmt,gpu," hash "," device ",1,0,0," measured ",1,1,0,0," peak "\n"
#define FF "00000000000000ff"

Test(validation_file, what_is_no_record_is_refused)
{
    static const struct {
        const char *text, *part;
    } texts[] = {{"workload,placement\nnmt,gpu\n", "no column hash"},
                 {HEAD ROW(FF, "1", "1", "9"), "device 1 of placement gpu"},
                 {HEAD ROW(FF, "0", "1", "9") ROW(FF, "2", "1", "9"), "row 2: device 2"},
                 {HEAD ROW("ff", "0", "1", "9"), "hash is \"ff\""},
                 {HEAD ROW(FF, "0", "x", "9"), "measured_s is \"x\""},
                 {HEAD ROW(FF, "0", "1", "1.5"), "peak_bytes is \"1.5\""}};

    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        SCOPED(emp_validation_record, emp_validation_record_clear) r = {0};
        EXPECT_REFUSED(
            emp_validation_record_load(&r, scratch_file("v.csv", texts[i].text), &err),
            EMP_EFORMAT, texts[i].part);
    }
}

Test(validation_file, no_placement_is_no_record)
{
    SCOPED(emp_sheet, emp_sheet_clear) empty;

    emp_validation_sheet_init(&empty, "nmt");
    cr_expect_eq(emp_validation_save(scratch_path("v.h5"), &empty, &origin, NULL),
                 EMP_EINVAL);
    cr_expect_null(scratch_find("*"), "nothing is written");
}

Test(validation_file, every_allocation_may_fail)
{
    SURVIVES_EVERY_ALLOCATION_FAILURE(save(NULL), );
}

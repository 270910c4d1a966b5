// SPDX-License-Identifier: GPL-3.0-or-later
/* Do weights come back from their file as they were saved, and is any other file refused? */
#include "run/store/checkpoint.h"

#include <stdlib.h>
#include <string.h>

#include "tests/support/calls.h"
#include "tests/support/scratch.h"
#include "tests/support/survive.h"

static void set_up(void)
{
    emp_store_silence();
    scratch_create();
}

static void tear_down(void)
{
    scratch_remove();
    cr_expect_eq(emp_mem_live_blocks(), 0);
}

TestSuite(weights_file, .init = set_up, .fini = tear_down);

static emp_weights some_weights(void)
{
    emp_weights   w = {.method = "go",
                       .preset = "paper",
                       .options = "hidden=8",
                       .tasks = "rnnlm on k40x2",
                       .evaluations = 4096};
    const float   value[] = {1.5F, -2.0F, 0.1F};
    const int64_t step[] = {77};
    const uint8_t flag[] = {1, 0, 1, 1};

    MUST(emp_weights_add(&w, "value", EMP_ARRAY_FLOAT, 3, NULL));
    MUST(emp_weights_add(&w, "step", EMP_ARRAY_INT64, 1, NULL));
    MUST(emp_weights_add(&w, "flag", EMP_ARRAY_UINT8, 4, NULL));
    memcpy(w.array[0].values, value, sizeof value);
    memcpy(w.array[1].values, step, sizeof step);
    memcpy(w.array[2].values, flag, sizeof flag);
    return w;
}

static void save(void)
{
    emp_weights w = some_weights();

    MUST(emp_weights_save(scratch_path("w.h5"), &w, &why));
    emp_weights_clear(&w);
}

Test(weights_file, comes_back_as_saved)
{
    emp_weights before = some_weights(), after = {0};

    save();
    MUST(emp_weights_load(&after, scratch_path("w.h5"), &why));
    cr_expect_str_eq(after.method, "go");
    cr_expect_str_eq(after.preset, "paper");
    cr_expect_str_eq(after.options, "hidden=8");
    cr_expect_str_eq(after.tasks, "rnnlm on k40x2");
    cr_expect_eq(after.evaluations, 4096);
    cr_assert_eq(after.array_count, 3);
    cr_expect_str_eq(after.array[1].name, "step");
    cr_expect(emp_weights_equal(&after, before.array));
    cr_expect_eq(emp_weights_hash(&after), emp_weights_hash(&before));
    emp_weights_clear(&before);
    emp_weights_clear(&after);
}

Test(weights_file, missing_file_and_another_table_are_refused)
{
    double      value[] = {1.0, 2.0};
    emp_columns columns = {.column_count = 1,
                           .row_count = 2,
                           .column = {{"value", EMP_COLUMN_DOUBLE, value}}};
    emp_weights w = {0};

    MUST_FAIL(emp_weights_load(&w, scratch_path("w.h5"), &why), EMP_EIO, "w.h5");
    MUST(emp_columns_save(scratch_path("w.h5"), &columns, &why));
    MUST_FAIL(emp_weights_load(&w, scratch_path("w.h5"), &why), EMP_EFORMAT,
              "file of weights");
}

Test(weights_file, survives_every_allocation_failure)
{
    emp_weights before = some_weights(), after = {0};
    const char *path = scratch_path("w.h5");

    SURVIVES_EVERY_ALLOCATION_FAILURE(emp_weights_save(path, &before, NULL), (void)0);
    SURVIVES_EVERY_ALLOCATION_FAILURE(emp_weights_load(&after, path, NULL),
                                      emp_weights_clear(&after));
    emp_weights_clear(&before);
    emp_weights_clear(&after);
}

// SPDX-License-Identifier: GPL-3.0-or-later
/* Do checkpoints, tables and weights come back as they were saved, and are torn files, wrong seals and
 * checkpoints of other runs refused? */
#include <pthread.h>

#include "run/store/checkpoint.h"
#include "tests/test.h"

enum { OPS = 3, ROWS = 4, HEADER_BYTES = 512 };

static void set_up(void)
{
    emp_store_silence();
    scratch_create();
}

TestSuite(checkpoint_file, .init = set_up, .fini = scratch_tear_down);
TestSuite(columns, .init = set_up, .fini = scratch_remove);
TestSuite(weights_file, .init = set_up, .fini = scratch_remove);

static emp_record record_so_far(void)
{
    emp_record r = {.method = "random",
                    .workload = "w",
                    .machine = "k40x2",
                    .runtime = "ideal",
                    .seed = 9,
                    .evaluations = 5,
                    .feasible_count = 2,
                    .median_s = NAN,
                    .device_count = 1,
                    .device_name = {"cpu:0"},
                    .decision = {.op_count = OPS}};

    r.decision.device_of_op = EMP_NEW_ARRAY(emp_device_id, OPS);
    r.feasible_s = EMP_NEW_ARRAY(double, 2);
    r.feasible_s[0] = 0.5;
    r.feasible_s[1] = 0.25;
    return r;
}

static emp_record record_at_first(void)
{
    emp_record r = record_so_far();

    emp_free(r.feasible_s);
    r.feasible_s = NULL;
    r.evaluations = r.feasible_count = 0;
    return r;
}

typedef struct {
    int32_t numbers[3];
    int64_t large[1];
    float   single[2];
    double  precise[2];
} state;

static emp_checkpoint checkpoint_of(emp_record *record, state *s)
{
    return (emp_checkpoint){.record = record,
                            .array_count = 4,
                            .array = {{"numbers", EMP_ARRAY_INT32, 3, s->numbers},
                                      {"large", EMP_ARRAY_INT64, 1, s->large},
                                      {"single", EMP_ARRAY_FLOAT, 2, s->single},
                                      {"precise", EMP_ARRAY_DOUBLE, 2, s->precise}}};
}

static const state saved_state = {
    {1, -2, INT32_MAX}, {INT64_MIN}, {0.1F, -0.0F}, {1.0 / 3.0, INFINITY}};

enum { LARGE = 1 << 18, SAVES = 4, AT_ONCE = 4 };

typedef struct {
    pthread_t thread;
    char      path[300];
    double   *values; /* [LARGE] borrowed */
    int       failed;
} saver;

static void *save_some(void *data)
{
    saver *s = data;
    SCOPED(emp_record, emp_record_clear) record = record_so_far();
    emp_checkpoint checkpoint = {.record = &record,
                                 .array_count = 1,
                                 .array = {{"v", EMP_ARRAY_DOUBLE, LARGE, s->values}}};

    for (int i = 0; i < SAVES; i++)
        s->failed += emp_checkpoint_save(s->path, &checkpoint, NULL) != EMP_OK;
    return NULL;
}

/* Each is open while others are made. */
Test(checkpoint_file, several_are_saved_at_once)
{
    saver   savers[AT_ONCE] = {0};
    double *values = EMP_NEW_ARRAY(double, LARGE);

    for (int i = 0; i < AT_ONCE; i++) {
        savers[i].values = values;
        snprintf(savers[i].path, sizeof savers[i].path, "%s%d.h5", scratch_path("many"),
                 i);
        cr_assert_eq(pthread_create(&savers[i].thread, NULL, save_some, &savers[i]), 0);
    }
    for (int i = 0; i < AT_ONCE; i++) {
        pthread_join(savers[i].thread, NULL);
        cr_expect_eq(savers[i].failed, 0, "%d of %d failed", savers[i].failed, SAVES);
    }
    emp_free(values);
}

static void save_checkpoint(void)
{
    SCOPED(emp_record, emp_record_clear) record = record_so_far();
    state          s = saved_state;
    emp_checkpoint c = checkpoint_of(&record, &s);

    c.elapsed_s = 12.5;
    c.cpu_s = 11.25;
    ASSERT_OK(emp_checkpoint_save(scratch_path("c.h5"), &c, &err));
}

static emp_status load_checkpoint(emp_record *record, state *s, double *elapsed_s,
                                  emp_error *err)
{
    emp_checkpoint c = checkpoint_of(record, s);
    emp_status     st = emp_checkpoint_load(&c, scratch_path("c.h5"), err);

    *elapsed_s = c.elapsed_s;
    if (st == EMP_OK) cr_expect_eq(c.cpu_s, 11.25);
    return st;
}

Test(checkpoint_file, comes_back_as_saved)
{
    SCOPED(emp_record, emp_record_clear) record = record_at_first();
    state  s = {0};
    double elapsed_s = 0.0;

    save_checkpoint();
    ASSERT_OK(load_checkpoint(&record, &s, &elapsed_s, &err));
    cr_expect_arr_eq(&s, &saved_state, sizeof s);
    cr_expect_eq(elapsed_s, 12.5);
    cr_expect_eq(record.evaluations, 5);
    cr_assert_eq(record.feasible_count, 2);
    cr_expect(record.feasible_s[0] == 0.5 && record.feasible_s[1] == 0.25);
}

Test(checkpoint_file, survives_every_allocation_failure)
{
    SCOPED(emp_record, emp_record_clear) record = record_at_first();
    state  s;
    double elapsed_s;

    save_checkpoint();
    SURVIVES_EVERY_ALLOCATION_FAILURE(load_checkpoint(&record, &s, &elapsed_s, NULL), );
}

typedef struct {
    char    word[ROWS][EMP_COLUMN_TEXT_BYTES];
    int64_t whole[ROWS];
    double  real[ROWS];
} table;

static emp_columns columns_of(table *t)
{
    return (emp_columns){.text_count = 1,
                         .column_count = 3,
                         .row_count = ROWS,
                         .text = {{.key = "about"}},
                         .column = {{"word", EMP_COLUMN_TEXT, t->word},
                                    {"whole", EMP_COLUMN_INT64, t->whole},
                                    {"real", EMP_COLUMN_DOUBLE, t->real}}};
}

static void save_table(void)
{
    table       t = {{"a", "", "c", "d"}, {1, -1, INT64_MAX, 0}, {0.5, -0.0, 1e300, 3}};
    emp_columns c = columns_of(&t);

    strcpy(c.text[0].value, "four rows");
    ASSERT_OK(emp_columns_save(scratch_path("t.h5"), &c, NULL));
}

Test(columns, come_back_as_saved)
{
    table       t = {0};
    emp_columns c = columns_of(&t);

    save_table();
    ASSERT_OK(emp_columns_load(&c, scratch_path("t.h5"), &err));
    cr_expect_str_eq(c.text[0].value, "four rows");
    cr_expect_str_eq(t.word[3], "d");
    cr_expect(t.whole[1] == -1 && t.whole[2] == INT64_MAX);
    cr_expect(t.real[0] == 0.5 && t.real[2] == 1e300);
}

Test(columns, that_are_missing_or_shorter_are_named)
{
    static const char *const parts[] = {"broken", "word of 3 values", "author"};

    save_table();
    for (int i = 0; i < 3; i++) {
        table       t;
        emp_columns c = columns_of(&t);
        if (i == 0) c.column[1].name = "broken";
        if (i == 1) c.row_count = ROWS - 1;
        if (i == 2) strcpy(c.text[0].key, "author");
        EXPECT_REFUSED(emp_columns_load(&c, scratch_path("t.h5"), &err), EMP_EFORMAT,
                       parts[i]);
    }
    save_checkpoint();
    emp_columns c = {.row_count = ROWS};
    EXPECT_REFUSED(emp_columns_load(&c, scratch_path("c.h5"), &err), EMP_EFORMAT, "c.h5");
}

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

    ASSERT_OK(emp_weights_add(&w, "value", EMP_ARRAY_FLOAT, 3, NULL));
    ASSERT_OK(emp_weights_add(&w, "step", EMP_ARRAY_INT64, 1, NULL));
    ASSERT_OK(emp_weights_add(&w, "flag", EMP_ARRAY_UINT8, 4, NULL));
    memcpy(w.array[0].values, value, sizeof value);
    memcpy(w.array[1].values, step, sizeof step);
    memcpy(w.array[2].values, flag, sizeof flag);
    return w;
}

static void save_weights(void)
{
    SCOPED(emp_weights, emp_weights_clear) w = some_weights();

    ASSERT_OK(emp_weights_save(scratch_path("w.h5"), &w, &err));
}

Test(weights_file, comes_back_as_saved)
{
    emp_weights before = some_weights(), after = {0};

    save_weights();
    ASSERT_OK(emp_weights_load(&after, scratch_path("w.h5"), &err));
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

    EXPECT_REFUSED(emp_weights_load(&w, scratch_path("w.h5"), &err), EMP_EIO, "w.h5");
    ASSERT_OK(emp_columns_save(scratch_path("w.h5"), &columns, &err));
    EXPECT_REFUSED(emp_weights_load(&w, scratch_path("w.h5"), &err), EMP_EFORMAT,
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

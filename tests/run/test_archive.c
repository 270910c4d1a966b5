// SPDX-License-Identifier: GPL-3.0-or-later
/* Records are found again for the same run, and only for it. */
#include <criterion/criterion.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "bench/run/archive.h"
#include "tests/support/scratch.h"
#include "tiny.h"

enum { SMALL = 1000 };

static const char *folder;

static void set_up(void)
{
    emp_store_silence();
    scratch_create();
    folder = scratch_path("");
    tiny_placer_script = (tiny_script){.batch = 4};
}

TestSuite(archive, .init = set_up, .fini = scratch_remove);

static emp_record run_and_put(const tiny *t, const emp_run_params *params)
{
    emp_record record;
    emp_error  err = {0};

    cr_assert_eq(emp_run(&record, t->problem, params, &err), EMP_OK, "%s", err.msg);
    cr_assert_eq(emp_archive_put(folder, &record, 1.0, 1, &err), EMP_OK, "%s", err.msg);
    return record;
}

static bool can_find(const tiny *t, const emp_run_params *params)
{
    emp_record record;
    emp_error  err = {0};
    bool       is_found = false;

    cr_assert_eq(emp_archive_find(&record, &is_found, folder, t->problem, params, &err),
                 EMP_OK, "%s", err.msg);
    emp_record_clear(&record);
    return is_found;
}

Test(archive, finds_what_was_put)
{
    tiny           t = tiny_create(SMALL);
    emp_run_params params = tiny_params(8, 1);

    cr_expect_not(can_find(&t, &params));
    emp_record record = run_and_put(&t, &params);
    cr_expect(can_find(&t, &params));
    params.placer.threads = 2;
    cr_expect(can_find(&t, &params), "threads do not matter");
    emp_record_clear(&record);
    tiny_destroy(&t);
    cr_expect_eq(emp_mem_live_blocks(), 0);
}

Test(archive, other_runs_are_not_found)
{
    tiny           t = tiny_create(SMALL), other = tiny_create(SMALL + 1);
    emp_run_params params = tiny_params(8, 1);
    emp_record     record = run_and_put(&t, &params);

    params.placer.seed = 8;
    cr_expect_not(can_find(&t, &params));
    params = tiny_params(9, 1);
    cr_expect_not(can_find(&t, &params));
    params = tiny_params(8, 1);
    params.placer.preset = "paper";
    cr_expect_not(can_find(&t, &params));
    params = tiny_params(8, 1);
    cr_expect_not(can_find(&other, &params), "another graph");
    t.problem->runtime.issue_s *= 2;
    cr_expect_not(can_find(&t, &params), "another runtime");
    emp_record_clear(&record);
    tiny_destroy(&t);
    tiny_destroy(&other);
}

/* As after a change of the oracle: the inputs are the same, the score is not. */
Test(archive, stale_score_is_not_found)
{
    tiny           t = tiny_create(SMALL);
    emp_run_params params = tiny_params(8, 1);
    emp_record     record = run_and_put(&t, &params);

    record.best_step_time_s *= 1.001;
    cr_assert_eq(emp_archive_put(folder, &record, 1.0, 1, NULL), EMP_OK);
    cr_expect_not(can_find(&t, &params));
    emp_record_clear(&record);
    tiny_destroy(&t);
}

Test(archive, interrupted_run_is_not_found)
{
    tiny           t = tiny_create(SMALL);
    emp_run_params params = tiny_params(8, 1);
    emp_record     record = run_and_put(&t, &params);

    snprintf(record.stopped_by, sizeof record.stopped_by, "interrupt");
    cr_assert_eq(emp_archive_put(folder, &record, 1.0, 1, NULL), EMP_OK);
    cr_expect_not(can_find(&t, &params));
    emp_record_clear(&record);
    tiny_destroy(&t);
}

Test(archive, folder_that_cannot_be_made_is_named)
{
    emp_record record = {0};
    emp_error  err = {0};

    cr_expect_eq(emp_archive_put("/nowhere/deep", &record, 0, 1, &err), EMP_EIO);
    cr_expect_not_null(strstr(err.msg, "/nowhere/deep"), "%s", err.msg);
}

static volatile sig_atomic_t stop_flag;

Test(archive, interrupted_run_goes_on_from_its_checkpoint)
{
    tiny           t = tiny_create(SMALL);
    emp_run_params plain = tiny_params(12, 1), params = plain;
    char           path[EMP_ARCHIVE_PATH_BYTES];
    emp_record     record;
    emp_error      err = {0};

    params.stop = &stop_flag;
    for (int i = 0; i < 2; i++) { /* one batch, then a fresh start of one batch */
        stop_flag = 1;
        cr_assert_eq(
            emp_archive_checkpoint(&params, path, folder, t.problem, i == 1, &err),
            EMP_OK, "%s", err.msg);
        cr_expect_not(params.checkpoint.is_resumed);
        cr_assert_eq(emp_run(&record, t.problem, &params, &err), EMP_OK, "%s", err.msg);
        cr_expect_eq(record.evaluations, 4);
        emp_record_clear(&record);
    }
    stop_flag = 0;
    cr_assert_eq(emp_archive_checkpoint(&params, path, folder, t.problem, false, &err),
                 EMP_OK, "%s", err.msg);
    cr_expect(params.checkpoint.is_resumed);
    record = run_and_put(&t, &params);
    cr_expect_eq(record.evaluations, 12);
    cr_expect_eq(tiny_placer_script.asked, 8, "the first batch is not made again");
    emp_record_clear(&record);
    cr_expect(can_find(&t, &plain));
    cr_expect_neq(access(path, F_OK), 0, "it has served");
    tiny_destroy(&t);
    cr_expect_eq(emp_mem_live_blocks(), 0);
}

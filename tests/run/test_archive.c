// SPDX-License-Identifier: GPL-3.0-or-later
/* Records are found again for the same run, and only for it. */
#define _POSIX_C_SOURCE 200809L
#include <criterion/criterion.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "bench/run/archive.h"
#include "tiny.h"

enum { SMALL = 1000 };

static char folder[512];

static void name_folder(void)
{
    const char *place = getenv("EMP_BINARY_DIR");

    emp_store_silence();
    snprintf(folder, sizeof folder, "%s/archive-%d", place == NULL ? "." : place,
             (int)getpid());
    tiny_placer_script = (tiny_script){.batch = 4};
}

static int remove_entry(const char *path, const struct stat *info, int kind,
                        struct FTW *at)
{
    (void)info, (void)kind, (void)at;
    return remove(path);
}

static void remove_folder(void) { nftw(folder, remove_entry, 8, FTW_DEPTH | FTW_PHYS); }

TestSuite(archive, .init = name_folder, .fini = remove_folder);

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

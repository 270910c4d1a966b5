// SPDX-License-Identifier: GPL-3.0-or-later
/* Records are found again for the same run, and only for it. */
#include <criterion/criterion.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "run/archive.h"
#include "tests/run/scripted.h"
#include "tests/support/scratch.h"

enum { SMALL = 1000 };

static const emp_timing a_second = {.elapsed_s = 1, .cpu_s = 1, .threads = 1};

static char folder[SCRATCH_PATH_BYTES];

static void set_up(void)
{
    emp_store_silence();
    scratch_create();
    snprintf(folder, sizeof folder, "%s", scratch_path(""));
    script = (scripted_plan){.batch = 4};
}

TestSuite(archive, .init = set_up, .fini = scratch_remove);

static emp_record run_and_put(const task *t, const emp_run_params *params)
{
    emp_record record;
    emp_error  err = {0};

    cr_assert_eq(emp_run(&record, t->problem, params, &err), EMP_OK, "%s", err.msg);
    cr_assert_eq(emp_archive_put(folder, &record, &a_second, &err), EMP_OK, "%s",
                 err.msg);
    return record;
}

static bool can_find(const task *t, const emp_run_params *params)
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
    task           t = task_chain(SMALL);
    emp_run_params params = scripted_params(8, 1);

    cr_expect_not(can_find(&t, &params));
    emp_record record = run_and_put(&t, &params);
    cr_expect(can_find(&t, &params));
    params.placer.threads = 2;
    cr_expect(can_find(&t, &params), "threads do not matter");
    emp_record_clear(&record);
    task_destroy(&t);
    cr_expect_eq(emp_mem_live_blocks(), 0);
}

Test(archive, other_runs_are_not_found)
{
    task           t = task_chain(SMALL), other = task_chain(SMALL + 1);
    emp_run_params params = scripted_params(8, 1);
    emp_record     record = run_and_put(&t, &params);

    params.placer.seed = 8;
    cr_expect_not(can_find(&t, &params));
    params = scripted_params(9, 1);
    cr_expect_not(can_find(&t, &params));
    params = scripted_params(8, 1);
    params.placer.preset = "paper";
    cr_expect_not(can_find(&t, &params));
    params = scripted_params(8, 1);
    cr_expect_not(can_find(&other, &params), "another graph");
    t.problem->runtime.events.issue_s *= 2;
    cr_expect_not(can_find(&t, &params), "another runtime");
    emp_record_clear(&record);
    task_destroy(&t);
    task_destroy(&other);
}

/* As after a change of the oracle: the inputs are the same, the score is not. */
Test(archive, stale_score_is_not_found)
{
    task           t = task_chain(SMALL);
    emp_run_params params = scripted_params(8, 1);
    emp_record     record = run_and_put(&t, &params);

    record.best_step_time_s *= 1.001;
    cr_assert_eq(emp_archive_put(folder, &record, &a_second, NULL), EMP_OK);
    cr_expect_not(can_find(&t, &params));
    emp_record_clear(&record);
    task_destroy(&t);
}

Test(archive, interrupted_run_is_not_found)
{
    task           t = task_chain(SMALL);
    emp_run_params params = scripted_params(8, 1);
    emp_record     record = run_and_put(&t, &params);

    snprintf(record.stopped_by, sizeof record.stopped_by, "interrupt");
    cr_assert_eq(emp_archive_put(folder, &record, &a_second, NULL), EMP_OK);
    cr_expect_not(can_find(&t, &params));
    emp_record_clear(&record);
    task_destroy(&t);
}

Test(archive, what_is_no_record_stays)
{
    task           t = task_chain(SMALL);
    emp_run_params params = scripted_params(8, 1);
    emp_record     record = run_and_put(&t, &params), found;
    emp_error      err = {0};
    bool           is_found = true;
    char          *name = scratch_find("*.h5");

    scratch_write(name, "precious", 8);
    cr_expect_eq(emp_archive_find(&found, &is_found, folder, t.problem, &params, &err),
                 EMP_EFORMAT);
    cr_expect_not(is_found);
    cr_expect_not_null(strstr(err.msg, name), "%s", err.msg);
    cr_expect_not_null(strstr(err.msg, "remove the file"), "%s", err.msg);
    emp_record_clear(&found);
    emp_record_clear(&record);
    free(name);
    task_destroy(&t);
    cr_expect_eq(emp_mem_live_blocks(), 0);
}

/* As a file that was renamed, or that has the hash of a run by chance. */
Test(archive, record_of_another_run_stays)
{
    task           t = task_chain(SMALL);
    emp_run_params params = scripted_params(8, 1), other = params;
    emp_record     record = run_and_put(&t, &params), found;
    emp_error      err = {0};
    bool           is_found = true;
    size_t         size, after;

    emp_record_clear(&record);
    other.placer.seed = 8;
    record = run_and_put(&t, &other);
    char *name = scratch_find("*.seed7.*.h5"), *of_other = scratch_find("*.seed8.*.h5");
    char *bytes = scratch_read(of_other, &size);
    scratch_write(name, bytes, size);
    cr_expect_eq(emp_archive_find(&found, &is_found, folder, t.problem, &params, &err),
                 EMP_EINVAL);
    cr_expect_not(is_found);
    cr_expect_not_null(strstr(err.msg, name), "%s", err.msg);
    cr_expect_not_null(strstr(err.msg, "another run: seed 8 there, 7 here"), "%s",
                       err.msg);
    char *kept = scratch_read(name, &after);
    cr_assert_eq(after, size);
    cr_expect_arr_eq(kept, bytes, size);
    emp_record_clear(&found);
    emp_record_clear(&record);
    free(kept);
    free(bytes);
    free(of_other);
    free(name);
    task_destroy(&t);
    cr_expect_eq(emp_mem_live_blocks(), 0);
}

Test(archive, another_file_in_place_of_a_reason_stays)
{
    task           t = task_chain(SMALL);
    emp_run_params params = scripted_params(8, 1);
    emp_error      err = {0};
    size_t         size;

    for (int i = 0; i < 2; i++) /* one may replace itself */
        cr_assert_eq(emp_archive_put_refusal(folder, t.problem, &params, "none", &err),
                     EMP_OK, "%s", err.msg);
    char *name = scratch_find("*.refused.txt");
    scratch_write(name, "mine", 4);
    cr_expect_eq(emp_archive_put_refusal(folder, t.problem, &params, "none", &err),
                 EMP_EINVAL);
    cr_expect_not_null(strstr(err.msg, name), "%s", err.msg);
    char *kept = scratch_read(name, &size);
    cr_expect_eq(size, 4);
    free(kept);
    free(name);
    task_destroy(&t);
}

Test(archive, folder_that_cannot_be_made_is_named)
{
    emp_record record = {0};
    emp_error  err = {0};

    cr_expect_eq(emp_archive_put("/nowhere/deep", &record, &a_second, &err), EMP_EIO);
    cr_expect_not_null(strstr(err.msg, "/nowhere/deep"), "%s", err.msg);
}

/* As with other sources: changes since the commit count. */
Test(archive, record_of_a_changed_tree_is_not_found)
{
    task           t = task_chain(SMALL);
    emp_run_params params = scripted_params(8, 1);
    emp_record     record;

    cr_assert_eq(emp_run(&record, t.problem, &params, NULL), EMP_OK);
    record.is_dirty = !record.is_dirty;
    cr_assert_eq(emp_archive_put(folder, &record, &a_second, NULL), EMP_OK);
    cr_expect_not(can_find(&t, &params));
    emp_record_clear(&record);
    task_destroy(&t);
}

static atomic_int stop_flag;

/* A run with a checkpoint; returns its evaluations. */
static int64_t run_in_folder(const task *t, const emp_run_params *params)
{
    emp_record record;
    emp_error  err = {0};

    cr_assert_eq(emp_archive_run(&record, folder, t->problem, params, &err), EMP_OK, "%s",
                 err.msg);
    int64_t evaluations = record.evaluations;
    if (strcmp(record.stopped_by, "interrupt") != 0) {
        cr_assert_eq(emp_archive_put(folder, &record, &a_second, &err), EMP_OK, "%s",
                     err.msg);
        emp_archive_drop_checkpoint(folder, &record);
    }
    emp_record_clear(&record);
    return evaluations;
}

static void forget(const task *t, const emp_run_params *params)
{
    emp_error err = {0};

    cr_assert_eq(emp_archive_forget(folder, t->problem, params, &err), EMP_OK, "%s",
                 err.msg);
}

/* As of a run that was killed while it saved its record. */
static void leave_half_a_record(void)
{
    char *checkpoint = scratch_find("*.checkpoint.h5");
    char  name[SCRATCH_PATH_BYTES];

    cr_assert_not_null(checkpoint);
    *strstr(checkpoint, ".checkpoint.h5") = '\0';
    snprintf(name, sizeof name, "%s.h5.tmp1", checkpoint);
    scratch_write(name, "half", 4);
    free(checkpoint);
}

Test(archive, interrupted_run_goes_on_from_its_checkpoint)
{
    task           t = task_chain(SMALL);
    emp_run_params params = scripted_params(12, 1);

    params.stop = &stop_flag;
    stop_flag = 1;
    cr_expect_eq(run_in_folder(&t, &params), 4);
    leave_half_a_record();
    stop_flag = 0;
    cr_expect_eq(run_in_folder(&t, &params), 12);
    cr_expect_eq(script.asked, 8, "the first batch is not made again");
    cr_expect(can_find(&t, &params));
    cr_expect_null(scratch_find("*.checkpoint.h5"), "it has served");
    cr_expect_null(scratch_find("*.tmp*"));
    task_destroy(&t);
    cr_expect_eq(emp_mem_live_blocks(), 0);
}

Test(archive, forgets_one_run_and_keeps_the_others)
{
    task           t = task_chain(SMALL);
    emp_run_params params = scripted_params(12, 1), other = params;

    other.placer.seed = 8;
    forget(&t, &params); /* there is nothing yet */
    run_in_folder(&t, &other);
    run_in_folder(&t, &params);
    forget(&t, &params);
    cr_expect_not(can_find(&t, &params));
    cr_expect(can_find(&t, &other));
    cr_expect_null(scratch_find("*.seed7.*"), "nor how long it took");
    params.stop = &stop_flag;
    stop_flag = 1;
    cr_expect_eq(run_in_folder(&t, &params), 4);
    forget(&t, &params);
    cr_expect_null(scratch_find("*.checkpoint.h5"));
    task_destroy(&t);
    cr_expect_eq(emp_mem_live_blocks(), 0);
}

Test(archive, damaged_checkpoint_counts_as_absent)
{
    task           t = task_chain(SMALL);
    emp_run_params params = scripted_params(12, 1);
    size_t         size;

    params.stop = &stop_flag;
    stop_flag = 1;
    run_in_folder(&t, &params);
    char *name = scratch_find("*.checkpoint.h5");
    char *whole = scratch_read(name, &size);
    scratch_write(name, whole, size / 2);
    stop_flag = 0;
    cr_expect_eq(run_in_folder(&t, &params), 12);
    cr_expect_eq(script.asked, 12, "all batches are made");
    free(whole);
    free(name);
    task_destroy(&t);
    cr_expect_eq(emp_mem_live_blocks(), 0);
}

Test(archive, checkpoint_of_another_run_stays)
{
    task           t = task_chain(SMALL);
    emp_run_params params = scripted_params(12, 1), other = params;
    emp_record     record;
    emp_error      err = {0};
    size_t         size, after;

    other.placer.seed = 8;
    params.stop = other.stop = &stop_flag;
    stop_flag = 1;
    run_in_folder(&t, &other);
    run_in_folder(&t, &params);
    stop_flag = 0;
    char *name = scratch_find("*.seed8.*.checkpoint.h5");
    char *own = scratch_find("*.seed7.*.checkpoint.h5");
    char *of_other = scratch_read(name, &size);
    scratch_write(own, of_other, size);
    cr_expect_eq(emp_archive_run(&record, folder, t.problem, &params, &err), EMP_EINVAL);
    cr_expect_not_null(strstr(err.msg, own), "%s", err.msg);
    cr_expect_not_null(strstr(err.msg, "seed 8 there, 7 here"), "%s", err.msg);
    char *kept = scratch_read(own, &after);
    cr_assert_eq(after, size);
    cr_expect_arr_eq(kept, of_other, size);
    emp_record_clear(&record);
    free(kept);
    free(of_other);
    free(own);
    free(name);
    task_destroy(&t);
    cr_expect_eq(emp_mem_live_blocks(), 0);
}

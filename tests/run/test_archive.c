// SPDX-License-Identifier: GPL-3.0-or-later
/* Records are found again for the same run, and only for it. */
#include <stdatomic.h>

#include "run/archive.h"
#include "tests/run/scripted.h"
#include "tests/test.h"

enum { SMALL = 1000, BATCH = 4, BUDGET = 3 * BATCH };

static const emp_timing a_second = {.elapsed_s = 1, .cpu_s = 1, .threads = 1};

static char           folder[SCRATCH_PATH_BYTES];
static task           t;
static emp_run_params params, other; /* of two runs that differ in their seed */
static atomic_int     stop_flag;

static void set_up(void)
{
    scripted_set_up(&t, SMALL, BATCH);
    snprintf(folder, sizeof folder, "%s", scratch_path(""));
    params = other = scripted_params(BUDGET, 1);
    other.placer.seed = 8;
    params.stop = other.stop = &stop_flag;
}

static void tear_down(void) { scripted_tear_down(&t); }

TestSuite(archive, .init = set_up, .fini = tear_down);

static emp_record make_record(const emp_run_params *of)
{
    emp_record record;

    ASSERT_OK(emp_run(&record, t.problem, of, &err));
    return record;
}

static void put(const emp_record *record)
{
    ASSERT_OK(emp_archive_put(folder, record, &a_second, &err));
}

static void put_run(const emp_run_params *of)
{
    SCOPED(emp_record, emp_record_clear) record = make_record(of);

    put(&record);
}

static bool can_find(const task *on, const emp_run_params *of)
{
    SCOPED(emp_record, emp_record_clear) record;
    bool is_found = false;

    ASSERT_OK(emp_archive_find(&record, &is_found, folder, on->problem, of, &err));
    return is_found;
}

Test(archive, only_the_same_run_is_found)
{
    OWN_TASK       larger = task_chain(SMALL + 1);
    emp_run_params longer = scripted_params(BUDGET + 1, 1), preset = params;

    cr_expect_not(can_find(&t, &params), "there is nothing yet");
    put_run(&params);
    params.placer.threads = 2;
    cr_expect(can_find(&t, &params), "threads do not matter");
    cr_expect_not(can_find(&t, &other), "another seed");
    cr_expect_not(can_find(&t, &longer), "another budget");
    preset.placer.preset = "paper";
    cr_expect_not(can_find(&t, &preset), "another preset");
    cr_expect_not(can_find(&larger, &params), "another graph");
    t.problem->runtime.events.issue_s *= 2;
    cr_expect_not(can_find(&t, &params), "another runtime");
}

/* As after a change of the oracle, of the sources, and after an interrupt. */
Test(archive, a_record_that_is_out_of_date_is_not_found)
{
    SCOPED(emp_record, emp_record_clear) record = make_record(&params);
    const emp_record good = record;

    record.best_step_time_s *= 1.001;
    put(&record);
    cr_expect_not(can_find(&t, &params), "another score");
    record = good;
    record.is_dirty = !good.is_dirty;
    put(&record);
    cr_expect_not(can_find(&t, &params), "other sources");
    record = good;
    snprintf(record.stopped_by, sizeof record.stopped_by, "interrupt");
    put(&record);
    cr_expect_not(can_find(&t, &params), "interrupted");
    put(&good);
    cr_expect(can_find(&t, &params));
    record = good;
}

/* Writes \a text in place of the file, expects a refusal that names it, and that it stays. */
#define EXPECT_STAYS(name, text, size, status, part, call) \
    do {                                                   \
        scratch_write(name, text, size);                   \
        EXPECT_REFUSED(call, status, name);                \
        EXPECT_REFUSED(call, status, part);                \
        scratch_expect_bytes(name, text, size, "changed"); \
    } while (0)

static emp_status find(emp_error *err)
{
    SCOPED(emp_record, emp_record_clear) found;
    bool             is_found = true;
    const emp_status st =
        emp_archive_find(&found, &is_found, folder, t.problem, &params, err);

    cr_expect_not(is_found);
    return st;
}

static emp_status go_on(emp_error *err)
{
    SCOPED(emp_record, emp_record_clear) record;
    return emp_archive_run(&record, folder, t.problem, &params, err);
}

/* As a file that was renamed, or that has the hash of a run by chance. */
Test(archive, what_is_no_record_of_the_run_stays)
{
    size_t size;

    put_run(&params);
    put_run(&other);
    char *name = scratch_find("*.seed7.*.h5"), *of_other = scratch_find("*.seed8.*.h5");
    char *bytes = scratch_bytes(of_other, &size);
    EXPECT_STAYS(name, "precious", 8, EMP_EFORMAT, "remove the file", find(&err));
    EXPECT_STAYS(name, bytes, size, EMP_EINVAL, "seed 8 there, 7 here", find(&err));
}

Test(archive, another_file_in_place_of_a_reason_stays)
{
    for (int i = 0; i < 2; i++) /* one may replace itself */
        ASSERT_OK(emp_archive_put_refusal(folder, t.problem, &params, "none", &err));
    char *name = scratch_find("*.refused.txt");
    EXPECT_STAYS(name, "mine", 4, EMP_EINVAL, "",
                 emp_archive_put_refusal(folder, t.problem, &params, "none", &err));
}

Test(archive, folder_that_cannot_be_made_is_named)
{
    const emp_record record = {0};

    EXPECT_REFUSED(emp_archive_put("/nowhere/deep", &record, &a_second, &err), EMP_EIO,
                   "/nowhere/deep");
}

static int64_t run_in_folder(const emp_run_params *of, bool is_stopped)
{
    SCOPED(emp_record, emp_record_clear) record;

    stop_flag = is_stopped;
    ASSERT_OK(emp_archive_run(&record, folder, t.problem, of, &err));
    int64_t evaluations = record.evaluations;
    if (!is_stopped) {
        put(&record);
        emp_archive_drop_checkpoint(folder, &record);
    }
    return evaluations;
}

/* As of a run that was killed while it saved its record. */
static void leave_half_a_record(void)
{
    char *checkpoint = scratch_find("*.checkpoint.h5");

    cr_assert_not_null(checkpoint);
    *strstr(checkpoint, ".checkpoint.h5") = '\0';
    scratch_write(scratch_print("%s.h5.tmp1", checkpoint), "half", 4);
}

Test(archive, interrupted_run_goes_on_from_its_checkpoint)
{
    cr_expect_eq(run_in_folder(&params, true), BATCH);
    leave_half_a_record();
    cr_expect_eq(run_in_folder(&params, false), BUDGET);
    cr_expect_eq(script.asked, BUDGET - BATCH, "the first batch is not made again");
    cr_expect(can_find(&t, &params));
    cr_expect_null(scratch_find("*.checkpoint.h5"), "it has served");
    cr_expect_null(scratch_find("*.tmp*"));
}

Test(archive, forgets_one_run_and_keeps_the_others)
{
    ASSERT_OK(
        emp_archive_forget(folder, t.problem, &params, &err)); /* there is nothing yet */
    run_in_folder(&other, false);
    run_in_folder(&params, false);
    ASSERT_OK(emp_archive_forget(folder, t.problem, &params, &err));
    cr_expect_not(can_find(&t, &params));
    cr_expect(can_find(&t, &other));
    cr_expect_null(scratch_find("*.seed7.*"), "nor how long it took");
    run_in_folder(&params, true);
    ASSERT_OK(emp_archive_forget(folder, t.problem, &params, &err));
    cr_expect_null(scratch_find("*.checkpoint.h5"));
}

Test(archive, checkpoint_that_is_damaged_counts_as_absent_and_of_another_run_stays)
{
    size_t size;

    run_in_folder(&params, true);
    char *name = scratch_find("*.checkpoint.h5"), *whole = scratch_bytes(name, &size);
    scratch_write(name, whole, size / 2);
    cr_expect_eq(run_in_folder(&params, false), BUDGET);
    cr_expect_eq(script.asked, BUDGET, "all batches are made");
    run_in_folder(&other, true);
    stop_flag = 0;
    char *of_other = scratch_find("*.seed8.*.checkpoint.h5");
    char *bytes = scratch_bytes(of_other, &size);
    EXPECT_STAYS(name, bytes, size, EMP_EINVAL, "seed 8 there, 7 here", go_on(&err));
}

// SPDX-License-Identifier: GPL-3.0-or-later
/* Many runs: those on record are read, fresh ones leave nothing old behind, and what a stop
 * leaves is gone on from. */
#include <signal.h>
#include <stdatomic.h>
#include <unistd.h>

#include "run/archive.h"
#include "run/jobs/jobs.h"
#include "tests/run/scripted.h"
#include "tests/test.h"

enum { SMALL = 1000, BATCH = 4, BUDGET = 3 * BATCH, JOBS = 2 };

static char       folder[SCRATCH_PATH_BYTES];
static task       problem;
static atomic_int stop_flag;
static atomic_int kept_count;

/** The notifications of a call of emp_jobs_run(), and when it is to be stopped. Progress is reported at the
 * start, after each of the three batches of a run, and once more at its end. */
typedef struct {
    int ready, read;
    int reports_left; /**< then it is stopped; 0: never */
} watch;

static void set_up(void)
{
    scripted_set_up(&problem, SMALL, BATCH);
    snprintf(folder, sizeof folder, "%s", scratch_path(""));
}

static void tear_down(void) { scripted_tear_down(&problem); }

TestSuite(jobs, .init = set_up, .fini = tear_down);

static emp_job make_job(int64_t budget)
{
    return (emp_job){.row = "tiny",
                     .column = "scripted",
                     .problem = problem.problem,
                     .run = scripted_params(budget, 1),
                     .cost = 1};
}

static void on_run(void *context, const emp_job_event *event)
{
    watch *w = (watch *)context;

    w->ready++;
    w->read += event->is_read;
    cr_expect_eq(event->done, w->ready);
}

static void on_progress(void *context, const emp_jobs_progress *progress)
{
    watch  *w = (watch *)context;
    int32_t ready = 0;

    for (int32_t i = 0; i < progress->count; i++) ready += progress->job[i].is_ready;
    cr_expect_eq(ready, w->ready);
    if (w->reports_left > 0 && --w->reports_left == 0) stop_flag = 1;
}

static double best_after(const emp_record *r, int64_t evaluations)
{
    double best_s = NAN;

    for (int32_t i = 0; i < r->point_count && r->curve[i].evaluations <= evaluations; i++)
        best_s = r->curve[i].best_s;
    return best_s;
}

static void run_all(watch *w, bool is_fresh, emp_status want)
{
    const emp_jobs_params params = {.folder = folder,
                                    .threads = 1,
                                    .is_fresh = is_fresh,
                                    .stop = &stop_flag,
                                    .keeping = &kept_count,
                                    .on_run = on_run,
                                    .on_progress = on_progress,
                                    .context = w};
    emp_job               jobs[JOBS] = {{.row = NULL}};
    emp_error             err = {0};

    stop_flag = 0;
    for (int i = 0; i < JOBS; i++) {
        jobs[i] = make_job(BUDGET);
        jobs[i].run.placer.seed = (uint64_t)i + 1;
    }
    cr_expect_eq(emp_jobs_run(jobs, JOBS, &params, &err), want, "%s", err.msg);
    cr_expect_eq(atomic_load(&kept_count), 0, "all of it is in the folder");
    int ready = 0;
    for (int i = 0; i < JOBS; i++) {
        ready += jobs[i].is_ready;
        if (!jobs[i].is_ready) continue;
        const emp_timing *t = &jobs[i].timing;
        cr_expect_eq(jobs[i].record.evaluations, BUDGET);
        cr_expect(t->elapsed_s > 0 && t->cpu_s > 0 && t->threads == 1);
        cr_assert_gt(t->point_count, 0);
        cr_expect_eq(t->point[t->point_count - 1].evaluations, BUDGET);
        cr_expect_eq(t->point[t->point_count - 1].cpu_s, t->cpu_s);
    }
    cr_expect_eq(ready, w->ready);
    emp_jobs_clear(jobs, JOBS);
}

static void run_one(emp_job *job, bool is_lean)
{
    const emp_jobs_params params = {.folder = folder, .threads = 1, .is_lean = is_lean};

    *job = make_job(40 * BATCH);
    ASSERT_OK(emp_jobs_run(job, 1, &params, &err));
}

Test(jobs, lean_records_tell_the_best_so_far)
{
    emp_job lean, whole;

    run_one(&lean, true); /* the file that it leaves is whole */
    run_one(&whole, false);
    cr_expect_eq(whole.record.point_count, 40);
    cr_expect_lt(lean.record.point_count, 40);
    cr_expect(lean.record.metric == NULL && lean.record.metric_count == 0);
    for (int64_t n = BATCH; n <= 40 * BATCH; n += BATCH)
        cr_expect_eq(best_after(&lean.record, n), best_after(&whole.record, n), "%ld",
                     (long)n);
    cr_expect_eq(lean.record.best_step_time_s, whole.record.best_step_time_s);
    emp_jobs_clear(&lean, 1);
    emp_jobs_clear(&whole, 1);
}

static void expect_checkpoint(bool is_there)
{
    char *checkpoint = scratch_find("*.checkpoint.h5");

    cr_expect_eq(checkpoint != NULL, is_there);
}

/* A call whose records were made in full, then a fresh one that is stopped after so many reports of
 * its progress, then a plain one. Old records would stand in for what the fresh call was asked for. */
Test(jobs, plain_call_after_a_fresh_one_reads_what_that_has_made)
{
    static const struct {
        int reports; /* 2: in the first run, 6: in the second, 0: it is not stopped */
        int made;
    } cases[] = {{2, 0}, {6, 1}, {0, JOBS}};

    for (int i = 0; i < 3; i++) {
        const bool is_stopped = cases[i].reports > 0;
        watch      old = {0}, fresh = {.reports_left = cases[i].reports}, plain = {0};
        run_all(&old, i > 0, EMP_OK);
        cr_expect(old.ready == JOBS && old.read == 0, "case %d", i);
        run_all(&fresh, true, is_stopped ? EMP_EINTERRUPTED : EMP_OK);
        cr_expect(fresh.ready == cases[i].made && fresh.read == 0, "case %d", i);
        expect_checkpoint(is_stopped);
        run_all(&plain, false, EMP_OK);
        cr_expect(plain.ready == JOBS && plain.read == cases[i].made, "case %d", i);
        if (i == 1) cr_expect_eq(script.asked, BUDGET - BATCH, "the second goes on");
        expect_checkpoint(false); /* it has served */
    }
}

/* No file can be made there, not even by root. */
Test(jobs, that_cannot_be_recorded_are_told_before_the_first)
{
    watch none = {0};

    snprintf(folder, sizeof folder, "/proc");
    run_all(&none, false, EMP_EIO);
    run_all(&none, true, EMP_EIO);
    cr_expect_eq(script.asked, 0);
}

Test(jobs, stop_that_comes_when_a_run_is_done_interrupts_it_no_more)
{
    watch first = {.reports_left = 4}, last = {.reports_left = 8}, plain = {0};

    run_all(&first, false, EMP_EINTERRUPTED);
    cr_expect_eq(first.ready, 1, "its budget was used up");
    run_all(&last, true, EMP_OK);
    cr_expect_eq(stop_flag, 1);
    cr_expect_eq(last.ready, JOBS);
    run_all(&plain, false, EMP_OK);
    cr_expect_eq(plain.read, JOBS);
}

static void stop_at_signal(int signal)
{
    (void)signal;
    stop_flag = 1;
}

static emp_status stop_while_it_is_made(void *state, const emp_problem *of,
                                        const emp_method_params *params, emp_error *err)
{
    (void)state;
    (void)of;
    (void)params;
    stop_flag = 1;
    return EMP_ERROR(EMP_EINTERRUPTED, "interrupted");
}

/* One that is stopped has not failed. */
static void run_stopped(emp_job *job, const atomic_int *stop, emp_status want,
                        bool is_ready)
{
    const emp_jobs_params params = {
        .folder = folder, .threads = 1, .stop = stop, .keeping = &kept_count};
    emp_error err = {0};

    cr_expect_eq(emp_jobs_run(job, 1, &params, &err), want, "%s", err.msg);
    cr_expect_eq(err.status, EMP_OK, "%s", err.msg);
    cr_expect_eq(job->status, EMP_OK);
    cr_expect_eq(job->is_ready, is_ready);
    cr_expect_eq(atomic_load(&kept_count), 0);
    emp_jobs_clear(job, 1);
}

Test(jobs, stop_while_a_method_is_made_is_no_failure)
{
    emp_job    job = make_job(BUDGET);
    emp_method method = *job.run.method;

    method.init = stop_while_it_is_made;
    method.clear = NULL;
    job.run.method = &method;
    run_stopped(&job, &stop_flag, EMP_EINTERRUPTED, false);
}

static void run_job_that_asks_again(emp_status want, bool is_ready)
{
    emp_method again = scripted_method;
    emp_job    job = make_job(BUDGET);

    again.asks_again = true;
    job.run.method = &again;
    run_stopped(&job, &script.stop, want, is_ready);
}

Test(jobs, one_that_gives_up_its_first_batch_is_gone_on_with)
{
    script = (scripted_plan){.batch = BATCH, .give_up_after = BATCH};
    run_job_that_asks_again(EMP_EINTERRUPTED, false);
    expect_checkpoint(true);
    script = (scripted_plan){.batch = BATCH};
    run_job_that_asks_again(EMP_OK, true);
    cr_expect_eq(script.told, BUDGET);
    expect_checkpoint(false);
}

static emp_file_lock elsewhere;
static const char   *first_ready;
static emp_job       two[2];

/* The other program ends without the record of its run. */
static void end_other(void *context, const emp_job_event *event)
{
    (void)context;
    if (first_ready == NULL) first_ready = event->row;
    emp_file_lock_release(&elsewhere);
}

Test(jobs, that_another_program_makes_come_last)
{
    const emp_jobs_params params = {.folder = folder, .threads = 1, .on_run = end_other};
    bool                  is_locked = false;

    for (int i = 0; i < 2; i++) {
        two[i] = make_job(BUDGET);
        two[i].row = i == 0 ? "theirs" : "ours";
        two[i].run.placer.seed = (uint64_t)i + 1;
    }
    ASSERT_OK(emp_archive_lock(&elsewhere, &is_locked, folder, problem.problem,
                               &two[0].run, &err));
    cr_assert(is_locked);
    ASSERT_OK(emp_jobs_run(two, 2, &params, &err));
    cr_expect_str_eq(first_ready, "ours");
    cr_expect(two[0].is_ready && two[1].is_ready);
    cr_expect_null(scratch_find("*.lock"));
    emp_jobs_clear(two, 2);
}

Test(jobs, stop_ends_the_wait_for_another_program)
{
    emp_job job = make_job(BUDGET);
    bool    is_locked = false;

    ASSERT_OK(emp_archive_lock(&elsewhere, &is_locked, folder, problem.problem, &job.run,
                               &err));
    signal(SIGALRM, stop_at_signal);
    alarm(1);
    run_stopped(&job, &stop_flag, EMP_EINTERRUPTED, false);
    emp_file_lock_release(&elsewhere);
}

enum { ORDERED = 8 };

/* The jobs that came in, as "row column seed" each. */
typedef struct {
    char text[256];
} arrivals;

static void note_arrival(void *context, const emp_job_event *event)
{
    arrivals *a = (arrivals *)context;
    size_t    used = strlen(a->text);

    snprintf(a->text + used, sizeof a->text - used, "%s %s %d, ", event->row,
             event->method, (int)event->seed);
}

/* Whoever stops early has the cheap column whole, then the dear one, before second seeds. */
Test(jobs, cheap_columns_and_first_seeds_come_first)
{
    static const struct {
        const char *row, *column;
        uint64_t    seed;
        double      cost, effort;
    } given[ORDERED] = {{"small", "dear", 1, 10, 8}, {"small", "dear", 2, 10, 8},
                        {"large", "dear", 1, 20, 8}, {"small", "cheap", 1, 5, 1},
                        {"large", "cheap", 1, 7, 1}, {"large", "cheap", 2, 7, 1},
                        {"large", "other", 1, 9, 1}, {"small", "other", 1, 6, 1}};
    arrivals              came = {""};
    const emp_jobs_params params = {
        .folder = folder, .threads = 1, .on_run = note_arrival, .context = &came};
    emp_job jobs[ORDERED];

    for (int i = 0; i < ORDERED; i++) {
        /* A budget of its own, so that no run stands in for another. */
        jobs[i] = make_job((i + 1) * BATCH);
        jobs[i].row = given[i].row;
        jobs[i].column = given[i].column;
        jobs[i].cost = given[i].cost;
        jobs[i].effort = given[i].effort;
        jobs[i].run.placer.seed = given[i].seed;
    }
    ASSERT_OK(emp_jobs_run(jobs, ORDERED, &params, NULL));
    cr_expect_str_eq(came.text, "large cheap 1, small cheap 1, large other 1, "
                                "small other 1, large dear 1, small dear 1, "
                                "large cheap 2, small dear 2, ");
    emp_jobs_clear(jobs, ORDERED);
}

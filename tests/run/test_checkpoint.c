// SPDX-License-Identifier: GPL-3.0-or-later
/* A run that goes on from its checkpoint leaves the record of one that nothing disturbed;
 * any other file is refused with a sentence, and nothing is lost. */
#include <criterion/criterion.h>
#include <math.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "base/blas/openblas.h"
#include "base/mem.h"
#include "baselines/baselines.h"
#include "policy/colocrl/colocrl.h"
#include "policy/doppler/doppler.h"
#include "policy/go/go.h"
#include "policy/hdp/hdp.h"
#include "policy/hsdag/hsdag.h"
#include "run/sheet/sheet.h"
#include "run/store/checkpoint.h"
#include "tests/run/scripted.h"
#include "tests/support/scratch.h"

enum { SMALL = 1000, BATCH = 3, BATCHES = 6, BUDGET = BATCH * BATCHES - 1 };

static task       problem;
static char       path[SCRATCH_PATH_BYTES];
static atomic_int stop_flag;

static void set_up(void)
{
    scripted_set_up(&problem, SMALL, BATCH);
    snprintf(path, sizeof path, "%s", scratch_path("run.checkpoint.h5"));
}

static void tear_down(void) { scripted_tear_down(&problem); }

TestSuite(checkpoint, .init = set_up, .fini = tear_down);

static void count_down(void *context, const emp_progress *progress)
{
    int *batches_left = (int *)context;

    if (progress->evaluations == progress->resumed) return; /* it goes on */
    if (--*batches_left == 0) stop_flag = 1;
}

/* A run with a checkpoint that is stopped after so many batches. */
static emp_run_params stopped_after(int *batches, bool is_resumed)
{
    emp_run_params params = scripted_params(BUDGET, 1);

    params.checkpoint = (emp_run_checkpoint){.path = path, .is_resumed = is_resumed};
    params.stop = &stop_flag;
    params.progress = count_down;
    params.context = batches;
    stop_flag = 0;
    return params;
}

static emp_status try_run(const emp_run_params *params, emp_error *err)
{
    emp_record record;

    *err = (emp_error){0};
    emp_status st = emp_run(&record, problem.problem, params, err);
    emp_record_clear(&record);
    return st;
}

/* Runs, expects that it works, and returns the bytes of the record; free() them. */
static char *run(const emp_run_params *params, size_t *size)
{
    emp_record record;
    emp_error  err = {0};

    cr_assert_eq(emp_run(&record, problem.problem, params, &err), EMP_OK, "%s", err.msg);
    cr_assert_eq(emp_record_save(scratch_path("run.h5"), &record, &err), EMP_OK, "%s",
                 err.msg);
    emp_record_clear(&record);
    return scratch_read("run.h5", size);
}

/* As a record that a checkpoint is read into. */
static void describe(emp_record *record, const emp_run_params *params)
{
    emp_run_describe(record, problem.problem, params);
    record->decision.op_count = problem.graph->op_count;
    record->device_count = problem.machine->device_count;
}

/* Leaves the checkpoint of a run after so many batches. */
static void leave_checkpoint(int batches)
{
    emp_run_params params = stopped_after(&batches, false);

    remove(path);
    free(run(&params, NULL));
}

static void expect_refused(const emp_run_params *params, emp_status want,
                           const char *sentence_part)
{
    size_t    size, again;
    emp_error err;

    char *before = scratch_read("run.checkpoint.h5", &size);
    cr_expect_eq(try_run(params, &err), want, "%s", err.msg);
    cr_expect_not_null(strstr(err.msg, sentence_part), "%s", err.msg);
    cr_expect_not_null(strstr(err.msg, path), "%s", err.msg);
    char *after = scratch_read("run.checkpoint.h5", &again);
    cr_assert_eq(size, again, "the file was written to");
    cr_expect_arr_eq(before, after, size);
    free(before);
    free(after);
}

static void expect_resume_refused(emp_status want, const char *sentence_part)
{
    int            batches = 0;
    emp_run_params params = stopped_after(&batches, true);

    expect_refused(&params, want, sentence_part);
}

Test(checkpoint, resumed_record_is_the_same_bytes_wherever_the_run_was_stopped)
{
    emp_run_params plain = scripted_params(BUDGET, 1);
    size_t         size, again;

    char *undisturbed = run(&plain, &size);
    for (int first = 1; first <= BATCHES; first++) {
        for (int second = 1; first + second <= BATCHES; second++) {
            int            batches = second, rest = 0;
            emp_run_params params = stopped_after(&batches, true);
            leave_checkpoint(first);
            stop_flag = 0;
            free(run(&params, NULL));
            params = stopped_after(&rest, true);
            params.placer.threads = 2;
            char *resumed = run(&params, &again);
            cr_assert_eq(size, again);
            cr_expect_arr_eq(undisturbed, resumed, size, "stopped after %d and %d", first,
                             second);
            free(resumed);
        }
    }
    free(undisturbed);
}

/* A method whose batches hold at most 3, for so many of them. */
typedef struct {
    const emp_method *method;
    const char       *preset, *options;
    int               batches;
} small_steps;

static void use(emp_run_params *params, const small_steps *how)
{
    params->method = how->method;
    params->budget_evaluations = 8 * BATCH - 1;
    params->placer.preset = how->preset;
    params->placer.options = how->options;
}

/* Stopped after each of its batches, and on two threads afterwards. */
static void expect_same_bytes(const small_steps *how)
{
    emp_run_params plain = scripted_params(BUDGET, 1);
    size_t         size, again;

    use(&plain, how);
    char *undisturbed = run(&plain, &size);
    for (int first = 1; first < how->batches; first++) {
        int            batches = first, rest = 0;
        emp_run_params params = stopped_after(&batches, false);
        use(&params, how);
        remove(path);
        free(run(&params, NULL));
        params = stopped_after(&rest, true);
        use(&params, how);
        params.placer.threads = 2;
        char *resumed = run(&params, &again);
        cr_expect_eq(rest, -(how->batches - first), "%s went on for %d batches",
                     how->method->name, -rest);
        cr_assert_eq(size, again);
        cr_expect_arr_eq(undisturbed, resumed, size, "%s stopped after %d",
                         how->method->name, first);
        free(resumed);
    }
    free(undisturbed);
    remove(path);
}

/* Walks score where they begin alone; the local search restarts, refining
 * begins twice; Post refits after every
 * second batch; a generation of five ends with a batch of two or one. */
Test(checkpoint, resumed_record_is_the_same_bytes_after_each_batch_of_a_search)
{
    static const small_steps searches[] = {
        {&emp_method_local, NULL, "samples=3,moves=groups,coarsest=2,finest=2", 9},
        {&emp_method_local, NULL, "samples=3,pick=best,kicks=0", 9},
        {&emp_method_anneal, NULL, "samples=3,warmup=6", 9},
        {&emp_method_refine, NULL,
         "samples=3,starts=2,start_samples=4,coarsest=1,finest=4,cuts=2,filter=4", 9},
        {&emp_method_mcmc, NULL, "samples=3,reset=6", 9},
        {&emp_method_ce, NULL, "samples=3,starts=2,start_samples=6,fine=3,coarse=2", 8},
        {&emp_method_post, NULL, "samples=3,batches=2,count=4", 8},
        {&emp_method_brkga, NULL, "population=5,elite=0.2,mutants=0.2,count=4", 6}};

    for (size_t i = 0; i < sizeof searches / sizeof *searches; i++)
        expect_same_bytes(&searches[i]);
}

static const emp_method *in_the_middle;
static int               asks_left, tells_left;

static emp_status stop_and_ask(void *state, const emp_owned_decision *candidates,
                               int32_t max, int32_t *count, emp_error *err)
{
    if (--asks_left == 0) stop_flag = 1;
    return in_the_middle->ask(state, candidates, max, count, err);
}

static emp_status ask_and_stop(void *state, const emp_owned_decision *candidates,
                               int32_t max, int32_t *count, emp_error *err)
{
    const emp_status st = in_the_middle->ask(state, candidates, max, count, err);

    if (--asks_left == 0) stop_flag = 1;
    return st;
}

static emp_status stop_and_tell(void *state, const emp_score *scores, int32_t count,
                                emp_error *err)
{
    if (--tells_left == 0) stop_flag = 1;
    return in_the_middle->tell(state, scores, count, err);
}

/* Where the third batch is given up: before and after it is asked for, and while it is told. */
typedef enum { STOP_AND_ASK, ASK_AND_STOP, STOP_AND_TELL, MOMENTS } moment;

/* No part of that batch stays. */
static void expect_same_bytes_without_a_batch(const small_steps *how, moment m)
{
    emp_run_params plain = scripted_params(BUDGET, 1);
    emp_method     stopping = *how->method;
    int            rest = 0;
    size_t         size, again;

    use(&plain, how);
    char          *undisturbed = run(&plain, &size);
    emp_run_params params = stopped_after(&rest, false);
    use(&params, how);
    params.method = &stopping;
    in_the_middle = how->method;
    asks_left = tells_left = 3;
    if (m == STOP_AND_TELL)
        stopping.tell = stop_and_tell;
    else
        stopping.ask = m == STOP_AND_ASK ? stop_and_ask : ask_and_stop;
    remove(path);
    free(run(&params, NULL));
    cr_expect_eq(rest, -2, "%d batches were told", -rest);
    rest = 0;
    params = stopped_after(&rest, true);
    use(&params, how);
    char *resumed = run(&params, &again);
    cr_expect_eq(rest, -(how->batches - 2));
    cr_assert_eq(size, again);
    cr_expect_arr_eq(undisturbed, resumed, size, "%s", how->method->name);
    free(resumed);
    free(undisturbed);
    remove(path);
}

Test(checkpoint, resumed_record_is_the_same_bytes_after_a_batch_that_was_not_told)
{
    static const small_steps learners[] = {
        {&emp_method_colocrl, NULL, "samples=3,hidden=8", 8},
        {&emp_method_hsdag, NULL, "samples=3,width=8", 8},
        {&emp_method_doppler, NULL, "samples=3,width=8,imitation=6", 8},
        {&emp_method_go, NULL, "samples=3,width=8,heads=2,hidden=8,failure=graded", 8}};

    for (size_t i = 0; i < sizeof learners / sizeof *learners; i++) {
        cr_assert(learners[i].method->asks_again);
        for (int m = 0; m < MOMENTS; m++)
            expect_same_bytes_without_a_batch(&learners[i], (moment)m);
    }
}

Test(checkpoint, writing_them_changes_nothing)
{
    emp_run_params params = scripted_params(BUDGET, 1);
    size_t         size, again;

    char *without = run(&params, &size);
    params.checkpoint = (emp_run_checkpoint){.path = path, .every_s = 1e-9};
    char *with = run(&params, &again);
    cr_assert_eq(size, again);
    cr_expect_arr_eq(without, with, size);
    free(without);
    free(with);
}

Test(checkpoint, is_a_record_of_the_run_so_far)
{
    emp_record record;
    emp_error  err = {0};

    leave_checkpoint(2);
    cr_assert_eq(emp_record_load(&record, path, &err), EMP_OK, "%s", err.msg);
    cr_expect_eq(record.evaluations, 2 * BATCH);
    cr_expect_eq(record.point_count, 2);
    cr_expect(record.is_feasible);
    cr_expect(isnan(record.median_s), "only the end of a run knows it");
    emp_record_clear(&record);
}

/* As this program was built. */
static void set_code(emp_checkpoint *checkpoint)
{
    snprintf(checkpoint->code, sizeof checkpoint->code, "%s", emp_manifest_get().code);
}

Test(checkpoint, seconds_already_spent_count)
{
    emp_run_params params = scripted_params(0, 1);
    emp_record     record;
    int64_t        proposed;
    emp_checkpoint checkpoint = {.record = &record,
                                 .array_count = 1,
                                 .array = {{"proposed", EMP_ARRAY_INT64, 1, &proposed}}};
    int            batches = 2;

    params.budget_s = 1000;
    params.checkpoint.path = path;
    params.stop = &stop_flag;
    params.progress = count_down;
    params.context = &batches;
    stop_flag = 0;
    free(run(&params, NULL));

    describe(&record, &params);
    set_code(&checkpoint);
    cr_assert_eq(emp_checkpoint_load(&checkpoint, path, NULL), EMP_OK);
    cr_expect(checkpoint.elapsed_s > 0 && checkpoint.elapsed_s < 1000);
    cr_expect_eq(proposed, 2 * BATCH);
    checkpoint.elapsed_s = 1000;
    cr_assert_eq(emp_checkpoint_save(path, &checkpoint, NULL), EMP_OK);
    emp_record_clear(&record);

    stop_flag = 0;
    params.checkpoint.is_resumed = true;
    cr_assert_eq(emp_run(&record, problem.problem, &params, NULL), EMP_OK);
    cr_expect_str_eq(record.stopped_by, "budget");
    cr_expect_eq(record.evaluations, 2 * BATCH);
    emp_record_clear(&record);
}

static void take_progress(void *context, const emp_progress *progress)
{
    *(emp_progress *)context = *progress;
}

/* As of a program that was killed after its last batch: there is nothing left to do, and it
 * still says how long that took. */
Test(checkpoint, progress_counts_what_was_done_before)
{
    emp_progress   progress = {0};
    emp_run_params params = scripted_params(BUDGET, 1);

    params.checkpoint = (emp_run_checkpoint){.path = path, .every_s = 1e-9};
    free(run(&params, NULL));
    params.checkpoint = (emp_run_checkpoint){.path = path, .is_resumed = true};
    params.progress = take_progress;
    params.context = &progress;
    free(run(&params, NULL));
    cr_expect_eq(progress.evaluations, BUDGET);
    cr_expect_eq(progress.resumed, BUDGET);
    cr_expect_gt(progress.elapsed_s, 0.0);
    cr_expect_gt(progress.cpu_s, 0.0);

    leave_checkpoint(1);
    free(run(&params, NULL));
    cr_expect_eq(progress.evaluations, BUDGET);
    cr_expect_eq(progress.resumed, BATCH);
}

Test(checkpoint, in_the_way_is_refused)
{
    int            batches = 1;
    emp_run_params params = stopped_after(&batches, false);

    leave_checkpoint(1);
    expect_refused(&params, EMP_EINVAL, "--resume");
}

Test(checkpoint, missing_is_named)
{
    int            batches = 1;
    emp_run_params params = stopped_after(&batches, true);
    emp_error      err;

    cr_expect_eq(try_run(&params, &err), EMP_EIO);
    cr_expect_not_null(strstr(err.msg, path), "%s", err.msg);
}

Test(checkpoint, cut_short_is_refused_at_any_length)
{
    size_t size;

    leave_checkpoint(2);
    char *bytes = scratch_read("run.checkpoint.h5", &size);
    for (size_t length = 0; length < size; length += size / 23 + 1) {
        scratch_write("run.checkpoint.h5", bytes, length);
        expect_resume_refused(EMP_EFORMAT, length < 512 ? "is no checkpoint" : "is torn");
    }
    free(bytes);
}

Test(checkpoint, damaged_is_refused)
{
    size_t size;

    leave_checkpoint(2);
    char *bytes = scratch_read("run.checkpoint.h5", &size);
    for (size_t at = 512; at < size; at += size / 23 + 1) {
        bytes[at] = (char)(bytes[at] ^ 0x5a);
        scratch_write("run.checkpoint.h5", bytes, size);
        bytes[at] = (char)(bytes[at] ^ 0x5a);
        expect_resume_refused(EMP_EFORMAT, "is torn or damaged");
    }
    free(bytes);
}

Test(checkpoint, foreign_file_is_refused)
{
    size_t size;

    leave_checkpoint(1);
    char *bytes = scratch_read("run.checkpoint.h5", &size);
    cr_assert_arr_eq(bytes + 512, "\x89HDF\r\n\x1a\n", 8);
    scratch_write("run.checkpoint.h5", bytes + 512, size - 512);
    expect_resume_refused(EMP_EFORMAT, "is no checkpoint");
    free(bytes);

    bytes = scratch_read("run.h5", &size); /* the record of that run */
    scratch_write("run.checkpoint.h5", bytes, size);
    expect_resume_refused(EMP_EFORMAT, "is no checkpoint");
    free(bytes);

    scratch_write("run.checkpoint.h5", "weights\n", 8);
    expect_resume_refused(EMP_EFORMAT, "is no checkpoint");
}

Test(checkpoint, other_version_is_refused)
{
    size_t size;

    leave_checkpoint(1);
    char *bytes = scratch_read("run.checkpoint.h5", &size);
    cr_assert_arr_eq(bytes, "emplace-checkpoint-1 ", 21);
    bytes[19] = '0';
    scratch_write("run.checkpoint.h5", bytes, size);
    expect_resume_refused(EMP_EFORMAT, "emplace-checkpoint-0");
    free(bytes);
}

Test(checkpoint, of_other_settings_is_refused)
{
    int            batches = 0;
    emp_run_params seed = stopped_after(&batches, true), options = seed, preset = seed,
                   budget = seed, seconds = seed;

    leave_checkpoint(2);
    seed.placer.seed = 8;
    expect_refused(&seed, EMP_EINVAL, "seed 7 there, 8 here");
    options.placer.options = "lr=0.2";
    expect_refused(&options, EMP_EINVAL, "options \"\" there, \"lr=0.2\" here");
    preset.placer.preset = "paper";
    expect_refused(&preset, EMP_EINVAL, "preset \"\" there, \"paper\" here");
    budget.budget_evaluations = BUDGET + 1;
    expect_refused(&budget, EMP_EINVAL, "budget_evaluations 17 there, 18 here");
    seconds.budget_s = 60;
    expect_refused(&seconds, EMP_EINVAL, "budget_s 0 there, 60 here");
}

Test(checkpoint, of_another_graph_is_refused)
{
    leave_checkpoint(2);
    task_destroy(&problem);
    problem = task_chain(2 * SMALL);
    expect_resume_refused(EMP_EINVAL, "graph_hash");
}

/* The best placement so far has CPUs, and the run that goes on may not. */
Test(checkpoint, of_placements_that_are_forbidden_now_is_refused)
{
    script.device[0] = 0;
    script.device_count = 1;
    leave_checkpoint(2);
    cr_assert_eq(emp_problem_forbid_cpus(problem.problem, NULL, NULL), EMP_OK);
    expect_resume_refused(EMP_EINVAL, "on cpu:0, which this one may not");
}

/* What a run would be if this program had been built from other sources, or its state had
 * another shape. */
Test(checkpoint, of_other_sources_or_state_is_refused)
{
    emp_run_params params = scripted_params(BUDGET, 1);
    emp_record     record;
    emp_error      err = {0};
    int64_t        proposed[2];
    emp_checkpoint checkpoint = {.record = &record,
                                 .array_count = 1,
                                 .array = {{"proposed", EMP_ARRAY_INT64, 2, proposed}}};

    leave_checkpoint(2);
    describe(&record, &params);
    set_code(&checkpoint);
    cr_expect_eq(emp_checkpoint_load(&checkpoint, path, &err), EMP_EFORMAT);
    cr_expect_not_null(strstr(err.msg, "method_state/proposed"), "%s", err.msg);

    err = (emp_error){0};
    snprintf(record.commit, sizeof record.commit, "0123");
    cr_expect_eq(emp_checkpoint_load(&checkpoint, path, &err), EMP_EINVAL);
    cr_expect_not_null(strstr(err.msg, "there, \"0123\" here"), "%s", err.msg);
    emp_record_clear(&record);
}

/* Leaves a checkpoint of which a program with another compiler or other kernels says that it has written it. */
static void leave_checkpoint_of(const char *code, const char *kernels)
{
    emp_run_params params = scripted_params(BUDGET, 1);
    emp_record     record;
    int64_t        proposed;
    emp_checkpoint checkpoint = {.record = &record,
                                 .array_count = 1,
                                 .array = {{"proposed", EMP_ARRAY_INT64, 1, &proposed}}};

    leave_checkpoint(2);
    describe(&record, &params);
    set_code(&checkpoint);
    cr_assert_eq(emp_checkpoint_load(&checkpoint, path, NULL), EMP_OK);
    if (code != NULL) snprintf(checkpoint.code, sizeof checkpoint.code, "%s", code);
    snprintf(checkpoint.kernels, sizeof checkpoint.kernels, "%s", kernels);
    cr_assert_eq(emp_checkpoint_save(path, &checkpoint, NULL), EMP_OK);
    emp_record_clear(&record);
}

Test(checkpoint, of_another_compiler_is_refused)
{
    leave_checkpoint_of("Zebra 1.0 x86_64 -O9", "");
    expect_resume_refused(EMP_EINVAL,
                          "was built by Zebra 1.0 x86_64 -O9; this one was built by");
    cr_expect_eq(access(path, F_OK), 0, "it stays");
}

static char heard[1024];

static void hear(void *context, const char *sentence)
{
    (void)context;
    snprintf(heard, sizeof heard, "%s", sentence);
}

Test(checkpoint, of_other_kernels_goes_on_with_a_warning)
{
    emp_run_params params = scripted_params(BUDGET, 1);

    if (emp_openblas_open(NULL) != EMP_OK) cr_skip("OpenBLAS is not there");
    leave_checkpoint_of(NULL, "Zebra");
    params.checkpoint = (emp_run_checkpoint){.path = path, .is_resumed = true};
    params.warn = hear;
    free(run(&params, NULL));
    cr_expect_not_null(strstr(heard, "kernels for Zebra and goes on with those for"),
                       "%s", heard);
    heard[0] = '\0';
    leave_checkpoint_of(NULL, emp_openblas_core_name());
    free(run(&params, NULL));
    cr_expect_str_eq(heard, "");
}

Test(checkpoint, method_without_state_is_refused)
{
    emp_method     plain = scripted_method;
    emp_run_params params = scripted_params(BUDGET, 1);
    emp_error      err;

    plain.list_state = NULL;
    params.method = &plain;
    params.checkpoint.path = path;
    cr_expect_eq(try_run(&params, &err), EMP_EINVAL);
    cr_expect_str_eq(err.msg,
                     "method scripted has no state that a checkpoint could hold");
}

Test(checkpoint, unwritable_folder_is_named_before_the_run)
{
    emp_run_params params = scripted_params(BUDGET, 1);
    emp_error      err;

    params.checkpoint.path = "/nowhere/run.checkpoint.h5";
    cr_expect_eq(try_run(&params, &err), EMP_EIO);
    cr_expect_str_eq(
        err.msg,
        "/nowhere/run.checkpoint.h5 cannot be written: No such file or directory");
    cr_expect_eq(script.asked, 0);
}

static void let_no_file_grow(void *context, const emp_progress *progress)
{
    const struct rlimit *limit = (const struct rlimit *)context;

    if (progress->evaluations == 2 * BATCH)
        cr_assert_eq(setrlimit(RLIMIT_FSIZE, limit), 0);
}

Test(checkpoint, full_disk_ends_the_run_and_keeps_the_last_one)
{
    struct rlimit  before, limit = {1024, RLIM_INFINITY};
    emp_run_params plain = scripted_params(BUDGET, 1), params = plain;
    emp_error      err;
    emp_record     record;
    size_t         size, again;

    char *undisturbed = run(&plain, &size);
    cr_assert_eq(getrlimit(RLIMIT_FSIZE, &before), 0);
    limit.rlim_max = before.rlim_max;
    signal(SIGXFSZ, SIG_IGN);
    params.checkpoint = (emp_run_checkpoint){.path = path, .every_s = 1e-9};
    params.progress = let_no_file_grow;
    params.context = &limit;
    emp_status st = try_run(&params, &err);
    cr_assert_eq(setrlimit(RLIMIT_FSIZE, &before), 0);
    cr_expect_eq(st, EMP_EIO);
    cr_expect_not_null(strstr(err.msg, "run.checkpoint.h5 cannot be written: "), "%s",
                       err.msg);

    cr_assert_eq(emp_record_load(&record, path, &err), EMP_OK, "%s", err.msg);
    cr_expect_eq(record.evaluations, 2 * BATCH);
    emp_record_clear(&record);
    params.progress = NULL;
    params.checkpoint.is_resumed = true;
    char *resumed = run(&params, &again);
    cr_assert_eq(size, again);
    cr_expect_arr_eq(undisturbed, resumed, size);
    free(undisturbed);
    free(resumed);
}

/* A disk that is full for a while. */
static struct {
    struct rlimit full, empty;
    int           warnings;
    bool          is_waiting;
} disk;

static void fill_the_disk(void *context, const emp_progress *progress)
{
    const struct timespec retry_pause = {1, 100 * 1000 * 1000};

    (void)context;
    if (progress->evaluations == 2 * BATCH)
        cr_assert_eq(setrlimit(RLIMIT_FSIZE, &disk.full), 0);
    if (disk.is_waiting) nanosleep(&retry_pause, NULL);
    disk.is_waiting = false;
}

static void empty_the_disk(void *context, const char *sentence)
{
    (void)context;
    cr_assert_eq(setrlimit(RLIMIT_FSIZE, &disk.empty), 0);
    cr_expect_not_null(strstr(sentence, "run.checkpoint.h5 cannot be written: "), "%s",
                       sentence);
    cr_expect_not_null(strstr(sentence, "the checkpoint before it stays"), "%s",
                       sentence);
    disk.warnings++;
    disk.is_waiting = true;
}

Test(checkpoint, full_disk_warns_who_listens_and_is_tried_again)
{
    emp_run_params plain = scripted_params(BUDGET, 1), params = plain;
    emp_error      err = {0};
    emp_record     record;
    size_t         size, again;

    char *undisturbed = run(&plain, &size);
    cr_assert_eq(getrlimit(RLIMIT_FSIZE, &disk.empty), 0);
    disk.full = (struct rlimit){1024, disk.empty.rlim_max};
    signal(SIGXFSZ, SIG_IGN);
    params.checkpoint = (emp_run_checkpoint){.path = path, .every_s = 1e-9};
    params.progress = fill_the_disk;
    params.warn = empty_the_disk;
    char *warned = run(&params, &again);
    cr_expect_eq(disk.warnings, 1);
    cr_assert_eq(size, again);
    cr_expect_arr_eq(undisturbed, warned, size);
    cr_assert_eq(emp_record_load(&record, path, &err), EMP_OK, "%s", err.msg);
    cr_expect_eq(record.evaluations, BUDGET, "the last one is written again");
    emp_record_clear(&record);
    free(undisturbed);
    free(warned);
}

static atomic_int stop_of_the_full;

static void fill_the_disk_and_stop(void *context, const emp_progress *progress)
{
    (void)context;
    if (progress->evaluations != 2 * BATCH) return;
    cr_assert_eq(setrlimit(RLIMIT_FSIZE, &disk.full), 0);
    stop_of_the_full = SIGINT;
}

Test(checkpoint, who_is_interrupted_on_a_full_disk_keeps_the_result)
{
    emp_run_params params = scripted_params(BUDGET, 1);
    emp_error      err = {0};
    emp_record     record;

    cr_assert_eq(getrlimit(RLIMIT_FSIZE, &disk.empty), 0);
    disk.full = (struct rlimit){1024, disk.empty.rlim_max};
    signal(SIGXFSZ, SIG_IGN);
    params.checkpoint = (emp_run_checkpoint){.path = path, .every_s = 1000};
    params.progress = fill_the_disk_and_stop;
    params.warn = empty_the_disk;
    params.stop = &stop_of_the_full;
    cr_expect_eq(emp_run(&record, problem.problem, &params, &err), EMP_OK, "%s", err.msg);
    cr_expect_eq(disk.warnings, 1);
    cr_expect_str_eq(record.stopped_by, "interrupt");
    cr_expect_eq(record.evaluations, 2 * BATCH);
    emp_record_clear(&record);
}

/* ---- other ranks that go ---- */

static emp_status agree(emp_status st, emp_error *err)
{
    (void)err;
    return st;
}

static emp_status send_nothing(int32_t to, const void *block, size_t bytes,
                               emp_error *err)
{
    (void)to, (void)block, (void)bytes, (void)err;
    return EMP_OK;
}

static emp_status tell_that_all_have_gone(int32_t *from, void *block, size_t bytes,
                                          emp_error *err)
{
    (void)from, (void)block, (void)bytes;
    return EMP_ERROR(EMP_EEXTERNAL, "rank 1 has gone");
}

static emp_status lose_the_disk(int32_t *from, void *block, size_t bytes, emp_error *err)
{
    struct rlimit limit;

    cr_assert_eq(getrlimit(RLIMIT_FSIZE, &limit), 0);
    limit.rlim_cur = 1024;
    cr_assert_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
    return tell_that_all_have_gone(from, block, bytes, err);
}

static int32_t list_no_array(void *state, emp_named_array arrays[EMP_MAX_NAMED_ARRAYS])
{
    (void)state, (void)arrays;
    return 0;
}

/* A parameter server whose one controller is gone before it reports. */
static emp_status
serve_alone(emp_status (*receive)(int32_t *, void *, size_t, emp_error *), emp_error *err)
{
    const emp_method_sharing  sharing = {.list_values = list_no_array};
    const emp_method_learning learning = {.sharing = &sharing};
    const emp_ranks           ranks = {
                  .count = 2, .send = send_nothing, .receive = receive, .agree = agree};
    emp_method     method = scripted_method;
    emp_run_params params = scripted_params(BUDGET, 1);

    method.learning = &learning;
    params.method = &method;
    params.ranks = &ranks;
    params.is_async = true;
    params.checkpoint.path = path;
    return try_run(&params, err);
}

Test(checkpoint, is_saved_when_other_ranks_have_gone)
{
    emp_error  err;
    emp_record record;

    cr_expect_eq(serve_alone(tell_that_all_have_gone, &err), EMP_EEXTERNAL);
    cr_expect_str_eq(err.msg, "rank 1 has gone");
    cr_assert_eq(emp_record_load(&record, path, &err), EMP_OK, "%s", err.msg);
    emp_record_clear(&record);
}

Test(checkpoint, one_that_is_not_saved_then_is_told)
{
    struct rlimit before;
    emp_error     err;

    cr_assert_eq(getrlimit(RLIMIT_FSIZE, &before), 0);
    signal(SIGXFSZ, SIG_IGN);
    emp_status st = serve_alone(lose_the_disk, &err);
    cr_assert_eq(setrlimit(RLIMIT_FSIZE, &before), 0);
    cr_expect_eq(st, EMP_EIO);
    cr_expect_not_null(
        strstr(err.msg, "rank 1 has gone; what was learned since the last checkpoint is "
                        "lost: "),
        "%s", err.msg);
    cr_expect_not_null(strstr(err.msg, "run.checkpoint.h5 cannot be written: "), "%s",
                       err.msg);
}

Test(checkpoint, what_a_killed_writer_left_is_removed)
{
    int            batches = 0;
    emp_run_params params = stopped_after(&batches, true);
    char           left[SCRATCH_PATH_BYTES + 8];

    leave_checkpoint(2);
    snprintf(left, sizeof left, "%s.tmp0", path);
    scratch_write("run.checkpoint.h5.tmp0", "half", 4);
    free(run(&params, NULL));
    cr_expect_null(fopen(left, "r"));
}

Test(checkpoint, starting_and_resuming_survive_every_allocation_failure)
{
    long live = emp_mem_live_blocks();

    for (int is_resumed = 0; is_resumed <= 1; is_resumed++) {
        emp_status st = EMP_ENOMEM;
        for (long allowed = 0; st != EMP_OK; allowed++) {
            int            batches = 0;
            emp_run_params params = stopped_after(&batches, is_resumed != 0);
            emp_error      err;
            remove(path);
            if (is_resumed != 0) leave_checkpoint(2);
            stop_flag = 0;
            params.checkpoint.every_s = 1e-9;
            emp_mem_fail_after(allowed);
            st = try_run(&params, &err);
            emp_mem_fail_after(-1);
            cr_assert(st == EMP_OK || st == EMP_ENOMEM, "%s", err.msg);
            cr_assert_eq(emp_mem_live_blocks(), live, "leak after %ld allocations",
                         allowed);
            if (is_resumed == 0) continue;
            emp_record record; /* still one to go on from */
            cr_assert_eq(emp_record_load(&record, path, &err), EMP_OK, "%s", err.msg);
            cr_assert_geq(record.evaluations, 2 * BATCH);
            emp_record_clear(&record);
        }
    }
}

/* The method, which knows no file, finds what makes no sense. */
Test(checkpoint, whose_state_makes_no_sense_is_named)
{
    emp_run_params params = scripted_params(BUDGET, 1);
    emp_record     record;
    emp_error      err = {0};
    int64_t        proposed = 0;
    emp_checkpoint checkpoint = {.record = &record,
                                 .array_count = 1,
                                 .array = {{"proposed", EMP_ARRAY_INT64, 1, &proposed}}};

    params.checkpoint = (emp_run_checkpoint){.path = path, .is_resumed = true};
    leave_checkpoint(2);
    describe(&record, &params);
    set_code(&checkpoint);
    cr_assert_eq(emp_checkpoint_load(&checkpoint, path, NULL), EMP_OK);
    proposed = -1;
    cr_assert_eq(emp_checkpoint_save(path, &checkpoint, NULL), EMP_OK);
    emp_record_clear(&record);
    cr_expect_eq(try_run(&params, &err), EMP_EFORMAT);
    cr_expect_not_null(strstr(err.msg, path), "%s", err.msg);
    cr_expect_not_null(strstr(err.msg, "state of scripted is damaged"), "%s", err.msg);
}

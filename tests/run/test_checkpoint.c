// SPDX-License-Identifier: GPL-3.0-or-later
/* A run that goes on from its checkpoint leaves the record of one that nothing disturbed;
 * any other file is refused with a sentence, and nothing is lost. */
#include <signal.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <time.h>

#include "base/blas/openblas.h"
#include "baselines/baselines.h"
#include "run/methods.h"
#include "run/sheet/sheet.h"
#include "run/store/checkpoint.h"
#include "tests/run/scripted.h"
#include "tests/test.h"

enum { SMALL = 1000, BATCH = 3, BATCHES = 6, BUDGET = BATCH * BATCHES - 1 };

static task       problem;
static char       path[SCRATCH_PATH_BYTES];
static atomic_int stop_flag;

static struct {
    char  *bytes;
    size_t size;
} undisturbed;

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
    SCOPED(emp_record, emp_record_clear) record;
    return emp_run(&record, problem.problem, params, err);
}

static void run(const emp_run_params *params)
{
    SCOPED(emp_record, emp_record_clear) record;

    ASSERT_OK(emp_run(&record, problem.problem, params, &err));
    ASSERT_OK(emp_record_save(scratch_path("run.h5"), &record, &err));
}

static void run_undisturbed(const emp_run_params *params)
{
    run(params);
    undisturbed.bytes = scratch_bytes("run.h5", &undisturbed.size);
}

static void expect_undisturbed(const emp_run_params *params, const char *when, int batch)
{
    run(params);
    scratch_expect_bytes("run.h5", undisturbed.bytes, undisturbed.size,
                         scratch_print("%s %d", when, batch));
}

static void leave_checkpoint(int batches)
{
    emp_run_params params = stopped_after(&batches, false);

    remove(path);
    run(&params);
}

static void expect_refused(const emp_run_params *params, emp_status want,
                           const char *part)
{
    size_t size;
    char  *before = scratch_bytes("run.checkpoint.h5", &size);

    EXPECT_REFUSED(try_run(params, &err), want, part);
    EXPECT_REFUSED(try_run(params, &err), want, path);
    scratch_expect_bytes("run.checkpoint.h5", before, size, "the file was written to");
}

static void expect_resume_refused(emp_status want, const char *part)
{
    int            batches = 0;
    emp_run_params params = stopped_after(&batches, true);

    expect_refused(&params, want, part);
}

Test(checkpoint, resumed_record_is_the_same_bytes_wherever_the_run_was_stopped)
{
    emp_run_params plain = scripted_params(BUDGET, 1);

    run_undisturbed(&plain);
    for (int first = 1; first <= BATCHES; first++) {
        for (int second = 1; first + second <= BATCHES; second++) {
            int            batches = second, rest = 0;
            emp_run_params params = stopped_after(&batches, true);
            leave_checkpoint(first);
            stop_flag = 0;
            run(&params);
            params = stopped_after(&rest, true);
            params.placer.threads = 2;
            expect_undisturbed(&params, "stopped after (ten times the first) + second",
                               10 * first + second);
        }
    }
}

/* A method whose batches hold at most 3, for so many of them. */
typedef struct {
    const emp_method *method;
    const char       *options;
    int               batches;
} small_steps;

static void use(emp_run_params *params, const small_steps *how)
{
    params->method = how->method;
    params->budget_evaluations = 8 * BATCH - 1;
    params->placer.options = how->options;
}

/* Goes on to the end from batch \a first, on two threads. */
static void expect_same_end(const small_steps *how, int first)
{
    int            rest = 0;
    emp_run_params params = stopped_after(&rest, true);

    use(&params, how);
    params.placer.threads = 2;
    expect_undisturbed(&params, how->method->name, first);
    cr_expect_eq(rest, -(how->batches - first), "%s went on for %d batches",
                 how->method->name, -rest);
    remove(path);
}

static void expect_same_bytes(const small_steps *how)
{
    emp_run_params plain = scripted_params(BUDGET, 1);

    use(&plain, how);
    run_undisturbed(&plain);
    for (int first = 1; first < how->batches; first++) {
        int            batches = first;
        emp_run_params params = stopped_after(&batches, false);
        use(&params, how);
        run(&params);
        expect_same_end(how, first);
    }
}

/* Walks score where they begin alone; the local search restarts, refining begins twice; Post refits
 * after every second batch; a generation of five ends with a batch of two or one; the portfolio goes
 * from its proposals over to refining. */
Test(checkpoint, resumed_record_is_the_same_bytes_after_each_batch_of_a_search)
{
    static const small_steps searches[] = {
        {&emp_method_local, "samples=3,moves=groups,coarsest=2,finest=2", 9},
        {&emp_method_local, "samples=3,pick=best,kicks=0", 9},
        {&emp_method_anneal, "samples=3,warmup=6", 9},
        {&emp_method_refine,
         "samples=3,starts=2,start_samples=4,coarsest=1,finest=4,cuts=2,filter=4", 9},
        {&emp_method_mcmc, "samples=3,reset=6", 9},
        {&emp_method_ce, "samples=3,starts=2,start_samples=6,fine=3,coarse=2", 8},
        {&emp_method_post, "samples=3,batches=2,count=4", 8},
        {&emp_method_brkga, "population=5,elite=0.2,mutants=0.2,count=4", 6}};
    small_steps portfolio = {NULL, NULL, 16};

    for (size_t i = 0; i < sizeof searches / sizeof *searches; i++)
        expect_same_bytes(&searches[i]);
    ASSERT_OK(emp_method_find(&portfolio.method, "portfolio", &err));
    expect_same_bytes(&portfolio);
}

static void expect_loaded(int64_t evaluations)
{
    SCOPED(emp_record, emp_record_clear) record;

    ASSERT_OK(emp_record_load(&record, path, &err));
    cr_expect_eq(record.evaluations, evaluations);
    cr_expect(record.is_feasible);
}

Test(checkpoint, writing_them_changes_nothing_and_each_is_a_record_so_far)
{
    emp_run_params params = scripted_params(BUDGET, 1);

    run_undisturbed(&params);
    params.checkpoint = (emp_run_checkpoint){.path = path, .every_s = 1e-9};
    expect_undisturbed(&params, "every", 1);
    leave_checkpoint(2);
    expect_loaded(2 * BATCH);
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
    run(&params);
    params.checkpoint = (emp_run_checkpoint){.path = path, .is_resumed = true};
    params.progress = take_progress;
    params.context = &progress;
    run(&params);
    cr_expect_eq(progress.evaluations, BUDGET);
    cr_expect_eq(progress.resumed, BUDGET);
    cr_expect_gt(progress.elapsed_s, 0.0);
    cr_expect_gt(progress.cpu_s, 0.0);

    leave_checkpoint(1);
    run(&params);
    cr_expect_eq(progress.evaluations, BUDGET);
    cr_expect_eq(progress.resumed, BATCH);
}

static emp_status start(const char *at, bool is_resumed, emp_error *err)
{
    int            batches = 1;
    emp_run_params params = stopped_after(&batches, is_resumed);

    params.checkpoint.path = at;
    return try_run(&params, err);
}

Test(checkpoint, in_the_way_missing_or_nowhere_is_named_before_the_run)
{
    emp_method     plain = scripted_method;
    emp_run_params params = scripted_params(BUDGET, 1);

    EXPECT_REFUSED(start(path, true, &err), EMP_EIO, path);
    EXPECT_REFUSED(start("/nowhere/x.h5", false, &err), EMP_EIO, "/nowhere/x.h5");
    plain.list_state = NULL;
    params.method = &plain;
    params.checkpoint.path = path;
    EXPECT_REFUSED(try_run(&params, &err), EMP_EINVAL, "scripted");
    cr_expect_eq(script.asked, 0);
    leave_checkpoint(1);
    params = stopped_after(&(int){1}, false);
    expect_refused(&params, EMP_EINVAL, "--resume");
}

Test(checkpoint, cut_short_or_damaged_is_refused)
{
    size_t size;

    leave_checkpoint(2);
    char *bytes = scratch_bytes("run.checkpoint.h5", &size);
    for (size_t length = 0; length < size; length += size / 23 + 1) {
        scratch_write("run.checkpoint.h5", bytes, length);
        expect_resume_refused(EMP_EFORMAT, length < 512 ? "is no checkpoint" : "is torn");
    }
    for (size_t at = 512; at < size; at += size / 23 + 1) {
        bytes[at] = (char)(bytes[at] ^ 0x5a);
        scratch_write("run.checkpoint.h5", bytes, size);
        bytes[at] = (char)(bytes[at] ^ 0x5a);
        expect_resume_refused(EMP_EFORMAT, "damaged");
    }
}

static void expect_foreign(const char *bytes, size_t size, const char *part)
{
    scratch_write("run.checkpoint.h5", bytes, size);
    expect_resume_refused(EMP_EFORMAT, part);
}

Test(checkpoint, file_of_another_kind_or_version_is_refused)
{
    size_t size, record_size;

    leave_checkpoint(1);
    char *record = scratch_bytes("run.h5", &record_size); /* of that run */
    char *bytes = scratch_bytes("run.checkpoint.h5", &size);
    expect_foreign(record, record_size, "is no checkpoint");
    expect_foreign("weights\n", 8, "is no checkpoint");
    cr_assert_arr_eq(bytes + 512, "\x89HDF\r\n\x1a\n", 8);
    expect_foreign(bytes + 512, size - 512, "is no checkpoint");
    cr_assert_arr_eq(bytes, "emplace-checkpoint-1 ", 21);
    bytes[19] = '0';
    expect_foreign(bytes, size, "emplace-checkpoint-0");
}

Test(checkpoint, of_other_settings_is_refused)
{
    static const char *const parts[] = {"seed 7 there, 8 here", "\"lr=0.2\" here",
                                        "\"paper\" here", "17 there, 18 here",
                                        "0 there, 60 here"};
    int                      batches = 0;
    emp_run_params           params[5];

    leave_checkpoint(2);
    for (int i = 0; i < 5; i++) params[i] = stopped_after(&batches, true);
    params[0].placer.seed = 8;
    params[1].placer.options = "lr=0.2";
    params[2].placer.preset = "paper";
    params[3].budget_evaluations = BUDGET + 1;
    params[4].budget_s = 60;
    for (int i = 0; i < 5; i++) expect_refused(&params[i], EMP_EINVAL, parts[i]);
    strcpy(problem.problem->overrides, " --forbid cpu");
    expect_resume_refused(EMP_EINVAL, "\"\" there, \" --forbid cpu\" here");
    task_destroy(&problem);
    problem = task_chain(2 * SMALL);
    expect_resume_refused(EMP_EINVAL, "graph_hash");
}

typedef struct {
    emp_record     record;
    int64_t        proposed[2];
    emp_checkpoint file;
} contents;

static emp_status read_contents(contents *c, const emp_run_params *params, size_t count,
                                const char *commit, emp_error *err)
{
    *c = (contents){
        .file = {.record = &c->record,
                 .array_count = 1,
                 .array = {{"proposed", EMP_ARRAY_INT64, count, c->proposed}}}};
    emp_run_describe(&c->record, problem.problem, params);
    c->record.decision.op_count = problem.graph->op_count;
    c->record.device_count = problem.machine->device_count;
    if (commit != NULL) snprintf(c->record.commit, sizeof c->record.commit, "%s", commit);
    snprintf(c->file.code, sizeof c->file.code, "%s", emp_manifest_get().code);
    return emp_checkpoint_load(&c->file, path, err);
}

static void write_contents(contents *c)
{
    ASSERT_OK(emp_checkpoint_save(path, &c->file, &err));
    emp_record_clear(&c->record);
}

Test(checkpoint, seconds_already_spent_count)
{
    emp_run_params params = scripted_params(0, 1);
    SCOPED(emp_record, emp_record_clear) record;
    contents c;
    int      batches = 2;

    params.budget_s = 1000;
    params.checkpoint.path = path;
    params.stop = &stop_flag;
    params.progress = count_down;
    params.context = &batches;
    stop_flag = 0;
    run(&params);
    ASSERT_OK(read_contents(&c, &params, 1, NULL, &err));
    cr_expect(c.file.elapsed_s > 0 && c.file.elapsed_s < 1000);
    cr_expect_eq(c.proposed[0], 2 * BATCH);
    c.file.elapsed_s = 1000;
    write_contents(&c);

    stop_flag = 0;
    params.checkpoint.is_resumed = true;
    ASSERT_OK(emp_run(&record, problem.problem, &params, NULL));
    cr_expect_str_eq(record.stopped_by, "budget");
    cr_expect_eq(record.evaluations, 2 * BATCH);
}

/* The run if this program had been built from other sources, or its state had another
 * shape or made no sense, which the method finds. */
Test(checkpoint, of_other_sources_or_state_is_refused)
{
    emp_run_params params = scripted_params(BUDGET, 1);
    contents       c;

    leave_checkpoint(2);
    EXPECT_REFUSED(read_contents(&c, &params, 2, NULL, &err), EMP_EFORMAT, "proposed");
    emp_record_clear(&c.record);
    EXPECT_REFUSED(read_contents(&c, &params, 1, "0123", &err), EMP_EINVAL,
                   "\"0123\" here");
    emp_record_clear(&c.record);
    ASSERT_OK(read_contents(&c, &params, 1, NULL, &err));
    c.proposed[0] = -1;
    write_contents(&c);
    params.checkpoint = (emp_run_checkpoint){.path = path, .is_resumed = true};
    EXPECT_REFUSED(try_run(&params, &err), EMP_EFORMAT, path);
    EXPECT_REFUSED(try_run(&params, &err), EMP_EFORMAT, "state of scripted");
}

/* Leaves a checkpoint of which a program with another compiler or other kernels says that it has written it. */
static void leave_checkpoint_of(const char *code, const char *kernels)
{
    emp_run_params params = scripted_params(BUDGET, 1);
    contents       c;

    leave_checkpoint(2);
    ASSERT_OK(read_contents(&c, &params, 1, NULL, &err));
    if (code != NULL) snprintf(c.file.code, sizeof c.file.code, "%s", code);
    snprintf(c.file.kernels, sizeof c.file.kernels, "%s", kernels);
    write_contents(&c);
}

static char heard[1024];

static void hear(void *context, const char *sentence)
{
    (void)context;
    snprintf(heard, sizeof heard, "%s", sentence);
}

Test(checkpoint, of_another_compiler_is_refused_and_of_other_kernels_goes_on)
{
    emp_run_params params = scripted_params(BUDGET, 1);

    leave_checkpoint_of("Zebra 1.0 x86_64 -O9", "");
    expect_resume_refused(EMP_EINVAL, "Zebra 1.0 x86_64 -O9");
    if (emp_openblas_open(NULL) != EMP_OK) cr_skip("OpenBLAS is not there");
    leave_checkpoint_of(NULL, "Zebra");
    params.checkpoint = (emp_run_checkpoint){.path = path, .is_resumed = true};
    params.warn = hear;
    run(&params);
    cr_expect_not_null(strstr(heard, "Zebra"), "%s", heard);
    heard[0] = '\0';
    leave_checkpoint_of(NULL, emp_openblas_core_name());
    run(&params);
    cr_expect_str_eq(heard, "");
}

/* A disk that is full for a while. */
static struct {
    struct rlimit full, empty;
    int           warnings;
    bool          is_waiting;
} disk;

static void prepare_disk(void)
{
    cr_assert_eq(getrlimit(RLIMIT_FSIZE, &disk.empty), 0);
    disk.full = (struct rlimit){1024, disk.empty.rlim_max};
    signal(SIGXFSZ, SIG_IGN);
}

static void fill_the_disk(void *context, const emp_progress *progress)
{
    const struct timespec retry_pause = {1, 100 * 1000 * 1000};
    atomic_int           *stop = (atomic_int *)context;

    if (progress->evaluations == 2 * BATCH) {
        cr_assert_eq(setrlimit(RLIMIT_FSIZE, &disk.full), 0);
        if (stop != NULL) *stop = SIGINT;
    }
    if (disk.is_waiting) nanosleep(&retry_pause, NULL);
    disk.is_waiting = false;
}

static void empty_the_disk(void *context, const char *sentence)
{
    (void)context;
    cr_assert_eq(setrlimit(RLIMIT_FSIZE, &disk.empty), 0);
    cr_expect_not_null(strstr(sentence, "run.checkpoint.h5"), "%s", sentence);
    disk.warnings++;
    disk.is_waiting = true;
}

Test(checkpoint, full_disk_ends_the_run_and_keeps_the_last_one)
{
    emp_run_params params = scripted_params(BUDGET, 1);
    emp_error      err = {0};

    run_undisturbed(&params);
    prepare_disk();
    params.checkpoint = (emp_run_checkpoint){.path = path, .every_s = 1e-9};
    params.progress = fill_the_disk;
    emp_status st = try_run(&params, &err);
    cr_assert_eq(setrlimit(RLIMIT_FSIZE, &disk.empty), 0);
    cr_expect_eq(st, EMP_EIO);
    cr_expect_not_null(strstr(err.msg, "run.checkpoint.h5"), "%s", err.msg);
    expect_loaded(2 * BATCH);
    params.progress = NULL;
    params.checkpoint.is_resumed = true;
    expect_undisturbed(&params, "goes on", 2);
}

Test(checkpoint, full_disk_warns_who_listens_and_is_tried_again)
{
    emp_run_params params = scripted_params(BUDGET, 1);

    run_undisturbed(&params);
    prepare_disk();
    params.checkpoint = (emp_run_checkpoint){.path = path, .every_s = 1e-9};
    params.progress = fill_the_disk;
    params.warn = empty_the_disk;
    expect_undisturbed(&params, "warned", disk.warnings);
    cr_expect_eq(disk.warnings, 1);
    expect_loaded(BUDGET);
}

Test(checkpoint, who_is_interrupted_on_a_full_disk_keeps_the_result)
{
    emp_run_params params = scripted_params(BUDGET, 1);
    SCOPED(emp_record, emp_record_clear) record;

    prepare_disk();
    stop_flag = 0;
    params.checkpoint = (emp_run_checkpoint){.path = path, .every_s = 1000};
    params.progress = fill_the_disk;
    params.context = &stop_flag;
    params.warn = empty_the_disk;
    params.stop = &stop_flag;
    ASSERT_OK(emp_run(&record, problem.problem, &params, &err));
    cr_expect_eq(disk.warnings, 1);
    cr_expect_str_eq(record.stopped_by, "interrupt");
    cr_expect_eq(record.evaluations, 2 * BATCH);
}

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
    cr_assert_eq(setrlimit(RLIMIT_FSIZE, &disk.full), 0);
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
    SCOPED(emp_record, emp_record_clear) record;

    EXPECT_REFUSED(serve_alone(tell_that_all_have_gone, &err), EMP_EEXTERNAL,
                   "rank 1 has gone");
    ASSERT_OK(emp_record_load(&record, path, &err));
}

Test(checkpoint, one_that_is_not_saved_then_is_told)
{
    emp_error err = {0};

    prepare_disk();
    emp_status st = serve_alone(lose_the_disk, &err);
    cr_assert_eq(setrlimit(RLIMIT_FSIZE, &disk.empty), 0);
    cr_expect_eq(st, EMP_EIO);
    cr_expect_not_null(strstr(err.msg, "rank 1 has gone"), "%s", err.msg);
    cr_expect_not_null(strstr(err.msg, "run.checkpoint.h5"), "%s", err.msg);
}

Test(checkpoint, what_a_killed_writer_left_is_removed)
{
    int            batches = 0;
    emp_run_params params = stopped_after(&batches, true);

    leave_checkpoint(2);
    scratch_write("run.checkpoint.h5.tmp0", "half", 4);
    run(&params);
    cr_expect_null(scratch_find("run.checkpoint.h5.tmp0"));
}

static emp_status run_with_failures(long allowed, bool is_resumed)
{
    int            batches = 0;
    emp_run_params params = stopped_after(&batches, is_resumed);

    remove(path);
    if (is_resumed) leave_checkpoint(2);
    stop_flag = 0;
    params.checkpoint.every_s = 1e-9;
    emp_mem_fail_after(allowed);
    const emp_status st = try_run(&params, NULL);
    emp_mem_fail_after(-1);
    return st;
}

Test(checkpoint, starting_and_resuming_survive_every_allocation_failure)
{
    long live = emp_mem_live_blocks();

    for (int is_resumed = 0; is_resumed <= 1; is_resumed++) {
        emp_status st = EMP_ENOMEM;
        for (long allowed = 0; st != EMP_OK; allowed++) {
            st = run_with_failures(allowed, is_resumed != 0);
            cr_assert(st == EMP_OK || st == EMP_ENOMEM, "%s", emp_status_str(st));
            cr_assert_eq(emp_mem_live_blocks(), live, "leak after %ld allocations",
                         allowed);
            if (is_resumed == 0) continue;
            emp_record record; /* still one to go on from */
            ASSERT_OK(emp_record_load(&record, path, &err));
            cr_assert_geq(record.evaluations, 2 * BATCH);
            emp_record_clear(&record);
        }
    }
}

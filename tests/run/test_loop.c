// SPDX-License-Identifier: GPL-3.0-or-later
/* The loop that all methods share: what a budget, a best and a seed mean. */
#include <stdatomic.h>

#include "base/text/text.h"
#include "base/work.h"
#include "tests/run/scripted.h"
#include "tests/test.h"

enum { CPU = 0, GPU = 1, SMALL = 1000, BATCH = 4 };

/* Two tensors of it fit in the CPU's memory, one does not fit in a GPU's. */
static const int64_t BIG = INT64_C(4) << 30;

static task       t;
static emp_record r; /* of the last run */

static void set_up(void) { scripted_set_up(&t, SMALL, BATCH); }

static void tear_down(void)
{
    emp_record_clear(&r);
    scripted_tear_down(&t);
}

TestSuite(runner, .init = set_up, .fini = tear_down);

static void run(const emp_run_params *params)
{
    emp_record_clear(&r);
    ASSERT_OK(emp_run(&r, t.problem, params, &err));
}

static void expect_end(const emp_run_params *params, int64_t evaluations,
                       const char *stopped_by)
{
    run(params);
    cr_expect_eq(r.evaluations, evaluations, "%lld evaluations",
                 (long long)r.evaluations);
    cr_expect_str_eq(r.stopped_by, stopped_by);
}

static void expect_refused(const emp_run_params *params, emp_status status,
                           const char *part)
{
    emp_record_clear(&r);
    EXPECT_REFUSED(emp_run(&r, t.problem, params, &err), status, part);
}

/* All ops of the chain and the tensors of a large one. */
static void enlarge(void)
{
    task_destroy(&t);
    t = task_chain(BIG);
}

static void keep_progress(void *context, const emp_progress *progress)
{
    *(emp_progress *)context = *progress;
}

Test(runner, budget_is_used_up_and_not_exceeded)
{
    const emp_run_params params = scripted_params(10, 1),
                         long_params = scripted_params(100, 1);
    emp_run_params seconds = scripted_params(0, 1);

    expect_end(&params, 10, "budget");
    cr_expect_eq(script.told, 10);
    cr_expect(script.is_told_order);
    cr_expect_eq(r.point_count, 3); /* 4 + 4 + 2 */
    cr_expect_eq(r.curve[2].evaluations, 10);
    script = (scripted_plan){.batch = BATCH, .end_after = 5};
    expect_end(&long_params, 5, "method");
    script = (scripted_plan){.batch = BATCH};
    seconds.budget_s = 1e-9;
    expect_end(&seconds, BATCH, "budget"); /* one batch at least */
}

Test(runner, cpu_seconds_end_a_run_and_are_told)
{
    emp_run_params params = scripted_params(0, 1);
    emp_progress   progress = {0};

    params.budget_cpu_s = 0.02;
    params.progress = keep_progress;
    params.context = &progress;
    double before_s = emp_clock_thread_s();
    run(&params);
    double used_s = emp_clock_thread_s() - before_s;
    cr_expect_str_eq(r.stopped_by, "budget");
    cr_expect_eq(r.budget_cpu_s, 0.02);
    cr_expect_geq(used_s, 0.02);
    cr_expect(progress.cpu_s > 0.01 && progress.cpu_s <= used_s, "%g s", progress.cpu_s);
    params.placer.threads = 2;
    expect_refused(&params, EMP_EINVAL, "single thread");
    params = scripted_params(6, 2);
    params.progress = keep_progress;
    params.context = &progress;
    run(&params);
    cr_expect(isnan(progress.cpu_s), "the clock of one thread does not see the other");
}

Test(runner, remaining_time_is_the_nearer_limit)
{
    emp_progress p = {.evaluations = 10, .budget_evaluations = 40, .elapsed_s = 5};

    cr_expect_float_eq(emp_progress_remaining_s(&p), 5.0 * (40 - 10) / 10, 1e-12);
    p.budget_s = 8;
    cr_expect_float_eq(emp_progress_remaining_s(&p), 8.0 - 5.0, 1e-12);
    p.budget_cpu_s = 6;
    p.cpu_s = 4.5;
    cr_expect_float_eq(emp_progress_remaining_s(&p), 6.0 - 4.5, 1e-12);
}

Test(runner, best_is_the_fastest)
{
    emp_run_params params = scripted_params(50, 2);
    emp_sim_result best = {0};
    double         least_s = INFINITY;

    params.best = &best;
    script.batch = 7;
    run(&params);
    for (int32_t i = 0; i < r.point_count; i++) {
        cr_expect_leq(r.curve[i].best_s, least_s, "best so far got worse at tell %d", i);
        cr_expect_geq(r.curve[i].mean_s, r.curve[i].best_s * (1 - 1e-12));
        least_s = r.curve[i].best_s;
    }
    cr_expect_eq(r.best_step_time_s, least_s);
    cr_expect_geq(r.median_s, r.best_step_time_s);
    cr_expect_eq(r.feasible_count, 50);
    cr_expect_eq((double)best.step_time_ns * 1e-9, r.best_step_time_s);
    cr_expect_eq(best.fingerprint, r.fingerprint);
    cr_expect_eq(best.traffic_bytes, r.traffic_bytes);
}

Test(runner, first_of_equals_is_kept)
{
    const emp_run_params params = scripted_params(2, 1);

    script = (scripted_plan){.batch = 2, .device = {GPU, GPU + 1}, .device_count = 2};
    run(&params);
    cr_expect_eq(r.decision.device_of_op[t.graph->op_count - 1], GPU);
}

/* The GPU would be faster, but is too small; the CPU comes second. */
Test(runner, what_does_not_fit_is_never_best_beside_what_fits)
{
    const emp_run_params params = scripted_params(3, 1);

    enlarge();
    script = (scripted_plan){.batch = 1, .device = {GPU, CPU, GPU}, .device_count = 3};
    run(&params);
    cr_expect(r.is_feasible);
    cr_expect_eq(r.decision.device_of_op[t.graph->op_count - 1], CPU);
    cr_expect_eq(r.feasible_count, 1);
    cr_expect_eq(r.median_s, r.best_step_time_s);
    cr_expect(isnan(r.curve[0].best_s));
    cr_expect_eq(r.curve[0].feasible_count, 0);
    cr_expect_lt(r.curve[0].mean_s, r.best_step_time_s, "the GPU must be the faster one");
    cr_expect_eq(r.curve[2].best_s, r.best_step_time_s);
    cr_expect_gt(script.overflow_frac, 0.0, "the third does not fit");
    cr_expect_str_empty(r.oom_device);
}

Test(runner, nothing_that_fits_is_said_so)
{
    const emp_run_params params = scripted_params(2, 1);

    enlarge();
    script = (scripted_plan){.batch = 1, .device = {GPU}, .device_count = 1};
    run(&params);
    const int64_t memory = t.machine->device[GPU].memory_bytes;
    cr_expect_not(r.is_feasible);
    cr_expect_str_eq(r.oom_device, "gpu:0");
    cr_expect(isnan(r.median_s) && isnan(r.curve[1].best_s));
    cr_expect_gt(r.peak_bytes[GPU], memory);
    cr_expect_float_eq(script.overflow_frac,
                       (double)r.peak_bytes[GPU] / (double)memory - 1.0, 1e-12,
                       "the method hears how much was missing");
}

static void describe(char method[EMP_RECORD_NAME_BYTES], int length, const char *end)
{
    char           name[128] = "cmd:";
    emp_run_params params = scripted_params(4, 1);
    emp_method     outside = *params.method;
    emp_record     record;

    memset(name + 4, 'x', (size_t)length - 4);
    strcpy(name + length, end);
    outside.name = name;
    params.method = &outside;
    emp_run_describe(&record, t.problem, &params);
    memcpy(method, record.method, sizeof record.method);
}

Test(runner, methods_with_long_names_are_not_taken_for_each_other)
{
    char a[EMP_RECORD_NAME_BYTES], b[EMP_RECORD_NAME_BYTES];

    describe(a, EMP_RECORD_NAME_BYTES - 2, "1");
    cr_expect_eq(a[EMP_RECORD_NAME_BYTES - 2], '1', "it fits: %s", a);
    describe(a, 100, "1");
    describe(b, 100, "2");
    cr_expect_str_neq(a, b);
    cr_expect_eq(strncmp(a, b, EMP_RECORD_NAME_BYTES - 10), 0);
}

/* Half a character is no text, so JSON could not have it. */
Test(runner, a_long_path_is_cut_between_characters)
{
    const emp_run_params params = scripted_params(4, 1);

    for (int first = 0; first < 2; first++) {
        char         path[401] = "a";
        emp_problem *problem = NULL;
        emp_record   record;
        for (int i = first; i + 2 < (int)sizeof path; i += 2)
            memcpy(path + i, "\xc3\xa9", 2); /* e with an acute accent */
        path[sizeof path - 1] = '\0';
        ASSERT_OK(emp_problem_create(&problem, t.graph, t.machine, &t.problem->runtime,
                                     path, &err));
        emp_run_describe(&record, problem, &params);
        cr_expect(emp_text_is_utf8(record.workload), "%s", record.workload);
        cr_expect_geq(strlen(record.workload), EMP_RECORD_TEXT_BYTES - 2);
        emp_problem_destroy(problem);
    }
}

/* Two runs that differ in what a record cuts off would be taken for one. */
Test(runner, options_that_a_record_cannot_hold_are_refused)
{
    char           options[EMP_RECORD_TEXT_BYTES + 1];
    emp_run_params params = scripted_params(4, 1);

    memset(options, 'x', sizeof options);
    options[EMP_RECORD_TEXT_BYTES - 1] = '\0';
    params.placer.options = options;
    run(&params);
    cr_expect_str_eq(r.options, options);
    options[EMP_RECORD_TEXT_BYTES - 1] = 'x';
    options[EMP_RECORD_TEXT_BYTES] = '\0';
    expect_refused(&params, EMP_EINVAL, "256 characters");
}

Test(runner, record_says_what_was_run)
{
    emp_run_params params = scripted_params(4, 1);

    params.placer.preset = "paper";
    run(&params);
    cr_expect_str_eq(r.method, "scripted");
    cr_expect_str_eq(r.preset, "paper");
    cr_expect_str_eq(r.workload, "tiny");
    cr_expect_str_eq(r.machine, "k40x2");
    cr_expect_str_eq(r.runtime, "tf-r1.3");
    cr_expect_eq(r.seed, 7);
    cr_expect_eq(r.graph_hash, t.graph->hash);
    cr_expect_neq(r.runtime_hash, 0);
    cr_expect_eq(r.device_count, 3);
    cr_expect_str_eq(r.device_name[2], "gpu:1");
    cr_expect_str_neq(r.commit, "");
    cr_expect_eq(r.metric_count, 2);
    cr_expect_str_eq(r.metric_name[1], "proposed");
    cr_expect_eq(r.metric[1], 4);
    const double mean_s = r.curve[0].mean_s;
    params.placer.seed = 8;
    run(&params);
    cr_expect_neq(r.curve[0].mean_s, mean_s, "another seed gives another run");
}

static atomic_int stop_flag;

static void stop_after_two_batches(void *context, const emp_progress *progress)
{
    int *calls = (int *)context;

    if (++*calls == 2) stop_flag = 1;
    cr_expect_eq(progress->evaluations, BATCH * *calls);
    cr_expect_eq(progress->budget_evaluations, 1000);
}

Test(runner, interrupt_ends_after_the_batch_and_keeps_the_best)
{
    emp_run_params params = scripted_params(1000, 1);
    int            calls = 0;

    params.stop = &stop_flag;
    params.progress = stop_after_two_batches;
    params.context = &calls;
    expect_end(&params, 2 * BATCH, "interrupt");
    cr_expect(r.is_feasible);
    cr_expect_eq(script.told, 2 * BATCH);
}

/* Whoever asks for it: a person, or a program that stops all runs of a table. */
Test(runner, stop_with_the_budget_spent_comes_too_late)
{
    emp_run_params params = scripted_params(BATCH, 1);

    stop_flag = 1;
    params.stop = &stop_flag;
    expect_end(&params, BATCH, "budget");
    params.budget_evaluations = 0;
    params.budget_s = 1e-9;
    expect_end(&params, BATCH, "budget");
}

static emp_run_params params_of_one_that_asks_again(const char *checkpoint)
{
    static emp_method again;
    emp_run_params    params = scripted_params(1000, 1);

    again = scripted_method;
    again.asks_again = true;
    params.method = &again;
    params.stop = &script.stop;
    params.checkpoint.path = checkpoint;
    return params;
}

/* The batch in which the run is stopped is not even scored; what was scored before a method gives
 * its batch up counts, unless a checkpoint lets a resumed run ask for it again. */
Test(runner, interrupt_ends_without_a_batch_that_can_be_asked_for_again)
{
    static const struct {
        scripted_plan plan;
        int64_t       budget, evaluations, told;
        bool          is_saved;
    } cases[] = {{{.stop_after = 12}, 1000, 8, 8, false},
                 {{.stop_after = 12}, 12, 8, 8, false},
                 {{.stop_after = 4}, 12, 4, 4, false}, /* there is to be a placement */
                 {{.stop_after = 12, .is_given_up = true}, 1000, 8, 8, false},
                 {{.give_up_after = 12}, 1000, 12, 8, false},
                 {{.give_up_after = 12}, 1000, 8, 8, true},
                 {{.give_up_after = 4}, 1000, 4, 0, false}};

    const char *path = scratch_path("run.checkpoint.h5");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        emp_run_params params =
            params_of_one_that_asks_again(cases[i].is_saved ? path : NULL);
        params.budget_evaluations = cases[i].budget;
        script = cases[i].plan;
        script.batch = BATCH;
        run(&params);
        cr_expect_str_eq(r.stopped_by, "interrupt", "case %zu", i);
        cr_expect(r.evaluations == cases[i].evaluations && script.told == cases[i].told,
                  "case %zu: %lld evaluations, %lld told", i, (long long)r.evaluations,
                  (long long)script.told);
    }
}

/* Its checkpoint stays the one it began with, from which a run goes on as if there had been none. */
Test(runner, method_that_gives_up_its_first_batch_has_no_placement)
{
    emp_run_params params =
        params_of_one_that_asks_again(scratch_path("run.checkpoint.h5"));

    params.budget_evaluations = 8;
    for (int in_tell = 0; in_tell < 2; in_tell++) {
        script = (scripted_plan){.batch = BATCH,
                                 .stop_after = in_tell ? 0 : BATCH,
                                 .is_given_up = !in_tell,
                                 .give_up_after = in_tell ? BATCH : 0};
        expect_refused(&params, EMP_EINTERRUPTED, "first batch");
        params.checkpoint.is_resumed = true;
        script = (scripted_plan){.batch = BATCH};
        run(&params);
        cr_expect_eq(script.told, 8);
        params.checkpoint.is_resumed = false;
        remove(params.checkpoint.path);
    }
}

static atomic_int kept_count;

/* Nothing is kept before the first batch has its scores, and something after it. */
static void count_kept(void *context, const emp_progress *progress)
{
    int *calls = (int *)context;

    (void)progress;
    ++*calls;
    cr_expect_eq(atomic_load(&kept_count), 1);
}

Test(runner, a_run_has_something_to_keep_from_its_first_batch_on)
{
    emp_run_params params = scripted_params(8, 1);
    int            calls = 0;

    params.keeping = &kept_count;
    params.progress = count_kept;
    params.context = &calls;
    run(&params);
    cr_expect_eq(calls, 2);
    cr_expect_eq(atomic_load(&kept_count), 1, "the caller saves it");
    atomic_store(&kept_count, 0);
    script.fail_tell = EMP_EEXTERNAL;
    expect_refused(&params, EMP_EEXTERNAL, "scripted failure");
    cr_expect_eq(calls, 2);
    cr_expect_eq(atomic_load(&kept_count), 0, "of a failure nothing is kept");
}

/* The runners-up begin with the best of the record. */
Test(runner, keeps_runners_up)
{
    emp_run_params params = scripted_params(8, 1);
    SCOPED(emp_runners_up, emp_runners_up_clear) runners_up = {.limit = 4};

    params.runners_up = &runners_up;
    run(&params);
    cr_assert_geq(runners_up.count, 1);
    cr_expect_eq((double)runners_up.place[0].step_time_ns * 1e-9, r.best_step_time_s);
    cr_expect_arr_eq(runners_up.place[0].decision.device_of_op, r.decision.device_of_op,
                     (size_t)r.decision.op_count * sizeof(emp_device_id));
}

Test(runner, methods_that_cannot_run_are_named)
{
    emp_run_params params = scripted_params(8, 1), endless = scripted_params(0, 1);
    emp_method     plain = *params.method;

    script = (scripted_plan){.batch = 0};
    expect_refused(&params, EMP_EINFEASIBLE, "scripted");
    expect_refused(&endless, EMP_EINVAL, "budget");
    plain.presets = NULL;
    params.method = &plain;
    params.placer.preset = "paper";
    expect_refused(&params, EMP_EINVAL, "\"paper\"");
}

Test(runner, survives_every_allocation_failure)
{
    emp_run_params params = scripted_params(6, 1);
    emp_status     st = EMP_ENOMEM;
    long           live = emp_mem_live_blocks(), allowed = 0;

    script = (scripted_plan){.batch = 3};
    for (; st != EMP_OK; allowed++) {
        emp_mem_fail_after(allowed);
        st = emp_run(&r, t.problem, &params, NULL);
        emp_mem_fail_after(-1);
        emp_record_clear(&r);
        cr_assert(st == EMP_OK || st == EMP_ENOMEM, "%s", emp_status_str(st));
        cr_assert_eq(emp_mem_live_blocks(), live, "leak after %ld allocations", allowed);
    }
    cr_expect_gt(allowed, 5);
}

// SPDX-License-Identifier: GPL-3.0-or-later
/* The loop that all methods share: what a budget, a best and a seed mean. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text/json.h"
#include "base/work.h"
#include "run/methods.h"
#include "tests/run/scripted.h"
#include "tests/support/expect.h"
#include "tests/support/scratch.h"

enum { CPU = 0, GPU = 1, SMALL = 1000 };

/* Two tensors of it fit in the CPU's memory, one does not fit in a GPU's. */
static const int64_t BIG = INT64_C(4) << 30;

static emp_record run(const task *t, const emp_run_params *params)
{
    emp_record record;

    MUST(emp_run(&record, t->problem, params, &why));
    return record;
}

Test(runner, budget_is_used_up_and_not_exceeded)
{
    task           t = task_chain(SMALL);
    emp_run_params params = scripted_params(10, 1);

    script = (scripted_plan){.batch = 4};
    emp_record r = run(&t, &params);
    cr_expect_eq(r.evaluations, 10);
    cr_expect_eq(script.told, 10);
    cr_expect(script.is_told_order);
    cr_expect_eq(r.point_count, 3); /* 4 + 4 + 2 */
    cr_expect_eq(r.curve[2].evaluations, 10);
    cr_expect_str_eq(r.stopped_by, "budget");
    emp_record_clear(&r);
    task_destroy(&t);
    cr_expect_eq(emp_mem_live_blocks(), 0);
}

Test(runner, preset_of_a_method_without_any_is_refused)
{
    task           t = task_chain(SMALL);
    emp_run_params params = scripted_params(4, 1);
    emp_method     plain = *params.method;
    emp_record     record;

    plain.presets = NULL;
    params.method = &plain;
    params.placer.preset = "paper";
    MUST_FAIL(EMP_EINVAL, "method scripted has no presets, not \"paper\"",
              emp_run(&record, t.problem, &params, &why));
    emp_record_clear(&record);
    task_destroy(&t);
    cr_expect_eq(emp_mem_live_blocks(), 0);
}

Test(runner, method_may_end_by_itself)
{
    task           t = task_chain(SMALL);
    emp_run_params params = scripted_params(100, 1);

    script = (scripted_plan){.batch = 4, .end_after = 5};
    emp_record r = run(&t, &params);
    cr_expect_eq(r.evaluations, 5);
    cr_expect_str_eq(r.stopped_by, "method");
    emp_record_clear(&r);
    task_destroy(&t);
}

static void keep_progress(void *context, const emp_progress *progress)
{
    *(emp_progress *)context = *progress;
}

Test(runner, seconds_end_a_run_after_at_least_one_batch)
{
    task           t = task_chain(SMALL);
    emp_run_params params = scripted_params(0, 1);

    params.budget_s = 1e-9;
    script = (scripted_plan){.batch = 3};
    emp_record r = run(&t, &params);
    cr_expect_eq(r.evaluations, 3);
    cr_expect_str_eq(r.stopped_by, "budget");
    emp_record_clear(&r);
    task_destroy(&t);
}

Test(runner, cpu_seconds_end_a_run_and_are_told)
{
    task           t = task_chain(SMALL);
    emp_run_params params = scripted_params(0, 1);
    emp_progress   progress = {0};

    params.budget_cpu_s = 0.02;
    params.progress = keep_progress;
    params.context = &progress;
    script = (scripted_plan){.batch = 3};
    double     before_s = emp_clock_thread_s();
    emp_record r = run(&t, &params);
    double     used_s = emp_clock_thread_s() - before_s;
    cr_expect_str_eq(r.stopped_by, "budget");
    cr_expect_eq(r.budget_cpu_s, 0.02);
    cr_expect_geq(r.evaluations, 3);
    cr_expect_geq(used_s, 0.02);
    cr_expect(progress.cpu_s > 0.01 && progress.cpu_s <= used_s, "%g s", progress.cpu_s);
    emp_record_clear(&r);
    params.placer.threads = 2;
    MUST_FAIL(EMP_EINVAL, "single thread", emp_run(&r, t.problem, &params, &why));
    emp_record_clear(&r);
    params = scripted_params(6, 2);
    params.progress = keep_progress;
    params.context = &progress;
    r = run(&t, &params);
    cr_expect(isnan(progress.cpu_s), "the clock of one thread does not see the other");
    emp_record_clear(&r);
    task_destroy(&t);
}

Test(runner, best_is_the_fastest)
{
    task           t = task_chain(SMALL);
    emp_run_params params = scripted_params(50, 1);

    script = (scripted_plan){.batch = 7};
    emp_record r = run(&t, &params);
    double     least_s = INFINITY;
    for (int32_t i = 0; i < r.point_count; i++) {
        cr_expect_leq(r.curve[i].best_s, least_s, "best so far got worse at tell %d", i);
        cr_expect_geq(r.curve[i].mean_s, r.curve[i].best_s * (1 - 1e-12));
        least_s = r.curve[i].best_s;
    }
    cr_expect_eq(r.best_step_time_s, least_s);
    cr_expect_geq(r.median_s, r.best_step_time_s);
    cr_expect_eq(r.feasible_count, 50);
    emp_record_clear(&r);
    task_destroy(&t);
}

Test(runner, gives_what_the_oracle_says_of_the_best)
{
    task           t = task_chain(SMALL);
    emp_run_params params = scripted_params(20, 2);
    emp_sim_result best = {0};

    params.best = &best;
    script = (scripted_plan){.batch = 5};
    emp_record r = run(&t, &params);
    cr_expect_eq((double)best.step_time_ns * 1e-9, r.best_step_time_s);
    cr_expect_eq(best.fingerprint, r.fingerprint);
    cr_expect_eq(best.traffic_bytes, r.traffic_bytes);
    emp_record_clear(&r);
    task_destroy(&t);
}

Test(runner, first_of_equals_is_kept)
{
    task           t = task_chain(SMALL);
    emp_run_params params = scripted_params(2, 1);

    script = (scripted_plan){.batch = 2, .device = {GPU, GPU + 1}, .device_count = 2};
    emp_record r = run(&t, &params);
    cr_expect_eq(r.decision.device_of_op[t.graph->op_count - 1], GPU);
    emp_record_clear(&r);
    task_destroy(&t);
}

Test(runner, what_does_not_fit_is_never_best_beside_what_fits)
{
    task           t = task_chain(BIG);
    emp_run_params params = scripted_params(3, 1);

    /* The GPU would be faster, but is too small; the CPU comes second and third. */
    script = (scripted_plan){.batch = 1, .device = {GPU, CPU, GPU}, .device_count = 3};
    emp_record r = run(&t, &params);
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
    emp_record_clear(&r);
    task_destroy(&t);
}

Test(runner, nothing_that_fits_is_said_so)
{
    task           t = task_chain(BIG);
    emp_run_params params = scripted_params(2, 1);

    script = (scripted_plan){.batch = 1, .device = {GPU}, .device_count = 1};
    emp_record r = run(&t, &params);
    cr_expect_not(r.is_feasible);
    cr_expect_str_eq(r.oom_device, "gpu:0");
    cr_expect(isnan(r.median_s));
    cr_expect(isnan(r.curve[1].best_s));
    cr_expect_gt(r.peak_bytes[GPU], t.machine->device[GPU].memory_bytes);
    cr_expect_float_eq(
        script.overflow_frac,
        (double)r.peak_bytes[GPU] / (double)t.machine->device[GPU].memory_bytes - 1.0,
        1e-12, "the method hears how much was missing");
    emp_record_clear(&r);
    task_destroy(&t);
}

/* What a record says of a method whose name has \a length characters and then \a end. */
static void describe(char method[EMP_RECORD_NAME_BYTES], task *t, int length,
                     const char *end)
{
    char           name[128] = "cmd:";
    emp_run_params params = scripted_params(4, 1);
    emp_method     outside = *params.method;
    emp_record     record;

    memset(name + 4, 'x', (size_t)length - 4);
    strcpy(name + length, end);
    outside.name = name;
    params.method = &outside;
    emp_run_describe(&record, t->problem, &params);
    memcpy(method, record.method, sizeof record.method);
}

Test(runner, methods_with_long_names_are_not_taken_for_each_other)
{
    char a[EMP_RECORD_NAME_BYTES], b[EMP_RECORD_NAME_BYTES];
    task t = task_chain(SMALL);

    describe(a, &t, EMP_RECORD_NAME_BYTES - 2, "1");
    cr_expect_eq(a[EMP_RECORD_NAME_BYTES - 2], '1', "it fits: %s", a);
    describe(a, &t, 100, "1");
    describe(b, &t, 100, "2");
    cr_expect_str_neq(a, b);
    cr_expect_eq(strncmp(a, b, EMP_RECORD_NAME_BYTES - 10), 0);
    task_destroy(&t);
}

/* Half a character is no text, so JSON could not have it. */
Test(runner, a_long_path_is_cut_between_characters)
{
    static const char e_acute[] = "\xc3\xa9";
    char              path[401];

    for (int first = 0; first < 2; first++) {
        task           t = task_chain(SMALL);
        emp_run_params params = scripted_params(4, 1);
        emp_problem   *problem = NULL;
        emp_record     record;
        memset(path, 'a', sizeof path);
        for (int i = first; i + 2 < (int)sizeof path; i += 2)
            memcpy(path + i, e_acute, 2);
        path[sizeof path - 1] = '\0';
        MUST(emp_problem_create(&problem, t.graph, t.machine, &t.problem->runtime, path,
                                NULL));
        emp_run_describe(&record, problem, &params);
        cr_expect(emp_json_is_text(record.workload), "%s", record.workload);
        cr_expect_geq(strlen(record.workload), EMP_RECORD_TEXT_BYTES - 2);
        emp_problem_destroy(problem);
        task_destroy(&t);
    }
}

/* Two runs that differ in what a record cuts off would be taken for one. */
Test(runner, options_that_a_record_cannot_hold_are_refused)
{
    char           options[EMP_RECORD_TEXT_BYTES + 1];
    task           t = task_chain(SMALL);
    emp_run_params params = scripted_params(4, 1);
    emp_record     refused;

    script = (scripted_plan){.batch = 4};
    memset(options, 'x', sizeof options);
    options[EMP_RECORD_TEXT_BYTES - 1] = '\0';
    params.placer.options = options;
    emp_record r = run(&t, &params);
    cr_expect_str_eq(r.options, options);
    emp_record_clear(&r);
    options[EMP_RECORD_TEXT_BYTES - 1] = 'x';
    options[EMP_RECORD_TEXT_BYTES] = '\0';
    MUST_FAIL(EMP_EINVAL, "256 characters", emp_run(&refused, t.problem, &params, &why));
    emp_record_clear(&refused);
    task_destroy(&t);
    cr_expect_eq(emp_mem_live_blocks(), 0);
}

Test(runner, record_says_what_was_run)
{
    task           t = task_chain(SMALL);
    emp_run_params params = scripted_params(4, 1);

    params.placer.preset = "paper";
    script = (scripted_plan){.batch = 4};
    emp_record r = run(&t, &params);
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
    emp_record_clear(&r);
    task_destroy(&t);
}

static void save_run(const task *t, int32_t threads, const char *path)
{
    emp_run_params params = scripted_params(100, threads);

    emp_record r = run(t, &params);
    MUST(emp_record_save(path, &r, &why));
    emp_record_clear(&r);
}

Test(runner, records_are_the_same_bytes_with_one_and_two_threads, .init = scratch_create,
     .fini = scratch_remove)
{
    task   t = task_chain(SMALL);
    size_t size, again;

    script = (scripted_plan){.batch = 9};
    save_run(&t, 1, scratch_path("record.h5"));
    char *one = scratch_read("record.h5", &size);
    save_run(&t, 2, scratch_path("record.h5"));
    char *two = scratch_read("record.h5", &again);
    cr_expect_eq(size, again);
    cr_expect_arr_eq(one, two, size);
    free(one);
    free(two);
    task_destroy(&t);
}

Test(runner, other_seed_gives_another_run)
{
    task           t = task_chain(SMALL);
    emp_run_params params = scripted_params(8, 1);

    script = (scripted_plan){.batch = 8};
    emp_record a = run(&t, &params);
    params.placer.seed = 8;
    emp_record b = run(&t, &params);
    cr_expect_neq(a.curve[0].mean_s, b.curve[0].mean_s);
    emp_record_clear(&a);
    emp_record_clear(&b);
    task_destroy(&t);
}

static atomic_int stop_flag;

static void stop_after_two_batches(void *context, const emp_progress *progress)
{
    int *calls = (int *)context;

    if (++*calls == 2) stop_flag = 1;
    cr_expect_eq(progress->evaluations, 4 * *calls);
    cr_expect_eq(progress->budget_evaluations, 1000);
}

Test(runner, interrupt_ends_after_the_batch_and_keeps_the_best)
{
    task           t = task_chain(SMALL);
    emp_run_params params = scripted_params(1000, 1);
    int            calls = 0;

    params.stop = &stop_flag;
    params.progress = stop_after_two_batches;
    params.context = &calls;
    script = (scripted_plan){.batch = 4};
    emp_record r = run(&t, &params);
    cr_expect_str_eq(r.stopped_by, "interrupt");
    cr_expect_eq(r.evaluations, 8);
    cr_expect(r.is_feasible);
    cr_expect_eq(script.told, 8);
    emp_record_clear(&r);
    task_destroy(&t);
}

/* A run of a method that would ask for its last batch again. */
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

/* It ends with so many evaluations, of which the method has learned from \a told. */
static void expect_interrupted(const emp_run_params *params, int64_t evaluations,
                               int64_t told)
{
    task       t = task_chain(SMALL);
    emp_record r = run(&t, params);

    cr_expect_str_eq(r.stopped_by, "interrupt");
    cr_expect_eq(r.evaluations, evaluations, "%lld evaluations",
                 (long long)r.evaluations);
    cr_expect_eq(script.told, told, "%lld told", (long long)script.told);
    emp_record_clear(&r);
    task_destroy(&t);
    if (params->checkpoint.path != NULL) remove(params->checkpoint.path);
}

/* The batch in which somebody stops the run is not even scored. */
Test(runner, interrupt_ends_without_a_batch_that_can_be_asked_for_again)
{
    emp_run_params params = params_of_one_that_asks_again(NULL);

    script = (scripted_plan){.batch = 4, .stop_after = 12};
    expect_interrupted(&params, 8, 8);
    params.budget_evaluations = 12;
    script = (scripted_plan){.batch = 4, .stop_after = 12};
    expect_interrupted(&params, 8, 8);
    script = (scripted_plan){.batch = 4, .stop_after = 4};
    expect_interrupted(&params, 4, 4); /* there is to be a placement */
}

Test(runner, method_that_gives_up_a_batch_ends_the_run, .init = scratch_create,
     .fini = scratch_remove)
{
    const emp_run_params plain = params_of_one_that_asks_again(NULL);
    const emp_run_params saved =
        params_of_one_that_asks_again(scratch_path("run.checkpoint.h5"));

    script = (scripted_plan){.batch = 4, .stop_after = 12, .is_given_up = true};
    expect_interrupted(&plain, 8, 8);
    script = (scripted_plan){.batch = 4, .give_up_after = 12};
    expect_interrupted(&plain, 12, 8); /* what was scored counts */
    script = (scripted_plan){.batch = 4, .give_up_after = 12};
    expect_interrupted(&saved, 8, 8); /* a resumed run asks for it again */
    script = (scripted_plan){.batch = 4, .give_up_after = 4};
    expect_interrupted(&plain, 4, 0);
}

/* Its checkpoint stays the one it began with, from which a run goes on as if there had been none. */
Test(runner, method_that_gives_up_its_first_batch_has_no_placement,
     .init = scratch_create, .fini = scratch_remove)
{
    task           t = task_chain(SMALL);
    emp_run_params params =
        params_of_one_that_asks_again(scratch_path("run.checkpoint.h5"));
    emp_record record;

    params.budget_evaluations = 8;
    for (int in_tell = 0; in_tell < 2; in_tell++) {
        script = (scripted_plan){.batch = 4,
                                 .stop_after = in_tell ? 0 : 4,
                                 .is_given_up = !in_tell,
                                 .give_up_after = in_tell ? 4 : 0};
        MUST_FAIL(EMP_EINTERRUPTED, "interrupted in the first batch",
                  emp_run(&record, t.problem, &params, &why));
        emp_record_clear(&record);
        params.checkpoint.is_resumed = true;
        script = (scripted_plan){.batch = 4};
        record = run(&t, &params);
        cr_expect_eq(script.told, 8);
        emp_record_clear(&record);
        params.checkpoint.is_resumed = false;
        remove(params.checkpoint.path);
    }
    task_destroy(&t);
}

static atomic_int kept_count;

/* Nothing is kept before the first batch is told, and something after it. */
static void count_kept(void *context, const emp_progress *progress)
{
    int *calls = (int *)context;

    (void)progress;
    ++*calls;
    cr_expect_eq(atomic_load(&kept_count), 1);
}

Test(runner, a_run_has_something_to_keep_from_its_first_batch_on)
{
    task           t = task_chain(SMALL);
    emp_run_params params = scripted_params(8, 1);
    emp_record     failed;
    int            calls = 0;

    params.keeping = &kept_count;
    params.progress = count_kept;
    params.context = &calls;
    script = (scripted_plan){.batch = 4};
    emp_record r = run(&t, &params);
    cr_expect_eq(calls, 2);
    cr_expect_eq(atomic_load(&kept_count), 1, "the caller saves it");
    emp_record_clear(&r);

    atomic_store(&kept_count, 0);
    calls = 0;
    script = (scripted_plan){.batch = 4, .fail_tell = EMP_EIO};
    cr_expect_eq(emp_run(&failed, t.problem, &params, NULL), EMP_EIO);
    cr_expect_eq(calls, 0);
    cr_expect_eq(atomic_load(&kept_count), 0, "of a failure nothing is kept");
    emp_record_clear(&failed);
    task_destroy(&t);
}

/* Whoever asks for it: a person, or somebody who stops all runs of a table. */
Test(runner, stop_with_the_budget_spent_comes_too_late)
{
    task           t = task_chain(SMALL);
    emp_run_params params = scripted_params(4, 1);

    stop_flag = 1;
    params.stop = &stop_flag;
    script = (scripted_plan){.batch = 4};
    emp_record r = run(&t, &params);
    cr_expect_str_eq(r.stopped_by, "budget");
    emp_record_clear(&r);
    params.budget_evaluations = 0;
    params.budget_s = 1e-9;
    r = run(&t, &params);
    cr_expect_str_eq(r.stopped_by, "budget");
    emp_record_clear(&r);
    task_destroy(&t);
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

Test(runner, failure_of_the_method_is_passed_on)
{
    task           t = task_chain(SMALL);
    emp_run_params params = scripted_params(8, 1);
    emp_record     record;

    script = (scripted_plan){.batch = 4, .fail_tell = EMP_EEXTERNAL};
    MUST_FAIL(EMP_EEXTERNAL, "scripted failure",
              emp_run(&record, t.problem, &params, &why));
    emp_record_clear(&record);
    task_destroy(&t);
    cr_expect_eq(emp_mem_live_blocks(), 0);
}

Test(runner, method_without_a_proposal_is_named)
{
    task           t = task_chain(SMALL);
    emp_run_params params = scripted_params(8, 1);
    emp_record     record;

    script = (scripted_plan){.batch = 0};
    MUST_FAIL(EMP_EINFEASIBLE, "method scripted proposed no placement",
              emp_run(&record, t.problem, &params, &why));
    emp_record_clear(&record);
    task_destroy(&t);
}

Test(runner, endless_run_is_refused)
{
    task           t = task_chain(SMALL);
    emp_run_params params = scripted_params(0, 1);
    emp_record     record;

    MUST_FAIL(EMP_EINVAL, "method scripted needs a budget in evaluations or seconds",
              emp_run(&record, t.problem, &params, &why));
    emp_record_clear(&record);
    task_destroy(&t);
}

Test(runner, survives_every_allocation_failure)
{
    task           t = task_chain(SMALL);
    emp_run_params params = scripted_params(6, 1);
    emp_record     record;
    emp_status     st = EMP_ENOMEM;
    long           live = emp_mem_live_blocks(), allowed = 0;

    script = (scripted_plan){.batch = 3};
    for (; st != EMP_OK; allowed++) {
        emp_mem_fail_after(allowed);
        st = emp_run(&record, t.problem, &params, NULL);
        emp_mem_fail_after(-1);
        emp_record_clear(&record);
        cr_assert(st == EMP_OK || st == EMP_ENOMEM, "%s", emp_status_str(st));
        cr_assert_eq(emp_mem_live_blocks(), live, "leak after %ld allocations", allowed);
    }
    cr_expect_gt(allowed, 5);
    task_destroy(&t);
}

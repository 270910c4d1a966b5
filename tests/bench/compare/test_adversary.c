// SPDX-License-Identifier: GPL-3.0-or-later
/* Is an instance that the search finds one on which the method loses as much, also from its file? */
#define _POSIX_C_SOURCE 200809L
#include <emplace/emplace.h>
#include <math.h>
#include <signal.h>
#include <unistd.h>

#include "baselines/baselines.h"
#include "bench/compare/adversary.h"
#include "run/methods.h"
#include "tests/support/problems.h"
#include "tests/test.h"

static emp_adversary_found  found;
static emp_adversary_params params;
static emp_machine         *k40x2;
static emp_runtime         *ideal;

static void set_up(void)
{
    scratch_create();
    ASSERT_OK(emp_machine_load(&k40x2, "k40x2", &err));
    ASSERT_OK(emp_runtime_load(&ideal, "ideal", &err));
    params = (emp_adversary_params){.runtime = ideal,
                                    .budget = 20,
                                    .seed_count = 3,
                                    .trials = 60,
                                    .target = 1e6,
                                    .seed = 4};
    ASSERT_OK(emp_method_find(&params.method[0], "gpu", &err));
    ASSERT_OK(emp_method_find(&params.method[1], "heft", &err));
}

static void tear_down(void)
{
    emp_runtime_destroy(ideal);
    emp_machine_destroy(k40x2);
    scratch_tear_down();
}

TestSuite(adversary, .init = set_up, .fini = tear_down);

static double time_by(const char *method, const char *path)
{
    emp_place_params place = EMP_PLACE_PARAMS;
    emp_sim_result   result = {0};
    task             t;

    place.method = method;
    task_create(&t, path, "k40x2", "ideal");
    ASSERT_OK(emp_place(t.device_of_op, &result, t.problem, &place, &err));
    task_destroy(&t);
    return (double)result.step_time_ns * 1e-9;
}

Test(adversary, an_instance_from_its_file_gives_the_same_two_times)
{
    ASSERT_OK(emp_adversary_search(&found, &params, 5, k40x2, &err));
    cr_expect_eq(found.trials, 60);
    cr_expect_gt(found.ratio, 1.5, "all on one GPU against a schedule on three devices");
    cr_expect_float_eq(found.ratio, found.step_s[0] / found.step_s[1], 1e-12);
    ASSERT_OK(emp_adversary_save(scratch_path("a.json"), &found, &err));
    cr_expect_eq(time_by("gpu", scratch_path("a.json")), found.step_s[0]);
    cr_expect_eq(time_by("heft", scratch_path("a.json")), found.step_s[1]);
}

Test(adversary, the_search_repeats_and_gains_by_more_trials)
{
    params.trials = 10;
    ASSERT_OK(emp_adversary_search(&found, &params, 5, k40x2, &err));
    const double few = found.ratio;
    params.trials = 100;
    ASSERT_OK(emp_adversary_search(&found, &params, 5, k40x2, &err));
    const double many = found.ratio;
    ASSERT_OK(emp_adversary_search(&found, &params, 5, k40x2, &err));
    cr_expect_eq(found.ratio, many);
    cr_expect_gt(many, few);
}

Test(adversary, it_ends_at_the_target)
{
    params.target = 1.01;
    ASSERT_OK(emp_adversary_search(&found, &params, 6, k40x2, &err));
    cr_expect_geq(found.ratio, 1.01);
    cr_expect_lt(found.trials, 60);
}

static atomic_int stop;

static void stop_at_three(void *context, int32_t trials, double ratio)
{
    (void)context, (void)ratio;
    if (trials == 3) stop = 1;
}

Test(adversary, it_can_be_stopped)
{
    params.stop = &stop;
    params.on_trial = stop_at_three;
    cr_expect_eq(emp_adversary_search(&found, &params, 5, k40x2, NULL), EMP_EINTERRUPTED);
    cr_expect_eq(found.trials, 3);
}

static void set_stop(int signal) { stop = signal; }

static void make_the_next_endless(void *context, int32_t trials, double ratio)
{
    (void)context;
    if (trials < 3 || isnan(ratio)) return;
    params.budget = INT64_MAX;
    alarm(1);
}

/* Instances that were found before stay; the runs that the signal ends are no trial. */
Test(adversary, it_can_be_stopped_within_a_run, .timeout = 60)
{
    signal(SIGALRM, set_stop);
    ASSERT_OK(emp_method_find(&params.method[0], "random", &err));
    params.stop = &stop;
    params.on_trial = make_the_next_endless;
    cr_expect_eq(emp_adversary_search(&found, &params, 5, k40x2, NULL), EMP_EINTERRUPTED);
    cr_expect_gt(found.ratio, 0.0);
    cr_expect_leq(found.trials, 10);
}

Test(adversary, parameters_out_of_range_are_refused)
{
    EXPECT_REFUSED(emp_adversary_search(&found, &params, 1, k40x2, &err), EMP_EINVAL,
                   "2 to 64");
    params.seed_count = 0;
    EXPECT_REFUSED(emp_adversary_search(&found, &params, 5, k40x2, &err), EMP_EINVAL,
                   "seeds");
}

// SPDX-License-Identifier: GPL-3.0-or-later
/* Is work apart done, its CPU time counted, and left when its caller is to stop? */
#define _GNU_SOURCE
#include <criterion/criterion.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <unistd.h>

#include "base/work.h"

static const double USED_S = 0.05, PATIENCE_S = 60;

/* Outlives the tests' functions, as the work may. */
static struct {
    atomic_int  stop;
    atomic_bool may_end, has_begun;
    atomic_int  worked, destroyed;
    sigset_t    blocked;
} seen;

static void count_destroyed(void *task)
{
    (void)task;
    seen.destroyed++;
}

static void use_processor(void *task)
{
    const double before_s = emp_clock_thread_s();

    (void)task;
    pthread_sigmask(SIG_SETMASK, NULL, &seen.blocked);
    while (emp_clock_thread_s() - before_s < USED_S) continue;
    seen.worked++;
}

static void await_leave(void *task)
{
    (void)task;
    seen.has_begun = true;
    while (!seen.may_end) usleep(100);
    seen.worked++;
}

static void *set_stop(void *unused)
{
    while (!seen.has_begun) usleep(100);
    seen.stop = 1;
    return unused;
}

Test(apart, is_done_and_counted)
{
    const emp_apart apart = {NULL, use_processor, count_destroyed};
    const double    before_s = emp_clock_thread_s();

    cr_expect(emp_apart_run(&apart, &seen.stop));
    cr_expect_eq(seen.worked, 1);
    cr_expect_eq(seen.destroyed, 0, "the task stays the caller's");
    cr_expect_geq(emp_clock_thread_s() - before_s, USED_S);
    cr_expect(sigismember(&seen.blocked, SIGINT), "it hears no signals");
}

Test(apart, is_done_here_if_nobody_can_stop_it)
{
    const emp_apart apart = {NULL, use_processor, count_destroyed};

    cr_expect(emp_apart_run(&apart, NULL));
    cr_expect_eq(seen.worked, 1);
    cr_expect_not(sigismember(&seen.blocked, SIGINT));
}

Test(apart, does_not_begin_when_its_caller_is_to_stop)
{
    const emp_apart apart = {NULL, use_processor, count_destroyed};

    seen.stop = 1;
    cr_expect_not(emp_apart_run(&apart, &seen.stop));
    cr_expect_eq(seen.worked, 0);
    cr_expect_eq(seen.destroyed, 1);
}

/* The work cannot end before its caller has gone on. */
Test(apart, is_left_when_its_caller_is_to_stop)
{
    const emp_apart apart = {NULL, await_leave, count_destroyed};
    const double    before_s = emp_clock_now_s();
    pthread_t       other;

    cr_assert_eq(pthread_create(&other, NULL, set_stop, NULL), 0);
    cr_expect_not(emp_apart_run(&apart, &seen.stop));
    cr_expect_eq(seen.worked, 0);
    pthread_join(other, NULL);
    seen.may_end = true;
    while (seen.destroyed == 0 && emp_clock_now_s() - before_s < PATIENCE_S) usleep(100);
    cr_expect_eq(seen.worked, 1);
    cr_expect_eq(seen.destroyed, 1);
}

Test(stage, what_is_set_is_shown_until_the_one_before_is_back)
{
    cr_expect_null(emp_stage_get());
    const char *none = emp_stage_set("outer");
    const char *outer = emp_stage_set("inner");
    cr_expect_null(none);
    cr_expect_str_eq(outer, "outer");
    cr_expect_str_eq(emp_stage_get(), "inner");
    cr_expect_str_eq(emp_stage_set(outer), "inner");
    cr_expect_str_eq(emp_stage_get(), "outer");
    (void)emp_stage_set(none);
    cr_expect_null(emp_stage_get());
}

// SPDX-License-Identifier: GPL-3.0-or-later
/* Do methods that ask again ask for the same? Is a batch that such a method gives up, at any moment, one that never
 * was? */
#include <criterion/criterion.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/rng.h"
#include "run/methods.h"
#include "tests/support/problems.h"

enum { UPDATES = 3, MOMENTS = 12 };

static task       t;
static atomic_int stop;

/** A method at work, and what it proposed last. */
typedef struct {
    const emp_method *method;
    void             *state;
    emp_device_id    *device_of_op; /* [candidate][op] */
    int32_t           count;
} learner;

static void set_up(void)
{
    task_create(&t, "rnnlm:steps=1", "k40x2", "tf-r1.3");
    stop = 0;
}

static void tear_down(void)
{
    task_destroy(&t);
    cr_expect_eq(emp_mem_live_blocks(), 0);
}

TestSuite(asks_again, .init = set_up, .fini = tear_down);

static size_t batch_bytes(void)
{
    return EMP_MAX_BATCH * (size_t)t.graph->op_count * sizeof(emp_device_id);
}

/* Networks that are small enough for a test. */
static const char *options_of(const emp_method *method)
{
    static const struct {
        const char *method, *options;
    } all[] = {{"colocrl", "hidden=16"},
               {"hsdag", "width=16"},
               {"doppler", "width=16,imitation=4"},
               {"go", "width=16,heads=2,hidden=16,samples=8"}};

    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (strcmp(all[i].method, method->name) == 0) return all[i].options;
    return NULL;
}

static void begin(learner *l, const emp_method *method)
{
    const emp_method_params params = {
        .seed = 3, .threads = 2, .stop = &stop, .options = options_of(method)};
    emp_error err = {0};

    *l = (learner){.method = method, .device_of_op = calloc(batch_bytes(), 1)};
    cr_assert_eq(emp_method_create(&l->state, method, t.problem, &params, &err), EMP_OK,
                 "%s: %s", method->name, err.msg);
}

static void end(learner *l)
{
    emp_method_destroy(l->method, l->state);
    free(l->device_of_op);
}

static emp_status ask(learner *l)
{
    emp_proposal candidate[EMP_MAX_BATCH] = {{0}};

    for (int32_t i = 0; i < EMP_MAX_BATCH; i++)
        candidate[i].device_of_op =
            l->device_of_op + (size_t)i * (size_t)t.graph->op_count;
    return emp_method_ask(l->method, l->state, candidate, EMP_MAX_BATCH, &l->count, NULL);
}

static emp_status tell(learner *l)
{
    emp_score score[EMP_MAX_BATCH] = {{0}};

    for (int32_t i = 0; i < l->count; i++)
        score[i] = (emp_score){.step_time_s = 1.0 + i, .is_feasible = true};
    return emp_method_tell(l->method, l->state, score, l->count, NULL);
}

static void update(learner *l)
{
    cr_assert_eq(ask(l), EMP_OK, "%s", l->method->name);
    cr_assert_eq(tell(l), EMP_OK, "%s", l->method->name);
}

static void expect_same_batch(const learner *a, const learner *b, const char *when)
{
    cr_expect_eq(a->count, b->count);
    cr_expect_eq(memcmp(a->device_of_op, b->device_of_op, batch_bytes()), 0, "%s %s",
                 a->method->name, when);
}

/* What a checkpoint would hold. */
static void expect_same_state(const learner *a, const learner *b, const char *when)
{
    emp_named_array of_a[EMP_MAX_NAMED_ARRAYS], of_b[EMP_MAX_NAMED_ARRAYS];
    const int32_t   count = a->method->list_state(a->state, of_a);

    cr_assert_eq(b->method->list_state(b->state, of_b), count);
    for (int32_t i = 0; i < count; i++)
        cr_expect_eq(memcmp(of_a[i].values, of_b[i].values,
                            of_a[i].count * emp_array_type_bytes(of_a[i].type)),
                     0, "%s of %s %s", of_a[i].name, a->method->name, when);
}

/* Calls \a check of each method that asks again. */
static void of_each(void (*check)(const emp_method *method))
{
    const emp_method *method;
    int32_t           tried = 0;

    for (int32_t i = 0; (method = emp_method_at(i)) != NULL; i++) {
        if (!method->asks_again) continue;
        check(method);
        tried++;
    }
    cr_expect_gt(tried, 1);
}

static void ask_twice(const emp_method *method)
{
    learner once, twice;

    begin(&once, method);
    begin(&twice, method);
    for (int32_t u = 0; u < UPDATES; u++) {
        cr_expect_eq(ask(&twice), EMP_OK);
        update(&twice);
        update(&once);
        expect_same_batch(&once, &twice, "asked for twice");
        expect_same_state(&once, &twice, "told once");
    }
    end(&once);
    end(&twice);
}

Test(asks_again, for_the_same) { of_each(ask_twice); }

/* ---- giving up ---- */

static void give_up(const emp_method *method)
{
    learner plain, stopped;

    begin(&plain, method);
    begin(&stopped, method);
    update(&plain);
    update(&stopped);
    stop = 1;
    cr_expect_eq(ask(&stopped), EMP_EINTERRUPTED, "%s", method->name);
    expect_same_state(&plain, &stopped, "stopped before an ask");
    stop = 0;
    cr_expect_eq(ask(&stopped), EMP_OK);
    stop = 1;
    cr_expect_eq(tell(&stopped), EMP_EINTERRUPTED, "%s", method->name);
    expect_same_state(&plain, &stopped, "stopped before a tell");
    stop = 0;
    update(&plain);
    update(&stopped);
    expect_same_state(&plain, &stopped, "afterwards");
    end(&plain);
    end(&stopped);
}

Test(asks_again, when_stopped_before_a_call) { of_each(give_up); }

static void *set_after(void *delay)
{
    const double    seconds = *(const double *)delay;
    struct timespec left = {.tv_nsec = (long)(seconds * 1e9)};

    nanosleep(&left, NULL);
    stop = 1;
    return NULL;
}

static emp_status call_stopped_after(double   seconds, emp_status (*call)(learner *),
                                     learner *l)
{
    pthread_t thread;

    cr_assert_eq(pthread_create(&thread, NULL, set_after, &seconds), 0);
    const emp_status st = call(l);
    pthread_join(thread, NULL);
    stop = 0;
    return st;
}

/* What a moment hits differs from run to run. What is expected does not. */
static void give_up_at_random(const emp_method *method)
{
    learner plain, stopped;
    emp_rng rng;

    emp_rng_init(&rng, 5, 0, 0);
    begin(&plain, method);
    begin(&stopped, method);
    update(&plain);
    update(&stopped);
    const double begin_s = emp_clock_now_s();
    update(&plain);
    update(&stopped);
    const double longest_s = (emp_clock_now_s() - begin_s) / 2;
    for (int32_t i = 0; i < MOMENTS; i++) {
        const double asking_s = longest_s * emp_rng_uniform(&rng);
        const double telling_s = longest_s * emp_rng_uniform(&rng);
        if (call_stopped_after(asking_s, ask, &stopped) != EMP_OK) {
            expect_same_state(&plain, &stopped, "stopped while asked");
            cr_assert_eq(ask(&stopped), EMP_OK);
        }
        if (call_stopped_after(telling_s, tell, &stopped) != EMP_OK) {
            expect_same_state(&plain, &stopped, "stopped while told");
            update(&stopped);
        }
        update(&plain);
        expect_same_batch(&plain, &stopped, "after a stop");
        expect_same_state(&plain, &stopped, "after a stop");
    }
    end(&plain);
    end(&stopped);
}

Test(asks_again, when_stopped_at_any_moment) { of_each(give_up_at_random); }

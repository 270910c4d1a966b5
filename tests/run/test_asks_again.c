// SPDX-License-Identifier: GPL-3.0-or-later
/* Do methods that ask again ask for the same? Is a batch that such a method gives up, at any moment, one that never
 * was? */
#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#include "base/rng.h"
#include "base/work.h"
#include "baselines/baselines.h"
#include "policy/colocrl/colocrl.h"
#include "policy/doppler/doppler.h"
#include "policy/go/go.h"
#include "policy/hsdag/hsdag.h"
#include "run/methods.h"
#include "tests/support/problems.h"
#include "tests/test.h"

enum { UPDATES = 3, MOMENTS = 10 };

/** A method with small networks. They are wider than the 64 bytes before an array (base/mem.c), so that
 * sanitizers see a row that is read before the first. */
typedef struct {
    const emp_method *method;
    const char       *options;
    int32_t           decides;
} subject;

static const subject subjects[] = {
    {&emp_method_colocrl, "hidden=32", 0},
    {&emp_method_hsdag, "width=32", 0},
    {&emp_method_doppler, "width=32,imitation=16,max_nodes=40,steps=2",
     EMP_DECIDES_DEVICES | EMP_DECIDES_ORDER},
    {&emp_method_go, "width=32,heads=2,hidden=32,max_nodes=60,samples=8,failure=graded",
     EMP_DECIDES_DEVICES | EMP_DECIDES_ORDER | EMP_DECIDES_FUSION},
    {&emp_method_go, "width=32,heads=2,hidden=32,max_nodes=60,samples=4,rounds=2,fit=1",
     0}};
enum { SUBJECTS = sizeof subjects / sizeof *subjects };

static task       t;
static atomic_int stop;

/** A method at work, and what it proposed last. */
typedef struct {
    const subject     *of;
    void              *state;
    emp_owned_decision candidate[EMP_MAX_BATCH];
    int32_t            count;
} learner;

static void set_up(void)
{
    task_create(&t, "rnnlm:steps=1", "k40x2", "tf-r1.3");
    stop = 0;
}

static void tear_down(void)
{
    task_destroy(&t);
    expect_all_freed();
}

TestSuite(asks_again, .init = set_up, .fini = tear_down);

static void begin(learner *l, const subject *of)
{
    const emp_method_params params = {.seed = 3,
                                      .threads = 2,
                                      .stop = &stop,
                                      .options = of->options,
                                      .decides = of->decides};
    emp_error               why = {0};

    *l = (learner){.of = of};
    cr_assert_eq(emp_method_create(&l->state, of->method, t.problem, &params, &why),
                 EMP_OK, "%s: %s", of->method->name, why.msg);
    for (int32_t i = 0; i < EMP_MAX_BATCH; i++)
        ASSERT_OK(
            emp_decision_init(&l->candidate[i], t.graph->op_count, of->decides, NULL));
}

static void end(learner *l)
{
    emp_method_destroy(l->of->method, l->state);
    for (int32_t i = 0; i < EMP_MAX_BATCH; i++) emp_decision_clear(&l->candidate[i]);
}

static emp_status ask(learner *l)
{
    for (int32_t i = 0; i < EMP_MAX_BATCH; i++) emp_decision_reset(&l->candidate[i]);
    return emp_method_ask(l->of->method, l->state, l->candidate, EMP_MAX_BATCH, &l->count,
                          NULL);
}

static emp_status tell(learner *l)
{
    emp_score score[EMP_MAX_BATCH] = {{0}};

    for (int32_t i = 0; i < l->count; i++)
        score[i] = (emp_score){.step_time_s = 1.0 + i, .is_feasible = true};
    return emp_method_tell(l->of->method, l->state, score, l->count, NULL);
}

static void update(learner *l)
{
    cr_assert_eq(ask(l), EMP_OK, "%s", l->of->method->name);
    cr_assert_eq(tell(l), EMP_OK, "%s", l->of->method->name);
}

static bool is_same(const void *a, const void *b, size_t bytes)
{
    return a == NULL || memcmp(a, b, bytes) == 0;
}

static void expect_same_batch(const learner *a, const learner *b, const char *when)
{
    const size_t ops = (size_t)t.graph->op_count;

    cr_assert_eq(a->count, b->count);
    for (int32_t i = 0; i < a->count; i++) {
        const emp_owned_decision *x = &a->candidate[i], *y = &b->candidate[i];
        cr_expect(
            is_same(x->device_of_op, y->device_of_op, ops * sizeof *x->device_of_op) &&
                is_same(x->level_of_op, y->level_of_op, ops) &&
                is_same(x->leader_of_op, y->leader_of_op, ops * sizeof *x->leader_of_op),
            "candidate %d of %s %s", i, a->of->method->name, when);
    }
}

static void expect_same_state(const learner *a, const learner *b, const char *when)
{
    emp_named_array of_a[EMP_MAX_NAMED_ARRAYS], of_b[EMP_MAX_NAMED_ARRAYS];
    const int32_t   count = a->of->method->list_state(a->state, of_a);

    cr_assert_eq(b->of->method->list_state(b->state, of_b), count);
    for (int32_t i = 0; i < count; i++)
        cr_expect_eq(memcmp(of_a[i].values, of_b[i].values,
                            of_a[i].count * emp_array_type_bytes(of_a[i].type)),
                     0, "%s of %s %s", of_a[i].name, a->of->method->name, when);
}

static void of_each(void (*check)(const subject *of))
{
    for (int32_t i = 0; i < SUBJECTS; i++) check(&subjects[i]);
}

Test(asks_again, no_method_is_left_out)
{
    const emp_method *method;

    for (int32_t i = 0; (method = emp_method_at(i)) != NULL; i++) {
        bool is_here = false;
        for (int32_t k = 0; k < SUBJECTS; k++) is_here |= subjects[k].method == method;
        cr_expect_eq(is_here, method->asks_again, "%s", method->name);
    }
}

static void ask_twice(const subject *of)
{
    learner once, twice;

    begin(&once, of);
    begin(&twice, of);
    for (int32_t u = 0; u < UPDATES; u++) {
        ASSERT_OK(ask(&twice));
        update(&twice);
        update(&once);
        expect_same_batch(&once, &twice, "asked for twice");
        expect_same_state(&once, &twice, "told once");
    }
    end(&once);
    end(&twice);
}

Test(asks_again, for_the_same) { of_each(ask_twice); }

static void give_up(const subject *of)
{
    learner plain, stopped;

    begin(&plain, of);
    begin(&stopped, of);
    update(&plain);
    update(&stopped);
    stop = 1;
    cr_expect_eq(ask(&stopped), EMP_EINTERRUPTED, "%s", of->method->name);
    expect_same_state(&plain, &stopped, "stopped before an ask");
    stop = 0;
    ASSERT_OK(ask(&stopped));
    stop = 1;
    cr_expect_eq(tell(&stopped), EMP_EINTERRUPTED, "%s", of->method->name);
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
    const time_t    whole = (time_t)seconds;
    struct timespec left = {whole, (long)((seconds - (double)whole) * 1e9)};

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

/* The work that a moment interrupts differs from run to run. The expectation does not. */
static void give_up_at_random(const subject *of)
{
    learner plain, stopped;
    emp_rng rng;

    emp_rng_init(&rng, 5, 0, 0);
    begin(&plain, of);
    begin(&stopped, of);
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
            ASSERT_OK(ask(&stopped));
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

/* DOPPLER imitates before its first candidate, and goes on with that where it was stopped. */
static void give_up_first_ask(const subject *of)
{
    learner plain, stopped;
    emp_rng rng;

    emp_rng_init(&rng, 6, 0, 0);
    begin(&plain, of);
    const double begin_s = emp_clock_now_s();
    update(&plain);
    const double longest_s = emp_clock_now_s() - begin_s;
    for (int32_t i = 0; i < MOMENTS; i++) {
        begin(&stopped, of);
        for (int32_t asks = 0; asks < 3; asks++)
            (void)call_stopped_after(longest_s / 3 * emp_rng_uniform(&rng), ask,
                                     &stopped);
        update(&stopped);
        expect_same_batch(&plain, &stopped, "after stops of the first ask");
        expect_same_state(&plain, &stopped, "after stops of the first ask");
        end(&stopped);
    }
    end(&plain);
}

Test(asks_again, when_stopped_in_the_first_ask) { of_each(give_up_first_ask); }

/* Refining and the portfolio do not ask again. They give up an ask in which they were to cut the graph. */
Test(asks_again, others_when_stopped_before_a_cut)
{
    subject others[2] = {{&emp_method_refine, NULL, 0}, {NULL, NULL, 0}};

    ASSERT_OK(emp_method_find(&others[1].method, "portfolio", &err));
    for (int k = 0; k < 2; k++) {
        learner plain, stopped;
        int32_t given_up = 0;
        begin(&plain, &others[k]);
        begin(&stopped, &others[k]);
        for (int32_t i = 0; i < 2 * MOMENTS; i++) {
            stop = 1;
            const emp_status st = ask(&stopped);
            stop = 0;
            if (st != EMP_OK) {
                cr_assert_eq(st, EMP_EINTERRUPTED);
                if (k == 0) expect_same_state(&plain, &stopped, "stopped before a cut");
                cr_assert_eq(ask(&stopped), EMP_OK);
                given_up++;
            }
            cr_assert_eq(tell(&stopped), EMP_OK);
            update(&plain);
            expect_same_batch(&plain, &stopped, "after a stop");
            expect_same_state(&plain, &stopped, "after a stop");
        }
        cr_expect_gt(given_up, k, "%s", others[k].method->name);
        end(&plain);
        end(&stopped);
    }
}

// SPDX-License-Identifier: GPL-3.0-or-later
/* Do runs that are made at once find what each finds alone? Comparisons and studies make them so, one on a
 * thread. All methods are tried, and options that take other paths. */
#include <criterion/criterion.h>
#include <string.h>

#include "base/mem.h"
#include "run/loop.h"
#include "run/methods.h"
#include "tests/support/problems.h"

enum { BUDGET = 8, THREADS = 2, MOST_OPS = 1024 };

/* Small networks and few episodes where the usual ones take long. */
static const struct {
    const char *method, *options;
} settings[] = {{"doppler", "max_nodes=16,width=8,imitation=2"},
                {"go", "samples=4,width=8,heads=2,hidden=8"},
                {"go", "samples=4,width=8,heads=2,hidden=8,rounds=3"},
                {"go", "samples=4,width=8,heads=2,hidden=8,nodes=groups,fit=1"},
                {"colocrl", "hidden=16"},
                {"hdp", "hidden=16,groups=16"},
                {"hdp", "hidden=16,grouping=scotch,groups=16"}};
enum { SETTINGS = sizeof settings / sizeof *settings };

typedef struct {
    emp_status    status;
    double        best_s;
    int64_t       evaluations;
    emp_device_id device_of_op[MOST_OPS];
} outcome;

static task t;

static void set_up(void)
{
    task_create(&t, "rnnlm:layers=1,steps=2,units=64,vocab=64,sampled=0,batch=4", "k40x2",
                "tf-r1.3");
    cr_assert_leq(t.graph->op_count, MOST_OPS);
}

static void tear_down(void)
{
    task_destroy(&t);
    cr_expect_eq(emp_mem_live_blocks(), 0, "leaked");
}

TestSuite(beside, .init = set_up, .fini = tear_down);

static void run(outcome *found, const emp_method *method, const char *options,
                uint64_t seed)
{
    const emp_run_params params = {
        .method = method,
        .placer = {.seed = seed, .threads = 1, .options = options},
        .budget_evaluations = BUDGET};
    emp_record record = {0};

    memset(found, 0, sizeof *found);
    found->status = emp_run(&record, t.problem, &params, NULL);
    if (found->status == EMP_OK) {
        found->best_s = record.best_step_time_s;
        found->evaluations = record.evaluations;
        memcpy(found->device_of_op, record.decision.device_of_op,
               (size_t)t.graph->op_count * sizeof *found->device_of_op);
    }
    emp_record_clear(&record);
}

/* The graph has too many splits for it in any order of the ops. */
static bool is_refused(const emp_method *method)
{
    return strcmp(method->name, "dp-contiguous") == 0;
}

static void check(const emp_method *method, const char *options)
{
    static outcome alone, beside[THREADS];

#pragma omp parallel for num_threads(THREADS) schedule(static, 1)
    for (int i = 0; i < THREADS; i++) run(&beside[i], method, options, (uint64_t)i + 1);
    for (int i = 0; i < THREADS; i++) {
        run(&alone, method, options, (uint64_t)i + 1);
        cr_expect_eq(alone.status == EMP_OK, !is_refused(method), "%s with %s: %d",
                     method->name, options != NULL ? options : "no options",
                     (int)alone.status);
        cr_expect_eq(memcmp(&alone, &beside[i], sizeof alone), 0, "%s with %s, seed %d",
                     method->name, options != NULL ? options : "no options", i + 1);
    }
}

Test(beside, runs_find_what_each_finds_alone)
{
    const emp_method *method;

    for (int32_t i = 0; (method = emp_method_at(i)) != NULL; i++) {
        bool is_set = false;
        for (int s = 0; s < SETTINGS; s++) {
            if (strcmp(settings[s].method, method->name) != 0) continue;
            check(method, settings[s].options);
            is_set = true;
        }
        if (!is_set) check(method, NULL);
    }
}

// SPDX-License-Identifier: GPL-3.0-or-later
/* The engine of studies: tasks are chosen by keys, cells have one run a seed, a failed item is
 * reported, and every failed allocation leaves nothing behind. */
#include "bench/trials/trials.h"

#include "tests/bench/counted.h"
#include "tests/test.h"

#define TASK(key, layers)                                                        \
    {                                                                            \
        key, key, "rnnlm:layers=" #layers ",steps=2,units=8,vocab=16,sampled=0", \
            "k40x2", 2, NULL                                                     \
    }
enum { TASKS = 2, SEEDS = 3 };
static const emp_task two[TASKS] = {TASK("one", 1), TASK("two", 2)};

TestSuite(trials, .init = counted_set_up, .fini = scratch_tear_down);

static emp_status run_grid(emp_trials *trials, emp_trials_tasks *tasks, emp_error *err)
{
    static const emp_job_method random = {
        .title = "random", .method = "random", .options = "groups=4", .budget = 4};
    static const emp_job_method gpu = {.title = "gpu", .method = "gpu"};
    const emp_jobs_params       jobs = counted_jobs(1);

    EMP_CHECK(emp_trials_choose(tasks, two, TASKS, NULL, NULL, "no row", err));
    EMP_CHECK(emp_trials_load(tasks, "tf-r1.3", 1, err));
    EMP_CHECK(emp_trials_reserve(trials, 3, SEEDS + 1, err));
    EMP_CHECK(emp_trials_add(trials, tasks, 0, &random, SEEDS, err));
    EMP_CHECK(emp_trials_add(trials, tasks, 0, &gpu, 0, err));
    EMP_CHECK(emp_trials_add(trials, tasks, 1, &gpu, 1, err));
    return emp_trials_run(trials, &jobs, err);
}

Test(trials, a_cell_has_one_run_for_each_seed)
{
    SCOPED(emp_trials, emp_trials_clear) trials = {0};
    SCOPED(emp_trials_tasks, emp_trials_tasks_clear) tasks = {0};
    double  step_s[EMP_TRIALS_SEEDS];
    int32_t count;

    ASSERT_OK(run_grid(&trials, &tasks, &err));
    cr_expect_str_eq(tasks.runtime, "tf-r1.3");
    const emp_job *job = emp_trials_cell(&trials, 0, &count);
    cr_assert_eq(count, SEEDS);
    for (int32_t i = 0; i < SEEDS; i++) cr_expect_eq(job[i].record.seed, (uint64_t)i + 1);
    cr_assert_eq(emp_trials_steps(&trials, 0, step_s), SEEDS);
    const emp_summary s = emp_trials_summary(&trials, 0);
    cr_expect_eq(s.min, fmin(step_s[0], fmin(step_s[1], step_s[2])));
    cr_expect_eq(s.max, fmax(step_s[0], fmax(step_s[1], step_s[2])));
    cr_expect_eq(emp_trials_steps(&trials, 1, step_s), 0);
    cr_expect(isnan(emp_trials_summary(&trials, 1).median), "a cell without runs");
    cr_assert_eq(emp_trials_steps(&trials, 2, step_s), 1);
    cr_expect_eq(step_s[0], trials.job[SEEDS].record.best_step_time_s);
    trials.job[SEEDS].record.is_feasible = false;
    cr_expect(isinf(emp_trials_summary(&trials, 2).median), "nothing fits");
}

static emp_status fail_at_odd(void *context, int32_t item, emp_error *err)
{
    int *visits = (int *)context;

    visits[item]++;
    return item % 2 == 0 ? EMP_OK : EMP_ERROR(EMP_EIO, "item %d", item);
}

Test(trials, each_item_is_worked_on_and_the_lowest_failure_reported)
{
    int visits[6] = {0};

    EXPECT_REFUSED(emp_trials_each(6, 2, fail_at_odd, visits, &err), EMP_EIO, "item 1");
    for (int i = 0; i < 6; i++) cr_expect_eq(visits[i], 1);
    ASSERT_OK(emp_trials_each(1, 2, fail_at_odd, visits, &err));
}

static void expect_chosen(const char *rows, int32_t count, const char *first)
{
    static const emp_task batches[] = {{"net", "Net, 1", "net:batch=1", "k40x2", 2, NULL},
                                       {"net", "Net, 8", "net:batch=8", "k40x2", 2, NULL},
                                       {"other", "Other", "gpt2", "k40x2", 2, NULL}};
    SCOPED(emp_trials_tasks, emp_trials_tasks_clear) tasks = {0};

    ASSERT_OK(emp_trials_choose(&tasks, batches, 3, rows, NULL, "no row", &err));
    cr_expect_eq(tasks.count, count, "%s", rows);
    cr_expect_str_eq(tasks.task[0].spec, first);
}

Test(trials, tasks_of_one_key_are_named_by_their_spec)
{
    emp_trials_tasks none = {0};

    expect_chosen("net", 2, "net:batch=1");
    expect_chosen("net:batch=8", 1, "net:batch=8");
    expect_chosen("other,net:batch=8", 2, "net:batch=8");
    EXPECT_REFUSED(emp_trials_choose(&none, two, TASKS, "gpt3", NULL, "no row", &err),
                   EMP_EINVAL, "gpt3");
}

static emp_status choose_and_reserve(emp_error *err)
{
    emp_status       st = EMP_OK;
    emp_trials_tasks tasks = {0};
    emp_trials       trials = {0};
    int              visits[2] = {0};

    EMP_TRY(emp_trials_choose(&tasks, two, TASKS, NULL, NULL, "no row", err));
    EMP_TRY(emp_trials_reserve(&trials, 4, 8, err));
    EMP_TRY(emp_trials_each(1, 1, fail_at_odd, visits, err));
cleanup:
    emp_trials_clear(&trials);
    emp_trials_tasks_clear(&tasks);
    return st;
}

Test(trials, survives_every_allocation_failure)
{
    SURVIVES_EVERY_ALLOCATION_FAILURE(choose_and_reserve(NULL), );
}

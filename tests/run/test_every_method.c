// SPDX-License-Identifier: GPL-3.0-or-later
/* Runs of all methods. Do those that are made at once find what each finds by itself, as comparisons and
 * studies make them so, one on a thread? Is the seed of no account where a method says so? Does a run of every method
 * that reads no weights end with no op on a forbidden CPU, also where the GPUs are too small? Do GPUs that are too small
 * mean nothing where the runtime does not check memory? */
#include "run/loop.h"
#include "run/methods.h"
#include "tests/support/problems.h"
#include "tests/test.h"

static task t;

static void set_up_small(void)
{
    task_create(&t, "rnnlm:layers=1,steps=2,units=64,vocab=64,sampled=0,batch=4", "k40x2",
                "tf-r1.3");
}

static void set_up_large(void) { task_create(&t, "rnnlm:steps=1", "k40x2", "tf-r1.3"); }

static void set_up_forbidden(void)
{
    set_up_large();
    ASSERT_OK(emp_problem_forbid_cpus(t.problem, NULL, &err));
}

static void tear_down(void)
{
    task_destroy(&t);
    expect_all_freed();
}

TestSuite(beside, .init = set_up_small, .fini = tear_down);
TestSuite(seeds, .init = set_up_large, .fini = tear_down);
TestSuite(unchecked, .init = set_up_small, .fini = tear_down);
TestSuite(forbidden, .init = set_up_forbidden, .fini = tear_down);

enum { FEW = 8, THREADS = 2, MOST_OPS = 1024 };

/* Small networks and few episodes where the usual ones take long, and options that take other paths. */
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

static void run(outcome *found, const emp_method *method, const char *options,
                uint64_t seed)
{
    const emp_run_params params = {
        .method = method,
        .placer = {.seed = seed, .threads = 1, .options = options},
        .budget_evaluations = FEW};
    SCOPED(emp_record, emp_record_clear) record = {0};

    memset(found, 0, sizeof *found);
    found->status = emp_run(&record, t.problem, &params, NULL);
    if (found->status == EMP_OK) {
        found->best_s = record.best_step_time_s;
        found->evaluations = record.evaluations;
        memcpy(found->device_of_op, record.decision.device_of_op,
               (size_t)t.graph->op_count * sizeof *found->device_of_op);
    }
}

static void check(const emp_method *method, const char *options)
{
    static outcome alone, beside[THREADS];
    /* the graph has too many splits for it in any order of the ops */
    const bool is_refused = strcmp(method->name, "dp-contiguous") == 0;

#pragma omp parallel for num_threads(THREADS) schedule(static, 1)
    for (int i = 0; i < THREADS; i++) run(&beside[i], method, options, (uint64_t)i + 1);
    for (int i = 0; i < THREADS; i++) {
        run(&alone, method, options, (uint64_t)i + 1);
        cr_expect_eq(alone.status == EMP_OK, !is_refused, "%s with %s: %d", method->name,
                     options != NULL ? options : "no options", (int)alone.status);
        cr_expect_eq(memcmp(&alone, &beside[i], sizeof alone), 0, "%s with %s, seed %d",
                     method->name, options != NULL ? options : "no options", i + 1);
    }
}

Test(beside, runs_find_what_each_finds_alone)
{
    const emp_method *method;

    cr_assert_leq(t.graph->op_count, MOST_OPS);
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

/* Enough for refine to ask the surrogate, and to make several moves; under valgrind a learner would take
 * many minutes. */
enum { BUDGET = 48, LAUNCHED_BUDGET = 6 };

static void expect_allowed(const emp_record *record)
{
    for (emp_op_id op = 0; op < record->decision.op_count; op++)
        cr_assert(emp_problem_allows(t.problem, op, record->decision.device_of_op[op]),
                  "%s: op '%s' is on %s", record->method, record->op_name[op],
                  record->device_name[record->decision.device_of_op[op]]);
}

/* Runs every method that reads no weights; \return how many proposed a placement. */
static int32_t run_all(bool fits)
{
    const emp_method *method;
    const bool        is_launched = getenv("EMP_LAUNCHED") != NULL;
    int32_t           run_count = 0;

    for (int32_t i = 0; (method = emp_method_at(i)) != NULL; i++) {
        const emp_run_params params = {.method = method,
                                       .placer = {.seed = 1, .threads = 1},
                                       .budget_evaluations =
                                           is_launched ? LAUNCHED_BUDGET : BUDGET};
        emp_record           record = {0};
        emp_error            err = {0};
        if (emp_method_has_weights(method)) continue;
        emp_status st = emp_run(&record, t.problem, &params, &err);
        if (st == EMP_OK) expect_allowed(&record);
        if (st == EMP_OK) cr_expect_eq(record.is_feasible, fits, "%s", method->name);
        /* the last two: methods of other graphs */
        cr_expect(st == EMP_OK || st == EMP_EUNSUPPORTED || st == EMP_EINFEASIBLE,
                  "%s: %s", method->name, err.msg);
        run_count += st == EMP_OK;
        emp_record_clear(&record);
    }
    return run_count;
}

Test(forbidden, cpus_hold_no_op_of_any_method_that_a_gpu_can_run)
{
    int32_t run_count = run_all(true);

    cr_expect_gt(run_count, 20, "%d methods have run", run_count);
    cr_expect_eq(emp_problem_find_shortage(t.problem).kinds, 0);
}

/* The CPU has room for everything, and methods that repair placements must not take it. */
Test(forbidden, gpus_that_are_too_small_are_out_of_memory)
{
    for (emp_device_id d = 1; d < t.machine->device_count; d++)
        t.machine->device[d].memory_bytes = 1 << 20;
    int32_t              run_count = run_all(false);
    emp_problem_shortage s = emp_problem_find_shortage(t.problem);

    cr_expect_gt(run_count, 12, "%d methods have run", run_count);
    cr_expect_eq(s.kinds, EMP_KIND_GPU);
    cr_expect_eq(s.memory_bytes, 2 << 20);
    cr_expect_gt(s.held_bytes, s.memory_bytes);
}

/* GPUs so small that list schedules do not fit, and are repaired. */
Test(seeds, mean_nothing_to_methods_that_say_so)
{
    const emp_method *method;
    outcome           first, other;

    for (emp_device_id d = 1; d < t.machine->device_count; d++)
        t.machine->device[d].memory_bytes = 300 << 20;
    for (int32_t i = 0; (method = emp_method_at(i)) != NULL; i++) {
        if (method->uses_seed) continue;
        run(&first, method, NULL, 1);
        for (uint64_t seed = 2; seed <= 4; seed++) {
            run(&other, method, NULL, seed);
            cr_expect_eq(memcmp(&first, &other, sizeof first), 0, "%s, seed %d",
                         method->name, (int)seed);
        }
    }
}

static void set_memory(int64_t gpu_bytes)
{
    for (emp_device_id d = 1; d < t.machine->device_count; d++)
        t.machine->device[d].memory_bytes = gpu_bytes;
}

static const char *options_of(const emp_method *method)
{
    for (int s = 0; s < SETTINGS; s++)
        if (strcmp(settings[s].method, method->name) == 0) return settings[s].options;
    return NULL;
}

/* All but those whose networks read the size of memories. */
Test(unchecked, memory_limits_no_method)
{
    static const char *const readers[] = {"placeto", "giph", "go", "hsdag", "dyna"};
    const emp_method        *method;
    outcome                  small, large;

    t.problem->runtime.check_memory = false;
    for (int32_t i = 0; (method = emp_method_at(i)) != NULL; i++) {
        bool reads = false;
        for (size_t k = 0; k < COUNT(readers); k++)
            reads = reads || strcmp(method->name, readers[k]) == 0;
        if (reads) continue;
        set_memory(INT64_C(23) << 30);
        run(&large, method, options_of(method), 1);
        set_memory(1 << 10);
        run(&small, method, options_of(method), 1);
        cr_expect_eq(memcmp(&large, &small, sizeof small), 0,
                     "%s: %.9g s, and %.9g s with little memory", method->name,
                     large.best_s, small.best_s);
    }
}

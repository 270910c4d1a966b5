// SPDX-License-Identifier: GPL-3.0-or-later
/* Does a run of every method that reads no weights end with no op on a forbidden CPU, and does none fail
 * on the way there, also where the GPUs are too small? */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "base/mem.h"
#include "run/loop.h"
#include "run/methods.h"
#include "tests/support/calls.h"
#include "tests/support/problems.h"

/* Enough for refine to ask the surrogate, and to make several moves; under valgrind a learner would take
 * many minutes. */
enum { BUDGET = 48, LAUNCHED_BUDGET = 6 };

static task model;

static void set_up(void)
{
    task_create(&model, "rnnlm:steps=1", "k40x2", "tf-r1.3");
    MUST(emp_problem_forbid_cpus(model.problem, NULL, &why));
}

static void tear_down(void)
{
    task_destroy(&model);
    cr_expect_eq(emp_mem_live_blocks(), 0, "leaked");
}

TestSuite(forbidden, .init = set_up, .fini = tear_down);

static void expect_allowed(const emp_record *record)
{
    for (emp_op_id op = 0; op < record->decision.op_count; op++)
        cr_assert(
            emp_problem_allows(model.problem, op, record->decision.device_of_op[op]),
            "%s: op '%s' is on %s", record->method, record->op_name[op],
            record->device_name[record->decision.device_of_op[op]]);
}

/* Methods of other graphs. */
static bool is_unsuited(emp_status st)
{
    return st == EMP_EUNSUPPORTED || st == EMP_EINFEASIBLE;
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
        emp_status st = emp_run(&record, model.problem, &params, &err);
        if (st == EMP_OK) expect_allowed(&record);
        if (st == EMP_OK) cr_expect_eq(record.is_feasible, fits, "%s", method->name);
        cr_expect(st == EMP_OK || is_unsuited(st), "%s: %s", method->name, err.msg);
        run_count += st == EMP_OK;
        emp_record_clear(&record);
    }
    return run_count;
}

Test(forbidden, cpus_hold_no_op_of_any_method_that_a_gpu_can_run)
{
    int32_t run_count = run_all(true);

    cr_expect_gt(run_count, 20, "%d methods have run", run_count);
    cr_expect_eq(emp_problem_find_shortage(model.problem).kinds, 0);
}

/* The CPU has room for everything, and methods that repair placements must not take it. */
Test(forbidden, gpus_that_are_too_small_are_out_of_memory)
{
    for (emp_device_id d = 1; d < model.machine->device_count; d++)
        model.machine->device[d].memory_bytes = 1 << 20;
    int32_t              run_count = run_all(false);
    emp_problem_shortage s = emp_problem_find_shortage(model.problem);

    cr_expect_gt(run_count, 12, "%d methods have run", run_count);
    cr_expect_eq(s.kinds, EMP_KIND_GPU);
    cr_expect_eq(s.memory_bytes, 2 << 20);
    cr_expect_gt(s.held_bytes, s.memory_bytes);
}

// SPDX-License-Identifier: GPL-3.0-or-later
/* Do the times of ops, types and scopes add up, and is each op in the scope of its name? */
#include <criterion/criterion.h>
#include <inttypes.h>
#include <string.h>

#include "tests/sim/engine/random_problem.h"
#include "tests/support/problems.h"
#include "tests/support/survive.h"

enum { SEEDS = 300, GPU = 10, ISSUE = 3 };

TestSuite(tally, .fini = expect_no_leak);

static void expect_top(const emp_explain_device *device, const emp_explain_top *top,
                       uint64_t seed)
{
    emp_time_ns time = 0;
    int32_t     count = 0;

    for (int32_t i = 0; i < top->count; i++) {
        time += top->share[i].time_ns;
        count += top->share[i].op_count;
        if (i > 0) cr_expect_leq(top->share[i].time_ns, top->share[i - 1].time_ns);
    }
    cr_expect_leq(time, device->ops.time_ns, SEED);
    if (top->count == EMP_EXPLAIN_TOP) return;
    cr_expect_eq(time, device->ops.time_ns, SEED);
    cr_expect_eq(count, device->ops.op_count, SEED);
}

Test(tally, adds_up_on_random_problems)
{
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        task r;
        random_problem_create(&r, seed);
        emp_explain *why = task_explain(&r);
        for (int32_t d = 0; d < why->result.device_count; d++) {
            const emp_explain_device *device = &why->device[d];
            if (r.machine->device[d].kind == EMP_DEVICE_GPU)
                cr_expect_eq(device->ops.time_ns, why->result.busy_ns[d],
                             SEED_AND(", device %d"), d);
            expect_top(device, &device->types, seed);
            expect_top(device, &device->scopes, seed);
            expect_top(device, &device->longest, seed);
            cr_expect_leq(device->launch_bound.time_ns, device->ops.time_ns);
            cr_expect_leq(device->issue_ns, why->result.step_time_ns);
        }
        emp_explain_destroy(why);
        task_destroy(&r);
    }
}

/* A problem of serial issue with these names. */
static void create_named(task *t, const char *ops, const char *const *names)
{
    emp_runtime runtime = tiny_serial();

    task_create_ops(t, ops, &runtime);
    for (int i = 0; i < t->graph->op_count; i++) t->graph->name[i] = names[i];
}

static void expect_scope(const emp_explain *why, const emp_explain_share *share,
                         const char *name, emp_time_ns time, int32_t count)
{
    const emp_scope *scope = &why->scopes.scope[share->id];

    cr_expect(strlen(name) == (size_t)scope->length &&
                  memcmp(name, scope->name, strlen(name)) == 0,
              "%.*s is not %s", scope->length, scope->name, name);
    cr_expect_eq(share->time_ns, time, "%s: %" PRId64 " ns", name, share->time_ns);
    cr_expect_eq(share->op_count, count, "%s", name);
}

/* "a" has 7 of 9 parts of the time and branches, so its parts are told; "a/c/only" does not,
 * and is told as "a/c". */
Test(tally, big_scopes_are_told_by_their_parts)
{
    static const char        ops[] = "1*4; 1*2; 1; 1; 1; 2";
    static const char *const names[] = {
        "a/c/only/x", "gradients/a/d/y_grad/z", "a/w", "b/v", "u", "far"};
    task t;

    create_named(&t, ops, names);
    emp_explain              *why = task_explain(&t);
    const emp_explain_device *device = &why->device[1];
    const emp_explain_top    *top = &device->scopes;
    cr_assert_eq(top->count, 5);
    expect_scope(why, &top->share[0], "a/c", 4 * GPU, 1);
    expect_scope(why, &top->share[1], "a/d", 2 * GPU, 1);
    expect_scope(why, &top->share[2], "", GPU, 1);
    expect_scope(why, &top->share[3], "a", GPU, 1);
    expect_scope(why, &top->share[4], "b", GPU, 1);
    cr_expect_eq(device->longest.share[0].id, 0);
    cr_expect_eq(device->types.share[0].op_count, 5);
    cr_expect_eq(device->issue_ns, 5 * ISSUE);
    cr_expect_eq(device->launch_bound.op_count, 0);
    cr_expect_eq(why->device[0].ops.op_count, 0);
    emp_explain_destroy(why);
    task_destroy(&t);
}

Test(tally, ops_that_are_issued_for_longer_than_they_run_are_counted)
{
    static const char ops[] = "1; 1; 1k";
    emp_runtime       runtime = tiny_serial();
    task              t;

    task_create_ops(&t, ops, &runtime);
    t.problem->costs->gpu[1].compute_ns = ISSUE - 1;
    emp_explain *why = task_explain(&t);
    cr_expect_eq(why->device[1].launch_bound.op_count, 1);
    cr_expect_eq(why->device[1].launch_bound.time_ns, ISSUE - 1);
    cr_expect_eq(why->device[1].ops.op_count, 2, "an op of no time is none");
    emp_explain_destroy(why);
    task_destroy(&t);
}

Test(scopes, ops_are_in_the_scopes_of_their_names)
{
    static const char        ops[] = "1; 1; 1; 1f";
    static const char *const names[] = {"a/b/x", "gradients/a/b/x_1_grad/MatMul", "ab/y",
                                        "a/b/c/z"};
    task                     t;
    emp_scopes               s = {0};

    create_named(&t, ops, names);
    cr_assert_eq(emp_scopes_init(&s, t.graph, NULL), EMP_OK);
    cr_assert_eq(s.count, 4, "the root, a, a/b, ab");
    cr_expect_eq(s.of_op[0], s.of_op[1], "a gradient is with what it differentiates");
    cr_expect_neq(s.of_op[0], s.of_op[2]);
    cr_expect_eq(s.of_op[3], -1, "folded");
    cr_expect_eq(s.scope[0].op_count, 3);
    cr_expect_eq(s.scope[s.of_op[0]].op_count, 2);
    cr_expect(emp_scopes_is_in(&s, s.of_op[0], s.scope[s.of_op[0]].parent));
    cr_expect_not(emp_scopes_is_in(&s, s.of_op[2], s.of_op[0]));
    emp_scopes_clear(&s);
    SURVIVES_EVERY_ALLOCATION_FAILURE(emp_scopes_init(&s, t.graph, NULL),
                                      emp_scopes_clear(&s));
    emp_scopes_clear(&s);
    task_destroy(&t);
}

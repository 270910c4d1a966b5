// SPDX-License-Identifier: GPL-3.0-or-later
/* Does noise reach every cost, by no more than it may? Are variants their own? */
#include "bench/compare/comparison_internal.h"
#include "run/jobs/jobs.h"
#include "sim/engine/sim.h"
#include "tests/support/problems.h"
#include "tests/test.h"

static const emp_task row = {
    "two", "Two layers", "rnnlm:layers=2,steps=2,units=512,vocab=4096,sampled=0", "k40x2",
    2,     NULL};

static emp_loaded_task     loaded;
static emp_problem_variant variant;
static emp_device_id      *device_of_op; /* all devices in turn */

static void set_up(void)
{
    emp_runtime runtime;

    ASSERT_OK(emp_runtime_init(&runtime, "tf-r1.3", &err));
    ASSERT_OK(emp_tasks_load(&loaded, &row, 1, &runtime, 1, &err));
    device_of_op = EMP_NEW_ARRAY(emp_device_id, (size_t)loaded.graph->op_count);
    for (int32_t op = 0; op < loaded.graph->op_count; op++)
        device_of_op[op] = op % loaded.machine->device_count;
    emp_problem_legalize(loaded.problem, device_of_op);
    ASSERT_OK(emp_problem_variant_init(&variant, loaded.problem, &err));
}

static void tear_down(void)
{
    emp_problem_variant_clear(&variant);
    emp_tasks_clear(&loaded, 1);
    emp_free(device_of_op);
    expect_all_freed();
}

TestSuite(noise, .init = set_up, .fini = tear_down);

static emp_time_ns step_of(const emp_problem *problem)
{
    return problem_step(problem, device_of_op).step_time_ns;
}

static void add(double most_frac, uint64_t seed)
{
    emp_rng rng;

    emp_rng_init(&rng, seed, 0, 0);
    ASSERT_OK(emp_noise_add(&variant, most_frac, &rng, &err));
}

static void expect_within(double value, double before, double slack, const char *what)
{
    cr_expect(value >= before / 1.1 - slack && value <= before * 1.1 + slack,
              "%s: %g from %g", what, value, before);
}

Test(noise, reaches_all_costs_within_its_size)
{
    const emp_cost_table *before = loaded.problem->costs, *after = &variant.costs;
    const emp_machine    *m = loaded.problem->machine;

    int32_t changed = 0;

    add(0.1, 1);
    for (int op = 0; op < before->op_count; op++) {
        int32_t tasks = before->cpu_offset[op + 1] - before->cpu_offset[op];
        changed += after->gpu[op].compute_ns != before->gpu[op].compute_ns;
        expect_within((double)after->gpu[op].compute_ns,
                      (double)before->gpu[op].compute_ns, 0.5, "kernel");
        expect_within((double)after->gpu[op].issue_ns, (double)before->gpu[op].issue_ns,
                      0.5, "issue");
        expect_within((double)after->cpu[op].compute_ns,
                      (double)before->cpu[op].compute_ns, 0.5, "CPU");
        for (int32_t i = before->cpu_offset[op]; i < before->cpu_offset[op] + tasks; i++)
            expect_within((double)after->task_ns[i], (double)before->task_ns[i], 0.5,
                          "task");
    }
    for (int32_t i = 0; i < m->link_count; i++) {
        const emp_link *a = &m->link[i], *b = &variant.machine->link[i];
        expect_within(b->bytes_per_s, a->bytes_per_s, 0, "rate");
        cr_expect_float_eq(b->bytes_per_s * b->latency_s, a->bytes_per_s * a->latency_s,
                           1e-9 * a->bytes_per_s * a->latency_s, "a link has one factor");
        cr_expect_neq(b->bytes_per_s, a->bytes_per_s, "link %d", i);
    }
    cr_expect_gt(changed, before->op_count / 4, "those that take time");
    cr_expect_neq(step_of(&variant.problem), step_of(loaded.problem));
    expect_within((double)step_of(&variant.problem), (double)step_of(loaded.problem),
                  0.1 * (double)step_of(loaded.problem), "step");
}

/* Times beside other groups of cores have the factor of their op, and come back with the original. */
Test(noise, reaches_times_beside_other_groups)
{
    emp_cost_table *c = loaded.problem->costs;

    emp_problem_variant_clear(&variant);
    c->gpu_beside_ns = EMP_NEW_ARRAY(emp_time_ns, (size_t)c->op_count);
    for (int op = 0; op < c->op_count; op++)
        c->gpu_beside_ns[op] = 2 * c->gpu[op].compute_ns;
    ASSERT_OK(emp_problem_variant_init(&variant, loaded.problem, &err));
    add(0.1, 1);
    for (int op = 0; op < c->op_count; op++)
        cr_expect_float_eq((double)variant.costs.gpu_beside_ns[op],
                           2.0 * (double)variant.costs.gpu[op].compute_ns, 2.0);
    emp_problem_variant_restore(&variant);
    for (int op = 0; op < c->op_count; op++)
        cr_expect_eq(variant.costs.gpu_beside_ns[op], c->gpu_beside_ns[op]);
}

Test(noise, a_draw_is_repeatable_and_the_original_comes_back)
{
    emp_time_ns original = step_of(loaded.problem), first, second;

    add(0.1, 1);
    first = step_of(&variant.problem);
    emp_problem_variant_restore(&variant);
    cr_expect_eq(step_of(&variant.problem), original);
    add(0.1, 1);
    second = step_of(&variant.problem);
    cr_expect_eq(first, second);
    emp_problem_variant_restore(&variant);
    add(0.1, 2);
    cr_expect_neq(step_of(&variant.problem), first, "another seed");
}

/* Routes have the times that links of machine files give. */
Test(noise, routes_are_timed_as_they_were_loaded)
{
    emp_data_names names;

    emp_data_find(&names, "machines");
    cr_expect_gt(names.count, 10);
    for (int32_t i = 0; i < names.count; i++) {
        emp_machine *a = NULL, *b = NULL;
        ASSERT_OK(emp_machine_load(&a, names.name[i], &err));
        ASSERT_OK(emp_machine_load(&b, names.name[i], &err));
        emp_machine_time_routes(b);
        for (int32_t r = 0; r < a->device_count * a->device_count; r++) {
            const emp_route *x = &a->route[r / a->device_count][r % a->device_count];
            const emp_route *y = &b->route[r / a->device_count][r % a->device_count];
            cr_expect(x->bytes_per_s == y->bytes_per_s && x->latency_s == y->latency_s,
                      "%s, route %d", names.name[i], r);
        }
        emp_machine_destroy(a);
        emp_machine_destroy(b);
    }
}

Test(noise, a_variant_survives_every_allocation_failure)
{
    emp_problem_variant_clear(&variant);
    SURVIVES_EVERY_ALLOCATION_FAILURE(
        emp_problem_variant_init(&variant, loaded.problem, NULL),
        emp_problem_variant_clear(&variant));
}

// SPDX-License-Identifier: GPL-3.0-or-later
/* Are the two steps those of the simulator, and is each part worth what a simulation of it says? */
#include <emplace/emplace.h>

#include "sim/explain/difference.h"
#include "tests/support/problems.h"
#include "tests/support/survive.h"

static emp_graph      *graph;
static emp_machine    *machine;
static emp_runtime    *runtime;
static emp_problem    *problem;
static emp_device_id  *fast, *slow;
static emp_difference *d;

static void load(const char *spec, const char *runtime_name)
{
    ASSERT_OK(emp_graph_load(&graph, spec, &err));
    ASSERT_OK(emp_machine_load(&machine, "k40x2", &err));
    ASSERT_OK(emp_runtime_load(&runtime, runtime_name, &err));
    ASSERT_OK(emp_problem_create(&problem, graph, machine, runtime, spec, &err));
    const size_t ops = (size_t)emp_graph_op_count(graph);
    fast = calloc(ops, sizeof *fast);
    slow = calloc(ops, sizeof *slow);
    cr_assert(fast != NULL && slow != NULL);
    for (size_t op = 0; op < ops; op++) fast[op] = 1; /* the slower one is on the CPU */
    emp_problem_legalize(problem, fast);
    emp_problem_legalize(problem, slow);
}

static void compare(const emp_device_id *a, const emp_device_id *b)
{
    const emp_decision x = {.device_of_op = a}, y = {.device_of_op = b};

    ASSERT_OK(emp_difference_create(&d, problem, &x, &y, &err));
}

static void tear_down(void)
{
    emp_difference_destroy(d);
    free(fast);
    free(slow);
    emp_problem_destroy(problem);
    emp_runtime_destroy(runtime);
    emp_machine_destroy(machine);
    emp_graph_destroy(graph);
    expect_all_freed();
}

TestSuite(difference, .fini = tear_down);

static emp_time_ns time_of(const emp_device_id *device_of_op)
{
    OWN_SIM        sim = NULL;
    emp_sim_result result;

    ASSERT_OK(emp_sim_create(&sim, problem, &err));
    ASSERT_OK(emp_sim_run(sim, device_of_op, &result, &err));
    return result.step_time_ns;
}

/* Whether a part has the op, by its name. */
static bool is_in(const emp_difference_part *part, emp_op_id op)
{
    const int32_t scope = d->scopes.of_op[op];

    if (part->op >= 0) return problem->class_of_op[op] == problem->class_of_op[part->op];
    return scope >= 0 &&
           (part->is_own ? scope == part->scope
                         : emp_scopes_is_in(&d->scopes, scope, part->scope));
}

static emp_time_ns time_with(const emp_difference_part *part, const emp_device_id *of,
                             const emp_device_id *with)
{
    const size_t            bytes = (size_t)emp_graph_op_count(graph) * sizeof *of;
    OWN_FREE emp_device_id *mixed = malloc(bytes);

    cr_assert_not_null(mixed);
    memcpy(mixed, of, bytes);
    for (emp_op_id op = 0; op < emp_graph_op_count(graph); op++)
        if (is_in(part, op)) mixed[op] = with[op];
    emp_problem_legalize(problem, mixed);
    return time_of(mixed);
}

Test(difference, parts_have_each_op_once_and_are_worth_what_they_say)
{
    load("rnnlm:layers=1,steps=3,units=256,batch=64", "tf-r1.3");
    compare(slow, fast);
    int32_t sum = 0;

    cr_expect_eq(d->faster, 1);
    cr_expect_eq(d->side[0].result.step_time_ns, time_of(slow));
    cr_expect_eq(d->side[1].result.step_time_ns, time_of(fast));
    cr_assert(1 < d->part_count && d->part_count <= EMP_DIFFERENCE_PARTS);
    for (int32_t i = 0; i < d->part_count; i++) {
        cr_expect_eq(d->part[i].alone_ns, time_with(&d->part[i], slow, fast), "%d", i);
        cr_expect_eq(d->part[i].without_ns, time_with(&d->part[i], fast, slow), "%d", i);
        sum += d->part[i].op_count;
    }
    cr_expect_eq(sum, d->different_count);
    cr_expect_gt(d->part[0].without_ns, d->side[1].result.step_time_ns);
}

/* Nor does a placement differ from itself. */
Test(difference, the_order_of_the_two_does_not_matter)
{
    load("rnnlm:layers=1,steps=2,units=64,batch=8", "tf-r1.3");
    compare(fast, slow);
    const emp_time_ns first_ns = d->part[0].without_ns;
    const int32_t     faster = d->faster;
    emp_difference_destroy(d);
    compare(slow, fast);
    cr_expect_eq(d->faster, 1 - faster);
    cr_expect_eq(d->part[0].without_ns, first_ns);
    emp_difference_destroy(d);
    compare(fast, fast);
    cr_expect(d->part_count == 0 && d->different_count == 0 && d->faster == 0);
}

Test(difference, a_timeline_adds_up_to_the_busy_time)
{
    double sum = 0.0;

    load("rnnlm:layers=1,steps=3,units=256,batch=64", "tf-r1.3");
    compare(fast, slow);
    for (int b = 0; b < EMP_DIFFERENCE_BINS; b++) {
        cr_expect(0.0 <= d->side[0].busy_frac[1][b] && d->side[0].busy_frac[1][b] <= 1.0);
        sum += d->side[0].busy_frac[1][b] * (double)d->span_ns / EMP_DIFFERENCE_BINS;
    }
    cr_expect_float_eq(sum, (double)d->side[0].result.busy_ns[1],
                       0.01 * (double)d->span_ns);
}

/* Names without scopes: one op a part, and rules that do not say why. */
Test(difference, ops_without_scopes_are_parts_by_themselves)
{
    emp_graph_builder *b = NULL;
    emp_stated_op      op = {.cost = {1000, 9000, -1, -1},
                             .kinds = EMP_KIND_CPU | EMP_KIND_GPU};
    emp_op_id          id;

    ASSERT_OK(emp_graph_builder_create(&b, &err));
    ASSERT_OK(emp_graph_builder_state(b, "first", "Op", &op, &id, &err));
    op.cost.cpu_ns = 50000;
    ASSERT_OK(emp_graph_builder_state(b, "second", "Op", &op, &id, &err));
    ASSERT_OK(emp_graph_builder_connect(b, (emp_port){0, 0}, 1, &err));
    ASSERT_OK(emp_graph_builder_finish(b, &graph, &err));
    emp_graph_builder_destroy(b);
    ASSERT_OK(emp_machine_load(&machine, "k40x2", &err));
    ASSERT_OK(emp_runtime_load(&runtime, "placeto", &err));
    ASSERT_OK(emp_problem_create(&problem, graph, machine, runtime, "two", &err));
    fast = calloc(2, sizeof *fast);
    slow = calloc(2, sizeof *slow);
    fast[0] = fast[1] = 1;
    compare(slow, fast);
    cr_expect_null(d->side[0].why);
    cr_assert_eq(d->part_count, 2);
    cr_expect_eq(d->part[0].op, 1, "it loses most without the second op's GPU");
    cr_expect_eq(d->part[0].alone_ns, time_with(&d->part[0], slow, fast));
}

Test(difference, fused_ops_are_refused_and_every_allocation_may_fail)
{
    load("rnnlm:layers=1,steps=2,units=64,batch=8", "tf-r1.3");
    const emp_decision  x = {.device_of_op = slow}, y = {.device_of_op = fast};
    OWN_FREE emp_op_id *leader =
        calloc((size_t)emp_graph_op_count(graph), sizeof *leader);
    const emp_decision fused = {.device_of_op = fast, .leader_of_op = leader};

    EXPECT_REFUSED(emp_difference_create(&d, problem, &x, &fused, &err), EMP_EUNSUPPORTED,
                   "fused");
    SURVIVES_EVERY_ALLOCATION_FAILURE(emp_difference_create(&d, problem, &x, &y, NULL),
                                      cr_expect_null(d));
}

// SPDX-License-Identifier: GPL-3.0-or-later
/* Does the library place, bound and explain as the program does? */
#include <emplace/emplace.h>

#include "base/mem.h"
#include "run/loop.h"
#include "run/methods.h"
#include "sim/problem/problem.h"
#include "tests/test.h"

static emp_graph      *graph;
static emp_machine    *machine;
static emp_runtime    *runtime;
static emp_problem    *problem;
static emp_sim_result *result;
static emp_device_id  *placed;

static void load(const char *spec, const char *machine_name, const char *runtime_name)
{
    ASSERT_OK(emp_graph_load(&graph, spec, &err));
    ASSERT_OK(emp_machine_load(&machine, machine_name, &err));
    ASSERT_OK(emp_runtime_load(&runtime, runtime_name, &err));
    ASSERT_OK(emp_problem_create(&problem, graph, machine, runtime, spec, &err));
    ASSERT_OK(emp_sim_result_create(&result, &err));
    placed = calloc((size_t)emp_graph_op_count(graph), sizeof *placed);
    cr_assert_not_null(placed);
}

static void set_up(void)
{
    load("rnnlm:layers=1,steps=3,units=256,batch=64", "k40x2", "tf-r1.3");
}

static void tear_down(void)
{
    free(placed);
    emp_sim_result_destroy(result);
    emp_problem_destroy(problem);
    emp_runtime_destroy(runtime);
    emp_machine_destroy(machine);
    emp_graph_destroy(graph);
    expect_all_freed();
}

TestSuite(place, .init = set_up, .fini = tear_down);

static void expect_placed_as_by_the_program(const char *name, int64_t budget,
                                            const char *options)
{
    const size_t     bytes = (size_t)emp_graph_op_count(graph) * sizeof *placed;
    emp_place_params params = EMP_PLACE_PARAMS;
    emp_run_params   run = {.budget_evaluations = budget};
    SCOPED(emp_record, emp_record_clear) record;

    params.method = name;
    params.options = options;
    params.budget_evaluations = budget;
    params.seed = 7;
    params.threads = 2;
    ASSERT_OK(emp_place(placed, result, problem, &params, &err));
    ASSERT_OK(emp_method_find(&run.method, name, &err));
    run.placer = (emp_method_params){.seed = 7, .threads = 1, .options = options};
    ASSERT_OK(emp_run(&record, problem, &run, &err));
    cr_expect_eq(memcmp(placed, record.decision.device_of_op, bytes), 0, "%s", name);
    cr_expect_eq((double)emp_sim_result_step_time_ns(result) * 1e-9,
                 record.best_step_time_s, "%s", name);
}

Test(place, finds_the_placement_that_the_program_finds)
{
    expect_placed_as_by_the_program("anneal", 300, NULL);
    expect_placed_as_by_the_program("refine", 100, NULL);
    expect_placed_as_by_the_program("portfolio", 100, NULL);
    expect_placed_as_by_the_program("heft", 0, NULL);
    expect_placed_as_by_the_program("hdp", 20, "groups=8");
}

static bool stop_after_one(void *context, const emp_place_progress *progress)
{
    *(int64_t *)context = progress->evaluations;
    return false;
}

/* The candidates of a batch have 2^23 ops together, as in the program. */
Test(place, batches_of_large_graphs_are_smaller)
{
    emp_place_params params = EMP_PLACE_PARAMS;
    int64_t          evaluations = 0;

    tear_down();
    load("rnnlm:layers=1,steps=2000,units=8,batch=1", "k40x1", "ideal");
    const int32_t ops = emp_graph_op_count(graph);
    cr_assert_gt(ops, (1 << 23) / 64);
    params.method = "brkga";
    params.budget_evaluations = 1000;
    params.progress = stop_after_one;
    params.context = &evaluations;
    ASSERT_OK(emp_place(placed, result, problem, &params, &err));
    cr_expect_eq(evaluations, (1 << 23) / ops);
}

static bool stop_after_two(void *context, const emp_place_progress *progress)
{
    int64_t *evaluations = context;

    cr_expect_eq(progress->evaluations, *evaluations + 64);
    cr_expect_eq(progress->budget_evaluations, 10000);
    cr_expect_gt(progress->best_ns, 0);
    cr_expect_geq(progress->elapsed_s, 0.0);
    *evaluations = progress->evaluations;
    return *evaluations < 128;
}

Test(place, reports_each_batch_and_stops_when_asked)
{
    emp_place_params params = EMP_PLACE_PARAMS;
    int64_t          evaluations = 0;

    params.method = "random";
    params.budget_evaluations = 10000;
    params.progress = stop_after_two;
    params.context = &evaluations;
    ASSERT_OK(emp_place(placed, result, problem, &params, &err));
    cr_expect_eq(evaluations, 128);
    cr_expect_gt(emp_sim_result_step_time_ns(result), 0);
}

Test(place, begins_at_a_start_and_is_no_slower_than_it)
{
    emp_place_params params = EMP_PLACE_PARAMS;
    emp_sim         *sim = NULL;
    emp_device_id   *start =
        calloc((size_t)emp_graph_op_count(graph), sizeof(emp_device_id));
    emp_time_ns start_ns;

    cr_assert_not_null(start);
    ASSERT_OK(emp_sim_create(&sim, problem, &err));
    ASSERT_OK(emp_sim_run(sim, start, result, &err));
    start_ns = emp_sim_result_step_time_ns(result);
    params.method = "anneal";
    params.start = start;
    params.budget_evaluations = 50;
    ASSERT_OK(emp_place(placed, result, problem, &params, &err));
    cr_expect_leq(emp_sim_result_step_time_ns(result), start_ns);
    start[3] = 9;
    EXPECT_REFUSED(emp_place(placed, result, problem, &params, &err), EMP_EINVAL,
                   "on device 9");
    emp_sim_destroy(sim);
    free(start);
}

Test(place, gives_searches_without_a_budget_400_evaluations)
{
    emp_place_params params = EMP_PLACE_PARAMS;
    emp_time_ns      step_ns;

    params.method = "random";
    ASSERT_OK(emp_place(placed, result, problem, &params, &err));
    step_ns = emp_sim_result_step_time_ns(result);
    params.budget_evaluations = 400;
    ASSERT_OK(emp_place(placed, result, problem, &params, &err));
    cr_expect_eq(emp_sim_result_step_time_ns(result), step_ns);
    params.budget_evaluations = 0;
    params.budget_s = 1e-9; /* one batch */
    ASSERT_OK(emp_place(placed, NULL, problem, &params, &err));
}

#define EXPECT_PLACE_REFUSED(member, value, want, part)                                  \
    do {                                                                                 \
        emp_place_params params = EMP_PLACE_PARAMS;                                      \
        params.member = (value);                                                         \
        EXPECT_REFUSED(emp_place(placed, NULL, problem, &params, &err), (want), (part)); \
    } while (0)

Test(place, refuses_parameters_that_cannot_be)
{
    EXPECT_PLACE_REFUSED(method, "zebra", EMP_EINVAL, "zebra");
    EXPECT_PLACE_REFUSED(preset, "zebra", EMP_EINVAL, "has no presets");
    EXPECT_PLACE_REFUSED(options, "zebra=1", EMP_EINVAL, "zebra");
    EXPECT_PLACE_REFUSED(budget_evaluations, -1, EMP_EINVAL, "negative");
    EXPECT_PLACE_REFUSED(budget_s, -1.0, EMP_EINVAL, "negative");
    EXPECT_PLACE_REFUSED(threads, 0, EMP_EINVAL, "0 threads");
    EXPECT_PLACE_REFUSED(size, 0, EMP_EINVAL, "EMP_PLACE_PARAMS");
    EXPECT_PLACE_REFUSED(size, 4096, EMP_EUNSUPPORTED, "EMP_PLACE_PARAMS");
    EXPECT_REFUSED(emp_place(NULL, NULL, problem, NULL, &err), EMP_EINVAL,
                   "device_of_op");
    EXPECT_REFUSED(emp_place(placed, NULL, NULL, NULL, &err), EMP_EINVAL, "problem");
}

Test(place, overwrites_the_error_of_a_call_before)
{
    emp_place_params params = EMP_PLACE_PARAMS;
    emp_error        why = {.status = EMP_EIO, .msg = "of another call"};

    params.method = "zebra";
    cr_expect_eq(emp_place(placed, NULL, problem, &params, &why), EMP_EINVAL);
    cr_expect_eq(why.status, EMP_EINVAL);
    cr_expect_not_null(strstr(why.msg, "zebra"), "%s", why.msg);
    params.method = "gpu";
    cr_expect_eq(emp_place(placed, NULL, problem, &params, &why), EMP_OK);
    cr_expect_eq(why.status, EMP_OK);
}

Test(place, survives_every_allocation_failure)
{
    emp_place_params params = EMP_PLACE_PARAMS;
    const int32_t    ops = emp_graph_op_count(graph);

    params.method = "anneal";
    params.budget_evaluations = 4;
    memset(placed, 0xff, (size_t)ops * sizeof *placed);
    SURVIVES_EVERY_ALLOCATION_FAILURE(emp_place(placed, NULL, problem, &params, NULL),
                                      cr_expect_eq(placed[ops - 1], -1));
}

Test(place, bounds_the_step_from_below)
{
    emp_place_params params = EMP_PLACE_PARAMS;
    emp_time_ns      bound_ns = 0;

    params.budget_evaluations = 100;
    ASSERT_OK(emp_place(placed, result, problem, &params, &err));
    ASSERT_OK(emp_bound(&bound_ns, problem, &err));
    cr_expect_gt(bound_ns, 0);
    cr_expect_leq(bound_ns, emp_sim_result_step_time_ns(result));
    cr_expect_gt(bound_ns, emp_sim_result_step_time_ns(result) / 10);
    EXPECT_REFUSED(emp_bound(NULL, problem, &err), EMP_EINVAL, "bound_ns");
}

static void expect_groups(const char *kind, int32_t most)
{
    const int32_t ops = emp_graph_op_count(graph);
    int32_t       count = 0, used = 0;
    int32_t      *group_of_class = calloc((size_t)emp_problem_class_count(problem), 4);
    bool         *is_used = calloc((size_t)ops, 1);

    cr_assert(group_of_class != NULL && is_used != NULL);
    ASSERT_OK(emp_problem_group(placed, &count, problem, kind, most, 1, &err));
    cr_expect(1 < count && count <= (strcmp(kind, "colocrl") == 0 ? ops : most), "%s: %d",
              kind, count);
    for (emp_op_id op = 0; op < ops; op++) {
        const int32_t class = emp_problem_class_of_op(problem, op);
        cr_assert(-1 <= placed[op] && placed[op] < count);
        if (class < 0) cr_expect_eq(placed[op], -1);
        if (class < 0 || placed[op] < 0) continue;
        cr_expect(group_of_class[class] == 0 || group_of_class[class] == placed[op] + 1);
        group_of_class[class] = placed[op] + 1;
        used += !is_used[placed[op]];
        is_used[placed[op]] = true;
    }
    cr_expect_eq(used, count, "%s", kind);
    free(group_of_class);
    free(is_used);
}

Test(place, groups_ops_as_the_learners_do)
{
    expect_groups("metis", 8);
    expect_groups("scotch", 8);
    expect_groups("names", 16);
    expect_groups("colocrl", 1);
    int32_t count;
    EXPECT_REFUSED(emp_problem_group(placed, &count, problem, "zebra", 8, 1, &err),
                   EMP_EINVAL, "zebra");
    EXPECT_REFUSED(emp_problem_group(placed, &count, problem, "metis", 0, 1, &err),
                   EMP_EINVAL, "0 groups");
    SURVIVES_EVERY_ALLOCATION_FAILURE(
        emp_problem_group(placed, &count, problem, "names", 8, 1, NULL), (void)0);
}

static int32_t count_lines(const char *text)
{
    int32_t count = 0;

    for (; *text != '\0'; text++) count += *text == '\n';
    return count;
}

Test(place, explains_a_step_in_ten_lines)
{
    char text[EMP_EXPLANATION_BYTES], cut[40];

    ASSERT_OK(emp_explain(text, sizeof text, problem, placed, &err));
    cr_expect_leq(count_lines(text), 10, "%s", text);
    cr_expect_eq(text[strlen(text) - 1], '\n');
    cr_expect_eq(strncmp(text, "bound by     the load of cpu:0, which works", 42), 0,
                 "%s", text);
    cr_expect_not_null(strstr(text, "\nmove         -"), "GPUs are faster: %s", text);
    cr_expect_not_null(strstr(text, "\nmemory       cpu:0 holds"), "%s", text);
    ASSERT_OK(emp_explain(cut, sizeof cut, problem, placed, &err));
    cr_expect_eq(strncmp(cut, text, sizeof cut - 1), 0);
    placed[0] = 99;
    EXPECT_REFUSED(emp_explain(text, sizeof text, problem, placed, &err), EMP_EINVAL,
                   "99");
    EXPECT_REFUSED(emp_explain(text, 0, problem, placed, &err), EMP_EINVAL, "room");
}

Test(place, says_that_rules_without_events_cannot_be_explained)
{
    char text[EMP_EXPLANATION_BYTES];

    tear_down();
    load("rnnlm:layers=1,steps=2,units=64,batch=8", "k40x2", "placeto");
    EXPECT_REFUSED(emp_explain(text, sizeof text, problem, placed, &err),
                   EMP_EUNSUPPORTED, "placeto");
}

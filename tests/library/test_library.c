// SPDX-License-Identifier: GPL-3.0-or-later
/* Does the public library do what its headers say, and refuse what they refuse? */
#include <emplace/emplace.h>

#include "base/mem.h"
#include "base/rng.h"
#include "tests/test.h"

enum { THREADS = 3, BATCH = 8 };

static emp_graph   *graph;
static emp_machine *machine;
static emp_runtime *runtime;
static emp_problem *problem;

static void load(const char *spec, const char *machine_name)
{
    ASSERT_OK(emp_graph_load(&graph, spec, &err));
    ASSERT_OK(emp_machine_load(&machine, machine_name, &err));
    ASSERT_OK(emp_runtime_load(&runtime, "tf-r1.3", &err));
    ASSERT_OK(emp_problem_create(&problem, graph, machine, runtime, spec, &err));
}

static void set_up(void) { load("rnnlm:layers=1,steps=2,units=64,batch=8", "k40x2"); }

static void tear_down(void)
{
    emp_problem_destroy(problem);
    emp_runtime_destroy(runtime);
    emp_machine_destroy(machine);
    emp_graph_destroy(graph);
    expect_all_freed();
}

TestSuite(library, .init = set_up, .fini = tear_down);

static emp_device_id *place_all_on(emp_device_id device)
{
    const size_t   ops = (size_t)emp_graph_op_count(graph);
    emp_device_id *device_of_op = malloc(ops * sizeof *device_of_op);

    cr_assert_not_null(device_of_op);
    for (size_t op = 0; op < ops; op++) device_of_op[op] = device;
    emp_problem_legalize(problem, device_of_op);
    return device_of_op;
}

static emp_sim        *sim;
static emp_sim_result *result;

static void open_sim(void)
{
    ASSERT_OK(emp_sim_create(&sim, problem, &err));
    ASSERT_OK(emp_sim_result_create(&result, &err));
}

static void close_sim(emp_device_id *device_of_op)
{
    emp_sim_result_destroy(result);
    emp_sim_destroy(sim);
    free(device_of_op);
}

Test(library, the_version_at_run_time_is_that_of_the_headers)
{
    cr_expect_str_eq(emp_version(), scratch_print("%d.%d.%d", EMP_VERSION_MAJOR,
                                                  EMP_VERSION_MINOR, EMP_VERSION_PATCH));
}

Test(library, every_edge_leads_from_an_earlier_op_to_a_later_one)
{
    const int32_t    ops = emp_graph_op_count(graph);
    const emp_op_id *order = emp_graph_order(graph);
    int32_t         *place = malloc((size_t)ops * sizeof *place), edges = 0;

    cr_assert_gt(ops, 0);
    cr_assert_not_null(place);
    for (int32_t i = 0; i < ops; i++) place[order[i]] = i;
    for (emp_op_id op = 0; op < ops; op++) {
        int32_t              count, controls;
        const emp_tensor_id *input = emp_graph_inputs(graph, op, &count);
        const emp_op_id     *control = emp_graph_controls(graph, op, &controls);
        for (int32_t i = 0; i < count; i++, edges++)
            cr_expect_lt(place[emp_graph_tensor_producer(graph, input[i])], place[op]);
        for (int32_t i = 0; i < controls; i++) cr_expect_lt(place[control[i]], place[op]);
    }
    cr_expect_gt(edges, ops / 2);
    free(place);
}

Test(library, an_op_makes_the_tensors_that_name_it)
{
    for (emp_op_id op = 0; op < emp_graph_op_count(graph); op++) {
        int32_t       count;
        emp_tensor_id first = emp_graph_outputs(graph, op, &count);
        for (int32_t i = 0; i < count; i++) {
            cr_expect_eq(emp_graph_tensor_producer(graph, first + i), op);
            cr_expect_geq(emp_graph_tensor_bytes(graph, first + i), 0);
        }
        cr_expect_eq(emp_graph_find(graph, emp_graph_op_name(graph, op)), op);
        cr_expect_not_null(emp_graph_op_type(graph, op));
    }
}

Test(library, machines_have_devices_with_names_kinds_and_memory)
{
    cr_assert_eq(emp_machine_device_count(machine), 3);
    cr_expect_str_eq(emp_machine_device_name(machine, 0), "cpu:0");
    cr_expect_eq(emp_machine_device_kind(machine, 0), EMP_DEVICE_CPU);
    cr_expect_eq(emp_machine_device_kind(machine, 2), EMP_DEVICE_GPU);
    cr_expect_eq(emp_machine_find(machine, "gpu:1"), 2);
    cr_expect_gt(emp_machine_device_memory_bytes(machine, 1), INT64_C(1) << 33);
    cr_expect_eq(emp_machine_copy_time_ns(machine, 1, 1, 1 << 20), 0);
    cr_expect_gt(emp_machine_copy_time_ns(machine, 0, 1, 2 << 20),
                 emp_machine_copy_time_ns(machine, 0, 1, 1 << 20));
}

Test(library, a_placement_is_legal_if_every_op_is_where_it_may_be_with_its_class)
{
    const int32_t  classes = emp_problem_class_count(problem);
    emp_device_id *device_of_op = place_all_on(1);
    emp_device_id *device_of_class = malloc((size_t)classes * sizeof *device_of_class);
    int32_t        on_gpu = 0;

    cr_assert_not_null(device_of_class);
    for (int32_t c = 0; c < classes; c++) device_of_class[c] = -1;
    for (emp_op_id op = 0; op < emp_graph_op_count(graph); op++) {
        int32_t c = emp_problem_class_of_op(problem, op);
        cr_expect_eq(c < 0, emp_graph_op_is_folded(graph, op));
        if (c < 0) continue;
        cr_expect(emp_problem_allows(problem, op, device_of_op[op]));
        cr_expect(emp_problem_allows(problem, op, 0));
        cr_expect(device_of_class[c] < 0 || device_of_class[c] == device_of_op[op]);
        device_of_class[c] = device_of_op[op];
        on_gpu += device_of_op[op] == 1;
    }
    cr_expect_gt(on_gpu, 0);
    free(device_of_class);
    free(device_of_op);
}

Test(library, products_take_less_on_a_gpu)
{
    int32_t products = 0;

    for (emp_op_id op = 0; op < emp_graph_op_count(graph); op++) {
        if (strcmp(emp_graph_op_type(graph, op), "MatMul") != 0) continue;
        products++;
        cr_expect_gt(emp_graph_op_flops(graph, op), 0.0);
        cr_expect_gt(emp_problem_op_time_ns(problem, op, 1), 0);
        cr_expect_gt(emp_problem_op_time_ns(problem, op, 0), 0);
        cr_expect_eq(emp_problem_op_time_ns(problem, op, 2),
                     emp_problem_op_time_ns(problem, op, 1));
    }
    cr_expect_gt(products, 0);
}

Test(library, a_step_has_a_time_and_peaks_within_memory)
{
    emp_device_id *device_of_op = place_all_on(1);
    emp_oom        oom = {.bytes = -7};

    open_sim();
    cr_expect_eq(emp_sim_result_step_time_ns(result), 0, "no run yet");
    cr_expect_not(emp_sim_result_oom(result, &oom));
    ASSERT_OK(emp_sim_run(sim, device_of_op, result, &err));
    cr_expect(emp_sim_result_is_feasible(result));
    cr_expect_not(emp_sim_result_oom(result, &oom));
    cr_expect_eq(oom.bytes, -7);
    cr_expect_gt(emp_sim_result_step_time_ns(result), emp_sim_result_busy_ns(result, 1));
    cr_expect_gt(emp_sim_result_busy_ns(result, 1), 0);
    cr_expect_gt(emp_sim_result_peak_bytes(result, 1), 0);
    cr_expect_leq(emp_sim_result_peak_bytes(result, 1),
                  emp_machine_device_memory_bytes(machine, 1));
    cr_expect_eq(emp_sim_result_busy_ns(result, 2), 0);
    cr_expect_gt(emp_sim_result_traffic_bytes(result), 0);
    close_sim(device_of_op);
}

Test(library, a_step_that_does_not_fit_names_the_op_and_the_bytes)
{
    emp_oom oom = {0};

    tear_down();
    load("nmt:layers=8", "k40x2");
    emp_device_id *device_of_op = place_all_on(1);
    open_sim();
    ASSERT_OK(emp_sim_run(sim, device_of_op, result, &err));
    cr_expect_not(emp_sim_result_is_feasible(result));
    cr_expect(emp_sim_result_oom(result, NULL));
    cr_assert(emp_sim_result_oom(result, &oom));
    cr_expect_eq(oom.device, 1);
    cr_expect_gt(oom.bytes, 0);
    cr_expect_not_null(emp_graph_op_name(graph, oom.op));
    cr_expect_gt(emp_sim_result_peak_bytes(result, 1),
                 emp_machine_device_memory_bytes(machine, 1));
    close_sim(device_of_op);
}

/* Illegal on purpose, and another one for each number. */
static emp_device_id *scatter(uint32_t seed)
{
    const size_t   ops = (size_t)emp_graph_op_count(graph);
    emp_device_id *device_of_op = malloc(ops * sizeof *device_of_op);

    cr_assert_not_null(device_of_op);
    for (size_t op = 0; op < ops; op++) {
        seed = seed * 1664525u + 1013904223u;
        device_of_op[op] = (emp_device_id)(seed >> 16) % 3;
    }
    return device_of_op;
}

Test(library, a_team_gives_what_one_simulator_gives)
{
    emp_sim_team   *team = NULL;
    emp_sim_result *results[BATCH];
    emp_device_id  *placement[BATCH];
    int32_t         different = 0;
    emp_op_id       leader = 0;

    open_sim();
    ASSERT_OK(emp_sim_team_create(&team, problem, THREADS, &err));
    for (uint32_t i = 0; i < BATCH; i++) {
        placement[i] = scatter(i);
        ASSERT_OK(emp_sim_result_create(&results[i], &err));
    }
    ASSERT_OK(emp_sim_team_run(team, placement, BATCH, results, &err));
    for (int32_t i = 0; i < BATCH; i++) {
        emp_time_ns time_ns = emp_sim_result_step_time_ns(results[i]);
        ASSERT_OK(emp_sim_run(sim, placement[i], result, &err));
        cr_expect_eq(time_ns, emp_sim_result_step_time_ns(result));
        different += time_ns != emp_sim_result_step_time_ns(results[0]);
    }
    cr_expect_gt(different, 0);

    while (emp_problem_class_of_op(problem, leader) < 0) leader++;
    placement[2][leader] = 98;
    placement[5][leader] = 97;
    EXPECT_REFUSED(emp_sim_team_run(team, placement, BATCH, results, &err), EMP_EINVAL,
                   "device 98");

    for (int32_t i = 0; i < BATCH; i++) {
        free(placement[i]);
        emp_sim_result_destroy(results[i]);
    }
    emp_sim_team_destroy(team);
    close_sim(NULL);
}

Test(library, a_saved_placement_loads_again)
{
    emp_device_id *saved = place_all_on(2), *loaded = place_all_on(0);
    const size_t   bytes = (size_t)emp_graph_op_count(graph) * sizeof *saved;

    scratch_create();
    ASSERT_OK(emp_placement_save(scratch_path("p.json"), problem, saved, 0.5, &err));
    ASSERT_OK(emp_placement_load(loaded, scratch_path("p.json"), problem, &err));
    cr_expect_eq(memcmp(saved, loaded, bytes), 0);
    scratch_remove();
    free(saved);
    free(loaded);
}

static emp_stated_op stated_op(void)
{
    return (emp_stated_op){
        .cost = {.gpu_ns = 1000, .cpu_ns = 5000, .copy_ns = 300, .colocation = -1},
        .kinds = EMP_KIND_CPU | EMP_KIND_GPU,
        .held_bytes = 64,
        .copy_bytes = 64};
}

static emp_status make_chain(emp_graph **out, int32_t ops, emp_error *why)
{
    emp_status          st = EMP_OK;
    emp_graph_builder  *b = NULL;
    const emp_stated_op op = stated_op();
    emp_op_id           id = -1;

    *out = NULL;
    st = emp_graph_builder_create(&b, why);
    for (int32_t i = 0; st == EMP_OK && i < ops; i++) {
        st = emp_graph_builder_state(b, scratch_print("op%d", i), "Work", &op, &id, why);
        if (st == EMP_OK && i > 0)
            st = emp_graph_builder_connect(b, (emp_port){i - 1, 0}, i, why);
    }
    if (st == EMP_OK) st = emp_graph_builder_finish(b, out, why);
    emp_graph_builder_destroy(b);
    return st;
}

Test(library, a_chain_of_stated_ops_takes_the_sum_of_their_times)
{
    emp_device_id device_of_op[3] = {1, 1, 1};

    tear_down();
    ASSERT_OK(make_chain(&graph, 3, &err));
    ASSERT_OK(emp_machine_create(&machine, "mine", 1, 1, 1 << 20, &err));
    ASSERT_OK(emp_runtime_load(&runtime, "msr-latency", &err));
    ASSERT_OK(emp_problem_create(&problem, graph, machine, runtime, "chain", &err));
    open_sim();
    ASSERT_OK(emp_sim_run(sim, device_of_op, result, &err));
    cr_expect_eq(emp_sim_result_step_time_ns(result), 3 * 1000);
    device_of_op[1] = 0;
    ASSERT_OK(emp_sim_run(sim, device_of_op, result, &err));
    cr_expect_eq(emp_sim_result_step_time_ns(result), 2 * 1000 + 5000 + 2 * 300);
    close_sim(NULL);
}

/* A graph of two ops, of which the first runs only on GPUs, and a machine with so many. */
static void make_two(uint32_t second_kinds, int32_t color, int32_t gpus)
{
    emp_graph_builder *b = NULL;
    emp_stated_op      op = stated_op();
    emp_op_id          id;

    ASSERT_OK(emp_graph_builder_create(&b, &err));
    op.cost.colocation = color;
    op.kinds = EMP_KIND_GPU;
    ASSERT_OK(emp_graph_builder_state(b, "first", "Work", &op, &id, &err));
    op.kinds = second_kinds;
    ASSERT_OK(emp_graph_builder_state(b, "second", "Work", &op, &id, &err));
    ASSERT_OK(emp_graph_builder_finish(b, &graph, &err));
    emp_graph_builder_destroy(b);
    ASSERT_OK(emp_machine_create(&machine, "mine", 1, gpus, 1 << 20, &err));
    ASSERT_OK(emp_runtime_load(&runtime, "msr-latency", &err));
}

Test(library, an_op_that_only_gpus_run_is_never_on_a_cpu)
{
    emp_device_id device_of_op[2] = {0, 0};

    tear_down();
    make_two(EMP_KIND_CPU | EMP_KIND_GPU, -1, 1);
    ASSERT_OK(emp_problem_create(&problem, graph, machine, runtime, "two", &err));
    cr_expect_not(emp_problem_allows(problem, 0, 0));
    cr_expect(emp_problem_allows(problem, 0, 1) && emp_problem_allows(problem, 1, 0));
    open_sim();
    EXPECT_REFUSED(emp_sim_run(sim, device_of_op, result, &err), EMP_EINVAL, "first");
    emp_problem_legalize(problem, device_of_op);
    cr_expect(device_of_op[0] == 1 && device_of_op[1] == 0);
    close_sim(NULL);
}

Test(library, a_class_that_no_device_runs_is_refused)
{
    tear_down();
    make_two(EMP_KIND_CPU, 3, 1);
    EXPECT_REFUSED(emp_problem_create(&problem, graph, machine, runtime, "two", &err),
                   EMP_EINVAL, "\"first\" and \"second\" share a device");
    tear_down();
    make_two(EMP_KIND_CPU, -1, 0);
    EXPECT_REFUSED(emp_problem_create(&problem, graph, machine, runtime, "two", &err),
                   EMP_EINVAL, "\"first\" runs only on GPUs");
}

Test(library, stated_ops_that_cannot_be_are_refused)
{
    emp_graph_builder *b = NULL;
    emp_stated_op      op = stated_op();
    emp_op_id          id, other;
    emp_graph         *made = NULL;

    ASSERT_OK(emp_graph_builder_create(&b, &err));
    op.cost.gpu_ns = -1;
    EXPECT_REFUSED(emp_graph_builder_state(b, "a", "Work", &op, &id, &err), EMP_EINVAL,
                   "times are not negative");
    op = stated_op();
    op.held_bytes = -1;
    EXPECT_REFUSED(emp_graph_builder_state(b, "a", "Work", &op, &id, &err), EMP_EINVAL,
                   "sizes are not negative");
    op = stated_op();
    op.kinds = 4 | EMP_KIND_CPU;
    EXPECT_REFUSED(emp_graph_builder_state(b, "a", "Work", &op, &id, &err), EMP_EINVAL,
                   "has the kinds 5");
    op = stated_op();
    cr_assert_eq(emp_graph_builder_state(b, "a", "Work", &op, &id, NULL), EMP_OK);
    cr_expect_eq(emp_graph_builder_state(b, "a", "Work", &op, &other, NULL), EMP_EINVAL);
    cr_assert_eq(emp_graph_builder_state(b, "b", "Work", &op, &other, NULL), EMP_OK);
    cr_expect_eq(emp_graph_builder_connect(b, (emp_port){7, 0}, id, NULL), EMP_EINVAL);
    cr_expect_eq(emp_graph_builder_connect(b, (emp_port){id, 0}, other, NULL), EMP_OK);
    cr_expect_eq(emp_graph_builder_add_control(b, other, id, NULL), EMP_OK);
    cr_expect_eq(emp_graph_builder_finish(b, &made, NULL), EMP_ECYCLE);
    cr_expect_null(made);
    emp_graph_builder_destroy(b);
}

#define EXPECT_NO_NULL(call, name) EXPECT_REFUSED(call, EMP_EINVAL, "no NULL for " name)

Test(library, pointers_that_must_not_be_null_are_named)
{
    emp_device_id      placement[1] = {0}, *placements[] = {placement};
    emp_graph         *g = graph;
    emp_machine       *m = machine;
    emp_runtime       *r = runtime;
    emp_problem       *p = problem;
    emp_sim_team      *team = NULL;
    emp_sim_result    *results[] = {NULL};
    emp_graph_builder *b = NULL;
    emp_stated_op      op = stated_op();
    emp_op_id          id;

    EXPECT_NO_NULL(emp_graph_load(NULL, "rnnlm", &err), "out");
    EXPECT_NO_NULL(emp_graph_load(&g, NULL, &err), "spec_or_path");
    cr_expect_null(g);
    EXPECT_NO_NULL(emp_machine_load(NULL, "k40x2", &err), "out");
    EXPECT_NO_NULL(emp_machine_load(&m, NULL, &err), "name_or_path");
    cr_expect_null(m);
    EXPECT_NO_NULL(emp_machine_create(NULL, "m", 1, 1, 1, &err), "out");
    EXPECT_NO_NULL(emp_machine_create(&m, NULL, 1, 1, 1, &err), "name");
    EXPECT_NO_NULL(emp_runtime_load(NULL, "ideal", &err), "out");
    EXPECT_NO_NULL(emp_runtime_load(&r, NULL, &err), "name_or_path");
    cr_expect_null(r);
    EXPECT_NO_NULL(emp_problem_create(NULL, graph, machine, runtime, "", &err), "out");
    EXPECT_NO_NULL(emp_problem_create(&p, NULL, machine, runtime, "", &err), "graph");
    cr_expect_null(p);
    EXPECT_NO_NULL(emp_problem_create(&p, graph, NULL, runtime, "", &err), "machine");
    EXPECT_NO_NULL(emp_problem_create(&p, graph, machine, NULL, "", &err), "runtime");
    EXPECT_NO_NULL(emp_problem_create(&p, graph, machine, runtime, NULL, &err),
                   "workload");
    EXPECT_NO_NULL(emp_placement_save(NULL, problem, placement, 1, &err), "path");
    EXPECT_NO_NULL(emp_placement_save("p", NULL, placement, 1, &err), "problem");
    EXPECT_NO_NULL(emp_placement_save("p", problem, NULL, 1, &err), "device_of_op");
    EXPECT_NO_NULL(emp_placement_load(NULL, "p", problem, &err), "device_of_op");
    EXPECT_NO_NULL(emp_placement_load(placement, NULL, problem, &err), "path");
    EXPECT_NO_NULL(emp_placement_load(placement, "p", NULL, &err), "problem");
    EXPECT_NO_NULL(emp_sim_create(NULL, problem, &err), "out");
    EXPECT_NO_NULL(emp_sim_create(&sim, NULL, &err), "problem");
    EXPECT_NO_NULL(emp_sim_result_create(NULL, &err), "out");
    open_sim();
    EXPECT_NO_NULL(emp_sim_run(NULL, placement, result, &err), "sim");
    EXPECT_NO_NULL(emp_sim_run(sim, NULL, result, &err), "device_of_op");
    EXPECT_NO_NULL(emp_sim_run(sim, placement, NULL, &err), "result");
    EXPECT_NO_NULL(emp_sim_team_create(NULL, problem, 1, &err), "out");
    EXPECT_NO_NULL(emp_sim_team_create(&team, NULL, 1, &err), "problem");
    cr_expect_eq(emp_sim_team_create(&team, problem, 0, NULL), EMP_EINVAL);
    cr_assert_eq(emp_sim_team_create(&team, problem, 1, NULL), EMP_OK);
    EXPECT_NO_NULL(emp_sim_team_run(NULL, placements, 1, results, &err), "team");
    EXPECT_NO_NULL(emp_sim_team_run(team, NULL, 1, results, &err), "device_of_op");
    EXPECT_NO_NULL(emp_sim_team_run(team, placements, 1, NULL, &err), "results");
    cr_expect_eq(emp_sim_team_run(team, placements, -1, results, NULL), EMP_EINVAL);
    cr_expect_eq(emp_sim_team_run(team, placements, 0, results, NULL), EMP_OK);
    EXPECT_NO_NULL(emp_graph_builder_create(NULL, &err), "out");
    cr_assert_eq(emp_graph_builder_create(&b, NULL), EMP_OK);
    EXPECT_NO_NULL(emp_graph_builder_state(NULL, "a", "t", &op, &id, &err), "b");
    EXPECT_NO_NULL(emp_graph_builder_state(b, NULL, "t", &op, &id, &err), "name");
    EXPECT_NO_NULL(emp_graph_builder_state(b, "a", NULL, &op, &id, &err), "type");
    EXPECT_NO_NULL(emp_graph_builder_state(b, "a", "t", NULL, &id, &err), "stated");
    EXPECT_NO_NULL(emp_graph_builder_state(b, "a", "t", &op, NULL, &err), "op");
    EXPECT_NO_NULL(emp_graph_builder_connect(NULL, (emp_port){0, 0}, 0, &err), "b");
    EXPECT_NO_NULL(emp_graph_builder_add_control(NULL, 0, 0, &err), "b");
    EXPECT_NO_NULL(emp_graph_builder_finish(NULL, &g, &err), "b");
    EXPECT_NO_NULL(emp_graph_builder_finish(b, NULL, &err), "out");
    emp_graph_builder_destroy(b);
    emp_sim_team_destroy(team);
    close_sim(NULL);
}

Test(library, queries_of_what_is_not_there_give_nothing)
{
    int32_t         count = 7;
    const emp_op_id ops = emp_graph_op_count(graph);

    cr_expect_eq(emp_graph_op_count(NULL), 0);
    cr_expect_null(emp_graph_op_name(graph, ops));
    cr_expect_null(emp_graph_op_name(graph, -1));
    cr_expect_null(emp_graph_op_type(NULL, 0));
    cr_expect_eq(emp_graph_op_flops(graph, -1), 0.0);
    cr_expect_eq(emp_graph_op_persistent_bytes(graph, ops), 0);
    cr_expect_not(emp_graph_op_is_folded(NULL, 0));
    cr_expect_null(emp_graph_inputs(graph, ops, &count));
    cr_expect_eq(count, 0);
    cr_expect_null(emp_graph_inputs(graph, 0, NULL));
    cr_expect_null(emp_graph_controls(NULL, 0, &count));
    cr_expect_null(emp_graph_controls(graph, 0, NULL));
    cr_expect_eq(emp_graph_outputs(graph, -1, &count), -1);
    cr_expect_eq(emp_graph_outputs(graph, 0, NULL), -1);
    cr_expect_null(emp_graph_order(NULL));
    cr_expect_eq(emp_graph_tensor_producer(graph, INT32_MAX), -1);
    cr_expect_eq(emp_graph_tensor_bytes(NULL, 0), 0);
    cr_expect_eq(emp_graph_find(graph, "no such op"), -1);
    cr_expect_eq(emp_graph_find(NULL, "x"), -1);
    cr_expect_eq(emp_graph_find(graph, NULL), -1);
    cr_expect_eq(emp_machine_device_count(NULL), 0);
    cr_expect_null(emp_machine_device_name(machine, 3));
    cr_expect_eq(emp_machine_device_kind(NULL, 0), EMP_DEVICE_CPU);
    cr_expect_eq(emp_machine_device_memory_bytes(machine, -1), 0);
    cr_expect_eq(emp_machine_copy_time_ns(machine, 0, 9, 1), -1);
    cr_expect_eq(emp_machine_find(NULL, "cpu:0"), -1);
    cr_expect_eq(emp_machine_find(machine, NULL), -1);
    cr_expect_not(emp_problem_allows(problem, 0, 3));
    cr_expect_not(emp_problem_allows(NULL, 0, 0));
    cr_expect_eq(emp_problem_class_count(NULL), 0);
    cr_expect_eq(emp_problem_class_of_op(problem, ops), -1);
    cr_expect_eq(emp_problem_op_time_ns(problem, 0, 3), 0);
    emp_problem_legalize(NULL, NULL);
    emp_problem_legalize(problem, NULL);
    cr_expect_eq(emp_sim_result_step_time_ns(NULL), 0);
    cr_expect_not(emp_sim_result_is_feasible(NULL));
    cr_expect_not(emp_sim_result_oom(NULL, NULL));
    cr_expect_eq(emp_sim_result_peak_bytes(NULL, 0), 0);
    cr_expect_eq(emp_sim_result_busy_ns(NULL, 0), 0);
    cr_expect_eq(emp_sim_result_traffic_bytes(NULL), 0);
    cr_expect_str_eq(emp_status_str((emp_status)5), "unknown status");
}

Test(library, what_cannot_be_loaded_is_named)
{
    emp_graph   *g = NULL;
    emp_machine *m = NULL;
    emp_runtime *r = NULL;

    EXPECT_REFUSED(emp_graph_load(&g, "zebra", &err), EMP_EIO, "\"zebra\"");
    EXPECT_REFUSED(emp_graph_load(&g, "nmt:layers=0", &err), EMP_EINVAL, "layers");
    EXPECT_REFUSED(emp_machine_load(&m, "zebra", &err), EMP_EIO, "zebra");
    EXPECT_REFUSED(emp_runtime_load(&r, "zebra", &err), EMP_EIO, "zebra");
    cr_expect(g == NULL && m == NULL && r == NULL);
}

Test(library, an_op_where_it_may_not_be_is_named)
{
    emp_device_id *device_of_op = place_all_on(0);
    emp_op_id      bound = 0;

    while (emp_problem_class_of_op(problem, bound) < 0 ||
           emp_problem_allows(problem, bound, 1))
        bound++;
    device_of_op[bound] = 1;
    open_sim();
    EXPECT_REFUSED(emp_sim_run(sim, device_of_op, result, &err), EMP_EINVAL,
                   emp_graph_op_name(graph, bound));
    cr_expect_eq(emp_sim_result_step_time_ns(result), 0, "nothing is written");
    close_sim(device_of_op);
}

Test(library, ops_run_within_the_step_and_the_last_ends_with_it)
{
    const size_t   ops = (size_t)emp_graph_op_count(graph);
    emp_device_id *device_of_op = place_all_on(1);
    emp_time_ns   *start_ns = calloc(ops, sizeof *start_ns), last_ns = 0;
    emp_time_ns   *end_ns = calloc(ops, sizeof *end_ns);
    emp_decision   decision = {.device_of_op = device_of_op};

    cr_assert(start_ns != NULL && end_ns != NULL);
    open_sim();
    ASSERT_OK(emp_sim_run_times(sim, &decision, start_ns, end_ns, result, &err));
    for (size_t op = 0; op < ops; op++) {
        cr_expect(0 <= start_ns[op] && start_ns[op] <= end_ns[op]);
        if (end_ns[op] > last_ns) last_ns = end_ns[op];
    }
    cr_expect_gt(last_ns, 0);
    cr_expect_leq(last_ns, emp_sim_result_step_time_ns(result));
    cr_expect_eq(emp_sim_run_times(sim, &decision, NULL, end_ns, result, NULL),
                 EMP_EINVAL);
    free(start_ns);
    free(end_ns);
    close_sim(device_of_op);
}

Test(library, words_of_a_stream_are_those_of_the_methods)
{
    enum { WORDS = 23 };
    const uint64_t seed = UINT64_C(0x123456789abcdef0);
    uint32_t       word[WORDS], part[WORDS];
    emp_rng        rng;

    emp_rng_init(&rng, seed, 7, 9);
    emp_random_words(word, WORDS, seed, 7, 9, 0);
    for (int i = 0; i < WORDS; i++) cr_expect_eq(word[i], emp_rng_u32(&rng), "%d", i);
    for (int first = 0; first < WORDS; first++) {
        int count = WORDS - first;
        emp_random_words(part, count, seed, 7, 9, (uint64_t)first);
        cr_expect_eq(memcmp(part, word + first, (size_t)count * sizeof *part), 0);
    }
    emp_random_words(NULL, WORDS, seed, 7, 9, 0);
    emp_random_words(part, -1, seed, 7, 9, 0);
}

Test(library, what_is_created_survives_every_allocation_failure)
{
    emp_runtime  *r = NULL;
    emp_sim_team *team = NULL;
    emp_graph    *chain = NULL;

    SURVIVES_EVERY_ALLOCATION_FAILURE(emp_runtime_load(&r, "ideal", NULL),
                                      cr_expect_null(r));
    emp_runtime_destroy(r);
    SURVIVES_EVERY_ALLOCATION_FAILURE(emp_sim_result_create(&result, NULL),
                                      cr_expect_null(result));
    emp_sim_result_destroy(result);
    SURVIVES_EVERY_ALLOCATION_FAILURE(emp_sim_team_create(&team, problem, 2, NULL),
                                      cr_expect_null(team));
    emp_sim_team_destroy(team);
    SURVIVES_EVERY_ALLOCATION_FAILURE(make_chain(&chain, 3, NULL), cr_expect_null(chain));
    emp_graph_destroy(chain);
}

static void expect_no_problem(const char *source, const char *machine_name,
                              const char *runtime_name, emp_status status)
{
    emp_problem *p = problem;
    emp_error    err = {0};

    cr_expect_eq(emp_problem_load(&p, source, machine_name, runtime_name, &err), status,
                 "%s", err.msg);
    cr_expect_null(p);
    cr_expect_eq(err.status, status);
}

Test(library, loads_a_problem_like_its_parts)
{
    const char  *spec = "rnnlm:layers=1,steps=2,units=64,batch=8";
    emp_problem *p = NULL;

    ASSERT_OK(emp_problem_load(&p, spec, "k40x2", NULL, &err));
    const int32_t ops = emp_graph_op_count(emp_problem_graph(p));
    cr_expect_eq(ops, emp_graph_op_count(graph));
    cr_expect_eq(emp_machine_device_count(emp_problem_machine(p)), 3);
    for (emp_op_id op = 0; op < ops; op++)
        cr_expect_eq(emp_problem_op_time_ns(p, op, 1),
                     emp_problem_op_time_ns(problem, op, 1));
    emp_problem_destroy(p);
    ASSERT_OK(emp_problem_load(&p, spec, "k40x2", "ideal", &err));
    emp_problem_destroy(p);
    SURVIVES_EVERY_ALLOCATION_FAILURE(emp_problem_load(&p, spec, "k40x2", NULL, NULL),
                                      emp_problem_destroy(p));
    emp_problem_destroy(p);
}

Test(library, refuses_a_problem_that_lacks_a_part)
{
    expect_no_problem("zebra", "k40x2", NULL, EMP_EIO);
    expect_no_problem("rnnlm", "zebra", NULL, EMP_EIO);
    expect_no_problem("rnnlm", "k40x2", "zebra", EMP_EIO);
    expect_no_problem(NULL, "k40x2", NULL, EMP_EINVAL);
    expect_no_problem("rnnlm", NULL, NULL, EMP_EINVAL);
    cr_expect_null(emp_problem_graph(NULL));
    cr_expect_null(emp_problem_machine(NULL));
}

// SPDX-License-Identifier: GPL-3.0-or-later
/* Do the figures of the page equal what the simulator says? */
#define _POSIX_C_SOURCE 200809L
#include "bench/explore/explore.h"

#include <inttypes.h>

#include "sim/surrogate/surrogate.h"
#include "tests/sim/engine/random_problem.h"
#include "tests/test.h"

static const char small_spec[] = "nmt:layers=2,steps=4,units=16,vocab=100,batch=4";

static json_int_t number(const json_t *object, const char *key)
{
    return json_integer_value(json_object_get(object, key));
}

static json_int_t item(const json_t *object, const char *key, size_t at)
{
    return json_integer_value(json_array_get(json_object_get(object, key), at));
}

static json_t *explore(const task *t, const emp_labelled_decision *placement,
                       int32_t count, int32_t shown)
{
    json_t *data = NULL;

    ASSERT_OK(emp_explore_data(&data, t->problem, placement, count, shown, &err));
    return data;
}

static const json_t *placement_at(const json_t *data, size_t at)
{
    return json_array_get(json_object_get(data, "placements"), at);
}

/* Sums over rows equal the step's own figures: of GPUs, ops run one after another. */
static void expect_sums(const task *t, const json_t *p, const emp_sim_result *r)
{
    const json_t *rows = json_object_get(p, "rows");
    const size_t  devices = (size_t)t->problem->machine->device_count;
    json_int_t    ops = 0, blame_ns = 0, live = 0, path_ns = 0;

    for (size_t d = 0; d < devices; d++) {
        json_int_t run_ns = 0;
        for (size_t row = 0; row < json_array_size(rows); row++) {
            run_ns += item(json_array_get(rows, row), "run_ns", d);
            ops += item(json_array_get(rows, row), "ops", d);
            blame_ns += item(json_array_get(rows, row), "blame_ns", d);
        }
        if (d > 0) cr_expect_eq(run_ns, r->busy_ns[d], "device %zu", d);
    }
    for (emp_op_id op = 0; op < t->problem->graph->op_count; op++)
        live += !t->problem->graph->op[op].is_folded;
    for (size_t i = 0; i < json_array_size(json_object_get(p, "path_ns")); i++)
        path_ns += item(p, "path_ns", i);
    cr_expect_eq(ops, live);
    cr_expect_eq(path_ns, r->step_time_ns, "the critical path is the step");
    cr_expect_leq(llabs(blame_ns - r->step_time_ns), r->step_time_ns / 100 + 1000,
                  "ops are to blame for all but the fixed cost");
}

/* Each simulated move of an op, made again with its class. */
static int32_t expect_moves(const task *t, const json_t *data, const json_t *p)
{
    const int32_t  ops = t->problem->graph->op_count;
    emp_device_id *moved = EMP_NEW_ARRAY(emp_device_id, (size_t)ops);
    emp_sim       *sim = task_sim(t);
    emp_sim_result r;
    int32_t        checked = 0;
    size_t         i;
    json_t        *op;

    json_array_foreach(json_object_get(p, "ops"), i, op)
    {
        const json_t *moves = json_object_get(op, "moves");
        const char   *name = json_string_value(
              json_array_get(json_object_get(data, "names"), (size_t)number(op, "name")));
        emp_op_id id = 0;
        while (strcmp(t->problem->graph->name[id], name) != 0) id++;
        cr_expect_eq(number(op, "device"), t->device_of_op[id]);
        for (size_t d = 0; d < json_array_size(moves); d++) {
            const json_t *move = json_array_get(moves, d);
            if (!json_is_integer(json_array_get(move, 2))) continue;
            memcpy(moved, t->device_of_op, (size_t)ops * sizeof *moved);
            for (emp_op_id k = 0; k < ops; k++)
                if (t->problem->class_of_op[k] == t->problem->class_of_op[id])
                    moved[k] = (emp_device_id)d;
            emp_problem_legalize(t->problem, moved);
            ASSERT_OK(emp_sim_run(sim, moved, &r, &err));
            cr_expect_eq(json_integer_value(json_array_get(move, 2)), r.step_time_ns,
                         "%s to device %zu", name, d);
            cr_expect_eq(json_is_true(json_array_get(move, 3)), r.is_feasible);
            checked++;
        }
    }
    emp_sim_destroy(sim);
    emp_free(moved);
    return checked;
}

Test(explore, figures_equal_the_simulator_s)
{
    OWN_TASK t;

    task_create(&t, small_spec, "k40x2", "tf-r1.3");
    for (emp_op_id op = 0; op < t.problem->graph->op_count; op++)
        t.device_of_op[op] = 1 + op % 2;
    emp_problem_legalize(t.problem, t.device_of_op);
    const emp_labelled_decision placement = {"mine", {.device_of_op = t.device_of_op}};
    const emp_sim_result        r = task_trace(&t, NULL);
    json_t                     *data = explore(&t, &placement, 1, 0);
    const json_t               *p = placement_at(data, 0);

    const char *fingerprint = scratch_print("%016" PRIx64, r.fingerprint);
    cr_expect_str_eq(json_string_value(json_object_get(p, "label")), "mine");
    cr_expect_str_eq(json_string_value(json_object_get(p, "fingerprint")), fingerprint);
    cr_expect_eq(number(p, "step_ns"), r.step_time_ns);
    cr_expect_eq(json_is_true(json_object_get(p, "fits")), r.is_feasible);
    cr_expect_eq(number(p, "traffic_bytes"), r.traffic_bytes);
    for (size_t d = 0; d < 3; d++) {
        cr_expect_eq(item(p, "busy_ns", d), r.busy_ns[d]);
        cr_expect_eq(item(p, "peak_bytes", d), r.peak_bytes[d]);
    }
    expect_sums(&t, p, &r);
    cr_expect_gt(expect_moves(&t, data, p), 40);
    json_decref(data);
}

Test(explore, estimates_are_the_surrogate_s)
{
    OWN_TASK t;

    task_create(&t, small_spec, "k40x2", "tf-r1.3");
    for (emp_op_id op = 0; op < t.problem->graph->op_count; op++) t.device_of_op[op] = 1;
    emp_problem_legalize(t.problem, t.device_of_op);
    const emp_labelled_decision placement = {"gpu", {.device_of_op = t.device_of_op}};
    json_t                     *data = explore(&t, &placement, 1, 0);
    const json_t  *op = json_array_get(json_object_get(placement_at(data, 0), "ops"), 0);
    const json_t  *move = json_array_get(json_object_get(op, "moves"), 2);
    const int32_t  ops = t.problem->graph->op_count;
    emp_device_id *moved = EMP_NEW_ARRAY(emp_device_id, (size_t)ops);
    emp_device_id *both[] = {t.device_of_op, moved};
    emp_sim       *sim = task_sim(&t);
    emp_surrogate *s = NULL;
    double         step_s[2];
    emp_op_id      id = 0;

    while (strcmp(t.problem->graph->name[id],
                  json_string_value(json_array_get(json_object_get(data, "names"),
                                                   (size_t)number(op, "name")))) != 0)
        id++;
    memcpy(moved, t.device_of_op, (size_t)ops * sizeof *moved);
    for (emp_op_id k = 0; k < ops; k++)
        if (t.problem->class_of_op[k] == t.problem->class_of_op[id]) moved[k] = 2;
    emp_problem_legalize(t.problem, moved);
    ASSERT_OK(emp_surrogate_create(&s, t.problem, EMP_SURROGATE_FASTEST, &err));
    ASSERT_OK(emp_surrogate_follow(s, sim, both, 1, &err));
    ASSERT_OK(emp_surrogate_run(s, both, 2, step_s, &err));
    cr_expect_float_eq(json_real_value(json_array_get(move, 1)), step_s[1] / step_s[0],
                       1e-12);
    emp_surrogate_destroy(s);
    emp_sim_destroy(sim);
    emp_free(moved);
    json_decref(data);
}

/* Those that fit come first, the faster before the slower; the one to be shown is found again. */
Test(explore, placements_are_in_order)
{
    OWN_TASK t;

    task_create(&t, small_spec, "k40x2", "tf-r1.3");
    const int32_t  ops = t.problem->graph->op_count;
    emp_device_id *cpu = EMP_NEW_ARRAY(emp_device_id, (size_t)ops);
    for (emp_op_id op = 0; op < ops; op++) t.device_of_op[op] = 1;
    emp_problem_legalize(t.problem, t.device_of_op);
    emp_problem_legalize(t.problem, cpu);
    const emp_labelled_decision placement[] = {{"cpu", {.device_of_op = cpu}},
                                               {"gpu", {.device_of_op = t.device_of_op}},
                                               {"cpu again", {.device_of_op = cpu}}};
    for (int32_t shown = 0; shown < 3; shown++) {
        json_t      *data = explore(&t, placement, 3, shown);
        const size_t at = (size_t)number(data, "shown");
        for (size_t i = 1; i < 3; i++)
            cr_expect_leq(number(placement_at(data, i - 1), "step_ns"),
                          number(placement_at(data, i), "step_ns"));
        cr_expect_str_eq(
            json_string_value(json_object_get(placement_at(data, at), "label")),
            placement[shown].label);
        json_decref(data);
    }
    emp_free(cpu);
}

/* Names of a user's graph cannot end the script that holds the figures. */
Test(explore, page_needs_nothing_else)
{
    OWN_TASK t;

    hand_graph_begin(&t);
    hand_graph_op(&t, "a/</script><b>&", "Relu",
                  hand_graph_op(&t, "a/x", "Placeholder", -1));
    hand_graph_finish(&t);
    const emp_labelled_decision placement = {"<i>", {.device_of_op = t.device_of_op}};
    json_t                     *data = explore(&t, &placement, 1, 0);
    char                       *page = PRINTED(emp_explore_write(out, data, &err));
    int                         ends = 0;
    for (const char *at = page; (at = strstr(at, "</script>")) != NULL; at++) ends++;
    cr_expect_eq(ends, 2, "%d ends of scripts", ends);
    cr_expect_null(strstr(page, "<i>\""));
    for (const char *at = page; (at = strstr(at, "http")) != NULL; at++)
        cr_expect_eq(strncmp(at, "http://www.w3.org/1999/xhtml", 28), 0, "%.40s", at);
    cr_expect_null(strstr(page, "src="));
    json_decref(data);
}

Test(explore, survives_allocation_failures_and_refuses_other_rules)
{
    task    t;
    json_t *data = NULL;

    random_problem_create(&t, 3);
    const emp_labelled_decision placement = {"any", {.device_of_op = t.device_of_op}};
    SURVIVES_EVERY_ALLOCATION_FAILURE(
        emp_explore_data(&data, t.problem, &placement, 1, 0, NULL), );
    json_decref(data);
    task_destroy(&t);
    task_create(&t, small_spec, "k40x2", "placeto");
    const emp_labelled_decision other = {"any", {.device_of_op = t.device_of_op}};
    EXPECT_REFUSED(emp_explore_data(&data, t.problem, &other, 1, 0, &err),
                   EMP_EUNSUPPORTED, "placeto");
    cr_expect_null(data);
    task_destroy(&t);
}

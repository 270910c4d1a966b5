// SPDX-License-Identifier: GPL-3.0-or-later
/* Do the files for Model Explorer hold the graph, the placements and their critical paths? */
#include "sim/explain/pictures.h"

#include <jansson.h>

#include "sim/machine/machine.h"
#include "tests/sim/engine/random_problem.h"
#include "tests/support/scratch.h"
#include "tests/support/survive.h"

static const char        ops[] = "1; 2<0; 1<0; 0<1,2";
static const char *const names[] = {"enc/cell/a", "enc/cell/b", "enc/\"q\"/c", "loss"};

TestSuite(model_explorer, .init = scratch_create, .fini = scratch_remove);

static json_t *load(const char *name)
{
    json_error_t why;
    json_t      *root = json_load_file(scratch_path(name), 0, &why);

    cr_assert_not_null(root, "%s, line %d: %s", name, why.line, why.text);
    return root;
}

static const char *text_of(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));

    return text != NULL ? text : "";
}

static json_t *graph_of(const json_t *root)
{
    return json_array_get(json_object_get(root, "graphs"), 0);
}

static void write(const task *t, int32_t count)
{
    const emp_labelled_decision placement[] = {
        {"one", {.device_of_op = t->device_of_op}},
        {"two", {.device_of_op = t->device_of_op}}};

    ASSERT_OK(
        emp_model_explorer_write(scratch_path("me"), t->problem, placement, count, &err));
}

Test(model_explorer, has_nodes_edges_and_values)
{
    OWN_TASK    t;
    emp_runtime runtime = tiny_serial();

    task_create_ops(&t, ops, &runtime);
    for (int i = 0; i < 4; i++) t.graph->name[i] = names[i];
    const emp_sim_result r = task_run(&t);
    write(&t, 1);
    json_t *root = load("me.json"), *devices = load("me.1.device.json"),
           *seconds = load("me.1.seconds.json");
    const json_t *nodes = json_object_get(graph_of(root), "nodes");
    cr_assert_eq(json_array_size(nodes), 4);
    const json_t *q = json_array_get(nodes, 2), *loss = json_array_get(nodes, 3);
    cr_expect_str_eq(text_of(q, "id"), "2");
    cr_expect_str_eq(text_of(q, "namespace"), "enc/\"q\"");
    cr_expect_str_eq(text_of(loss, "namespace"), "");
    const json_t *edges = json_object_get(loss, "incomingEdges");
    cr_assert_eq(json_array_size(edges), 2);
    cr_expect_str_eq(text_of(json_array_get(edges, 1), "sourceNodeId"), "2");
    cr_expect_str_eq(text_of(json_array_get(edges, 1), "targetNodeInputId"), "1");
    const json_t *results = json_object_get(json_object_get(devices, "step"), "results");
    cr_expect_str_eq(text_of(json_object_get(results, "1"), "value"), "gpu:1");
    cr_expect_str_eq(text_of(json_object_get(results, "1"), "bgColor"),
                     emp_device_colour(t.problem->machine, 2));
    const json_t *times = json_object_get(json_object_get(seconds, "step"), "results");
    cr_expect_float_eq(
        json_real_value(json_object_get(json_object_get(times, "1"), "value")),
        (double)r.busy_ns[2] * 1e-9, 1e-12);
    json_decref(root);
    json_decref(devices);
    json_decref(seconds);
}

/* From op to op; each edge begins where the one before ends. */
static void expect_chain(const json_t *data, uint64_t seed)
{
    const json_t *overlay = json_array_get(json_object_get(data, "overlays"), 0);
    const char   *last = NULL;
    size_t        i;
    json_t       *edge;

    json_array_foreach(json_object_get(overlay, "edges"), i, edge)
    {
        if (last != NULL) cr_expect_str_eq(text_of(edge, "sourceNodeId"), last, SEED);
        last = text_of(edge, "targetNodeId");
    }
}

Test(model_explorer, paths_are_chains)
{
    for (uint64_t seed = 0; seed < 20; seed++) {
        OWN_TASK r;
        random_problem_create(&r, seed);
        if (r.problem->runtime.rules == EMP_RULES_EVENTS) {
            write(&r, 2);
            json_t       *root = load("me.json"), *wait = load("me.2.wait.json");
            const json_t *tasks = json_object_get(graph_of(root), "tasksData");
            const json_t *left = json_object_get(tasks, "edgeOverlaysDataListLeftPane");
            cr_assert_eq(json_array_size(left), 2, SEED);
            cr_expect_str_eq(text_of(json_array_get(left, 1), "name"), "two");
            expect_chain(json_array_get(left, 0), seed);
            json_decref(root);
            json_decref(wait);
        }
    }
    cr_expect_eq(emp_mem_live_blocks(), 0);
}

Test(model_explorer, survives_allocation_failures_and_names_what_cannot_be)
{
    OWN_TASK t;
    char     long_prefix[EMP_MODEL_EXPLORER_PATH_BYTES];

    random_problem_create(&t, 3);
    const emp_labelled_decision placement = {"any", {.device_of_op = t.device_of_op}};
    SURVIVES_EVERY_ALLOCATION_FAILURE(
        emp_model_explorer_write(scratch_path("me"), t.problem, &placement, 1, NULL), );
    EXPECT_REFUSED(
        emp_model_explorer_write("/nowhere/me", t.problem, &placement, 1, &err), EMP_EIO,
        "/nowhere/me.json");
    memset(long_prefix, 'x', sizeof long_prefix - 1);
    long_prefix[sizeof long_prefix - 1] = '\0';
    EXPECT_REFUSED(emp_model_explorer_write(long_prefix, t.problem, &placement, 1, &err),
                   EMP_EINVAL, "too long");
}

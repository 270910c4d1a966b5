// SPDX-License-Identifier: GPL-3.0-or-later
/* Is a trace file JSON that says what happened, when, and on which track?
 * Is a picture of scopes what Graphviz reads, and do its labels add up to the traffic? */
#include <jansson.h>
#include <unistd.h>

#include "sim/explain/pictures.h"
#include "sim/machine/machine.h"
#include "sim/problem/fusion.h"
#include "tests/sim/engine/random_problem.h"
#include "tests/support/problems.h"
#include "tests/support/scratch.h"
#include "tests/support/survive.h"
#include "tests/support/timeline.h"

enum { SEEDS = 200 };

static const char ops[] = "1; 2<0; 0<0|4";

TestSuite(trace, .fini = expect_all_freed);

static json_t *trace_decision(const task *t, const emp_decision *decision,
                              emp_sim_result *result)
{
    const emp_labelled_decision d = {.decision = *decision};
    OWN_SIM                     sim = task_sim(t);
    json_error_t                why;
    char                        path[] = P_tmpdir "/emplace-trace-XXXXXX";

    close(mkstemp(path));
    ASSERT_OK(emp_trace_chrome_write(path, sim, t->problem, &d, 1, result, &err));
    json_t *root = json_load_file(path, 0, &why);
    cr_assert_not_null(root, "line %d: %s", why.line, why.text);
    remove(path);
    return root;
}

static json_t *trace_task(const task *t, emp_sim_result *result)
{
    return trace_decision(t, &(emp_decision){.device_of_op = t->device_of_op}, result);
}

static json_t *trace_of(const char *traced, const emp_runtime *runtime,
                        bool has_two_hosts, emp_sim_result *result)
{
    OWN_TASK t;

    task_create_ops(&t, traced, runtime);
    if (has_two_hosts) task_split_hosts(&t);
    return trace_task(&t, result);
}

/* Events of a phase ("X") on a track; -1 = any. */
static int count(const json_t *root, const char *phase, int pid, int tid)
{
    size_t        i;
    const json_t *e;
    int           n = 0;

    json_array_foreach(json_object_get(root, "traceEvents"), i, e)
    {
        n += strcmp(json_string_value(json_object_get(e, "ph")), phase) == 0 &&
             (pid < 0 || json_integer_value(json_object_get(e, "pid")) == pid) &&
             (tid < 0 || json_integer_value(json_object_get(e, "tid")) == tid);
    }
    return n;
}

Test(trace, tracks_hold_what_ran_there)
{
    emp_runtime    runtime = tiny_serial();
    emp_sim_result r = {0};
    json_t        *root = trace_of(ops, &runtime, false, &r);

    timeline_expect_valid(root);
    cr_expect_eq(count(root, "X", 1, 0), 1, "a kernel");
    cr_expect_eq(count(root, "X", 1, 1), 1 + 2, "its issue, two sends");
    cr_expect_eq(count(root, "X", 2, 1), 1 + 1, "a receive and an issue");
    cr_expect_eq(count(root, "X", 1, 3), 1, "a copy to the host");
    cr_expect_eq(count(root, "X", 1, 4), 1, "a copy to the other GPU");
    cr_expect_eq(count(root, "X", 2, 0), 1, "the other GPU's kernel");
    cr_expect_eq(count(root, "X", 0, -1), 4, "four rounds of tasks on four cores");
    cr_expect_eq(count(root, "X", 3, 0), 1, "the fixed cost of the step");
    cr_expect_eq(count(root, "s", -1, -1), 4, "to two copies, and from each to an op");
    cr_expect_eq(count(root, "s", 1, 0), 2, "from the kernel");
    cr_expect_eq(count(root, "f", 1, 3), 1, "to a copy");
    cr_expect_eq(count(root, "s", 1, 3), 1, "from it");
    cr_expect_eq(count(root, "f", 0, 0), 1, "to the first tasks on the CPU");
    cr_expect_gt(count(root, "C", 1, -1), 0, "memory of a GPU");
    cr_expect_eq(count(root, "M", 1, -1), 1 + 5, "names of a GPU and its tracks");
    json_decref(root);
}

static void expect_end(const emp_runtime *runtime)
{
    emp_sim_result r = {0};
    json_t        *root = trace_of(ops, runtime, false, &r);
    size_t         i;
    const json_t  *e;
    double         last = 0.0;

    json_array_foreach(json_object_get(root, "traceEvents"), i, e)
    {
        if (json_object_get(e, "dur") == NULL) continue;
        double end = json_real_value(json_object_get(e, "ts")) +
                     json_real_value(json_object_get(e, "dur"));
        if (end > last) last = end;
    }
    cr_expect_float_eq(last, (double)r.step_time_ns * 1e-3, 1e-6);
    json_decref(root);
}

Test(trace, every_host_has_its_tracks)
{
    static const char far[] = "0|4; 2<0|4; 1<1";
    emp_runtime       runtime = tiny_serial();
    emp_sim_result    r = {0};
    json_t           *root = trace_of(far, &runtime, true, &r);

    cr_expect_eq(count(root, "X", 0, EMP_MAX_CORES), 1, "a copy to the other host");
    cr_expect_eq(count(root, "X", 2, EMP_MAX_CORES), 0);
    cr_expect_eq(count(root, "X", 2, -1), 4, "four rounds of tasks on the other CPU");
    cr_expect_eq(count(root, "X", 1, 2), 1, "a copy from another GPU's host");
    cr_expect_eq(count(root, "M", 0, EMP_MAX_CORES), 1, "the name of the track");
    cr_expect_eq(count(root, "M", 2, -1), 1 + 1, "names of a CPU and its track");
    cr_expect_eq(count(root, "M", 3, -1), 1 + 5, "names of a GPU and its tracks");
    json_decref(root);
}

Test(trace, times_are_microseconds_and_end_with_the_step)
{
    emp_runtime list = tiny_list_scheduling(), serial = tiny_serial();

    expect_end(&list);
    expect_end(&serial);
}

/* ---- on random problems ---- */

static void expect_facts(const json_t *event, bool has_path)
{
    const char   *category = json_string_value(json_object_get(event, "cat"));
    const json_t *args = json_object_get(event, "args");
    bool is_op = strcmp(category, "issue") != 0 && strcmp(category, "copy") != 0 &&
                 strcmp(category, "send") != 0 && strcmp(category, "receive") != 0;

    if (strcmp(category, "step") == 0) return;
    cr_expect_eq(json_is_boolean(json_object_get(args, "critical")), has_path, "%s",
                 category);
    if (!is_op) return;
    cr_expect_str_eq(json_string_value(json_object_get(args, "type")), category);
    cr_expect(json_is_string(json_object_get(args, "shape")));
    cr_expect(json_is_string(json_object_get(args, "scope")));
    cr_expect(json_is_integer(json_object_get(args, "flops")));
    cr_expect(json_is_integer(json_object_get(args, "bytes")));
}

static void expect_timeline(const task *t, uint64_t seed)
{
    emp_sim_result r = {0};
    json_t        *root = trace_task(t, &r), *event;
    size_t         i;

    timeline_expect_valid(root);
    json_array_foreach(json_object_get(root, "traceEvents"), i, event)
    {
        if (json_object_get(event, "dur") != NULL)
            expect_facts(event, t->problem->runtime.rules == EMP_RULES_EVENTS);
    }
    for (int32_t d = 0; d < r.device_count; d++) {
        json_int_t peak = (json_int_t)r.peak_bytes[d];
        cr_expect_eq(timeline_highest(root, "peak memory", d), peak,
                     SEED_AND(", device %d"), d);
        if (emp_runtime_events_of(&t->problem->runtime)->bfc_allocator)
            cr_expect_leq(timeline_highest(root, "memory", d), peak + r.oom_bytes);
        else
            cr_expect_eq(timeline_highest(root, "memory", d), peak,
                         SEED_AND(", device %d"), d);
    }
    json_decref(root);
}

Test(trace, is_valid_on_random_problems)
{
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        OWN_TASK r;
        (seed % 2 == 0 ? random_problem_create : random_problem_create_hosts)(&r, seed);
        expect_timeline(&r, seed);
    }
}

Test(trace, is_valid_by_the_rules_of_other_simulators)
{
    static const char *const rules[] = {"placeto",  "baechi", "msr-latency",
                                        "msr-load", "edges",  "ideal"};

    for (size_t i = 0; i < COUNT(rules); i++) {
        OWN_TASK t;
        task_create(&t, "rnnlm:steps=2,batch=8", "k40x2", rules[i]);
        expect_timeline(&t, i);
    }
}

/* Op 0 and its copy to gpu:1 lie on the critical path; op 2 beside it does not. */
Test(trace, slices_say_whether_they_are_on_the_critical_path)
{
    static const char beside[] = "1; 2<0; 0";
    emp_runtime       runtime = tiny_list_scheduling();
    emp_sim_result    r = {0};
    json_t           *root = trace_of(beside, &runtime, false, &r);
    size_t            i;
    const json_t     *e;
    int               critical = 0, others = 0;

    json_array_foreach(json_object_get(root, "traceEvents"), i, e)
    {
        const json_t *flag = json_object_get(json_object_get(e, "args"), "critical");
        if (flag == NULL) continue;
        critical += json_is_true(flag);
        others += json_is_false(flag);
        if (json_is_false(flag))
            cr_expect_str_eq(json_string_value(json_object_get(e, "name")), "op2");
    }
    cr_expect_eq(critical, 3);
    cr_expect_eq(others, 1);
    json_decref(root);
}

/* Four element-wise ops that run as one: the path of the step in which each runs by itself says nothing of that. */
Test(trace, a_step_with_fused_ops_has_no_critical_path)
{
    task           t = task_chain(1000);
    emp_fusion    *fusion = NULL;
    emp_op_id      leader[CHAIN_OPS + 1];
    emp_sim_result r = {0};
    const json_t  *e;
    size_t         i;
    int            slices = 0;

    for (int op = 0; op <= CHAIN_OPS; op++) t.device_of_op[op] = 1, leader[op] = -1;
    emp_problem_legalize(t.problem, t.device_of_op);
    ASSERT_OK(emp_fusion_create(&fusion, t.problem, &err));
    emp_fusion_legalize(fusion, t.device_of_op, leader);
    emp_fusion_destroy(fusion);
    json_t *root = trace_decision(
        &t, &(emp_decision){.device_of_op = t.device_of_op, .leader_of_op = leader}, &r);
    cr_expect_eq(count(root, "X", 1, 0), 1, "one kernel");
    json_array_foreach(json_object_get(root, "traceEvents"), i, e)
    {
        slices += json_object_get(e, "dur") != NULL;
        cr_expect_null(json_object_get(json_object_get(e, "args"), "critical"));
    }
    cr_expect_gt(slices, 1);
    json_decref(root);
    task_destroy(&t);
}

/* Twice the processes, under two names, and twice the slices: none of one placement lies in a process of the other. */
Test(trace, placements_have_processes_of_their_own)
{
    emp_runtime    runtime = tiny_serial();
    task           t;
    emp_device_id  cpu[4] = {0};
    emp_sim_result r[2];
    json_error_t   why;
    char           path[] = P_tmpdir "/emplace-trace-XXXXXX";
    int            named[2] = {0}, slices[2] = {0};
    size_t         i;
    json_t        *e;

    close(mkstemp(path));
    task_create_ops(&t, ops, &runtime);
    emp_sim                    *sim = task_sim(&t);
    const emp_labelled_decision both[] = {{"mine", {.device_of_op = t.device_of_op}},
                                          {"cpu \"0\"", {.device_of_op = cpu}}};
    ASSERT_OK(emp_trace_chrome_write(path, sim, t.problem, both, 2, r, &err));
    json_t *root = json_load_file(path, 0, &why);
    cr_assert_not_null(root, "line %d: %s", why.line, why.text);
    json_array_foreach(json_object_get(root, "traceEvents"), i, e)
    {
        const int   side = json_integer_value(json_object_get(e, "pid")) >= 4;
        const char *phase = json_string_value(json_object_get(e, "ph"));
        const char *name =
            json_string_value(json_object_get(json_object_get(e, "args"), "name"));
        slices[side] += strcmp(phase, "X") == 0;
        if (strcmp(json_string_value(json_object_get(e, "name")), "process_name") != 0)
            continue;
        named[side]++;
        cr_expect_eq(strncmp(name, side == 0 ? "mine: " : "cpu \"0\": ", 6), 0, "%s",
                     name);
    }
    cr_expect_geq(named[0], 3);
    cr_expect_eq(named[1], named[0]);
    cr_expect_gt(slices[0], 2);
    cr_expect_gt(slices[1], 2);
    cr_expect_neq(r[0].fingerprint, r[1].fingerprint);
    json_decref(root);
    remove(path);
    emp_sim_destroy(sim);
    task_destroy(&t);
}

Test(trace, survives_allocation_failures_and_names_missing_folders)
{
    emp_runtime    runtime = tiny_serial();
    OWN_TASK       t;
    emp_sim_result r;
    char           path[] = P_tmpdir "/emplace-trace-XXXXXX";

    close(mkstemp(path));
    task_create_ops(&t, ops, &runtime);
    const emp_labelled_decision d = {.decision.device_of_op = t.device_of_op};
    OWN_SIM                     sim = task_sim(&t);
    SURVIVES_EVERY_ALLOCATION_FAILURE(
        emp_trace_chrome_write(path, sim, t.problem, &d, 1, &r, NULL), );
    EXPECT_REFUSED(
        emp_trace_chrome_write("/nowhere/t.json", sim, t.problem, &d, 1, &r, &err),
        EMP_EIO, "/nowhere/t.json");
    remove(path);
}

/* ---- pictures of scopes ---- */

enum { DRAWN = 300, TEXT_BYTES = 8192 };

static const char        drawn[] = "1; 2<0; 1<0; 0<1,2";
static const char *const drawn_names[] = {"enc/cell/a", "enc/cell/b", "enc/\"q\"/c",
                                          "loss"};

TestSuite(scope_dot, .init = scratch_create, .fini = scratch_remove);

/* Draws the four ops above; the text of the picture is in text. */
static emp_scope_dot_summary draw(int32_t depth, char text[TEXT_BYTES])
{
    OWN_TASK              t;
    emp_runtime           runtime = tiny_serial();
    emp_scope_dot_summary summary = {0};

    task_create_ops(&t, drawn, &runtime);
    for (int i = 0; i < 4; i++) t.graph->name[i] = drawn_names[i];
    ASSERT_OK(emp_scope_dot_write(scratch_path("g.dot"), t.problem, t.device_of_op, depth,
                                  NULL, &summary, &err));
    OWN_FREE char *written = scratch_read("g.dot", NULL);
    snprintf(text, TEXT_BYTES, "%s", written);
    return summary;
}

static void expect_text(const char *text, const char *part)
{
    cr_expect_not_null(strstr(text, part), "no %s in\n%s", part, text);
}

Test(scope_dot, scopes_are_cut_at_the_depth)
{
    char                  text[TEXT_BYTES];
    emp_scope_dot_summary s = draw(1, text);

    cr_expect_eq(s.depth, 1);
    cr_expect_eq(s.node_count, 2);
    expect_text(text, "\"enc\\n3 ops\"");
    expect_text(text, "\"(top)\\n1 op\"");
    s = draw(0, text);
    cr_expect_eq(s.depth, 2);
    cr_expect_eq(s.node_count, 3);
    expect_text(text, "\"enc/cell\\n2 ops\"");
    expect_text(text, "\"enc/\\\"q\\\"\\n1 op\"");
    s = draw(9, text);
    cr_expect_eq(s.node_count, 3);
}

Test(scope_dot, colours_and_labels_say_what_is_where)
{
    char                  text[TEXT_BYTES];
    emp_scope_dot_summary s = draw(2, text);

    cr_expect_eq(s.traffic_bytes, 3 * 256, "a to gpu:1, b and c to the host");
    expect_text(text, ";0.5000:");
    expect_text(text, "style=striped");
    expect_text(text, "style=filled");
    expect_text(text, "s0 -> s0 [label=\"256 B\"");
    expect_text(text, "s0 -> s2 [label=\"256 B\"");
    expect_text(text, "s0 -> s1\n");
    cr_expect_eq(strncmp(text, "digraph ", 8), 0);
}

/* a and b are the forward and the backward pass of one layer, c and d are of another. */
Test(scope_dot, layers_are_clusters)
{
    OWN_TASK                   t;
    emp_runtime                runtime = tiny_serial();
    emp_scope_dot_summary      summary = {0};
    static const char *const   name[] = {"layer 1", "layer \"2\""};
    static const int32_t       layer[] = {0, 0, 1, 1};
    static const uint8_t       pass[] = {0, 1, 0, 0};
    const emp_scope_dot_layers layers = {2, name, layer, pass};

    task_create_ops(&t, drawn, &runtime);
    ASSERT_OK(emp_scope_dot_write(scratch_path("g.dot"), t.problem, t.device_of_op, 0,
                                  &layers, &summary, &err));
    OWN_FREE char *text = scratch_read("g.dot", NULL);
    cr_expect_eq(summary.node_count, 3);
    cr_expect_eq(summary.depth, 0);
    cr_expect_eq(summary.traffic_bytes, 3 * 256);
    expect_text(text, "subgraph cluster_layer0 {\n    label=\"layer 1\"\n    rank=same\n "
                      " s0 [label=\"forward\\n1 op\"");
    expect_text(text, "s1 [label=\"backward\\n1 op\"");
    expect_text(
        text,
        "label=\"layer \\\"2\\\"\"\n    rank=same\n  s2 [label=\"forward\\n2 ops\"");
    expect_text(text, emp_device_colour(t.problem->machine, 1));
}

Test(scope_dot, labels_add_up_to_the_traffic)
{
    for (uint64_t seed = 0; seed < DRAWN; seed++) {
        OWN_TASK              r;
        emp_scope_dot_summary summary;
        (seed % 2 == 0 ? random_problem_create : random_problem_create_hosts)(&r, seed);
        ASSERT_OK(emp_scope_dot_write(scratch_path("g.dot"), r.problem, r.device_of_op, 0,
                                      NULL, &summary, &err));
        cr_expect_eq(summary.traffic_bytes, task_run(&r).traffic_bytes, SEED);
    }
    cr_expect_eq(emp_mem_live_blocks(), 0);
}

Test(scope_dot, survives_allocation_failures_and_names_missing_folders)
{
    OWN_TASK r;

    random_problem_create(&r, 7);
    SURVIVES_EVERY_ALLOCATION_FAILURE(emp_scope_dot_write(scratch_path("g.dot"),
                                                          r.problem, r.device_of_op, 0,
                                                          NULL, NULL, NULL), );
    EXPECT_REFUSED(emp_scope_dot_write("/nowhere/g.dot", r.problem, r.device_of_op, 0,
                                       NULL, NULL, &err),
                   EMP_EIO, "/nowhere/g.dot");
}

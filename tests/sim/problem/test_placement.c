// SPDX-License-Identifier: GPL-3.0-or-later
/* Soft placement, and placement files: lists of ops, and rules that name them.
 * Splits of instances are placements, too. */
#include "base/text/file.h"
#include "search/method.h"
#include "sim/problem/placement.h"
#include "tests/sim/graph/kit.h"
#include "tests/support/problems.h"
#include "tests/support/scratch.h"
#include "tests/support/survive.h"

enum { OPS = 5 };

/* v (a variable), a, b, c, d; a and b follow v by colocation in some tests */
static emp_graph   *graph;
static emp_machine *machine;
static emp_problem *problem;
static char         path[SCRATCH_PATH_BYTES];

static void make_graph(void)
{
    static const char *const names[OPS] = {"v", "a", "b", "layer/\"c\"", "d"};
    emp_graph_builder       *b = kit_begin();

    for (int i = 0; i < OPS; i++) kit_op(b, names[i], "NoOp", NULL, 0);
    graph = kit_finish(b);
    for (int i = 0; i < OPS; i++) graph->op[i].kinds = EMP_KIND_CPU | EMP_KIND_GPU;
}

static void make_problem(void)
{
    emp_runtime runtime = {0};

    emp_problem_destroy(problem);
    ASSERT_OK(emp_problem_create(&problem, graph, machine, &runtime, "tiny", &err));
}

static void setup(void)
{
    make_graph();
    ASSERT_OK(emp_machine_load(&machine, "k40x2", &err));
    make_problem();
    scratch_create();
    snprintf(path, sizeof path, "%s", scratch_path("p.json"));
}

static void teardown(void)
{
    scratch_remove();
    emp_problem_destroy(problem);
    emp_machine_destroy(machine);
    emp_graph_destroy(graph);
    problem = NULL;
    expect_all_freed();
}

TestSuite(placement, .init = setup, .fini = teardown);

static void expect_devices(const emp_device_id *got, const emp_device_id *want)
{
    for (int i = 0; i < OPS; i++)
        cr_expect_eq(got[i], want[i], "op %s is on %d, want %d", graph->name[i], got[i],
                     want[i]);
}

static void expect_legal(const emp_device_id *proposed, const emp_device_id *want)
{
    emp_device_id device[OPS];

    memcpy(device, proposed, sizeof device);
    make_problem();
    emp_problem_legalize(problem, device);
    expect_devices(device, want);
}

#define DEVICES(...) ((const emp_device_id[OPS]){__VA_ARGS__})

Test(placement, a_class_goes_where_its_leader_may_be)
{
    expect_legal(DEVICES(0, 1, 2, 1, 0), DEVICES(0, 1, 2, 1, 0)); /* a legal one stays */
    graph->op[1].colocation_class = graph->op[0].colocation_class;
    graph->op[1].kinds = EMP_KIND_CPU;
    expect_legal(DEVICES(2, 1, 1, 1, 0), DEVICES(0, 0, 1, 1, 0));
    graph->op[1].is_folded = true; /* binds nobody */
    expect_legal(DEVICES(2, 1, 1, 1, 0), DEVICES(2, 1, 1, 1, 0));
    graph->op[1].is_folded = false;
    graph->op[1].kinds = EMP_KIND_CPU | EMP_KIND_GPU;
    graph->op[2].colocation_class = graph->op[0].colocation_class;
    expect_legal(DEVICES(2, 1, 0, 1, 0), DEVICES(2, 2, 2, 1, 0));
}

Test(placement, a_cpu_only_op_goes_to_the_cpu_of_its_host)
{
    emp_device_id device[OPS];
    OWN_MACHINE   two_hosts = NULL;

    cr_assert_eq(emp_machine_load(&two_hosts, "k40x4x2", NULL), EMP_OK);
    const emp_device_id cpu = emp_machine_find(two_hosts, "cpu:1");
    const emp_device_id near = emp_machine_find(two_hosts, "gpu:0");
    const emp_device_id far = emp_machine_find(two_hosts, "gpu:4");
    memcpy(device, (emp_device_id[]){far, near, cpu, far, 99}, sizeof device);
    for (int i = 0; i < OPS; i++) graph->op[i].kinds = EMP_KIND_CPU;
    make_problem();
    problem->machine = two_hosts;
    emp_problem_legalize(problem, device);
    expect_devices(device, (emp_device_id[]){cpu, 0, cpu, cpu, 99});
    problem->machine = machine;
}

/* Levels and leaders are OPTIONAL. */
static void expect_saved(const uint8_t *level, const emp_op_id *leader)
{
    const emp_device_id saved[OPS] = {0, 1, 1, 1, 0};
    emp_named_placement named =
        emp_placement_name(problem, &(emp_decision){.device_of_op = saved}, 1.25);
    SCOPED(emp_owned_decision, emp_decision_clear) loaded;

    named.decision.level_of_op = level;
    named.decision.leader_of_op = leader;
    ASSERT_OK(emp_placement_write(path, &named, &err));
    ASSERT_OK(emp_placement_read(&loaded, path, problem, NULL, &err));
    expect_devices(loaded.device_of_op, saved);
    cr_assert_eq(loaded.level_of_op == NULL, level == NULL);
    cr_assert_eq(loaded.leader_of_op == NULL, leader == NULL);
    if (level != NULL) cr_expect_arr_eq(loaded.level_of_op, level, OPS * sizeof *level);
    if (leader != NULL)
        cr_expect_arr_eq(loaded.leader_of_op, leader, OPS * sizeof *leader);
}

Test(placement, a_saved_placement_loads_again)
{
    const emp_device_id saved[OPS] = {0, 1, 2, 1, 0};
    emp_device_id       loaded[OPS];

    ASSERT_OK(emp_placement_save(path, problem, saved, 1.25, &err));
    ASSERT_OK(emp_placement_load(loaded, path, problem, &err));
    expect_devices(loaded, saved);
    ASSERT_OK(emp_placement_save(path, problem, saved, -1.0, &err));
    ASSERT_OK(emp_placement_load(loaded, path, problem, &err));
    expect_saved(NULL, NULL);
    expect_saved((const uint8_t[OPS]){63, 0, 5, 5, 1}, NULL);
    expect_saved(NULL, (const emp_op_id[OPS]){0, 3, 3, 3, 4});
}

static void expect_origin(uint64_t run, double step_time_s)
{
    emp_placement_file *file = NULL;
    OWN_EMP_FREE char  *bytes = NULL;
    size_t              size = 0;

    cr_assert_eq(emp_whole_file_load(&bytes, &size, path, 1 << 16, NULL), EMP_OK);
    cr_assert_eq(emp_placement_file_parse(&file, bytes, size, path, NULL), EMP_OK);
    const emp_decision_origin *origin = emp_placement_file_origin(file);
    cr_expect_str_eq(origin->workload, "tiny");
    cr_expect_str_eq(origin->machine, "k40x2");
    cr_expect_eq(origin->run, run);
    cr_expect_eq(origin->step_time_s, step_time_s);
    cr_expect_eq(emp_placement_run(path), run);
    emp_placement_file_destroy(file);
}

Test(placement, a_file_says_what_it_was_made_for)
{
    const emp_device_id saved[OPS] = {0};
    emp_named_placement named =
        emp_placement_name(problem, &(emp_decision){.device_of_op = saved}, 1.25);

    named.origin.run = 0xfeedfacecafebeef;
    cr_assert_eq(emp_placement_write(path, &named, NULL), EMP_OK);
    expect_origin(0xfeedfacecafebeef, 1.25);
    cr_assert_eq(emp_placement_save(path, problem, saved, -3.0, NULL), EMP_OK);
    expect_origin(0, -1.0);
}

static emp_status load(emp_device_id *device, const char *text, emp_error *err)
{
    scratch_write("p.json", text, strlen(text));
    return emp_placement_load(device, path, problem, err);
}

Test(placement, a_device_that_is_not_there_may_have_nothing)
{
    static const char text[] = "{\"format\": \"emplace-placement-1\", \"devices\": "
                               "{\"gpu:7\": [], \"gpu:1\": [\"v\", \"a\", \"b\", "
                               "\"layer/\\\"c\\\"\", \"d\"]}}";
    emp_device_id     device[OPS];

    ASSERT_OK(load(device, text, &err));
    expect_devices(device, DEVICES(2, 2, 2, 2, 2));
}

Test(placement, saving_where_nothing_can_be_written_fails)
{
    const emp_device_id device[OPS] = {0};

    EXPECT_REFUSED(emp_placement_save("/nowhere/p.json", problem, device, 1.0, &err),
                   EMP_EIO, "/nowhere/p.json");
    snprintf(problem->workload, sizeof problem->workload, "\xff.pb");
    EXPECT_REFUSED(emp_placement_save(path, problem, device, 1.0, &err), EMP_EINVAL,
                   "UTF-8");
}

#define JSON(rest)       "{\"format\": \"emplace-placement-1\", " rest "}"
#define FILE_OF(devices) JSON("\"devices\": {" devices "}")
#define LEADERS(leaders) JSON("\"default\": \"gpu:0\", \"leaders\": " leaders)
#define LEVELS(levels)   JSON("\"default\": \"gpu:0\", \"levels\": " levels)
#define HEAD             "format: \"emplace-placement-1\"\n"
#define RULE(rule)       HEAD "rules:\n  - {" rule "}\n"

static const char *const bad_files[][2] = {
    {"", "empty"},
    {" ", "line 1"},
    {"{\"format\": \"x\"}", "'x', not 'emplace-placement-1'"},
    {"{\"format\": \"emplace-placement-1\"}", "the key devices is missing"},
    {FILE_OF("\"gpu:7\": [\"a\"]"), "machine 'k40x2' has no device 'gpu:7'"},
    {FILE_OF("\"gpu:0\": 3"), "device 'gpu:0' has no list of ops"},
    {FILE_OF("\"gpu:0\": [3]"), "entry 0 of device 'gpu:0'"},
    {FILE_OF("\"gpu:0\": [\"zebra\"]"), "device 'gpu:0': the graph has no op 'zebra'"},
    {JSON("\"devices\": []"), "devices is no object"},
    {FILE_OF("\"gpu:0\": [\"a\", \"a\"]"), "op 'a' is placed twice"},
    {FILE_OF("\"gpu:0\": [\"v\", \"a\", \"b\"]"), "op 'layer/\"c\"' is not placed"},
    {LEADERS("3"), "leaders is no object"},
    {LEADERS("{\"zebra\": []}"), "leaders: the graph has no op 'zebra'"},
    {LEADERS("{\"a\": 1}"), "leader 'a' has no list of ops"},
    {LEADERS("{\"a\": [7]}"), "entry 0 of leader 'a'"},
    {LEADERS("{\"a\": [\"b\", \"b\"]}"), "op 'b' has two leaders"},
    {LEVELS("3"), "levels is no object"},
    {LEVELS("{\"64\": []}"), "\"64\" is no level; they are 0 to 63"},
    {LEVELS("{\"\": []}"), "\"\" is no level"},
    {LEVELS("{\"1.5\": []}"), "\"1.5\" is no level"},
    {LEVELS("{\"-1\": []}"), "\"-1\" is no level"},
    {LEVELS("{\"1\": {}}"), "level '1' has no list of ops"},
    {LEVELS("{\"1\": [7]}"), "entry 0 of level '1'"},
    {LEVELS("{\"1\": [\"zebra\"]}"), "level '1': the graph has no op 'zebra'"},
    {LEVELS("{\"1\": [\"a\"], \"2\": [\"a\"]}"), "op 'a' has two levels"},
    {RULE("glob: \"l*\", device: \"gpu:0\""), "4 of 5 ops match no rule"},
    {RULE("glob: \"l*\", device: \"gpu:0\""), "the first is 'v'"},
    {HEAD, "the key devices is missing, and so are rules"},
    {"format: \"x\"\n", "its format is 'x'"},
    {"rules: []\n", ""},
    {HEAD "color: \"red\"\n", ":2: Unexpected key: color"},
    {HEAD "default: \"gpu:9\"\n", "machine 'k40x2' has no device 'gpu:9'"},
    {RULE("glob: \"*\", device: \"tpu:0\""), "machine 'k40x2' has no device 'tpu:0'"},
    {RULE("glob: \"*\""), "rule 1 ('*') names no device"},
    {RULE("device: \"gpu:0\""), "rule 1 has none of op, glob and regex"},
    {RULE("op: \"a\", glob: \"a\", device: \"gpu:0\""), "rule 1 has several of op, glob"},
    {RULE("regex: \"(\", device: \"gpu:0\""), "rule 1: '('"},
    {RULE("regex: \"a{2}\", device: \"gpu:0\""), "rule 1: 'a{2}' has a repeat count"},
    {RULE("regex: \"(a)\\\\1\", device: \"gpu:0\""), "rule 1: '(a)\\1' has a repeat"},
    {HEAD "workload: \"rnnlm\"\nmachine: \"k40x4\"\ndefault: \"gpu:3\"\n",
     "'gpu:3'; it was made for rnnlm on k40x4"},
    {JSON("\"default\": \"gpu:0\", \"level\": {}"),
     "\"level\" (did you mean \"levels\"?)"},
    {JSON("\"default\": \"gpu:0\", \"Levels\": {}"), "unexpected key \"Levels\""},
    {JSON("\"default\": \"gpu:0\", \"nope\": 1"), "unexpected key \"nope\""},
    {JSON("\"rules\": 3"), "rules is no list"},
    {JSON("\"rules\": [3]"), "rule 1 is no object"},
    {JSON("\"rules\": [{\"globe\": \"a\", \"device\": \"gpu:0\"}]"),
     "rule 1 has \"globe\""},
    {JSON("\"default\": 3"), "default is no device"},
};

Test(placement, bad_files_are_refused)
{
    emp_device_id device[OPS];

    for (size_t i = 0; i < COUNT(bad_files); i++) {
        EXPECT_REFUSED(load(device, bad_files[i][0], &err), EMP_EFORMAT, bad_files[i][1]);
        EXPECT_REFUSED(load(device, bad_files[i][0], &err), EMP_EFORMAT, path);
    }
    EXPECT_REFUSED(emp_placement_load(device, "/nowhere/p.json", problem, &err), EMP_EIO,
                   "/nowhere/p.json");
}

/* ---- rules ---- */

/* Ops v, a, b, layer/"c" and d. */
static void expect_placed(const char *text, const emp_device_id *want)
{
    emp_placement_report report = {0};
    SCOPED(emp_owned_decision, emp_decision_clear) decision;

    scratch_write("p.json", text, strlen(text));
    ASSERT_OK(emp_placement_read(&decision, path, problem, &report, &err));
    expect_devices(decision.device_of_op, want);
    cr_expect_eq(report.idle_count, 0, "%s", report.idle);
}

/* Lists of ops come before rules, and a default after them; JSON says the same as YAML. */
Test(placement, the_first_rule_that_matches_wins)
{
    expect_placed(HEAD "rules:\n"
                       "  - {op: \"b\", device: \"gpu:1\"}\n"
                       "  - {glob: \"a*\", device: \"gpu:0\"}\n"
                       "  - {regex: \"^(b|l[a-z]*/)\", device: \"cpu:0\"}\n"
                       "default: \"gpu:1\"\n",
                  DEVICES(2, 1, 2, 0, 2));
    expect_placed(JSON("\"rules\": [{\"op\": \"b\", \"device\": \"gpu:1\"},"
                       "{\"glob\": \"?\", \"device\": \"gpu:0\"},"
                       "{\"regex\": \"/\", \"device\": \"cpu:0\"}]"),
                  DEVICES(1, 1, 2, 0, 1));
    expect_placed(JSON("\"devices\": {\"gpu:1\": [\"d\", \"v\"]}, "
                       "\"rules\": [{\"glob\": \"*\", \"device\": \"cpu:0\"}]"),
                  DEVICES(2, 0, 0, 0, 2));
    expect_placed(HEAD "default: \"gpu:0\"\n", DEVICES(1, 1, 1, 1, 1));
}

Test(placement, rules_that_place_nothing_are_named)
{
    static const char    text[] = HEAD "rules:\n  - {glob: \"*\", device: \"gpu:0\"}\n"
                                       "  - {op: \"a\", device: \"gpu:1\"}\n"
                                       "  - {regex: \"^zebra\", device: \"gpu:1\"}\n";
    emp_placement_report report = {0};
    SCOPED(emp_owned_decision, emp_decision_clear) decision;

    scratch_write("p.json", text, strlen(text));
    ASSERT_OK(emp_placement_read(&decision, path, problem, &report, &err));
    cr_expect_eq(report.idle_count, 2);
    cr_expect_not_null(strstr(report.idle, "rule 2 ('a')"), "%s", report.idle);
    cr_expect_not_null(strstr(report.idle, "rule 3 ('^zebra')"), "%s", report.idle);
}

Test(placement, a_score_that_fits_is_better_then_the_shorter_step)
{
    const emp_score fast = {.step_time_s = 1.0, .is_feasible = true},
                    slow = {.step_time_s = 2.0, .is_feasible = true},
                    too_large = {.step_time_s = 0.5,
                                 .is_feasible = false,
                                 .overflow_frac = 0.1},
                    too_large_and_slow = {
                        .step_time_s = 3.0, .is_feasible = false, .overflow_frac = 0.1};
    const emp_score *const falling[] = {&fast, &slow, &too_large, &too_large_and_slow};

    for (int i = 0; i < 4; i++) {
        for (int j = 0; j < 4; j++)
            cr_expect_eq(emp_score_is_better(falling[i], falling[j]), i < j, "%d, %d", i,
                         j);
    }
}

Test(placement, a_problem_survives_every_allocation_failure)
{
    emp_runtime runtime = {0};

    emp_problem *p = NULL;
    SURVIVES_EVERY_ALLOCATION_FAILURE(
        emp_problem_create(&p, graph, machine, &runtime, "tiny", NULL),
        emp_problem_destroy(p));
    emp_problem_destroy(p);
}

Test(placement, loading_survives_every_allocation_failure)
{
    const emp_device_id saved[OPS] = {0, 1, 2, 1, 0};
    emp_device_id       device[OPS];

    ASSERT_OK(emp_placement_save(path, problem, saved, 1.0, &err));
    SURVIVES_EVERY_ALLOCATION_FAILURE(emp_placement_load(device, path, problem, NULL), );
    SURVIVES_EVERY_ALLOCATION_FAILURE(
        load(device,
             HEAD "rules:\n  - {regex: \"d\", device: \"gpu:0\"}\n"
                  "default: \"gpu:1\"\n",
             NULL), );
    SURVIVES_EVERY_ALLOCATION_FAILURE(
        load(device, JSON("\"rules\": [{\"glob\": \"*\", \"device\": \"gpu:0\"}]"),
             NULL), );
}

Test(placement, globs_match_whole_names)
{
    static const struct {
        const char *glob, *text;
        bool        matches;
    } cases[] = {
        {"", "", true},       {"", "a", false},          {"*", "", true},
        {"a*", "a/b", true},  {"*b", "a/b", true},       {"a?b", "a/b", true},
        {"a?b", "ab", false}, {"*a*b*", "xaxxbx", true}, {"*a*b", "xaxbx", false},
        {"a**", "a", true},   {"abc", "ab", false},      {"ab", "abc", false}};

    for (size_t i = 0; i < COUNT(cases); i++)
        cr_expect_eq(emp_glob_matches(cases[i].glob, cases[i].text), cases[i].matches,
                     "%s on %s", cases[i].glob, cases[i].text);
}

Test(placement, a_glob_of_many_stars_is_no_trap)
{
    char glob[200], name[4000];

    for (int i = 0; i < 99; i++) memcpy(glob + 2 * i, "*a", 2);
    memcpy(glob + 198, "b", 2);
    memset(name, 'a', sizeof name);
    name[sizeof name - 1] = '\0';
    cr_expect_not(emp_glob_matches(glob, name));
}

Test(placement, the_origin_may_be_left_out)
{
    static const char   text[] = HEAD "machine: \"k40x2\"\ndefault: \"gpu:0\"\n";
    emp_placement_file *file = NULL;

    ASSERT_OK(emp_placement_file_parse(&file, text, sizeof text - 1, "p", NULL));
    const emp_decision_origin *origin = emp_placement_file_origin(file);
    cr_expect_str_eq(origin->machine, "k40x2");
    cr_expect_str_eq(origin->workload, "");
    cr_expect(isnan(origin->step_time_s));
    emp_placement_file_destroy(file);
}

/* ---- splits of instances ---- */

enum { NODES = 4, ROOMY = 1 << 20 };

/* node0 and its backward op share a class; the machine has 2 CPUs and 2 GPUs. */
static const stated_op nodes[NODES] = {
    {.color = 1}, {.color = 2}, {.color = 3}, {"gradients/node7", .color = 1}};

static task p;

static void set_up_split(void)
{
    scratch_create();
    task_create_stated(&p, nodes, NODES, NULL, 0, 2, 2, ROOMY, "msr-load");
}

static void tear_down_split(void)
{
    task_destroy(&p);
    scratch_remove();
    expect_all_freed();
}

TestSuite(split, .init = set_up_split, .fini = tear_down_split);

static emp_status load_split(emp_device_id *device_of_op, const char *text,
                             emp_error *err)
{
    scratch_write("split.json", text, strlen(text));
    return emp_placement_load(device_of_op, scratch_path("split.json"), p.problem, err);
}

static void expect_split(const char *text, const emp_device_id *want)
{
    emp_device_id device[NODES];

    ASSERT_OK(load_split(device, text, &err));
    for (int32_t op = 0; op < NODES; op++)
        cr_expect_eq(device[op], want[op], "op %d", op);
}

Test(split, puts_nodes_on_devices_by_number)
{
    expect_split("{\"fpgas\": [{\"nodes\": [0, 7]}, {\"nodes\": [2], \"load\": 5}],"
                 " \"cpus\": [{\"nodes\": []}, {\"nodes\": [1]}], \"maxLoad\": -1}",
                 (emp_device_id[]){2, 1, 3, 2});
}

Test(split, of_a_forward_pass_takes_the_backward_pass_along)
{
    expect_split("{\"fpgas\": [{\"nodes\": [1, 2]}, {\"nodes\": [0]}], \"cpus\": []}",
                 (emp_device_id[]){3, 2, 2, 3});
}

static const struct {
    const char *text, *wants;
} faults[] = {
    {"{\"fpgas\": [{\"nodes\": [0, 1, 2, 5]}], \"cpus\": []}", "no op 'node5'"},
    {"{\"fpgas\": [{\"nodes\": [0, 1, 2, 0]}], \"cpus\": []}", "'node0' is placed twice"},
    {"{\"fpgas\": [{\"nodes\": [0, 1]}], \"cpus\": []}", "'node2' is not placed"},
    {"{\"fpgas\": [{\"nodes\": [\"0\"]}], \"cpus\": []}", "no whole number"},
    {"{\"fpgas\": [{\"knots\": [0]}], \"cpus\": []}", "no list \"nodes\""},
    {"{\"fpgas\": [7], \"cpus\": []}", "an entry of \"fpgas\" has no list"},
    {"{\"fpgas\": [{\"nodes\": []}, {\"nodes\": []}, {\"nodes\": []}], \"cpus\": []}",
     "\"fpgas\" has 3 entries; machine 'tiny' has 2 such devices"},
};

Test(split, faults_are_told)
{
    emp_device_id device[NODES];

    for (size_t i = 0; i < COUNT(faults); i++) {
        EXPECT_REFUSED(load_split(device, faults[i].text, &err), EMP_EFORMAT,
                       faults[i].wants);
        EXPECT_REFUSED(load_split(device, faults[i].text, &err), EMP_EFORMAT,
                       "split.json");
    }
}

Test(split, survives_every_allocation_failure)
{
    emp_device_id device[NODES];

    SURVIVES_EVERY_ALLOCATION_FAILURE(
        load_split(device, "{\"fpgas\": [{\"nodes\": [0, 1, 2]}], \"cpus\": []}",
                   NULL), );
}

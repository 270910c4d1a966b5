// SPDX-License-Identifier: GPL-3.0-or-later
/* Do rules place the ops that they name, the first one first, and are mistakes told? */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "sim/graph/graph_builder.h"
#include "sim/problem/placement.h"
#include "tests/support/scratch.h"
#include "tests/support/survive.h"

enum { OPS = 6, CPU = 0, GPU0 = 1, GPU1 = 2 };

static const char *const op_names[OPS] = {"step",
                                          "encoder/cell_0/MatMul",
                                          "encoder/cell_1/MatMul",
                                          "decoder/cell_0/MatMul",
                                          "decoder/loss",
                                          "encoder"};

static emp_graph   *graph;
static emp_machine *machine;
static emp_problem *problem;

static void set_up(void)
{
    emp_graph_builder *b = NULL;
    emp_op_attrs       attrs = {0};
    emp_runtime        runtime = {0};

    scratch_create();
    cr_assert_eq(emp_graph_builder_create(&b, NULL), EMP_OK);
    for (int i = 0; i < OPS; i++) {
        emp_op_id op;
        cr_assert_eq(emp_graph_builder_add(b, op_names[i], "NoOp", &attrs, NULL, 0, NULL,
                                           0, &op, NULL),
                     EMP_OK);
    }
    cr_assert_eq(emp_graph_builder_finish(b, &graph, NULL), EMP_OK);
    emp_graph_builder_destroy(b);
    cr_assert_eq(emp_machine_load(&machine, "k40x2", NULL), EMP_OK);
    cr_assert_eq(emp_problem_create(&problem, graph, machine, &runtime, "tiny", NULL),
                 EMP_OK);
}

static void tear_down(void)
{
    emp_problem_destroy(problem);
    emp_machine_destroy(machine);
    emp_graph_destroy(graph);
    cr_expect_eq(emp_mem_live_blocks(), 0);
    scratch_remove();
}

TestSuite(placement_rules, .init = set_up, .fini = tear_down);

#define HEAD       "format: \"emplace-placement-1\"\n"
#define JSON(rest) "{\"format\": \"emplace-placement-1\", " rest "}"

static char path[SCRATCH_PATH_BYTES];

static emp_status load(emp_device_id *device, const char *text,
                       emp_placement_report *report, emp_error *err)
{
    scratch_write_text(path, sizeof path, "p", text);
    emp_owned_decision decision;
    const emp_status   st = emp_placement_read(&decision, path, problem, report, err);
    if (st == EMP_OK) memcpy(device, decision.device_of_op, OPS * sizeof *device);
    emp_decision_clear(&decision);
    return st;
}

static void expect_placed(const char *text, const emp_device_id *want)
{
    emp_device_id        device[OPS];
    emp_placement_report report = {0};
    emp_error            err = {0};

    cr_assert_eq(load(device, text, &report, &err), EMP_OK, "%s: %s", text, err.msg);
    for (int op = 0; op < OPS; op++)
        cr_expect_eq(device[op], want[op], "%s: %s is on %d, want %d", text, op_names[op],
                     device[op], want[op]);
    cr_expect_eq(report.idle_count, 0, "%s", report.idle);
}

Test(placement_rules, the_first_that_matches_wins)
{
    expect_placed(HEAD "rules:\n"
                       "  - {op: \"encoder/cell_1/MatMul\", device: \"gpu:1\"}\n"
                       "  - {glob: \"encoder/*\", device: \"gpu:0\"}\n"
                       "  - {regex: \"/(loss|cell_[0-9])\", device: \"cpu:0\"}\n"
                       "default: \"gpu:1\"\n",
                  (emp_device_id[]){GPU1, GPU0, GPU1, CPU, CPU, GPU1});
}

Test(placement_rules, json_says_the_same)
{
    expect_placed(
        JSON("\"rules\": [{\"op\": \"encoder/cell_1/MatMul\", \"device\": \"gpu:1\"},"
             "{\"glob\": \"encoder/*\", \"device\": \"gpu:0\"},"
             "{\"regex\": \"/(loss|cell_[0-9])\", \"device\": \"cpu:0\"}],"
             "\"default\": \"gpu:1\""),
        (emp_device_id[]){GPU1, GPU0, GPU1, CPU, CPU, GPU1});
}

Test(placement_rules, a_list_of_ops_comes_before_rules)
{
    expect_placed(JSON("\"devices\": {\"gpu:1\": [\"encoder\", \"step\"]}, "
                       "\"rules\": [{\"glob\": \"*coder*\", \"device\": \"cpu:0\"}]"),
                  (emp_device_id[]){GPU1, CPU, CPU, CPU, CPU, GPU1});
}

Test(placement_rules, a_default_alone_places_all)
{
    expect_placed(HEAD "default: \"gpu:0\"\n",
                  (emp_device_id[]){GPU0, GPU0, GPU0, GPU0, GPU0, GPU0});
}

Test(placement_rules, rules_that_place_nothing_are_named)
{
    emp_device_id        device[OPS];
    emp_placement_report report = {0};

    cr_assert_eq(load(device,
                      HEAD "rules:\n"
                           "  - {glob: \"*\", device: \"gpu:0\"}\n"
                           "  - {op: \"encoder\", device: \"gpu:1\"}\n"
                           "  - {regex: \"^zebra\", device: \"gpu:1\"}\n",
                      &report, NULL),
                 EMP_OK);
    cr_expect_eq(report.idle_count, 2);
    cr_expect_str_eq(report.idle, "rule 2 ('encoder') comes after rules that take its "
                                  "ops, rule 3 ('^zebra') matches no op");
}

struct bad_file {
    const char *text, *message;
};

static const struct bad_file bad_files[] = {
    {HEAD "rules:\n  - {glob: \"encoder/*\", device: \"gpu:0\"}\n",
     ": 4 of 6 ops match no rule, and there is no default: the first is 'step'"},
    {HEAD, ": the key devices is missing, and so are rules"},
    {"format: \"x\"\n", ": no placement file: its format is 'x'"},
    {"rules: []\n", ":"},
    {HEAD "color: \"red\"\n", ":2: Unexpected key: color"},
    {HEAD "default: \"gpu:9\"\n", ": machine 'k40x2' has no device 'gpu:9'"},
    {HEAD "rules:\n  - {glob: \"*\", device: \"tpu:0\"}\n",
     ": machine 'k40x2' has no device 'tpu:0'"},
    {HEAD "rules:\n  - {glob: \"*\"}\n", ": rule 1 ('*') names no device"},
    {HEAD "rules:\n  - {device: \"gpu:0\"}\n",
     ": rule 1 has none of op, glob and regex; it takes one"},
    {HEAD "rules:\n  - {op: \"a\", glob: \"a\", device: \"gpu:0\"}\n",
     ": rule 1 has several of op, glob and regex; it takes one"},
    {HEAD "rules:\n  - {regex: \"(\", device: \"gpu:0\"}\n", ": rule 1: '(': "},
    {HEAD "rules:\n  - {regex: \"a{2}\", device: \"gpu:0\"}\n",
     ": rule 1: 'a{2}' has a repeat count or a back-reference"},
    {HEAD "rules:\n  - {regex: \"(a)\\\\1\", device: \"gpu:0\"}\n",
     ": rule 1: '(a)\\1' has a repeat count or a back-reference"},
    {"format: \"emplace-placement-1\"\nworkload: \"rnnlm\"\nmachine: \"k40x4\"\n"
     "default: \"gpu:3\"\n",
     ": machine 'k40x2' has no device 'gpu:3'; it was made for rnnlm on k40x4"},
    {JSON("\"rules\": 3"), ": rules is no list"},
    {JSON("\"rules\": [3]"), ": rule 1 is no object"},
    {JSON("\"rules\": [{\"globe\": \"a\", \"device\": \"gpu:0\"}]"),
     ": rule 1 has \"globe\""},
    {JSON("\"default\": 3"), ": default is no device"},
};

Test(placement_rules, mistakes_are_told_in_one_sentence)
{
    for (size_t i = 0; i < sizeof bad_files / sizeof bad_files[0]; i++) {
        emp_device_id device[OPS];
        emp_error     err = {0};
        char          want[SCRATCH_PATH_BYTES + 256];
        cr_expect_eq(load(device, bad_files[i].text, NULL, &err), EMP_EFORMAT, "%s",
                     bad_files[i].text);
        snprintf(want, sizeof want, "%s%s", path, bad_files[i].message);
        cr_expect_eq(strncmp(err.msg, want, strlen(want)), 0, "said: %s\nwant: %s",
                     err.msg, want);
    }
}

Test(placement_rules, globs_match_whole_names)
{
    static const struct {
        const char *glob, *text;
        bool        matches;
    } cases[] = {
        {"", "", true},       {"", "a", false},          {"*", "", true},
        {"a*", "a/b", true},  {"*b", "a/b", true},       {"a?b", "a/b", true},
        {"a?b", "ab", false}, {"*a*b*", "xaxxbx", true}, {"*a*b", "xaxbx", false},
        {"a**", "a", true},   {"abc", "ab", false},      {"ab", "abc", false}};

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        cr_expect_eq(emp_glob_matches(cases[i].glob, cases[i].text), cases[i].matches,
                     "%s on %s", cases[i].glob, cases[i].text);
}

Test(placement_rules, a_glob_of_many_stars_is_no_trap)
{
    char glob[200], name[4000];

    for (int i = 0; i < 99; i++) memcpy(glob + 2 * i, "*a", 2);
    memcpy(glob + 198, "b", 2);
    memset(name, 'a', sizeof name);
    name[sizeof name - 1] = '\0';
    cr_expect_not(emp_glob_matches(glob, name));
}

Test(placement_rules, the_origin_may_be_left_out)
{
    static const char   text[] = HEAD "machine: \"k40x2\"\ndefault: \"gpu:0\"\n";
    emp_placement_file *file = NULL;

    cr_assert_eq(emp_placement_file_parse(&file, text, sizeof text - 1, "p", NULL),
                 EMP_OK);
    const emp_decision_origin *origin = emp_placement_file_origin(file);
    cr_expect_str_eq(origin->machine, "k40x2");
    cr_expect_str_eq(origin->workload, "");
    cr_expect(isnan(origin->step_time_s));
    emp_placement_file_destroy(file);
}

static emp_status load_and_forget(const char *text)
{
    emp_device_id        device[OPS];
    emp_placement_report report = {0};

    return load(device, text, &report, NULL);
}

Test(placement_rules, survive_every_allocation_failure)
{
    SURVIVES_EVERY_ALLOCATION_FAILURE(
        load_and_forget(HEAD "rules:\n  - {regex: \"d\", device: \"gpu:0\"}\n"
                             "default: \"gpu:1\"\n"),
        (void)0);
    SURVIVES_EVERY_ALLOCATION_FAILURE(
        load_and_forget(JSON("\"rules\": [{\"glob\": \"*\", \"device\": \"gpu:0\"}]")),
        (void)0);
}

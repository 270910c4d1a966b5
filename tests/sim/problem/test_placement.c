// SPDX-License-Identifier: GPL-3.0-or-later
/* Soft placement, and placement files. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/text/file.h"
#include "search/method.h"
#include "sim/graph/graph_builder.h"
#include "sim/problem/placement.h"
#include "tests/support/expect.h"
#include "tests/support/survive.h"

enum { OPS = 5 };

/* v (a variable), a, b, c, d; a and b follow v by colocation in some tests */
static emp_graph   *graph;
static emp_machine *machine;
static emp_problem *problem;
static char         path[64];

static void make_graph(void)
{
    static const char *const names[OPS] = {"v", "a", "b", "layer/\"c\"", "d"};
    emp_graph_builder       *b = NULL;
    emp_op_attrs             attrs = {0};

    cr_assert_eq(emp_graph_builder_create(&b, NULL), EMP_OK);
    for (int i = 0; i < OPS; i++) {
        emp_op_id op;
        cr_assert_eq(emp_graph_builder_add(b, names[i], "NoOp", &attrs, NULL, 0, NULL, 0,
                                           &op, NULL),
                     EMP_OK);
    }
    cr_assert_eq(emp_graph_builder_finish(b, &graph, NULL), EMP_OK);
    emp_graph_builder_destroy(b);
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
    cr_assert_eq(emp_machine_load(&machine, "k40x2", NULL), EMP_OK);
    make_problem();
    snprintf(path, sizeof path, P_tmpdir "/emplace-placement-XXXXXX");
    int file = mkstemp(path);
    cr_assert_geq(file, 0);
    close(file);
}

static void teardown(void)
{
    remove(path);
    emp_problem_destroy(problem);
    emp_machine_destroy(machine);
    emp_graph_destroy(graph);
    problem = NULL;
    cr_expect_eq(emp_mem_live_blocks(), 0);
}

TestSuite(placement, .init = setup, .fini = teardown);

static void expect_devices(const emp_device_id *got, const emp_device_id *want)
{
    for (int i = 0; i < OPS; i++) {
        cr_expect_eq(got[i], want[i], "op %s is on %d, want %d", graph->name[i], got[i],
                     want[i]);
    }
}

static void write_file(const char *text)
{
    FILE *file = fopen(path, "w");

    cr_assert_not_null(file);
    fputs(text, file);
    fclose(file);
}

Test(placement, a_legal_placement_is_left_alone)
{
    emp_device_id device[OPS] = {0, 1, 2, 1, 0};

    emp_problem_legalize(problem, device);
    expect_devices(device, (emp_device_id[]){0, 1, 2, 1, 0});
}

Test(placement, a_class_goes_where_its_leader_is)
{
    emp_device_id device[OPS] = {2, 1, 0, 1, 0};

    graph->op[1].colocation_class = graph->op[2].colocation_class =
        graph->op[0].colocation_class;
    make_problem();
    emp_problem_legalize(problem, device);
    expect_devices(device, (emp_device_id[]){2, 2, 2, 1, 0});
}

Test(placement, a_class_with_a_cpu_only_member_goes_to_the_cpu)
{
    emp_device_id device[OPS] = {2, 1, 1, 1, 0};

    graph->op[1].colocation_class = graph->op[0].colocation_class;
    graph->op[1].kinds = EMP_KIND_CPU;
    make_problem();
    emp_problem_legalize(problem, device);
    expect_devices(device, (emp_device_id[]){0, 0, 1, 1, 0});
}

Test(placement, a_cpu_only_op_goes_to_the_cpu_of_its_host)
{
    emp_device_id device[OPS];
    emp_machine  *two_hosts = NULL;

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
    emp_machine_destroy(two_hosts);
}

Test(placement, a_folded_member_binds_nobody)
{
    emp_device_id device[OPS] = {2, 1, 1, 1, 0};

    graph->op[1].colocation_class = graph->op[0].colocation_class;
    graph->op[1].kinds = EMP_KIND_CPU;
    graph->op[1].is_folded = true;
    make_problem();
    emp_problem_legalize(problem, device);
    expect_devices(device, (emp_device_id[]){2, 1, 1, 1, 0});
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
}

Test(placement, saved_levels_load_again)
{
    const emp_device_id saved[OPS] = {0, 1, 2, 1, 0};
    const uint8_t       level[OPS] = {63, 0, 5, 5, 1};
    emp_named_placement named =
        emp_placement_name(problem, &(emp_decision){.device_of_op = saved}, 1.25);
    emp_owned_decision loaded;

    named.decision.level_of_op = level;
    cr_assert_eq(emp_placement_write(path, &named, NULL), EMP_OK);
    cr_assert_eq(emp_placement_read(&loaded, path, problem, NULL, NULL), EMP_OK);
    expect_devices(loaded.device_of_op, saved);
    cr_expect_arr_eq(loaded.level_of_op, level, sizeof level);
    cr_expect_null(loaded.leader_of_op);
    emp_decision_clear(&loaded);
    cr_assert_eq(emp_placement_save(path, problem, saved, 1.25, NULL), EMP_OK);
    cr_assert_eq(emp_placement_read(&loaded, path, problem, NULL, NULL), EMP_OK);
    cr_expect_null(loaded.level_of_op);
    emp_decision_clear(&loaded);
}

Test(placement, saved_leaders_load_again)
{
    const emp_device_id saved[OPS] = {0, 1, 1, 1, 0};
    const emp_op_id     leader[OPS] = {0, 3, 3, 3, 4};
    emp_named_placement named =
        emp_placement_name(problem, &(emp_decision){.device_of_op = saved}, 1.25);
    emp_owned_decision loaded;

    named.decision.leader_of_op = leader;
    cr_assert_eq(emp_placement_write(path, &named, NULL), EMP_OK);
    cr_assert_eq(emp_placement_read(&loaded, path, problem, NULL, NULL), EMP_OK);
    expect_devices(loaded.device_of_op, saved);
    cr_expect_arr_eq(loaded.leader_of_op, leader, sizeof leader);
    cr_expect_null(loaded.level_of_op);
    emp_decision_clear(&loaded);
}

static void expect_origin(uint64_t run, double step_time_s)
{
    emp_placement_file *file = NULL;
    char               *bytes = NULL;
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
    emp_free(bytes);
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

#define LEADERS_OF(leaders)                                          \
    "{\"format\": \"emplace-placement-1\", \"default\": \"gpu:0\", " \
    "\"leaders\": " leaders "}"

Test(placement, bad_leaders_are_refused_in_one_sentence)
{
    static const char *const texts[][2] = {
        {LEADERS_OF("3"), ": leaders is no object"},
        {LEADERS_OF("{\"zebra\": []}"), ": leaders: the graph has no op 'zebra'"},
        {LEADERS_OF("{\"a\": 1}"), ": leader 'a' has no list of ops"},
        {LEADERS_OF("{\"a\": [7]}"), ": entry 0 of leader 'a' is no op name"},
        {LEADERS_OF("{\"a\": [\"b\", \"b\"]}"), ": op 'b' has two leaders"}};

    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        emp_device_id device[OPS];
        emp_error     err = {0};
        char          want[256];
        write_file(texts[i][0]);
        cr_expect_eq(emp_placement_load(device, path, problem, &err), EMP_EFORMAT);
        snprintf(want, sizeof want, "%s%s", path, texts[i][1]);
        cr_expect_str_eq(err.msg, want);
    }
}

#define LEVELS_OF(levels)                                                               \
    "{\"format\": \"emplace-placement-1\", \"default\": \"gpu:0\", \"levels\": " levels \
    "}"

Test(placement, bad_levels_are_refused_in_one_sentence)
{
    static const char *const texts[][2] = {
        {LEVELS_OF("3"), ": levels is no object"},
        {LEVELS_OF("{\"64\": []}"), ": \"64\" is no level; they are 0 to 63"},
        {LEVELS_OF("{\"\": []}"), ": \"\" is no level; they are 0 to 63"},
        {LEVELS_OF("{\"1.5\": []}"), ": \"1.5\" is no level; they are 0 to 63"},
        {LEVELS_OF("{\"-1\": []}"), ": \"-1\" is no level; they are 0 to 63"},
        {LEVELS_OF("{\"1\": {}}"), ": level '1' has no list of ops"},
        {LEVELS_OF("{\"1\": [7]}"), ": entry 0 of level '1' is no op name"},
        {LEVELS_OF("{\"1\": [\"zebra\"]}"), ": level '1': the graph has no op 'zebra'"},
        {LEVELS_OF("{\"1\": [\"a\"], \"2\": [\"a\"]}"), ": op 'a' has two levels"}};

    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        emp_device_id device[OPS];
        emp_error     err = {0};
        char          want[256];
        write_file(texts[i][0]);
        cr_expect_eq(emp_placement_load(device, path, problem, &err), EMP_EFORMAT);
        snprintf(want, sizeof want, "%s%s", path, texts[i][1]);
        cr_expect_str_eq(err.msg, want);
    }
}

Test(placement, a_device_that_is_not_there_may_have_nothing)
{
    static const char text[] = "{\"format\": \"emplace-placement-1\", \"devices\": "
                               "{\"gpu:7\": [], \"gpu:1\": [\"v\", \"a\", \"b\", "
                               "\"layer/\\\"c\\\"\", \"d\"]}}";
    emp_device_id     device[OPS];

    write_file(text);
    ASSERT_OK(emp_placement_load(device, path, problem, &err));
    expect_devices(device, (emp_device_id[]){2, 2, 2, 2, 2});
}

Test(placement, saving_where_nothing_can_be_written_fails)
{
    const emp_device_id device[OPS] = {0};

    EXPECT_REFUSED(emp_placement_save("/nowhere/p.json", problem, device, 1.0, &err),
                   EMP_EIO, "/nowhere/p.json");
}

Test(placement, saving_names_that_are_no_text_says_so)
{
    const emp_device_id device[OPS] = {0};
    emp_error           err = {0};
    char                want[256];

    snprintf(problem->workload, sizeof problem->workload, "\xff.pb");
    cr_expect_eq(emp_placement_save(path, problem, device, 1.0, &err), EMP_EINVAL);
    snprintf(want, sizeof want, "%s cannot be written: a name in it is not valid UTF-8",
             path);
    cr_expect_str_eq(err.msg, want);
}

struct bad_file {
    const char *text, *message;
    emp_status  status;
};

#define FILE_OF(devices) \
    "{\"format\": \"emplace-placement-1\", \"devices\": {" devices "}}"

static const struct bad_file bad_files[] = {
    {"", ": an empty file", EMP_EFORMAT},
    {" ", ": line 1: not JSON: the end of the text", EMP_EFORMAT},
    {"{\"format\": \"x\"}",
     ": no placement file: its format is 'x', not 'emplace-placement-1'", EMP_EFORMAT},
    {"{\"format\": \"emplace-placement-1\"}", ": the key devices is missing",
     EMP_EFORMAT},
    {FILE_OF("\"gpu:7\": [\"a\"]"), ": machine 'k40x2' has no device 'gpu:7'",
     EMP_EFORMAT},
    {FILE_OF("\"gpu:0\": 3"), ": device 'gpu:0' has no list of ops", EMP_EFORMAT},
    {FILE_OF("\"gpu:0\": [3]"), ": entry 0 of device 'gpu:0' is no op name", EMP_EFORMAT},
    {FILE_OF("\"gpu:0\": [\"zebra\"]"), ": device 'gpu:0': the graph has no op 'zebra'",
     EMP_EFORMAT},
    {"{\"format\": \"emplace-placement-1\", \"devices\": []}", ": devices is no object",
     EMP_EFORMAT},
    {FILE_OF("\"gpu:0\": [\"a\", \"a\"]"), ": op 'a' is placed twice", EMP_EFORMAT},
    {FILE_OF("\"gpu:0\": [\"v\", \"a\", \"b\"]"), ": op 'layer/\"c\"' is not placed",
     EMP_EFORMAT},
};

Test(placement, bad_files_are_refused_in_one_sentence)
{
    for (size_t i = 0; i < sizeof bad_files / sizeof bad_files[0]; i++) {
        emp_device_id device[OPS];
        emp_error     err = {0};
        char          want[256];
        write_file(bad_files[i].text);
        cr_expect_eq(emp_placement_load(device, path, problem, &err),
                     bad_files[i].status);
        snprintf(want, sizeof want, "%s%s", path, bad_files[i].message);
        cr_expect_eq(strncmp(err.msg, want, strlen(want)), 0, "said: %s\nwant: %s",
                     err.msg, want);
    }
}

Test(placement, a_missing_file_is_named)
{
    emp_device_id device[OPS];

    EXPECT_REFUSED(emp_placement_load(device, "/nowhere/p.json", problem, &err), EMP_EIO,
                   "/nowhere/p.json: cannot be read: No such file or directory");
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
    long                before = emp_mem_live_blocks();
    emp_status          st = EMP_ENOMEM;

    cr_assert_eq(emp_placement_save(path, problem, saved, 1.0, NULL), EMP_OK);
    for (long allowed = 0; st != EMP_OK; allowed++) {
        emp_device_id device[OPS];
        emp_mem_fail_after(allowed);
        st = emp_placement_load(device, path, problem, NULL);
        emp_mem_fail_after(-1);
        cr_assert_eq(emp_mem_live_blocks(), before, "leak after %ld allocations",
                     allowed);
    }
}

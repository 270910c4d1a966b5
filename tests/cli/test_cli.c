// SPDX-License-Identifier: GPL-3.0-or-later
/* The program as a user meets it: exit statuses, one sentence an error, JSON keys. Each
 * test runs the built executable in a folder of its own. */
#define _POSIX_C_SOURCE 200809L
#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <dirent.h>
#include <jansson.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "tests/support/program.h"
#include "tests/support/scratch.h"

enum { PATH = SCRATCH_PATH_BYTES };

/* Two small branches that meet, all sizes given. */
static const char small_graph[] =
    "node { name: \"x\" op: \"Placeholder\" attr { key: \"dtype\" value { type: DT_FLOAT "
    "} }\n"
    "  attr { key: \"shape\" value { shape { dim { size: 64 } dim { size: 1024 } } } } "
    "}\n"
    "node { name: \"a\" op: \"Relu\" input: \"x\" attr { key: \"T\" value { type: "
    "DT_FLOAT } } }\n"
    "node { name: \"b\" op: \"Tanh\" input: \"x\" attr { key: \"T\" value { type: "
    "DT_FLOAT } } }\n"
    "node { name: \"c\" op: \"Add\" input: \"a\" input: \"b\"\n"
    "  attr { key: \"T\" value { type: DT_FLOAT } } }\n";

static const char cyclic_graph[] = "node { name: \"a\" op: \"Relu\" input: \"b\" attr { "
                                   "key: \"T\" value { type: DT_FLOAT } } }\n"
                                   "node { name: \"b\" op: \"Relu\" input: \"a\" attr { "
                                   "key: \"T\" value { type: DT_FLOAT } } }\n";

static const char unknown_type_graph[] =
    "node { name: \"x\" op: \"Placeholder\" attr { key: \"dtype\" value { type: DT_FLOAT "
    "} }\n"
    "  attr { key: \"shape\" value { shape { dim { size: 8 } } } } }\n"
    "node { name: \"a\" op: \"Frobnicate\" input: \"x\" }\n"
    "node { name: \"b\" op: \"Frobnicate\" input: \"a\" }\n";

static const char lfs_pointer[] =
    "version https://git-lfs.github.com/spec/v1\n"
    "oid sha256:4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393\n"
    "size 12345\n";

static const char unknown_op_placement[] =
    "{\"format\": \"emplace-placement-1\", \"workload\": \"small\", \"machine\": "
    "\"k40x2\",\n"
    " \"step_time_s\": null,\n"
    " \"devices\": {\"cpu:0\": [\"x\", \"a\", \"b\", \"c\", \"nonesuch\"]}}\n";

static const char missing_device_placement[] =
    "{\"format\": \"emplace-placement-1\", \"workload\": \"small\", \"machine\": "
    "\"k40x2\",\n"
    " \"step_time_s\": null,\n"
    " \"devices\": {\"gpu:7\": [\"x\", \"a\", \"b\", \"c\"]}}\n";

static const char missing_op_placement[] =
    "{\"format\": \"emplace-placement-1\", \"workload\": \"small\", \"machine\": "
    "\"k40x2\",\n"
    " \"step_time_s\": null, \"devices\": {\"cpu:0\": [\"x\", \"a\", \"b\"]}}\n";

/* A chain of three layers for two GPUs and a CPU; times in milliseconds. */
static const char instance[] =
    "{\"maxFPGAs\": 2, \"maxCPUs\": 1, \"maxSizePerFPGA\": 25,"
    " \"nodes\": ["
    "{\"id\": 1, \"supportedOnFpga\": 1, \"cpuLatency\": 90, \"fpgaLatency\": 9,"
    " \"isBackwardNode\": 0, \"size\": 10},"
    "{\"id\": 2, \"supportedOnFpga\": 1, \"cpuLatency\": 50, \"fpgaLatency\": 5,"
    " \"isBackwardNode\": 0, \"size\": 10},"
    "{\"id\": 3, \"supportedOnFpga\": 1, \"cpuLatency\": 60, \"fpgaLatency\": 6,"
    " \"isBackwardNode\": 0, \"size\": 10}],"
    " \"edges\": [{\"sourceId\": 1, \"destId\": 2, \"cost\": 3},"
    " {\"sourceId\": 2, \"destId\": 3, \"cost\": 1}]}";

/* Of the instance; and for more GPUs than it has. */
static const char expert_split[] =
    "{\"cpus\": [], \"fpgas\": [{\"nodes\": [1]}, {\"nodes\": [2, 3]}]}";
static const char crowded_split[] =
    "{\"cpus\": [],"
    " \"fpgas\": [{\"nodes\": [1]}, {\"nodes\": [2]}, {\"nodes\": [3]}]}";

static char  folder[PATH], program[PATH];
static char *out, *err; /* of the last run */

/* Adds a key that no machine has to a copy of a machine that comes with the program. */
static void write_bad_machine(void)
{
    char  path[PATH], text[8192];
    FILE *file;

    snprintf(path, sizeof path, "%s/data/machines/k40x2.yaml", getenv("EMP_SOURCE_DIR"));
    file = fopen(path, "r");
    cr_assert_not_null(file, "%s", path);
    size_t size = fread(text, 1, sizeof text - 100, file);
    fclose(file);
    size += (size_t)snprintf(text + size, 100, "\ncolour: \"red\"\n");
    scratch_write("bad.yaml", text, size);
}

static void set_up(void)
{
    /* A node of 32 bytes in a file of 5; a node that claims to be as long as all memory.
     */
    static const char truncated[] = "\x0a\x20\x0a\x01x";
    static const char hostile[] = "\x0a\xff\xff\xff\xff\xff\xff\xff\xff\x7f\x0a\x01x";

    scratch_create();
    snprintf(folder, sizeof folder, "%s", scratch_path(""));
    snprintf(program, sizeof program, "%s/cli/emplace", getenv("EMP_BINARY_DIR"));
    scratch_write("small.pbtxt", small_graph, sizeof small_graph - 1);
    scratch_write("cycle.pbtxt", cyclic_graph, sizeof cyclic_graph - 1);
    scratch_write("unknown.pbtxt", unknown_type_graph, sizeof unknown_type_graph - 1);
    scratch_write("pointer.pb", lfs_pointer, sizeof lfs_pointer - 1);
    scratch_write("truncated.pb", truncated, sizeof truncated - 1);
    scratch_write("hostile.pb", hostile, sizeof hostile - 1);
    scratch_write("empty.pb", "", 0);
    scratch_write("unknown_op.json", unknown_op_placement,
                  sizeof unknown_op_placement - 1);
    scratch_write("missing_device.json", missing_device_placement,
                  sizeof missing_device_placement - 1);
    scratch_write("missing_op.json", missing_op_placement,
                  sizeof missing_op_placement - 1);
    scratch_write("instance.json", instance, sizeof instance - 1);
    scratch_write("expert.json", expert_split, sizeof expert_split - 1);
    scratch_write("crowded.json", crowded_split, sizeof crowded_split - 1);
    scratch_write("broken.json", "{\"format\": ", 11);
    write_bad_machine();
}

static void tear_down(void)
{
    program_forget();
    scratch_remove();
}

TestSuite(cli, .init = set_up, .fini = tear_down);

/* Runs "emplace ARGUMENTS"; its exit status. Fills out and err. */
static int run(const char *arguments)
{
    int status = program_run("cli/emplace", arguments);

    out = program_out;
    err = program_err;
    return status;
}

/* The same, with SIGTERM on the way. */
static int interrupt(const char *arguments)
{
    int status = program_interrupt("cli/emplace", arguments);

    out = program_out;
    err = program_err;
    return status;
}

static json_t *run_json(const char *arguments)
{
    json_error_t where;

    cr_assert_eq(run(arguments), 0, "%s: %s", arguments, err);
    json_t *object = json_loads(out, 0, &where);
    cr_assert_not_null(object, "%s: %s\n%s", arguments, where.text, out);
    return object;
}

/* ---- errors ---- */

struct error_case {
    char arguments[160];
    int  status;
    char mentions[64];
};

/* clang-format off */
static struct error_case error_cases[] = {
    /* bad usage */
    {"",                                                                    2, "--help"},
    {"frobnicate",                                                          2, "frobnicate"},
    {"graph",                                                               2, "SPEC"},
    {"graph small.pbtxt second.pbtxt",                                      2, "second.pbtxt"},
    {"graph small.pbtxt --colour",                                          2, "colour"},
    {"place rnnlm --method gpu",                                            2, "--machine"},
    {"place small.pbtxt --method gpu",                                      1, "states no machine of its own"},
    {"place small.pbtxt --machine instance --method gpu",                   1, "states no machine of its own"},
    {"bound rnnlm",                                                         2, "--machine"},
    {"bound instance.json --objective max-load --runtime ideal",            2, "msr-load"},
    {"place instance.json --method gpu --objective speed",                  2, "\"speed\""},
    {"place instance.json --method gpu --objective max-load --runtime ideal", 2, "msr-load"},
    {"place instance.json --method gpu --machine k41",                      1, "k41"},
    {"place instance.json --method dp-contiguous --options order=two",      1, "any|one|either"},
    {"simulate instance.json --placement crowded.json",                     1, "\"fpgas\" has 3 entries"},
    {"place small.pbtxt --machine k40x2",                                   2, "--method"},
    {"place --machine k40x2 --method gpu",                                  2, "SPEC"},
    {"place small.pbtxt --machine",                                         2, "machine"},
    {"place small.pbtxt --machine k40x2 --method gpu --budget many",        2, "\"many\""},
    {"place small.pbtxt --machine k40x2 --method gpu --budget 0",           2, "\"0\""},
    {"place small.pbtxt --machine k40x2 --method gpu --seconds -1",         2, "\"-1\""},
    {"place small.pbtxt --machine k40x2 --method gpu --threads 0",          2, "\"0\""},
    {"train small.pbtxt --machine k40x2",                                   2, "--record"},
    {"train small.pbtxt --record run.h5",                                   1, "--machine"},
    {"train small.pbtxt --machine k40x2 --record r.h5 --checkpoint-every 0", 2, "\"0\""},
    {"simulate small.pbtxt --machine k40x2",                                2, "--placement"},
    {"simulate small.pbtxt --machine k40x2 --placement gpu --dot-depth 2",  2, "--dot FILE"},
    {"simulate small.pbtxt --machine k40x2 --placement gpu --dot g --dot-depth 0", 2, "\"0\""},
    {"record",                                                              2, "FILE"},
    {"table",                                                               2, "table 1"},
    {"table 3",                                                             2, "\"3\""},
    {"table 1 --budget 0",                                                  2, "\"0\""},
    {"ablate",                                                              2, "grouping"},
    {"ablate seeds",                                                        2, "\"seeds\""},
    {"ablate grouping --format md",                                         2, "\"md\""},
    {"ablate grouping --budget 0",                                          2, "\"0\""},
    {"table 1 --format latex",                                              2, "latex"},
    {"table 1 --seeds 0",                                                   2, "\"0\""},
    {"bench",                                                               2, "--help"},
    {"bench nothing",                                                       2, "\"nothing\""},
    {"bench surrogate",                                                     2, "SPEC"},
    {"bench placers rnnlm",                                                 2, "\"rnnlm\""},
    {"bench placers --budgets 100,0",                                       2, "\"0\""},
    {"bench placers --budgets ''",                                          2, "100,1000"},
    {"bench placers --seconds ten",                                         2, "\"ten\""},
    {"bench placers --budgets 1,2,3,4,5,6,7,8,9",                           2, "8 budgets"},
    {"bench placers --format md",                                           2, "\"md\""},
    {"bench anomalies",                                                     2, "SPEC"},
    {"bench anomalies small.pbtxt",                                         2, "--machine"},
    {"bench anomalies small.pbtxt rnnlm",                                   2, "\"rnnlm\""},
    {"bench anomalies small.pbtxt --machine k40x2 --samples 0",             2, "\"0\""},
    {"bench surrogate small.pbtxt",                                         2, "--machine"},
    {"bench surrogate small.pbtxt --machine k40x2 --samples 1",             2, "\"1\""},
    {"machines extra",                                                      2, "extra"},
    {"bench oracle --sizes 5x",                                             2, "5x"},
    {"bench oracle --sizes 1",                                              2, "\"1\""},
    {"bench oracle --placements cpu",                                       2, "cpu"},
    {"bench oracle --profiles tf9",                                         2, "tf9"},
    {"bench oracle --peers matlab",                                         2, "matlab"},
    {"bench policy --networks embedder",                                        2, "embedder"},
    {"bench policy --hidden 5x",                                                2, "5x"},
    {"bench policy --samples 65",                                               2, "65"},
    {"bench policy --threads \"\"",                                             2, "list"},
    {"bench policy --peers matlab",                                             2, "matlab"},
    {"bench oracle --repeats 0",                                            2, "\"0\""},
    /* bad input */
    {"graph nowhere.pb",                                                    1, "nowhere.pb"},
    {"graph .",                                                             1, "."},
    {"graph empty.pb",                                                      1, "empty.pb"},
    {"graph truncated.pb",                                                  1, "truncated.pb"},
    {"graph hostile.pb",                                                    1, "hostile.pb"},
    {"graph pointer.pb",                                                    1, "LFS"},
    {"graph cycle.pbtxt",                                                   1, "cycle"},
    {"graph nmt:layers=0",                                                  1, "layers"},
    {"graph nmt:colour=3",                                                  1, "colour"},
    {"simulate small.pbtxt --machine k40x2 --placement gpu --dot g --trace g", 1, "two outputs"},
    {"simulate small.pbtxt --machine k40x2 --placement gpu --dot g --trace ././g", 1, "two outputs"},
    {"place small.pbtxt --machine k40x2 --method gpu --out x --record ./x", 1, "two outputs"},
    {"train small.pbtxt --machine k40x2 --record r.h5 --out ./r.checkpoint.h5", 1, "two outputs"},
    {"simulate small.pbtxt --machine k41 --placement gpu",                  1, "k41"},
    {"simulate small.pbtxt --machine ./bad.yaml --placement gpu",           1, "colour"},
    {"simulate small.pbtxt --machine k40x2 --placement gpu --runtime tf9",  1, "tf9"},
    {"simulate small.pbtxt --machine k40x2 --placement gpu --runtime tf9",  1, "msr-load"},
    {"simulate small.pbtxt --machine k40x2 --placement gpu --runtime placeto --why", 1, "placeto"},
    {"simulate small.pbtxt --machine k40x2 --placement nonesuch",           1, "nonesuch"},
    {"simulate small.pbtxt --machine k40x2 --placement broken.json",        1, "broken.json"},
    {"simulate small.pbtxt --machine k40x2 --placement broken.json -b 5",   1, "--budget"},
    {"simulate small.pbtxt --machine k40x2 --placement unknown_op.json",    1, "nonesuch"},
    {"simulate small.pbtxt --machine k40x2 --placement missing_device.json", 1, "gpu:7"},
    {"simulate small.pbtxt --machine k40x2 --placement missing_op.json", 1, "'c'"},
    {"simulate small.pbtxt --machine k40x2 --placement gpu --trace no/t.json", 1, "no/t.json"},
    {"simulate small.pbtxt --machine k40x2 --placement gpu --dot no/g.dot", 1, "no/g.dot"},
    {"place small.pbtxt --machine k40x2 --method nonesuch",                 1, "nonesuch"},
    {"place small.pbtxt --machine k40x2 --method gpu --out no/such/p.json", 1, "no/such/p.json"},
    {"place small.pbtxt --machine k40x2 --method hdp --preset nonesuch",    1, "nonesuch"},
    {"place small.pbtxt --machine k40x2 --method random --options x=1",     1, "x"},
    {"train small.pbtxt --machine k40x2 --record r.h5 --method scotch",     1, "scotch"},
    {"train small.pbtxt --machine k40x2 --record r.h5 --method random",     1, "no state to go on from"},
    {"train small.pbtxt --machine k40x2 --record no/such/r.h5",             1, "no/such/r.h5"},
    {"train small.pbtxt --machine k40x2 --record r.h5 --resume",            1, "r.checkpoint.h5"},
    {"record small.pbtxt",                                                  1, "small.pbtxt"},
    {"record nowhere.h5",                                                   1, "nowhere.h5"},
    {"bench policy --csv no/such/p.csv",                                        1, "no/such/p.csv"},
    {"bench oracle --csv no/such/o.csv",                                    1, "no/such/o.csv"},
    {"bench surrogate small.pbtxt --machine k41",                           1, "k41"},
    {"bench placers --workloads nmt3",                                      1, "nmt2, nmt4"},
    {"bench placers --methods hdp-paper",                                   1, "hdp-emplace"},
    {"bench placers --curves nowhere/curves.csv",                           1, "nowhere"},
    {"bench placers --workloads rnnlm --figure x.svg --figure-row nmt4",    1, "nmt4"},
    {"bench anomalies small.pbtxt --machine k41",                           1, "k41"},
    {"bench anomalies small.pbtxt --machine k40x2 --runtime none",          1, "none"},
    {"bench surrogate small.pbtxt --machine k40x2 --runtime baechi",        1, "baechi"},
    {"table 2 --methods metis",                                             1, "metis"},
    {"ablate grouping --rows nmt3",                                         1, "nmt3"},
    {"ablate grouping --arms groups=5",                                     1, "groups=5"},
    {"table 1 --rows nmt3",                                                 1, "nmt3"},
    {"calibrate",                                                           2, "calibrate fit"},
    {"calibrate fit --on all",                                              2, "--machine"},
    {"calibrate fit --machine k40",                                         2, "--on"},
    {"calibrate fit --machine k40 --on all --out k40.yaml",                 2, "k40.yaml"},
    {"calibrate fit --machine k40 --on rnnlm:cpus",                         1, "rnnlm:cpus"},
    {"calibrate fit --machine k40 --on all --runtime placeto",              1, "placeto"},
    {"calibrate fit --machine k41 --on all",                                1, "k41x1"},
    {"calibrate fit --machine k40 --on nmt2:gpu",                           1, "step time"},
    {"calibrate fit --machine k40 --on all --out no/such",                  1, "no/such"},
    {"table 1 --methods tabu",                                              1, "tabu"},
};
/* clang-format on */

ParameterizedTestParameters(cli, error)
{
    return cr_make_param_array(struct error_case, error_cases,
                               sizeof error_cases / sizeof error_cases[0]);
}

ParameterizedTest(struct error_case *c, cli, error)
{
    cr_expect_eq(run(c->arguments), c->status, "emplace %s: %s", c->arguments, err);
    cr_expect(program_is_one_sentence(err, "emplace"), "emplace %s: %s", c->arguments,
              err);
    cr_expect_not_null(strstr(err, c->mentions), "emplace %s: %s", c->arguments, err);
    cr_expect_str_empty(out, "emplace %s", c->arguments);
}

Test(cli, unknown_op_types_are_counted_in_one_warning)
{
    cr_expect_eq(run("simulate unknown.pbtxt --machine k40x2 --placement gpu"), 0, "%s",
                 err);
    char *newline = strchr(err, '\n');
    cr_assert_not_null(newline);
    cr_expect_not_null(strstr(err, "2 of 3 ops are of 1 unknown types"), "%s", err);
}

/* ---- help ---- */

Test(cli, every_command_has_help_with_examples)
{
    static const char *const commands[] = {
        "table",         "ablate",       "place",           "train",
        "simulate",      "graph",        "record",          "calibrate",
        "workloads",     "machines",     "methods",         "bench",
        "bench oracle",  "bench policy", "bench surrogate", "bench anomalies",
        "bench placers", "bound"};
    char arguments[64];

    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        snprintf(arguments, sizeof arguments, "%s --help", commands[i]);
        cr_expect_eq(run(arguments), 0, "%s", arguments);
        cr_expect_str_empty(err, "%s", arguments);
        cr_expect_not_null(strstr(out, "Usage: emplace "), "%s", arguments);
        cr_expect_not_null(strstr(out, "\n  emplace "), "%s has no example", arguments);
    }
    cr_expect_eq(run("--help"), 0);
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        if (strchr(commands[i], ' ') != NULL) continue; /* a topic of one */
        cr_expect_not_null(strstr(out, commands[i]), "%s is not listed", commands[i]);
    }
}

Test(cli, output_that_cannot_be_written_is_one_error)
{
    static const char *const arguments[] = {"--help", "place --help", "machines",
                                            "graph small.pbtxt --json",
                                            "graph nmt:layers=2 --json"};
    char                     command[128];

    for (size_t i = 0; i < sizeof arguments / sizeof *arguments; i++) {
        snprintf(command, sizeof command, "%s >/dev/full 2>told; exit $?", arguments[i]);
        cr_expect_eq(run(command), 1, "%s", command);
        char *told = scratch_read("told", NULL);
        cr_expect(program_is_one_sentence(told, "emplace"), "%s: %s", command, told);
        free(told);
    }
}

Test(cli, version_names_the_libraries)
{
    cr_expect_eq(run("--version --verbose"), 0);
    cr_expect_eq(strncmp(out, "emplace ", 8), 0);
    cr_expect_not_null(strstr(out, "HDF5"));
    cr_expect_not_null(strstr(out, "OpenBLAS core"));
}

/* ---- lists ---- */

Test(cli, lists_name_what_there_is)
{
    static const char *const names[3][3] = {{"workloads", "nmt", "inception_v3"},
                                            {"machines", "k40x1", "k40x8"},
                                            {"methods", "scotch", "hdp"}};
    char                     arguments[64];

    for (int i = 0; i < 3; i++) {
        snprintf(arguments, sizeof arguments, "%s --json", names[i][0]);
        json_t *object = run_json(arguments);
        cr_expect_not_null(json_object_get(object, names[i][1]), "%s", arguments);
        cr_expect_not_null(json_object_get(object, names[i][2]), "%s", arguments);
        json_decref(object);
        cr_expect_eq(run(names[i][0]), 0);
        cr_expect_not_null(strstr(out, names[i][1]));
    }
}

static void expect_default(json_t *methods, const char *method, const char *option,
                           const char *value)
{
    json_t *options = json_object_get(json_object_get(methods, method), "options");
    json_t *found = json_object_get(json_object_get(options, option), "default");

    cr_expect_str_eq(json_string_value(found), value, "%s %s", method, option);
}

/* Of an option the values of both presets, or one if they agree. */
Test(cli, methods_show_the_values_of_presets)
{
    json_t *methods = run_json("methods --json");

    expect_default(methods, "hdp", "groups", "256/12");
    expect_default(methods, "hdp", "lr", "0.1/0.003");
    expect_default(methods, "hdp", "hidden", "256");
    expect_default(methods, "hdp", "grouping", "learned/scotch");
    expect_default(methods, "hdp", "order", "position");
    expect_default(methods, "colocrl", "hidden", "256");
    json_decref(methods);
    cr_assert_eq(run("methods"), 0);
    cr_expect_not_null(strstr(out, "  presets: paper, emplace; options have the first "
                                   "one's value / the second's\n"));
    cr_expect_not_null(strstr(out, "  presets: paper\n"), "one preset, one value");
    cr_expect_not_null(
        strstr(out, "  groups                      256/12  groups that ops"));
    cr_expect_not_null(
        strstr(out, "  hidden                         256  cells of each"));
}

/* ---- calibrate ---- */

Test(cli, calibrate_writes_what_the_cells_determine)
{
    json_t *object = run_json("calibrate fit --machine k40 --on inception_v3:cpu --json "
                              "--out .");
    json_t *constants = json_object_get(object, "constants");
    json_t *cell = json_array_get(json_object_get(object, "cells"), 0);
    size_t  i, fitted = 0;
    json_t *constant;

    json_array_foreach(constants, i, constant)
    {
        fitted += json_is_true(json_object_get(constant, "fitted"));
    }
    cr_expect_eq(fitted, 1); /* the rate of convolutions on a core */
    cr_expect_str_eq(json_string_value(json_object_get(cell, "cell")),
                     "inception_v3:cpu");
    double off = json_number_value(json_object_get(cell, "off"));
    cr_expect(off > -1e-2 && off < 1e-2, "%g", off);
    json_decref(object);
    free(scratch_read("machines/models/haswell-18.yaml", NULL));
}

/* ---- graph ---- */

Test(cli, graph_counts_whole_and_step)
{
    json_t *object = run_json("graph small.pbtxt --json");
    json_t *whole = json_object_get(object, "whole"),
           *step = json_object_get(object, "step");

    cr_expect_eq(json_integer_value(json_object_get(whole, "op_count")), 4);
    cr_expect_eq(json_integer_value(json_object_get(whole, "edge_count")), 4);
    cr_expect_eq(json_integer_value(json_object_get(step, "control_edge_count")), 0);
    cr_expect_eq(
        json_integer_value(json_object_get(json_object_get(step, "op_types"), "Relu")),
        1);
    cr_expect(json_number_value(json_object_get(object, "flops")) > 0);
    cr_expect_eq(json_integer_value(json_object_get(object, "parameter_count")), 0);
    cr_expect_eq(json_integer_value(json_object_get(object, "parameter_bytes")), 0);
    cr_expect_eq(json_object_size(json_object_get(object, "unknown_op_types")), 0);
    json_decref(object);
}

Test(cli, graph_counts_unknown_types)
{
    json_t *object = run_json("graph unknown.pbtxt --json");
    json_t *unknown = json_object_get(object, "unknown_op_types");

    cr_expect_eq(json_integer_value(json_object_get(unknown, "Frobnicate")), 2);
    json_decref(object);
}

/* ---- simulate and place ---- */

static void expect_keys(const json_t *object, const char *const *keys, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        cr_expect_not_null(json_object_get(object, keys[i]), "no key %s", keys[i]);
    }
}

Test(cli, bench_policy_has_the_promised_keys)
{
    static const char *const keys[] = {"groups", "ops",      "openblas_core",
                                       "commit", "modified", "torch_is_absent",
                                       "rows"};
    static const char *const row_keys[] = {
        "network", "hidden", "samples",      "threads", "rounds",      "ours_s",
        "torch_s", "ratio",  "stream_bytes", "limit_s", "disagreement"};
    json_t *object = run_json("bench policy --hidden 8 --samples 2 --groups 5 --ops 99 "
                              "--threads 1 --peers none -n 2 --json");

    expect_keys(object, keys, sizeof keys / sizeof *keys);
    const json_t *rows = json_object_get(object, "rows");
    cr_expect_eq(json_array_size(rows), 2);
    expect_keys(json_array_get(rows, 1), row_keys, sizeof row_keys / sizeof *row_keys);
    json_decref(object);
}

Test(cli, bench_surrogate_has_the_promised_keys)
{
    static const char *const keys[] = {"spec",   "machine", "runtime", "op_count",
                                       "kernel", "samples", "seed",    "rows"};
    static const char *const row_keys[] = {"placements",        "surrogate_ns_per_op",
                                           "exact_ns_per_op",   "ratio",
                                           "topological_order", "order_of_exact_runs"};
    static const char *const agreement_keys[] = {"spearman", "kendall",
                                                 "mean_relative_error"};
    json_t *object = run_json("bench surrogate small.pbtxt --machine k40x2 --json");
    json_t *row = json_array_get(json_object_get(object, "rows"), 1);

    expect_keys(object, keys, sizeof keys / sizeof *keys);
    expect_keys(row, row_keys, sizeof row_keys / sizeof *row_keys);
    expect_keys(json_object_get(row, "order_of_exact_runs"), agreement_keys, 3);
    json_decref(object);
    object = run_json("bench surrogate small.pbtxt -m k40x2 --scalar -n 5 --json");
    cr_expect_str_eq(json_string_value(json_object_get(object, "kernel")), "scalar");
    cr_expect_eq(json_integer_value(json_object_get(object, "samples")), 5);
    json_decref(object);
    cr_expect_eq(run("bench surrogate small.pbtxt -m k40x2"), 0, "%s", err);
    cr_expect_not_null(strstr(out, "Spearman"));
}

Test(cli, bench_placers_compares_and_writes_its_files)
{
    cr_expect_eq(run("bench placers --workloads rnnlm --methods cpu,expert --budgets 5 "
                     "--draws 1 --curves c.csv --sensitivity s.csv --format csv"),
                 0, "%s", err);
    cr_expect_not_null(
        strstr(out, "\nrnnlm,\"rnnlm\",k40x2,tf-r1.3,5,,expert,expert,,1,"), "%s", out);
    if (system("command -v gnuplot >/dev/null") == 0) /* of the only row */
        cr_expect_eq(
            run("bench placers --workloads rnnlm --methods cpu,expert --budgets 5 "
                "--draws 0 --figure rnnlm.svg"),
            0, "%s", err);
    char *curves = scratch_read("c.csv", NULL), *changes = scratch_read("s.csv", NULL);
    cr_expect_not_null(strstr(curves, ",expert,expert,,5,"), "%s", curves);
    cr_expect_not_null(strstr(changes, ",noise,1,1,1,"), "%s", changes);
    free(curves);
    free(changes);
}

Test(cli, bench_anomalies_has_the_promised_keys)
{
    static const char *const keys[] = {"spec",    "machine", "runtime",
                                       "samples", "seed",    "families"};
    static const char *const row_keys[] = {
        "shortened",     "cases",        "longer",       "shorter",
        "median_growth", "worst_growth", "median_change"};
    json_t *object = run_json("bench anomalies small.pbtxt -m k40x2 -n 3 --json");
    json_t *family = json_array_get(json_object_get(object, "families"), 1);
    json_t *row = json_array_get(json_object_get(family, "rows"), 0);

    expect_keys(object, keys, sizeof keys / sizeof *keys);
    cr_expect_str_eq(json_string_value(json_object_get(family, "placements")), "expert");
    cr_expect_eq(json_array_size(json_object_get(family, "rows")), 7);
    expect_keys(row, row_keys, sizeof row_keys / sizeof *row_keys);
    cr_expect_eq(json_integer_value(json_object_get(row, "cases")), 3);
    json_decref(object);
    object = run_json("bench anomalies small.pbtxt -m k40x2 -r ideal -n 1 --json");
    family = json_array_get(json_object_get(object, "families"), 0);
    row = json_array_get(json_object_get(family, "rows"), 5);
    cr_expect_str_eq(json_string_value(json_object_get(row, "shortened")), "poll");
    cr_expect_eq(json_integer_value(json_object_get(row, "cases")), 0);
    cr_expect(json_is_null(json_object_get(row, "median_change")));
    json_decref(object);
    cr_expect_eq(run("bench anomalies small.pbtxt -m k40x2 -r ideal -n 2"), 0, "%s", err);
    cr_expect_not_null(strstr(out, "no such cost"), "%s", out);
}

/* The sum of all numbers, or of member \a key of all objects, in an object. */
static json_int_t sum_of(const json_t *object, const char *key)
{
    void      *at = json_object_iter(json_object_get(object, key));
    json_int_t sum = 0;

    for (; at != NULL; at = json_object_iter_next(json_object_get(object, key), at)) {
        const json_t *value = json_object_iter_value(at);
        sum += json_integer_value(
            json_is_object(value) ? json_object_get(value, "time_ns") : value);
    }
    return sum;
}

Test(cli, simulate_explains_itself_and_adds_up)
{
    json_t *object =
        run_json("simulate small.pbtxt --machine k40x2 --placement random --why --json");
    const json_t *why = json_object_get(object, "why"), *device;
    json_int_t    step = json_integer_value(json_object_get(why, "step_time_ns"));
    const char   *name;

    cr_expect_float_eq((double)step * 1e-9,
                       json_number_value(json_object_get(object, "step_time_s")), 1e-12);
    const json_t *path = json_object_get(why, "critical_path");
    cr_expect_eq(sum_of(path, "causes"), step);
    cr_expect(json_array_size(json_object_get(path, "worst")) > 0);
    json_object_foreach(json_object_get(why, "devices"), name, device)
    {
        cr_expect_eq(json_integer_value(json_object_get(device, "busy_ns")) +
                         sum_of(device, "idle_ns"),
                     step, "%s", name);
    }
    json_decref(object);
    cr_expect_eq(run("simulate small.pbtxt --machine k40x2 --placement gpu --why"), 0);
    cr_expect_not_null(strstr(out, "critical path\n"), "%s", out);
    cr_expect_not_null(strstr(out, "fixed cost of the step"), "%s", out);
    cr_expect_not_null(strstr(out, "gpu:0 at its peak of"), "%s", out);
}

Test(cli, verdicts_name_what_fills_the_memory)
{
    cr_expect_eq(run("place nmt:layers=8 --machine k40x1 --method gpu"), 0, "%s", err);
    cr_expect_not_null(strstr(out, " asks for "), "%s", out);
    cr_expect_not_null(strstr(out, " on gpu:0, which has "), "%s", out);
    cr_expect_not_null(strstr(out, " persistent  emb_src (VariableV2)"), "%s", out);
    cr_expect_not_null(strstr(out, " more\n"), "%s", out);
}

Test(cli, simulate_draws_the_placed_graph)
{
    cr_expect_eq(run("simulate small.pbtxt --machine k40x2 --placement gpu --dot g.dot"),
                 0, "%s", err);
    cr_expect_str_empty(err);
    char *text = scratch_read("g.dot", NULL);
    cr_assert_not_null(text);
    cr_expect_eq(strncmp(text, "digraph ", 8), 0, "%s", text);
    cr_expect_not_null(strstr(text, "\"(top)\\n4 ops\""), "%s", text);
    free(text);
}

Test(cli, simulate_has_the_promised_keys)
{
    static const char *const keys[] = {"step_time_s",   "feasible", "oom",
                                       "peak_bytes",    "busy_s",   "traffic_bytes",
                                       "fingerprint",   "op_count", "edge_count",
                                       "lower_bound_s", "gap_frac", "objective"};
    json_t                  *object =
        run_json("simulate small.pbtxt --machine k40x2 --placement gpu --json");
    json_t *unbound = run_json("simulate small.pbtxt --machine k40x2 --placement gpu "
                               "--no-bound --json");

    expect_keys(object, keys, sizeof keys / sizeof *keys);
    cr_expect(json_number_value(json_object_get(object, "step_time_s")) > 0);
    cr_expect(json_is_true(json_object_get(object, "feasible")));
    cr_expect(json_is_null(json_object_get(object, "oom")));
    cr_expect_eq(json_object_size(json_object_get(object, "busy_s")), 3);
    cr_expect_eq(json_integer_value(json_object_get(object, "op_count")), 4);
    cr_expect(json_number_value(json_object_get(object, "lower_bound_s")) > 0);
    cr_expect(json_is_null(json_object_get(unbound, "lower_bound_s")));
    json_decref(unbound);
    json_decref(object);
}

Test(cli, bound_has_every_bound_and_the_highest)
{
    static const char *const keys[] = {"path_s",    "joined_s",      "drained_s",
                                       "area_s",    "class_s",       "window_s",
                                       "refuted_s", "lower_bound_s", "infeasible"};
    json_t     *object = run_json("bound small.pbtxt --machine k40x2 --json");
    json_t     *more = run_json("bound small.pbtxt --machine k40x2 --effort 2 --json");
    json_t     *simulated = run_json("simulate small.pbtxt --machine k40x2 "
                                         "--placement gpu --json");
    const char *key;
    json_t     *value;

    expect_keys(object, keys, sizeof keys / sizeof *keys);
    double bound = json_number_value(json_object_get(object, "lower_bound_s"));
    double step = json_number_value(json_object_get(simulated, "step_time_s"));
    json_object_foreach(object, key, value)
        cr_expect_leq(json_number_value(value), bound, "%s", key);
    cr_expect_eq(json_number_value(json_object_get(simulated, "lower_bound_s")), bound);
    cr_expect_float_eq(json_number_value(json_object_get(simulated, "gap_frac")),
                       step / bound - 1.0, 1e-9);
    cr_expect_gt(bound, 0.0);
    cr_expect_leq(bound, step);
    cr_expect_geq(json_number_value(json_object_get(more, "lower_bound_s")), bound);
    json_decref(more);
    json_decref(object);
    json_decref(simulated);
}

Test(cli, out_of_memory_is_a_result)
{
    json_t *object =
        run_json("simulate nmt:layers=8 --machine k40x1 --placement gpu --json");
    json_t *oom = json_object_get(object, "oom");

    cr_expect(json_is_false(json_object_get(object, "feasible")));
    cr_expect_str_eq(json_string_value(json_object_get(oom, "device")), "gpu:0");
    cr_expect(json_integer_value(json_object_get(oom, "bytes")) > 0);
    cr_expect_eq(json_array_size(json_object_get(oom, "largest")), 10);
    cr_expect_leq(json_integer_value(json_object_get(oom, "in_use_bytes")),
                  json_integer_value(json_object_get(oom, "capacity_bytes")));
    cr_expect(json_number_value(json_object_get(object, "step_time_s")) > 0);
    json_decref(object);
}

Test(cli, record_gives_what_place_said)
{
    json_t *placed =
        run_json("place small.pbtxt --machine k40x2 --method random --budget "
                 "20 --seed 3 --record run.h5 --json");
    json_t *simulated =
        run_json("simulate small.pbtxt --machine k40x2 --placement run.h5 --json");

    cr_expect_str_eq(json_string_value(json_object_get(placed, "fingerprint")),
                     json_string_value(json_object_get(simulated, "fingerprint")));
    json_decref(placed);
    json_decref(simulated);
    cr_expect_eq(
        run("simulate rnnlm:layers=1,steps=2 --machine k40x2 --placement run.h5"), 1);
    cr_expect_not_null(strstr(err, "whose graph is not that of rnnlm"), "%s", err);
}

Test(cli, placement_file_gives_what_place_said)
{
    json_t *placed =
        run_json("place small.pbtxt --machine k40x2 --method random --budget 20 "
                 "--seed 3 --out best.json --json");
    json_t *simulated =
        run_json("simulate small.pbtxt --machine k40x2 --placement best.json --json");

    cr_expect_eq(json_integer_value(json_object_get(placed, "evaluations")), 20);
    cr_expect_eq(json_number_value(json_object_get(placed, "step_time_s")),
                 json_number_value(json_object_get(simulated, "step_time_s")));
    cr_expect_str_eq(json_string_value(json_object_get(placed, "fingerprint")),
                     json_string_value(json_object_get(simulated, "fingerprint")));
    json_decref(placed);
    json_decref(simulated);
}

static double step_ms(const char *arguments)
{
    json_t *object = run_json(arguments);
    double  ms = 1e3 * json_number_value(json_object_get(object, "step_time_s"));

    cr_expect(json_is_true(json_object_get(object, "feasible")), "%s", arguments);
    json_decref(object);
    return ms;
}

/* Cut behind layer 1: 9 + 3 and 3 + 5 + 6; behind layer 2: 9 + 5 + 1 and 1 + 6. One sample goes
 * through both: 12 + 14. All three layers do not fit on one GPU, and on the CPU take 200. */
Test(cli, instances_bring_their_machine_and_costs)
{
    cr_expect_float_eq(step_ms("simulate instance.json --placement expert.json --json "
                               "--objective max-load"),
                       14.0, 1e-9);
    cr_expect_float_eq(step_ms("simulate instance.json --placement expert.json --json"),
                       26.0, 1e-9);
    cr_expect_float_eq(step_ms("place instance.json --method dp-contiguous --json "
                               "--objective max-load"),
                       14.0, 1e-9);
    cr_expect_float_eq(step_ms("place instance.json --method dp-contiguous --json "
                               "--machine instance --runtime msr-load"),
                       14.0, 1e-9);
    cr_expect_float_eq(step_ms("place instance.json --method local --budget 50 --json "
                               "--options start=split --objective max-load"),
                       14.0, 1e-9);
    cr_expect_float_eq(step_ms("place instance.json --method cpu --json"), 200.0, 1e-9);
    cr_expect_float_eq(step_ms("place instance.json --method gpu --json --machine k40x2 "
                               "--runtime ideal"),
                       20.0, 1e-9, "another machine, the same costs");
    cr_expect_eq(
        run("simulate instance.json --placement expert.json --objective max-load"), 0);
    cr_expect_not_null(strstr(out, "gpu:0        busy  85.7 %"), "12 of 14: %s", out);
    cr_expect_not_null(strstr(out, "gpu:1        busy 100.0 %"), "%s", out);
    cr_expect_eq(run("bound instance.json --objective max-load"), 0, "%s", err);
    cr_expect_not_null(strstr(out, "runtime msr-load"), "%s", out);
    cr_expect_eq(run("simulate instance.json --placement gpu --objective max-load"), 0);
    cr_expect_not_null(strstr(out, "max load     20 ms if memory sufficed"), "%s", out);
    cr_expect_eq(run("replay gpu --workload instance.json --machine cpu2"), 1);
    cr_expect_not_null(strstr(err, "no work to replay"), "%s", err);
}

Test(cli, records_of_instances_find_their_machine_again)
{
    cr_assert_eq(run("place instance.json --method random --budget 20 --record run.h5 "
                     "--objective max-load"),
                 0, "%s", err);
    cr_expect_eq(run("report run.h5 --out page.html"), 0, "%s", err);
    cr_expect_eq(run("simulate instance.json --placement run.h5 --objective max-load"), 0,
                 "%s", err);
}

#define PLACE "place small.pbtxt --machine k40x2 --method random --budget 20 "

/* A name as long as names may be leaves no room for that of the temporary file. */
Test(cli, an_output_that_fails_does_not_take_the_other_with_it)
{
    char name[NAME_MAX + 1] = "", command[NAME_MAX + 200];

    memset(name, 'x', NAME_MAX);
    snprintf(command, sizeof command, PLACE "--out %s --record run.h5", name);
    cr_expect_eq(run(command), 1);
    cr_expect(program_is_one_sentence(err, "emplace"), "%s", err);
    cr_expect_not_null(strstr(err, "xxx"), "%s", err);
    cr_expect_not_null(strstr(out, "20 evaluations"), "what was found is told: %s", out);
    cr_expect_eq(run("simulate small.pbtxt --machine k40x2 --placement run.h5"), 0, "%s",
                 err);
    snprintf(command, sizeof command, PLACE "--out best.json --record %s", name);
    cr_expect_eq(run(command), 1);
    cr_expect_not_null(strstr(err, "xxx"), "%s", err);
    cr_expect_eq(run("simulate small.pbtxt --machine k40x2 --placement best.json"), 0,
                 "%s", err);
}

Test(cli, a_folder_is_refused_as_an_output_before_the_search)
{
    cr_assert_eq(mkdir(scratch_path("taken"), 0777), 0);
    cr_expect_eq(run(PLACE "--out taken"), 1);
    cr_expect_not_null(strstr(err, "it is a directory"), "%s", err);
    cr_expect_str_eq(out, "");
}

Test(cli, trace_is_json)
{
    json_error_t where;

    cr_assert_eq(
        run("simulate small.pbtxt --machine k40x2 --placement gpu --trace t.json"), 0,
        "%s", err);
    json_t *trace = json_load_file(scratch_path("t.json"), 0, &where);
    cr_assert_not_null(trace, "%s", where.text);
    const json_t *events =
        json_is_array(trace) ? trace : json_object_get(trace, "traceEvents");
    cr_expect_gt(json_array_size(events), 4);
    json_decref(trace);
}

Test(cli, every_runtime_profile_simulates_and_traces)
{
    static const char *const names[] = {"ideal",  "tf-r1.3",     "placeto",
                                        "baechi", "msr-latency", "msr-load"};
    char                     arguments[256];

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        json_error_t where;
        snprintf(arguments, sizeof arguments,
                 "simulate small.pbtxt --machine k40x2 --placement random --budget 3 "
                 "--runtime %s --trace t.json --json",
                 names[i]);
        json_t *object = run_json(arguments);
        cr_expect_gt(json_number_value(json_object_get(object, "step_time_s")), 0.0, "%s",
                     names[i]);
        json_decref(object);
        json_t *trace = json_load_file(scratch_path("t.json"), 0, &where);
        cr_expect_not_null(trace, "%s: %s", names[i], where.text);
        json_decref(trace);
    }
}

/* There is no explanation of what fills the memory, but a verdict. */
Test(cli, verdicts_under_other_rules_name_an_op)
{
    cr_expect_eq(run("simulate rnnlm --machine k40x2 --placement gpu --runtime msr-load"),
                 0, "%s", err);
    cr_expect_not_null(strstr(out, "does not fit: "), "%s", out);
}

Test(cli, records_of_all_methods_are_the_same_with_one_and_two_threads)
{
    json_t     *methods = run_json("methods --json");
    const char *name;
    json_t     *unused;
    char        arguments[256], command[4 * PATH];

    json_object_foreach(methods, name, unused)
    {
        for (int threads = 1; threads <= 2; threads++) {
            snprintf(arguments, sizeof arguments,
                     "place small.pbtxt --machine k40x2 --method %s --budget 12 --seed 5 "
                     "--threads %d --record %d.h5",
                     name, threads, threads);
            cr_assert_eq(run(arguments), 0, "%s: %s", arguments, err);
        }
        snprintf(command, sizeof command, "cmp '%s/1.h5' '%s/2.h5'", folder, folder);
        cr_expect_eq(system(command), 0, "%s", name);
    }
    json_decref(methods);
}

Test(cli, train_takes_whatever_can_go_on)
{
    cr_expect_eq(run("train small.pbtxt --machine k40x2 --method anneal --budget 12 "
                     "--record run.h5"),
                 0, "%s", err);
    cr_expect_eq(run("record run.h5"), 0, "%s", err);
    cr_expect_not_null(strstr(out, "by anneal"), "%s", out);
}

Test(cli, record_shows_the_learning_curve)
{
    cr_assert_eq(run("place small.pbtxt --machine k40x2 --method hdp --budget 12 "
                     "--record run.h5"),
                 0, "%s", err);
    json_t *object = run_json("record run.h5 --json");
    json_t *curve = json_object_get(object, "curve");
    json_t *last = json_array_get(curve, json_array_size(curve) - 1);

    cr_expect_eq(json_integer_value(json_object_get(last, "evaluations")), 12);
    cr_expect_eq(json_number_value(json_object_get(last, "best_s")),
                 json_number_value(json_object_get(object, "step_time_s")));
    json_decref(object);
    cr_expect_eq(run("record run.h5"), 0, "%s", err);
    cr_expect_not_null(strstr(out, "small.pbtxt on k40x2"), "%s", out);
}

Test(cli, interrupt_saves_what_was_found)
{
    cr_expect_eq(interrupt("place small.pbtxt --machine k40x2 --method random "
                           "--budget 1000000000 --out best.json"),
                 130);
    cr_expect_not_null(strstr(out, "interrupted"), "%s", out);
    cr_expect_eq(run("simulate small.pbtxt --machine k40x2 --placement best.json"), 0,
                 "%s", err);
}

Test(cli, interrupted_search_says_so_in_json)
{
    cr_expect_eq(interrupt("simulate small.pbtxt --machine k40x2 --placement random "
                           "--budget 1000000000 --json"),
                 130);
    json_t *object = json_loads(out, 0, NULL);
    cr_expect(json_is_true(json_object_get(object, "interrupted")), "%s", out);
    json_decref(object);
    object = run_json("simulate small.pbtxt --machine k40x2 --placement gpu --json");
    cr_expect(json_is_false(json_object_get(object, "interrupted")));
    json_decref(object);
}

/* Every TensorFlow graph at hand is placed, or refused with one sentence. */
Test(cli, graph_files_are_placed_or_refused_with_a_sentence)
{
    static const char *const endings[] = {".pb", ".pb.gz", ".pbtxt"};
    char                     path[PATH], arguments[2 * PATH];
    int                      placed = 0;

    snprintf(path, sizeof path, "%s/../shared/graphs", getenv("EMP_SOURCE_DIR"));
    DIR *graphs = opendir(path);
    if (graphs == NULL) cr_skip_test("there is no %s", path);
    for (struct dirent *entry; (entry = readdir(graphs)) != NULL;) {
        bool is_graph = false;
        for (int i = 0; i < 3; i++) {
            size_t length = strlen(entry->d_name), end = strlen(endings[i]);
            is_graph = is_graph || (length > end && strcmp(entry->d_name + length - end,
                                                           endings[i]) == 0);
        }
        if (!is_graph) continue;
        snprintf(arguments, sizeof arguments,
                 "place '%s/%s' --machine k40x2 --method gpu", path, entry->d_name);
        int status = run(arguments);
        if (status == 0)
            placed++;
        else {
            cr_expect_eq(status, 1, "%s: %s", entry->d_name, err);
            cr_expect(program_is_one_sentence(err, "emplace"), "%s: %s", entry->d_name,
                      err);
        }
    }
    closedir(graphs);
    cr_expect_geq(placed, 10);
}

/* ---- table ---- */

Test(cli, table_prints_every_format)
{
    static const char *const formats[] = {"text", "md", "csv", "json"};
    char                     arguments[128];

    for (int i = 0; i < 4; i++) {
        snprintf(arguments, sizeof arguments,
                 "table 1 --rows rnnlm --methods gpu --runs runs --format %s",
                 formats[i]);
        cr_expect_eq(run(arguments), 0, "%s: %s", arguments, err);
        cr_expect_not_null(strstr(out, "1.57"), "%s has no figure of the paper",
                           arguments);
        cr_expect_not_null(strstr(err, "[1/1] RNNLM, GPU only"), "%s", err);
    }
}

/* ---- bench ---- */

Test(cli, bench_prints_text_csv_and_json)
{
    const char *arguments = "bench oracle --sizes 50 --placements groups --repeats 2 "
                            "--peers textbook --csv oracle.csv";
    char        with_json[160];

    cr_expect_eq(run(arguments), 0, "%s", err);
    cr_expect_not_null(strstr(out, "textbook"), "%s", out);
    cr_expect_null(strstr(out, "not the oracle's"), "%s", out);
    char *csv = scratch_read("oracle.csv", NULL);
    cr_expect_not_null(strstr(csv, "\n50,groups,textbook,2,"), "%s", csv);
    free(csv);
    snprintf(with_json, sizeof with_json, "%s --json", arguments);
    cr_expect_eq(run(with_json), 0, "%s", err);
    json_t *root = json_loads(out, 0, NULL);
    json_t *row = json_array_get(json_object_get(root, "rows"), 0);
    json_t *series = json_object_get(row, "series");
    cr_expect_eq(json_integer_value(json_object_get(row, "ops")), 50);
    cr_expect_not_null(json_object_get(json_object_get(series, "tf-r1.3"), "ratio"));
    json_decref(root);
}

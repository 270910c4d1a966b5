// SPDX-License-Identifier: GPL-3.0-or-later
/* The program as a user meets it: help, lists, JSON keys, files that go from one command to
 * the next. */
#define _POSIX_C_SOURCE 200809L
#include <criterion/criterion.h>
#include <dirent.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/cli/emplace.h"
#include "tests/support/scratch.h"

TestSuite(cli, .init = emplace_set_up, .fini = emplace_tear_down);

enum { PATH = SCRATCH_PATH_BYTES };

/* ---- help ---- */

Test(cli, every_command_has_help_with_examples)
{
    static const char *const commands[] = {
        "table",           "ablate",          "study",         "place",     "train",
        "simulate",        "graph",           "record",        "calibrate", "workloads",
        "machines",        "runtimes",        "methods",       "bench",     "bench order",
        "bench surrogate", "bench anomalies", "bench placers", "bound"};
    char arguments[64];

    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        snprintf(arguments, sizeof arguments, "%s --help", commands[i]);
        cr_expect_eq(emplace_run(arguments), 0, "%s", arguments);
        cr_expect_str_empty(program_err, "%s", arguments);
        cr_expect_not_null(strstr(program_out, "Usage: emplace "), "%s", arguments);
        cr_expect_not_null(strstr(program_out, "\n  emplace "), "%s has no example",
                           arguments);
    }
    cr_expect_eq(emplace_run("--help"), 0);
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        if (strchr(commands[i], ' ') != NULL) continue; /* a topic of one */
        cr_expect_not_null(strstr(program_out, commands[i]), "%s is not listed",
                           commands[i]);
    }
}

Test(cli, commands_that_search_say_what_a_second_ctrl_c_does)
{
    static const char *const commands[] = {"place",  "train", "table",
                                           "ablate", "study", "bench placers"};
    char                     arguments[64];

    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        snprintf(arguments, sizeof arguments, "%s --help", commands[i]);
        cr_assert_eq(emplace_run(arguments), 0, "%s", arguments);
        const char *first = strstr(program_out, "Ctrl-C");
        cr_assert_not_null(first, "%s", arguments);
        cr_expect_not_null(strstr(first, "second"), "%s", arguments);
    }
}

Test(cli, output_that_cannot_be_written_is_one_error)
{
    static const char *const arguments[] = {"--help", "place --help", "machines",
                                            "graph small.pbtxt --format json",
                                            "graph nmt:layers=2 --format json"};
    char                     command[128];

    for (size_t i = 0; i < sizeof arguments / sizeof *arguments; i++) {
        snprintf(command, sizeof command, "%s >/dev/full 2>told; exit $?", arguments[i]);
        cr_expect_eq(emplace_run(command), 1, "%s", command);
        char *told = scratch_read("told", NULL);
        cr_expect(program_is_one_sentence(told, "emplace"), "%s: %s", command, told);
        free(told);
    }
}

Test(cli, version_names_the_libraries)
{
    cr_expect_eq(emplace_run("--version --verbose"), 0);
    cr_expect_eq(strncmp(program_out, "emplace ", 8), 0);
    cr_expect_not_null(strstr(program_out, "HDF5"));
    cr_expect_not_null(strstr(program_out, "OpenBLAS core"));
}

/* ---- lists ---- */

Test(cli, lists_name_what_there_is)
{
    static const char *const names[4][3] = {{"workloads", "nmt", "inception_v3"},
                                            {"machines", "k40x1", "k40x8"},
                                            {"runtimes", "tf-r1.3", "replay-cpu"},
                                            {"methods", "scotch", "hdp"}};
    char                     arguments[64];

    for (int i = 0; i < 4; i++) {
        snprintf(arguments, sizeof arguments, "%s --format json", names[i][0]);
        json_t *object = emplace_json(arguments);
        cr_expect_not_null(json_object_get(object, names[i][1]), "%s", arguments);
        cr_expect_not_null(json_object_get(object, names[i][2]), "%s", arguments);
        json_decref(object);
        cr_expect_eq(emplace_run(names[i][0]), 0);
        cr_expect_not_null(strstr(program_out, names[i][1]));
    }
}

/* A line a method, none wider than 80 columns. */
Test(cli, methods_say_what_to_use_each_for)
{
    json_t     *methods = emplace_json("methods --format json"), *method;
    const char *name;
    char        begin[64];

    cr_assert_eq(emplace_run("methods"), 0);
    for (const char *line = program_out; *line != '\0'; line += strcspn(line, "\n") + 1)
        cr_expect_leq(strcspn(line, "\n"), 80, "%.100s", line);
    json_object_foreach(methods, name, method)
    {
        const char *advice = json_string_value(json_object_get(method, "advice"));
        cr_assert_not_null(advice, "%s", name);
        snprintf(begin, sizeof begin, "  %-14s ", name);
        const char *line = strstr(program_out, begin);
        cr_assert_not_null(line, "%s", name);
        cr_expect_eq(strncmp(line + strlen(begin), advice, strlen(advice)), 0, "%s",
                     name);
    }
    json_decref(methods);
    cr_assert_eq(emplace_run("methods portfolio"), 0);
    cr_expect_not_null(strstr(program_out, "  m-etf "), "%s", program_out);
}

Test(cli, place_without_a_method_says_which_has_won)
{
    json_t     *object = emplace_json("place small.pbtxt --machine k40x2 --budget 5 "
                                          "--record run.h5 --format json");
    const char *winner = json_string_value(json_object_get(object, "won_by"));
    char        line[64];

    cr_expect_str_eq(json_string_value(json_object_get(object, "method")), "portfolio");
    cr_assert_not_null(winner);
    snprintf(line, sizeof line, "won by       %s\n", winner);
    cr_assert_eq(emplace_run("place small.pbtxt --machine k40x2 --budget 5"), 0);
    cr_expect_not_null(strstr(program_out, line), "%s", program_out);
    snprintf(line, sizeof line, "won by %s;", winner);
    cr_assert_eq(emplace_run("record run.h5"), 0);
    cr_expect_not_null(strstr(program_out, line), "%s", program_out);
    json_t *record = emplace_json("record run.h5 --format json");
    cr_expect_str_eq(json_string_value(json_object_get(record, "won_by")), winner);
    json_decref(record);
    json_decref(object);
}

static json_t *option_of(json_t *methods, const char *method, const char *option)
{
    json_t *options = json_object_get(json_object_get(methods, method), "options");

    return json_object_get(options, option);
}

Test(cli, methods_describe_their_options)
{
    json_t *methods = emplace_json("methods --format json");
    json_t *lr = option_of(methods, "hdp", "lr"),
           *units = option_of(methods, "acyclic", "units"), *value;

    value = json_object_get(lr, "default");
    cr_expect_eq(json_real_value(json_object_get(value, "paper")), 0.1);
    cr_expect_eq(json_real_value(json_object_get(lr, "maximum")), 10.0);
    cr_expect_str_eq(json_string_value(json_object_get(units, "default")), "groups");
    value = json_object_get(units, "choices");
    cr_expect_str_eq(json_string_value(json_array_get(value, 1)), "classes");
    value = json_object_get(option_of(methods, "metis", "memory"), "default");
    cr_expect(json_is_false(value));
    value = json_object_get(json_object_get(methods, "hdp"), "presets");
    cr_expect_eq(json_array_size(value), 2);
    value = json_object_get(option_of(methods, "hdp", "epsilon"), "default");
    cr_expect_eq(json_real_value(json_object_get(value, "literal")), 1e-8);
    json_decref(methods);
}

Test(cli, methods_show_one_with_its_ranges)
{
    cr_assert_eq(emplace_run("methods hdp"), 0);
    cr_expect_null(strstr(program_out, "colocrl:"));
    cr_expect_not_null(strstr(program_out,
                              "  groups=256              groups that ops are "
                              "put into (1..4096)\n"));
    cr_expect_not_null(strstr(program_out, "  hidden=256              cells of each"));
    cr_assert_eq(emplace_run("methods colocrl"), 0);
    cr_expect_not_null(strstr(program_out, "presets: paper\n"), "one preset, one value");
    cr_assert_eq(emplace_run("methods metis --format json"), 0);
    cr_expect_null(strstr(program_out, "\"scotch\":"));
}

/* ---- graph ---- */

Test(cli, graph_counts_whole_and_step)
{
    json_t *object = emplace_json("graph small.pbtxt --format json");
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

/* A variable that the step does not read, as of another loss, is in the file only. */
Test(cli, graph_counts_the_parameters_of_the_step)
{
    static const char text[] =
        "node { name: 'x' op: 'Placeholder' attr { key: 'dtype' value { type: DT_FLOAT } "
        "}"
        " attr { key: 'shape' value { shape { dim { size: 2 } dim { size: 8 } } } } }"
        "node { name: 'w' op: 'VariableV2' attr { key: 'dtype' value { type: DT_FLOAT } }"
        " attr { key: 'shape' value { shape { dim { size: 8 } dim { size: 4 } } } } }"
        "node { name: 'spare' op: 'VariableV2' attr { key: 'dtype' value { type: "
        "DT_FLOAT } }"
        " attr { key: 'shape' value { shape { dim { size: 100 } } } } }"
        "node { name: 'w/read' op: 'Identity' input: 'w'"
        " attr { key: 'T' value { type: DT_FLOAT } } }"
        "node { name: 'y' op: 'MatMul' input: 'x' input: 'w/read'"
        " attr { key: 'T' value { type: DT_FLOAT } } }";

    scratch_write("spare.pbtxt", text, sizeof text - 1);
    json_t *object = emplace_json("graph spare.pbtxt --format json");
    json_t *whole = json_object_get(json_object_get(object, "whole"), "op_types");
    cr_expect_eq(json_integer_value(json_object_get(whole, "VariableV2")), 2);
    cr_expect_eq(json_integer_value(json_object_get(object, "parameter_count")), 32);
    cr_expect_eq(json_integer_value(json_object_get(object, "parameter_bytes")), 4 * 32);
    json_decref(object);
}

Test(cli, graph_counts_unknown_types)
{
    json_t *object = emplace_json("graph unknown.pbtxt --format json");
    json_t *unknown = json_object_get(object, "unknown_op_types");

    cr_expect_eq(json_integer_value(json_object_get(unknown, "Frobnicate")), 2);
    json_decref(object);
}

static void expect_runtime(const char *arguments, const char *runtime, const char *why)
{
    char    command[256];
    json_t *object;

    snprintf(command, sizeof command, "%s --format json", arguments);
    object = emplace_json(command);
    cr_expect_str_eq(json_string_value(json_object_get(object, "runtime")), runtime, "%s",
                     command);
    const json_t *said = json_object_get(object, "runtime_why");
    if (why == NULL)
        cr_expect(json_is_null(said), "%s", command);
    else
        cr_expect_not_null(strstr(json_string_value(said), why), "%s: %s", command,
                           json_string_value(said));
    json_decref(object);
    cr_assert_eq(emplace_run(arguments), 0, "%s", program_err);
    cr_expect_eq(strstr(program_out, "--runtime changes it") != NULL, why != NULL, "%s",
                 program_out);
}

/* The runtime follows from where the graph comes from, and the output says so in one line. */
Test(cli, the_default_runtime_fits_the_graph_and_is_explained)
{
    expect_runtime(
        "simulate transformer:layers=1,phase=decode -m k40x2 -p gpu --no-bound",
        "graph-launch", "servers decode tokens by CUDA graphs");
    expect_runtime("place bert:layers=1 -m k40x2 -M gpu --no-bound", "torch-eager",
                   "PyTorch trains such a model op by op");
    expect_runtime("simulate small.pbtxt -m k40x2 -p gpu --no-bound", "tf-r1.3",
                   "the graph is TensorFlow's");
    expect_runtime("simulate bert:layers=1 -m k40x2 -p gpu --no-bound -r ideal", "ideal",
                   NULL);
    expect_runtime("simulate instance.json -p gpu --no-bound", "msr-latency",
                   "an instance on its own machine");
    expect_runtime("simulate instance.json -m k40x2 -p gpu --no-bound", "tf-r1.3",
                   "states the costs");
    expect_runtime("graph bert:layers=1", "torch-eager", "PyTorch trains");
    cr_expect_eq(emplace_run("bench anomalies instance.json -m instance --samples 4"), 0,
                 "what studies event rules takes an instance by those, too: %s",
                 program_err);
}

/* What a reader leaves out is on standard error and in the JSON of every command that loads it. */
Test(cli, warnings_of_readers_are_in_json)
{
    static const char config[] =
        "{\"model_type\":\"llama\",\"hidden_act\":\"silu\",\"hidden_size\":64,"
        "\"intermediate_size\":128,\"num_attention_heads\":4,\"num_hidden_layers\":2,"
        "\"vocab_size\":100,\"quantization_config\":{\"quant_method\":\"gptq\"}}";
    static const char *const commands[] = {
        "graph hf:path=c.json,phase=decode --format json",
        "simulate hf:path=c.json,phase=decode --machine k40x2 --placement gpu --no-bound "
        "--format json",
        "place hf:path=c.json,phase=decode --machine k40x2 --method gpu --no-bound "
        "--format json"};

    scratch_write("c.json", config, sizeof config - 1);
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        json_t *object = emplace_json(commands[i]);
        json_t *list = json_object_get(object, "warnings");
        cr_assert_eq(json_array_size(list), 1, "%s", commands[i]);
        const char *text = json_string_value(json_array_get(list, 0));
        cr_expect_not_null(strstr(text, "not read (gptq)"), "%s", text);
        cr_expect_not_null(strstr(program_err, text), "%s", program_err);
        json_decref(object);
    }
}

/* ---- simulate and place ---- */

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
    json_t *object = emplace_json(
        "simulate small.pbtxt --machine k40x2 --placement random --why --format json");
    const json_t *why = json_object_get(object, "why"), *device;
    json_int_t    step = json_integer_value(json_object_get(why, "step_time_ns"));
    const char   *name;

    cr_expect_float_eq((double)step * 1e-9,
                       json_number_value(json_object_get(object, "step_time_s")), 1e-12);
    const json_t *path = json_object_get(why, "critical_path");
    cr_expect_eq(sum_of(path, "causes"), step);
    cr_expect(json_array_size(json_object_get(path, "worst")) > 0);
    const json_t *bottleneck = json_object_get(why, "bottleneck");
    cr_expect_str_eq(json_string_value(json_object_get(bottleneck, "kind")), "step");
    cr_expect_leq(json_integer_value(json_object_get(bottleneck, "time_ns")), step);
    json_object_foreach(json_object_get(why, "devices"), name, device)
    {
        cr_expect_eq(json_integer_value(json_object_get(device, "busy_ns")) +
                         sum_of(device, "idle_ns"),
                     step, "%s", name);
    }
    json_decref(object);
    cr_expect_eq(
        emplace_run("simulate small.pbtxt --machine k40x2 --placement gpu --why"), 0);
    cr_expect_not_null(strstr(program_out, "\nwhat bounds the step: "), "%s",
                       program_out);
    cr_expect_not_null(strstr(program_out, "  gpu:0 is busy "), "%s", program_out);
    cr_expect_not_null(strstr(program_out, "gpu:0 runs ops for"), "%s", program_out);
    cr_expect_not_null(strstr(program_out, "\nwhat if; "), "%s", program_out);
    cr_expect_not_null(strstr(program_out, "critical path\n"), "%s", program_out);
    cr_expect_not_null(strstr(program_out, "fixed cost of the step"), "%s", program_out);
    cr_expect_not_null(strstr(program_out, "gpu:0 at its peak of"), "%s", program_out);
}

static int longest_line(const char *text)
{
    int longest = 0;

    while (*text != '\0') {
        int length = (int)strcspn(text, "\n");
        if (length > longest) longest = length;
        text += length + (text[length] == '\n');
    }
    return longest;
}

Test(cli, explanations_say_where_the_time_goes_and_what_would_help)
{
    static const char *const ops_keys[] = {
        "time_ns", "count",   "peak_flops_per_s", "peak_bytes_per_s", "types",
        "scopes",  "longest", "issue_ns",         "launch_bound"};
    static const char *const share_keys[] = {"time_ns", "share", "count", "flops",
                                             "bytes"};
    static const char *const change_keys[] = {"change", "step_time_ns", "change_frac",
                                              "feasible"};
    json_t       *object = emplace_json("simulate rnnlm:steps=2,batch=8 --machine k40x2 "
                                              "--placement gpu --why --json");
    const json_t *why = json_object_get(object, "why"), *change;
    json_int_t    step = json_integer_value(json_object_get(why, "step_time_ns"));
    const json_t *ops =
        json_object_get(json_object_get(json_object_get(why, "devices"), "gpu:0"), "ops");
    const json_t *longest = json_array_get(json_object_get(ops, "longest"), 0);
    const json_t *changes = json_object_get(json_object_get(why, "what_if"), "changes");
    size_t        i;

    emplace_expect_keys(ops, ops_keys, sizeof ops_keys / sizeof *ops_keys);
    emplace_expect_keys(longest, share_keys, sizeof share_keys / sizeof *share_keys);
    cr_expect(json_is_string(json_object_get(longest, "op")));
    cr_expect_gt(json_array_size(changes), 0);
    json_array_foreach(changes, i, change)
    {
        emplace_expect_keys(change, change_keys,
                            sizeof change_keys / sizeof *change_keys);
        cr_expect_lt(json_integer_value(json_object_get(change, "step_time_ns")), step);
    }
    json_decref(object);
    cr_expect_eq(emplace_run("simulate rnnlm:steps=2,batch=8 --machine k40x2 --placement "
                             "gpu --why"),
                 0);
    cr_expect_leq(longest_line(program_out), 80, "%s", program_out);
}

Test(cli, verdicts_name_what_fills_the_memory)
{
    cr_expect_eq(emplace_run("place nmt:layers=2 --machine k40x1 --method gpu"), 0, "%s",
                 program_err);
    cr_expect_not_null(strstr(program_out, " asks for "), "%s", program_out);
    cr_expect_not_null(strstr(program_out, " on gpu:0, which has "), "%s", program_out);
    cr_expect_not_null(strstr(program_out, " persistent  emb_src (VariableV2)"), "%s",
                       program_out);
    cr_expect_not_null(strstr(program_out, " more\n"), "%s", program_out);
}

Test(cli, simulate_says_which_ops_it_moves)
{
    /* No GPU has a kernel for Relu of integers. */
    static const char graph[] =
        "node { name: \"a\" op: \"Placeholder\" attr { key: \"dtype\" value { type: "
        "DT_INT32 } } attr { key: \"shape\" value { shape { dim { size: 8 } } } } }\n"
        "node { name: \"b\" op: \"Relu\" input: \"a\" attr { key: \"T\" value { type: "
        "DT_INT32 } } }\n";
    static const char on_gpus[] = "{\"format\": \"emplace-placement-1\", \"devices\": "
                                  "{\"gpu:0\": [\"a\"], \"gpu:1\": [\"b\"]}}";

    scratch_write("pair.pbtxt", graph, sizeof graph - 1);
    scratch_write("on_gpus.json", on_gpus, sizeof on_gpus - 1);
    cr_expect_eq(
        emplace_run("simulate pair.pbtxt --machine k40x2 --placement on_gpus.json"), 0,
        "%s", program_err);
    cr_expect_not_null(strstr(program_err,
                              "warning: on_gpus.json: 1 op is moved, as there "
                              "is no kernel for a GPU: the first is 'b', "
                              "from gpu:1 to cpu:0"),
                       "%s", program_err);
}

Test(cli, graph_says_what_it_takes_of_control_flow)
{
    static const char graph[] =
        "node { name: \"x\" op: \"Placeholder\" attr { key: \"dtype\" value { type: "
        "DT_FLOAT } } attr { key: \"shape\" value { shape { dim { size: 8 } } } } }\n"
        "node { name: \"p\" op: \"Placeholder\" attr { key: \"dtype\" value { type: "
        "DT_BOOL } } attr { key: \"shape\" value { shape { } } } }\n"
        "node { name: \"goes_on\" op: \"LoopCond\" input: \"p\" }\n"
        "node { name: \"again\" op: \"Switch\" input: \"x\" input: \"goes_on\" "
        "attr { key: \"T\" value { type: DT_FLOAT } } }\n"
        "node { name: \"either\" op: \"Switch\" input: \"x\" input: \"p\" "
        "attr { key: \"T\" value { type: DT_FLOAT } } }\n";

    scratch_write("flow.pbtxt", graph, sizeof graph - 1);
    cr_expect_eq(emplace_run("graph flow.pbtxt"), 0, "%s", program_err);
    cr_expect_str_eq(
        program_err,
        "emplace: warning: one iteration is taken of while loops: "
        "1; both branches are taken at Switch ops: 1\n"
        "emplace: warning: flow.pbtxt: nothing is computed in a step: each of "
        "its 5 ops has no kernel, or is a constant that is computed before "
        "it\n");
}

Test(cli, simulate_draws_the_placed_graph)
{
    cr_expect_eq(
        emplace_run("simulate small.pbtxt --machine k40x2 --placement gpu --dot g.dot"),
        0, "%s", program_err);
    cr_expect_str_empty(program_err);
    char *text = scratch_read("g.dot", NULL);
    cr_assert_not_null(text);
    cr_expect_eq(strncmp(text, "digraph ", 8), 0, "%s", text);
    cr_expect_not_null(strstr(text, "\"(top)\\n4 ops\""), "%s", text);
    free(text);
}

Test(cli, simulate_has_the_promised_keys)
{
    static const char *const keys[] = {
        "step_time_s",          "feasible", "oom",
        "peak_bytes",           "busy_s",   "traffic_bytes",
        "fingerprint",          "op_count", "edge_count",
        "lower_bound_s",        "gap_frac", "lower_bound_gpu_kernels_s",
        "gap_gpu_kernels_frac", "objective"};
    json_t *object = emplace_json(
        "simulate small.pbtxt --machine k40x2 --placement gpu --format json");
    json_t *unbound = emplace_json("simulate small.pbtxt --machine k40x2 --placement gpu "
                                   "--no-bound --format json");

    emplace_expect_keys(object, keys, sizeof keys / sizeof *keys);
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
    static const char *const keys[] = {
        "path_s",    "joined_s",      "drained_s",
        "area_s",    "class_s",       "window_s",
        "refuted_s", "lower_bound_s", "lower_bound_gpu_kernels_s",
        "infeasible"};
    json_t *object = emplace_json("bound small.pbtxt --machine k40x2 --format json");
    json_t *more =
        emplace_json("bound small.pbtxt --machine k40x2 --effort 2 --format json");
    json_t     *simulated = emplace_json("simulate small.pbtxt --machine k40x2 "
                                             "--placement gpu --format json");
    const char *key;
    json_t     *value;

    emplace_expect_keys(object, keys, sizeof keys / sizeof *keys);
    double bound = json_number_value(json_object_get(object, "lower_bound_s"));
    double step = json_number_value(json_object_get(simulated, "step_time_s"));
    json_object_foreach(object, key, value)
        cr_expect(json_number_value(value) <= bound || strstr(key, "gpu_kernels") != NULL,
                  "%s", key);
    cr_expect_geq(json_number_value(json_object_get(object, "lower_bound_gpu_kernels_s")),
                  bound);
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
    json_t *object = emplace_json(
        "simulate nmt:layers=2 --machine k40x1 --placement gpu --format json");
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
        emplace_json("place small.pbtxt --machine k40x2 --method random --budget "
                     "20 --seed 3 --record run.h5 --format json");
    json_t *simulated = emplace_json(
        "simulate small.pbtxt --machine k40x2 --placement run.h5 --format json");

    cr_expect_str_eq(json_string_value(json_object_get(placed, "fingerprint")),
                     json_string_value(json_object_get(simulated, "fingerprint")));
    json_decref(placed);
    json_decref(simulated);
    cr_expect_eq(
        emplace_run("simulate rnnlm:layers=1,steps=2 --machine k40x2 --placement run.h5"),
        1);
    cr_expect_not_null(strstr(program_err, "whose graph is not that of rnnlm"), "%s",
                       program_err);
}

Test(cli, placement_file_gives_what_place_said)
{
    json_t *placed =
        emplace_json("place small.pbtxt --machine k40x2 --method random --budget 20 "
                     "--seed 3 --out best.json --format json");
    json_t *simulated = emplace_json(
        "simulate small.pbtxt --machine k40x2 --placement best.json --format json");

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
    json_t *object = emplace_json(arguments);
    double  ms = 1e3 * json_number_value(json_object_get(object, "step_time_s"));

    cr_expect(json_is_true(json_object_get(object, "feasible")), "%s", arguments);
    json_decref(object);
    return ms;
}

/* Cut behind layer 1: 9 + 3 and 3 + 5 + 6; behind layer 2: 9 + 5 + 1 and 1 + 6. One sample goes
 * through both: 12 + 14. All three layers do not fit on one GPU, and on the CPU take 200. */
Test(cli, instances_bring_their_machine_and_costs)
{
    cr_expect_float_eq(
        step_ms("simulate instance.json --placement expert.json --format json "
                "--objective max-load"),
        14.0, 1e-9);
    cr_expect_float_eq(
        step_ms("simulate instance.json --placement expert.json --format json"), 26.0,
        1e-9);
    cr_expect_float_eq(step_ms("place instance.json --method dp-contiguous --format json "
                               "--objective max-load"),
                       14.0, 1e-9);
    cr_expect_float_eq(step_ms("place instance.json --method dp-contiguous --format json "
                               "--machine instance --runtime msr-load"),
                       14.0, 1e-9);
    cr_expect_float_eq(
        step_ms("place instance.json --method local --budget 50 --format json "
                "--options start=split --objective max-load"),
        14.0, 1e-9);
    cr_expect_float_eq(step_ms("place instance.json --method cpu --format json"), 200.0,
                       1e-9);
    cr_expect_float_eq(
        step_ms("place instance.json --method gpu --format json --machine k40x2 "
                "--runtime ideal"),
        20.0, 1e-9, "another machine, the same costs");
    cr_expect_eq(
        emplace_run(
            "simulate instance.json --placement expert.json --objective max-load"),
        0);
    cr_expect_not_null(strstr(program_out, "gpu:0        busy  85.7 %"), "12 of 14: %s",
                       program_out);
    cr_expect_not_null(strstr(program_out, "gpu:1        busy 100.0 %"), "%s",
                       program_out);
    cr_expect_eq(emplace_run("bound instance.json --objective max-load"), 0, "%s",
                 program_err);
    cr_expect_not_null(strstr(program_out, "runtime msr-load"), "%s", program_out);
    cr_expect_eq(
        emplace_run("simulate instance.json --placement gpu --objective max-load"), 0);
    cr_expect_not_null(strstr(program_out, "max load     20 ms if memory sufficed"), "%s",
                       program_out);
    cr_expect_eq(emplace_run("replay gpu --workload instance.json --machine cpu2"), 1);
    cr_expect_not_null(strstr(program_err, "no work to replay"), "%s", program_err);
}

Test(cli, records_of_instances_find_their_machine_again)
{
    cr_assert_eq(
        emplace_run("place instance.json --method random --budget 20 --record run.h5 "
                    "--objective max-load"),
        0, "%s", program_err);
    cr_expect_eq(emplace_run("report run.h5 --out page.html --force"), 0, "%s",
                 program_err);
    cr_expect_eq(
        emplace_run("simulate instance.json --placement run.h5 --objective max-load"), 0,
        "%s", program_err);
}

#define PLACE "place small.pbtxt --machine k40x2 --method random --budget 20 "

/* A name as long as names may be leaves no room for that of the temporary file. */
Test(cli, an_output_that_cannot_be_written_is_refused_before_the_work)
{
    char name[NAME_MAX + 1] = "", command[2 * NAME_MAX + 200];

    memset(name, 'x', NAME_MAX);
    for (int i = 0; i < 2; i++) {
        snprintf(command, sizeof command, PLACE "--out %s --record %s",
                 i == 0 ? name : "best.json", i == 0 ? "run.h5" : name);
        cr_expect_eq(emplace_run(command), 1);
        cr_expect(program_is_one_sentence(program_err, "emplace"), "%s", program_err);
        cr_expect_not_null(strstr(program_err, "xxx"), "%s", program_err);
        cr_expect_str_empty(program_out, "%s", program_out);
    }
    cr_expect_neq(access(scratch_path("run.h5"), F_OK), 0);
    cr_expect_neq(access(scratch_path("best.json"), F_OK), 0);
}

Test(cli, a_folder_is_refused_as_an_output_before_the_search)
{
    cr_assert_eq(mkdir(scratch_path("taken"), 0777), 0);
    cr_expect_eq(emplace_run(PLACE "--out taken"), 1);
    cr_expect_not_null(strstr(program_err, "it is a directory"), "%s", program_err);
    cr_expect_str_eq(program_out, "");
}

Test(cli, trace_is_json)
{
    json_error_t where;

    cr_assert_eq(
        emplace_run(
            "simulate small.pbtxt --machine k40x2 --placement gpu --trace t.json"),
        0, "%s", program_err);
    json_t *trace = json_load_file(scratch_path("t.json"), 0, &where);
    cr_assert_not_null(trace, "%s", where.text);
    const json_t *events =
        json_is_array(trace) ? trace : json_object_get(trace, "traceEvents");
    cr_expect_gt(json_array_size(events), 4);
    json_decref(trace);
}

Test(cli, every_runtime_profile_simulates_and_traces)
{
    static const char *const names[] = {"ideal",       "tf-r1.3",  "placeto", "baechi",
                                        "msr-latency", "msr-load", "edges"};
    char                     arguments[256];

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        json_error_t where;
        snprintf(arguments, sizeof arguments,
                 "simulate small.pbtxt --machine k40x2 --placement random --budget 3 "
                 "--runtime %s --trace t.json --force --format json",
                 names[i]);
        json_t *object = emplace_json(arguments);
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
    cr_expect_eq(
        emplace_run("simulate rnnlm --machine k40x2 --placement gpu --runtime msr-load"),
        0, "%s", program_err);
    cr_expect_not_null(strstr(program_out, "does not fit: "), "%s", program_out);
}

/* What a method takes here to be soon through: DOPPLER imitates for 2,000 episodes. */
static const char *small_options(const char *method)
{
    return strcmp(method, "doppler") == 0 ? "--options imitation=20,width=16" : "";
}

Test(cli, records_of_all_methods_are_the_same_with_one_and_two_threads)
{
    json_t     *methods = emplace_json("methods --format json");
    const char *name;
    json_t     *unused;
    char        arguments[256], command[4 * PATH];

    json_object_foreach(methods, name, unused)
    {
        for (int threads = 1; threads <= 2; threads++) {
            snprintf(arguments, sizeof arguments,
                     "place small.pbtxt --machine k40x2 --method %s --budget 24 --seed 5 "
                     "--threads %d --record %d.h5 --force %s",
                     name, threads, threads, small_options(name));
            cr_assert_eq(emplace_run(arguments), 0, "%s: %s", arguments, program_err);
        }
        snprintf(command, sizeof command, "cmp '%s/1.h5' '%s/2.h5'", scratch_path(""),
                 scratch_path(""));
        cr_expect_eq(system(command), 0, "%s", name);
    }
    json_decref(methods);
}

Test(cli, train_takes_whatever_can_go_on)
{
    cr_expect_eq(
        emplace_run("train small.pbtxt --machine k40x2 --method anneal --budget 12 "
                    "--record run.h5"),
        0, "%s", program_err);
    cr_expect_eq(emplace_run("record run.h5"), 0, "%s", program_err);
    cr_expect_not_null(strstr(program_out, "by anneal"), "%s", program_out);
}

Test(cli, record_shows_the_learning_curve)
{
    cr_assert_eq(emplace_run("place small.pbtxt --machine k40x2 --method hdp --budget 12 "
                             "--record run.h5"),
                 0, "%s", program_err);
    json_t *object = emplace_json("record run.h5 --format json");
    json_t *curve = json_object_get(object, "curve");
    json_t *last = json_array_get(curve, json_array_size(curve) - 1);

    cr_expect_eq(json_integer_value(json_object_get(last, "evaluations")), 12);
    cr_expect_eq(json_number_value(json_object_get(last, "best_s")),
                 json_number_value(json_object_get(object, "step_time_s")));
    json_decref(object);
    cr_expect_eq(emplace_run("record run.h5"), 0, "%s", program_err);
    cr_expect_not_null(strstr(program_out, "small.pbtxt on k40x2"), "%s", program_out);
}

Test(cli, a_signal_during_set_up_leaves_nothing)
{
    /* The linear program takes GLPK minutes, where it looks at no flag. */
    cr_expect_eq(emplace_interrupt("place nmt:layers=4 --machine k40x4 --method m-sct "
                                   "--out best.json --record run.h5"),
                 130);
    cr_expect_str_eq(program_err, "emplace: interrupted before a placement was found; no "
                                  "file was written\n");
    cr_expect_neq(access(scratch_path("best.json"), F_OK), 0);
    cr_expect_neq(access(scratch_path("run.h5"), F_OK), 0);
}

Test(cli, interrupt_saves_what_was_found)
{
    cr_expect_eq(emplace_interrupt("place small.pbtxt --machine k40x2 --method random "
                                   "--budget 1000000000 --out best.json"),
                 130);
    cr_expect_not_null(strstr(program_out, "interrupted"), "%s", program_out);
    cr_expect_eq(
        emplace_run("simulate small.pbtxt --machine k40x2 --placement best.json"), 0,
        "%s", program_err);
}

Test(cli, an_interrupted_export_leaves_whole_plans)
{
    int            count = 0;
    struct dirent *file;

    cr_expect_eq(emplace_interrupt("validate --placements 100 --export plans"), 130);
    DIR *folder = opendir(scratch_path("plans"));
    cr_assert_not_null(folder);
    while ((file = readdir(folder)) != NULL) {
        const char *ending = strrchr(file->d_name, '.');
        if (file->d_name[0] == '.') continue;
        cr_expect_str_eq(ending, ".txt", "%s", file->d_name);
        count++;
    }
    closedir(folder);
    cr_expect_lt(count, 6 * 100, "the export was done before");
}

Test(cli, interrupted_search_says_so_in_json)
{
    cr_expect_eq(
        emplace_interrupt("simulate small.pbtxt --machine k40x2 --placement random "
                          "--budget 1000000000 --format json"),
        130);
    json_t *object = json_loads(program_out, 0, NULL);
    cr_expect(json_is_true(json_object_get(object, "interrupted")), "%s", program_out);
    cr_expect(json_is_null(json_object_get(object, "lower_bound_s")), "%s", program_out);
    json_decref(object);
    object = emplace_json(
        "simulate small.pbtxt --machine k40x2 --placement gpu --format json");
    cr_expect(json_is_false(json_object_get(object, "interrupted")));
    json_decref(object);
}

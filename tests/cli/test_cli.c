// SPDX-License-Identifier: GPL-3.0-or-later
/* The program as a user meets it: help, lists, JSON keys, files that go from one command to
 * the next. */
#define _POSIX_C_SOURCE 200809L
#include <dirent.h>

#include "run/methods.h"
#include "tests/cli/emplace.h"
#include "tests/test.h"

TestSuite(cli, .init = emplace_set_up, .fini = emplace_tear_down);

Test(cli, commands_that_search_say_what_a_second_ctrl_c_does)
{
    static const char *const commands[] = {"place",  "train", "table",
                                           "ablate", "study", "bench placers"};

    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
        emplace_prints(scratch_print("%s --help", commands[i]), "Ctrl-C|second");
}

Test(cli, train_names_the_methods_that_share_a_run)
{
    static const char head[] = "The methods that can";
    const emp_method *method;

    emplace_prints("train --help", head);
    char *list = strstr(program_out, head);
    list[strcspn(list, ".")] = '\0';
    for (int32_t i = 0; (method = emp_method_at(i)) != NULL; i++)
        cr_expect_eq(strstr(list, method->name) != NULL,
                     method->learning != NULL && method->learning->sharing != NULL, "%s",
                     method->name);
}

Test(cli, output_that_cannot_be_written_is_one_error)
{
    static const char *const arguments[] = {"--help", "place --help", "machines",
                                            "graph small.pbtxt --format json",
                                            "graph nmt:layers=2 --format json"};
    for (size_t i = 0; i < sizeof arguments / sizeof *arguments; i++) {
        const char *command =
            scratch_print("%s >/dev/full 2>told; exit $?", arguments[i]);
        cr_expect_eq(emplace_run(command), 1, "%s", command);
        char *told = scratch_text("told");
        cr_expect(program_is_one_sentence(told, "emplace"), "%s: %s", command, told);
    }
}

Test(cli, lists_name_what_there_is)
{
    static const char *const names[][2] = {{"workloads", "nmt inception_v3"},
                                           {"machines", "k40x1 k40x8"},
                                           {"runtimes", "tf-r1.3 replay-cpu"},
                                           {"methods", "scotch hdp"}};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        json_t *object = emplace_json(scratch_print("%s --format json", names[i][0]));
        emplace_expect_keys(object, names[i][1]);
    }
    emplace_prints("--version --verbose", "emplace |HDF5|OpenBLAS core");
}

/* A line a method, none wider than 80 columns. */
Test(cli, methods_say_what_to_use_each_for)
{
    json_t     *methods = emplace_json("methods --format json"), *method;
    const char *name;

    emplace_prints("methods", "");
    for (const char *at = program_out; *at != '\0'; at += strcspn(at, "\n") + 1)
        cr_expect_leq(strcspn(at, "\n"), 80, "%.100s", at);
    json_object_foreach(methods, name, method)
    {
        const char *line = scratch_print("  %-14s %s", name, text_at(method, "advice"));
        cr_expect_not_null(strstr(program_out, line), "%s", line);
    }
    cr_expect_eq(number_at(methods, "hdp/options/lr/default/paper"), 0.001);
    cr_expect_eq(number_at(methods, "hdp/options/lr/maximum"), 10.0);
    cr_expect_eq(number_at(methods, "hdp/options/epsilon/default/literal"), 1e-8);
    cr_expect_eq(json_array_size(json_at(methods, "hdp/presets")), 2);
    cr_expect_str_eq(text_at(methods, "acyclic/options/units/default"), "groups");
    cr_expect_str_eq(text_at(methods, "acyclic/options/units/choices/1"), "classes");
    cr_expect(json_is_false(json_at(methods, "metis/options/memory/default")));
    emplace_prints("methods portfolio", "  m-etf ");
    emplace_prints("methods hdp", "  groups=256 |(1..4096)\n|  hidden=256 ");
    cr_expect_null(strstr(program_out, "colocrl:"));
    emplace_prints("methods colocrl", "presets: paper\n");
}

Test(cli, place_without_a_method_says_which_has_won)
{
    json_t     *object = emplace_json("place small.pbtxt --machine k40x2 --budget 5 "
                                          "--record run.h5 --format json");
    const char *winner = text_at(object, "won_by");

    cr_expect_str_eq(text_at(object, "method"), "portfolio");
    emplace_prints("place small.pbtxt --machine k40x2 --budget 5",
                   scratch_print("won by       %s\n", winner));
    emplace_prints("record run.h5", scratch_print("won by %s;", winner));
}

/* A variable that the step does not read, as of another loss, is in the file only. */
Test(cli, graph_counts_what_is_in_the_file_and_in_the_step)
{
    emplace_write_graph("spare.pbtxt", "x = Placeholder - dtype=DT_FLOAT shape=[2,8];"
                                       "w = VariableV2 - dtype=DT_FLOAT shape=[8,4];"
                                       "spare = VariableV2 - dtype=DT_FLOAT shape=[100];"
                                       "w/read = Identity w T; y = MatMul x,w/read T");
    json_t *o = emplace_json("graph spare.pbtxt --format json");
    cr_expect_eq(number_at(o, "whole/op_types/VariableV2"), 2);
    cr_expect_eq(number_at(o, "parameter_count"), 32);
    cr_expect_eq(number_at(o, "parameter_bytes"), 4 * 32);
    o = emplace_json("graph small.pbtxt --format json");
    cr_expect_eq(number_at(o, "whole/op_count"), 4);
    cr_expect_eq(number_at(o, "whole/edge_count"), 4);
    cr_expect_eq(number_at(o, "step/control_edge_count"), 0);
    cr_expect_eq(number_at(o, "step/op_types/Relu"), 1);
    cr_expect_gt(number_at(o, "flops"), 0);
    cr_expect_eq(json_object_size(json_at(o, "unknown_op_types")), 0);
    cr_expect_eq(emplace_number("graph unknown.pbtxt --format json",
                                "unknown_op_types/Frobnicate"),
                 2);
}

static void expect_runtime(const char *arguments, const char *runtime, const char *reason)
{
    const char *command = scratch_print("%s --format json", arguments);
    json_t     *object = emplace_json(command);
    cr_expect_str_eq(text_at(object, "runtime"), runtime, "%s", command);
    cr_expect_eq(is_null_at(object, "runtime_why"), reason == NULL, "%s", command);
    emplace_expect_parts(text_at(object, "runtime_why"), reason == NULL ? "" : reason);
    emplace_ok(arguments);
    cr_expect_eq(strstr(program_out, "--runtime changes it") != NULL, reason != NULL,
                 "%s", program_out);
}

/* The runtime follows from where the graph comes from, and the output says so in one line. */
Test(cli, the_default_runtime_fits_the_graph_and_is_explained)
{
    expect_runtime(
        "simulate transformer:layers=1,phase=decode -m k40x2 -p gpu --no-bound",
        "graph-launch", "CUDA graphs");
    expect_runtime("place bert:layers=1 -m k40x2 -M gpu --no-bound", "torch-eager",
                   "PyTorch");
    expect_runtime("simulate small.pbtxt -m k40x2 -p gpu --no-bound", "tf-r1.3",
                   "TensorFlow");
    expect_runtime("simulate bert:layers=1 -m k40x2 -p gpu --no-bound -r ideal", "ideal",
                   NULL);
    expect_runtime("simulate instance.json -p gpu --no-bound", "msr-latency",
                   "an instance");
    expect_runtime("simulate instance.json -m k40x2 -p gpu --no-bound", "tf-r1.3",
                   "costs");
    expect_runtime("graph bert:layers=1", "torch-eager", "PyTorch");
    emplace_ok("bench anomalies instance.json -m instance --samples 4");
}

/* Parts that a reader leaves out are on standard error and in the JSON of every command that loads it. */
Test(cli, warnings_of_readers_are_in_json)
{
    static const char *const commands[] = {
        "graph hf:path=c.json,phase=decode --format json",
        "simulate hf:path=c.json,phase=decode --machine k40x2 --placement gpu --no-bound "
        "--format json",
        "place hf:path=c.json,phase=decode --machine k40x2 --method gpu --no-bound "
        "--format json"};

    scratch_write_json(
        "c.json", "{'model_type':'llama','hidden_act':'silu','hidden_size':64,"
                  "'intermediate_size':128,'num_attention_heads':4,'num_hidden_layers':2,"
                  "'vocab_size':100,'quantization_config':{'quant_method':'gptq'}}");
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        json_t *object = emplace_json(commands[i]);
        cr_assert_eq(json_array_size(json_at(object, "warnings")), 1, "%s", commands[i]);
        emplace_expect_parts(text_at(object, "warnings/0"), "gptq");
        emplace_expect_parts(program_err, text_at(object, "warnings/0"));
    }
}

Test(cli, graph_says_what_it_takes_of_control_flow)
{
    emplace_write_graph("flow.pbtxt",
                        "x = Placeholder - dtype=DT_FLOAT shape=[8];"
                        "p = Placeholder - dtype=DT_BOOL shape=[]; goes_on = LoopCond p;"
                        "again = Switch x,goes_on T; either = Switch x,p T");
    emplace_warns("graph flow.pbtxt",
                  "while loops: 1; |Switch ops: 1\n|nothing is computed");
}

#define SIMULATE "simulate small.pbtxt --machine k40x2 --placement gpu "

/* The sum of all numbers, or of the times of all objects, in an object. */
static json_int_t sum_of(const json_t *object, const char *key)
{
    json_t     *inside = json_object_get(object, key), *value;
    json_int_t  sum = 0;
    const char *name;

    json_object_foreach(inside, name, value) sum += json_integer_value(
        json_is_object(value) ? json_object_get(value, "time_ns") : value);
    return sum;
}

Test(cli, simulate_explains_itself_and_adds_up)
{
    json_t *object = emplace_json(
        "simulate small.pbtxt --machine k40x2 --placement random --why --format json");
    const json_t    *reasons = json_at(object, "why");
    json_t          *device, *devices = json_object_get(reasons, "devices");
    const json_int_t step_ns = (json_int_t)number_at(reasons, "step_time_ns");
    const char      *name;

    cr_expect_float_eq((double)step_ns * 1e-9, number_at(object, "step_time_s"), 1e-12);
    cr_expect_eq(sum_of(json_at(reasons, "critical_path"), "causes"), step_ns);
    cr_expect(json_array_size(json_at(reasons, "critical_path/worst")) > 0);
    cr_expect_str_eq(text_at(reasons, "bottleneck/kind"), "step");
    cr_expect_leq(number_at(reasons, "bottleneck/time_ns"), (double)step_ns);
    json_object_foreach(devices, name, device)
        cr_expect_eq((json_int_t)number_at(device, "busy_ns") + sum_of(device, "idle_ns"),
                     step_ns, "%s", name);
    emplace_prints(SIMULATE "--why",
                   "bound by     |path         |memory       |--why=full");
    emplace_prints(
        SIMULATE "--why=full",
        "bound by |critical path: mostly |  gpu:0 is busy |gpu:0 runs ops for|what if; |"
        "critical path\n|fixed cost of the step|gpu:0 at its peak of");
}

Test(cli, explanations_say_where_the_time_goes_and_what_would_help)
{
    static const char simulate[] =
        "simulate rnnlm:steps=2,batch=8 --machine k40x2 --placement gpu --why --json";
    json_t       *object = emplace_json(simulate), *change;
    const json_t *ops = json_at(object, "why/devices/gpu:0/ops");
    json_t       *changes = json_object_get(json_at(object, "why/what_if"), "changes");
    size_t        i;

    emplace_expect_keys(ops, "time_ns count peak_flops_per_s peak_bytes_per_s types "
                             "scopes longest issue_ns launch_bound");
    emplace_expect_keys(json_at(ops, "longest/0"), "time_ns share count flops "
                                                   "flops_peak_frac bytes op");
    cr_expect_gt(json_array_size(changes), 0);
    json_array_foreach(changes, i, change)
    {
        emplace_expect_keys(change, "change step_time_ns change_frac feasible");
        cr_expect_lt(number_at(change, "step_time_ns"),
                     number_at(object, "why/step_time_ns"));
    }
    emplace_ok(
        "simulate rnnlm:steps=2,batch=8 --machine k40x2 --placement gpu --why=full");
    for (const char *at = program_out; *at != '\0'; at += strcspn(at, "\n") + 1)
        cr_expect_leq(strcspn(at, "\n"), 80, "%.100s", at);
}

/* Models of a kind share the time that a graph's file states of an op, unless --costs has others. */
Test(cli, one_time_for_different_models_is_warned_of)
{
#define ON(machine) "simulate shared.json -p gpu --no-bound --format json -m " machine
    static const struct {
        const char *command, *parts;
    } cases[] = {{ON("rtx4090x2+rtx3060"),
                  "shared.json|all GPUs|rtx4090 and rtx3060|--costs FILE|column model"},
                 {ON("k40x2"), NULL},
                 {ON("rtx4090x2+rtx3060 --costs shared.csv"), NULL}};

    scratch_write_json("shared.json",
                       "{'format': 'emplace-ops-1', 'ops': [{'name': 'a', 'gpu_s': "
                       "0.001}, {'name': 'b'}], 'edges': [['a', 'b']]}");
    emplace_write("shared.csv", "op,us,model\na,2000,rtx3060\na,1000,rtx4090\n");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        json_t *object = emplace_json(cases[i].command);
        cr_expect_eq(json_array_size(json_at(object, "warnings")),
                     cases[i].parts != NULL ? 1 : 0, "%s", cases[i].command);
        if (cases[i].parts != NULL) {
            emplace_expect_parts(text_at(object, "warnings/0"), cases[i].parts);
            emplace_expect_parts(program_err, text_at(object, "warnings/0"));
        }
    }
}

/* Under msr-latency a result crosses from a GPU to another by way of the host: 1 + 2 x 500 + 2 ms. Under the rules of
 * events its 4 KiB take microseconds, and a warning says so. */
Test(cli, times_of_copies_have_effect_or_a_warning)
{
    static const char warning[] = "1 op,|under ideal a copy takes as long as its bytes";
    json_t           *object;

    scratch_write_json(
        "copy.json",
        "{'format': 'emplace-ops-1', 'ops': ["
        "{'name': 'a', 'gpu_s': 0.001, 'copy_s': 0.5, 'output_bytes': 4096}, "
        "{'name': 'b', 'gpu_s': 0.002, 'copy_s': 0.5}], "
        "'edges': [['a', 'b']]}");
    scratch_write_json("cut.json", "{'format': 'emplace-placement-1', 'devices': "
                                   "{'gpu:0': ['a'], 'gpu:1': ['b']}}");
    object = emplace_json("simulate copy.json -m k40x2 -p cut.json -r msr-latency "
                          "--format json");
    cr_expect_float_eq(json_real_value(json_at(object, "step_time_s")), 1.003, 1e-9);
    cr_expect_eq(json_array_size(json_at(object, "warnings")), 0);
    object =
        emplace_json("simulate copy.json -m k40x2 -p cut.json -r ideal --format json");
    cr_expect_lt(json_real_value(json_at(object, "step_time_s")), 0.004);
    emplace_expect_parts(text_at(object, "warnings/0"), warning);
    emplace_expect_parts(program_err, warning);
}

/* Two ops of 1 and 2 ms, one after the other, without copies: 3 ms by list scheduling. */
Test(cli, ops_that_only_gpus_run_are_not_placed_on_a_cpu_for_free)
{
    scratch_write_json("gpu.json", "{'format': 'emplace-ops-1', 'ops': ["
                                   "{'name': 'a', 'gpu_s': 0.001, 'devices': 'gpu'}, "
                                   "{'name': 'b', 'gpu_s': 0.002, 'devices': 'gpu'}], "
                                   "'edges': [['a', 'b']]}");
    scratch_write_json("cpu.json",
                       "{'format': 'emplace-placement-1', 'default': 'cpu:0'}");
    for (int i = 0; i < 2; i++) {
        json_t *object = emplace_json(
            i == 0 ? "place gpu.json -m k40x2 -r ideal --format json"
                   : "simulate gpu.json -m k40x2 -r ideal -p cpu.json --format json");
        cr_expect_float_eq(json_real_value(json_at(object, "step_time_s")), 0.003, 2e-4);
    }
    emplace_expect_parts(program_err, "cpu.json: 2 ops are moved|only GPUs run them|'a'");
}

/* The higher of the two bounds says for which placements it is one. */
Test(cli, the_second_bound_names_the_placements_that_it_is_for)
{
    emplace_prints("simulate nmt:layers=2,units=64,batch=16 -m k40x2 -p gpu",
                   "lower bound  |unless more ops with GPU kernels go to CPUs, gap ");
}

/* How much --costs gives is no reason to worry. */
Test(cli, given_times_are_counted_without_a_warning)
{
    emplace_write("given.csv", "op,us\ntype:MatMul,100\n");
    emplace_ok(
        "simulate rnnlm:steps=2,batch=8 -m k40x2 -p gpu --no-bound --costs given.csv");
    emplace_expect_parts(program_err,
                         "emplace: given.csv gives the times of |% of the time");
    cr_expect_null(strstr(program_err, "warning"), "%s", program_err);
}

/* Products of bf16 are faster than the peak of fp32, which the machine lists first. */
Test(cli, rates_are_shares_of_the_peak_of_the_number_format)
{
    scratch_write_json("bf16.json",
                       "{'model_type':'llama','hidden_size':2048,'intermediate_size':"
                       "5632,'num_hidden_layers':2,'num_attention_heads':16,'vocab_size':"
                       "32000,'torch_dtype':'bfloat16'}");
    json_t *object = emplace_json("simulate hf:path=bf16.json,seq=2048,batch=1 --machine "
                                  "h200x1 --placement gpu --no-bound --why --json");
    const json_t *ops = json_at(object, "why/devices/gpu:0/ops");
    const json_t *product = json_at(ops, "types/0");
    cr_expect_gt(number_at(product, "flops") / number_at(product, "time_ns") * 1e9,
                 number_at(ops, "peak_flops_per_s"));
    cr_expect_gt(number_at(product, "flops_peak_frac"), 0.2);
    cr_expect_lt(number_at(product, "flops_peak_frac"), 1.0);
}

Test(cli, progress_is_lines_where_standard_error_is_no_terminal)
{
    cr_assert_eq(setenv("EMPLACE_LOG_EVERY", "0.001", 1), 0);
    emplace_ok("place small.pbtxt -m k40x2 -M random --budget 20000 --no-bound");
    cr_expect_not_null(strstr(program_err, " evaluations, "), "%s", program_err);
    cr_expect_not_null(strstr(program_err, " %, "), "%s", program_err);
    cr_expect_null(strchr(program_err, '\r'));
    cr_expect_null(strchr(program_err, '\033'));
    cr_assert_eq(unsetenv("EMPLACE_LOG_EVERY"), 0);
    emplace_ok("place small.pbtxt -m k40x2 -M random --budget 20000 --no-bound");
    cr_expect_str_empty(program_err);
}

Test(cli, a_record_of_many_metrics_fits_the_line)
{
    emplace_ok("place rnnlm:layers=1,steps=2,units=64,batch=8 -m k40x2 -M hdp --budget 8 "
               "--no-bound --options groups=8,hidden=8 --record run.h5");
    emplace_prints("record run.h5", "evaluations  fitting|loss|draw_scale|seed 1");
    for (const char *at = program_out; *at != '\0'; at += strcspn(at, "\n") + 1)
        cr_expect_leq(strcspn(at, "\n"), 80, "%.100s", at);
}

/* The lines behind the empty one. */
static int32_t count_why_lines(const char *text)
{
    int32_t count = 0;

    text = strstr(text, "\n\nbound by ");
    cr_assert_not_null(text);
    for (text += 2; *text != '\0'; text += strcspn(text, "\n") + 1, count++)
        cr_expect_leq(strcspn(text, "\n"), 80, "%.100s", text);
    return count;
}

Test(cli, why_is_ten_lines_that_name_what_bounds_the_step)
{
    emplace_ok("simulate rnnlm:steps=4,batch=8 -m k40x2 -p cpu --why --no-bound");
    cr_expect_leq(count_why_lines(program_out), 10);
    cr_expect_not_null(strstr(program_out, "bound by     the load of cpu:0"));
    cr_expect_not_null(strstr(program_out, "\nmove         -"), "%s", program_out);
    emplace_ok("simulate rnnlm:steps=4,batch=8 -m k40x2 -p random --why --no-bound");
    cr_expect_leq(count_why_lines(program_out), 10);
    emplace_refuses("simulate rnnlm:steps=4 -m k40x2 -p gpu --why=half", "--why=full");
}

/* Under other rules there is no explanation of what fills the memory, but a verdict. */
Test(cli, out_of_memory_is_a_result)
{
    json_t *o = emplace_json(
        "simulate nmt:layers=2 --machine k40x1 --placement gpu --format json");

    cr_expect(json_is_false(json_at(o, "feasible")));
    cr_expect_str_eq(text_at(o, "oom/device"), "gpu:0");
    cr_expect_gt(number_at(o, "oom/bytes"), 0);
    cr_expect_eq(json_array_size(json_at(o, "oom/largest")), 10);
    cr_expect_leq(number_at(o, "oom/in_use_bytes"), number_at(o, "oom/capacity_bytes"));
    cr_expect_gt(number_at(o, "step_time_s"), 0);
    emplace_prints(
        "place nmt:layers=2 --machine k40x1 --method gpu",
        " asks for | on gpu:0, which has | persistent  emb_src (VariableV2)| more\n");
    emplace_prints("simulate rnnlm --machine k40x2 --placement gpu --runtime msr-load",
                   "does not fit: ");
}

Test(cli, simulate_has_the_promised_keys_and_files)
{
    json_t *o = emplace_json(SIMULATE "--format json --dot g.dot --trace t.json");
    json_t *unbound = emplace_json(SIMULATE "--no-bound --format json");

    emplace_expect_keys(o, "step_time_s feasible oom peak_bytes busy_s traffic_bytes "
                           "fingerprint op_count edge_count lower_bound_s gap_frac "
                           "lower_bound_gpu_kernels_s gap_gpu_kernels_frac objective");
    cr_expect_gt(number_at(o, "step_time_s"), 0);
    cr_expect(json_is_true(json_at(o, "feasible")));
    cr_expect(json_is_false(json_at(o, "interrupted")));
    cr_expect(is_null_at(o, "oom"));
    cr_expect_eq(json_object_size(json_at(o, "busy_s")), 3);
    cr_expect_eq(number_at(o, "op_count"), 4);
    cr_expect_gt(number_at(o, "lower_bound_s"), 0);
    cr_expect(is_null_at(unbound, "lower_bound_s"));
    emplace_expect_file("g.dot", "digraph |\"(top)\\n4 ops\"");
    json_t *trace = emplace_load("t.json");
    cr_expect_gt(json_array_size(json_at(trace, "traceEvents")), 4);
}

Test(cli, bound_has_every_bound_and_the_highest)
{
    json_t *o = emplace_json("bound small.pbtxt --machine k40x2 --format json"), *value;
    json_t *simulated = emplace_json(SIMULATE "--format json");
    const char *key;

    emplace_expect_keys(o, "path_s joined_s drained_s area_s class_s window_s refuted_s "
                           "lower_bound_s lower_bound_gpu_kernels_s infeasible");
    const double bound = number_at(o, "lower_bound_s");
    const double step = number_at(simulated, "step_time_s");
    json_object_foreach(o, key, value)
        cr_expect(json_number_value(value) <= bound || strstr(key, "gpu_kernels") != NULL,
                  "%s", key);
    cr_expect_geq(number_at(o, "lower_bound_gpu_kernels_s"), bound);
    cr_expect_eq(number_at(simulated, "lower_bound_s"), bound);
    cr_expect_float_eq(number_at(simulated, "gap_frac"), step / bound - 1.0, 1e-9);
    cr_expect(bound > 0.0 && bound <= step);
    cr_expect_geq(
        emplace_number("bound small.pbtxt --machine k40x2 --effort 2 --format json",
                       "lower_bound_s"),
        bound);
}

Test(cli, bound_says_why_and_what_would_lower_it)
{
    json_t *o = emplace_json("bound small.pbtxt --machine k40x2 --why --format json");
    const double bound = number_at(o, "lower_bound_s");

    cr_expect_eq(bound, emplace_number("bound small.pbtxt --machine k40x2 --format json",
                                       "lower_bound_s"));
    emplace_expect_keys(json_at(o, "why"), "lower_bound lower_bound_gpu_kernels changes");
    emplace_expect_keys(json_at(o, "why/lower_bound"), "lemma refuted proven_s ops");
    emplace_expect_keys(json_at(o, "why/lower_bound/ops/0"),
                        "type layer part count seconds");
    cr_expect_eq(json_array_size(json_at(o, "why/changes")), 6);
    cr_expect_float_eq(number_at(o, "why/changes/0/change_frac"),
                       number_at(o, "why/changes/0/lower_bound_s") / bound - 1.0, 1e-9);
    cr_expect_leq(number_at(o, "why/changes/0/lower_bound_s"),
                  number_at(o, "why/changes/5/lower_bound_s"));
    emplace_prints("bound small.pbtxt --machine k40x2 --why",
                   "lower bound: |what if; |another GPU like the last|no change");
}

Test(cli, bound_proves_the_optimum_of_small_graphs)
{
    json_t *o = emplace_json("bound giph:v=12,seed=1 -m giph:devices=5,seed=1 --prove 0 "
                             "--format json");

    emplace_expect_keys(json_at(o, "proof"),
                        "step_time_s lower_bound_s gap_frac nodes leaves proven");
    cr_expect(json_is_true(json_at(o, "proof/proven")));
    cr_expect_eq(number_at(o, "proof/gap_frac"), 0.0);
    cr_expect_eq(number_at(o, "proof/step_time_s"), number_at(o, "proof/lower_bound_s"));
    cr_expect_geq(number_at(o, "proof/lower_bound_s"), number_at(o, "lower_bound_s"));
    emplace_prints("bound giph:v=12,seed=1 -m giph:devices=5,seed=1 --prove 0 --nodes 1",
                   "branch and bound, |not proven as far as asked; --nodes");
    emplace_refuses("bound small.pbtxt -m k40x8 --prove 1%", "at most 5 devices|k40x8");
}

/* A gap that the first placement has ends the search with it; one that nothing has is as none. */
Test(cli, a_search_ends_within_the_gap)
{
    static const char place[] =
        "place small.pbtxt -m k40x2 -M anneal -b 20 -f json --gap ";

    json_t *o = emplace_json(scratch_print("%s 1000000%%", place));
    cr_expect_str_eq(json_string_value(json_object_get(o, "stopped_by")), "gap");
    cr_expect_lt(number_at(o, "evaluations"), 20);
    o = emplace_json(scratch_print("%s 0", place));
    cr_expect_str_eq(json_string_value(json_object_get(o, "stopped_by")),
                     number_at(o, "gap_frac") > 0 ? "budget" : "gap");
    cr_expect_eq(emplace_run("place small.pbtxt -m k40x2 --gap -1"), 2);
    emplace_refuses("place small.pbtxt -m k40x2 --gap 5 --decide devices,fusion",
                    "--gap|fuse");
}

/* The placement that has all on the CPU keeps nothing off it. */
Test(cli, bound_is_that_of_a_placement)
{
    emplace_ok("place small.pbtxt -m k40x2 -M cpu --out all.json");
    emplace_ok("place small.pbtxt -m k40x2 -M gpu --out none.json");
    json_t *all = emplace_json("bound small.pbtxt -m k40x2 --placement all.json -f json");
    json_t *none =
        emplace_json("bound small.pbtxt -m k40x2 --placement none.json -f json");
    json_t *any = emplace_json("bound small.pbtxt -m k40x2 -f json");

    cr_expect_float_eq(number_at(none, "lower_bound_gpu_kernels_s"),
                       number_at(any, "lower_bound_gpu_kernels_s"), 1e-12);
    cr_expect_leq(number_at(all, "lower_bound_gpu_kernels_s"),
                  number_at(none, "lower_bound_gpu_kernels_s"));
}

Test(cli, records_and_placement_files_give_what_place_said)
{
    static const char *const simulate[] = {
        "simulate small.pbtxt --machine k40x2 --placement run.h5 --format json",
        "simulate small.pbtxt --machine k40x2 --placement best.json --format json"};
    json_t *placed =
        emplace_json("place small.pbtxt --machine k40x2 --method random --budget 20 "
                     "--seed 3 --out best.json --record run.h5 --format json");

    cr_expect_eq(number_at(placed, "evaluations"), 20);
    for (int i = 0; i < 2; i++) {
        json_t *o = emplace_json(simulate[i]);
        cr_expect_str_eq(text_at(placed, "fingerprint"), text_at(o, "fingerprint"));
        cr_expect_eq(number_at(placed, "step_time_s"), number_at(o, "step_time_s"));
    }
    emplace_refuses("simulate rnnlm:layers=1,steps=2 --machine k40x2 --placement run.h5",
                    "run.h5|rnnlm");
}

/* Cut behind layer 1: 9 + 3 and 3 + 5 + 6; behind layer 2: 9 + 5 + 1 and 1 + 6. One sample goes
 * through both: 12 + 14. All three layers do not fit on one GPU, and on the CPU take 200. */
Test(cli, instances_bring_their_machine_and_costs)
{
    static const struct {
        const char *arguments;
        double      ms;
    } cases[] = {
        {"simulate instance.json -p expert.json --objective max-load", 14},
        {"simulate instance.json -p expert.json", 26},
        {"place instance.json -M dp-contiguous --objective max-load", 14},
        {"place instance.json -M dp-contiguous -m instance -r msr-load", 14},
        {"place instance.json -M local -b 50 --options start=split --objective max-load",
         14},
        {"place instance.json -M cpu", 200},
        {"place instance.json -M gpu -m k40x2 -r ideal", 20}};

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *command = scratch_print("%s --format json", cases[i].arguments);
        json_t     *o = emplace_json(command);
        cr_expect_float_eq(1e3 * number_at(o, "step_time_s"), cases[i].ms, 1e-9, "%s",
                           command);
        cr_expect(json_is_true(json_at(o, "feasible")), "%s", command);
    }
    emplace_prints("simulate instance.json --placement expert.json --objective max-load",
                   "gpu:0        busy  85.7 %|gpu:1        busy 100.0 %");
    emplace_prints("graph instance.json", "under msr-latency, as");
    cr_expect_str_eq(
        text_at(emplace_json("graph instance.json --format json"), "runtime"),
        "msr-latency");
    emplace_prints("simulate instance.json -p gpu --format csv", "\nfeasible,0,");
    emplace_prints("bound instance.json --objective max-load", "runtime msr-load");
    emplace_write("load.yaml", "description: \"x\"\nbase: \"msr-load\"\n");
    emplace_prints("bound instance.json --objective max-load -r load.yaml",
                   "runtime load");
    emplace_prints("simulate instance.json --placement gpu --objective max-load",
                   "max load     20 ms if memory sufficed");
    cr_expect_eq(emplace_run("replay gpu --workload instance.json --machine cpu2"), 1);
    emplace_expect_parts(program_err, "times of copies|no work");
    emplace_ok("place instance.json --method random --budget 20 --record run.h5 "
               "--objective max-load");
    emplace_ok("report run.h5 --out page.html --force");
    emplace_ok("simulate instance.json --placement run.h5 --objective max-load");
}

Test(cli, every_runtime_profile_simulates_and_traces)
{
    static const char *const names[] = {"ideal",       "tf-r1.3",  "placeto", "baechi",
                                        "msr-latency", "msr-load", "edges"};
    char                     arguments[256];

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        snprintf(arguments, sizeof arguments,
                 "simulate small.pbtxt --machine k40x2 --placement random --budget 3 "
                 "--runtime %s --trace t.json --force --format json",
                 names[i]);
        cr_expect_gt(emplace_number(arguments, "step_time_s"), 0.0, "%s", names[i]);
        json_t *trace = emplace_load("t.json");
        cr_expect_not_null(trace, "%s", names[i]);
    }
}

/* DOPPLER would imitate for 2,000 episodes. */
Test(cli, records_of_all_methods_are_the_same_with_one_and_two_threads)
{
    json_t     *methods = emplace_json("methods --format json"), *unused;
    const char *name;

    json_object_foreach(methods, name, unused)
    {
        for (int threads = 1; threads <= 2; threads++) {
            emplace_ok(scratch_print(
                "place small.pbtxt --machine k40x2 --method %s --budget 24 --seed 5 "
                "--threads %d --record %d.h5 --force %s",
                name, threads, threads,
                strcmp(name, "doppler") == 0 ? "--options imitation=20,width=16" : ""));
        }
        cr_expect(emplace_same_files("1.h5", "2.h5"), "%s", name);
    }
}

Test(cli, records_show_the_learning_curve)
{
    emplace_ok("train small.pbtxt --machine k40x2 --method anneal --budget 12 "
               "--record run.h5");
    json_t       *object = emplace_json("record run.h5 --format json");
    json_t       *curve = json_object_get(object, "curve");
    const json_t *last = json_array_get(curve, json_array_size(curve) - 1);

    cr_expect_eq(number_at(last, "evaluations"), 12);
    cr_expect_eq(number_at(last, "best_s"), number_at(object, "step_time_s"));
    emplace_prints("record run.h5", "small.pbtxt on k40x2|by anneal");
}

Test(cli, interrupt_saves_what_was_found_and_says_so)
{
    cr_expect_eq(emplace_interrupt("place small.pbtxt --machine k40x2 --method random "
                                   "--budget 1000000000 --out best.json"),
                 130);
    emplace_expect_parts(program_out, "interrupted");
    emplace_ok("simulate small.pbtxt --machine k40x2 --placement best.json");
    cr_expect_eq(emplace_interrupt("simulate small.pbtxt --machine k40x2 --placement "
                                   "random --budget 1000000000 --format json"),
                 130);
    json_t *object = emplace_printed();
    cr_expect(json_is_true(json_at(object, "interrupted")), "%s", program_out);
    cr_expect(is_null_at(object, "lower_bound_s"), "%s", program_out);
}

/* A method has placed the ops, so that the first signal is not the one that a run answers. */
Test(cli, interrupt_ends_bounds_beside_a_placement)
{
    cr_expect_eq(emplace_interrupt("bound inception_v3 --machine k40x2 --placement gpu "
                                   "--effort 3"),
                 130);
    cr_expect_str_eq(program_out, "");
}

/* Two commands that keep nothing of what they have measured so far. */
Test(cli, interrupt_is_answered_in_a_sentence)
{
    static const char *const commands[] = {"bench mechanisms",
                                           "calibrate measure -o cores.yaml"};

    for (size_t i = 0; i < COUNT(commands); i++) {
        cr_expect_eq(emplace_interrupt(commands[i]), 130);
        cr_expect_str_eq(program_err, "emplace: interrupted\n", "%s", commands[i]);
        cr_expect_str_eq(program_out, "");
    }
}

Test(cli, an_interrupted_export_leaves_whole_plans)
{
    int            count = 0;
    struct dirent *file;

    cr_expect_eq(emplace_interrupt("validate --placements 100 --export plans"), 130);
    DIR *folder = opendir(scratch_path("plans"));
    cr_assert_not_null(folder);
    while ((file = readdir(folder)) != NULL) {
        if (file->d_name[0] == '.') continue;
        cr_expect_str_eq(strrchr(file->d_name, '.'), ".txt", "%s", file->d_name);
        count++;
    }
    closedir(folder);
    cr_expect_lt(count, 6 * 100, "the export was done before");
}

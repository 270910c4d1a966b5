// SPDX-License-Identifier: GPL-3.0-or-later
/* Placements that a user brings: what is said of them, and where they can be used. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/cli/emplace.h"
#include "tests/support/scratch.h"

TestSuite(placements, .init = emplace_set_up, .fini = emplace_tear_down);

static void write_text(const char *name, const char *text)
{
    scratch_write(name, text, strlen(text));
}

static void expect_said(const char *part)
{
    cr_expect_not_null(strstr(program_err, part), "%s", program_err);
}

/* ---- rules ---- */

#define HEAD "format: \"emplace-placement-1\"\n"

Test(placements, rules_place_a_workload_and_say_what_was_moved)
{
    write_text("rules.yaml", HEAD "rules:\n"
                                  "  - {regex: \"^gradients/\", device: \"gpu:1\"}\n"
                                  "  - {glob: \"nowhere/*\", device: \"gpu:1\"}\n"
                                  "default: \"gpu:0\"\n");
    cr_assert_eq(
        emplace_run(
            "simulate rnnlm:steps=2 -m k40x2 -p rules.yaml --no-bound --format json"),
        0, "%s", program_err);
    expect_said("rules.yaml: 1 rule places no op: rule 2 ('nowhere/*') matches no op");
    expect_said("moved, as there is no kernel for a GPU: the first is '");
    expect_said(", from gpu:0 to cpu:0");
}

Test(placements, colocated_ops_are_counted_apart)
{
    write_text("rules.yaml", HEAD "rules:\n"
                                  "  - {glob: \"*/read\", device: \"cpu:0\"}\n"
                                  "default: \"gpu:0\"\n");
    cr_assert_eq(
        emplace_run(
            "simulate rnnlm:steps=2 -m k40x2 -p rules.yaml --no-bound --format json"),
        0, "%s", program_err);
    expect_said("moved, as there is no kernel for a GPU: the first is 'global_step', ");
    expect_said("moved, as colocated ops share a device: the first is 'emb', from gpu:0 "
                "to cpu:0");
}

/* A pin of a list scheduler may hold ops that need the CPU and others that must not be there. */
Test(placements, no_op_that_a_gpu_can_do_is_on_a_forbidden_cpu)
{
    static const char *const methods[] = {"random", "m-topo"};
    char                     command[160];

    for (int i = 0; i < 2; i++) {
        snprintf(command, sizeof command,
                 "place rnnlm:steps=2 -m k40x2 --method %s --budget 2 --forbid cpu "
                 "--no-bound --out p.json --force",
                 methods[i]);
        cr_assert_eq(emplace_run(command), 0, "%s", program_err);
        expect_said("ops stay on a CPU, as they, or ops that are colocated with them");
        cr_assert_eq(emplace_run("simulate rnnlm:steps=2 -m k40x2 -p p.json --forbid cpu "
                                 "--no-bound"),
                     0, "%s", program_err);
        cr_expect_null(strstr(program_err, "as CPUs are forbidden"), "%s", program_err);
    }
    write_text("rules.yaml", HEAD "rules: []\ndefault: \"cpu:0\"\n");
    cr_assert_eq(emplace_run("simulate rnnlm:steps=2 -m k40x2 -p rules.yaml --forbid cpu "
                             "--no-bound"),
                 0, "%s", program_err);
    expect_said("moved, as CPUs are forbidden: the first is '");
    cr_expect_eq(emplace_run("place rnnlm:steps=2 -m k40x2 --forbid gpu"), 2);
    expect_said("--forbid takes cpu");
}

static const char large_config[] =
    "{\"model_type\":\"llama\",\"hidden_act\":\"silu\",\"hidden_size\":8192,"
    "\"intermediate_size\":65536,\"num_attention_heads\":64,\"num_hidden_layers\":8,"
    "\"vocab_size\":100,\"torch_dtype\":\"bfloat16\"}";

/* 8 layers of 3.5 GiB: more than the GPUs have together, less than the CPU has. */
Test(placements, a_model_too_large_for_gpus_is_out_of_memory_without_cpus)
{
    static const char place[] =
        "place hf:path=large.json,phase=decode,batch=1,seq=8 -m k40x1 --forbid cpu";
    char command[200];

    write_text("large.json", large_config);
    snprintf(command, sizeof command, "%s --budget 20", place);
    cr_assert_eq(emplace_run(command), 0, "%s", program_err);
    cr_expect_not_null(
        strstr(program_out,
               "no placement fits: GPUs need 28.01 GiB for weights and states, "
               "and have 9.89 GiB"),
        "%s", program_out);
    cr_expect_not_null(strstr(program_out, "memory       does not fit: model."), "%s",
                       program_out);
    cr_expect_null(strstr(program_out, "lower bound"), "%s", program_out);
    snprintf(command, sizeof command, "%s --method hdp --budget 2 --format json", place);
    json_t *object = emplace_json(command);
    json_t *oom = json_object_get(object, "oom");
    json_t *none = json_object_get(oom, "no_placement_fits");
    cr_expect_gt(json_integer_value(json_object_get(none, "held_bytes")), 28LL << 30);
    cr_expect_not_null(strstr(program_err, "hdp has nothing to learn"), "%s",
                       program_err);
    json_decref(object);
}

Test(placements, ops_that_no_rule_places_are_counted)
{
    write_text("rules.yaml", HEAD "rules:\n  - {op: \"a\", device: \"gpu:0\"}\n");
    cr_expect_eq(emplace_run("simulate small.pbtxt -m k40x2 -p rules.yaml"), 1);
    expect_said("rules.yaml: 3 of 4 ops match no rule, and there is no default: the "
                "first is 'x'");
}

Test(placements, rules_are_replayed_where_workload_and_machine_are_known)
{
    write_text("rules.yaml", HEAD "default: \"gpu:0\"\n");
    cr_expect_eq(emplace_run("replay rules.yaml --steps 1"), 1);
    expect_said("--workload and --machine");
    cr_expect_eq(emplace_run("replay rules.yaml --workload small.pbtxt -m cpu2 --export "
                             "plan.txt"),
                 0, "%s", program_err);
}

/* ---- orders ---- */

#define ORDERED "rnnlm:steps=2 -m k40x2 --no-bound --format json "

static double step_time_of(const char *arguments)
{
    json_t *object = emplace_json(arguments);
    double  step_s = json_number_value(json_object_get(object, "step_time_s"));

    json_decref(object);
    return step_s;
}

Test(placements, an_order_is_found_kept_and_simulated)
{
    const double plain_s =
        step_time_of("place " ORDERED "--method m-etf --out plain.json");
    const double found_s = step_time_of(
        "place " ORDERED "--method anneal --options order=1 --decide devices,order "
        "--start plain.json --budget 300 --out best.json --record best.h5");

    cr_expect_lt(found_s, plain_s, "%g s, before %g s", found_s, plain_s);
    cr_expect_eq(step_time_of("simulate " ORDERED "-p best.json"), found_s);
    cr_expect_eq(emplace_run("place " ORDERED "--method scotch --start plain.json"), 1);
    expect_said("method scotch cannot begin at a placement");
    cr_expect_eq(step_time_of("simulate " ORDERED "-p best.h5"), found_s);
    cr_expect_eq(step_time_of("simulate " ORDERED "-p best.json --why"), found_s);
    cr_assert_eq(emplace_run("record best.h5 --out again.json"), 0, "%s", program_err);
    cr_expect_eq(step_time_of("simulate " ORDERED "-p again.json"), found_s);
    cr_assert_eq(emplace_run("record best.h5"), 0);
    cr_expect_not_null(strstr(program_out, "devices and order are decided"));
    cr_assert_eq(emplace_run("report best.h5 --out report.html"), 0, "%s", program_err);
    char *page = scratch_read("report.html", NULL);
    cr_expect_not_null(strstr(page, "anneal order=1, devices and order"));
    cr_expect_null(strstr(page, "have changed since"), "its timeline has the order");
    free(page);
}

Test(placements, a_fusion_is_found_kept_and_simulated)
{
    const double plain_s =
        step_time_of("place " ORDERED "--method m-etf --out plain.json");
    const double found_s = step_time_of(
        "place " ORDERED "--method anneal --options fusion=1 --decide devices,fusion "
        "--start plain.json --budget 60 --out best.json --record best.h5");

    cr_expect_lt(found_s, plain_s, "%g s, before %g s", found_s, plain_s);
    cr_expect_eq(step_time_of("simulate " ORDERED "-p best.json"), found_s);
    cr_expect_eq(step_time_of("simulate " ORDERED "-p best.h5"), found_s);
    cr_expect_eq(emplace_run("simulate " ORDERED "-p best.json --why"), 1);
    expect_said("a step with fused ops is not explained");
    cr_assert_eq(emplace_run("simulate " ORDERED "-p best.json --trace step.json"), 0,
                 "%s", program_err);
    cr_assert_eq(emplace_run("record best.h5 --out again.json"), 0, "%s", program_err);
    cr_expect_eq(step_time_of("simulate " ORDERED "-p again.json"), found_s);
    cr_assert_eq(emplace_run("record best.h5"), 0);
    cr_expect_not_null(strstr(program_out, "devices and fusion are decided"));
    cr_assert_eq(emplace_run("report best.h5 --out report.html"), 0, "%s", program_err);
    char *page = scratch_read("report.html", NULL);
    cr_expect_not_null(strstr(page, "anneal fusion=1, devices and fusion"));
    cr_expect_null(strstr(page, "have changed since"), "its timeline has the fusion");
    free(page);
    cr_assert_eq(emplace_run("replay best.json --export plan.txt"), 0, "%s", program_err);
    expect_said("the fusion of ops in best.json is not replayed");
}

/* Both parts and devices are decided, and a run that was interrupted goes on. */
Test(placements, order_and_fusion_are_decided_together)
{
    const double both_s =
        step_time_of("place " ORDERED "--method mcmc --decide devices,order,fusion "
                     "--budget 40 --out both.json");

    cr_expect_eq(step_time_of("simulate " ORDERED "-p both.json"), both_s);
    cr_expect_eq(step_time_of("place " ORDERED "--method random --decide devices,fusion "
                              "--budget 3 --out random.json"),
                 step_time_of("simulate " ORDERED "-p random.json"));
}

Test(placements, replay_says_that_it_follows_no_order)
{
#define TINY "rnnlm:units=64,steps=2,sampled=8,vocab=100,batch=8 -m k40x2 --method m-etf "
    static const char warning[] = "the order of ops in %s is not replayed";
    const char *const files[] = {"best.json", "best.h5"};
    char              arguments[64], said[64];

    cr_assert_eq(emplace_run("place " TINY "--out plain.json"), 0, "%s", program_err);
    cr_assert_eq(emplace_run("place " TINY "--decide devices,order --out best.json "
                             "--record best.h5"),
                 0, "%s", program_err);
    for (int i = 0; i < 2; i++) {
        snprintf(arguments, sizeof arguments, "replay %s --export plan.txt --force",
                 files[i]);
        snprintf(said, sizeof said, warning, files[i]);
        cr_assert_eq(emplace_run(arguments), 0, "%s", program_err);
        cr_expect_not_null(strstr(program_err, said), "%s", program_err);
    }
    cr_assert_eq(emplace_run("replay plain.json --export plan.txt --force"), 0, "%s",
                 program_err);
    cr_expect_null(strstr(program_err, "not replayed"), "%s", program_err);
}

Test(placements, orders_do_not_depend_on_threads)
{
#define TRAINED \
    "train rnnlm:steps=2 -m k40x2 --method mcmc --decide devices,order --budget "
    size_t one_size, two_size;

    cr_assert_eq(emplace_run(TRAINED "200 --record one.h5 --threads 1"), 0, "%s",
                 program_err);
    cr_assert_eq(emplace_run(TRAINED "200 --record two.h5 --threads 2"), 0, "%s",
                 program_err);
    char *one = scratch_read("one.h5", &one_size);
    char *two = scratch_read("two.h5", &two_size);
    cr_assert_eq(one_size, two_size);
    cr_expect_arr_eq(one, two, one_size);
    free(one);
    free(two);
}

/* ---- devices in graph files ---- */

static double step_of(const char *arguments)
{
    json_t *object = emplace_json(arguments);
    double  step_s = json_number_value(json_object_get(object, "step_time_s"));

    json_decref(object);
    cr_expect_gt(step_s, 0);
    return step_s;
}

/* Devices on some nodes of a chain, which has a node that no step runs, as well. */
static void write_chain(const char *of_a, const char *of_b)
{
    char text[2000];

    snprintf(text, sizeof text,
             "node { name: \"x\" op: \"Placeholder\" device: \"/cpu:0\"\n"
             "  attr { key: \"dtype\" value { type: DT_FLOAT } }\n"
             "  attr { key: \"shape\" value { shape { dim { size: 4096 } } } } }\n"
             "node { name: \"a\" op: \"Relu\" input: \"x\" %s\n"
             "  attr { key: \"T\" value { type: DT_FLOAT } } }\n"
             "node { name: \"b\" op: \"Tanh\" input: \"a\" %s\n"
             "  attr { key: \"T\" value { type: DT_FLOAT } } }\n",
             of_a, of_b);
    write_text("chain.pbtxt", text);
}

static void expect_device(const char *name, const char *op, const char *device)
{
    char *text = scratch_read(name, NULL), *at = strstr(text, op);

    cr_assert_not_null(at, "%s", text);
    at = strstr(at, "device: ");
    cr_assert_not_null(at, "%s", text);
    cr_expect_eq(strncmp(at + strlen("device: "), device, strlen(device)), 0, "%s of %s",
                 op, text);
    free(text);
}

Test(placements, devices_of_a_graph_file_are_a_placement)
{
    write_chain("device: \"/job:localhost/replica:0/task:0/device:GPU:1\"",
                "device: \"/gpu:0\"");
    write_text("same.json", "{\"format\": \"emplace-placement-1\", \"devices\": {"
                            "\"cpu:0\": [\"x\"], \"gpu:1\": [\"a\"], "
                            "\"gpu:0\": [\"b\"]}}");
    double own_s = step_of("simulate chain.pbtxt -m k40x2 -p file --format json");
    cr_expect_str_eq(program_err, "");
    cr_expect_eq(own_s,
                 step_of("simulate chain.pbtxt -m k40x2 -p chain.pbtxt --format json"));
    cr_expect_eq(own_s,
                 step_of("simulate chain.pbtxt -m k40x2 -p same.json --format json"));
    cr_expect_eq(
        emplace_run("replay chain.pbtxt --workload chain.pbtxt -m k40x2 --export p.txt"),
        0, "%s", program_err);
}

Test(placements, ops_without_a_device_go_to_the_first_gpu)
{
    write_chain("device: \"/gpu:1\"", "");
    cr_expect_eq(emplace_run("simulate chain.pbtxt -m k40x2 -p file"), 0);
    expect_said("chain.pbtxt: 1 of 3 ops name no device and go to gpu:0, as TensorFlow");
}

Test(placements, a_device_that_does_not_fit_is_named)
{
    write_chain("device: \"/device:TPU:0\"", "");
    cr_expect_eq(emplace_run("simulate chain.pbtxt -m k40x2 -p file"), 1);
    expect_said("chain.pbtxt: op 'a' is on \"/device:TPU:0\", which fits no device of "
                "machine 'k40x2': it has 1 CPU and 2 GPUs");
}

Test(placements, a_graph_without_devices_is_no_placement)
{
    cr_expect_eq(emplace_run("simulate small.pbtxt -m k40x2 -p file"), 1);
    expect_said("small.pbtxt names no device for any op of the step");
    cr_expect_eq(emplace_run("simulate rnnlm:steps=2 -m k40x2 -p file"), 1);
    expect_said("rnnlm:steps=2 is neither");
}

/* ---- graph files with a placement in them ---- */

Test(placements, a_copy_of_the_graph_has_the_placement)
{
    write_chain("", "device: \"/gpu:0\"");
    double placed_s = step_of("place chain.pbtxt -m k40x2 --method random --budget 9 "
                              "--record run.h5 --out placed.pbtxt --format json");
    cr_expect_eq(placed_s,
                 step_of("simulate placed.pbtxt -m k40x2 -p file --format json"));
    cr_expect_eq(emplace_run("record run.h5 --out again.pbtxt"), 0, "%s", program_err);
    char *text = scratch_read("placed.pbtxt", NULL);
    char *again = scratch_read("again.pbtxt", NULL);
    cr_expect_str_eq(text, again);
    free(text);
    free(again);
}

Test(placements, hosts_are_tasks)
{
    write_chain("", "");
    double placed_s = step_of("place chain.pbtxt -m k40x4x2 --method random --budget 1 "
                              "--record run.h5 --out placed.pbtxt --format json");
    cr_expect_eq(placed_s,
                 step_of("simulate placed.pbtxt -m k40x4x2 -p file --format json"));
    expect_device("placed.pbtxt", "\"b\"", "\"/job:worker/task:");
    cr_expect_eq(emplace_run("record run.h5 --out again.pbtxt"), 0, "%s", program_err);
    expect_device("again.pbtxt", "\"b\"", "\"/job:worker/task:");
}

Test(placements, a_copy_is_of_a_graph_file_in_its_syntax)
{
    cr_expect_eq(emplace_run("place rnnlm -m k40x2 --method gpu --out o.pb"), 1);
    expect_said(
        "o.pb is to be a copy of a TensorFlow graph file, and rnnlm is a workload");
    cr_expect_eq(emplace_run("place small.pbtxt -m k40x2 --method gpu --out o.pb"), 1);
    expect_said("small.pbtxt is text, and so is its copy: name a .pbtxt, not o.pb");
    cr_expect_eq(emplace_run("place instance.json --method gpu --out o.pb"), 1);
    expect_said("and instance.json is none");
    cr_expect_eq(emplace_run("place small.pbtxt -m k40x2 --method gpu --out o.pb.gz"), 1);
    expect_said("leave out .gz");
    cr_expect_eq(emplace_run("place small.pbtxt -m k40x2 --method gpu --out small.pbtxt"),
                 1);
    expect_said("small.pbtxt is an input");
}

Test(placements, a_graph_file_that_changed_is_refused)
{
    write_chain("", "");
    cr_assert_eq(emplace_run("place chain.pbtxt -m k40x2 --method gpu --record run.h5"),
                 0);
    write_text("chain.pbtxt", "node { name: \"x\" op: \"NoOp\" }\n");
    cr_expect_eq(emplace_run("record run.h5 --out o.pbtxt"), 1);
    expect_said("chain.pbtxt has no op 'a', which the placement has");
}

Test(placements, a_run_that_goes_on_replaces_its_copy)
{
    write_chain("", "");
    const char *begin = "train chain.pbtxt -m k40x2 --method ce --budget 1000000000 "
                        "--record run.h5 --out placed.pbtxt --no-bound";
    char        resume[256];

    snprintf(resume, sizeof resume, "%s --resume", begin);
    cr_assert_eq(emplace_interrupt(begin), 130, "%s", program_err);
    expect_device("placed.pbtxt", "\"b\"", "\"/device:");
    cr_expect_eq(emplace_interrupt(resume), 130, "%s", program_err);
    cr_expect_eq(
        emplace_run("place chain.pbtxt -m k40x2 --method gpu --out placed.pbtxt"), 1);
    expect_said("placed.pbtxt is there already");
}

/* ---- PyTorch ---- */

static const char transformer[] =
    "/tests/graphs/import/pytorch/samples/transformer.json.gz";

Test(placements, of_a_pytorch_graph_go_out_as_a_device_map)
{
    char  command[1024];
    char *map;

    snprintf(command, sizeof command,
             "place %s%s -m k40x2 --method gpu --out placement.py",
             getenv("EMP_SOURCE_DIR"), transformer);
    cr_assert_eq(emplace_run(command), 0, "%s", program_err);
    expect_said("gpu:0 alone takes");
    map = scratch_read("placement.py", NULL);
    cr_expect_not_null(strstr(map, "\n    \"0\": \"cuda:0\",\n"), "%s", map);
    cr_expect_not_null(strstr(map, "\n    \"2\": \"cuda:0\",\n"), "%s", map);
    cr_expect_null(strstr(map, "0.qkv"), "a module stands for its parts: %s", map);
    free(map);
}

Test(placements, a_graph_without_modules_has_no_device_map)
{
    char command[1024];

    snprintf(command, sizeof command,
             "place %s/tests/graphs/import/pytorch/samples/linear_momentum.json -m k40x2 "
             "--budget 1000000000 --out placement.py",
             getenv("EMP_SOURCE_DIR"));
    cr_expect_neq(emplace_run(command), 0);
    expect_said("no op of the graph names its module");
    snprintf(command, sizeof command,
             "graph %s/tests/graphs/import/pytorch/samples/linear_momentum.json",
             getenv("EMP_SOURCE_DIR"));
    cr_expect_eq(emplace_run(command), 0);
    cr_expect_not_null(strstr(program_out, "there is no device_map of it"), "%s",
                       program_out);
}

static const char config[] =
    "{\"model_type\":\"gpt2\",\"n_embd\":64,\"n_layer\":12,\"n_head\":4,"
    "\"n_positions\":64,\"vocab_size\":256}";

/* From a record, whose search may have parted layers. */
static void export_map(void)
{
    cr_assert_eq(
        emplace_run("place hf:path=config.json,batch=2,seq=16 -m k40x2 --method refine "
                    "--start rules.yaml --budget 1 --no-bound --record r.h5"),
        0, "%s", program_err);
    cr_assert_eq(emplace_run("record r.h5 --out placement.py"), 0, "%s", program_err);
}

Test(placements, of_a_config_go_out_as_a_device_map_in_natural_order)
{
    char *map;

    write_text("config.json", config);
    write_text("rules.yaml", HEAD "rules:\n"
                                  "  - {regex: \"h[.]1[.]mlp\", device: \"gpu:1\"}\n"
                                  "  - {regex: \"h[.]1[01][.]\", device: \"gpu:1\"}\n"
                                  "default: \"gpu:0\"\n");
    export_map();
    expect_said("placement.py has 1 layer on several devices: the first is "
                "transformer.h.1.");
    map = scratch_read("placement.py", NULL);
    cr_expect_not_null(strstr(map, "    \"lm_head\": \"cuda:0\",\n"), "%s", map);
    cr_expect_not_null(strstr(map, "    \"transformer.h.1.ln_2\": \"cuda:0\",\n"
                                   "    \"transformer.h.1.mlp\": \"cuda:1\",\n"
                                   "    \"transformer.h.2\": \"cuda:0\",\n"),
                       "%s", map);
    cr_expect_not_null(strstr(map, "    \"transformer.h.9\": \"cuda:0\",\n"
                                   "    \"transformer.h.10\": \"cuda:1\",\n"
                                   "    \"transformer.h.11\": \"cuda:1\",\n"),
                       "%s", map);
    free(map);
}

#define OF_CONFIG "hf:path=config.json,batch=2,seq=16,phase=train -m k40x2 --no-bound "

/* The map says where modules are, so that what is placed as they are takes as long. */
Test(placements, a_device_map_is_read_back)
{
    static const char simulate[] = "simulate " OF_CONFIG "--format json --placement ";
    char              command[256];
    double            step_s[2];

    write_text("config.json", config);
    write_text("rules.yaml", HEAD "rules:\n"
                                  "  - {regex: \"h[.]1[01][.]\", device: \"gpu:1\"}\n"
                                  "default: \"gpu:0\"\n");
    cr_assert_eq(emplace_run("place " OF_CONFIG "--method refine --start rules.yaml "
                             "--budget 1 --out placement.py"),
                 0, "%s", program_err);
    cr_expect_null(strstr(program_err, "several devices"), "%s", program_err);
    for (int i = 0; i < 2; i++) {
        snprintf(command, sizeof command, "%s%s", simulate,
                 i == 0 ? "rules.yaml" : "placement.py");
        step_s[i] = step_time_of(command);
    }
    cr_expect_eq(step_s[0], step_s[1]);
    expect_said("ops name no module of it");
    write_text("map.py", "DEVICE_MAP = {\n    \"\": \"cuda:0\",\n}\n");
    step_s[1] = step_time_of("simulate " OF_CONFIG "--format json --placement map.py");
    cr_expect_neq(step_s[0], step_s[1]);
    cr_expect_eq(step_time_of("simulate " OF_CONFIG "--format json --placement gpu"),
                 step_s[1]);
}

Test(placements, a_device_map_of_another_model_or_machine_is_refused)
{
    static const char *const maps[][2] = {
        {"\"model.layers.0\": \"cuda:0\"", "no module of it has an op in hf:"},
        {"\"transformer\": \"cuda:2\"",
         "map.py:2: machine k40x2 has no cuda:2; it has 2 "},
        {"\"transformer\": \"disk\"", "map.py:2: a line of DEVICE_MAP is"}};
    char text[128];

    write_text("config.json", config);
    for (int i = 0; i < 3; i++) {
        snprintf(text, sizeof text, "DEVICE_MAP = {\n    %s,\n}\n", maps[i][0]);
        write_text("map.py", text);
        cr_expect_eq(emplace_run("simulate " OF_CONFIG "--placement map.py"), 1);
        expect_said(maps[i][1]);
    }
    write_text("map.py", "DEVICE_MAP = {\n\"transformer\": \"cpu\",\n\"a\": \"cpu\"}\n");
    cr_expect_eq(emplace_run("simulate " OF_CONFIG "--placement map.py"), 1);
    write_text("map.py", "OPS_OF_DEVICE = {\n}\n");
    cr_expect_eq(emplace_run("simulate " OF_CONFIG "--placement map.py"), 1);
    expect_said("map.py has no line \"DEVICE_MAP = {\"");
}

/* The rules part layer 1 and put layer 2 on the CPU; a whole layer goes where its first op is. */
Test(placements, layers_are_whole_in_a_device_map_and_if_asked)
{
    char *map;

    write_text("config.json", config);
    write_text("rules.yaml", HEAD "rules:\n"
                                  "  - {regex: \"h[.]1[.]mlp\", device: \"gpu:1\"}\n"
                                  "  - {regex: \"h[.]2[.]\", device: \"cpu:0\"}\n"
                                  "default: \"gpu:0\"\n");
    cr_assert_eq(emplace_run("place " OF_CONFIG "--method refine --start rules.yaml "
                             "--budget 1 --out placement.py"),
                 0, "%s", program_err);
    cr_expect_null(strstr(program_err, "several devices"), "%s", program_err);
    expect_said(" modules on \"cpu\": accelerate keeps their weights there");
    map = scratch_read("placement.py", NULL);
    cr_expect_not_null(strstr(map, "    \"transformer.h.1\": \"cuda:0\",\n"
                                   "    \"transformer.h.2\": \"cpu\",\n"),
                       "%s", map);
    free(map);
    cr_assert_eq(emplace_run("place " OF_CONFIG "--method refine --start rules.yaml "
                             "--budget 1 --whole-layers --record w.h5"),
                 0, "%s", program_err);
    cr_assert_eq(emplace_run("record w.h5 --out whole.py"), 0, "%s", program_err);
    map = scratch_read("whole.py", NULL);
    cr_expect_not_null(strstr(map, "    \"transformer.h.1\": \"cuda:0\",\n"), "%s", map);
    free(map);
    cr_expect_eq(emplace_run("place rnnlm:steps=2 -m k40x2 --whole-layers"), 1);
    expect_said("no op of rnnlm:steps=2 names a numbered layer");
}

/* Sinks belong to the attention itself, and all experts of a layer are one module. */
Test(placements, of_a_config_name_modules_with_parameters_of_their_own)
{
    static const char *const lines[] = {
        "    \"model.layers.0.self_attn\": \"cuda:0\",\n"
        "    \"model.layers.0.self_attn.k_proj\": \"cuda:1\",\n",
        "    \"model.layers.1.mlp.experts\": \"cuda:0\",  # the placement has some of it "
        "elsewhere\n"
        "    \"model.layers.1.mlp.router\": \"cuda:0\",\n",
        "    \"model.layers.2\": \"cuda:1\",\n"};
    char *map;

    write_text("config.json",
               "{\"model_type\":\"gpt_oss\",\"hidden_size\":64,\"num_hidden_layers\":3,"
               "\"num_attention_heads\":4,\"num_key_value_heads\":2,\"head_dim\":16,"
               "\"intermediate_size\":64,\"num_local_experts\":4,"
               "\"num_experts_per_tok\":2,\"vocab_size\":256}");
    write_text("rules.yaml",
               HEAD "rules:\n"
                    "  - {regex: \"layers[.]0[.]self_attn[.](q|k|v|o)_proj\", device: "
                    "\"gpu:1\"}\n"
                    "  - {regex: \"layers[.]1[.]mlp[.]experts[.]down\", device: "
                    "\"gpu:1\"}\n"
                    "  - {regex: \"layers[.]2[.]\", device: \"gpu:1\"}\n"
                    "default: \"gpu:0\"\n");
    export_map();
    map = scratch_read("placement.py", NULL);
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++)
        cr_expect_not_null(strstr(map, lines[i]), "no %s in %s", lines[i], map);
    cr_expect_null(strstr(map, "experts."), "%s", map);
    free(map);
}

Test(placements, a_device_map_is_refused_before_the_search)
{
    write_text("config.json", config);
    cr_expect_eq(emplace_run("place hf:path=config.json,batch=2,seq=16 -m k40x4x2 "
                             "--budget 1000000000 --out placement.py"),
                 1);
    expect_said("a device_map is of one computer");
    cr_expect_eq(emplace_run("place onnx:path=m.onnx -m k40x2 --out placement.py"), 1);
    expect_said("does not name their modules or ops");
    write_text("m.txt", "HloModule m\nENTRY e {\nROOT a = f32[2] constant({1, 2})\n}\n");
    cr_expect_eq(emplace_run("place m.txt -m k40x2 --out placement.py"), 1);
    expect_said("m.txt does not name their modules or ops");
}

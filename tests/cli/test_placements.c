// SPDX-License-Identifier: GPL-3.0-or-later
/* Placements that a user brings: what is said of them, and where they can be used. */
#include "tests/cli/emplace.h"
#include "tests/test.h"

TestSuite(placements, .init = emplace_set_up, .fini = emplace_tear_down);

static double step_of(const char *arguments)
{
    return emplace_number(arguments, "step_time_s");
}

#define HEAD  "format: \"emplace-placement-1\"\n"
#define RNNLM "simulate rnnlm:steps=2 -m k40x2 -p rules.yaml --no-bound "

/* Colocated ops are counted apart from those that have no kernel. */
Test(placements, rules_place_a_workload_and_say_what_was_moved)
{
    emplace_write("rules.yaml", HEAD "rules:\n"
                                     "  - {regex: \"^gradients/\", device: \"gpu:1\"}\n"
                                     "  - {glob: \"nowhere/*\", device: \"gpu:1\"}\n"
                                     "default: \"gpu:0\"\n");
    emplace_warns(RNNLM,
                  "rules.yaml|1 rule |'nowhere/*'|no kernel|, from gpu:0 to cpu:0");
    emplace_write("rules.yaml", HEAD "rules:\n"
                                     "  - {glob: \"*/read\", device: \"cpu:0\"}\n"
                                     "default: \"gpu:0\"\n");
    emplace_warns(RNNLM, "no kernel for a GPU: the first is 'global_step'|colocated ops "
                         "share a device: the first is 'emb', from gpu:0");
    emplace_write("rules.yaml", HEAD "rules:\n  - {op: \"a\", device: \"gpu:0\"}\n");
    emplace_refuses("simulate small.pbtxt -m k40x2 -p rules.yaml",
                    "rules.yaml|3 of 4 ops|'x'");
}

/* A pin of a list scheduler may hold ops that need the CPU and others that must not be there. */
Test(placements, no_op_that_a_gpu_can_do_is_on_a_forbidden_cpu)
{
    static const char *const methods[] = {"random", "m-topo"};
    for (int i = 0; i < 2; i++) {
        emplace_warns(
            scratch_print(
                "place rnnlm:steps=2 -m k40x2 --method %s --budget 2 --forbid cpu "
                "--no-bound --out p.json --force",
                methods[i]),
            "ops stay on a CPU");
        emplace_ok("simulate rnnlm:steps=2 -m k40x2 -p p.json --forbid cpu --no-bound");
        cr_expect_null(strstr(program_err, "as CPUs are forbidden"), "%s", program_err);
    }
    emplace_write("rules.yaml", HEAD "rules: []\ndefault: \"cpu:0\"\n");
    emplace_warns(RNNLM "--forbid cpu", "moved, as CPUs are forbidden: the first is '");
    emplace_refuses("place rnnlm:steps=2 -m k40x2 --forbid gpu", "--forbid");
}

/* 8 layers of 3.5 GiB: more than the GPUs have together, less than the CPU has. */
Test(placements, a_model_too_large_for_gpus_is_out_of_memory_without_cpus)
{
#define LARGE "place hf:path=large.json,phase=decode,batch=1,seq=8 -m k40x1 --forbid cpu "
    scratch_write_json("large.json",
                       "{'model_type':'llama','hidden_act':'silu','hidden_size':8192,"
                       "'intermediate_size':65536,'num_attention_heads':64,"
                       "'num_hidden_layers':8,'vocab_size':100,"
                       "'torch_dtype':'bfloat16'}");
    emplace_prints(LARGE "--budget 20",
                   "no placement fits|28.01 GiB|9.89 GiB|does not fit: model.");
    cr_expect_null(strstr(program_out, "lower bound"), "%s", program_out);
    cr_expect_gt(emplace_number(LARGE "--method hdp --budget 2 --format json",
                                "oom/no_placement_fits/held_bytes"),
                 28.0 * (1 << 30));
    emplace_expect_parts(program_err, "hdp has nothing to learn");
}

Test(placements, rules_are_replayed_where_workload_and_machine_are_known)
{
    emplace_write("rules.yaml", HEAD "default: \"gpu:0\"\n");
    emplace_refuses("replay rules.yaml --steps 1", "--workload|--machine");
    emplace_ok("replay rules.yaml --workload small.pbtxt -m cpu2 --export plan.txt");
}

#define ORDERED       "rnnlm:steps=2 -m k40x2 --no-bound --format json "
#define BOUND_OF_BEST "bound rnnlm:steps=2 -m k40x2 --placement best.json"

Test(placements, orders_and_fusions_are_found_kept_and_simulated)
{
    static const char *const parts[] = {"order", "fusion"};
    const double plain_s = step_of("place " ORDERED "--method m-etf --out plain.json");

    for (int i = 0; i < 2; i++) {
        const char *text = scratch_print(
            "place " ORDERED "--method anneal --options %s=1 --decide devices,%s "
            "--start plain.json --budget %d --out best.json --record best.h5 "
            "--force",
            parts[i], parts[i], i == 0 ? 300 : 60);
        const double found_s = step_of(text);
        cr_expect_lt(found_s, plain_s, "%g s, before %g s", found_s, plain_s);
        cr_expect_eq(step_of("simulate " ORDERED "-p best.json"), found_s);
        cr_expect_eq(step_of("simulate " ORDERED "-p best.h5"), found_s);
        emplace_ok("record best.h5 --out again.json --force");
        cr_expect_eq(step_of("simulate " ORDERED "-p again.json"), found_s);
        text = scratch_print("devices and %s are decided", parts[i]);
        emplace_prints("record best.h5", text);
        text = scratch_print("%s of ops in best.", parts[i]);
        emplace_warns("replay best.json --export plan.txt --force", text);
        emplace_warns("replay best.h5 --export plan.txt --force", text);
        text = scratch_print("the devices of best.json, and not its %s", parts[i]);
        emplace_warns("place " ORDERED "--method local --start best.json --budget 1",
                      text);
        emplace_ok("report best.h5 --out report.html --force");
        text = scratch_print("anneal %s=1, devices and %s", parts[i], parts[i]);
        emplace_expect_file("report.html", text);
        cr_expect_null(strstr(scratch_text("report.html"), "have changed since"),
                       "its timeline has the %s", parts[i]);
        if (i == 0) {
            cr_expect_eq(step_of("simulate " ORDERED "-p best.json --why"), found_s);
            emplace_ok(BOUND_OF_BEST);
            emplace_refuses(BOUND_OF_BEST " --prove 1%", "best.json decides the order");
        }
    }
    emplace_refuses(BOUND_OF_BEST, "best.json decides the fusion");
    emplace_refuses("simulate " ORDERED "-p best.json --why", "fused ops");
    emplace_ok("simulate " ORDERED "-p best.json --trace step.json");
    emplace_ok("replay plain.json --export plan.txt --force");
    cr_expect_null(strstr(program_err, "not replayed"), "%s", program_err);
    emplace_refuses("place " ORDERED "--method scotch --start plain.json", "scotch");
}

Test(placements, order_and_fusion_are_decided_together)
{
    cr_expect_eq(step_of("place " ORDERED "--method mcmc --decide devices,order,fusion "
                         "--budget 40 --out both.json"),
                 step_of("simulate " ORDERED "-p both.json"));
    cr_expect_eq(step_of("place " ORDERED "--method random --decide devices,fusion "
                         "--budget 3 --out random.json"),
                 step_of("simulate " ORDERED "-p random.json"));
}

Test(placements, orders_do_not_depend_on_threads)
{
#define TRAINED \
    "train rnnlm:steps=2 -m k40x2 --method mcmc --decide devices,order --budget 200 "
    emplace_ok(TRAINED "--record one.h5 --threads 1");
    emplace_ok(TRAINED "--record two.h5 --threads 2");
    cr_expect(emplace_same_files("one.h5", "two.h5"));
}

/* Devices on some nodes of a chain, which has a node that no step runs, as well. */
static void write_chain(const char *of_a, const char *of_b)
{
    emplace_write(
        "chain.pbtxt",
        scratch_print(
            "node { name: \"x\" op: \"Placeholder\" device: \"/cpu:0\"\n"
            "  attr { key: \"dtype\" value { type: DT_FLOAT } }\n"
            "  attr { key: \"shape\" value { shape { dim { size: 4096 } } } } }\n"
            "node { name: \"a\" op: \"Relu\" input: \"x\" %s\n"
            "  attr { key: \"T\" value { type: DT_FLOAT } } }\n"
            "node { name: \"b\" op: \"Tanh\" input: \"a\" %s\n"
            "  attr { key: \"T\" value { type: DT_FLOAT } } }\n",
            of_a, of_b));
}

static void expect_device(const char *name, const char *op, const char *device)
{
    char *text = scratch_text(name), *at = strstr(text, op);

    at = at == NULL ? NULL : strstr(at, "device: ");
    cr_assert_not_null(at, "%s", text);
    cr_expect_eq(strncmp(at + strlen("device: "), device, strlen(device)), 0, "%s of %s",
                 op, text);
}

#define CHAIN "simulate chain.pbtxt -m k40x2 -p "

Test(placements, devices_of_a_graph_file_are_a_placement)
{
    write_chain("device: \"/job:localhost/replica:0/task:0/device:GPU:1\"",
                "device: \"/gpu:0\"");
    scratch_write_json("same.json", "{'format': 'emplace-placement-1', 'devices': "
                                    "{'cpu:0': ['x'], 'gpu:1': ['a'], 'gpu:0': ['b']}}");
    const double own_s = step_of(CHAIN "file --format json");
    cr_expect_str_eq(program_err, "");
    cr_expect_eq(own_s, step_of(CHAIN "chain.pbtxt --format json"));
    cr_expect_eq(own_s, step_of(CHAIN "same.json --format json"));
    emplace_ok("replay chain.pbtxt --workload chain.pbtxt -m k40x2 --export p.txt");
    write_chain("device: \"/gpu:1\"", "");
    emplace_warns(CHAIN "file", "chain.pbtxt|1 of 3 ops|gpu:0");
    write_chain("device: \"/device:TPU:0\"", "");
    emplace_refuses(CHAIN "file", "chain.pbtxt|'a'|/device:TPU:0|k40x2|1 CPU and 2 GPUs");
    emplace_refuses("simulate small.pbtxt -m k40x2 -p file", "small.pbtxt names no");
    emplace_refuses("simulate rnnlm:steps=2 -m k40x2 -p file",
                    "a trace of PyTorch's profiler|rnnlm:steps=2");
}

/* Hosts are tasks. */
Test(placements, a_copy_of_the_graph_has_the_placement)
{
    static const char *const machines[][2] = {{"k40x2", "\"/device:"},
                                              {"k40x4x2", "\"/job:worker/task:"}};
    char                     place[160], simulate[160];

    write_chain("", "");
    for (int i = 0; i < 2; i++) {
        snprintf(place, sizeof place,
                 "place chain.pbtxt -m %s --method random --budget 9 --force --record "
                 "run.h5 --out placed.pbtxt --format json",
                 machines[i][0]);
        snprintf(simulate, sizeof simulate,
                 "simulate placed.pbtxt -m %s -p file --format json", machines[i][0]);
        cr_expect_eq(step_of(place), step_of(simulate));
        emplace_ok("record run.h5 --out again.pbtxt --force");
        cr_expect(emplace_same_files("placed.pbtxt", "again.pbtxt"));
        expect_device("again.pbtxt", "\"b\"", machines[i][1]);
    }
    scratch_write_json("chain.pbtxt", "node { name: 'x' op: 'NoOp' }\n");
    emplace_refuses("record run.h5 --out o.pbtxt", "chain.pbtxt|'a'");
}

Test(placements, a_copy_is_of_a_graph_file_in_its_syntax)
{
    static const char *const cases[][2] = {
        {"place rnnlm -m k40x2 --method gpu --out o.pb", "o.pb|rnnlm"},
        {"place small.pbtxt -m k40x2 --method gpu --out o.pb", "small.pbtxt|.pbtxt|o.pb"},
        {"place instance.json --method gpu --out o.pb", "instance.json"},
        {"place small.pbtxt -m k40x2 --method gpu --out o.pb.gz", ".gz"},
        {"place small.pbtxt -m k40x2 --method gpu --out small.pbtxt", "an input"}};

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        emplace_refuses(cases[i][0], cases[i][1]);
}

Test(placements, a_run_that_goes_on_replaces_its_copy)
{
#define TRAIN                                                                     \
    "train chain.pbtxt -m k40x2 --method ce --budget 1000000000 --record run.h5 " \
    "--out placed.pbtxt --no-bound"
    write_chain("", "");
    cr_assert_eq(emplace_interrupt(TRAIN), 130, "%s", program_err);
    expect_device("placed.pbtxt", "\"b\"", "\"/device:");
    cr_expect_eq(emplace_interrupt(TRAIN " --resume"), 130, "%s", program_err);
    emplace_refuses("place chain.pbtxt -m k40x2 --method gpu --out placed.pbtxt",
                    "placed.pbtxt|--force");
}

static const char *on_sample(const char *verb, const char *sample, const char *options)
{
    return scratch_print("%s %s/tests/graphs/import/pytorch/samples/%s %s", verb,
                         getenv("EMP_SOURCE_DIR"), sample, options);
}

/* A module stands for its parts. */
Test(placements, of_a_pytorch_graph_go_out_as_a_device_map)
{
    emplace_warns(on_sample("place", "transformer.json.gz",
                            "-m k40x2 --method gpu --out placement.py"),
                  "gpu:0 by itself takes");
    emplace_expect_file("placement.py",
                        "\n    \"0\": \"cuda:0\",\n|\n    \"2\": \"cuda:0\",\n");
    char *map = scratch_text("placement.py");
    cr_expect_null(strstr(map, "0.qkv"), "%s", map);
    emplace_refuses(on_sample("place", "linear_momentum.json",
                              "-m k40x2 --budget 1000000000 --out no.py"),
                    "module");
    emplace_prints(on_sample("graph", "linear_momentum.json", ""), "no device_map of it");
}

static const char config[] = "{\"model_type\":\"gpt2\",\"n_embd\":64,\"n_layer\":12,\"n_"
                             "head\":4,\"n_positions\":64,\"vocab_size\":256}";

/* From a record, whose search may have parted layers. */
static void export_map(void)
{
    emplace_ok("place hf:path=config.json,batch=2,seq=16 -m k40x2 --method refine "
               "--start rules.yaml --budget 1 --no-bound --record r.h5");
    emplace_ok("record r.h5 --out placement.py");
}

Test(placements, of_a_config_go_out_as_a_device_map_in_natural_order)
{
    emplace_write("config.json", config);
    emplace_write("rules.yaml", HEAD "rules:\n"
                                     "  - {regex: \"h[.]1[.]mlp\", device: \"gpu:1\"}\n"
                                     "  - {regex: \"h[.]1[01][.]\", device: \"gpu:1\"}\n"
                                     "default: \"gpu:0\"\n");
    export_map();
    emplace_expect_parts(program_err, "1 layer on several devices|transformer.h.1.");
    emplace_expect_file("placement.py", "    \"lm_head\": \"cuda:0\",\n|"
                                        "    \"transformer.h.1.ln_2\": \"cuda:0\",\n"
                                        "    \"transformer.h.1.mlp\": \"cuda:1\",\n"
                                        "    \"transformer.h.2\": \"cuda:0\",\n|"
                                        "    \"transformer.h.9\": \"cuda:0\",\n"
                                        "    \"transformer.h.10\": \"cuda:1\",\n"
                                        "    \"transformer.h.11\": \"cuda:1\",\n");
}

#define OF_CONFIG "hf:path=config.json,batch=2,seq=16,phase=train -m k40x2 --no-bound "
#define AS_RULES  "place " OF_CONFIG "--method refine --start rules.yaml --budget 1 "
#define STEP_OF   "simulate " OF_CONFIG "--format json --placement "

/* The map says where modules are, so that what is placed as they are takes as long. */
Test(placements, a_device_map_is_read_back)
{
    emplace_write("config.json", config);
    emplace_write("rules.yaml", HEAD "rules:\n"
                                     "  - {regex: \"h[.]1[01][.]\", device: \"gpu:1\"}\n"
                                     "default: \"gpu:0\"\n");
    emplace_ok(AS_RULES "--out placement.py");
    const double split_s = step_of(STEP_OF "rules.yaml");
    cr_expect_eq(step_of(STEP_OF "placement.py"), split_s);
    emplace_expect_parts(program_err, "ops name no module of it");
    scratch_write_json("map.py", "DEVICE_MAP = {\n    '': 'cuda:0',\n}\n");
    cr_expect_neq(step_of(STEP_OF "map.py"), split_s);
    cr_expect_eq(step_of(STEP_OF "map.py"), step_of(STEP_OF "gpu"));
}

Test(placements, a_device_map_of_another_model_or_machine_is_refused)
{
    static const char *const maps[][2] = {
        {"DEVICE_MAP = {\n\"model.layers.0\": \"cuda:0\",\n}\n", "no module"},
        {"DEVICE_MAP = {\n\"transformer\": \"cuda:2\",\n}\n", "map.py:2|k40x2|cuda:2"},
        {"DEVICE_MAP = {\n\"transformer\": \"disk\",\n}\n", "map.py:2"},
        {"DEVICE_MAP = {\n\"transformer\": \"cpu\",\n\"a\": \"cpu\"}\n", "map.py"},
        {"OPS_OF_DEVICE = {\n}\n", "map.py|DEVICE_MAP"}};

    emplace_write("config.json", config);
    for (size_t i = 0; i < sizeof maps / sizeof *maps; i++) {
        emplace_write("map.py", maps[i][0]);
        emplace_refuses("simulate " OF_CONFIG "--placement map.py", maps[i][1]);
    }
}

/* The rules part layer 1 and put layer 2 on the CPU; a whole layer goes where its first op is. */
Test(placements, layers_are_whole_in_a_device_map_and_if_asked)
{
    emplace_write("config.json", config);
    emplace_write("rules.yaml", HEAD "rules:\n"
                                     "  - {regex: \"h[.]1[.]mlp\", device: \"gpu:1\"}\n"
                                     "  - {regex: \"h[.]2[.]\", device: \"cpu:0\"}\n"
                                     "default: \"gpu:0\"\n");
    emplace_warns(AS_RULES "--out placement.py", " modules on \"cpu\": accelerate");
    emplace_expect_file("placement.py", "    \"transformer.h.1\": \"cuda:0\",\n"
                                        "    \"transformer.h.2\": \"cpu\",\n");
    emplace_ok(AS_RULES "--whole-layers --record w.h5");
    emplace_ok("record w.h5 --out whole.py");
    emplace_expect_file("whole.py", "    \"transformer.h.1\": \"cuda:0\",\n");
    emplace_refuses("place rnnlm:steps=2 -m k40x2 --whole-layers", "rnnlm:steps=2");
}

/* Sinks belong to the attention itself, and all experts of a layer are one module. */
Test(placements, of_a_config_name_modules_with_parameters_of_their_own)
{
    scratch_write_json(
        "config.json",
        "{'model_type':'gpt_oss','hidden_size':64,'num_hidden_layers':3,"
        "'num_attention_heads':4,'num_key_value_heads':2,'head_dim':16,"
        "'intermediate_size':64,'num_local_experts':4,'num_experts_per_tok':2,"
        "'vocab_size':256}");
    emplace_write(
        "rules.yaml", HEAD
        "rules:\n"
        "  - {regex: \"layers[.]0[.]self_attn[.](q|k|v|o)_proj\", device: \"gpu:1\"}\n"
        "  - {regex: \"layers[.]1[.]mlp[.]experts[.]down\", device: \"gpu:1\"}\n"
        "  - {regex: \"layers[.]2[.]\", device: \"gpu:1\"}\n"
        "default: \"gpu:0\"\n");
    export_map();
    emplace_expect_file("placement.py",
                        "    \"model.layers.0.self_attn\": \"cuda:0\",\n"
                        "    \"model.layers.0.self_attn.k_proj\": \"cuda:1\",\n|    "
                        "\"model.layers.1.mlp.experts\": \"cuda:0\",  # the placement "
                        "has some of it elsewhere\n"
                        "    \"model.layers.1.mlp.router\": \"cuda:0\",\n|    "
                        "\"model.layers.2\": \"cuda:1\",\n");
    char *map = scratch_text("placement.py");
    cr_expect_null(strstr(map, "experts."), "%s", map);
}

#define MODEL                                                                \
    "{\"hidden_size\":64,\"num_hidden_layers\":4,\"num_attention_heads\":4," \
    "\"vocab_size\":200,\"intermediate_size\":128"

static const struct {
    const char *config; /* NULL = the spec is no model of Hugging Face */
    const char *spec;
} graphs[] = {{NULL, "rnnlm:steps=2,layers=2,batch=2"},
              {MODEL ",\"model_type\":\"qwen3_moe\",\"num_experts\":8,\"num_experts_per_"
                     "tok\":2,\"moe_intermediate_size\":32}",
               "hf:path=config.json,phase=decode,batch=1,seq=16"},
              {MODEL ",\"model_type\":\"llama\",\"tie_word_embeddings\":true}",
               "hf:path=config.json,phase=prefill,batch=1,seq=16"},
              {MODEL ",\"model_type\":\"llama\",\"tie_word_embeddings\":false}",
               "hf:path=config.json,phase=train,batch=1,seq=16"}};

/* Runs a command that searches. It writes the file and a record, or neither. */
static bool is_written(const char *verb, const char *spec, const char *machine,
                       const char *file)
{
    remove(scratch_path(file));
    remove(scratch_path("run.h5"));
    const char *command = scratch_print(
        "%s %s -m %s --budget 3 --no-bound --force --record run.h5 --out %s", verb, spec,
        machine, file);
    const int failed = emplace_run(command);
    cr_expect_eq(emplace_has_file("run.h5"), failed == 0, "%s: %s", command, program_err);
    cr_expect_eq(emplace_has_file(file), failed == 0, "%s: %s", command, program_err);
    cr_expect(failed == 0 || program_err[0] != '\0');
    return failed == 0;
}

Test(placements, no_command_searches_and_then_refuses)
{
    static const char *const places[] = {"rtx4090x2+rtx3060", "k40x4x2"};
    static const char *const files[] = {
        "p.sh", "p.vllm.sh", "p.megatron.sh", "p.device_map.json",
        "p.py", "p.pb",      "p.json"};
    int written = 0;

    for (size_t i = 0; i < 2 * sizeof graphs / sizeof *graphs; i++) {
        const char *spec = graphs[i / 2].spec, *model = graphs[i / 2].config;
        if (model != NULL) emplace_write("config.json", model);
        const char *command = scratch_print("place %s -m %s --method random --budget 1 "
                                            "--no-bound --force --record plain.h5",
                                            spec, places[i % 2]);
        emplace_ok(command);
        for (size_t f = 0; f < sizeof files / sizeof *files; f++) {
            const bool has =
                is_written("place --method random", spec, places[i % 2], files[f]);
            cr_expect_eq(
                is_written("train --method anneal", spec, places[i % 2], files[f]), has,
                "%s of %s", files[f], spec);
            command = scratch_print("record plain.h5 --force --out %s", files[f]);
            cr_expect_eq(emplace_run(command) == 0, has, "%s of %s on %s: %s", command,
                         spec, places[i % 2], program_err);
            written += has;
        }
    }
    /* placement files of all; rnnlm's .py; llama.cpp's of decoders; vLLM's, Megatron's and maps on one host */
    cr_expect_eq(written, 8 + 2 + 2 * 2 + 2 + 1 + 2 * 3);
}

Test(placements, a_comparison_says_which_is_faster_and_which_ops_matter)
{
    static const char task[] = "rnnlm:layers=1,steps=2,units=256,batch=64 -m k40x2 ";

    emplace_ok(scratch_print("place %s -M gpu --out gpu.json --no-bound", task));
    emplace_ok(scratch_print("place %s -M cpu --out cpu.json --no-bound", task));
    json_t *o = emplace_json("compare cpu.json gpu.json --format json");
    cr_expect_str_eq(text_at(o, "faster"), "b");
    cr_expect_lt(number_at(o, "b/step_time_ns"), number_at(o, "a/step_time_ns"));
    cr_expect_gt(json_array_size(json_object_get(o, "parts")), 1);
    cr_expect_gt(number_at(o, "parts/0/without_ns"), number_at(o, "b/step_time_ns"));
    cr_expect_str_eq(text_at(o, "parts/0/to"), "gpu:0");
    emplace_prints("compare cpu.json gpu.json",
                   "B is faster by|critical path|devices over|ops that matter:|"
                   "\n  B's step  A's step  part |   ops A to B\n| cpu:0 to gpu:0\n");
    for (const char *at = program_out; *at != '\0'; at += strcspn(at, "\n") + 1)
        cr_expect_leq(strcspn(at, "\n"), 80, "%.100s", at);
    emplace_prints("compare gpu.json gpu.json", "both are as fast|0 of ");
    emplace_write("rules.yaml", HEAD "default: \"cpu:0\"\n");
    emplace_prints("compare rules.yaml gpu.json", "B is faster by");
    emplace_refuses("compare rules.yaml rules.yaml", "give --workload");
    emplace_prints("place small.pbtxt -m k40x2 -M gpu --out small.json --no-bound",
                   "step");
    emplace_refuses("compare small.json gpu.json",
                    "small.json is of the workload small.pbtxt");
}

/* The machine of an instance is in its file, and has no file of its own. */
Test(placements, placements_of_an_instance_are_compared_on_its_machine)
{
    emplace_ok("place instance.json --method gpu --out one.json");
    emplace_ok("place instance.json --method cpu --out other.json");
    emplace_prints("compare one.json other.json",
                   "instance.json on instance, runtime msr-");
}

Test(placements, records_are_compared_under_their_runtime)
{
    static const char task[] = "rnnlm:layers=1,steps=2,units=256,batch=64 -m k40x2 ";

    const double ideal_s = emplace_number(
        scratch_print("place %s -r ideal -M cpu --record i.h5 -f json", task),
        "step_time_s");
    emplace_ok(scratch_print("place %s -M gpu --record t.h5 --out g.json", task));
    json_t *o = emplace_json("compare i.h5 g.json -f json");
    cr_expect_str_eq(text_at(o, "runtime"), "ideal");
    cr_expect_float_eq(number_at(o, "a/step_time_ns") * 1e-9, ideal_s, 1e-12);
    emplace_refuses("compare i.h5 t.h5", "runtime ideal|give --runtime");
    emplace_prints("compare i.h5 t.h5 -r tf-r1.3", "runtime tf-r1.3");
}

/* A placement names its machine without a folder. */
Test(placements, a_comparison_on_a_machine_of_ones_own_asks_for_its_file)
{
    scratch_write_json(
        "own.yaml",
        "description: 'a box'\nnodes: [{name: 'socket:0'}]\n"
        "devices:\n"
        "  - {model: 'haswell-18', at: 'socket:0'}\n"
        "  - {model: 'k40', at: 'socket:0', bandwidth: '10 GB/s', latency: '10 us'}\n");
    emplace_ok("place rnnlm:layers=1,steps=2,units=256,batch=64 -m own.yaml -M gpu --out "
               "own.json --no-bound");
    emplace_refuses("compare own.json own.json",
                    "own.json is of a machine whose file --machine has to give: no "
                    "machine 'own' (did you mean ./own.yaml?)");
    emplace_prints("compare own.json own.json -m own.yaml", "both are as fast");
}

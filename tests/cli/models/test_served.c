// SPDX-License-Identifier: GPL-3.0-or-later
/* Pipelines that serve and train, in even stages and in others: do they take, hold and gain as public threads have it, within
 * 30 %, and as their closed forms say? */
#include <sys/stat.h>

#include "tests/cli/emplace.h"
#include "tests/test.h"

TestSuite(served, .init = emplace_set_up, .fini = emplace_tear_down);

/* Rules for stages of so many layers; embedding on the first, head on the last. */
static void write_stages(const char *name, const int32_t *layers, int32_t count)
{
    int32_t     at = 0;
    const char *rules = "format: \"emplace-placement-1\"\nrules:\n"
                        "  - {glob: \"*embed_tokens*\", device: \"gpu:0\"}\n";

    for (int32_t i = 0; i < count; i++) {
        const char *numbers = "";
        for (int32_t k = 0; k < layers[i]; k++)
            numbers = scratch_print("%s%s%d", numbers, k > 0 ? "|" : "", at++);
        rules = scratch_print("%s  - {regex: \"layers[.](%s)[.]\", device: \"gpu:%d\"}\n",
                              rules, numbers, i);
    }
    emplace_write(name, scratch_print("%sdefault: \"gpu:%d\"\n", rules, count - 1));
}

static void expect_within(double value, double measured, double share)
{
    cr_expect(fabs(value / measured - 1.0) < share, "%g, measured %g", value, measured);
}

/* github.com/ai-dynamo/aiconfigurator, pull request 1459: 3.15 ms a stage and 3.90 ms of the last. */
Test(served, the_head_makes_the_last_of_even_stages_the_longest)
{
    static const int32_t even[8] = {8, 8, 8, 8, 8, 8, 8, 8};

    scratch_write_json(
        "qwen.json",
        "{'model_type':'qwen3','hidden_size':5120,'intermediate_size':25600,"
        "'num_attention_heads':64,'num_hidden_layers':64,'num_key_value_heads':8,"
        "'head_dim':128,'torch_dtype':'bfloat16','vocab_size':151936,"
        "'tie_word_embeddings':false}");
    write_stages("even.yaml", even, 8);
    json_t *load =
        emplace_json("simulate hf:path=qwen.json,phase=decode,batch=64,seq=1,quant=fp8 "
                     "-m h20x8 -p even.yaml --no-bound --format json");

    expect_within(1e3 * number_at(load, "busy_s/gpu:3"), 3.15, 0.3);
    expect_within(1e3 * number_at(load, "busy_s/gpu:7"), 3.90, 0.3);
    cr_expect(number_at(load, "busy_s/gpu:7") > 1.2 * number_at(load, "busy_s/gpu:6"));
}

static double tokens_that_fit(const char *placement)
{
    return 256.0 *
           emplace_number(scratch_print("simulate hf:path=llama.json,phase=decode,"
                                        "batch=256,dtype=bf16,sample=top-p -m l4x8.yaml "
                                        "-r vllm.yaml -p %s --no-bound --fit seq "
                                        "--format json",
                                        placement),
                          "value");
}

/* github.com/vllm-project/vllm, pull request 6920: 1476 and 3078 blocks of 16 tokens. */
Test(served, fewer_layers_beside_the_head_leave_room_for_more_tokens)
{
    static const int32_t even[8] = {10, 10, 10, 10, 10, 10, 10, 10};
    static const int32_t uneven[8] = {7, 11, 11, 11, 11, 11, 11, 7};

    emplace_write("llama.json", "{\"model_type\":\"llama\",\"hidden_size\":8192,"
                                "\"intermediate_size\":28672,\"num_attention_heads\":64,"
                                "\"num_hidden_layers\":80,\"num_key_value_heads\":8,"
                                "\"torch_dtype\":\"bfloat16\",\"vocab_size\":128256,"
                                "\"tie_word_embeddings\":false}");
    cr_assert_eq(mkdir(scratch_path("models"), 0700), 0);
    emplace_write("models/l4-vllm.yaml",
                  "card:\n  peak: {fp32: \"30.3 TFLOP/s\", tf32: \"60 TFLOP/s\", bf16: "
                  "\"121 TFLOP/s\", fp16: \"121 TFLOP/s\"}\n  memory: \"24 GiB\"\n"
                  "  rate: \"300 GB/s\"\n  bus: \"PCIe 4 x16\"\n  class: \"server\"\n"
                  "gpu:\n  multiprocessors: 58\n  memory: \"19.95 GiB\"\n");
    emplace_write("l4x8.yaml",
                  "description: \"8 L4\"\nnodes:\n  - {name: \"host\"}\ndevices:\n"
                  "  - {model: \"epyc-128\", at: \"host\"}\n"
                  "  - {model: \"l4-vllm\", count: 8, at: \"host\", bandwidth: "
                  "\"25.2 GB/s\", latency: \"10 us\"}\n");
    emplace_write("vllm.yaml", "description: \"vLLM\"\nbase: \"graph-launch\"\n"
                               "gpu_context: \"1 MiB\"\ncollective_buffers: \"1 MiB\"\n");
    write_stages("even.yaml", even, 8);
    write_stages("uneven.yaml", uneven, 8);
    expect_within(tokens_that_fit("even.yaml"), 1476 * 16.0, 0.3);
    expect_within(tokens_that_fit("uneven.yaml"), 3078 * 16.0, 0.3);
}

/* github.com/pytorch/torchtitan, pull request 2113: 981 tokens a second where even stages have 761. */
Test(served, stages_that_balance_the_head_train_faster)
{
    static const char form[] =
        "simulate transformer:layers=12,hidden=4096,heads=32,kv_heads=8,inner=14336,"
        "gated=1,tied=0,vocab=128256,seq=2048,pp=4,micro_batches=8%s -m rtx3090x4 "
        "--format json";
    const double even = emplace_number(scratch_print(form, ""), "step_time_s");
    const double balanced =
        emplace_number(scratch_print(form, ",stages=4,4,3,1"), "step_time_s");

    expect_within(even / balanced, 981.0 / 761.0, 0.3);
}

Test(served, tokens_are_drawn_where_the_spec_says)
{
    scratch_write_json("small.json",
                       "{'model_type':'llama','hidden_size':64,'intermediate_size':128,"
                       "'num_attention_heads':4,'num_hidden_layers':1,"
                       "'vocab_size':1000}");
    emplace_prints("graph hf:path=small.json,phase=decode,batch=4,sample=top-p",
                   "SampleTopP");
    emplace_prints("graph hf:path=small.json,phase=decode,batch=4,sample=host",
                   "SampleToken");
    /* 33 bytes of each logit and its float32, when what the layer needed is gone */
    const double drawn = emplace_number(
        "simulate hf:path=small.json,phase=decode,batch=4096,seq=1,sample=top-p -m h20x8 "
        "-p gpu --no-bound --format json",
        "peak_bytes/gpu:0");
    const double left =
        emplace_number("simulate hf:path=small.json,phase=decode,batch=4096,seq=1 -m "
                       "h20x8 -p gpu --no-bound --format json",
                       "peak_bytes/gpu:0");
    cr_expect(drawn - left > 32.0 * 4096 * 1000);
    cr_expect(drawn - left < 37.1 * 4096 * 1000);
}

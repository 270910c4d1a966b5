// SPDX-License-Identifier: GPL-3.0-or-later
/* Models that are served: caches and weights by hand, the batch at which memory is full, the time of a token by its bytes, and
 * commands of servers that say what was planned. */
#define _POSIX_C_SOURCE 200809L
#include <sys/stat.h>
#include <unistd.h>

#include "parallel/serving/serve.h"
#include "tests/cli/emplace.h"
#include "tests/test.h"

#define GIB 1073741824.0

/* A model of Llama's kind, as its config has it. */
typedef struct {
    int32_t layers, hidden, inner, heads, kv_heads, head_size, vocabulary;
} sizes;

static const sizes llama8 = {32, 4096, 14336, 32, 8, 128, 128256};
static const sizes llama7 = {32, 4096, 11008, 32, 32, 128, 32000};

static void write_config(const char *name, const sizes *m)
{
    emplace_write(
        name, scratch_print(
                  "{\"model_type\":\"llama\",\"hidden_size\":%d,\"intermediate_size\":%d,"
                  "\"num_attention_heads\":%d,\"num_key_value_heads\":%d,"
                  "\"num_hidden_layers\":%d,\"head_dim\":%d,\"vocab_size\":%d,"
                  "\"torch_dtype\":\"bfloat16\",\"tie_word_embeddings\":false}",
                  m->hidden, m->inner, m->heads, m->kv_heads, m->layers, m->head_size,
                  m->vocabulary));
}

enum { CARDS = 8 };
#define CARD_GIB     24.0
#define PROCESS_GIB  (1411.0 / 1024.0)
#define SERVED_SHARE 0.95

/* Eight cards of 24 GiB and 300 GB/s. */
static void write_machine(void)
{
    cr_assert_eq(mkdir(scratch_path("models"), 0700), 0);
    emplace_write("models/card24.yaml",
                  "card:\n  peak: {fp32: \"30 TFLOP/s\", tf32: \"60 TFLOP/s\", bf16: "
                  "\"120 TFLOP/s\", fp16: \"120 TFLOP/s\", fp8: \"240 TFLOP/s\"}\n"
                  "  memory: \"24 GiB\"\n  rate: \"300 GB/s\"\n  bus: \"PCIe 4 x16\"\n"
                  "  class: \"server\"\ngpu:\n  multiprocessors: 58\n"
                  "  memory: \"24 GiB\"\n");
    emplace_write("cards.yaml", "description: \"8 cards\"\nnodes:\n  - {name: \"host\"}\n"
                                "devices:\n  - {model: \"epyc-128\", at: \"host\"}\n"
                                "  - {model: \"card24\", count: 8, at: \"host\", "
                                "bandwidth: \"25.2 GB/s\", latency: \"10 us\"}\n");
}

static void set_up(void)
{
    emplace_set_up();
    write_config("llama8.json", &llama8);
    write_config("llama7.json", &llama7);
    cr_assert_eq(mkdir(scratch_path("served"), 0700), 0);
    write_config("served/config.json", &llama8);
    write_machine();
}

TestSuite(serving, .init = set_up, .fini = emplace_tear_down);

static json_t *step_of(const char *spec, const char *machine)
{
    return emplace_json(scratch_print("simulate %s -m %s --format json", spec, machine));
}

static double value_of(const char *spec, const char *machine, const char *key)
{
    return number_at(step_of(spec, machine), key);
}

/* Keys and values of a rank: layers / pp, at least one head of each, seq / cp tokens. */
static double cache_bytes(const sizes *m, int32_t tp, int32_t pp, int32_t cp,
                          double bytes, double tokens)
{
    const double heads = m->kv_heads > tp ? m->kv_heads / tp : 1;

    return (double)m->layers / pp * 2.0 * heads * m->head_size * bytes * tokens / cp;
}

/* Queries, keys, values and output, the gated feed-forward part, and two norms. */
static double layer_bytes(const sizes *m, int32_t tp, double bytes)
{
    const double kv = m->kv_heads > tp ? m->kv_heads / tp : 1;
    const double heads = (double)m->heads / tp;

    return bytes * m->hidden *
               (2.0 * heads * m->head_size + 2.0 * kv * m->head_size +
                3.0 * m->inner / tp) +
           2.0 * 2.0 * m->hidden;
}

Test(serving, caches_are_cut_over_heads_layers_and_tokens)
{
    static const struct {
        const char *degrees;
        int32_t     tp, pp, cp;
        double      bytes;
    } cases[] = {
        {"tp=1", 1, 1, 1, 2},
        {"tp=2", 2, 1, 1, 2},
        {"tp=8", 8, 1, 1, 2},
        {"tp=32", 32, 1, 1, 2}, /* copies of 8 heads */
        {"tp=2,pp=4,stages=8,8,8,8", 2, 4, 1, 2},
        {"tp=2,cp=4", 2, 1, 4, 2},
        {"tp=4,cache_dtype=fp8", 4, 1, 1, 1},
        {"tp=4,cache_dtype=q8_0", 4, 1, 1, 34.0 / 32.0},
        {"tp=4,cache_dtype=q4_0", 4, 1, 1, 18.0 / 32.0},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *spec = scratch_print(
            "hf:path=llama8.json,phase=decode,batch=6,seq=4096,%s", cases[i].degrees);
        const double want = cache_bytes(&llama8, cases[i].tp, cases[i].pp, cases[i].cp,
                                        cases[i].bytes, 6.0 * 4096.0);
        const double got = value_of(spec, "h100", "cache_bytes");
        cr_expect_eq(got, want, "%s: %.0f, want %.0f", cases[i].degrees, got, want);
    }
    /* 2048 tokens, as in a spec without degrees */
    cr_expect_eq(value_of("hf:path=llama8.json,phase=decode,batch=1,tp=1", "cards.yaml",
                          "cache_bytes"),
                 cache_bytes(&llama8, 1, 1, 1, 2, 2048.0));
    /* three replicas of two sequences */
    cr_expect_eq(value_of("hf:path=llama8.json,phase=decode,batch=6,seq=4096,dp=3",
                          "h100", "cache_bytes"),
                 cache_bytes(&llama8, 1, 1, 1, 2, 2.0 * 4096.0));
}

/* 60 layers keep 512 numbers and 64 rotated ones of each token on every rank of tp. */
Test(serving, latent_caches_are_whole_on_each_rank)
{
    static const char *const degrees[] = {"tp=1", "tp=8"};

    for (size_t i = 0; i < 2; i++) {
        char spec[256];
        snprintf(spec, sizeof spec, "deepseek-v2:phase=decode,batch=3,seq=2048,%s",
                 degrees[i]);
        cr_expect_eq(value_of(spec, "h100", "cache_bytes"),
                     60.0 * (512.0 + 64.0) * 2.0 * 3.0 * 2048.0);
    }
}

Test(serving, windows_keep_their_tokens_only)
{
    scratch_write_json("window.json",
                       "{'model_type':'mistral','hidden_size':1024,"
                       "'intermediate_size':2048,'num_attention_heads':8,"
                       "'num_key_value_heads':2,'num_hidden_layers':4,'head_dim':128,"
                       "'vocab_size':1000,'sliding_window':512,'torch_dtype':'bfloat16',"
                       "'tie_word_embeddings':false}");
    cr_expect_eq(value_of("hf:path=window.json,phase=decode,batch=1,seq=8192,tp=2",
                          "h100", "cache_bytes"),
                 4.0 * 2.0 * 1.0 * 128.0 * 2.0 * 512.0);
}

/* Layers, two tables of a tp-th of the words, the last norm. */
Test(serving, weights_are_cut_over_ranks)
{
    static const int32_t tp[] = {1, 2, 8, 32};

    for (size_t i = 0; i < sizeof tp / sizeof *tp; i++) {
        char spec[128];
        snprintf(spec, sizeof spec, "hf:path=llama8.json,phase=decode,batch=1,tp=%d",
                 tp[i]);
        cr_expect_float_eq(value_of(spec, "h100", "weight_bytes"),
                           32.0 * layer_bytes(&llama8, tp[i], 2) +
                               2.0 * 128256.0 / tp[i] * 4096.0 * 2.0 + 4096.0 * 2.0,
                           1.0);
    }
}

/* 8 experts of 3 matrices in each of 32 layers: half of them on each of two ranks, whether experts or their matrices are cut. */
Test(serving, experts_are_cut_over_ep_or_etp)
{
    const double all =
        value_of("mixtral-8x7b:phase=decode,batch=1,tp=1", "h100", "weight_bytes");
    const double experts = 32.0 * 8.0 * 3.0 * 4096.0 * 14336.0 * 2.0;

    cr_expect_float_eq(
        value_of("mixtral-8x7b:phase=decode,batch=8,dp=2,ep=2", "h100", "weight_bytes"),
        all - experts / 2.0, 1.0);
    cr_expect_float_eq(value_of("mixtral-8x7b:phase=decode,batch=8,tp=4,dp=2,ep=8",
                                "h100", "weight_bytes"),
                       value_of("mixtral-8x7b:phase=decode,batch=8,tp=4,dp=2,ep=1",
                                "h100", "weight_bytes") -
                           experts / 4.0 + experts / 8.0,
                       1.0);
    cr_expect_float_eq(
        value_of("mixtral-8x7b:phase=decode,batch=8,tp=2,ep=2", "h100", "weight_bytes"),
        value_of("mixtral-8x7b:phase=decode,batch=8,tp=2", "h100", "weight_bytes"), 1.0);
}

Test(serving, quantised_weights_take_their_bytes)
{
    const double half =
        value_of("hf:path=llama8.json,phase=decode,batch=1,tp=2", "h100", "weight_bytes");
    const double fp8 = value_of("hf:path=llama8.json,phase=decode,batch=1,tp=2,quant=fp8",
                                "h100", "weight_bytes");
    const double matrices = 32.0 * (layer_bytes(&llama8, 2, 1) - 4.0 * 4096.0);

    /* a byte of each weight of a layer, and a float32 for 128 x 128 of them at most */
    cr_expect(half - fp8 <= matrices && half - fp8 > matrices * (1.0 - 5.0 / 16384.0));
}

/* AWQ: 4 bits, a scale of 16 and a zero of 4 bits for 128 weights; ModelOpt says FP8 in a file beside the config. */
Test(serving, quantised_checkpoints_take_their_bytes)
{
    static const char config[] =
        "{\"model_type\":\"llama\",\"hidden_size\":4096,\"intermediate_size\":14336,"
        "\"num_attention_heads\":32,\"num_key_value_heads\":8,\"num_hidden_layers\":32,"
        "\"head_dim\":128,\"vocab_size\":128256,\"torch_dtype\":\"float16\",\"tie_word_"
        "embeddings\":false%s}";
    const double tables = 2.0 * 128256.0 / 2.0 * 4096.0 * 2.0 + 4096.0 * 2.0;
    const double norms = 2.0 * 2.0 * 4096.0;
    const double weights = layer_bytes(&llama8, 2, 1) - norms;

    emplace_write(
        "awq.json",
        scratch_print(config,
                      ",\"quantization_config\":{\"quant_method\":\"awq\",\"bits\":4,"
                      "\"group_size\":128,\"version\":\"gemm\",\"zero_point\":true}"));
    cr_expect_float_eq(
        value_of("hf:path=awq.json,phase=decode,batch=1,tp=2", "h100", "weight_bytes"),
        32.0 * (weights * (4.0 + 20.0 / 128.0) / 8.0 + norms) + tables, 1.0);

    cr_assert_eq(mkdir(scratch_path("fp8"), 0700), 0);
    emplace_write("fp8/config.json", scratch_print(config, ""));
    scratch_write_json("fp8/hf_quant_config.json",
                       "{'producer':{'name':'modelopt'},'quantization':{"
                       "'quant_algo':'FP8','exclude_modules':['lm_head']}}");
    const double fp8 = value_of("hf:path=fp8/config.json,phase=decode,batch=1,tp=2",
                                "h100", "weight_bytes");
    cr_expect(fp8 >= 32.0 * (weights + norms) + tables);
    cr_expect(fp8 < 32.0 * (weights + norms) + tables + 1e6);
}

/* Sequences of 32768 tokens have 1 GiB of cache on a rank at least, so that activations of less than 0.3 GiB decide nothing. */
Test(serving, memory_is_full_at_the_batch_of_the_closed_form)
{
    static const struct {
        const char *degrees;
        int32_t     tp, pp;
    } cases[] = {{"tp=2", 2, 1},
                 {"tp=4", 4, 1},
                 {"pp=2,stages=16,16", 1, 2},
                 {"tp=2,pp=2,stages=16,16", 2, 2}};

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const int32_t tp = cases[i].tp, pp = cases[i].pp;
        const double  room = (SERVED_SHARE * CARD_GIB - PROCESS_GIB) * GIB;
        const double  each = cache_bytes(&llama8, tp, pp, 1, 2, 32768.0);
        /* the last stage has the head, and the first the table */
        const double weights = 32.0 / pp * layer_bytes(&llama8, tp, 2) +
                               (pp == 1 ? 2.0 : 1.0) * 128256.0 / tp * 4096.0 * 2.0;
        const int32_t most = (int32_t)floor((room - weights) / each);
        char          spec[256];
        cr_assert_eq((int32_t)floor((room - weights - 0.3 * GIB) / each), most,
                     "%s is no good case", cases[i].degrees);
        for (int32_t over = 0; over < 2; over++) {
            snprintf(spec, sizeof spec,
                     "hf:path=llama8.json,phase=decode,seq=32768,home=device,%s,batch=%d",
                     cases[i].degrees, most + over);
            json_t *step = step_of(spec, "cards.yaml");
            cr_expect(number_at(step, "activation_bytes") < 0.3 * GIB);
            cr_expect_eq(number_at(step, "largest_batch"), most, "%s: %g, want %d",
                         cases[i].degrees, number_at(step, "largest_batch"), most);
            cr_expect_eq(json_is_true(json_at(step, "feasible")), over == 0);
        }
    }
}

/* Weights that do not fit stay on the host, in whole GiB, and cross its link for every token. */
Test(serving, weights_on_the_host_cross_the_link)
{
    json_t *own = step_of("hf:path=llama8.json,phase=decode,batch=4,seq=16384,tp=1,"
                          "home=device",
                          "cards.yaml");
    json_t *left =
        step_of("hf:path=llama8.json,phase=decode,batch=4,seq=16384,tp=1", "cards.yaml");
    const double room = (SERVED_SHARE * CARD_GIB - PROCESS_GIB) * GIB;
    const double want = ceil((number_at(own, "peak_bytes") - room) / GIB);

    cr_expect(json_is_false(json_at(own, "feasible")));
    cr_expect(is_null_at(own, "step_time_s"));
    cr_expect(json_is_true(json_at(left, "feasible")));
    cr_expect_eq(number_at(left, "host_bytes"), want * GIB);
    /* eight cards have links of their own */
    cr_expect(number_at(left, "step_time_s") > want * GIB / 25.2e9);
    cr_expect(number_at(left, "step_time_s") < want * GIB / 25.2e9 + 0.15);
}

/* Weights and cache at the rate of the memory; 20.6 ms were measured with llama.cpp (github.com/ggml-org/llama.cpp, pull request 4766). */
Test(serving, a_token_takes_its_bytes_by_the_rate)
{
    const double bytes = 32.0 * layer_bytes(&llama7, 1, 2) +
                         32000.0 * 4096.0 * 2.0 /* of the table one row is read */ +
                         cache_bytes(&llama7, 1, 1, 1, 2, 128.0);
    const double least_s = bytes / 936.2e9;
    const double step_s =
        value_of("hf:path=llama7.json,phase=decode,batch=1,seq=128,tp=1", "rtx3090x4",
                 "step_time_s");

    /* the model's file assumes 0.8 of the rate, and kernels of some microseconds come to it */
    cr_expect(step_s > least_s / 0.8 && step_s < least_s / 0.7, "%g s, least %g", step_s,
              least_s);
    cr_expect(fabs(step_s / 20.6e-3 - 1.0) < 0.15, "%g s", step_s);
}

Test(serving, one_gpu_takes_what_its_graph_takes)
{
    static const char *const specs[] = {
        "phase=decode,batch=32,seq=4096", "phase=decode,batch=1,seq=512,quant=int4",
        "phase=decode,batch=8,seq=512,cache_dtype=fp8", "phase=prefill,batch=1,seq=64"};

    for (size_t i = 0; i < sizeof specs / sizeof *specs; i++) {
        char command[256], spec[256];
        snprintf(spec, sizeof spec, "hf:path=llama8.json,%s,tp=1", specs[i]);
        snprintf(command, sizeof command,
                 "simulate hf:path=llama8.json,%s -m h200x1 -p gpu --runtime "
                 "graph-launch --no-bound --format json",
                 specs[i]);
        const double graph = emplace_number(command, "step_time_s");
        const double step = value_of(spec, "h200x1", "step_time_s");
        cr_expect(fabs(step / graph - 1.0) < 1e-6, "%s: %g, graph %g", specs[i], step,
                  graph);
    }
}

/* GB200's products are 1.111 times as fast as the measured ones of a B200, and its memory is 8000 / 7700 times. */
Test(serving, kernels_have_the_rates_of_their_gpu)
{
    static const char *const specs[] = {"phase=prefill,batch=1,seq=4096",
                                        "phase=decode,batch=16,seq=4096"};

    for (size_t i = 0; i < COUNT(specs); i++) {
        const char  *spec = scratch_print("hf:path=llama8.json,tp=1,%s", specs[i]);
        const double ratio = value_of(spec, "b200", "step_time_s") /
                             value_of(spec, "gb200", "step_time_s");
        cr_expect(ratio > 8000.0 / 7700.0 && ratio < 1.111, "%s: %g", spec, ratio);
    }
}

/* Half of the bytes of 32 caches of 8192 tokens leave when they have 8 bits; the H200's model has 4290 GB/s. */
Test(serving, a_cache_of_8_bits_takes_half_the_time)
{
    const double half =
        value_of("hf:path=llama8.json,phase=decode,batch=32,seq=8192,tp=1", "h200x1",
                 "step_time_s");
    const double byte = value_of(
        "hf:path=llama8.json,phase=decode,batch=32,seq=8192,tp=1,cache_dtype=fp8",
        "h200x1", "step_time_s");
    const double saved = cache_bytes(&llama8, 1, 1, 1, 1, 32.0 * 8192.0);

    cr_expect(fabs((half - byte) / (saved / 4290e9) - 1.0) < 0.1, "%g s, by hand %g s",
              half - byte, saved / 4290e9);
}

/* One sequence passes the stages in turn; eight keep four stages busy, so that the longest one decides. */
Test(serving, pipelines_take_the_sum_or_the_longest_stage)
{
    const double one = value_of("hf:path=llama8.json,phase=decode,batch=1,seq=1024,tp=1",
                                "h100", "step_time_s");
    const double piped = value_of(
        "hf:path=llama8.json,phase=decode,batch=1,seq=1024,pp=4", "h100", "step_time_s");
    const double eight = value_of(
        "hf:path=llama8.json,phase=decode,batch=8,seq=1024,pp=4", "h100", "step_time_s");

    /* three messages and three launches more */
    cr_expect(piped > one && piped < one + 3.0 * (20e-6 + 10e-6), "%g, %g", piped, one);
    /* the last stage has the head as well, which counts as a layer when layers are cut */
    cr_expect(eight > piped && eight < 1.35 * piped, "%g, %g", eight, piped);
}

/* No cut of 9 layers into 3 stages is faster than the one that is chosen, and none has room for more sequences. The head weighs
 * as much as some layers. */
Test(serving, stages_are_cut_as_well_as_any)
{
    static const sizes small = {9, 2048, 5632, 16, 8, 128, 128256};
    static const char step[] = "hf:path=small.json,phase=decode,batch=6,seq=32768,pp=3%s";
    static const char batch[] = "plan hf:path=small.json,phase=decode,seq=32768,pp=3%s "
                                "-m cards.yaml --gpus 3 --objective batch --format json";
    double            shortest = INFINITY, most = 0.0, even;
    char              command[256], cut[64];

    write_config("small.json", &small);
    for (int32_t a = 1; a <= 5; a++)
        for (int32_t b = 2; a + b <= 8 && b <= 5; b++) {
            snprintf(cut, sizeof cut, ",stages=%d,%d,%d", a, b, 9 - a - b);
            snprintf(command, sizeof command, step, cut);
            shortest = fmin(shortest, value_of(command, "cards.yaml", "step_time_s"));
            most = fmax(most, value_of(command, "cards.yaml", "largest_batch"));
        }
    snprintf(command, sizeof command, step, "");
    cr_expect_float_eq(value_of(command, "cards.yaml", "step_time_s"), shortest,
                       1e-9 * shortest);
    snprintf(command, sizeof command, step, ",stages=3,3,3");
    even = value_of(command, "cards.yaml", "step_time_s");
    cr_expect(shortest < 0.99 * even, "%g, even %g", shortest, even);
    snprintf(command, sizeof command, batch, "");
    cr_expect_eq(emplace_number(command, "rows/0/largest_batch"), most);
}

/* A dense layer has two sums of [batch, hidden] among the ranks of tp. */
Test(serving, ranks_of_tp_halve_the_bytes_and_pay_for_sums)
{
    json_t *one =
        step_of("hf:path=llama8.json,phase=decode,batch=1,seq=1024,tp=1", "dgx-h100");
    json_t *two =
        step_of("hf:path=llama8.json,phase=decode,batch=1,seq=1024,tp=2", "dgx-h100");
    const double sums_s = number_at(two, "exposed_s");
    const double work_s = number_at(two, "step_time_s") - sums_s;

    cr_expect_eq(number_at(one, "exposed_s"), 0.0);
    cr_expect(sums_s > 64 * 3e-6 && sums_s < 66 * 40e-6, "%g", sums_s);
    cr_expect(work_s < 0.7 * number_at(one, "step_time_s"));
    cr_expect(work_s > 0.5 * number_at(one, "step_time_s"));
}

Test(serving, goals_order_the_ways)
{
    static const char spec[] = "plan hf:path=llama8.json,phase=decode,seq=16384%s -m "
                               "cards.yaml --format json %s";
    json_t           *plan;

    plan = emplace_json(scratch_print(spec, ",batch=4", ""));
    const size_t rows = json_array_size(json_at(plan, "rows"));
    cr_assert(rows > 6);
    for (size_t i = 1; i < rows; i++) {
        const char *a = scratch_print("rows/%zu/step_s", i - 1);
        const char *b = scratch_print("rows/%zu/step_s", i);
        if (is_null_at(plan, b)) break;
        cr_expect(number_at(plan, a) <= number_at(plan, b));
    }

    plan = emplace_json(scratch_print(spec, "", "--objective batch"));
    const double most = number_at(plan, "rows/0/batch");
    cr_expect_eq(most, number_at(plan, "rows/0/largest_batch"));
    cr_expect(most >= number_at(plan, "rows/1/batch"));

    plan = emplace_json(scratch_print(spec, "", "--objective tokens"));
    const double rate = number_at(plan, "rows/0/tokens_per_s");
    cr_expect(rate >= number_at(plan, "rows/1/tokens_per_s"));
    cr_expect(number_at(plan, "rows/0/batch") <= most);
    cr_expect_float_eq(rate,
                       number_at(plan, "rows/0/batch") / number_at(plan, "rows/0/step_s"),
                       1e-6 * rate);
    /* a batch that is given is a limit, also where there are more replicas */
    plan = emplace_json(scratch_print(spec, ",batch=3", "--objective tokens"));
    cr_expect_eq(number_at(plan, "rows/0/batch"), 3);
    for (size_t i = 0; i < json_array_size(json_at(plan, "rows")); i++) {
        if (is_null_at(plan, scratch_print("rows/%zu/step_s", i))) break;
        cr_expect_leq(number_at(plan, scratch_print("rows/%zu/batch", i)), 3);
        cr_expect_leq(number_at(plan, scratch_print("rows/%zu/dp", i)), 3);
    }
}

static const char *output_of(const char *arguments)
{
    emplace_ok(arguments);
    return scratch_print("%s", program_out);
}

static const char *option_of(char value[64], const char *command, const char *option)
{
    const char *at;

    const char *wanted = scratch_print(" %s ", option);
    at = strstr(command, wanted);
    if (at == NULL || sscanf(at + strlen(wanted), "%63s", value) != 1) return NULL;
    return value;
}

static double number_of(const char *command, const char *option)
{
    char value[64];

    return option_of(value, command, option) != NULL ? atof(value) : NAN;
}

/* Options of vLLM 0.27 that a plan may name. */
static void expect_options_of_vllm(const char *command)
{
    static const char known[] =
        " --tensor-parallel-size --pipeline-parallel-size --data-parallel-size "
        "--enable-expert-parallel --max-model-len --max-num-seqs "
        "--max-num-batched-tokens --gpu-memory-utilization --quantization "
        "--kv-cache-dtype --cpu-offload-gb ";

    for (const char *at = strstr(command, " --"); at != NULL;
         at = strstr(at + 1, " --")) {
        char name[64], padded[80];
        cr_assert_eq(sscanf(at, "%63s", name), 1);
        snprintf(padded, sizeof padded, " %s ", name);
        cr_expect_not_null(strstr(known, padded), "%s in %s", name, command);
    }
}

Test(serving, a_command_of_vllm_says_what_was_planned)
{
    const char *command =
        output_of("plan hf:path=served/config.json,phase=decode,seq=16384,tp=2,"
                  "pp=4,stages=8,8,8,8,batch=24,quant=fp8,cache_dtype=fp8 -m cards.yaml "
                  "--form vllm");
    char value[64];

    cr_expect(strncmp(command, "vllm serve served ", 18) == 0, "%s", command);
    expect_options_of_vllm(command);
    cr_expect_eq(number_of(command, "--tensor-parallel-size") *
                     number_of(command, "--pipeline-parallel-size"),
                 CARDS);
    cr_expect_eq(number_of(command, "--max-model-len"), 16384);
    cr_expect_eq(number_of(command, "--max-num-seqs"), 24);
    cr_expect_str_eq(option_of(value, command, "--kv-cache-dtype"), "fp8");
    cr_expect_str_eq(option_of(value, command, "--quantization"), "fp8");
    /* the shards of the command fit into the share of the memory that it gives */
    const double bytes =
        32.0 / 4.0 * layer_bytes(&llama8, 2, 1) + 128256.0 / 2.0 * 4096.0 * 2.0 +
        cache_bytes(&llama8, 2, 4, 1, 1, 24.0 * number_of(command, "--max-model-len"));
    cr_expect(bytes <= number_of(command, "--gpu-memory-utilization") * CARD_GIB * GIB);
    cr_expect(number_of(command, "--gpu-memory-utilization") <= SERVED_SHARE + 1e-9);
}

Test(serving, commands_of_vllm_have_stages_experts_replicas_and_hosts)
{
    const char *command = output_of(
        "plan hf:path=served/config.json,phase=decode,pp=5,batch=5 -m h100 --form vllm");
    int layers[5];

    cr_assert_eq(sscanf(command, "VLLM_PP_LAYER_PARTITION=%d,%d,%d,%d,%d vllm serve",
                        &layers[0], &layers[1], &layers[2], &layers[3], &layers[4]),
                 5, "%s", command);
    cr_expect_eq(layers[0] + layers[1] + layers[2] + layers[3] + layers[4], 32);

    command = output_of(
        "plan mixtral-8x7b:phase=decode,tp=2,ep=8,dp=4,batch=16 -m dgx-h100 --form vllm");
    expect_options_of_vllm(command);
    cr_expect(strncmp(command, "vllm serve MODEL ", 17) == 0, "%s", command);
    cr_expect_not_null(strstr(command, " --enable-expert-parallel"));
    cr_expect_eq(number_of(command, "--data-parallel-size"), 4);
    cr_expect_eq(number_of(command, "--max-num-seqs"), 4);

    command = output_of("plan hf:path=served/config.json,phase=decode,tp=4,batch=16 -m "
                        "dgx-h100 --gpus 8 --form vllm");
    cr_expect_not_null(strstr(command, "# one of 2 servers, each on 4 GPUs of its own"));
    cr_expect_null(strstr(command, "--data-parallel-size"));

    cr_assert_eq(symlink("served", scratch_path("my served")), 0);
    command = output_of(
        "plan 'hf:path=my served/config.json,phase=decode,batch=1' -m h100 --gpus 1 "
        "--form vllm");
    cr_expect(strncmp(command, "vllm serve 'my served' ", 23) == 0, "%s", command);

    command =
        output_of("plan hf:path=served/config.json,phase=decode,tp=1,batch=4,seq=16384 "
                  "-m cards.yaml --gpus 1 --form vllm");
    cr_expect_eq(number_of(command, "--cpu-offload-gb") * GIB,
                 value_of("hf:path=llama8.json,phase=decode,tp=1,batch=4,seq=16384",
                          "cards.yaml", "host_bytes"));
}

/* 1536 over 8 ranks is no multiple of 128; whole experts are not cut. */
Test(serving, fp8_tiles_are_not_cut)
{
    scratch_write_json(
        "tiles.json",
        "{'model_type':'qwen3_moe','hidden_size':4096,'head_dim':128,"
        "'intermediate_size':12288,'moe_intermediate_size':1536,'num_attention_heads':64,"
        "'num_key_value_heads':4,'num_hidden_layers':4,'num_experts':128,"
        "'num_experts_per_tok':8,'decoder_sparse_step':1,'mlp_only_layers':[],"
        "'norm_topk_prob':true,'vocab_size':151936,'torch_dtype':'bfloat16',"
        "'tie_word_embeddings':false,'quantization_config':{'quant_method':'fp8',"
        "'weight_block_size':[128,128]}}");
    emplace_refuses(
        "plan hf:path=tiles.json,phase=decode,tp=8,ep=1 -m dgx-h100 --form vllm",
        "inner size of 1536 over 8 ranks is 192|whole experts");
    const char *command =
        output_of("plan hf:path=tiles.json,phase=decode,tp=8 -m dgx-h100 --form vllm");
    cr_expect_not_null(strstr(command, " --enable-expert-parallel"));
}

/* The command has all layers on GPUs, and the context and the cache of the spec. */
Test(serving, a_command_of_llama_cpp_says_where_layers_are)
{
    const char *command =
        output_of("plan hf:path=llama8.json,phase=decode,batch=2,seq=8192,"
                  "quant=q4_0,cache_dtype=q8_0 -m rtx4090x2+rtx3060 --form "
                  "llama.cpp");
    char value[64];
    int  split[3] = {0, 0, 0};

    cr_expect(strncmp(command, "llama-server -m MODEL.gguf ", 27) == 0, "%s", command);
    cr_expect_eq(number_of(command, "-c"), 2 * 8192);
    cr_expect_eq(number_of(command, "-np"), 2);
    cr_expect_str_eq(option_of(value, command, "-ctk"), "q8_0");
    cr_expect_str_eq(option_of(value, command, "-ctv"), "q8_0");
    cr_expect_str_eq(option_of(value, command, "-fa"), "on");
    cr_expect_eq(number_of(command, "-ngl"), 33);
    if (option_of(value, command, "--tensor-split") != NULL) {
        sscanf(value, "%d,%d,%d", &split[0], &split[1], &split[2]);
        cr_expect_eq(split[0] + split[1] + split[2], 33);
    }
    cr_expect_null(strstr(command, "--override-tensor"));
}

Test(serving, experts_that_do_not_fit_are_on_the_cpu)
{
    scratch_write_json("card.yaml", "description: 'a card'\nnodes:\n  - {name: 'host'}\n"
                                    "devices:\n  - {model: 'ryzen-16', at: 'host'}\n"
                                    "  - {model: 'rtx3060', at: 'host'}\n");
    const char *command =
        output_of("plan mixtral-8x7b:phase=decode,batch=1,seq=4096,quant=q4_0 -m "
                  "card.yaml --form llama.cpp");
    const double on_cpu = number_of(command, "--n-cpu-moe");
    /* 4.5 bits a weight; what is left on the 12 GB card fits, and one layer's experts more would not */
    const double experts = 8.0 * 3.0 * 4096.0 * 14336.0 * 4.5 / 8.0;
    const double rest =
        32.0 * (2.0 * 4096.0 * 4096.0 + 2.0 * 4096.0 * 1024.0) * 4.5 / 8.0 +
        32000.0 * 4096.0 * 6.6 / 8.0 + 32.0 * 2 * 8 * 128 * 2.0 * 4096.0;

    cr_expect_eq(number_of(command, "-ngl"), 33);
    cr_expect(on_cpu > 0 && on_cpu < 32, "%s", command);
    cr_expect((32.0 - on_cpu) * experts + rest < 12e9, "%s", command);
    cr_expect((32.0 - on_cpu + 3.0) * experts + rest > 11e9, "%s", command);
}

Test(serving, what_cannot_be_is_refused)
{
    static const char *const cases[][2] = {
        {"plan hf:path=llama8.json,phase=decode,tp=3 -m cards.yaml --gpus 3 --form vllm",
         "tp=3 does not divide the query heads, 32; tp=2 does"},
        {"plan hf:path=llama8.json,phase=decode,cp=2 -m cards.yaml --form vllm",
         "vLLM's ranks that share the cache|want cp=1"},
        {"plan hf:path=llama8.json,phase=decode,quant=int4 -m cards.yaml --form vllm",
         "vLLM does not make weights of quant=int4|quant=fp8"},
        {"plan hf:path=llama8.json,phase=decode,cache_dtype=q8_0 -m cards.yaml --form "
         "vllm",
         "vLLM has no cache of cache_dtype=q8_0"},
        {"place hf:path=llama8.json,phase=decode,cache_dtype=q8_0 -m cards.yaml --out "
         "x.vllm.sh",
         "vLLM has no cache of cache_dtype=q8_0"},
        {"plan mixtral-8x7b:phase=decode,tp=8,ep=2 -m dgx-h100 --form vllm",
         "all tp x dp = 8 ranks|ep=2; want ep=1 or ep=8"},
        {"plan hf:path=llama8.json,phase=decode,cache_dtype=fp8 -m h200x1 --form "
         "llama.cpp",
         "llama.cpp has no cache of cache_dtype=fp8"},
        {"plan llama3-70b:tp=2 -m b200x8 --form vllm", "phase=decode"},
        {"plan llama3-70b:tp=2 -m b200x8 --objective tokens", "phase=decode"},
        {"plan hf:path=llama8.json,phase=decode -m cards.yaml --form megatron",
         "train models|--form vllm or llama.cpp"},
        {"plan hf:path=llama8.json,phase=decode -m rtx4090x2+rtx3060",
         "several models|--form llama.cpp"},
        {"plan hf:path=llama8.json,phase=decode,zero=2 -m cards.yaml",
         "zero is a key of training"},
        {"plan hf:path=llama8.json,quant=fp8 -m cards.yaml", "phase=decode"},
        {"plan hf:path=llama8.json,phase=decode,ep=2,tp=2 -m cards.yaml",
         "no experts; want ep=1"},
        {"plan hf:path=llama8.json,phase=decode,batch=100000,seq=131072 -m cards.yaml",
         "no way to serve it on 8 GPUs fits|of keys and values"},
        {"simulate hf:path=llama8.json,phase=decode,dp=4,batch=2 -m cards.yaml",
         "dp=4 replicas and a batch of 2; want dp=2"},
        {"simulate hf:path=llama8.json,phase=decode,tp=2,batch=2000000 -m cards.yaml",
         "a batch of 2000000 sequences, want at most 1048576"},
        {"plan hf:path=llama8.json,batch=32,seq=128,batch=3 -m cards.yaml",
         "batch is given twice"},
        {"plan hf:path=other.json,tp=2,path=llama8.json -m cards.yaml",
         "path is given twice"},
        {"plan llama3-8b:tp=8,layers=2,layers=4 -m b200x8", "layers is given twice"},
        {"plan layers:path=llama8.json -m b200x8", "path behind hf: only"},
        {"simulate hf:path=llama8.json,pp=2,stages=16,16,stages=12,20 -m cards.yaml",
         "stages is given twice"},
        {"plan model.gguf -m h200x1 --form llama.cpp --gpus 2", "leave out --gpus"},
        {"plan model.gguf -m h200x1", "model.gguf names a GGUF file|--form llama.cpp"},
        {"plan llama3-70b --form gguf -m b200x8", "--form gguf is none of"},
        {"graph hf:path=llama8.json,phase=train,cache_dtype=fp8", "phase=decode"},
        {"plan hf:path=llama8.json,phase=decode -m cards.yaml --all-ranks",
         "--all-ranks are of training steps"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        emplace_refuses(cases[i][0], cases[i][1]);
    emplace_prints("plan llama3-70b:batch=128 -m b200x8 --form megatron",
                   "--tensor-model-parallel-size");
}

Test(serving_library, survives_a_lack_of_memory, .fini = expect_all_freed)
{
    static const char *const specs[] = {"mixtral-8x7b:layers=1,phase=decode,dp=2,ep=2",
                                        "mixtral-8x7b:layers=2,phase=decode,pp=2"};
    emp_cluster             *cluster = NULL;
    emp_parallel_spec        spec = {0};
    emp_serving_ways         ways = {0};

    ASSERT_OK(emp_cluster_load(&cluster, "h100", &err));
    for (size_t i = 0; i < sizeof specs / sizeof *specs; i++) {
        SURVIVES_EVERY_ALLOCATION_FAILURE(
            emp_parallel_spec_read(&spec, specs[i], NULL),
            (emp_parallel_spec_clear(&spec), spec = (emp_parallel_spec){0}));
        SURVIVES_EVERY_ALLOCATION_FAILURE(
            emp_serving_ways_find(&ways, &spec, cluster, 2, EMP_SERVING_STEP, NULL),
            emp_serving_ways_clear(&ways));
        cr_expect(ways.feasible >= 1);
        emp_serving_ways_clear(&ways);
        emp_parallel_spec_clear(&spec);
        spec = (emp_parallel_spec){0};
    }
    emp_cluster_destroy(cluster);
}

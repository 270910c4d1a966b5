// SPDX-License-Identifier: GPL-3.0-or-later
/* Weights and optimizers whose home is a host: do steps agree with closed forms (bytes over the link, compute hidden or not),
 * and is the lower bound below them? */
#include "tests/cli/emplace.h"
#include "tests/test.h"

TestSuite(homes, .init = emplace_set_up, .fini = emplace_tear_down);

/* An encoder of 30 layers, 12 GB of matrices: a card of 12 GB cannot hold them. */
enum { HIDDEN = 4096, LAYERS = 30 };
static const double layer_bytes = 12.0 * HIDDEN * HIDDEN * 2.0,
                    pooler_bytes = 1.0 * HIDDEN * HIDDEN * 2.0, latency = 10e-6;

static void write_machine(const char *bandwidth)
{
    emplace_write("card.yaml",
                  scratch_print("description: \"a card in a desktop computer\"\nnodes:\n"
                                "  - {name: \"host\"}\ndevices:\n"
                                "  - {model: \"ryzen-16\", at: \"host\"}\n"
                                "  - {model: \"rtx3060\", at: \"host\", bandwidth: "
                                "\"%s\", latency: \"10 us\"}\n",
                                bandwidth));
}

static void write_encoder(void)
{
    scratch_write_json(
        "encoder.json",
        "{'model_type':'bert','architectures':['BertModel'],'hidden_size':4096,"
        "'num_hidden_layers':30,'num_attention_heads':32,'intermediate_size':16384,"
        "'hidden_act':'gelu','vocab_size':30522,'max_position_embeddings':512,"
        "'type_vocab_size':2,'torch_dtype':'float16'}");
}

static void write_decoder(void)
{
    scratch_write_json(
        "llama.json",
        "{'model_type':'llama','hidden_size':4096,'intermediate_size':11008,"
        "'num_attention_heads':32,'num_hidden_layers':8,'num_key_value_heads':32,"
        "'torch_dtype':'bfloat16','vocab_size':8000,'tie_word_embeddings':false}");
}

static json_t *simulate(const char *spec)
{
    return emplace_json(scratch_print(
        "simulate %s -m card.yaml -p gpu -r graph-launch --format json", spec));
}

static void expect_near(const json_t *step, double closed_form, double share)
{
    const double seconds = number_at(step, "step_time_s");

    cr_expect(fabs(seconds / closed_form - 1.0) < share, "%g s, closed form %g s",
              seconds, closed_form);
    cr_expect(number_at(step, "lower_bound_s") <= seconds);
    cr_expect(number_at(step, "lower_bound_s") > 0.0);
}

Test(homes, an_encoder_that_the_link_keeps_waiting_takes_the_time_of_its_bytes)
{
    write_encoder();
    write_machine("10 GB/s");
    json_t *step =
        simulate("hf:path=encoder.json,phase=prefill,batch=1,seq=128,home=host");
    const double bytes = LAYERS * layer_bytes + pooler_bytes;

    cr_expect(json_is_true(json_at(step, "feasible")));
    cr_expect(fabs(number_at(step, "traffic_bytes") / bytes - 1.0) < 0.001);
    expect_near(step, bytes / 10e9 + 6 * LAYERS * latency, 0.03);
    /* buffers of two layers, and activations */
    cr_expect(number_at(step, "peak_bytes/gpu:0") < 2.2 * layer_bytes);
    cr_expect(number_at(step, "peak_bytes/gpu:0") > 1.8 * layer_bytes);
}

Test(homes, an_encoder_that_computes_for_longer_hides_its_copies)
{
    write_encoder();
    write_machine("25 GB/s");
    json_t *held = simulate("hf:path=encoder.json,phase=prefill,batch=8,seq=512");
    json_t *step =
        simulate("hf:path=encoder.json,phase=prefill,batch=8,seq=512,home=host");
    json_t *serial =
        simulate("hf:path=encoder.json,phase=prefill,batch=8,seq=512,home=host,ahead=0");
    const double busy = number_at(held, "busy_s/gpu:0");

    cr_expect(json_is_false(json_at(held, "feasible")));
    expect_near(step, busy + layer_bytes / 25e9, 0.03);
    expect_near(serial,
                busy + (LAYERS * layer_bytes + pooler_bytes) / 25e9 +
                    6 * LAYERS * 2 * latency,
                0.03);
}

/* A card that cannot hold the weights streams them in less time than the bound of those that hold theirs, which says so; the
 * bound of home=any covers both. */
Test(homes, a_bound_says_whether_it_covers_streaming)
{
#define ENCODER "hf:path=encoder.json,phase=prefill,batch=8,seq=512"
#define ON      " -m card.yaml -r graph-launch"
    write_encoder();
    write_machine("25 GB/s");
    json_t *step = simulate(ENCODER ",home=host");
    json_t *held = emplace_json("bound " ENCODER ON " --format json");
    json_t *any = emplace_json("bound " ENCODER ",home=any" ON " --format json");
    json_t *small =
        emplace_json("bound hf:path=encoder.json,phase=prefill,batch=1,seq=64,home=any" ON
                     " --format json");

    cr_expect(number_at(step, "step_time_s") < number_at(held, "lower_bound_s"));
    cr_expect(json_is_false(json_at(held, "covers_homes")));
    cr_expect(number_at(any, "lower_bound_s") <= number_at(step, "step_time_s"));
    cr_expect(json_is_true(json_at(any, "covers_homes")));
    cr_expect(json_is_true(json_at(small, "covers_homes")));
    emplace_prints("bound " ENCODER ON,
                   "Bounds are for weights on the device that reads them; home=any");
    emplace_prints("simulate " ENCODER ON " -p gpu",
                   "for weights on the device that reads them");
#undef ON
#undef ENCODER
}

Test(homes, a_placement_chooses_the_home_of_each_matrix)
{
    write_encoder();
    write_machine("10 GB/s");
    scratch_write_json(
        "half.yaml",
        "format: 'emplace-placement-1'\nrules:\n"
        "  - {regex: 'layer[.](1[5-9]|2[0-9])[.].*[.]weight$', device: 'cpu:0'}\n"
        "default: 'gpu:0'\n");
    json_t *step = emplace_json(
        "simulate hf:path=encoder.json,phase=prefill,batch=1,seq=128,home=any -m "
        "card.yaml -p half.yaml -r graph-launch --format json");

    cr_expect(json_is_true(json_at(step, "feasible")));
    cr_expect(fabs(number_at(step, "traffic_bytes") / (15 * layer_bytes) - 1.0) < 0.001);
    cr_expect(number_at(step, "peak_bytes/gpu:0") > 15 * layer_bytes);
    /* two layers more have buffers */
    cr_expect(number_at(step, "peak_bytes/gpu:0") < 18 * layer_bytes);
}

Test(homes, a_method_chooses_the_home_of_each_matrix)
{
    write_encoder();
    write_machine("10 GB/s");
    emplace_ok("place hf:path=encoder.json,phase=prefill,batch=1,seq=128 -m card.yaml "
               "-r graph-launch --decide devices,home --method m-etf --out best.json");
    json_t *chosen = emplace_json(
        "simulate hf:path=encoder.json,phase=prefill,batch=1,seq=128,home=any "
        "-m card.yaml -r graph-launch -p best.json --format json");

    json_t *streamed =
        simulate("hf:path=encoder.json,phase=prefill,batch=1,seq=128,home=host");
    cr_expect(json_is_true(json_at(chosen, "feasible")));
    cr_expect(number_at(chosen, "step_time_s") < number_at(streamed, "step_time_s"));
    cr_expect(number_at(chosen, "lower_bound_s") <= number_at(chosen, "step_time_s"));
    emplace_refuses("place nmt:layers=2 -m k40x2 --method gpu --decide devices,home",
                    "--decide devices,home is of an hf: spec without home=");
    emplace_refuses("place nmt:layers=2 -m k40x2 --method gpu --decide home",
                    "devices,order,fusion and devices,home");
}

/* llama.cpp is given the matrices that stay on the CPU; what is on the card needs no option. */
Test(homes, options_of_llama_cpp_leave_matrices_on_the_host)
{
    write_decoder();
    write_machine("10 GB/s");
    emplace_ok("place hf:path=llama.json,phase=prefill,batch=1,seq=128,home=host "
               "-m card.yaml --method gpu --out host.sh");
    emplace_ok("place hf:path=llama.json,phase=prefill,batch=1,seq=128,home=any "
               "-m card.yaml --method gpu --out any.sh");
    emplace_expect_file("host.sh", "-ngl 9|--override-tensor|attn_q|ffn_down|=CPU");
    emplace_expect_file("any.sh", "exec \"$@\" --device CUDA0 -ngl 9\n");
}

/* vLLM is given the step's sequences and tokens, and the GiB of weights that a card leaves to its host: as many as the host holds. */
Test(homes, options_of_vllm_leave_as_many_bytes_on_the_host)
{
    scratch_write_json(
        "big.json",
        "{'model_type':'llama','hidden_size':4096,'intermediate_size':11008,"
        "'num_attention_heads':32,'num_hidden_layers':40,'num_key_value_heads':32,"
        "'torch_dtype':'bfloat16','vocab_size':8000,'tie_word_embeddings':false}");
    write_machine("10 GB/s");
    json_t *found = emplace_json("place hf:path=big.json,phase=decode,batch=3,seq=512 -m "
                                 "card.yaml -r graph-launch --decide devices,home "
                                 "--method m-etf --out best.vllm.sh --format json");

    cr_expect(json_is_true(json_at(found, "feasible")));
    cr_expect(number_at(found, "peak_bytes/cpu:0") > 4e9);
    emplace_expect_file(
        "best.vllm.sh",
        scratch_print("--max-num-seqs 3 --max-model-len 512 --cpu-offload-gb %.2f",
                      number_at(found, "peak_bytes/cpu:0") / 1073741824.0));
}

Test(homes, each_micro_batch_streams_the_weights_again)
{
    static const char config[] =
        "{\"model_type\":\"llama\",\"hidden_size\":1024,\"intermediate_size\":4096,"
        "\"num_attention_heads\":8,\"num_hidden_layers\":4,\"vocab_size\":1000,"
        "\"torch_dtype\":\"float16\",\"tie_word_embeddings\":true}";

    emplace_write("decoder.json", config);
    write_machine("10 GB/s");
    const double layers = 4 * (4.0 * 1024 * 1024 + 3.0 * 1024 * 4096) * 2.0,
                 head = 1000.0 * 1024 * 2.0,
                 unread = (2.0 * 1024 * 1024 + 3.0 * 1024 * 4096) * 2.0;
    for (int32_t rounds = 1; rounds <= 4; rounds *= 2) {
        json_t *step = simulate(scratch_print(
            "hf:path=decoder.json,phase=prefill,batch=1,seq=512,ubatch=%d,home=host",
            512 / rounds));
        /* and the rows of the table, 2 KiB a token; the last layer of a micro-batch that is not the last gives keys and
         * values only */
        const double bytes =
            rounds * layers - (rounds - 1) * unread + head + 512 * 2048.0;
        cr_expect(fabs(number_at(step, "traffic_bytes") / bytes - 1.0) < 0.001);
    }
}

/* Mixtral by llama.cpp, all weights in host memory, one micro-batch of 1024 tokens: 4.23 s were measured (pull request 6083 of
 * github.com/ggml-org/llama.cpp), with 19.0 GiB of weights; today's q3_k_l has 22.6. */
Test(homes, mixtral_streams_its_weights_as_llama_cpp_does)
{
    scratch_write_json("mixtral.json",
                       "{'model_type':'mixtral','hidden_size':4096,"
                       "'intermediate_size':14336,'num_attention_heads':32,"
                       "'num_hidden_layers':32,'num_key_value_heads':8,"
                       "'num_local_experts':8,'num_experts_per_tok':2,'vocab_size':32000,"
                       "'torch_dtype':'bfloat16'}");
    write_machine("23.9 GB/s");
    json_t *step = emplace_json(
        "simulate "
        "hf:path=mixtral.json,phase=prefill,batch=1,seq=1024,quant=q3_k_l,sample=host,"
        "home=host,ahead=0 -m card.yaml -p gpu -r llama-cpp --format json");

    cr_expect(fabs(number_at(step, "step_time_s") / 4.23 - 1.0) < 0.3);
    cr_expect(number_at(step, "lower_bound_s") < number_at(step, "step_time_s"));
}

/* Keys and values of 8 layers, 8 sequences of 2048 tokens, 4096 numbers of 2 bytes each. */
static const double cache_bytes = 2.0 * 8 * 8 * 2048 * 4096 * 2;

/* A card reads the cache over its link: the time of its bytes on a slow link, the kernels and a layer's cache on a fast one, and
 * with ahead=0 the sum. Buffers of two layers are on the card. */
Test(homes, a_cache_on_a_host_takes_the_time_of_its_bytes)
{
#define DECODE "hf:path=llama.json,phase=decode,batch=8,seq=2048"
    write_decoder();
    write_machine("10 GB/s");
    json_t *held = simulate(DECODE);
    json_t *slow = simulate(DECODE ",cache=host");
    json_t *serial = simulate(DECODE ",cache=host,ahead=0");
    write_machine("400 GB/s");
    json_t      *fast = simulate(DECODE ",cache=host");
    const double busy = number_at(held, "busy_s/gpu:0");

    expect_near(slow, cache_bytes / 10e9, 0.03);
    expect_near(serial, busy + cache_bytes / 10e9, 0.03);
    expect_near(fast, busy + cache_bytes / 8 / 400e9, 0.03);
    cr_expect(fabs(number_at(slow, "traffic_bytes") / cache_bytes - 1.0) < 0.001);
    cr_expect(fabs(number_at(slow, "peak_bytes/cpu:0") / cache_bytes - 1.0) < 0.001);
    cr_expect(
        fabs((number_at(held, "peak_bytes/gpu:0") - number_at(slow, "peak_bytes/gpu:0")) /
                 (cache_bytes * 6 / 8) -
             1.0) < 0.03);
#undef DECODE
}

/* A prompt writes its keys and values to the host, and reads none of them. */
Test(homes, a_prompt_fills_the_cache_of_a_host)
{
    write_decoder();
    write_machine("25 GB/s");
    json_t *held = simulate("hf:path=llama.json,phase=prefill,batch=8,seq=2048");
    json_t *step =
        simulate("hf:path=llama.json,phase=prefill,batch=8,seq=2048,cache=host");

    cr_expect(fabs(number_at(step, "traffic_bytes") / cache_bytes - 1.0) < 0.001);
    expect_near(step, number_at(held, "step_time_s"), 0.03);
    emplace_refuses("graph hf:path=llama.json,phase=train,cache=host",
                    "cache=host keeps keys and values on a host: it needs phase=prefill");
}

/* Bytes that the update of a parameter moves in host memory, at 4 x 16.6 GB/s: three states twice, a gradient and a weight. */
static const double parameters =
                        2.0 * 8000 * 4096 + 8 * (4.0 * 4096 * 4096 + 3.0 * 4096 * 11008),
                    host_bytes = 28.0, host_rate = 4 * 16.6e9;

Test(homes, an_optimizer_on_a_host_takes_the_time_of_its_memory)
{
    write_decoder();
    write_machine("25 GB/s");
    json_t *held = simulate("hf:path=llama.json,phase=train,batch=1,seq=1024");
    json_t *step =
        simulate("hf:path=llama.json,phase=train,batch=1,seq=1024,update=host");
    const double update = parameters * host_bytes / host_rate;

    /* gradients leave while the backward pass runs, and weights come back while others are updated */
    cr_expect(json_is_false(json_at(held, "feasible")));
    cr_expect(json_is_true(json_at(step, "feasible")));
    cr_expect(fabs(number_at(step, "busy_s/cpu:0") / update - 1.0) < 0.03);
    expect_near(step, number_at(step, "busy_s/gpu:0") + update, 0.03);
    cr_expect(number_at(step, "peak_bytes/cpu:0") > 12 * parameters);
    cr_expect(fabs(number_at(step, "traffic_bytes") / (4 * parameters) - 1.0) < 0.01);
}

Test(homes, an_optimizer_behind_a_slow_link_takes_the_time_of_its_bytes)
{
    write_decoder();
    write_machine("1 GB/s");
    json_t *step = simulate("hf:path=llama.json,phase=train,batch=1,seq=64,update=host");

    /* all gradients before the first update, all weights behind it */
    expect_near(step, 4 * parameters / 1e9, 0.03);
}

/* All matrices but the table come in for the forward and for the backward pass, and gradients go out meanwhile. */
Test(homes, training_behind_a_slow_link_takes_the_time_of_its_weights)
{
#define TRAIN "hf:path=llama.json,phase=train,batch=1,seq=64,update=host"
    write_decoder();
    write_machine("1 GB/s");
    json_t      *step = simulate(TRAIN ",home=host");
    json_t      *held = simulate(TRAIN);
    const double streamed = 2 * (parameters - 8000.0 * 4096),
                 update = parameters * host_bytes / host_rate;

    expect_near(step, 2 * streamed / 1e9 + update, 0.03);
    cr_expect(fabs(number_at(step, "traffic_bytes") /
                       (2 * streamed + 2 * (parameters - 8000.0 * 4096)) -
                   1.0) < 0.01);
    /* weights of 16 bits in host memory, and buffers of two layers on the card in their place */
    cr_expect(number_at(step, "peak_bytes/gpu:0") <
              number_at(held, "peak_bytes/gpu:0") - 0.5 * 2 * parameters);
    cr_expect(number_at(step, "peak_bytes/cpu:0") > 14 * parameters);
#undef TRAIN
}

Test(homes, training_that_computes_for_longer_hides_its_weights)
{
#define TRAIN "hf:path=llama.json,phase=train,batch=2,seq=1024,update=host,home=host"
    write_decoder();
    write_machine("200 GB/s");
    json_t      *step = simulate(TRAIN);
    json_t      *serial = simulate(TRAIN ",ahead=0");
    const double update = parameters * host_bytes / host_rate,
                 streamed = 2 * (parameters - 8000.0 * 4096),
                 busy = number_at(step, "busy_s/gpu:0");

    expect_near(step, busy + update, 0.03);
    expect_near(serial, busy + update + 2 * streamed / 200e9, 0.03);
#undef TRAIN
}

Test(homes, homes_that_cannot_be_are_refused)
{
    write_decoder();
    emplace_refuses("graph hf:path=llama.json,phase=train,home=host",
                    "which updates them: it needs update=host");
    emplace_refuses("graph hf:path=llama.json,phase=train,home=any,update=host",
                    "home=any is for phase=prefill and phase=decode");
    emplace_refuses(
        "graph hf:path=llama.json,phase=decode,update=host",
        "update=host keeps the states of Adam on a host: it needs phase=train");
    emplace_refuses("graph hf:path=llama.json,phase=train,optimizer=sgd,update=host",
                    "it needs phase=train and optimizer=adam");
    emplace_refuses("graph hf:path=llama.json,home=disk", "home|device|host|any");
}

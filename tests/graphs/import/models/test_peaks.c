// SPDX-License-Identifier: GPL-3.0-or-later
/* Memory of training steps of configs: the tensors that PyTorch's autograd keeps of the modules of transformers, counted by
 * hand, and the peak, which is where the gradient of the logarithms of probabilities is made. */
#include <stdio.h>
#include <string.h>

#include "tests/graphs/import/models/configs.h"
#include "tests/support/problems.h"

TestSuite(peaks, .init = scratch_create, .fini = graph_tear_down);

enum {
    LAYERS = 2,
    HIDDEN = 256,
    INNER = 1024,
    HEADS = 4,
    VOCABULARY = 4096,
    TOKENS = 512
};

#define SIZES                                                             \
    "'hidden_size':256,'num_hidden_layers':2,'num_attention_heads':4,"    \
    "'num_key_value_heads':4,'intermediate_size':1024,'vocab_size':4096," \
    "'max_position_embeddings':256,'tie_word_embeddings':false"

typedef struct {
    const char *config;
    double      hidden
        [2]; /* bytes kept of an element of a layer's [tokens, hidden], in fp32 and bf16 */
    double inner[2]; /* likewise of [tokens, inner] */
    double last[2];  /* of [tokens, hidden] outside of layers */
    double loss[2];  /* of an element of the logits */
} kept;

static const kept cases[] = {
    /* Each of two norms keeps its operand in float32 (in fp32 that is the sum before it), what it made, and the product with
     * the weight; queries, keys, values and the result of attention. gate, up, activation, product. The last sum before the
     * last norm is its operand. Logits: log probabilities and two gradients, all in float32. */
    {"{'model_type':'llama','hidden_act':'silu'," SIZES "}",
     {2 * 12 + 4 * 4, 2 * 8 + 4 * 2},
     {4 * 4, 4 * 2},
     {12, 8},
     {12, 12}},
    /* The product with the weight is in float32, so what the norm made is kept so; of queries and keys there are norms, and
     * no norm reads the residual stream. */
    {"{'model_type':'olmo2','hidden_act':'silu'," SIZES "}",
     {(2 + 2) * 8 + 4 * 4 + 2 * 4, (2 + 2) * 8 + 4 * 2 + 2 * 2},
     {4 * 4, 4 * 2},
     {12, 10},
     {12, 12}},
    /* A layer norm keeps its operand and two numbers of each row, ReLU only its result. */
    {"{'model_type':'opt','activation_function':'relu','ffn_dim':1024,'word_embed_proj_"
     "dim':256," SIZES "}",
     {(4 + 4) * 4, (4 + 4) * 2},
     {4, 2},
     {8, 4},
     {12, 12}},
    /* One product gives queries, keys and values, of which the values are a view that holds all of it, and queries and keys are
     * rotated. GELU of eight ops keeps its argument, tanh, half of the argument, one more than tanh, and the result. */
    {"{'model_type':'gpt_neox','hidden_act':'gelu_new','use_parallel_residual':"
     "false," SIZES "}",
     {(4 + 6) * 4, (4 + 6) * 2},
     {5 * 4, 5 * 2},
     {8, 4},
     {12, 12}},
    {"{'model_type':'gpt_neox','hidden_act':'gelu','use_parallel_residual':false," SIZES
     "}",
     {(4 + 6) * 4, (4 + 6) * 2},
     {2 * 4, 2 * 2},
     {8, 4},
     {12, 12}},
    /* The loss of an encoder is in the type of its logits. A norm is behind each sum, and the head has a layer of its own. */
    {"{'model_type':'bert','architectures':['BertForMaskedLM'],'hidden_act':'gelu'," SIZES
     "}",
     {(4 + 4) * 4, (4 + 4) * 2},
     {2 * 4, 2 * 2},
     {5 * 4, 5 * 2},
     {12, 6}},
};

static const char *const of_type[2] = {"fp32", "bf16"};

static int64_t peak_of(const char *config, const char *options, int64_t *held)
{
    OWN_TASK t = {0};

    task_create(&t, config_spec(config, options), "h200x8", "torch-eager");
    *held = 0;
    for (emp_op_id op = 0; op < t.graph->op_count; op++) {
        t.device_of_op[op] = 1;
        *held += emp_sim_round_up(t.graph->op[op].persistent_bytes);
    }
    return task_run(&t).peak_bytes[1];
}

/* 2 sequences of 256 tokens. The rest is numbers of a token: ids, labels, sums of attention, losses. */
Test(peaks, are_of_the_tensors_that_autograd_keeps)
{
    for (size_t i = 0; i < COUNT(cases); i++)
        for (int type = 0; type < 2; type++) {
            const kept *k = &cases[i];
            int64_t     held;
            int64_t     peak = peak_of(
                    k->config,
                    scratch_print(",batch=2,seq=256,master=0,dtype=%s", of_type[type]),
                    &held);
            double want = (double)TOKENS *
                          (LAYERS * (k->hidden[type] * HIDDEN + k->inner[type] * INNER) +
                           k->last[type] * HIDDEN + k->loss[type] * VOCABULARY);
            double rows = TOKENS * (LAYERS * HEADS * 4.0 + 4 * 8.0);
            double more = (double)(peak - held) - want;
            cr_expect(more >= 0 && more <= rows + 4096,
                      "case %zu, %s: %.0f more than %.0f", i, of_type[type], more, want);
        }
}

/* ---- peaks in layers ---- */

#define SMALL                                                          \
    "'hidden_size':256,'num_hidden_layers':4,'num_attention_heads':4," \
    "'vocab_size':128,'max_position_embeddings':256,'tie_word_embeddings':false"

/* Peaks of PyTorch 2.15 with modules of transformers 5.24: of two types, each without checkpointing and with it, counted as
 * tests/witness/memory does. 2 sequences of 256 tokens, SGD. */
typedef struct {
    const char *config;
    int64_t     bytes[2][2];
} measured;

static const measured steps[] = {
    {"{'model_type':'llama','hidden_act':'silu','num_key_value_heads':4,"
     "'intermediate_size':1024," SMALL "}",
     {{77654376, 49314080}, {41211240, 25450784}}},
    {"{'model_type':'opt','activation_function':'relu','ffn_dim':1024,"
     "'word_embed_proj_dim':256," SMALL "}",
     {{44305512, 34863136}, {22189672, 17445920}}},
    {"{'model_type':'qwen3','hidden_act':'silu','num_key_value_heads':2,'head_dim':64,"
     "'intermediate_size':1024," SMALL "}",
     {{80851304, 48543520}, {44407144, 25464864}}},
};

Test(peaks, of_layers_are_those_of_pytorch)
{
    for (size_t i = 0; i < COUNT(steps); i++)
        for (int type = 0; type < 2; type++)
            for (int is_again = 0; is_again < 2; is_again++) {
                int64_t      held;
                const double want = (double)steps[i].bytes[type][is_again];
                const double got = (double)peak_of(
                    steps[i].config,
                    scratch_print(",batch=2,seq=256,optimizer=sgd,checkpointing=%d,"
                                  "dtype=%s",
                                  is_again, of_type[type]),
                    &held);
                cr_expect(got > 0.995 * want && got < 1.005 * want,
                          "step %zu, %s, checkpointing=%d: %.0f, PyTorch %.0f", i,
                          of_type[type], is_again, got, want);
            }
}

/* FLOPs of the ops of a step whose name ends so; all of them without an end. */
static double flops_of(const emp_graph *g, const char *end)
{
    double sum = 0;

    for (emp_op_id op = 0; op < g->op_count; op++) {
        const size_t length = strlen(g->name[op]), size = strlen(end);
        if (length >= size && strcmp(g->name[op] + length - size, end) == 0)
            sum += g->op[op].cost->flops;
    }
    return sum;
}

/* A layer repeats all products of its forward pass except the last: 4 h^2 + 2 h i in place of 4 h^2 + 3 h i
 * multiplications a token, and half of the pairs of attention. */
Test(peaks, layers_run_again_up_to_the_last_tensor_that_a_gradient_reads)
{
    const double h = 256, i = 1024, tokens = 512;
    const double products = 2 * tokens * (4 * h * h + 2 * h * i);
    const double attention = 2 * 2 * (256.0 * 257 / 2) * 2 * h;
    OWN_TASK     t = {0};

    task_create(&t, config_spec(steps[0].config, ",batch=2,seq=256,checkpointing=1"),
                "h200x8", "torch-eager");
    double again = flops_of(t.graph, "/recompute"), want = 4 * (products + attention);
    cr_expect(again > want && again < 1.02 * want, "%.0f FLOPs, %.0f of products", again,
              want);
}

Test(peaks, checkpointing_is_of_training_steps)
{
    graph_expect_refused(config_spec(steps[0].config, ",phase=prefill,checkpointing=1"),
                         EMP_EUNSUPPORTED,
                         "checkpointing=1 runs layers again for their gradients");
}

/* A layer without ops (Nemotron-NAS) is nothing to run again, and its neighbours still are. */
Test(peaks, layers_that_do_nothing_are_not_run_again)
{
    const char *const nothing =
        "{'model_type':'nemotron-nas','architectures':['DeciLMForCausalLM'],'hidden_act':"
        "'silu','hidden_size':256,'num_hidden_layers':3,'num_attention_heads':4,"
        "'vocab_size':128,'block_configs':["
        "{'attention':{'n_heads_in_group':1},'ffn':{'ffn_mult':2.0}},"
        "{'attention':{'no_op':true},'ffn':{'no_op':true}},"
        "{'attention':{'n_heads_in_group':1},'ffn':{'ffn_mult':2.0}}]}";
    emp_graph *g = config_load(nothing, ",batch=2,seq=64,checkpointing=1");
    int32_t    again[3] = {0};

    for (emp_op_id op = 0; op < g->op_count; op++) {
        int layer;
        if (strstr(g->name[op], "/recompute") != NULL &&
            sscanf(g->name[op], "model.layers.%d.", &layer) == 1)
            again[layer]++;
    }
    cr_expect(again[0] > 0 && again[1] == 0 && again[2] == again[0], "%d, %d, %d",
              again[0], again[1], again[2]);
    emp_graph_destroy(g);
}

// SPDX-License-Identifier: GPL-3.0-or-later
/* Transformers by their sizes, and BERT (Devlin et al., 2018), whose base HSDAG places. The ops are
 * PyTorch's and the names Hugging Face's (graphs/transformer/stack.h), not TensorFlow's. */
#include "graphs/transformer/stack.h"
#include "graphs/workloads/workloads_internal.h"

enum {
    PHASE,
    BATCH,
    SEQUENCE,
    DTYPE,
    LAYERS,
    HIDDEN,
    HEADS,
    KV_HEADS,
    HEAD_SIZE,
    INNER,
    VOCABULARY,
    EXPERTS,
    CHOSEN,
    SHARED,
    WINDOW,
    ENCODER,
    GATED,
    TIED,
    OPTIMIZER,
    MASTER,
    MICRO_BATCH
};

const char emp_transformer_description[] =
    "transformer by its sizes: training, prompts or decoding; ops as in PyTorch";

const emp_option emp_transformer_params[] = {
    EMP_WORKLOAD_WORD(PHASE, "phase", EMP_TRANSFORMER_PHASE_WORDS,
                      "a training step, the reading of prompts, or one token more",
                      EMP_PHASE_TRAIN),
    EMP_WORKLOAD_NUMBER(BATCH, "batch", 1, 1048576, "sequences", 8),
    EMP_WORKLOAD_NUMBER(SEQUENCE, "seq", 1, 16777216, "tokens of a sequence", 1024),
    EMP_WORKLOAD_WORD(DTYPE, "dtype", "fp32|fp16|bf16",
                      "element type of weights and activations", 2),
    EMP_WORKLOAD_NUMBER(LAYERS, "layers", 1, EMP_TRANSFORMER_LAYERS_MAX, "layers", 12),
    EMP_WORKLOAD_NUMBER(HIDDEN, "hidden", 1, 1048576, "size of a token's state", 768),
    EMP_WORKLOAD_NUMBER(HEADS, "heads", 1, 65536, "heads of queries", 12),
    EMP_WORKLOAD_NUMBER(KV_HEADS, "kv_heads", 0, 65536,
                        "heads of keys and values; 0 = heads", 0),
    EMP_WORKLOAD_NUMBER(HEAD_SIZE, "head_size", 0, 65536, "of a head; 0 = hidden / heads",
                        0),
    EMP_WORKLOAD_NUMBER(INNER, "inner", 0, 4194304,
                        "inner size of a feed-forward layer; 0 = 4 hidden", 0),
    EMP_WORKLOAD_NUMBER(VOCABULARY, "vocab", 1, 16777216, "words", 50257),
    EMP_WORKLOAD_NUMBER(EXPERTS, "experts", 0, EMP_TRANSFORMER_EXPERTS_MAX,
                        "experts of a layer; 0 = dense layers", 0),
    EMP_WORKLOAD_NUMBER(CHOSEN, "chosen", 1, EMP_TRANSFORMER_EXPERTS_MAX,
                        "experts that a token takes", 2),
    EMP_WORKLOAD_NUMBER(SHARED, "shared", 0, 1024, "experts that every token takes", 0),
    EMP_WORKLOAD_NUMBER(WINDOW, "window", 0, 16777216,
                        "keys that a query sees; 0 = all before it", 0),
    EMP_WORKLOAD_FLAG(ENCODER, "encoder", "every token sees all others", 0),
    EMP_WORKLOAD_FLAG(GATED, "gated", "Llama's layers; else GPT-2's", 0),
    EMP_WORKLOAD_FLAG(TIED, "tied", "the head is the table of embeddings", 1),
    EMP_WORKLOAD_WORD(OPTIMIZER, "optimizer", EMP_TRANSFORMER_UPDATE_WORDS,
                      "what updates the weights", EMP_UPDATE_ADAM),
    EMP_WORKLOAD_FLAG(MASTER, "master",
                      "Adam keeps float32 copies of weights of another type", 1),
    EMP_WORKLOAD_NUMBER(MICRO_BATCH, "ubatch", 0, 16777216,
                        "tokens of a micro-batch of prompts; 0 = all", 0),
    EMP_NO_OPTION};

static void set_layers(emp_transformer_model *m, const int64_t *v)
{
    int64_t inner = v[INNER] > 0 ? v[INNER] : 4 * v[HIDDEN];

    for (int32_t i = 0; i < m->layer_count; i++) {
        emp_transformer_layer *l = &m->layer[i];
        l->heads = (int32_t)v[HEADS];
        l->kv_heads = (int32_t)(v[KV_HEADS] > 0 ? v[KV_HEADS] : v[HEADS]);
        l->head_size = (int32_t)(v[HEAD_SIZE] > 0 ? v[HEAD_SIZE] : v[HIDDEN] / v[HEADS]);
        l->value_size = l->head_size;
        l->window = (int32_t)v[WINDOW];
        l->inner = (int32_t)(v[EXPERTS] > 0 ? 0 : inner);
        if (v[EXPERTS] == 0) continue;
        l->experts = (int32_t)v[EXPERTS];
        l->chosen = (int32_t)v[CHOSEN];
        l->expert_inner = (int32_t)inner;
        l->shared_inner = (int32_t)(v[SHARED] * inner > EMP_TRANSFORMER_SIZE_MAX
                                        ? EMP_TRANSFORMER_SIZE_MAX + 1
                                        : v[SHARED] * inner);
    }
}

/* As GPT-2 has them, or as Llama has them. */
static void set_parts(emp_transformer_model *m, const int64_t *v)
{
    bool is_llama = v[GATED] != 0;

    m->names = emp_names_llama;
    m->vocabulary = (int32_t)v[VOCABULARY];
    m->hidden = (int32_t)v[HIDDEN];
    m->position_rows = is_llama ? 0 : (int32_t)v[SEQUENCE];
    m->norm = is_llama ? EMP_NORM_RMS : EMP_NORM_LAYER;
    m->activation = is_llama ? EMP_ACTIVATION_SILU : EMP_ACTIVATION_GELU;
    m->is_gated = m->has_rotary = is_llama;
    m->has_qkv_bias = m->has_output_bias = m->has_mlp_bias = !is_llama;
    m->is_encoder = v[ENCODER] != 0;
    m->has_final_norm = m->has_head = true;
    m->is_head_tied = v[TIED] != 0;
}

static emp_status describe(emp_transformer_model *m, const int64_t *v, emp_error *err)
{
    if (v[HEAD_SIZE] == 0 && v[HIDDEN] % v[HEADS] != 0)
        return EMP_ERROR(EMP_EINVAL,
                         "transformer: heads=%lld do not divide hidden=%lld; state "
                         "head_size= to have heads of another size",
                         (long long)v[HEADS], (long long)v[HIDDEN]);
    if (v[SHARED] > 0 && v[EXPERTS] == 0)
        return EMP_ERROR(EMP_EINVAL,
                         "transformer: shared=%lld is of layers of experts; "
                         "want experts=, too",
                         (long long)v[SHARED]);
    EMP_CHECK(emp_transformer_model_init(m, v[LAYERS], err));
    set_parts(m, v);
    set_layers(m, v);
    return EMP_OK;
}

emp_status emp_workload_transformer(emp_transformer_model *model, const char *parameters,
                                    emp_error *err)
{
    const emp_option_table table = {"transformer", NULL, emp_transformer_params};
    emp_workload_values    given;
    int64_t                values[EMP_WORKLOAD_MAX_PARAMS];

    *model = (emp_transformer_model){0};
    EMP_CHECK(emp_options_parse(&given, &table, NULL, parameters, err));
    for (int32_t i = 0; i < EMP_WORKLOAD_MAX_PARAMS; i++) values[i] = given.value[i];
    EMP_CHECK(describe(model, values, err));
    return emp_transformer_model_check(model, err);
}

static const emp_dtype dtypes[] = {EMP_DTYPE_FLOAT, EMP_DTYPE_HALF, EMP_DTYPE_BFLOAT16};

emp_status emp_transformer_build(const int64_t *v, emp_graph **out, emp_error *err)
{
    emp_status            st = EMP_OK;
    emp_transformer_model m = {0};
    emp_transformer_step  step = {.phase = (emp_transformer_phase)v[PHASE],
                                  .batch = v[BATCH],
                                  .sequence = v[SEQUENCE],
                                  .micro_batch = v[MICRO_BATCH],
                                  .dtype = dtypes[v[DTYPE]],
                                  .update = (emp_transformer_update)v[OPTIMIZER],
                                  .is_frozen = true,
                                  .has_master = v[MASTER] != 0};

    *out = NULL;
    EMP_TRY(describe(&m, v, err));
    EMP_TRY(emp_transformer_graph_create(out, &m, &step, NULL, err));

cleanup:
    emp_transformer_model_clear(&m);
    return st;
}

/* ---- BERT ---- */

enum { BERT_VOCABULARY = HEADS + 1, BERT_OPTIMIZER }; /* the others as above */

enum { POSITIONS = 512, TOKEN_TYPES = 2 };

const char emp_bert_description[] =
    "BERT base by default: both heads of its training, or its encoder; ops as in PyTorch";

const emp_option emp_bert_params[] = {
    EMP_WORKLOAD_WORD(PHASE, "phase", "train|prefill", "a training step, or the encoder",
                      EMP_PHASE_TRAIN),
    EMP_WORKLOAD_NUMBER(BATCH, "batch", 1, 1048576, "sequences", 32),
    EMP_WORKLOAD_NUMBER(SEQUENCE, "seq", 1, POSITIONS, "tokens of a sequence", 128),
    EMP_WORKLOAD_WORD(DTYPE, "dtype", "fp32|fp16|bf16",
                      "element type of weights and activations", 0),
    EMP_WORKLOAD_NUMBER(LAYERS, "layers", 1, EMP_TRANSFORMER_LAYERS_MAX, "layers", 12),
    EMP_WORKLOAD_NUMBER(HIDDEN, "hidden", 1, 1048576, "size of a token's state", 768),
    EMP_WORKLOAD_NUMBER(HEADS, "heads", 1, 65536, "heads, which divide hidden", 12),
    EMP_WORKLOAD_NUMBER(BERT_VOCABULARY, "vocab", 1, 16777216, "words", 30522),
    EMP_WORKLOAD_WORD(BERT_OPTIMIZER, "optimizer", EMP_TRANSFORMER_UPDATE_WORDS,
                      "what updates the weights", EMP_UPDATE_ADAM),
    EMP_NO_OPTION};

static void describe_bert(emp_transformer_model *m, const int64_t *v)
{
    bool is_training = v[PHASE] == EMP_PHASE_TRAIN;

    m->names = emp_names_bert;
    m->vocabulary = (int32_t)v[BERT_VOCABULARY];
    m->hidden = (int32_t)v[HIDDEN];
    m->position_rows = m->positions = POSITIONS;
    m->type_rows = TOKEN_TYPES;
    m->norm = EMP_NORM_LAYER;
    m->places = EMP_NORMS_AFTER;
    m->activation = EMP_ACTIVATION_GELU;
    m->is_encoder = m->has_embedding_norm = m->has_pooler = true;
    m->has_qkv_bias = m->has_output_bias = m->has_mlp_bias = true;
    m->has_head = is_training;
    m->pooled_classes = is_training ? 2 : 0;
    m->pooled_name = "cls.seq_relationship";
    m->pooled_task = "next_sentence";
    m->has_head_transform = m->has_head_bias = m->is_head_tied = true;
    for (int32_t i = 0; i < m->layer_count; i++) {
        emp_transformer_layer *l = &m->layer[i];
        l->heads = l->kv_heads = (int32_t)v[HEADS];
        l->head_size = l->value_size = (int32_t)(v[HIDDEN] / v[HEADS]);
        l->inner = (int32_t)(4 * v[HIDDEN]);
    }
}

emp_status emp_bert_build(const int64_t *v, emp_graph **out, emp_error *err)
{
    emp_status            st = EMP_OK;
    emp_transformer_model m = {0};
    emp_transformer_step  step = {.phase = (emp_transformer_phase)v[PHASE],
                                  .batch = v[BATCH],
                                  .sequence = v[SEQUENCE],
                                  .dtype = dtypes[v[DTYPE]],
                                  .update = (emp_transformer_update)v[BERT_OPTIMIZER],
                                  .is_frozen = true,
                                  .has_master = true};

    *out = NULL;
    if (v[HIDDEN] % v[HEADS] != 0)
        EMP_FAIL(EMP_EINVAL, "bert: heads=%lld do not divide hidden=%lld",
                 (long long)v[HEADS], (long long)v[HIDDEN]);
    EMP_TRY(emp_transformer_model_init(&m, v[LAYERS], err));
    describe_bert(&m, v);
    EMP_TRY(emp_transformer_graph_create(out, &m, &step, NULL, err));

cleanup:
    emp_transformer_model_clear(&m);
    return st;
}

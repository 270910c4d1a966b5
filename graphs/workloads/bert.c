// SPDX-License-Identifier: GPL-3.0-or-later
/* BERT (Devlin et al., 2018) by its sizes; base is what HSDAG places. Its ops are PyTorch's:
 * graphs/transformer/build.h. */
#include "graphs/transformer/build.h"
#include "graphs/workloads/workloads_internal.h"

enum { PHASE, BATCH, SEQUENCE, DTYPE, LAYERS, HIDDEN, HEADS, VOCABULARY, OPTIMIZER };

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
    EMP_WORKLOAD_NUMBER(VOCABULARY, "vocab", 1, 16777216, "words", 30522),
    EMP_WORKLOAD_WORD(OPTIMIZER, "optimizer", EMP_TRANSFORMER_UPDATE_WORDS,
                      "what updates the weights", EMP_UPDATE_ADAM),
    EMP_NO_OPTION};

static void describe(emp_transformer_model *m, const int64_t *v)
{
    bool is_training = v[PHASE] == EMP_PHASE_TRAIN;

    m->names = emp_names_bert;
    m->vocabulary = (int32_t)v[VOCABULARY];
    m->hidden = (int32_t)v[HIDDEN];
    m->position_rows = m->positions = POSITIONS;
    m->type_rows = TOKEN_TYPES;
    m->norm = EMP_NORM_LAYER;
    m->places = EMP_NORMS_AFTER;
    m->activation = EMP_ACTIVATION_GELU;
    m->is_encoder = m->has_embedding_norm = m->has_pooler = true;
    m->has_qkv_bias = m->has_output_bias = m->has_mlp_bias = true;
    m->has_head = m->has_next_sentence = is_training;
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
    static const emp_dtype dtypes[] = {EMP_DTYPE_FLOAT, EMP_DTYPE_HALF,
                                       EMP_DTYPE_BFLOAT16};
    emp_status             st = EMP_OK;
    emp_transformer_model  m = {0};
    emp_transformer_step   step = {.phase = (emp_transformer_phase)v[PHASE],
                                   .batch = v[BATCH],
                                   .sequence = v[SEQUENCE],
                                   .dtype = dtypes[v[DTYPE]],
                                   .update = (emp_transformer_update)v[OPTIMIZER],
                                   .has_master = true};

    *out = NULL;
    if (v[HIDDEN] % v[HEADS] != 0)
        EMP_FAIL(EMP_EINVAL, "bert: heads=%lld do not divide hidden=%lld",
                 (long long)v[HEADS], (long long)v[HIDDEN]);
    EMP_TRY(emp_transformer_model_init(&m, v[LAYERS], err));
    describe(&m, v);
    EMP_TRY(emp_transformer_graph_create(out, &m, &step, NULL, err));

cleanup:
    emp_transformer_model_clear(&m);
    return st;
}

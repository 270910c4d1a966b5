// SPDX-License-Identifier: GPL-3.0-or-later
#include "graphs/import/models/gguf.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { NAME_BYTES = 128 };

typedef struct {
    const emp_gguf        *h;
    emp_transformer_model *m;
    const char            *arch; /* "llama"; not terminated */
    int                    arch_length;
    emp_error             *err;
} source;

/* ---- facts and tensors of a layer ---- */

static bool fact_at(const source *s, const char *key, uint64_t layer, int32_t *value)
{
    char name[NAME_BYTES];

    snprintf(name, sizeof name, "%.*s.%s", s->arch_length, s->arch, key);
    return emp_gguf_integer(emp_gguf_find(s->h, name), layer, value);
}

static int32_t fact_or(const source *s, const char *key, uint64_t layer, int32_t missing)
{
    int32_t value;

    return fact_at(s, key, layer, &value) ? value : missing;
}

static emp_status need_fact(const source *s, const char *key, int32_t *value)
{
    emp_error *err = s->err;

    if (fact_at(s, key, 0, value) && *value > 0) return EMP_OK;
    return EMP_ERROR(EMP_EFORMAT, "the fact \"%.*s.%s\" is missing, or no whole number",
                     s->arch_length, s->arch, key);
}

static const emp_gguf_tensor *find(const source *s, int32_t layer, const char *leaf)
{
    char name[NAME_BYTES];

    snprintf(name, sizeof name, "blk.%d.%s", layer, leaf);
    return emp_gguf_tensor_of(s->h, name);
}

static bool has(const source *s, int32_t layer, const char *leaf)
{
    return find(s, layer, leaf) != NULL;
}

static bool is_arch(const source *s, const char *name)
{
    return (size_t)s->arch_length == strlen(name) &&
           memcmp(s->arch, name, strlen(name)) == 0;
}

static bool begins_arch(const source *s, const char *name)
{
    return (size_t)s->arch_length >= strlen(name) &&
           memcmp(s->arch, name, strlen(name)) == 0;
}

/* A size of a tensor as the model's, 0 where there is none. */
static int32_t size_of(const emp_gguf_tensor *t, int32_t dim)
{
    if (t == NULL || t->shape.rank == 0) return 0;
    int32_t at = dim < 0 ? t->shape.rank + dim : dim;

    if (at < 0 || at >= t->shape.rank || t->shape.dim[at] > INT32_MAX) return 0;
    return (int32_t)t->shape.dim[at];
}

/* ---- the model ---- */

static emp_status check_kind(const source *s)
{
    static const char *const foreign[] = {"ssm_in.weight", "ssm_conv1d.weight",
                                          "time_mix_key.weight",
                                          "shortconv.in_proj.weight"};
    emp_error               *err = s->err;

    if (emp_gguf_tensor_of(s->h, "token_types.weight") != NULL ||
        has(s, 0, "attn_output_norm.weight"))
        return EMP_ERROR(EMP_EUNSUPPORTED,
                         "an encoder (%.*s); decoders are known in GGUF files",
                         s->arch_length, s->arch);
    for (int32_t layer = 0; layer < s->m->layer_count; layer++)
        for (size_t i = 0; i < sizeof foreign / sizeof *foreign; i++)
            if (has(s, layer, foreign[i]))
                return EMP_ERROR(EMP_EUNSUPPORTED,
                                 "layer %d has \"%s\", which is no part of a transformer",
                                 layer, foreign[i]);
    return EMP_OK;
}

static void read_norms(const source *s)
{
    emp_transformer_model *m = s->m;
    bool                   has_first = has(s, 0, "attn_norm.weight"),
         has_second = has(s, 0, "ffn_norm.weight");
    bool has_post = has(s, 0, "post_attention_norm.weight");
    bool has_last = has(s, 0, "post_ffw_norm.weight");

    m->norm = has(s, 0, "attn_norm.bias")                    ? EMP_NORM_LAYER
              : is_arch(s, "command-r") || is_arch(s, "mpt") ? EMP_NORM_LAYER_PLAIN
                                                             : EMP_NORM_RMS;
    m->places = EMP_NORMS_BEFORE;
    if (has_post && has_last)
        m->places = has_first ? EMP_NORMS_SANDWICH : EMP_NORMS_INSIDE;
    else if (has_first && !has_second && has_post)
        m->names.norm_2 = "post_attention_norm"; /* GLM 4.5 calls it so */
    else if (has_first && !has_second)
        m->places = EMP_NORMS_PARALLEL;
    else if (is_arch(s, "gptneox") && fact_or(s, "use_parallel_residual", 0, 1) != 0)
        m->places = EMP_NORMS_PARALLEL_2;
    m->has_final_norm = emp_gguf_tensor_of(s->h, "output_norm.weight") != NULL;
    m->has_embedding_norm = emp_gguf_tensor_of(s->h, "token_embd_norm.weight") != NULL;
}

static void read_parts(const source *s)
{
    emp_transformer_model *m = s->m;
    int32_t                last = m->layer_count - 1; /* the first ones may be dense */
    bool                   is_latent = m->key_rank > 0;

    m->has_fused_qkv = has(s, 0, "attn_qkv.weight");
    m->has_sum_in_place = is_arch(s, "phi3");
    m->has_qkv_bias = has(s, 0, "attn_qkv.bias") || has(s, 0, "attn_q.bias");
    m->has_output_bias = has(s, 0, "attn_output.bias");
    m->has_mlp_bias = has(s, 0, "ffn_down.bias");
    m->has_sinks = has(s, 0, "attn_sinks.weight");
    m->has_router_bias = has(s, last, "ffn_gate_inp.bias");
    m->has_expert_bias = has(s, last, "ffn_down_exps.bias");
    m->has_correction_bias = has(s, last, "exp_probs_b.bias");
    m->has_shared_gate = has(s, last, "ffn_gate_inp_shexp.weight");
    m->is_gated = has(s, 0, "ffn_gate.weight") || has(s, last, "ffn_gate_exps.weight");
    m->activation = begins_arch(s, "gemma") || !m->is_gated ? EMP_ACTIVATION_GELU
                                                            : EMP_ACTIVATION_SILU;
    m->has_rotary = m->position_rows == 0 && !is_arch(s, "bloom") && !is_arch(s, "mpt");
    const emp_gguf_tensor *norm = find(s, 0, "attn_q_norm.weight");
    if (norm != NULL && !is_latent)
        m->qk_norm = size_of(norm, 0) == m->layer[0].head_size ? EMP_QK_NORM_HEAD
                                                               : EMP_QK_NORM_ALL;
}

/* Windows: all layers alike, or as a list or a period tells. */
/* Kinds whose layers have windows in llama.cpp: all but one of so many layers, the last one or the first one of them. */
typedef struct {
    const char *arch;
    int32_t     period, window; /* window: where the file does not say */
    bool        is_first_full;
} window_kind;

static const window_kind window_kinds[] = {
    {"afmoe", 4, 0, false},   {"cohere2", 4, 0, false},      {"cohere2moe", 4, 0, true},
    {"exaone4", 4, 0, false}, {"exaone-moe", 4, 128, false}, {"gemma2", 2, 4096, false},
    {"gemma3", 6, 0, false},  {"gemma3n", 5, 0, false},      {"gpt-oss", 2, 0, false},
    {"laguna", 4, 0, true},   {"llama4", 4, 8192, false},    {"mellum", 4, 0, false},
    {"olmo2", 4, 0, false},   {"plamo3", 8, 0, false},       {"smallthinker", 4, 0, true},
};

static const window_kind *find_window_kind(const source *s)
{
    for (size_t i = 0; i < sizeof window_kinds / sizeof *window_kinds; i++)
        if (is_arch(s, window_kinds[i].arch)) return &window_kinds[i];
    return NULL;
}

static bool is_windowed(const window_kind *kind, int32_t period, int32_t layer)
{
    if (kind == NULL || period < 1) return false;
    return layer % period != (kind->is_first_full ? 0 : period - 1);
}

/* llama.cpp computes full attention, with a full cache, for a file that has a window but whose kind has none: phi3. */
static void read_windows(const source *s)
{
    const window_kind *kind = find_window_kind(s);
    const int32_t      window =
        fact_or(s, "attention.sliding_window", 0, kind != NULL ? kind->window : 0);
    const int32_t period = fact_or(s, "attention.sliding_window_pattern", 0,
                                   kind != NULL ? kind->period : 0);
    char          key[NAME_BYTES];

    snprintf(key, sizeof key, "%.*s.attention.sliding_window_pattern", s->arch_length,
             s->arch);
    const emp_gguf_fact *pattern = emp_gguf_find(s->h, key);
    for (int32_t i = 0; i < s->m->layer_count; i++) {
        bool has_window = is_windowed(kind, period, i);
        if (pattern != NULL && pattern->item_count > 1 &&
            (uint64_t)i < pattern->item_count &&
            pattern->size == pattern->item_count) /* bytes that are true or false */
            has_window = pattern->bytes[i] != 0;
        s->m->layer[i].window = has_window ? window : 0;
    }
}

static void read_latent(const source *s)
{
    emp_transformer_model *m = s->m;

    m->key_rank = fact_or(s, "attention.kv_lora_rank", 0, 0);
    if (!has(s, 0, "attn_kv_a_mqa.weight")) m->key_rank = 0;
    if (m->key_rank == 0) return;
    m->query_rank =
        has(s, 0, "attn_q_a.weight") ? fact_or(s, "attention.q_lora_rank", 0, 0) : 0;
    m->rotary_size = fact_or(s, "rope.dimension_count", 0, 0);
    m->has_split_matrix = has(s, 0, "attn_k_b.weight");
}

static emp_status read_heads(const source *s, int32_t i)
{
    emp_transformer_layer *l = &s->m->layer[i];
    emp_error             *err = s->err;
    int32_t                size;

    l->heads = fact_or(s, "attention.head_count", (uint64_t)i, 0);
    if (l->heads < 1)
        return EMP_ERROR(
            EMP_EFORMAT,
            "the fact \"%.*s.attention.head_count\" has nothing for layer %d",
            s->arch_length, s->arch, i);
    l->kv_heads = fact_or(s, "attention.head_count_kv", (uint64_t)i, l->heads);
    size = fact_or(s, "attention.key_length", 0, s->m->hidden / l->heads);
    int32_t rows = size_of(find(s, i, "attn_q.weight"), 0);
    if (rows > 0 && rows % l->heads == 0)
        size = rows / l->heads; /* it may differ by layer */
    l->head_size = size;
    l->value_size = fact_or(s, "attention.value_length", 0, size);
    rows = size_of(find(s, i, "attn_v.weight"), 0);
    if (rows > 0 && l->kv_heads > 0 && rows % l->kv_heads == 0)
        l->value_size = rows / l->kv_heads;
    l->keys_are_values =
        s->m->key_rank == 0 && has(s, i, "attn_k.weight") && !has(s, i, "attn_v.weight");
    if (l->keys_are_values) l->value_size = size;
    if (s->m->key_rank == 0) return EMP_OK;
    l->kv_heads = l->heads;
    l->head_size = fact_or(s, "attention.key_length_mla", 0, size);
    l->value_size = fact_or(s, "attention.value_length_mla", 0, l->value_size);
    return EMP_OK;
}

static emp_status read_feed_forward(const source *s, int32_t i)
{
    emp_transformer_layer *l = &s->m->layer[i];
    emp_error             *err = s->err;
    const emp_gguf_tensor *experts = find(s, i, "ffn_down_exps.weight");

    l->inner = size_of(find(s, i, "ffn_down.weight"), -1);
    l->shared_inner = size_of(find(s, i, "ffn_down_shexp.weight"), -1);
    if (experts == NULL) return EMP_OK;
    l->experts = size_of(experts, 0);
    l->expert_inner = size_of(experts, -1);
    l->chosen = fact_or(s, "expert_used_count", 0, 0);
    if (l->inner > 0)
        return EMP_ERROR(EMP_EUNSUPPORTED,
                         "layer %d has experts beside a dense feed-forward layer", i);
    return EMP_OK;
}

/* Products of two parts that the file has as one: the rows tell. */
static void read_fused_gate(const source *s)
{
    int32_t up = size_of(find(s, 0, "ffn_up.weight"), 0), inner = s->m->layer[0].inner;

    if (s->m->is_gated || inner == 0 || up != 2 * (int64_t)inner) return;
    s->m->is_gated = s->m->has_fused_gate = true;
    s->m->names.gate_up = "ffn_up";
    s->m->activation = EMP_ACTIVATION_SILU;
}

static emp_status read_sizes(const source *s)
{
    const emp_gguf_tensor *table = emp_gguf_tensor_of(s->h, "token_embd.weight");
    const emp_gguf_tensor *positions = emp_gguf_tensor_of(s->h, "position_embd.weight");

    EMP_CHECK(need_fact(s, "embedding_length", &s->m->hidden));
    s->m->names = emp_names_gguf;
    s->m->vocabulary = size_of(table, 0);
    s->m->position_rows = size_of(positions, 0);
    s->m->positions = fact_or(s, "context_length", 0, 0);
    s->m->has_head = true;
    s->m->is_head_tied = emp_gguf_tensor_of(s->h, "output.weight") == NULL;
    s->m->has_head_bias = emp_gguf_tensor_of(s->h, "output.bias") != NULL;
    return EMP_OK;
}

static emp_status read_arch(source *s, emp_error *err)
{
    size_t length = 0;

    s->arch = emp_gguf_text(emp_gguf_find(s->h, "general.architecture"), &length);
    if (s->arch == NULL || length == 0 || length > NAME_BYTES / 2)
        return EMP_ERROR(EMP_EFORMAT,
                         "the fact \"general.architecture\" is missing, or no text");
    s->arch_length = (int)length;
    return EMP_OK;
}

/* Vision towers, adapters, vocabularies and networks of other kinds are GGUF files, too. */
static emp_status check_is_language_model(const source *s, emp_error *err)
{
    size_t      length = 0;
    const char *type = emp_gguf_text(emp_gguf_find(s->h, "general.type"), &length);
    const bool  is_typed = type != NULL && length > 0 && length <= NAME_BYTES / 2;

    if (emp_gguf_tensor_of(s->h, "token_embd.weight") != NULL) return EMP_OK;
    if (s->h->tensor_count == 0)
        return EMP_ERROR(EMP_EINVAL,
                         "a GGUF file of the architecture \"%.*s\" without tensors",
                         s->arch_length, s->arch);
    return EMP_ERROR(EMP_EINVAL,
                     "a GGUF file of the architecture \"%.*s\"%s%.*s%s and no language "
                     "model: it has no tensor \"token_embd.weight\"",
                     s->arch_length, s->arch, is_typed ? ", of the type \"" : "",
                     is_typed ? (int)length : 0, is_typed ? type : "",
                     is_typed ? "\"" : "");
}

static int32_t extra_layers(const source *s)
{
    return fact_or(s, "nextn_predict_layers", 0, 0);
}

emp_status emp_gguf_extra_layers(int32_t *count, const char *path, emp_error *err)
{
    emp_status st = EMP_OK;
    emp_file   file = {0};
    emp_gguf   h = {0};
    source     s = {.h = &h, .err = err};

    EMP_TRY(emp_file_open(&file, path, err));
    EMP_TRY(emp_gguf_header_read(&h, &file, err));
    EMP_TRY(read_arch(&s, err));
    *count = extra_layers(&s);

cleanup:
    emp_gguf_clear(&h);
    emp_file_close(&file);
    return st;
}

emp_status emp_gguf_model_read(emp_transformer_model *m, const emp_gguf *h,
                               emp_error *err)
{
    source  s = {.h = h, .m = m, .err = err};
    int32_t layers = 0;

    *m = (emp_transformer_model){0};
    EMP_CHECK(read_arch(&s, err));
    EMP_CHECK(check_is_language_model(&s, err));
    EMP_CHECK(need_fact(&s, "block_count", &layers));
    layers -= extra_layers(&s);
    EMP_CHECK(emp_transformer_model_init(m, layers, err));
    EMP_CHECK(check_kind(&s));
    EMP_CHECK(read_sizes(&s));
    read_latent(&s);
    for (int32_t i = 0; i < m->layer_count; i++) {
        EMP_CHECK(read_heads(&s, i));
        EMP_CHECK(read_feed_forward(&s, i));
    }
    read_norms(&s);
    read_parts(&s);
    read_windows(&s);
    read_fused_gate(&s);
    return emp_transformer_model_check(m, err);
}

/* ---- weights ---- */

emp_status emp_gguf_find_type(const void *context, const char *name,
                              const emp_shape *shape, emp_dtype *dtype, emp_error *err)
{
    const emp_gguf  *h = context;
    emp_gguf_tensor *t = emp_gguf_tensor_of(h, name);

    if (t == NULL) return EMP_ERROR(EMP_EFORMAT, "the tensor \"%.80s\" is missing", name);
    if (emp_shape_elements(&t->shape) != emp_shape_elements(shape))
        return EMP_ERROR(EMP_EFORMAT,
                         "the tensor \"%.80s\" has %" PRId64
                         " elements, the facts say %" PRId64,
                         name, emp_shape_elements(&t->shape), emp_shape_elements(shape));
    t->is_used = true;
    *dtype = t->dtype;
    return EMP_OK;
}

/* Tables of rotary positions: a few numbers that no op reads. */
static bool is_frequency(const char *name)
{
    return strstr(name, "rope_freqs") != NULL || strstr(name, "rope_factors") != NULL;
}

/* Behind the layers that a step runs: heads that predict more tokens. */
static bool is_behind(const emp_gguf_tensor *t, int32_t layers)
{
    int number = 0;

    return sscanf(t->name, "blk.%d.", &number) == 1 && number >= layers;
}

emp_status emp_gguf_check_used(const emp_gguf *h, int32_t layers, emp_error *err)
{
    for (int32_t i = 0; i < h->tensor_count; i++) {
        const emp_gguf_tensor *t = &h->tensor[i];
        if (!t->is_used && !is_frequency(t->name) && !is_behind(t, layers))
            return EMP_ERROR(EMP_EUNSUPPORTED,
                             "the tensor \"%.80s\" has no place in what is built",
                             t->name);
    }
    return EMP_OK;
}

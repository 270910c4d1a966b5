// SPDX-License-Identifier: GPL-3.0-or-later
/* A config.json: its members by name, what families of models share, and the model that it makes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text/units.h"
#include "graphs/import/models/families.h"
#include "graphs/import/notes/readers.h"

enum { NAME_BYTES = 64 };

const emp_json *emp_fields_find(const emp_fields *f, const char *names)
{
    char name[NAME_BYTES];

    while (*names != '\0') {
        size_t length = strcspn(names, "|");
        if (length >= sizeof name) return NULL;
        memcpy(name, names, length);
        name[length] = '\0';
        const emp_json *value = emp_json_get(f->object, name);
        if (value != NULL && !emp_json_is(value, EMP_JSON_NULL)) return value;
        names += length;
        if (*names == '|') names++;
    }
    return NULL;
}

static void fail(emp_fields *f, const char *names, const char *problem)
{
    if (f->status != EMP_OK) return;
    f->status = emp_error_set(f->err, EMP_EFORMAT, __FILE__, __LINE__,
                              "\"%.*s\" of a %s model %s", (int)strcspn(names, "|"),
                              names, f->family, problem);
}

/* The family's value for the first of the names; -1: nothing. */
static int32_t default_of(const emp_fields *f, const char *names)
{
    char key[NAME_BYTES + 2];

    snprintf(key, sizeof key, " %.*s=", (int)strcspn(names, "|"), names);
    const char *at = f->defaults != NULL ? strstr(f->defaults, key) : NULL;
    return at != NULL ? (int32_t)strtol(at + strlen(key), NULL, 10) : -1;
}

int32_t emp_fields_integer(emp_fields *f, const char *names, int32_t missing)
{
    const emp_json *value = emp_fields_find(f, names);
    bool            is_needed = missing < 0;

    if (value == NULL) {
        const int32_t own = default_of(f, names);
        if (own >= 0) return own;
        if (is_needed) fail(f, names, "is missing");
        return is_needed ? 0 : missing;
    }
    int64_t number = emp_json_integer(value);
    if (!emp_json_is(value, EMP_JSON_INTEGER) || number < (is_needed ? 1 : 0) ||
        number > INT32_MAX) {
        fail(f, names,
             is_needed ? "is no whole number from 1 to 2147483647"
                       : "is no whole number from 0 to 2147483647");
        return 0;
    }
    return (int32_t)number;
}

bool emp_fields_flag(emp_fields *f, const char *names, bool missing)
{
    const emp_json *value = emp_fields_find(f, names);

    if (value == NULL) return missing;
    if (emp_json_is(value, EMP_JSON_TRUE)) return true;
    if (!emp_json_is(value, EMP_JSON_FALSE)) fail(f, names, "is neither true nor false");
    return false;
}

const char *emp_fields_text(emp_fields *f, const char *names)
{
    const emp_json *value = emp_fields_find(f, names);

    if (value != NULL && emp_json_string(value) == NULL) fail(f, names, "is no text");
    return emp_json_string(value);
}

const emp_json *emp_fields_at(const emp_json *array, int32_t i)
{
    const emp_json *value = emp_json_first(array);

    for (; value != NULL && i > 0; i--) value = emp_json_next(value);
    return value;
}

/* Layers that differ from each other: windows and experts. */

int32_t emp_model_product(int32_t a, int32_t b)
{
    int64_t size = (int64_t)a * b;

    return size > INT32_MAX ? INT32_MAX : (int32_t)size;
}

bool emp_model_is_marked(const emp_fields *f, const char *list, int32_t i, bool missing)
{
    const emp_json *marks = emp_fields_find(f, list);

    if (!emp_json_is(marks, EMP_JSON_ARRAY)) return missing;
    return emp_json_integer(emp_fields_at(marks, i)) != 0;
}

const char *emp_model_layer_text(emp_fields *f, const char *list, int32_t i,
                                 int32_t layers)
{
    const emp_json *types = emp_fields_find(f, list);
    const char     *text = emp_json_string(emp_fields_at(types, i));

    if (text == NULL && f->status == EMP_OK)
        f->status = emp_error_set(f->err, EMP_EFORMAT, __FILE__, __LINE__,
                                  "\"%s\" has %d texts for %d layers", list, i, layers);
    return text;
}

bool emp_model_layer_is(const emp_fields *f, const char *list, int32_t i,
                        const char *text)
{
    const char *own = emp_json_string(emp_fields_at(emp_fields_find(f, list), i));

    return own != NULL && strcmp(own, text) == 0;
}

void emp_model_refuse_layer(emp_fields *f, int32_t i, const char *type, const char *known)
{
    if (f->status == EMP_OK)
        f->status =
            emp_error_set(f->err, EMP_EUNSUPPORTED, __FILE__, __LINE__,
                          "layer %d is of type \"%.40s\"; %s are known", i, type, known);
}

static int32_t window_of(emp_fields *f, const char *type, int32_t layer)
{
    if (strcmp(type, "full_attention") == 0) return 0;
    if (strcmp(type, "sliding_attention") == 0)
        return emp_fields_integer(f, "sliding_window", -1);
    if (strcmp(type, "chunked_attention") == 0)
        return emp_fields_integer(f, "attention_chunk_size", -1);
    emp_model_refuse_layer(f, layer, type,
                           "full_attention, sliding_attention and chunked_attention");
    return 0;
}

bool emp_model_layer_types(emp_fields *f, emp_transformer_model *m)
{
    if (emp_fields_find(f, "layer_types") == NULL) return false;
    for (int32_t i = 0; i < m->layer_count; i++) {
        const char *text = emp_model_layer_text(f, "layer_types", i, m->layer_count);
        if (text == NULL) return true;
        m->layer[i].window = window_of(f, text, i);
    }
    return true;
}

bool emp_model_in_all(int32_t layer, int32_t period) { return layer >= 0 && period >= 0; }

/* All but each last of a period. */
bool emp_model_but_the_last(int32_t layer, int32_t period)
{
    return (layer + 1) % (period > 0 ? period : 1) != 0;
}

void emp_model_windows(emp_fields *f, emp_transformer_model                      *m,
                       bool (*is_sliding)(int32_t layer, int32_t period), int32_t period)
{
    if (emp_model_layer_types(f, m)) return;
    int32_t window = emp_fields_integer(f, "sliding_window|window_size", 0);
    for (int32_t i = 0; i < m->layer_count; i++)
        if (is_sliding(i, period)) m->layer[i].window = window;
}

/* True if "mlp_only_layers" has the layer, or a list with an entry a layer says so. */
static bool is_listed_dense(const emp_fields *f, int32_t layer)
{
    const emp_json *list = emp_fields_find(f, "mlp_only_layers");
    const emp_json *types = emp_fields_find(f, "mlp_layer_types");
    const char     *type = emp_json_string(emp_fields_at(types, layer));

    if (type != NULL) return strcmp(type, "dense") == 0;
    if (!emp_model_is_marked(f, "moe_layer_freq", layer, true)) return true;
    for (const emp_json *i = emp_json_first(list); i != NULL; i = emp_json_next(i))
        if (emp_json_integer(i) == layer) return true;
    return false;
}

void emp_model_experts(emp_fields *f, emp_transformer_model *m, int32_t first,
                       int32_t step, int32_t shared_inner)
{
    int32_t experts = emp_fields_integer(
        f, "num_local_experts|num_experts|n_routed_experts|moe_num_experts", -1);
    int32_t chosen =
        emp_fields_integer(f,
                           "num_experts_per_tok|num_experts_per_token|top_k_"
                           "experts|experts_per_token|moe_top_k|moe_k|moe_topk",
                           -1);
    int32_t inner = emp_fields_integer(f, "moe_intermediate_size", m->layer[0].inner);

    if (emp_fields_find(f, "mlp_layer_types") != NULL) first = 0, step = 1;
    for (int32_t i = first; i < m->layer_count; i++) {
        if ((step > 1 && i % step != step - 1) || is_listed_dense(f, i)) continue;
        m->layer[i].experts = experts;
        m->layer[i].chosen = chosen;
        m->layer[i].expert_inner = inner;
        m->layer[i].shared_inner = shared_inner;
        m->layer[i].inner = 0;
    }
}

void emp_model_llama_like(emp_fields *f, emp_transformer_model *m)
{
    bool has_bias = emp_fields_flag(f, "attention_bias|qkv_bias|use_bias", false);

    m->norm = EMP_NORM_RMS;
    m->is_gated = m->has_rotary = m->has_final_norm = true;
    m->has_qkv_bias = has_bias;
    m->has_output_bias = has_bias;
    m->has_mlp_bias = emp_fields_flag(f, "mlp_bias|use_bias", false);
}

/* ---- the model ---- */

bool emp_config_is(const emp_json *root)
{
    return emp_json_string(emp_json_get(root, "model_type")) != NULL;
}

void emp_model_activate(emp_fields *f, emp_transformer_model *m, const char *name)
{
    if (name != NULL && strcmp(name, "gelu_new") == 0) {
        m->activation = EMP_ACTIVATION_GELU_NEW;
    } else if (name == NULL || strstr(name, "gelu") != NULL) {
        m->activation = EMP_ACTIVATION_GELU;
    } else if (strcmp(name, "silu") == 0 || strcmp(name, "swish") == 0 ||
               strcmp(name, "swiglu") == 0 || strcmp(name, "swigluoai") == 0 ||
               strcmp(name, "situ") == 0) { /* bounded kin that cost the same */
        m->activation = EMP_ACTIVATION_SILU;
    } else if (strcmp(name, "relu") == 0) {
        m->activation = EMP_ACTIVATION_RELU;
    } else if (strcmp(name, "xielu") == 0) {
        m->activation = EMP_ACTIVATION_XIELU;
    } else if (strcmp(name, "relu2") == 0) {
        m->activation = EMP_ACTIVATION_SQUARED_RELU;
    } else if (f->status == EMP_OK) {
        f->status =
            emp_error_set(f->err, EMP_EUNSUPPORTED, __FILE__, __LINE__,
                          "the activation \"%.40s\" is not known; gelu, silu, relu "
                          "and relu2 are",
                          name);
    }
}

/* The inner size; where it is not said, four times the hidden size. */
static int32_t read_inner(emp_fields *f, int32_t hidden)
{
    int32_t ratio = emp_fields_integer(f, "expansion_ratio", 4);
    int64_t wide = (int64_t)hidden * ratio;

    if (wide > EMP_TRANSFORMER_SIZE_MAX) wide = EMP_TRANSFORMER_SIZE_MAX + 1;
    if (emp_json_is(emp_fields_find(f, "intermediate_size"), EMP_JSON_ARRAY))
        return (int32_t)wide; /* each layer has its own */
    return emp_fields_integer(
        f, "intermediate_size|n_inner|ffn_dim|ffn_hidden_size|d_ff|inner_dim",
        (int32_t)wide);
}

/* Members that most types have, with equal layers. */
static void read_common(emp_fields *f, emp_transformer_model *m)
{
    int32_t heads = emp_fields_integer(f,
                                       "num_attention_heads|n_head|n_heads|num_heads|"
                                       "decoder_attention_heads",
                                       -1);

    m->names = emp_names_llama;
    m->hidden = emp_fields_integer(f, "hidden_size|n_embd|d_model|n_embed", -1);
    m->vocabulary = emp_fields_integer(f, "vocab_size", -1);
    m->positions = emp_fields_integer(
        f, "max_position_embeddings|n_positions|max_seq_len|seq_length|n_ctx", 0);
    m->has_head = true;
    emp_transformer_layer layer = {
        .heads = heads,
        .kv_heads =
            emp_fields_integer(f, "num_key_value_heads|num_attention_groups", heads),
        .head_size =
            emp_fields_integer(f, "head_dim|head_size|kv_channels|attention_head_dim",
                               heads > 0 ? m->hidden / heads : 0),
        .inner = read_inner(f, m->hidden),
        .keys_of = -1};
    layer.value_size = layer.head_size;
    for (int32_t i = 0; i < m->layer_count; i++) m->layer[i] = layer;
    emp_model_activate(f, m,
                       emp_fields_text(f, "hidden_activation|hidden_act|activation_"
                                          "function|activation|mlp_hidden_act"));
}

/* Layers by their number, or as many as a list or a pattern has. */
static int32_t read_layer_count(emp_fields *f)
{
    const emp_json *list = emp_fields_find(f, "layers_block_type");
    const char *pattern = emp_json_string(emp_fields_find(f, "hybrid_override_pattern"));
    const char *names = emp_fields_flag(f, "is_encoder_decoder", false)
                            ? "decoder_layers|num_decoder_layers|num_layers"
                            : "num_hidden_layers|n_layer|n_layers|num_layers";

    if (emp_fields_find(f, names) != NULL) return emp_fields_integer(f, names, -1);
    if (emp_json_count(list) > 0) return (int32_t)emp_json_count(list);
    if (pattern != NULL) return (int32_t)strlen(pattern);
    return emp_fields_integer(f, names, -1);
}

/* A member of the part that reads text, or else of the whole config. */
static emp_fields *having(emp_fields *text, emp_fields *whole, const char *names)
{
    return emp_fields_find(text, names) != NULL ? text : whole;
}

static emp_dtype read_dtype(emp_fields *text, emp_fields *whole)
{
    emp_fields *f = having(text, whole, "dtype|torch_dtype");
    const char *name = emp_fields_text(f, "dtype|torch_dtype");

    if (name == NULL) /* what is quantised is made of bfloat16 */
        return emp_fields_find(having(text, whole, "quantization_config"),
                               "quantization_config") != NULL
                   ? EMP_DTYPE_BFLOAT16
                   : EMP_DTYPE_NONE;
    if (strcmp(name, "bfloat16") == 0) return EMP_DTYPE_BFLOAT16;
    if (strcmp(name, "float16") == 0) return EMP_DTYPE_HALF;
    return strcmp(name, "float32") == 0 ? EMP_DTYPE_FLOAT : EMP_DTYPE_NONE;
}

/* A multimodal model has the member twice. transformers 4 heeds the text's; transformers 5 heeds the whole's and writes
 * the text model's default beside it. */
static bool is_tied(emp_fields *text, emp_fields *whole, bool missing)
{
    static const char name[] = "tie_word_embeddings";

    if (emp_fields_find(text, name) == NULL) return emp_fields_flag(whole, name, missing);
    return emp_fields_flag(text, name, false) || emp_fields_flag(whole, name, false);
}

/* Finds the sizes that "per_layer_config" gives a layer; transformers 5 writes it where layers differ: {"03": {...}}.
 * \return NULL: it gives none. */
static const emp_json *layer_apart(const emp_fields *f, int32_t i)
{
    char key[16];

    for (int width = 1; width <= 4; width++) {
        snprintf(key, sizeof key, "%0*d", width, i);
        const emp_json *own = emp_json_get(emp_fields_find(f, "per_layer_config"), key);
        if (own != NULL) return own;
    }
    return NULL;
}

static void read_layers_apart(emp_fields *f, emp_transformer_model *m)
{
    for (int32_t i = 0; i < m->layer_count && f->status == EMP_OK; i++) {
        emp_transformer_layer *l = &m->layer[i];
        emp_fields             own = *f;
        own.object = layer_apart(f, i);
        own.defaults = NULL;
        if (own.object == NULL) continue;
        const int32_t size = emp_fields_integer(&own, "head_dim", l->head_size);
        if (l->value_size == l->head_size) l->value_size = size;
        l->head_size = size;
        l->heads = emp_fields_integer(&own, "num_attention_heads", l->heads);
        l->kv_heads = emp_fields_integer(&own, "num_key_value_heads", l->kv_heads);
        l->window = emp_fields_integer(&own, "sliding_window", l->window);
        l->expert_inner =
            emp_fields_integer(&own, "moe_intermediate_size", l->expert_inner);
        if (l->inner > 0)
            l->inner = emp_fields_integer(&own, "intermediate_size", l->inner);
        f->status = own.status;
    }
}

/* ---- the head, by the name of the class (transformers 5.24) ---- */

typedef enum {
    HEAD_VOCABULARY,
    HEAD_BOTH,    /* that and a class of the first token */
    HEAD_NONE,    /* an encoder has a pooler */
    HEAD_POOLED,  /* classes of a sequence, which an encoder takes from its pooler */
    HEAD_SEQUENT, /* whether a sequence follows another */
    HEAD_CHOICE,  /* a score of each answer */
    HEAD_TOKENS,  /* classes of each token */
    HEAD_SPAN     /* where an answer begins and ends */
} head_kind;

static head_kind kind_of(const char *name, bool is_encoder)
{
    static const struct {
        const char *ending;
        head_kind   kind;
    } kinds[] = {{"ForPreTraining", HEAD_BOTH},
                 {"ForSequenceClassification", HEAD_POOLED},
                 {"ForNextSentencePrediction", HEAD_SEQUENT},
                 {"ForMultipleChoice", HEAD_CHOICE},
                 {"ForTokenClassification", HEAD_TOKENS},
                 {"ForQuestionAnswering", HEAD_SPAN},
                 {"LMHeadModel", HEAD_VOCABULARY},
                 {"MTModel", HEAD_VOCABULARY},
                 {"Model", HEAD_NONE}};

    if (name == NULL) return is_encoder ? HEAD_NONE : HEAD_VOCABULARY;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (emp_text_ends_in(name, kinds[i].ending)) return kinds[i].kind;
    return HEAD_VOCABULARY;
}

/* The number of classes that "id2label" names; by default 3 of BART, which was made to tell what follows from a text, and 2
 * of other types. */
static int32_t count_classes(emp_fields *whole)
{
    const emp_json *names = emp_fields_find(whole, "id2label");
    const int64_t   named = emp_json_count(names);
    const int32_t   missing = strcmp(whole->family, "bart") == 0 ? 3 : 2;

    return emp_fields_integer(whole, "num_labels",
                              named > 0 && named < INT32_MAX ? (int32_t)named : missing);
}

/* Classes of each token, by a matrix of its own. */
static void set_classes(emp_transformer_model *m, const char *name, int32_t classes,
                        bool has_bias)
{
    m->names.head = name;
    m->head_rows = classes;
    m->has_head_bias = has_bias;
    m->is_head_tied = m->has_logit_cap = false;
    if (m->names.pooler != NULL) m->has_head_transform = false;
}

static void set_pooled(emp_transformer_model *m, const char *task, const char *name,
                       int32_t classes)
{
    m->has_pooler = true;
    m->pooled_classes = classes;
    m->pooled_name = name;
    m->pooled_task = task;
}

/* Refuses the classes that are one half of an encoder and a decoder with a head of its own. */
static void check_halves(emp_fields *whole, const char *name)
{
    static const char *const halves[] = {"ForCausalLM", "ForAudioClassification"};

    for (size_t i = 0; i < sizeof halves / sizeof *halves; i++)
        if (emp_text_ends_in(name, halves[i]) && whole->status == EMP_OK)
            whole->status = emp_error_set(
                whole->err, EMP_EUNSUPPORTED, __FILE__, __LINE__,
                "%.60s is half of a %s model with a head of its own, which is not "
                "known; the whole model is",
                name, whole->family);
}

/* Sets the head of an encoder and a decoder, or of the encoder where the class is that. */
static void set_head_of_pair(emp_fields *whole, emp_transformer_model *m,
                             const char *name)
{
    const int32_t   classes = count_classes(whole);
    const head_kind kind = kind_of(name, false);

    if (name != NULL) check_halves(whole, name);
    if (name != NULL && emp_text_ends_in(name, "EncoderModel")) {
        emp_transformer_model_keep_encoder(m);
        return;
    }
    switch (kind) {
    case HEAD_NONE: m->has_head = false; break;
    case HEAD_POOLED:
        m->has_head = false;
        m->names.pooler = "classification_head";
        set_pooled(m, "classification", "classification_head.out_proj", classes);
        break;
    case HEAD_TOKENS:
        emp_transformer_model_keep_encoder(m);
        m->has_head = true;
        set_classes(m, "classifier", classes, true);
        break;
    case HEAD_SPAN:
        set_classes(m, "qa_outputs", m->relative_buckets > 0 ? classes : 2, true);
        break;
    default: break;
    }
}

static void set_head(emp_fields *whole, emp_transformer_model *m)
{
    const emp_json *first = emp_json_first(emp_fields_find(whole, "architectures"));
    const char     *name = emp_json_string(first);
    const head_kind kind = kind_of(name, m->is_encoder);
    const int32_t   classes = count_classes(whole);

    if (m->encoder != NULL) {
        set_head_of_pair(whole, m, name);
        return;
    }
    m->has_head = kind != HEAD_NONE;
    switch (kind) {
    case HEAD_VOCABULARY: break;
    case HEAD_BOTH:
        /* RoBERTa's class of that name has a vocabulary's head alone */
        if (m->is_encoder && m->names.layer == emp_names_bert.layer)
            set_pooled(m, "next_sentence", "cls.seq_relationship", 2);
        break;
    case HEAD_NONE: m->has_pooler = m->is_encoder && m->names.pooler != NULL; break;
    case HEAD_POOLED:
        if (!m->is_encoder) {
            set_classes(m, "score", classes, false);
            break;
        }
        m->has_head = false;
        if (m->names.layer == emp_names_roberta.layer) {
            m->names.pooler = "classifier";
            set_pooled(m, "classification", "classifier.out_proj", classes);
        } else {
            set_pooled(m, "classification", "classifier", classes);
        }
        break;
    case HEAD_SEQUENT:
        m->has_head = false;
        set_pooled(m, "next_sentence", "cls.seq_relationship", 2);
        break;
    case HEAD_CHOICE:
        m->has_head = false;
        set_pooled(m, "choice", "classifier", 1);
        break;
    case HEAD_TOKENS:
        set_classes(m, m->is_encoder ? "classifier" : "score", classes, true);
        break;
    case HEAD_SPAN:
        set_classes(m, "qa_outputs", m->is_encoder ? classes : 2, true);
        break;
    }
}

/* ---- the whole ---- */

emp_status emp_config_read(emp_transformer_model *m, emp_dtype *dtype,
                           const emp_json *root, emp_error *err)
{
    const emp_json *text = emp_json_get(root, "text_config");
    emp_fields      f = {.object = emp_json_is(text, EMP_JSON_OBJECT) ? text : root,
                         .family = "transformer",
                         .err = err};

    *m = (emp_transformer_model){0};
    *dtype = EMP_DTYPE_NONE;
    const char *type = emp_fields_text(&f, "model_type");
    if (type == NULL) type = emp_json_string(emp_json_get(root, "model_type"));
    if (type == NULL)
        return EMP_ERROR(EMP_EFORMAT,
                         "\"model_type\" is missing, so this is no config of "
                         "a Hugging Face model");
    const emp_model_family *family = emp_model_family_find(type);
    if (family == NULL)
        return EMP_ERROR(
            EMP_EUNSUPPORTED,
            "the model type \"%.40s\" is not known; docs/models.md lists those "
            "that are, and forms of other models: .pt2, ONNX, GGUF",
            type);
    f.family = type;
    f.defaults = emp_model_family_defaults(type);
    int32_t layers = read_layer_count(&f);
    EMP_CHECK(f.status);
    EMP_CHECK(emp_transformer_model_init(m, layers, err));
    read_common(&f, m);
    EMP_CHECK(f.status);
    emp_fields whole = {.object = root, .family = type, .err = err};
    m->is_head_tied = is_tied(&f, &whole, family->is_tied);
    family->adapt(&f, m);
    read_layers_apart(&f, m);
    set_head(&whole, m);
    *dtype = read_dtype(&f, &whole);
    EMP_CHECK(f.status);
    EMP_CHECK(whole.status);
    return emp_transformer_model_check(m, err);
}

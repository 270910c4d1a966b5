// SPDX-License-Identifier: GPL-3.0-or-later
#include "graphs/import/models/config.h"

#include <string.h>

#include "graphs/import/models/families.h"
#include "graphs/import/notes/readers.h"

bool emp_config_is(const emp_json *root)
{
    return emp_json_string(emp_json_get(root, "model_type")) != NULL;
}

static void read_activation(emp_fields *f, emp_transformer_model *m)
{
    const char *name =
        emp_fields_text(f, "hidden_activation|hidden_act|activation_function|activation|"
                           "mlp_hidden_act");

    if (name == NULL || strstr(name, "gelu") != NULL) {
        m->activation = EMP_ACTIVATION_GELU;
    } else if (strcmp(name, "silu") == 0 || strcmp(name, "swish") == 0 ||
               strcmp(name, "swiglu") == 0 || strcmp(name, "swigluoai") == 0 ||
               strcmp(name, "situ") == 0) { /* bounded kin that cost the same */
        m->activation = EMP_ACTIVATION_SILU;
    } else if (strcmp(name, "relu") == 0) {
        m->activation = EMP_ACTIVATION_RELU;
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
    return emp_fields_integer(
        f, "intermediate_size|n_inner|ffn_dim|ffn_hidden_size|d_ff|inner_dim",
        (int32_t)wide);
}

/* What most types have, all layers alike. */
static void read_common(emp_fields *f, emp_transformer_model *m)
{
    int32_t heads =
        emp_fields_integer(f, "num_attention_heads|n_head|n_heads|num_heads", -1);

    m->names = emp_names_llama;
    m->hidden = emp_fields_integer(f, "hidden_size|n_embd|d_model", -1);
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
    read_activation(f, m);
}

/* Layers by their number, or as many as a list or a pattern has. */
static int32_t read_layer_count(emp_fields *f)
{
    const emp_json *list = emp_fields_find(f, "layers_block_type");
    const char *pattern = emp_json_string(emp_fields_find(f, "hybrid_override_pattern"));
    const char *names = "num_hidden_layers|n_layer|n_layers|num_layers";

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

emp_status emp_config_read(emp_transformer_model *m, emp_dtype *dtype,
                           const emp_json *root, emp_error *err)
{
    const emp_json *text = emp_json_get(root, "text_config");
    emp_fields      f = {.object = emp_json_is(text, EMP_JSON_OBJECT) ? text : root,
                         .family = "transformer",
                         .err = err};
    char            known[EMP_MODEL_TYPES_BYTES];

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
            "the model type \"%.40s\" is not known; there are %s and their kin", type,
            emp_model_family_list(known));
    f.family = type;
    f.defaults = emp_model_family_defaults(type);
    int32_t layers = read_layer_count(&f);
    EMP_CHECK(f.status);
    EMP_CHECK(emp_transformer_model_init(m, layers, err));
    read_common(&f, m);
    EMP_CHECK(f.status);
    family->adapt(&f, m);
    emp_fields whole = {.object = root, .family = type, .err = err};
    m->is_head_tied = emp_fields_flag(having(&f, &whole, "tie_word_embeddings"),
                                      "tie_word_embeddings", family->is_tied);
    *dtype = read_dtype(&f, &whole);
    EMP_CHECK(f.status);
    EMP_CHECK(whole.status);
    return emp_transformer_model_check(m, err);
}

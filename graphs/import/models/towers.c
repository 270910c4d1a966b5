// SPDX-License-Identifier: GPL-3.0-or-later
/* Counts the parameters of towers that read images or sound. Every tower is a stack of encoder layers; the families
 * differ in biases, in tables of positions and in the projector that makes tokens of patches. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/text/units.h"
#include "graphs/import/models/families.h"

static const struct {
    const char *key, *name;
} towers[] = {
    {"vision_config", "vision tower"}, {"vit_config", "vision tower"},
    {"audio_config", "audio tower"},   {"speech_config", "audio tower"},
    {"encoder_config", "encoder"},
};

/* A larger size is an error in the config. */
enum { SIZE_MAX_OF_TOWER = 1 << 20 };

typedef struct {
    emp_fields fields; /* of the tower */
    double     text,
        merged; /* sizes of a token of text, and of the patches that become one token */
    double layers, hidden, inner, attended;
    double patch_side; /* where the config does not say */
} tower;

/* The first of these members that is a size; `missing` where there is none. */
static double size_of(const emp_fields *f, const char *names, double missing)
{
    const double size = emp_json_number(emp_fields_find(f, names));

    return size > 0 && size <= SIZE_MAX_OF_TOWER ? size : missing;
}

static bool is_word(const emp_json *value, const char *word)
{
    const char *text = emp_json_string(value);

    return text != NULL && strcmp(text, word) == 0;
}

static bool is_type(const tower *t, const char *type)
{
    return is_word(emp_json_get(t->fields.object, "model_type"), type);
}

/* BLIP-2 and InstructBLIP, whose configs are published without the sizes of their towers. */
static bool is_blip(const emp_json *config)
{
    static const char *const types[] = {"blip-2", "instructblip", "instructblipvideo"};

    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (is_word(emp_json_get(config, "model_type"), types[i])) return true;
    return false;
}

static tower read_sizes(const emp_json *object, const emp_json *config)
{
    const bool       has_defaults = is_blip(config);
    const emp_json  *compressed = emp_json_get(object, "img_token_compression_config");
    const emp_json  *kernel = emp_json_first(emp_json_get(object, "merge_kernel_size"));
    const emp_json  *text_config = emp_json_get(config, "text_config");
    const emp_fields f = {.object = object, .family = "tower"};
    const emp_fields text = {.object = text_config != NULL ? text_config : config};
    tower            t = {.fields = f};

    t.layers = size_of(&f,
                       "num_hidden_layers|depth|vt_num_hidden_layers|encoder_layers|"
                       "num_layers|n_layers",
                       has_defaults ? 39 : 0);
    t.hidden = size_of(&f, "embed_dim|hidden_size|vt_hidden_size|d_model|hidden_dim",
                       has_defaults ? 1408 : 0);
    const double ratio = size_of(&f, "mlp_ratio|feedforward_mult", 4);
    t.inner =
        size_of(&f, "intermediate_size|vt_intermediate_size|encoder_ffn_dim|ffn_dim",
                has_defaults ? 6144 : ratio * t.hidden);
    t.patch_side = has_defaults ? 14 : 0;
    t.attended = size_of(&f, "qkv_hidden_size", t.hidden);
    t.text = size_of(&text, "hidden_size", t.hidden);
    double side = size_of(&f, "spatial_merge_size", 2);
    if (emp_json_number(kernel) > 0) side = emp_json_number(kernel);
    const emp_fields nested = {.object = compressed};
    if (compressed != NULL) side = size_of(&nested, "spatial_merge_size", side);
    t.merged = t.hidden * side * side;
    return t;
}

static double matrices_of(const tower *t)
{
    const emp_json *activation = emp_json_get(t->fields.object, "hidden_act");
    const bool is_gated = is_word(activation, "silu") || is_word(activation, "swish") ||
                          is_type(t, "gemma4_vision");

    return t->layers * t->hidden * (4 * t->attended + (is_gated ? 3 : 2) * t->inner);
}

/* The product that takes a patch. */
static double patches_of(const tower *t)
{
    const emp_json *compressed =
        emp_json_get(t->fields.object, "img_token_compression_config");
    const emp_fields nested = {.object = compressed};
    const double     side =
        size_of(&t->fields, "patch_size|spatial_patch_size", t->patch_side);
    double       depth = size_of(&t->fields, "temporal_patch_size", 1);
    const double channels = size_of(&t->fields, "num_channels|in_channels|in_chans", 3);

    if (compressed != NULL) depth = size_of(&nested, "temporal_patch_size", depth);
    return t->hidden * channels * depth * side * side;
}

/* A linear layer with a bias. */
static double linear(double in, double out) { return in * out + out; }

/* Biases and the two layer norms of a layer. */
static double vectors_of(const tower *t)
{
    return t->layers * (3 * t->attended + 2 * t->hidden + t->inner + 4 * t->hidden);
}

/* ---- families ---- */

/* Two linear layers over merged patches; more of them read inner layers. */
static double parts_of_qwen(const tower *t)
{
    const double out = size_of(&t->fields, "out_hidden_size", t->text);
    const double merger = linear(t->merged, t->merged) + linear(t->merged, out);
    const double inner =
        emp_json_count(emp_json_get(t->fields.object, "deepstack_visual_indexes"));

    return vectors_of(t) + t->hidden +
           t->hidden * size_of(&t->fields, "num_position_embeddings", 0) + merger +
           2 * t->hidden + inner * (merger + 2 * t->merged);
}

static double parts_of_kimi(const tower *t)
{
    const double positions = size_of(&t->fields, "init_pos_emb_height", 0) *
                             size_of(&t->fields, "init_pos_emb_width", 0);

    return vectors_of(t) + t->hidden * (1 + positions) + 4 * t->hidden +
           linear(t->merged, t->merged) + linear(t->merged, t->text);
}

/* Four norms a layer, two of heads, a table for each axis; no biases. */
static double parts_of_gemma(const tower *t)
{
    const double head = size_of(&t->fields, "head_dim", 0);

    return t->layers * (4 * t->hidden + 2 * head) +
           2 * t->hidden * size_of(&t->fields, "position_embedding_size", 0) +
           t->hidden * t->text;
}

/* The projector makes patches as large as tokens of text before it merges them. */
static double parts_of_minimax(const tower *t, const emp_json *config)
{
    const emp_fields whole = {.object = config};
    const double     size = size_of(&whole, "projector_hidden_size", t->text);

    return vectors_of(t) + 2 * t->hidden + linear(t->hidden, size) +
           2 * linear(size, t->text) + linear(t->merged / t->hidden * t->text, size);
}

/* A token for the whole image beside the patches, positions of all, and a norm behind the last layer. The projector is the
 * Q-Former's. */
static double parts_of_blip(const tower *t)
{
    const double side = size_of(&t->fields, "image_size", 224) /
                        size_of(&t->fields, "patch_size", t->patch_side);

    return vectors_of(t) + t->hidden * (1 + 1 + side * side + 1) + 2 * t->hidden;
}

/* The parameters besides the matrices and the patches, for families that are known; else 0. */
static double parts_of(const tower *t, const emp_json *config)
{
    static const char *const qwen[] = {"qwen3_vl", "qwen3_vl_moe", "qwen3_5",
                                       "qwen3_5_moe"};
    const emp_json          *type = emp_json_get(config, "model_type");

    for (size_t i = 0; i < sizeof qwen / sizeof *qwen; i++)
        if (is_type(t, qwen[i])) return parts_of_qwen(t);
    if (is_type(t, "gemma4_vision")) return parts_of_gemma(t);
    if (is_word(type, "kimi_k25")) return parts_of_kimi(t);
    if (is_blip(config)) return parts_of_blip(t);
    return is_word(type, "minimax_m3_vl") ? parts_of_minimax(t, config) : 0;
}

/* ---- notes ---- */

static void note(emp_import_notes *notes, const char *name, const char *key,
                 const emp_json *object, const emp_json *config, emp_dtype dtype)
{
    const tower  t = read_sizes(object, config);
    const double matrices = matrices_of(&t), parts = parts_of(&t, config);
    char         count[32], size[32];

    if (matrices <= 0) {
        emp_import_notes_warn(notes,
                              "the %s (\"%s\") is left out; its config does not say "
                              "how large it is",
                              name, key);
        return;
    }
    const double parameters = matrices + patches_of(&t) + parts;
    if (parts > 0)
        snprintf(count, sizeof count, "%.0f", parameters);
    else
        emp_units_format_si(parameters, "", count, sizeof count);
    emp_units_format_bytes((int64_t)(parameters * emp_dtype_bytes(dtype)), size,
                           sizeof size);
    emp_import_notes_warn(notes, "the %s (\"%s\") is left out: %s%s parameters, %s in %s",
                          name, key, parts > 0 ? "" : "about ", count, size,
                          emp_dtype_name(dtype));
}

/* ---- the Q-Former ---- */

/* The parameters of the encoder between images and text (Li et al., 2023): its queries, layers of which one of some attends
 * to the image, and the product that makes tokens of text of its results. InstructBLIP's reads text, too. */
static double count_former(const emp_json *config)
{
    const emp_json  *vision_config = emp_json_get(config, "vision_config");
    const emp_json  *text_config = emp_json_get(config, "text_config");
    const emp_fields f = {.object = emp_json_get(config, "qformer_config")};
    const emp_fields whole = {.object = config}, text = {.object = text_config};
    const emp_fields vision = {.object = vision_config};
    const bool       has_text = !is_word(emp_json_get(config, "model_type"), "blip-2");
    const double     hidden = size_of(&f, "hidden_size", 768);
    const double     inner = size_of(&f, "intermediate_size", 3072);
    const double     layers = size_of(&f, "num_hidden_layers", 12);
    const double     period = size_of(&f, "cross_attention_frequency", 2);
    const double     image = size_of(&vision, "hidden_size", 1408);
    const double     forward = linear(hidden, inner) + linear(inner, hidden) + 2 * hidden;
    const double     attention = 4 * linear(hidden, hidden) + 2 * hidden;
    const double     cross =
        2 * linear(hidden, hidden) + 2 * linear(image, hidden) + 2 * hidden;
    const double tables = has_text ? size_of(&f, "vocab_size", 30522) +
                                         size_of(&f, "max_position_embeddings", 512)
                                   : 0;

    return layers * (attention + (has_text ? 2 : 1) * forward) +
           ceil(layers / period) * cross +
           hidden * (2 + tables + size_of(&whole, "num_query_tokens", 32)) +
           linear(hidden, size_of(&text, "hidden_size|d_model", hidden));
}

static void note_former(emp_import_notes *notes, const emp_json *config, emp_dtype dtype)
{
    const emp_json *object = emp_json_get(config, "qformer_config");
    char            size[32];

    if (!emp_json_is(object, EMP_JSON_OBJECT)) return;
    if (!is_blip(config)) {
        emp_import_notes_warn(notes, "the Q-Former (\"qformer_config\") is left out");
        return;
    }
    const double parameters = count_former(config);
    emp_units_format_bytes((int64_t)(parameters * emp_dtype_bytes(dtype)), size,
                           sizeof size);
    emp_import_notes_warn(
        notes, "the Q-Former (\"qformer_config\") is left out: %.0f parameters, %s in %s",
        parameters, size, emp_dtype_name(dtype));
}

void emp_towers_note(emp_import_notes *notes, const emp_json *config, emp_dtype dtype)
{
    for (size_t i = 0; i < sizeof towers / sizeof *towers; i++) {
        const emp_json *object = emp_json_get(config, towers[i].key);
        if (emp_json_count(object) > 0)
            note(notes, towers[i].name, towers[i].key, object, config, dtype);
    }
    note_former(notes, config, dtype);
}

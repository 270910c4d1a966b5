// SPDX-License-Identifier: GPL-3.0-or-later
/* Reads which element type a quantisation gives each weight. First come the modules that it names: in lists of what it leaves out, in groups of targets, and in tables with an
 * entry a module. Names are whole or part of a path, patterns with *, or regular expressions ("re:...").
 *
 * Checkpoints and libraries spell paths differently. "language_model." is dropped from a multimodal model's path; an
 * expert may have its number, and w1, w2 and w3 stand for gate_proj, down_proj and up_proj; DeepSeek's own checkpoints
 * have "layers.0.attn" and "layers.0.ffn" for "model.layers.0.self_attn" and "model.layers.0.mlp".
 */
#include "graphs/import/models/quantised.h"

#include <ctype.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <regex.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/text/json.h"
#include "base/text/text.h"

enum { EMP_MODULE_BYTES = 256, EMP_MODULE_SPELLINGS = 4 };

/* The spellings of a weight's module. */
typedef struct {
    char    spelling[EMP_MODULE_SPELLINGS][EMP_MODULE_BYTES];
    int32_t count; /*< 0: the weight is none of a module, or its name is too long */
} emp_module;

/* The prefix of a path in a multimodal model, and in a model of text. */
static const char tower[] = "language_model.", inner[] = "model.language_model.",
                  plain[] = "model.";

static bool begins(const char *text, const char *start)
{
    return strncmp(text, start, strlen(start)) == 0;
}

/* ---- spellings ---- */

/* Room for one spelling more. */
static char *add_spelling(emp_module *m) { return m->spelling[m->count++]; }

/* Writes PATH.experts.NAME as PATH.experts.0.NAME, and with w1, w2 or w3 for the product. */
static void spell_expert(emp_module *m, const char *whole)
{
    static const char *const products[][2] = {
        {"gate_proj", "w1"}, {"down_proj", "w2"}, {"up_proj", "w3"}};
    const char *experts = strstr(whole, "experts.");

    if (experts == NULL || strstr(whole, "shared") != NULL) return;
    const char  *product = experts + strlen("experts.");
    const int    before = (int)(product - whole);
    const size_t room = EMP_MODULE_BYTES;
    if (strlen(whole) + 3 > room || isdigit((unsigned char)*product)) return;
    (void)snprintf(add_spelling(m), room, "%.*s0.%s", before, whole, product);
    for (size_t i = 0; i < sizeof products / sizeof *products; i++)
        if (strcmp(product, products[i][0]) == 0)
            (void)snprintf(add_spelling(m), room, "%.*s0.%s", before, whole,
                           products[i][1]);
}

/* Writes model.layers.N.mlp.NAME as layers.N.ffn.NAME, and self_attn as attn. */
static void spell_native(emp_module *m, const char *whole)
{
    static const char *const parts[][2] = {{".mlp.", ".ffn."}, {".self_attn.", ".attn."}};

    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        const char *at = strstr(whole, parts[i][0]);
        if (at == NULL || !begins(whole, plain)) continue;
        const char *from = whole + strlen(plain);
        (void)snprintf(add_spelling(m), EMP_MODULE_BYTES, "%.*s%s%s", (int)(at - from),
                       from, parts[i][1], at + strlen(parts[i][0]));
        return;
    }
}

/* The module of the weight "PATH.weight". */
static emp_module module_of_weight(const char *weight)
{
    emp_module   m = {.count = 0};
    char         whole[EMP_MODULE_BYTES];
    const size_t length = strlen(weight), ending = strlen(".weight");

    if (length < ending || length - ending >= sizeof whole ||
        strcmp(weight + length - ending, ".weight") != 0)
        return m;
    memcpy(whole, weight, length - ending);
    whole[length - ending] = '\0';
    memcpy(add_spelling(&m), whole, length - ending + 1);
    spell_native(&m, whole);
    spell_expert(&m, whole);
    return m;
}

/* A name of a config without "language_model."; \a room where it is written anew. */
static const char *without_tower(const char *name, char room[EMP_MODULE_BYTES])
{
    if (begins(name, tower)) return name + strlen(tower);
    if (!begins(name, inner) || strlen(name) >= EMP_MODULE_BYTES) return name;
    (void)snprintf(room, EMP_MODULE_BYTES, "%s%s", plain, name + strlen(inner));
    return room;
}

/* ---- lists ---- */

/* The regular expressions of Python that POSIX has, too; others match nothing. */
static bool matches_regex(const char *pattern, const emp_module *m)
{
    regex_t regex;
    bool    matches = false;

    if (regcomp(&regex, pattern, REG_EXTENDED | REG_NOSUB) != 0) return false;
    for (int32_t i = 0; i < m->count && !matches; i++)
        matches = regexec(&regex, m->spelling[i], 0, NULL, 0) == 0;
    regfree(&regex);
    return matches;
}

/* True if \a part is a run of whole components of the name. */
static bool has_components(const char *module, const char *part)
{
    const size_t length = strlen(part);

    for (const char *at = module; length > 0 && (at = strstr(at, part)) != NULL; at++)
        if ((at == module || at[-1] == '.') && (at[length] == '\0' || at[length] == '.'))
            return true;
    return false;
}

static bool matches(const char *name, const emp_module *m)
{
    char        room[EMP_MODULE_BYTES];
    const char *pattern = without_tower(name, room);
    const bool  is_pattern = strpbrk(pattern, "*?[") != NULL;

    if (strncmp(name, "re:", 3) == 0) return matches_regex(name + 3, m);
    for (int32_t i = 0; i < m->count; i++)
        if (is_pattern ? fnmatch(pattern, m->spelling[i], 0) == 0
                       : has_components(m->spelling[i], pattern))
            return true;
    return false;
}

/* True if one of the list's texts names the module or, without a pattern, one that contains it. O(list). */
static bool module_is_listed(const emp_json *list, const emp_module *module)
{
    for (const emp_json *i = emp_json_first(list); i != NULL; i = emp_json_next(i)) {
        const char *name = emp_json_string(i);
        if (name != NULL && matches(name, module)) return true;
    }
    return false;
}

/* ---- tables ---- */

/* True if the module is the named one or lies in it. Copies nothing: tables have entries by the ten thousand. */
static bool is_within(const char *module, const char *name)
{
    if (begins(name, tower)) {
        name += strlen(tower);
    } else if (begins(name, inner)) {
        if (!begins(module, plain)) return false;
        name += strlen(inner);
        module += strlen(plain);
    }
    while (*name != '\0' && *name == *module) {
        name++;
        module++;
    }
    return *name == '\0' && (*module == '\0' || *module == '.');
}

/* The member of an object with the name of the module, or of one that contains it; NULL: there is none.
 * O(members). */
static const emp_json *module_find(const emp_json *object, const emp_module *module)
{
    for (const emp_json *i = emp_json_first(object); i != NULL; i = emp_json_next(i)) {
        const char *name = emp_json_key(i);
        for (int32_t s = 0; name != NULL && s < module->count; s++)
            if (is_within(module->spelling[s], name)) return i;
    }
    return NULL;
}

/* Numbers of ggml. */
enum {
    Q4_0 = 2,
    Q4_1,
    Q5_0 = 6,
    Q5_1,
    Q8_0,
    Q2_K = 10,
    Q3_K,
    Q4_K,
    Q5_K,
    Q6_K,
    MXFP4 = 39,
    NVFP4
};

/* The object that says how weights are quantised; NULL: there is none. */
static const emp_json *find_object(const emp_json *config)
{
    static const char *const keys[] = {"quantization_config", "compression_config",
                                       "quantization"};
    const emp_json          *places[] = {config, emp_json_get(config, "text_config")};

    for (size_t p = 0; p < sizeof places / sizeof *places; p++)
        for (size_t k = 0; k < sizeof keys / sizeof *keys; k++) {
            const emp_json *object = emp_json_get(places[p], keys[k]);
            if (emp_json_count(object) > 0) return object;
        }
    return NULL;
}

/* Bits of a quantised weight; 0: the object does not say. */
static int64_t bits_of(const emp_json *object)
{
    static const char *const keys[] = {"bits", "w_bit", "weight_bits", "num_bits"};
    const emp_json          *groups = emp_json_get(object, "config_groups");
    const emp_json          *weights = emp_json_get(emp_json_first(groups), "weights");

    if (weights != NULL) object = weights;
    for (size_t k = 0; k < sizeof keys / sizeof *keys; k++) {
        const int64_t bits = emp_json_integer(emp_json_get(object, keys[k]));
        if (bits > 0) return bits;
    }
    if (emp_json_is(emp_json_get(object, "load_in_4bit"), EMP_JSON_TRUE)) return 4;
    return emp_json_is(emp_json_get(object, "load_in_8bit"), EMP_JSON_TRUE) ? 8 : 0;
}

static void name_method(emp_quantised *q, const emp_json *object, const char *method)
{
    const char   *algorithm = emp_json_string(emp_json_get(object, "quant_algo"));
    const int64_t bits = bits_of(object);
    emp_text      text = {q->method, sizeof q->method, 0};

    emp_text_add(&text, "%.24s", method != NULL ? method : "of no named method");
    if (algorithm != NULL) emp_text_add(&text, ", %.24s", algorithm);
    if (bits > 0) emp_text_add(&text, ", %" PRId64 " bits", bits);
}

/* ---- what a config says ---- */

static bool is_word(const char *text, const char *word)
{
    return text != NULL && strcmp(text, word) == 0;
}

static bool is_true(const emp_json *object, const char *key)
{
    return emp_json_is(emp_json_get(object, key), EMP_JSON_TRUE);
}

/* Weights that share a scale; 0: the weights of a row. */
static int32_t group_of(const emp_json *object, int32_t otherwise)
{
    static const char *const keys[] = {"group_size", "q_group_size"};

    for (size_t k = 0; k < sizeof keys / sizeof *keys; k++) {
        const emp_json *group = emp_json_get(object, keys[k]);
        int64_t         size = emp_json_integer(group);
        if (!emp_json_is(group, EMP_JSON_INTEGER)) continue;
        return size > 0 && size <= INT32_MAX ? (int32_t)size : 0;
    }
    return otherwise;
}

static emp_dtype grouped(const emp_json *object, int32_t group, emp_group_kind kind)
{
    return emp_dtype_grouped((int32_t)bits_of(object), group_of(object, group), kind);
}

static emp_dtype of_bitsandbytes(const emp_json *object)
{
    if (bits_of(object) == 8) return emp_dtype_grouped(8, 0, EMP_GROUP_SCALE);
    return is_true(object, "bnb_4bit_use_double_quant") ? EMP_DTYPE_NF4_TWICE
                                                        : EMP_DTYPE_NF4;
}

/* Whether products round their activations to 4 bits, too. */
static bool is_w4a4(const emp_json *group)
{
    const emp_json *in = emp_json_get(group, "input_activations");

    return is_word(emp_json_string(emp_json_get(in, "type")), "float") &&
           emp_json_integer(emp_json_get(in, "num_bits")) == 4;
}

/* A group of compressed-tensors or modelopt. */
static emp_dtype of_group(const emp_json *of)
{
    const emp_json *weights = emp_json_get(of, "weights");
    const char     *type = emp_json_string(emp_json_get(weights, "type"));
    const char     *strategy = emp_json_string(emp_json_get(weights, "strategy"));
    const int64_t   bits = emp_json_integer(emp_json_get(weights, "num_bits"));
    const int32_t   group = group_of(weights, 0);
    const bool      is_symmetric =
        !emp_json_is(emp_json_get(weights, "symmetric"), EMP_JSON_FALSE);

    if (is_word(type, "float") && bits == 8)
        return is_word(strategy, "block") ? EMP_DTYPE_FLOAT8_TILES
                                          : EMP_DTYPE_FLOAT8_E4M3;
    if (is_word(type, "float") && bits == 4)
        return group == 32   ? emp_dtype_of_ggml(MXFP4)
               : is_w4a4(of) ? EMP_DTYPE_NVFP4_W4A4
                             : emp_dtype_of_ggml(NVFP4);
    return emp_dtype_grouped((int32_t)bits, group,
                             is_symmetric ? EMP_GROUP_SCALE : EMP_GROUP_ZERO);
}

/* The "quant_algo" of an object of modelopt, which may belong to one module. */
static emp_dtype of_algorithm(const emp_json *object)
{
    const char *algorithm = emp_json_string(emp_json_get(object, "quant_algo"));

    if (is_word(algorithm, "FP8") || is_word(algorithm, "FP8_PER_CHANNEL_PER_TOKEN"))
        return EMP_DTYPE_FLOAT8_E4M3;
    if (is_word(algorithm, "FP8_PB_WO") || is_word(algorithm, "FP8_PB_REAL"))
        return EMP_DTYPE_FLOAT8_TILES;
    if (is_word(algorithm, "MXFP8")) return EMP_DTYPE_MXFP8;
    if (is_word(algorithm, "NVFP4")) return EMP_DTYPE_NVFP4_W4A4;
    if (is_word(algorithm, "W4A8_NVFP4_FP8") || is_word(algorithm, "W4A16_NVFP4"))
        return emp_dtype_of_ggml(NVFP4);
    if (is_word(algorithm, "MXFP4") || is_word(algorithm, "W4A8_MXFP4_FP8"))
        return emp_dtype_of_ggml(MXFP4);
    if (is_word(algorithm, "W4A16_AWQ") || is_word(algorithm, "W4A8_AWQ"))
        return emp_dtype_grouped(4, group_of(object, 128), EMP_GROUP_SCALE);
    return EMP_DTYPE_NONE;
}

/* Without an algorithm the groups tell. */
static emp_dtype of_modelopt(const emp_json *object)
{
    const emp_json *groups = emp_json_get(object, "config_groups");
    const emp_dtype type = of_algorithm(object);

    if (type == EMP_DTYPE_NONE && emp_json_get(object, "quant_algo") == NULL)
        return of_group(emp_json_first(groups));
    return type;
}

static emp_dtype of_fp8(const emp_json *object)
{
    return emp_json_get(object, "weight_block_size") != NULL ? EMP_DTYPE_FLOAT8_TILES
                                                             : EMP_DTYPE_FLOAT8_E4M3;
}

/* A method without a name has MLX's members. */
static emp_dtype of_method(const emp_json *object, const char *method)
{
    const emp_json *hqq =
        emp_json_get(emp_json_get(object, "quant_config"), "weight_quant_params");

    if (method == NULL || is_word(method, "mlx"))
        return grouped(object, 64, EMP_GROUP_BIAS);
    if (is_word(method, "fp8")) return of_fp8(object);
    if (is_word(method, "mxfp4")) return emp_dtype_of_ggml(MXFP4);
    if (is_word(method, "awq") || is_word(method, "gptq") ||
        is_word(method, "auto-round"))
        return grouped(object, 128, EMP_GROUP_ZERO);
    if (is_word(method, "hqq"))
        return emp_dtype_grouped((int32_t)emp_json_integer(emp_json_get(hqq, "nbits")),
                                 group_of(hqq, 64), EMP_GROUP_BIAS);
    if (is_word(method, "bitsandbytes")) return of_bitsandbytes(object);
    if (is_word(method, "modelopt")) return of_modelopt(object);
    if (is_word(method, "compressed-tensors"))
        return of_group(emp_json_first(emp_json_get(object, "config_groups")));
    return EMP_DTYPE_NONE;
}

static const emp_json *find_left_out(const emp_json *object)
{
    static const char *const keys[] = {"modules_to_not_convert", "ignore",
                                       "exclude_modules",        "ignored_layers",
                                       "llm_int8_skip_modules",  "exclude"};

    for (size_t k = 0; k < sizeof keys / sizeof *keys; k++) {
        const emp_json *list = emp_json_get(object, keys[k]);
        if (emp_json_count(list) > 0) return list;
    }
    return NULL;
}

/* DeepSeek-V4 has scales of a byte, and says how its experts are stored beside the quantisation. */
static void read_deepseek_v4(emp_quantised *q, const emp_json *config)
{
    const char *type = emp_json_string(emp_json_get(config, "model_type"));
    const char *experts = emp_json_string(emp_json_get(config, "expert_dtype"));

    if (!is_word(type, "deepseek_v4") && !is_word(type, "deepseek_ref")) return;
    if (q->dtype == EMP_DTYPE_FLOAT8_TILES) q->dtype = EMP_DTYPE_FLOAT8_TILES_8;
    if (is_word(experts, "fp4")) q->of_experts = emp_dtype_of_ggml(MXFP4);
}

/* Where modules have types of their own, those that have none are not quantised, or are of the method; a list of what
 * is left out is then of those that have. */
static void read_parts(emp_quantised *q, const emp_json *object, const char *method)
{
    const emp_json *layers = emp_json_get(object, "quantized_layers");
    const emp_json *groups = emp_json_get(object, "config_groups");

    q->left_out = find_left_out(object);
    if (emp_json_count(layers) > 0) {
        q->layers = layers;
        if (is_word(method, "fp8")) q->left_out = NULL;
    } else if (emp_json_count(groups) > 1 || is_word(method, "compressed-tensors")) {
        q->groups = groups;
    }
    q->is_read = q->dtype != EMP_DTYPE_NONE || q->layers != NULL;
}

emp_quantised emp_quantised_read(const emp_json *config, const emp_json *beside)
{
    const emp_json *own = find_object(config);
    const emp_json *object = own != NULL ? own : beside;
    const char     *method = emp_json_string(emp_json_get(object, "quant_method"));
    const bool      is_of_modelopt =
        method == NULL && (own == NULL || emp_json_get(object, "quant_algo") != NULL);
    emp_quantised q = {.mix = -1, .object = object};

    if (object == NULL) return q;
    if (is_of_modelopt) method = "modelopt";
    name_method(&q, object, method);
    q.dtype = of_method(object, method);
    q.is_experts_only = is_word(method, "mxfp4");
    q.has_table = method == NULL || is_word(method, "mlx");
    q.has_head = q.has_table || is_true(object, "lm_head") ||
                 is_word(method, "compressed-tensors") || is_word(method, "modelopt");
    read_parts(&q, object, method);
    read_deepseek_v4(&q, config);
    return q;
}

/* ---- names ---- */

/* The type of most matrices, and whether it is one of ggml's. */
static const struct {
    int32_t ggml; /* -1: another type */
    bool    is_mixed;
} named[] = {{-1, false},    {-1, false},  {-1, false},  {-1, false},  {MXFP4, false},
             {NVFP4, false}, {Q4_0, true}, {Q4_1, true}, {Q5_0, true}, {Q5_1, true},
             {Q8_0, true},   {Q2_K, true}, {Q3_K, true}, {Q3_K, true}, {Q3_K, true},
             {Q4_K, true},   {Q4_K, true}, {Q5_K, true}, {Q5_K, true}, {Q6_K, true}};

/* Places of the names that mix more than the head. */
enum {
    NAME_Q8_0 = 10,
    NAME_Q2_K,
    NAME_Q3_K_S,
    NAME_Q3_K_M,
    NAME_Q3_K_L,
    NAME_Q4_K_S,
    NAME_Q4_K_M,
    NAME_Q5_K_S,
    NAME_Q5_K_M
};

static void add_word(emp_text *text, int32_t number)
{
    const char *word = EMP_QUANTISED_WORDS;

    for (; number > 0; number--) word = strchr(word, '|') + 1;
    emp_text_add(text, "%.*s", (int)strcspn(word, "|"), word);
}

emp_status emp_quantised_load_beside(emp_json_document *document, char *path, size_t size,
                                     const char *config_path, const emp_json *config,
                                     emp_error *err)
{
    static const char name[] = "hf_quant_config.json";
    const char       *slash = strrchr(config_path, '/');
    const size_t      folder = slash != NULL ? (size_t)(slash + 1 - config_path) : 0;

    if (folder + sizeof name > size || emp_quantised_read(config, NULL).object != NULL)
        return EMP_OK;
    snprintf(path, size, "%.*s%s", (int)folder, config_path, name);
    if (access(path, F_OK) != 0) return EMP_OK;
    return emp_json_load(document, path, err);
}

const emp_json *emp_quantised_of_file(const emp_json_document *document)
{
    const emp_json *object = emp_json_get(document->root, "quantization");

    return emp_json_count(object) > 0 ? object : NULL;
}

emp_quantised emp_quantised_named(int32_t number, const emp_transformer_model *model)
{
    const emp_dtype others[] = {EMP_DTYPE_FLOAT8_E4M3,
                                emp_dtype_grouped(8, 0, EMP_GROUP_SCALE),
                                emp_dtype_grouped(4, 128, EMP_GROUP_ZERO), EMP_DTYPE_NF4};
    emp_quantised   q = {.mix = -1, .model = model};
    emp_text        text = {q.method, sizeof q.method, 0};

    emp_text_add(&text, "quant=");
    add_word(&text, number);
    if (named[number].ggml < 0) {
        q.dtype = others[number];
        q.is_read = true;
        return q;
    }
    q.dtype = emp_dtype_of_ggml((uint32_t)named[number].ggml);
    q.is_read = true;
    if (named[number].is_mixed) {
        q.mix = number;
        q.has_table = q.has_head = true;
    }
    return q;
}

static bool has_part(const char *name, const char *part)
{
    return strstr(name, part) != NULL;
}

/* The number behind "layers." or "h."; -1: the name has none. */
static int32_t layer_of(const char *name)
{
    for (const char *at = name; (at = strchr(at, '.')) != NULL;) {
        at++;
        if (isdigit((unsigned char)*at)) return (int32_t)strtol(at, NULL, 10);
    }
    return -1;
}

/* llama.cpp's use_more_bits(): the first and last eighth of the layers, and each third between. */
static bool has_more_bits(int32_t layer, int32_t layers)
{
    return layer < layers / 8 || layer >= 7 * layers / 8 || (layer - layers / 8) % 3 == 2;
}

/* The product with the values of attention. Eight experts or many queries a key make it small. */
static int32_t mixed_value(const emp_quantised *q, int32_t layer, int32_t layers,
                           int32_t otherwise)
{
    const emp_transformer_layer *l = &q->model->layer[layer];
    const int32_t                queries = l->kv_heads > 0 ? l->heads / l->kv_heads : 1;
    int32_t                      type = otherwise;

    if (l->experts == 8) return Q8_0;
    switch (q->mix) {
    case NAME_Q2_K: type = queries >= 4 ? Q4_K : Q3_K; break;
    case NAME_Q3_K_M: type = layer < 2 ? Q5_K : Q4_K; break;
    case NAME_Q3_K_L: type = Q5_K; break;
    case NAME_Q4_K_M:
    case NAME_Q5_K_M: type = has_more_bits(layer, layers) ? Q6_K : otherwise; break;
    case NAME_Q4_K_S: type = layer < 4 ? Q5_K : otherwise; break;
    default: break;
    }
    /* 70 billion: the values are shared by eight heads */
    return layers == 80 && queries == 8 && (type == Q3_K || type == Q4_K) ? Q5_K : type;
}

static int32_t mixed_down(const emp_quantised *q, int32_t layer, int32_t layers,
                          int32_t otherwise)
{
    switch (q->mix) {
    case NAME_Q2_K: return Q3_K;
    case NAME_Q3_K_M: return layer < layers / 16 ? Q5_K : Q4_K;
    case NAME_Q3_K_L: return Q5_K;
    case NAME_Q4_K_M:
    case NAME_Q5_K_M: return has_more_bits(layer, layers) ? Q6_K : otherwise;
    case NAME_Q4_K_S: return layer < layers / 8 ? Q5_K : otherwise;
    default: return otherwise;
    }
}

static int32_t mixed_output(const emp_quantised *q, int32_t layer, int32_t otherwise)
{
    if (q->model->layer[layer].experts == 8)
        return q->mix >= NAME_Q2_K && q->mix <= NAME_Q4_K_M ? Q5_K : otherwise;
    switch (q->mix) {
    case NAME_Q2_K: return Q3_K;
    case NAME_Q3_K_M: return Q4_K;
    case NAME_Q3_K_L: return Q5_K;
    default: return otherwise;
    }
}

static int32_t mixed_fused(const emp_quantised *q, int32_t otherwise)
{
    switch (q->mix) {
    case NAME_Q3_K_M:
    case NAME_Q3_K_L: return Q4_K;
    case NAME_Q4_K_M: return Q5_K;
    case NAME_Q5_K_M: return Q6_K;
    default: return otherwise;
    }
}

/* ggml's number of a matrix's type. A tied table is the head, too. */
static int32_t mixed_type(const emp_quantised *q, const char *name)
{
    const int32_t layers = q->model->layer_count, layer = layer_of(name);
    const int32_t most = named[q->mix].ggml;
    bool          is_head =
        has_part(name, "lm_head") || (q->model->is_head_tied && has_part(name, "embed"));

    if (layer < 0 || layer >= layers) return is_head && most != Q8_0 ? Q6_K : most;
    if (has_part(name, ".v_proj")) return mixed_value(q, layer, layers, most);
    if (has_part(name, ".k_proj") && q->model->layer[layer].experts == 8) return Q8_0;
    if (has_part(name, ".o_proj")) return mixed_output(q, layer, most);
    if (has_part(name, "down")) return mixed_down(q, layer, layers, most);
    if (has_part(name, "qkv")) return mixed_fused(q, most);
    return most;
}

/* ---- the type of a weight ---- */

/* Modules that no library quantises: routers, norms, convolutions of a few tokens, biases by distance, the weights of an indexer's heads, the
 * compressors of DeepSeek-V4, and the products around experts of another size in Kimi K3. */
static bool is_never_quantised(const char *name)
{
    static const char *const kept[] = {"router",
                                       "mlp.gate.weight",
                                       "moe.gate.weight",
                                       "mixer.gate.weight",
                                       "norm",
                                       "conv1d.",
                                       "A_log",
                                       "encoder.conv",
                                       "relative_attention_bias",
                                       "weights_proj",
                                       "compressor.kv_proj",
                                       "compressor.gate_proj",
                                       "indexer.kv_proj",
                                       "indexer.gate_proj",
                                       "routed_expert_"};

    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++)
        if (has_part(name, kept[i])) return true;
    return false;
}

static bool is_weight_of(const char *name, const char *module)
{
    const size_t length = module != NULL ? strlen(module) : 0;

    return length > 0 && strncmp(name, module, length) == 0 &&
           strcmp(name + length, ".weight") == 0;
}

/* Tables and heads are seldom quantised. */
static bool is_kept_at_an_end(const emp_quantised *q, const char *name)
{
    const emp_transformer_names *n = q->model != NULL ? &q->model->names : NULL;
    const bool                   is_table =
        has_part(name, "embed") || (n != NULL && is_weight_of(name, n->embedding));
    const bool is_head =
        has_part(name, "lm_head") || (n != NULL && is_weight_of(name, n->head));

    return (is_table && !q->has_table) || (is_head && !q->has_head);
}

/* The group of compressed-tensors or modelopt whose targets have the module; a name of a class of PyTorch is the target
 * of all modules. */
static emp_dtype of_groups(const emp_quantised *q, const emp_module *m)
{
    for (const emp_json *g = emp_json_first(q->groups); g != NULL; g = emp_json_next(g)) {
        const emp_json *targets = emp_json_get(g, "targets");
        const emp_json *weights = emp_json_get(g, "weights");
        const char     *first = emp_json_string(emp_json_first(targets));
        if (emp_json_count(weights) == 0) continue;
        if (first == NULL || isupper((unsigned char)*first) ||
            module_is_listed(targets, m))
            return of_group(g);
    }
    return EMP_DTYPE_NONE;
}

/* Finds a module's type by its own entry, if there are some; else by groups and by the method. */
static emp_dtype of_module(const emp_quantised *q, const char *name, const emp_module *m)
{
    const emp_json *own = module_find(q->layers, m);

    if (own != NULL) return of_algorithm(own);
    if (is_kept_at_an_end(q, name)) return EMP_DTYPE_NONE;
    if (module_is_listed(q->left_out, m)) return EMP_DTYPE_NONE;
    if (q->layers == NULL && q->groups != NULL) return of_groups(q, m);
    return q->dtype;
}

emp_status emp_quantised_find_type(const void *context, const char *name,
                                   const emp_shape *shape, emp_dtype *dtype,
                                   emp_error *err)
{
    const emp_quantised *q = context;
    const emp_module     m = module_of_weight(name);
    const bool           is_of_experts = has_part(name, "experts.") && shape->rank == 3;

    (void)err;
    if (!q->is_read || shape->rank < 2 || m.count == 0 || is_never_quantised(name))
        return EMP_OK;
    if (q->is_experts_only && !is_of_experts) return EMP_OK;
    emp_dtype type = of_module(q, name, &m);
    if (type == EMP_DTYPE_NONE) return EMP_OK;
    if (is_of_experts && q->of_experts != EMP_DTYPE_NONE &&
        module_find(q->layers, &m) == NULL)
        type = q->of_experts;
    if (q->mix >= 0) type = emp_dtype_of_ggml((uint32_t)mixed_type(q, name));
    bool is_whole = shape->dim[shape->rank - 1] % emp_dtype_group(type) == 0;
    if (is_whole) *dtype = type;
    if (!is_whole && q->odd != NULL) ++*q->odd;
    return EMP_OK;
}

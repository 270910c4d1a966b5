// SPDX-License-Identifier: GPL-3.0-or-later
#include "graphs/import/models/quantised.h"

#include <ctype.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>

#include "base/text/text.h"

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

/* Weights that share a scale; 0: those of a row. */
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

/* One "weights" of compressed-tensors. */
static emp_dtype of_compressed(const emp_json *weights)
{
    const char   *type = emp_json_string(emp_json_get(weights, "type"));
    const char   *strategy = emp_json_string(emp_json_get(weights, "strategy"));
    const int64_t bits = emp_json_integer(emp_json_get(weights, "num_bits"));
    const int32_t group = group_of(weights, 0);
    const bool    is_symmetric =
        !emp_json_is(emp_json_get(weights, "symmetric"), EMP_JSON_FALSE);

    if (is_word(type, "float") && bits == 8)
        return is_word(strategy, "block") ? EMP_DTYPE_FLOAT8_TILES
                                          : EMP_DTYPE_FLOAT8_E4M3;
    if (is_word(type, "float") && bits == 4)
        return emp_dtype_of_ggml(group == 32 ? MXFP4 : NVFP4);
    return emp_dtype_grouped((int32_t)bits, group,
                             is_symmetric ? EMP_GROUP_SCALE : EMP_GROUP_ZERO);
}

static emp_dtype of_modelopt(const emp_json *object)
{
    const char     *algorithm = emp_json_string(emp_json_get(object, "quant_algo"));
    const emp_json *groups = emp_json_get(object, "config_groups");

    if (is_word(algorithm, "FP8") || is_word(algorithm, "FP8_PER_CHANNEL_PER_TOKEN"))
        return EMP_DTYPE_FLOAT8_E4M3;
    if (is_word(algorithm, "FP8_PB_WO") || is_word(algorithm, "FP8_PB_REAL"))
        return EMP_DTYPE_FLOAT8_TILES;
    if (is_word(algorithm, "NVFP4") || is_word(algorithm, "W4A8_NVFP4_FP8"))
        return emp_dtype_of_ggml(NVFP4);
    if (is_word(algorithm, "W4A16_AWQ") || is_word(algorithm, "W4A8_AWQ"))
        return emp_dtype_grouped(4, group_of(object, 128), EMP_GROUP_SCALE);
    if (algorithm == NULL && groups != NULL)
        return of_compressed(emp_json_get(emp_json_first(groups), "weights"));
    return EMP_DTYPE_NONE;
}

/* Of a method without a name the members are those of MLX. */
static emp_dtype of_method(const emp_json *object, const char *method)
{
    const emp_json *hqq =
        emp_json_get(emp_json_get(object, "quant_config"), "weight_quant_params");

    if (method == NULL || is_word(method, "mlx"))
        return grouped(object, 64, EMP_GROUP_BIAS);
    if (is_word(method, "fp8"))
        return emp_json_get(object, "weight_block_size") != NULL ? EMP_DTYPE_FLOAT8_TILES
                                                                 : EMP_DTYPE_FLOAT8_E4M3;
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
        return of_compressed(emp_json_get(
            emp_json_first(emp_json_get(object, "config_groups")), "weights"));
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

emp_quantised emp_quantised_read(const emp_json *config)
{
    const emp_json *object = find_object(config);
    const char     *method = emp_json_string(emp_json_get(object, "quant_method"));
    emp_quantised   q = {.dtype = EMP_DTYPE_NONE, .mix = -1, .object = object};

    if (object == NULL) return q;
    name_method(&q, object, method);
    q.dtype = of_method(object, method);
    q.left_out = find_left_out(object);
    q.is_experts_only = is_word(method, "mxfp4");
    q.has_table = method == NULL || is_word(method, "mlx");
    q.has_head = q.has_table || is_true(object, "lm_head") ||
                 is_word(method, "compressed-tensors") || is_word(method, "modelopt");
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
        return q;
    }
    q.dtype = emp_dtype_of_ggml((uint32_t)named[number].ggml);
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

/* Of the product with the values of attention. Eight experts or many queries a key make it small. */
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

/* ---- modules that are left out ---- */

/* The regular expressions of Python that POSIX has, too; others match nothing. */
static bool matches_regex(const char *pattern, const char *module)
{
    regex_t regex;

    if (regcomp(&regex, pattern, REG_EXTENDED | REG_NOSUB) != 0) return false;
    regmatch_t whole[1];
    bool       matches = regexec(&regex, module, 0, whole, 0) == 0;
    regfree(&regex);
    return matches;
}

/* Whether \a part is a run of whole components of the name. */
static bool has_components(const char *module, const char *part)
{
    const size_t length = strlen(part);

    for (const char *at = module; length > 0 && (at = strstr(at, part)) != NULL; at++)
        if ((at == module || at[-1] == '.') && (at[length] == '\0' || at[length] == '.'))
            return true;
    return false;
}

static bool matches(const char *pattern, const char *module)
{
    if (strncmp(pattern, "re:", 3) == 0) return matches_regex(pattern + 3, module);
    if (strpbrk(pattern, "*?[") != NULL) return fnmatch(pattern, module, 0) == 0;
    return has_components(module, pattern);
}

static bool is_left_out(const emp_quantised *q, const char *name)
{
    char         module[256];
    const size_t length = strlen(name), ending = strlen(".weight");
    size_t       cut = length;

    if (q->left_out == NULL || length >= sizeof module) return false;
    if (length > ending && strcmp(name + length - ending, ".weight") == 0) cut -= ending;
    memcpy(module, name, cut);
    module[cut] = '\0';
    for (const emp_json *item = emp_json_first(q->left_out); item != NULL;
         item = emp_json_next(item)) {
        const char *pattern = emp_json_string(item);
        if (pattern != NULL && matches(pattern, module)) return true;
    }
    return false;
}

/* Routers are not quantised, tables and heads seldom. */
static bool is_kept(const emp_quantised *q, const char *name)
{
    static const char *const kept[] = {"router", "mlp.gate.weight", "moe.gate.weight",
                                       "norm"};

    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++)
        if (has_part(name, kept[i])) return true;
    return (has_part(name, "embed") && !q->has_table) ||
           (has_part(name, "lm_head") && !q->has_head) || is_left_out(q, name);
}

emp_status emp_quantised_find_type(const void *context, const char *name,
                                   const emp_shape *shape, emp_dtype *dtype,
                                   emp_error *err)
{
    const emp_quantised *q = context;
    bool                 is_of_experts = has_part(name, "experts.") && shape->rank == 3;
    emp_dtype            type = q->dtype;

    (void)err;
    if (type == EMP_DTYPE_NONE || shape->rank < 2 || is_kept(q, name)) return EMP_OK;
    if (q->is_experts_only && !is_of_experts) return EMP_OK;
    if (q->mix >= 0) type = emp_dtype_of_ggml((uint32_t)mixed_type(q, name));
    bool is_whole = shape->dim[shape->rank - 1] % emp_dtype_group(type) == 0;
    if (is_whole) *dtype = type;
    if (!is_whole && q->odd != NULL) ++*q->odd;
    return EMP_OK;
}

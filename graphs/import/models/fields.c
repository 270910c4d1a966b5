// SPDX-License-Identifier: GPL-3.0-or-later
/* Members of a config by name, and what families of models share. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text/units.h"
#include "graphs/import/models/families.h"

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
    int32_t chosen = emp_fields_integer(f,
                                        "num_experts_per_tok|num_experts_per_token|top_k_"
                                        "experts|experts_per_token|moe_top_k",
                                        -1);
    int32_t inner = emp_fields_integer(f, "moe_intermediate_size", m->layer[0].inner);

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

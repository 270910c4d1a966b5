// SPDX-License-Identifier: GPL-3.0-or-later
#include "graphs/import/models/quantised.h"

#include <inttypes.h>
#include <string.h>

#include "base/text/text.h"

enum { GGML_MXFP4 = 39 };

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

emp_quantised emp_quantised_read(const emp_json *config)
{
    const emp_json *object = find_object(config);
    const char     *method = emp_json_string(emp_json_get(object, "quant_method"));
    emp_quantised   q = {.dtype = EMP_DTYPE_NONE};

    if (object == NULL) return q;
    name_method(&q, object, method);
    if (method != NULL && strcmp(method, "fp8") == 0) q.dtype = EMP_DTYPE_FLOAT8_E4M3;
    if (method != NULL && strcmp(method, "mxfp4") == 0) {
        q.dtype = emp_dtype_of_ggml(GGML_MXFP4);
        q.is_experts_only = true;
    }
    return q;
}

/* Tables, heads and routers are not quantised. */
static bool is_kept(const char *name)
{
    static const char *const kept[] = {"embed",           "lm_head",         "router",
                                       "mlp.gate.weight", "moe.gate.weight", "norm"};

    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++)
        if (strstr(name, kept[i]) != NULL) return true;
    return false;
}

emp_status emp_quantised_find_type(const void *context, const char *name,
                                   const emp_shape *shape, emp_dtype *dtype,
                                   emp_error *err)
{
    const emp_quantised *q = context;
    bool is_of_experts = strstr(name, "experts.") != NULL && shape->rank == 3;

    (void)err;
    if (q->dtype == EMP_DTYPE_NONE || shape->rank < 2 || is_kept(name)) return EMP_OK;
    if (q->is_experts_only && !is_of_experts) return EMP_OK;
    if (shape->dim[shape->rank - 1] % emp_dtype_block(q->dtype) == 0) *dtype = q->dtype;
    return EMP_OK;
}

// SPDX-License-Identifier: GPL-3.0-or-later
#include "graphs/import/models/quantised.h"

#include <string.h>

enum { GGML_MXFP4 = 39 };

emp_quantised emp_quantised_read(const emp_json *config)
{
    const emp_json *own = emp_json_get(config, "quantization_config");
    const emp_json *text = emp_json_get(config, "text_config");
    const char     *method = emp_json_string(emp_json_get(own, "quant_method"));

    if (method == NULL)
        method = emp_json_string(
            emp_json_get(emp_json_get(text, "quantization_config"), "quant_method"));
    if (method == NULL) return (emp_quantised){.dtype = EMP_DTYPE_NONE};
    if (strcmp(method, "fp8") == 0)
        return (emp_quantised){.dtype = EMP_DTYPE_FLOAT8_E4M3};
    if (strcmp(method, "mxfp4") == 0)
        return (emp_quantised){.dtype = emp_dtype_of_ggml(GGML_MXFP4),
                               .is_experts_only = true};
    return (emp_quantised){.dtype = EMP_DTYPE_NONE};
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

/** \file graphs/import/models/quantised.h
 * What a config says of the element types of weights: "quantization_config".
 *
 * fp8 (DeepSeek-V3, Kimi-K2): matrices of layers have 8 bits; their scales, one float32 for 128 x 128
 * weights, are left out. mxfp4 (gpt-oss): matrices of experts have 4 bits and an exponent of 8 bits for
 * each 32 weights. Tables, heads, routers and vectors keep the type of the step. Other methods are
 * not known and change nothing; their name is for a warning.
 */
#ifndef EMP_GRAPHS_IMPORT_MODELS_QUANTISED_H
#define EMP_GRAPHS_IMPORT_MODELS_QUANTISED_H

#include "base/text/json.h"
#include "sim/graph/op.h"

typedef struct {
    emp_dtype dtype;           /**< of the matrices; EMP_DTYPE_NONE: none is quantised */
    bool      is_experts_only; /**< of experts alone */
    char      method[80];      /**< for people: "awq, 4 bits"; "" = the config has none */
} emp_quantised;

/** Reads "quantization_config" of a config or of its "text_config", or the member that stands for it
 * in configs of MLX and of older compressed-tensors. */
emp_quantised emp_quantised_read(const emp_json *config);

/** An emp_weight_types.find. */
emp_status emp_quantised_find_type(const void *context, const char *name,
                                   const emp_shape *shape, emp_dtype *dtype,
                                   emp_error *err);

#endif /* EMP_GRAPHS_IMPORT_MODELS_QUANTISED_H */

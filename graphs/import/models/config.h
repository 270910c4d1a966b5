/** \file graphs/import/models/config.h
 * Hugging Face's config.json: what a model consists of. docs/formats.md has the model types that
 * are known. Of a model that sees or hears, the part that reads text is taken ("text_config").
 */
#ifndef EMP_GRAPHS_IMPORT_MODELS_CONFIG_H
#define EMP_GRAPHS_IMPORT_MODELS_CONFIG_H

#include "base/text/json.h"
#include "graphs/import/notes/notes.h"
#include "graphs/transformer/model.h"
#include "sim/graph/op.h"

/** Reads a config.
 *
 * \param[out] model  The caller's, who clears it, also after a failure.
 * \param[out] dtype  What its weights are of; EMP_DTYPE_NONE: it does not say.
 * \retval EMP_EFORMAT       A member is missing or of no use; the message names it.
 * \retval EMP_EUNSUPPORTED  Another model type, activation or kind of layer than those that are
 *                           known; the message lists them.
 * \retval EMP_EINVAL        Sizes that do not fit each other. \retval EMP_ENOMEM */
emp_status emp_config_read(emp_transformer_model *model, emp_dtype *dtype,
                           const emp_json *root, emp_error *err);

/* What a config says of the element types of weights: "quantization_config".
 *
 * fp8 (DeepSeek-V3, Kimi-K2): matrices of layers have 8 bits; their scales, one float32 for 128 x 128
 * weights, are left out. mxfp4 (gpt-oss): matrices of experts have 4 bits and an exponent of 8 bits for
 * each 32 weights. Tables, heads, routers and vectors keep the type of the step. Other methods are
 * not known and change nothing; their name is for a warning. */

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

/* The parts of a multimodal model that the graph leaves out: towers that read images or sound. */

/** Adds a warning for each tower of a config, with an estimate of its parameters and of their bytes in
 * \a dtype. \a notes may be NULL. */
void emp_towers_note(emp_import_notes *notes, const emp_json *config, emp_dtype dtype);

#endif /* EMP_GRAPHS_IMPORT_MODELS_CONFIG_H */

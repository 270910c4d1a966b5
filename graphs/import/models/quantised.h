/** \file graphs/import/models/quantised.h
 * In which element types a model's weights are stored: by the "quantization_config" of a config, or by a name
 * as in llama.cpp's `llama-quantize`.
 *
 * Configs. fp8 (DeepSeek-V3: a float32 for 128 x 128 weights), mxfp4 (gpt-oss, experts only), awq, gptq,
 * auto-round, hqq, bitsandbytes, compressed-tensors, modelopt (NVFP4, FP8) and MLX's "quantization". Matrices of
 * linear layers are quantised, but for routers, for modules that the config leaves out, and mostly for tables and
 * heads. Modules are left out by name, by a part of a name, by patterns with * and by regular expressions
 * ("re:..."), as the libraries do it. Scales and zeros count; the orders of columns of gptq do not.
 *
 * Names. q4_k_m and its like mix types by layer and matrix (llama.cpp, llama-quant.cpp, without an importance
 * matrix). Norms and biases keep the type of the step.
 */
#ifndef EMP_GRAPHS_IMPORT_MODELS_QUANTISED_H
#define EMP_GRAPHS_IMPORT_MODELS_QUANTISED_H

#include "base/text/json.h"
#include "graphs/transformer/model.h"
#include "sim/graph/dtype.h"

/** The names, in the order of emp_quantised_named(). */
#define EMP_QUANTISED_WORDS                                                             \
    "fp8|int8|int4|nf4|mxfp4|nvfp4|q4_0|q4_1|q5_0|q5_1|q8_0|q2_k|q3_k_s|q3_k_m|q3_k_l|" \
    "q4_k_s|"                                                                           \
    "q4_k_m|q5_k_s|q5_k_m|q6_k"

typedef struct {
    emp_dtype
        dtype; /**< of most matrices; EMP_DTYPE_NONE: none is quantised, or it is not known how */
    emp_dtype       of_experts; /**< of experts where they have another type; else NONE */
    bool            is_read; /**< false: the config has no quantisation that is known */
    bool            has_table, has_head; /**< those are quantised, too */
    bool            is_experts_only;
    int32_t         mix;      /**< number of a name that mixes types, or -1 */
    const emp_json *object;   /**< of the config, or NULL; borrowed */
    const emp_json *left_out; /**< names and patterns of modules, or NULL; borrowed */
    const emp_json *layers;   /**< modules with types of their own, or NULL; borrowed */
    const emp_json *groups; /**< of targets, where they are several, or NULL; borrowed */
    const emp_transformer_model
        *model; /**< for mixes, and for the names of its ends; or NULL; borrowed */
    int32_t
        *odd; /**< counts matrices whose rows are no whole groups, or NULL; borrowed */
    char method[80]; /**< for people: "awq, 4 bits"; "" = the config has none */
} emp_quantised;

/** Reads "quantization_config" of a config or of its "text_config", or the member that stands for it
 * in configs of MLX and of older compressed-tensors.
 * \param beside  "quantization" of the hf_quant_config.json that modelopt writes beside a config; it counts if the
 *                config has none. NULL is allowed. */
emp_quantised emp_quantised_read(const emp_json *config, const emp_json *beside);

/** Reads the hf_quant_config.json that modelopt writes beside a config whose own members do not say how its weights are stored;
 * \a document stays empty where there is none.
 * \param[out] path  Of the file; [size] the caller's.
 * \retval EMP_EFORMAT, EMP_EIO, EMP_ENOMEM */
emp_status emp_quantised_load_beside(emp_json_document *document, char *path, size_t size,
                                     const char *config_path, const emp_json *config,
                                     emp_error *err);

/** The member "quantization" of that file, or NULL. */
const emp_json *emp_quantised_of_file(const emp_json_document *document);

/** The name of that number in EMP_QUANTISED_WORDS. */
emp_quantised emp_quantised_named(int32_t number, const emp_transformer_model *model);

/** An emp_weight_types.find; \a context is an emp_quantised. O(modules that are left out). */
emp_status emp_quantised_find_type(const void *context, const char *name,
                                   const emp_shape *shape, emp_dtype *dtype,
                                   emp_error *err);

#endif /* EMP_GRAPHS_IMPORT_MODELS_QUANTISED_H */

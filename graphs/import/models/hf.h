/** \file graphs/import/models/hf.h
 * Models of Hugging Face: what a config.json says and how model types differ, the element types of
 * quantised weights, and headers of safetensors files.
 */
#ifndef EMP_GRAPHS_IMPORT_MODELS_HF_H
#define EMP_GRAPHS_IMPORT_MODELS_HF_H

#include <stdbool.h>

#include "base/collections.h"
#include "base/mem.h"
#include "base/text/json.h"
#include "graphs/import/notes/notes.h"
#include "graphs/transformer/model.h"
#include "sim/graph/dtype.h"
#include "sim/graph/op.h"

/* The members of a config.json by name, each with what stands for it where it is not there. The
 * first failure sticks, so that a reader of many members needs no checks. */

typedef struct {
    const emp_json *object;
    const char     *family;   /**< the model type, for messages */
    const char     *defaults; /**< of the family, or NULL */
    emp_status      status;
    emp_error      *err;
} emp_fields;

/** Among several names "hidden_size|n_embd" the first that is there and not null; NULL: none is. */
const emp_json *emp_fields_find(const emp_fields *f, const char *names);

/** An integer from 0 to 2^31 - 1; one that is not there has the family's default, or else is \a missing. A \a missing of
 * -1 makes it one that must be there, and 0 then is no value. */
int32_t emp_fields_integer(emp_fields *f, const char *names, int32_t missing);
bool    emp_fields_flag(emp_fields *f, const char *names, bool missing);
/** A text, or NULL. */
const char *emp_fields_text(emp_fields *f, const char *names);

/** Member \a i of an array; NULL: it ends before. O(i). */
const emp_json *emp_fields_at(const emp_json *array, int32_t i);

typedef struct {
    const char *types;   /**< "llama|mistral" */
    bool        is_tied; /**< where the config does not say */
    /** Sets what common members do not tell: sizes are there, all layers alike. */
    void (*adapt)(emp_fields *f, emp_transformer_model *m);
} emp_model_family;

/** The family of a model type, or NULL. */
const emp_model_family *emp_model_family_find(const char *type);
/** Integers that configs of the type may leave out, " head_dim=256 n_groups=8 ", or NULL. */
const char *emp_model_family_defaults(const char *type);

enum { EMP_MODEL_TYPES_BYTES = 800 };
/** The first type of each family: "llama, qwen2, ..."; returns \a list. */
const char *emp_model_family_list(char list[EMP_MODEL_TYPES_BYTES]);

/* Helpers that families share (config.c). */

/** a x b; INT32_MAX, which is too large for the model's check, where that is more. */
int32_t emp_model_product(int32_t a, int32_t b);
/** True if the list of that name has a number other than 0 for layer \a i; \a missing where there is no such list.
 * O(i). */
bool emp_model_is_marked(const emp_fields *f, const char *list, int32_t i, bool missing);
/** The text of layer \a i in the list of that name; NULL and a failure: it is not there. O(i). */
const char *emp_model_layer_text(emp_fields *f, const char *list, int32_t i,
                                 int32_t layers);
/** Refuses the type of layer \a i; \a known are those that there are. */
void emp_model_refuse_layer(emp_fields *f, int32_t i, const char *type,
                            const char *known);

/** Windows of "layer_types", where it is there. */
bool emp_model_layer_types(emp_fields *f, emp_transformer_model *m);
/** The window "sliding_window" for each layer that \a is_sliding(m, layer) tells. */
void emp_model_windows(emp_fields *f, emp_transformer_model                      *m,
                       bool (*is_sliding)(int32_t layer, int32_t period), int32_t period);
/** Every layer has a window. */
bool emp_model_in_all(int32_t layer, int32_t period);
/** All but each last of a period have one. */
bool emp_model_but_the_last(int32_t layer, int32_t period);
/** Experts in the layers from \a first on, of which each \a step -th has them. */
void emp_model_experts(emp_fields *f, emp_transformer_model *m, int32_t first,
                       int32_t step, int32_t shared_inner);

/** RMS norms, rotary positions, gated layers, biases as the config says (config.c). */
void emp_model_llama_like(emp_fields *f, emp_transformer_model *m);

/** DeepSeek's latent attention and experts (families_layered.c). */
void emp_model_deepseek(emp_fields *f, emp_transformer_model *m);

/* Types whose layers differ in kind (families_layered.c). */

void emp_model_qwen3_5(emp_fields *f, emp_transformer_model *m);
void emp_model_qwen3_5_moe(emp_fields *f, emp_transformer_model *m);
void emp_model_nemotron_h(emp_fields *f, emp_transformer_model *m);
void emp_model_kimi_linear(emp_fields *f, emp_transformer_model *m);
void emp_model_nemotron_nas(emp_fields *f, emp_transformer_model *m);

/* Types whose attention sees some of the keys (families_layered.c). */

void emp_model_deepseek_sparse(emp_fields *f, emp_transformer_model *m);
void emp_model_deepseek_v4(emp_fields *f, emp_transformer_model *m);
void emp_model_minimax_m3(emp_fields *f, emp_transformer_model *m);
void emp_model_mimo_v2(emp_fields *f, emp_transformer_model *m);
void emp_model_step3p5(emp_fields *f, emp_transformer_model *m);

/* Hugging Face's config.json: what a model consists of. docs/models.md has the model types that
 * are known. For a model that sees or hears, the part that reads text is taken ("text_config").
 */

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

/* The parts of a multimodal model that the graph leaves out. */

/** Adds a warning for each vision or audio tower of a config, with its parameters and their bytes in \a dtype. The
 * count includes the projector and is exact for Qwen3-VL, Qwen3.5, Gemma 4, Kimi K2.5 and MiniMax-M3; for other towers
 * it is an estimate from their sizes, and the warning says "about". \a notes may be NULL. */
void emp_towers_note(emp_import_notes *notes, const emp_json *config, emp_dtype dtype);

/* The element types in which a model's weights are stored: by the "quantization_config" of a config, or by a name
 * as in llama.cpp's `llama-quantize`.
 *
 * Configs. fp8 (DeepSeek-V3: a float32 for 128 x 128 weights), mxfp4 (gpt-oss, experts only), awq, gptq,
 * auto-round, hqq, bitsandbytes, compressed-tensors, modelopt (NVFP4, FP8) and MLX's "quantization". Matrices of
 * linear layers are quantised, but for routers, for modules that the config leaves out, and mostly for tables and
 * heads. Modules are left out by name, by a part of a name, by patterns with * and by regular expressions
 * ("re:..."), as the libraries do it. Scales and zeros count; the orders of columns of gptq do not.
 *
 * Names. q4_k_m and its like mix types by layer and matrix (llama.cpp, llama-quant.cpp, without an importance
 * matrix). Norms and biases keep the type of the step. */

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

/** The name of that number in EMP_QUANTISED_WORDS. */
emp_quantised emp_quantised_named(int32_t number, const emp_transformer_model *model);

/** An emp_weight_types.find; \a context is an emp_quantised. O(modules that are left out). */
emp_status emp_quantised_find_type(const void *context, const char *name,
                                   const emp_shape *shape, emp_dtype *dtype,
                                   emp_error *err);

/* The header of a safetensors file, or of the shards of an index: names, element types and shapes of tensors. Their
 * data is never read.
 *
 * A file begins with 8 bytes, little-endian, that tell the length of a JSON object behind them:
 * {"name": {"dtype": "BF16", "shape": [2, 3], "data_offsets": [0, 12]}, ...}.
 * A model in several files has an index, model.safetensors.index.json, whose "weight_map" gives each tensor's file. */

typedef struct {
    const char *name;
    emp_dtype   dtype; /**< EMP_DTYPE_NONE: one that the simulator does not know */
    emp_shape   shape;
    int64_t     bytes;
} emp_safetensor;

/** Zero-initialise; clear it also after a failure. */
typedef struct {
    emp_safetensor *tensor; /**< [count]; in the order of the header */
    int32_t         count;
    int64_t         bytes;    /**< of all tensors */
    int64_t         elements; /**< of all tensors */

    int32_t    capacity; /**< private */
    emp_arena  names;    /**< private */
    emp_strmap of_name;  /**< private */
} emp_safetensors;

/** Reads a header from memory, of which \a size bytes are there; the file has \a file_bytes.
 * \retval EMP_EFORMAT  It is none, or a tensor's bytes do not fit its shape or lie outside
 *                      of the file. \retval EMP_ENOMEM */
emp_status emp_safetensors_parse(emp_safetensors *header, const char *bytes, size_t size,
                                 uint64_t file_bytes, emp_error *err);

/** The same from a file, whose data is not read, or from the shards that an index names, which lie in its folder.
 * Messages begin with the path.
 * \retval EMP_EIO      The file or a shard cannot be read.
 * \retval EMP_EFORMAT  As emp_safetensors_parse(), or a shard lacks a tensor that the index puts there. */
emp_status emp_safetensors_load(emp_safetensors *header, const char *path,
                                emp_error *err);
void       emp_safetensors_clear(emp_safetensors *header);

/** The tensor of that name, or of that name without the first word of its path; NULL: neither. */
const emp_safetensor *emp_safetensors_find(const emp_safetensors *header,
                                           const char            *name);

/** An emp_weight_types.find: the type of the tensor that emp_safetensors_find() finds. A weight that the file does not have keeps its type.
 * \retval EMP_EFORMAT  It has another number of elements there. */
emp_status emp_safetensors_find_type(const void *context, const char *name,
                                     const emp_shape *shape, emp_dtype *dtype,
                                     emp_error *err);

#endif /* EMP_GRAPHS_IMPORT_MODELS_HF_H */

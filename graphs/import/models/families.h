/** \file graphs/import/models/families.h
 * The model types of Hugging Face's configs: how each differs from the others. Not for other
 * folders.
 */
#ifndef EMP_GRAPHS_IMPORT_MODELS_FAMILIES_H
#define EMP_GRAPHS_IMPORT_MODELS_FAMILIES_H

#include <stdbool.h>

#include "base/text/json.h"
#include "graphs/import/notes/notes.h"
#include "graphs/transformer/model.h"
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

/* Helpers that families share (config.c). */

/** a x b; INT32_MAX, which is too large for the model's check, where that is more. */
int32_t emp_model_product(int32_t a, int32_t b);
/** True if the list of that name has a number other than 0 for layer \a i; \a missing where there is no such list.
 * O(i). */
bool emp_model_is_marked(const emp_fields *f, const char *list, int32_t i, bool missing);
/** The text of layer \a i in the list of that name; NULL and a failure: it is not there. O(i). */
const char *emp_model_layer_text(emp_fields *f, const char *list, int32_t i,
                                 int32_t layers);
/** True if the list of that name has this text for layer \a i. O(i). */
bool emp_model_layer_is(const emp_fields *f, const char *list, int32_t i,
                        const char *text);
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

/** The activation of that name; NULL: GELU. */
void emp_model_activate(emp_fields *f, emp_transformer_model *m, const char *name);
/** RMS norms, rotary positions, gated layers, biases as the config says (config.c). */
void emp_model_llama_like(emp_fields *f, emp_transformer_model *m);

/** DeepSeek's latent attention and experts (families_layered.c). */
void emp_model_deepseek(emp_fields *f, emp_transformer_model *m);

/* Types whose layers differ in kind (families_layered.c). */

void emp_model_qwen3_5(emp_fields *f, emp_transformer_model *m);
void emp_model_qwen3_5_moe(emp_fields *f, emp_transformer_model *m);
void emp_model_qwen3_next(emp_fields *f, emp_transformer_model *m);
void emp_model_nemotron_h(emp_fields *f, emp_transformer_model *m);
void emp_model_kimi_linear(emp_fields *f, emp_transformer_model *m);
void emp_model_nemotron_nas(emp_fields *f, emp_transformer_model *m);

/** Gemma's norms around both parts, with windows in every other layer (families.c). */
void emp_model_gemma2(emp_fields *f, emp_transformer_model *m);
void emp_model_gemma3n(emp_fields *f, emp_transformer_model *m);

/* Types whose attention sees some of the keys (families_layered.c). */

void emp_model_deepseek_sparse(emp_fields *f, emp_transformer_model *m);
void emp_model_deepseek_v4(emp_fields *f, emp_transformer_model *m);
void emp_model_minimax_m3(emp_fields *f, emp_transformer_model *m);
void emp_model_mimo_v2(emp_fields *f, emp_transformer_model *m);
void emp_model_step3p5(emp_fields *f, emp_transformer_model *m);

/** Granite with experts, whose hybrids are made of it, too. */
void emp_model_granitemoe(emp_fields *f, emp_transformer_model *m);

/* Types with Mamba, Mamba-2 or short convolutions (families_mamba.c). */

void emp_model_bamba(emp_fields *f, emp_transformer_model *m);
void emp_model_granite_hybrid(emp_fields *f, emp_transformer_model *m);
void emp_model_mamba2(emp_fields *f, emp_transformer_model *m);
void emp_model_mamba(emp_fields *f, emp_transformer_model *m);
void emp_model_falcon_h1(emp_fields *f, emp_transformer_model *m);
void emp_model_jamba(emp_fields *f, emp_transformer_model *m);
void emp_model_minimax(emp_fields *f, emp_transformer_model *m);
void emp_model_lfm2(emp_fields *f, emp_transformer_model *m);
void emp_model_lfm2_moe(emp_fields *f, emp_transformer_model *m);

/* Types of an encoder, and of an encoder and a decoder (families_encoders.c). */

void emp_model_bert(emp_fields *f, emp_transformer_model *m);
void emp_model_modernbert(emp_fields *f, emp_transformer_model *m);
void emp_model_t5(emp_fields *f, emp_transformer_model *m);
void emp_model_bart(emp_fields *f, emp_transformer_model *m);
void emp_model_pegasus(emp_fields *f, emp_transformer_model *m);
void emp_model_marian(emp_fields *f, emp_transformer_model *m);
void emp_model_whisper(emp_fields *f, emp_transformer_model *m);

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
 * count includes the projector and is exact for Qwen3-VL, Qwen3.5, Gemma 4, Kimi K2.5, MiniMax-M3 and BLIP-2 with its Q-Former; for other towers
 * it is an estimate from their sizes, and the warning says "about". \a notes may be NULL. */
void emp_towers_note(emp_import_notes *notes, const emp_json *config, emp_dtype dtype);

#endif /* EMP_GRAPHS_IMPORT_MODELS_FAMILIES_H */

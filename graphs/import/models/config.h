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

/* The parts of a multimodal model that the graph leaves out (towers.c). */

/** Adds a warning for each vision or audio tower of a config, with its parameters and their bytes in \a dtype. The
 * count includes the projector and is exact for Qwen3-VL, Qwen3.5, Gemma 4, Kimi K2.5 and MiniMax-M3; for other towers
 * it is an estimate from their sizes, and the warning says "about". \a notes may be NULL. */
void emp_towers_note(emp_import_notes *notes, const emp_json *config, emp_dtype dtype);

#endif /* EMP_GRAPHS_IMPORT_MODELS_CONFIG_H */

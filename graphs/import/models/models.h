/** \file graphs/import/models/models.h
 * Files that describe a model of today, made into a graph: Hugging Face's config.json, and
 * GGUF files.
 */
#ifndef EMP_GRAPHS_IMPORT_MODELS_MODELS_H
#define EMP_GRAPHS_IMPORT_MODELS_MODELS_H

#include "graphs/import/notes/notes.h"
#include "sim/graph/graph.h"

/** Builds the whole graph of such a file with the default step; \a *is_model tells whether it is
 * one, by its content. \a out is untouched where it is none. \a notes may be NULL.
 * \retval EMP_EFORMAT, EMP_EUNSUPPORTED, EMP_EINVAL, EMP_ENOMEM  As emp_hf_build(). */
emp_status emp_models_load(emp_graph **out, bool *is_model, emp_import_notes *notes,
                           const char *bytes, size_t size, emp_error *err);

/** Builds the whole graph of a file of weights, of which the header alone is read; \a *is_weights
 * tells whether it is one, by its first bytes. A file that cannot be read is none.
 * \retval EMP_EUNSUPPORTED  A safetensors file, which says nothing of the model; the message says
 *                           how to name it. Else as emp_hf_build_gguf(). */
emp_status emp_models_load_weights(emp_graph **out, bool *is_weights, const char *path,
                                   emp_error *err);

#endif /* EMP_GRAPHS_IMPORT_MODELS_MODELS_H */

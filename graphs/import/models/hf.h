/** \file graphs/import/models/hf.h
 * Specs of Hugging Face's models: "hf:path=config.json,phase=train,batch=8,seq=2048,dtype=bf16".
 * The path may be a GGUF file, too, whose weights keep their types. A path has no comma in it. emp_hf_options() lists the other keys.
 */
#ifndef EMP_GRAPHS_IMPORT_MODELS_HF_H
#define EMP_GRAPHS_IMPORT_MODELS_HF_H

#include "base/text/json.h"
#include "base/text/options.h"
#include "graphs/import/notes/notes.h"
#include "sim/graph/graph.h"

/** Whether \a source is such a spec, and so no path. */
bool emp_hf_is_spec(const char *source);

/** The keys of a spec beside path and weights; ends with EMP_NO_OPTION. */
const emp_option *emp_hf_options(void);

/** Builds the whole graph of a spec, its targets marked. \a notes (NULL is fine) receives what is
 * left out of the model, and which weights do not count as they are stored.
 * \retval EMP_EINVAL  An unknown key, a value out of range, or no path.
 * \retval EMP_EIO     A file cannot be read. Else as emp_config_read(), emp_safetensors_load() and
 *                     emp_transformer_graph_create(); messages name the file. */
emp_status emp_hf_build(emp_graph **out, emp_import_notes *notes, const char *spec,
                        emp_error *err);

/** The same of a config that is there already, all keys at their defaults. */
emp_status emp_hf_build_config(emp_graph **out, emp_import_notes *notes,
                               const emp_json *config, emp_error *err);

/** The same of a GGUF file, which writes one token of one sequence. */
emp_status emp_hf_build_gguf(emp_graph **out, const char *path, emp_error *err);

#endif /* EMP_GRAPHS_IMPORT_MODELS_HF_H */

/** \file graphs/import/notes/readers.h
 * Readers of files, one a format; the comment on top of a reader's file says what the format is.
 * graphs/sources.c is the table of them.
 *
 * A reader X has emp_X_is(), which looks at the content of a file, or at the root of a JSON file, and
 * reads no more than it must. Besides, it has one of these:
 *
 *  - emp_X_read() adds ops to a builder. The caller finishes the graph, and makes those ops targets
 *    whose results are not read, unless the table says that the reader marks targets.
 *  - emp_X_load() makes the whole graph, its targets marked.
 *
 * Messages name the place in the file; the caller adds the name of the file.
 * \retval EMP_EFORMAT       The file is damaged, or contradicts itself.
 * \retval EMP_EUNSUPPORTED  It has something that is not simulated.
 * \retval EMP_EINVAL        The options of the spec are wrong for the file. \retval EMP_ENOMEM
 */
#ifndef EMP_GRAPHS_IMPORT_NOTES_READERS_H
#define EMP_GRAPHS_IMPORT_NOTES_READERS_H

#include "base/text/options.h"
#include "graphs/import/notes/notes.h"
#include "sim/graph/graph_builder.h"

/* ---- TensorFlow: GraphDef, MetaGraphDef, SavedModel ---- */
extern const emp_option emp_graph_def_options[];
bool                    emp_graph_def_is(emp_slice file);
emp_status emp_graph_def_load(emp_graph **out, emp_reading *r, emp_error *err);
bool       emp_run_metadata_holds(emp_slice file); /**< profiles, not graphs */
bool       emp_xspace_is(emp_slice file);

/* ---- ONNX ---- */
extern const emp_option emp_onnx_options[];
bool                    emp_onnx_is(emp_slice file); /**< O(size) */
emp_status              emp_onnx_load(emp_graph **out, emp_reading *r, emp_error *err);

/* ---- models by their descriptions: config.json of Hugging Face, GGUF, safetensors ---- */
extern const emp_option emp_hf_options[];
bool                    emp_config_is(const emp_json *root);
emp_status              emp_config_load(emp_graph **out, emp_reading *r, emp_error *err);
bool                    emp_gguf_is(emp_slice file);
emp_status              emp_gguf_load(emp_graph **out, emp_reading *r, emp_error *err);
bool                    emp_safetensors_is(emp_slice file);

/* ---- PyTorch: torch.fx as JSON, archives of torch.export, execution traces ---- */
bool       emp_fx_json_is(const emp_json *root);
bool       emp_pt2_is(emp_slice file);
bool       emp_torchscript_is(emp_slice file);   /**< not read, as the next */
bool       emp_torch_weights_is(emp_slice file); /**< of torch.save() */
bool       emp_aoti_is(emp_slice file);          /**< code that Inductor compiled */
bool       emp_keras_is(emp_slice file); /**< .keras: not PyTorch's, but a zip, too */
emp_status emp_pytorch_read(emp_graph_builder *b, emp_reading *r, emp_error *err);
bool       emp_execution_is(const emp_json *root);
emp_status emp_torch_execution_read(emp_graph_builder *b, emp_reading *r, emp_error *err);

/* ---- XLA: HLO as text ---- */
bool       emp_hlo_is(emp_slice file);
bool       emp_stablehlo_is(emp_slice file); /**< not read */
emp_status emp_hlo_read(emp_graph_builder *b, emp_reading *r, emp_error *err);

/* ---- measured traces: PyTorch's profiler, Chakra ---- */
extern const emp_option emp_trace_options[];
bool                    emp_kineto_is(const emp_json *root);
emp_status emp_trace_read(emp_graph_builder *b, emp_reading *r, emp_error *err);
bool       emp_chakra_is(emp_slice file);
bool       emp_chakra_is_json(const emp_json *root);
emp_status emp_chakra_read(emp_graph_builder *b, emp_reading *r, emp_error *err);

/* ---- instances, whose ops have costs of their own ---- */
emp_status emp_ops_read(emp_graph_builder *b, emp_reading *r, emp_error *err);
extern const emp_option emp_layers_options[];
bool                    emp_layers_is(emp_slice file);
emp_status emp_layers_read(emp_graph_builder *b, emp_reading *r, emp_error *err);
bool       emp_pipedream_is(emp_slice file);
emp_status emp_pipedream_read(emp_graph_builder *b, emp_reading *r, emp_error *err);
bool       emp_doppler_is(emp_slice file);
emp_status emp_doppler_read(emp_graph_builder *b, emp_reading *r, emp_error *err);
bool       emp_dnn_partitioning_is(const emp_json *root);
emp_status emp_dnn_partitioning_read(emp_graph_builder *b, emp_reading *r,
                                     emp_error *err);

#endif /* EMP_GRAPHS_IMPORT_NOTES_READERS_H */

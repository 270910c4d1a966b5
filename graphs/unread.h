/** \file graphs/unread.h
 * Marks of formats that are not read, so that a refusal names what a file is. graphs/sources.c is the table of them.
 *
 * Threads. No state.
 */
#ifndef EMP_GRAPHS_UNREAD_H
#define EMP_GRAPHS_UNREAD_H

#include "base/text/json.h"
#include "graphs/import/proto/cursor.h"

/* Each looks at the beginning of a file, or at the root of a JSON file. */
bool emp_is_yaml(emp_slice file);
bool emp_is_pickle(emp_slice file);   /**< an object of Python */
bool emp_is_openvino(emp_slice file); /**< its XML */
bool emp_is_core_ml(emp_slice file);
bool emp_is_hlo_proto(emp_slice file); /**< a module of XLA in protocol buffers */

bool emp_is_safetensors_index(const emp_json *root);
bool emp_is_tensorflow_js(const emp_json *root);
bool emp_is_keras_json(const emp_json *root);
bool emp_is_core_ml_manifest(const emp_json *root);
bool emp_is_piper(const emp_json *root);
bool emp_is_galvatron(const emp_json *root);

#endif /* EMP_GRAPHS_UNREAD_H */

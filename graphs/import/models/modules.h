/** \file graphs/import/models/modules.h
 * The modules that a quantisation names: in lists of what it leaves out, in groups of targets, and in tables with an
 * entry a module. Names are whole or part of a path, patterns with *, or regular expressions ("re:...").
 *
 * Checkpoints and libraries spell paths differently. Of a multimodal model's path, "language_model." is dropped; an
 * expert may have its number, and w1, w2 and w3 stand for gate_proj, down_proj and up_proj; DeepSeek's own checkpoints
 * have "layers.0.attn" and "layers.0.ffn" for "model.layers.0.self_attn" and "model.layers.0.mlp".
 */
#ifndef EMP_GRAPHS_IMPORT_MODELS_MODULES_H
#define EMP_GRAPHS_IMPORT_MODELS_MODULES_H

#include <stdbool.h>

#include "base/text/json.h"

enum { EMP_MODULE_BYTES = 256, EMP_MODULE_SPELLINGS = 4 };

/** The spellings of a weight's module. */
typedef struct {
    char    spelling[EMP_MODULE_SPELLINGS][EMP_MODULE_BYTES];
    int32_t count; /**< 0: the weight is none of a module, or its name is too long */
} emp_module;

/** The module of the weight "PATH.weight". */
emp_module emp_module_of_weight(const char *weight);

/** True if one of the list's texts names the module or, without a pattern, one that contains it. O(list). */
bool emp_module_is_listed(const emp_json *list, const emp_module *module);

/** The member of an object whose name is the module's, or that of one which contains it; NULL: there is none.
 * O(members). */
const emp_json *emp_module_find(const emp_json *object, const emp_module *module);

#endif /* EMP_GRAPHS_IMPORT_MODELS_MODULES_H */

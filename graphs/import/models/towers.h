/** \file graphs/import/models/towers.h
 * The parts of a multimodal model that the graph leaves out: towers that read images or sound.
 */
#ifndef EMP_GRAPHS_IMPORT_MODELS_TOWERS_H
#define EMP_GRAPHS_IMPORT_MODELS_TOWERS_H

#include "base/text/json.h"
#include "graphs/import/notes/notes.h"
#include "sim/graph/op.h"

/** Adds a warning for each tower of a config, with an estimate of its parameters and of their bytes in
 * \a dtype. \a notes may be NULL. */
void emp_towers_note(emp_import_notes *notes, const emp_json *config, emp_dtype dtype);

#endif /* EMP_GRAPHS_IMPORT_MODELS_TOWERS_H */

/** \file sim/explain/model_explorer.h
 * Placed steps as files for Model Explorer (github.com/google-ai-edge/model-explorer, PyPI ai-edge-model-explorer).
 *
 * PREFIX.json has the graph: a node an op, named by its number, in the namespace of its scope; folded ops are left
 * out. For each placement an overlay of edges goes along the critical path, from op to op. The files
 * PREFIX.N.device.json, PREFIX.N.seconds.json and PREFIX.N.wait.json have the node data of placement N, from 1 on:
 * the device, in its colour of all pictures, the seconds that the op runs, and those that it waits when it is ready.
 */
#ifndef EMP_SIM_EXPLAIN_MODEL_EXPLORER_H
#define EMP_SIM_EXPLAIN_MODEL_EXPLORER_H

#include "sim/problem/decision.h"

enum { EMP_MODEL_EXPLORER_PATH_BYTES = 4096, EMP_MODEL_EXPLORER_DATA = 3 };

/** The path of a file: of the graph, with \a placement -1, or of node data \a data of a placement, from 0 on.
 * \retval EMP_EINVAL  It would be too long. */
emp_status emp_model_explorer_path(char        path[EMP_MODEL_EXPLORER_PATH_BYTES],
                                   const char *prefix, int32_t placement, int32_t data,
                                   emp_error *err);

/** Writes all files, each by a temporary file and a rename.
 * \param placement  Legal decisions.
 * \retval EMP_EUNSUPPORTED  As emp_explain_create(). \retval EMP_EIO, EMP_ENOMEM */
emp_status emp_model_explorer_write(const char *prefix, const emp_problem *problem,
                                    const emp_labelled_decision *placement, int32_t count,
                                    emp_error *err);

#endif /* EMP_SIM_EXPLAIN_MODEL_EXPLORER_H */

/** \file sim/import/import.h
 * Reads graph files: TensorFlow GraphDef (.pb, .pb.gz, .pbtxt) and MetaGraphDef (.meta).
 */
#ifndef EMP_SIM_IMPORT_IMPORT_H
#define EMP_SIM_IMPORT_IMPORT_H

#include "sim/graph/graph.h"

typedef struct {
    int64_t     batch_hint; /**< stands in for unknown leading sizes; default 32 */
    const char *targets;    /**< comma-separated op names, or NULL to find them */
} emp_import_params;

emp_import_params emp_import_params_default(void);

/** Reads the whole graph of a file, its targets marked.
 *
 * Without given targets a step runs: the train_op collection of a MetaGraphDef if there is
 * one; else every op that an optimizer or a moving average uses to update a variable, with
 * the scalar float sinks outside "gradients/" as losses; else (inference graphs) every sink.
 *
 * \retval EMP_EIO      The file cannot be read.
 * \retval EMP_EFORMAT  Not a graph, truncated, hostile, or a Git LFS pointer; the message
 *                      names the file and what is wrong.
 */
emp_status emp_import_load(emp_graph **out, const char *path, const emp_import_params *params,
                           emp_error *err);

#endif /* EMP_SIM_IMPORT_IMPORT_H */

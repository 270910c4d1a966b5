/** \file graphs/import/instances/layers_source.h
 * Specs of pipelines: "layers:path=layers.tsv,model=OPT-350,tp=2,microbatch=2,micro_batches=8,
 * stages=12+14,schedule=1f1b,replicas=2". What is not said of model, tp and microbatch is that of the
 * table's first row that fits the rest; all GPU models that have it count. gpu=NAME lets that one be
 * first, so that GPUs of other models take its times. A path has no comma in it.
 */
#ifndef EMP_GRAPHS_IMPORT_INSTANCES_LAYERS_SOURCE_H
#define EMP_GRAPHS_IMPORT_INSTANCES_LAYERS_SOURCE_H

#include "base/text/options.h"
#include "graphs/import/instances/layers.h"
#include "sim/graph/graph_builder.h"

enum { EMP_LAYERS_PATH_BYTES = 1024 };

/** Whether \a source is such a spec, and so no path. */
bool emp_layers_is_spec(const char *source);

/** The keys of a spec beside path, model, gpu, table and stages; ends with EMP_NO_OPTION. */
const emp_option *emp_layers_options(void);

/** The path of a spec.
 * \retval EMP_EINVAL  There is none, or it is longer than \a size - 1. */
emp_status emp_layers_spec_path(char *path, size_t size, const char *spec,
                                emp_error *err);

/** Adds the ops of a spec, whose file is in memory.
 * \retval EMP_EINVAL  An unknown key, a value out of range, or layers that the table has not.
 * Else as emp_layer_table_parse() and emp_pipeline_build(). */
emp_status emp_layers_read_spec(emp_graph_builder *builder, const char *spec,
                                emp_slice file, emp_error *err);

/** Adds the ops of a table in memory, all keys at their defaults. */
emp_status emp_layers_read(emp_graph_builder *builder, emp_slice file, emp_error *err);

#endif /* EMP_GRAPHS_IMPORT_INSTANCES_LAYERS_SOURCE_H */

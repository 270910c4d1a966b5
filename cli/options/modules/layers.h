/** \file cli/options/modules/layers.h
 * The layers of a PyTorch model in the names of its ops: "model.layers.3" of "model.layers.3.mlp.up_proj".
 * A layer is a module whose own name is a number. Experts are parts of their layer.
 */
#ifndef EMP_CLI_OPTIONS_MODULES_LAYERS_H
#define EMP_CLI_OPTIONS_MODULES_LAYERS_H

#include "sim/graph/graph.h"

/** How many of the first bytes of an op's name are the path of its module; 0 = it names none. An op of
 * \a spec, a config, begins with it. An op of PyTorch has a "/" behind it. */
size_t cli_path_length(const char *op_name, const char *spec);

/** How many of the first bytes of a path of \a length bytes are its layer; 0 = it is in none. */
size_t cli_layer_length(const char *path, size_t length);

/** Marks the classes [class count] with an op that only a CPU can run, which are false before. Such a class would
 * take a whole layer to the CPU. O(ops). */
void cli_layers_mark_cpu(bool *is_cpu_class, const emp_graph *graph);

/** Has the ops of each layer share a device (sim/problem/problem.h), but for those that only a CPU
 * can run.
 * \retval EMP_EINVAL  No op names a layer.
 * \retval EMP_ENOMEM */
emp_status cli_layers_join(emp_graph *graph, const char *spec, emp_error *err);

#endif /* EMP_CLI_OPTIONS_MODULES_LAYERS_H */

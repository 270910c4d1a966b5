/** \file graphs/import/instances/pipedream.h
 * PipeDream's profiles (Narayanan et al., SOSP 2019), graph.txt: a line for each layer, with
 * times in milliseconds and sizes in bytes, and one for each edge, behind a tab.
 *
 *     node4 -- Embedding(32320, 1024) -- forward_compute_time=0.073,
 *     backward_compute_time=6.949, activation_size=6291456.0, parameter_size=132382720.000
 *     	node4 -- node5
 *
 * (The first two are one line.) activation_size may be a list, "[6291456.0; 131072.0]": the
 * layer's result is all of it. A profile becomes a training step:
 *
 *  - a layer is the ops "node4", of type Embedding, and "gradients/node4", of type
 *    EmbeddingGrad, which share a device and read what their counterparts' edges say, the
 *    latter also the former's result;
 *  - each of the two keeps parameter_size, weights and their gradients; the backward op's
 *    result is as large as the activations that the layer reads;
 *  - the profile is of GPUs. A CPU is taken to need EMP_PIPEDREAM_CPU times as long, as in the
 *    instances that Tarnawski et al. (NeurIPS 2020) made of such profiles.
 */
#ifndef EMP_GRAPHS_IMPORT_INSTANCES_PIPEDREAM_H
#define EMP_GRAPHS_IMPORT_INSTANCES_PIPEDREAM_H

#include "graphs/import/proto/cursor.h"
#include "sim/graph/graph_builder.h"

enum { EMP_PIPEDREAM_CPU = 10 };

/** Whether the file begins as a profile does. */
bool emp_pipedream_is(emp_slice file);

/** Reads a file in memory. O(V + E).
 * \retval EMP_EFORMAT  The message names the line and what is wrong with it. */
emp_status emp_pipedream_read(emp_graph_builder *builder, emp_slice file, emp_error *err);

#endif /* EMP_GRAPHS_IMPORT_INSTANCES_PIPEDREAM_H */

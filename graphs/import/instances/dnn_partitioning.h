/** \file graphs/import/instances/dnn_partitioning.h
 * The JSON of msr-fiddle/dnn-partitioning (Tarnawski et al., NeurIPS 2020), where "FPGA" is
 * any accelerator, here a GPU, and times are in milliseconds:
 *
 *     {"maxFPGAs": 6, "maxCPUs": 1, "maxSizePerFPGA": 17185374208.0,
 *      "nodes": [{"id": 4, "supportedOnFpga": 1, "cpuLatency": 0.73, "fpgaLatency": 0.073,
 *                 "isBackwardNode": 0, "size": 132382720.0, "colorClass": 4}, ...],
 *      "edges": [{"sourceId": 4, "destId": 5, "cost": 0.0029, "size": 6291456.0}, ...]}
 *
 * A node is the op "node4", or "gradients/node4" of the backward pass. Its edges' cost, the
 * same for all, is the time of its result between a GPU and host memory; their size, which a
 * file may leave out, what a copy carries under other rules. Its own size is all the memory
 * that it takes. Nodes of one color class share a device. Other keys are skipped.
 */
#ifndef EMP_GRAPHS_IMPORT_INSTANCES_DNN_PARTITIONING_H
#define EMP_GRAPHS_IMPORT_INSTANCES_DNN_PARTITIONING_H

#include "base/text/json.h"
#include "graphs/import/instances/instance.h"
#include "sim/graph/graph_builder.h"

/** Whether a JSON file has both lists, or one of them and no key "format", which other kinds have. */
bool emp_dnn_partitioning_is(const emp_json *root);

/** Reads a file in memory into \a builder and \a devices. O((V + E) log V).
 * \retval EMP_EFORMAT  The message names the line, or the node or edge and its key. */
emp_status emp_dnn_partitioning_read(emp_graph_builder  *builder,
                                     emp_import_devices *devices, const char *bytes,
                                     size_t size, emp_error *err);

#endif /* EMP_GRAPHS_IMPORT_INSTANCES_DNN_PARTITIONING_H */

/** \file graphs/import/traces/chakra.h
 * Chakra's execution traces (mlcommons/chakra), which simulators of networks read: one device's
 * nodes with their times and what they depend on. In protocol buffers,
 *
 *     length GlobalMetadata, length Node, length Node, ...   (et_def.proto)
 *     Node: id = 1, name = 2, type = 3, ctrl_deps = 4, data_deps = 5, duration_micros = 7,
 *           attr = 10 (is_cpu_op, comm_size, comm_type)
 *
 * or as JSON:
 *
 *     {"workload_graph": [{"Id": 216, "Name": "aten::copy_(0)", "NodeType": 4, "data_deps": [215],
 *                          "runtime": 318, "is_cpu_op": true}, ...]}
 *
 * A node is the op "cpu/copy_.216" of type copy_, which a CPU has to run, or "gpu/..."; its time is
 * the one stated, of microseconds, for a CPU EMP_TRACE_CPU times that of a kernel. It reads the
 * results of its data_deps; a copy of one carries comm_size bytes, else none. As in Chakra's own
 * feeder, ctrl_deps bind nothing: they say in which operator a node lies. A dependency on a node
 * that the trace does not have binds nothing either; the note counts them. So does it count nodes that
 * send or receive (type 5 and 6): the other side is in the file of another device. A collective (type
 * 7) without a time, whose comm_type says that it is an all-reduce, an all-gather, an all-to-all or a
 * reduce-scatter, is one of all GPUs of the machine, with comm_size bytes.
 */
#ifndef EMP_GRAPHS_IMPORT_TRACES_CHAKRA_H
#define EMP_GRAPHS_IMPORT_TRACES_CHAKRA_H

#include "base/text/json.h"
#include "graphs/import/instances/instance.h"
#include "graphs/import/proto/cursor.h"
#include "sim/graph/graph_builder.h"

/** Whether the bytes begin as such a trace does: two messages with their lengths, of which the
 * second is a node. */
bool emp_chakra_is(emp_slice bytes);
bool emp_chakra_is_json(const emp_json *root);

/** Reads the nodes into \a builder, and the devices that they ran on: a CPU and a GPU. O(nodes log
 * nodes + dependencies).
 * \retval EMP_EFORMAT  A node without an id or a name, two of one id, or bytes that are no message; the
 *                      message names the node.
 * \retval EMP_EUNSUPPORTED  A node that takes more than ten days. \retval EMP_ENOMEM */
emp_status emp_chakra_read(emp_graph_builder *builder, emp_import_devices *devices,
                           emp_slice bytes, emp_error *err);
emp_status emp_chakra_read_json(emp_graph_builder *builder, emp_import_devices *devices,
                                const emp_json *root, emp_error *err);

#endif /* EMP_GRAPHS_IMPORT_TRACES_CHAKRA_H */

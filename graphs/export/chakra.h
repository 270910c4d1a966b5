/** \file graphs/export/chakra.h
 * A placed step as Chakra's execution traces (mlcommons/chakra, et_def.proto): a file for each device,
 * from which simulators of networks such as ASTRA-sim take its nodes.
 *
 *     length GlobalMetadata, length Node, length Node, ...
 *
 * | node           | type          | its data_deps                             | attributes |
 * | -------------- | ------------- | ----------------------------------------- | ---------- |
 * | an op          | COMP_NODE     | what it waits for: ops here, and receives | is_cpu_op, num_ops, tensor_size |
 * | "send TO/OP"   | COMM_SEND_NODE| the op                                    | comm_size, comm_src, comm_dst, comm_tag |
 * | "receive FROM/OP" | COMM_RECV_NODE | none                                  | the same |
 *
 * - A tensor goes to another device once, whoever reads it there. Tags tell messages apart.
 * - An op that another device's op waits for without reading from it sends a message, too. Such a message, and one
 *   whose data stay in host memory, has 1 byte.
 * - Feeders of Chakra follow data_deps. So control edges are in both data_deps and ctrl_deps.
 * - Durations are whole microseconds. Rounding is carried from op to op of a device, so that their sum is the
 *   model's to half a microsecond. They are times of only kernels: no launch, no wait.
 * - Folded ops have no nodes. A device without ops has one node, "idle", that takes no time.
 */
#ifndef EMP_GRAPHS_EXPORT_CHAKRA_H
#define EMP_GRAPHS_EXPORT_CHAKRA_H

#include "sim/problem/problem.h"

enum { EMP_CHAKRA_PATH_BYTES = 4096 };

/** The file of a device: PREFIX.N.et, N its number in the machine.
 * \retval EMP_EINVAL  The prefix is too long. */
emp_status emp_chakra_path(char path[EMP_CHAKRA_PATH_BYTES], const char *prefix,
                           emp_device_id device, emp_error *err);

/** Writes the files of all devices. Each is whole or not changed; none changes before
 * the ops of all devices are put.
 * \param device_of_op  A legal placement.
 * O((V + E) log E + V devices).
 * \retval EMP_EIO, EMP_ENOMEM \retval EMP_EINVAL  The prefix is too long. */
emp_status emp_chakra_write(const char *prefix, const emp_problem *problem,
                            const emp_device_id *device_of_op, emp_error *err);

#endif /* EMP_GRAPHS_EXPORT_CHAKRA_H */

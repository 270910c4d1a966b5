/** \file graphs/import/run_metadata.h
 * How long TensorFlow's ops took, from a RunMetadata with its StepStats: what session.run() gives with a trace level
 * of HARDWARE_TRACE or SOFTWARE_TRACE, in protocol buffers.
 *
 *     RunMetadata: step_stats = 1     StepStats: dev_stats = 1     DeviceStepStats: device = 1, node_stats = 2
 *     NodeExecStats: node_name = 1, op_start_rel_micros = 3, op_end_rel_micros = 4, and in nanoseconds 14 and 15
 *
 * Nodes of "/job:.../gpu:0" say when the host has issued an op. Its kernels are nodes of "/gpu:0/stream:all", and their
 * times add up; an op of such a GPU without a kernel took none. Without "stream:all" the kernels of all "stream:N" count. Ops of a CPU took
 * what their nodes say. A node that ran several times took the sum.
 */
#ifndef EMP_GRAPHS_IMPORT_RUN_METADATA_H
#define EMP_GRAPHS_IMPORT_RUN_METADATA_H

#include "base/error.h"
#include "graphs/import/proto/wire.h"

/** An op and its time where it ran. */
typedef struct {
    emp_slice op;
    emp_slice device; /**< TensorFlow's name of it */
    double    us;
} emp_measured_op;

/** Zero-initialise; emp_run_metadata_clear() releases it, also after a failure. */
typedef struct {
    emp_measured_op *op; /**< slices of the file */
    int32_t          count;
    int32_t without_kernels; /**< nodes of GPUs for which no kernels were recorded */
    char   *bytes;           /**< private: the file */
} emp_run_metadata;

/** Whether the file can be read and begins as such a message does. O(size), as a file may be packed by gzip. */
bool emp_run_metadata_is(const char *path);

/** Reads a file. O(size).
 * \retval EMP_EIO      It cannot be read.
 * \retval EMP_EFORMAT  No such message, or an op that ends before it begins; the message names the file.
 * \retval EMP_ENOMEM */
emp_status emp_run_metadata_load(emp_run_metadata *out, const char *path, emp_error *err);

/** The same from memory, which must stay as long as \a out. */
emp_status emp_run_metadata_read(emp_run_metadata *out, emp_slice bytes, emp_error *err);

void emp_run_metadata_clear(emp_run_metadata *metadata);

#endif /* EMP_GRAPHS_IMPORT_RUN_METADATA_H */

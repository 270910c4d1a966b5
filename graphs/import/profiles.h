/** \file graphs/import/profiles.h
 * Profiles of other programs: how long the nodes of an ONNX model took, and how long TensorFlow's ops.
 */
#ifndef EMP_GRAPHS_IMPORT_PROFILES_H
#define EMP_GRAPHS_IMPORT_PROFILES_H

#include "base/error.h"
#include "base/text/json.h"
#include "base/text/text.h"
#include "graphs/import/notes/notes.h"
#include "graphs/import/proto/wire.h"

/* Times of the nodes of an ONNX model, from a profile that ONNX Runtime writes (SessionOptions.enable_profiling): a JSON
 * list of events in the order in which they end.
 *
 *     {"cat": "Node", "name": "conv1_kernel_time", "ts": 18709, "dur": 1030, "tid": 7,
 *      "args": {"op_name": "Conv", "node_index": "0", "provider": "CPUExecutionProvider", ...}}
 *     {"cat": "Session", "name": "model_run", "ts": 18694, "dur": 1228, ...}
 *
 * Runtimes before 1.12 put the events NAME_fence_before and NAME_fence_after around the kernel's event; fences are
 * waits and not read. A node without a name is called by its type and its number in the runtime's graph: "Relu_3".
 *
 * Each "model_run" is a run. The times come from one run: the run whose sum of nodes is the median, the faster of
 * the middle two of an even number. So the first run, which allocates, does not count among several. */

/** A node that ran. */
typedef struct {
    emp_slice   name;  /**< its own, or its type and number */
    const char *type;  /**< "" = not said */
    int64_t     index; /**< in the runtime's graph; -1 = not said */
    double      us;    /**< with the graphs inside it */
} emp_onnx_timed_node;

/** Zero-initialise; emp_onnx_profile_clear() releases it, also after a failure. */
typedef struct {
    emp_onnx_timed_node *node; /**< of the median run, on the CPU; texts lie in json */
    int32_t              count;
    int32_t              run_count;
    int32_t              other_count; /**< nodes of that run on other devices */
    emp_json_document    json;        /**< private */
} emp_onnx_profile;

/** Whether the file can be read and begins as such a profile does. O(size). */
bool emp_onnx_profile_is(const char *path);

/** Reads a profile. O(n log n).
 * \retval EMP_EIO          It cannot be read.
 * \retval EMP_EFORMAT      No such list, no node in it, or an event without times; the message names the file.
 * \retval EMP_EUNSUPPORTED Runs that overlap. \retval EMP_ENOMEM */
emp_status emp_onnx_profile_load(emp_onnx_profile *out, const char *path, emp_error *err);

void emp_onnx_profile_clear(emp_onnx_profile *profile);

/** A profile's facts about a node of a model. Nodes of one group have one time together. */
typedef struct {
    double
        us; /**< of the group, at the node that is its number; -1 = the profile has none */
    int32_t
        group; /**< the number of a node; its own, unless nodes are fused or share a time */
    bool has_time; /**< private */
} emp_onnx_node_time;

/** Finds the nodes of a model that the times are of. If the nodes of the model at the indices in the profile have the
 * same names or, without names, types, and these are no fewer than the names in both, the indices decide. Otherwise
 * names do, and among nodes with one name, or of one type without names, their order.
 *
 * The runtime makes nodes that the model does not have: it expands functions, such as HardSwish, fuses nodes, and
 * reorders layouts. Their times go to the group of nodes without a time of their own that stand between the
 * nodes that ran before and after; if there are none, they are added to the node that ran before. O(nodes).
 *
 * \param[out] time  [count]: of the nodes of the model.
 * \param[out] unmatched  Timed nodes that the model does not have; if it has none, no node has a time.
 * \retval EMP_ENOMEM */
emp_status emp_onnx_profile_match(emp_onnx_node_time *time, int32_t *unmatched,
                                  const emp_onnx_profile *profile,
                                  const emp_import_node *node, int32_t count,
                                  emp_error *err);

/* Times of TensorFlow's ops, from a RunMetadata with its StepStats: what session.run() gives with a trace level
 * of HARDWARE_TRACE or SOFTWARE_TRACE, in protocol buffers.
 *
 *     RunMetadata: step_stats = 1     StepStats: dev_stats = 1     DeviceStepStats: device = 1, node_stats = 2
 *     NodeExecStats: node_name = 1, op_start_rel_micros = 3, op_end_rel_micros = 4, and in nanoseconds 14 and 15
 *
 * Nodes of "/job:.../gpu:0" say when the host has issued an op. Its kernels are nodes of "/gpu:0/stream:all", and their
 * times add up; an op of such a GPU without a kernel took none. Without "stream:all" the kernels of all "stream:N" count. Ops of a CPU took
 * what their nodes say. A node that ran several times took the sum. */

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

#endif /* EMP_GRAPHS_IMPORT_PROFILES_H */

/** \file graphs/import/onnx_profile.h
 * Times of the nodes of an ONNX model, from a profile that ONNX Runtime writes (SessionOptions.enable_profiling): a JSON
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
 * the middle two of an even number. So the first run, which allocates, does not count among several.
 */
#ifndef EMP_GRAPHS_IMPORT_ONNX_PROFILE_H
#define EMP_GRAPHS_IMPORT_ONNX_PROFILE_H

#include "base/text/json.h"
#include "base/text/text.h"
#include "graphs/import/notes/notes.h"

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

#endif /* EMP_GRAPHS_IMPORT_ONNX_PROFILE_H */

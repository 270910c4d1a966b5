/** \file graphs/import/import.h
 * Reads graph files: TensorFlow's GraphDef, MetaGraphDef and SavedModel, as protobuf wire
 * format or text; ONNX models; modules of XLA; benchmark instances, whose ops state their costs (emp_graph.stated), as
 * dnn-partitioning's JSON, PipeDream's graph.txt or DOPPLER's text. Plain or packed by gzip. Content decides,
 * not the file's name.
 */
#ifndef EMP_GRAPHS_IMPORT_IMPORT_H
#define EMP_GRAPHS_IMPORT_IMPORT_H

#include "graphs/import/instances/instance.h"
#include "graphs/import/onnx/onnx.h"
#include "sim/graph/graph.h"

typedef struct {
    bool        is_tensorflow; /**< other files are refused */
    bool        has_batch;     /**< the batch hint is given, not assumed */
    int64_t     batch_hint;    /**< stands in for unknown leading sizes; default 32 */
    const char *targets;       /**< comma-separated op names, or NULL to find them */
    bool        ignore_output_shapes; /**< infer all shapes, whatever the file says */
    int32_t     loop_iterations; /**< of While ops, which call functions; default 1 */
    const char
           *execution_trace; /**< file that belongs to a profiler's trace; NULL: none */
    int64_t trace_step;      /**< number of the step of a trace; -1: a usual one */
    const emp_onnx_params
                     *onnx;  /**< what an ONNX model leaves open; NULL = nothing given */
    emp_import_notes *notes; /**< what was assumed, and all problems; NULL is fine */
} emp_import_params;

emp_import_params emp_import_params_default(void);

/** Reads the whole graph of a file, its targets marked.
 *
 * Without given targets a step runs: the train_op collection of a MetaGraphDef if there
 * is one; else every op that an optimizer or a moving average uses to update a variable,
 * the sinks behind them, and as losses the scalar float sinks outside of "gradients/";
 * else (inference graphs) every sink that is computed and does not wait for an Assign.
 *
 * Of a SavedModel the first meta graph is read. Functions stand in place of the ops that
 * call them.
 *
 * A step of an instance runs all its ops.
 *
 * \retval EMP_EIO      The file cannot be read.
 * \retval EMP_EINVAL   A batch hint below 1, a target that is no op of the graph, or a file that is to be
 *                      TensorFlow's and is not.
 * \retval EMP_EFORMAT  Not a graph, truncated, hostile, or a Git LFS pointer; the message
 *                      names the file and what is wrong.
 */
emp_status emp_import_load(emp_graph **out, const char *path,
                           const emp_import_params *params, emp_error *err);

/** The same, and the devices that the file is for. */
emp_status emp_import_load_instance(emp_graph **out, emp_import_devices *devices,
                                    const char *path, const emp_import_params *params,
                                    emp_error *err);

/** Whether a file that can be read is a graph of PyTorch. O(size). */
bool emp_import_is_pytorch(const char *path);

/** Whether a file that can be read is an ONNX model. O(size). */
bool emp_import_is_onnx(const char *path);

/** Whether a file that can be read is a module of XLA. O(size). */
bool emp_import_is_hlo(const char *path);

#endif /* EMP_GRAPHS_IMPORT_IMPORT_H */

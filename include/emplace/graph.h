/** \file emplace/graph.h
 * The graph of one training step: ops, the tensors that they make, and who reads them.
 *
 *     emp_graph *graph = NULL;
 *     if (emp_graph_load(&graph, "nmt:layers=2", &err) != EMP_OK) ...
 *     for (emp_op_id op = 0; op < emp_graph_op_count(graph); op++)
 *         puts(emp_graph_op_name(graph, op));
 *     emp_graph_destroy(graph);
 *
 * Queries take O(1) if nothing else is said. A query with a graph that is NULL, or an op or a
 * tensor that the graph does not have, gives NULL, 0, false or -1. Pointers that queries return are
 * borrowed from the graph.
 *
 * Threads. A graph does not change after it is made, so threads may share it.
 */
#ifndef EMP_EMPLACE_GRAPH_H
#define EMP_EMPLACE_GRAPH_H

#include <stdbool.h>
#include <stdint.h>

#include <emplace/status.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef int32_t emp_op_id;     /**< dense, 0 .. op count - 1; -1 = none */
typedef int32_t emp_tensor_id; /**< dense, from 0; -1 = none */

/** Kinds of devices, as bits of a mask. */
enum { EMP_KIND_CPU = 1, EMP_KIND_GPU = 2 };

/** Levels of the order in which a device serves what waits for it. */
enum { EMP_LEVELS = 64 };

typedef struct emp_graph emp_graph;

/** Loads the graph of one training step from a workload spec ("nmt:layers=4,batch=64"; the
 * program's `emplace workloads` lists families and parameters) or from a file: a graph of
 * TensorFlow, PyTorch, ONNX or XLA, a trace, a config or weights' header of Hugging Face, GGUF, or
 * a benchmark instance (docs/models.md). The graph has the ops that the step runs, no others. O(V + E).
 *
 * \param[out] out  The caller's, who destroys it; NULL after a failure.
 * \retval EMP_EINVAL   An unknown parameter of a spec, or a value out of its range.
 * \retval EMP_EIO      Neither a workload family nor a file that can be read.
 * \retval EMP_EFORMAT  The file is no graph; the message says where.
 * \retval EMP_ECYCLE, EMP_EUNSUPPORTED, EMP_ENOMEM */
EMP_API emp_status emp_graph_load(emp_graph **out, const char *spec_or_path,
                                  emp_error *err);

/** Releases \a graph; NULL is allowed. Problems on it must be destroyed before. */
EMP_API void emp_graph_destroy(emp_graph *graph);

/** The runtime profile, a name for emp_runtime_load(), that fits where the graph comes from: "torch-eager"
 * for a graph of PyTorch, "tf-r1.3" for TensorFlow's (docs/machines.md lists all). Static storage. */
EMP_API const char *emp_graph_default_runtime(const emp_graph *graph);

EMP_API int32_t emp_graph_op_count(const emp_graph *graph);

/** The op's name, unique in the graph: "layer1/MatMul". */
EMP_API const char *emp_graph_op_name(const emp_graph *graph, emp_op_id op);
/** The op's type: "MatMul". */
EMP_API const char *emp_graph_op_type(const emp_graph *graph, emp_op_id op);
/** The op of that name, or -1. O(V). */
EMP_API emp_op_id emp_graph_find(const emp_graph *graph, const char *name);

/** Floating-point operations of the op; a multiply-add counts 2. 0 for ops with costs of their own. */
EMP_API double emp_graph_op_flops(const emp_graph *graph, emp_op_id op);
/** Bytes that the op holds for the whole step: variables and slots of optimizers. */
EMP_API int64_t emp_graph_op_persistent_bytes(const emp_graph *graph, emp_op_id op);
/** Whether the op is a constant that is computed before the step. Such an op costs nothing and
 * its device has no effect. */
EMP_API bool emp_graph_op_is_folded(const emp_graph *graph, emp_op_id op);

/** The tensors that the op reads, in the order of its inputs; one may occur twice.
 * \param[out] count  Their number; 0 where the result is NULL. */
EMP_API const emp_tensor_id *emp_graph_inputs(const emp_graph *graph, emp_op_id op,
                                              int32_t *count);
/** The ops that the op waits for without reading from them.
 * \param[out] count  Their number; 0 where the result is NULL. */
EMP_API const emp_op_id *emp_graph_controls(const emp_graph *graph, emp_op_id op,
                                            int32_t *count);
/** The first tensor that the op makes; the others have the numbers behind it.
 * \param[out] count  How many it makes; with 0 the result is -1. */
EMP_API emp_tensor_id emp_graph_outputs(const emp_graph *graph, emp_op_id op,
                                        int32_t *count);
/** All ops in an order in which each comes after those that it reads from or waits for: an array
 * of emp_graph_op_count() ids. */
EMP_API const emp_op_id *emp_graph_order(const emp_graph *graph);

/** The op that makes the tensor. */
EMP_API emp_op_id emp_graph_tensor_producer(const emp_graph *graph, emp_tensor_id tensor);
/** Bytes that a copy of the tensor to another device carries. */
EMP_API int64_t emp_graph_tensor_bytes(const emp_graph *graph, emp_tensor_id tensor);

#ifdef __cplusplus
}
#endif

#endif /* EMP_EMPLACE_GRAPH_H */

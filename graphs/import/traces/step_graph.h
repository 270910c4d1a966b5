/** \file graphs/import/traces/step_graph.h
 * A step of a trace as a graph whose ops state their costs.
 *
 * Names: "gpu0.stream7/aten::linear/aten::addmm/volta_sgemm.12" has the GPU and the stream, the
 * outermost and the innermost operator around the call, the kernel, and a number; its type is
 * the innermost operator. "host.thread1/aten::linear/aten::addmm.11" of type Host is the piece of
 * a thread that ends with the call. "....wait.13" of type Wait is a wait without a known cause.
 *
 * Costs: what was measured on the GPU of the trace. A CPU is taken to need EMP_TRACE_CPU times as
 * long for a kernel. Pieces of threads have no kernel for a GPU.
 */
#ifndef EMP_GRAPHS_IMPORT_TRACES_STEP_GRAPH_H
#define EMP_GRAPHS_IMPORT_TRACES_STEP_GRAPH_H

#include "base/text/json.h"
#include "graphs/import/traces/kineto.h"
#include "sim/graph/graph.h"
#include "sim/graph/graph_builder.h"

/* PyTorch's execution traces (ET): every operator of a run with the tensors that it reads and
 * makes, and without times. For schema 1.0.x
 *
 *     {"schema": "1.0.1", "nodes": [{"name": "aten::add", "id": 5, "rf_id": 3,
 *      "inputs": [[11, 12, 0, 65536, 4, "cuda:0"], 1], "outputs": [[13, 14, 0, ...]]}, ...]}
 *
 * and 1.1.x, where "inputs" and "outputs" are objects with "values", and rf_id is one of "attrs".
 * A tensor is [id, storage, offset, elements, bytes of one, device]. rf_id is the "Record
 * function id" of the profiler's event of that operator; in old traces it is the "External id".
 */

typedef struct {
    int64_t storage;
    int64_t bytes;
} emp_execution_tensor;

typedef struct {
    int64_t record; /**< rf_id */
    int32_t first;  /**< its tensors: inputs, then outputs */
    int32_t input_count, output_count;
} emp_execution_op;

/** Zero-initialise; emp_execution_clear() releases it, also after a failure. */
typedef struct {
    emp_execution_op     *op; /**< by record */
    emp_execution_tensor *tensor;
    int32_t               op_count, tensor_count, tensor_capacity;
} emp_execution;

/** The numbers of a tensor: id, storage, offset, elements, bytes of one. A device follows. */
enum { EMP_EXECUTION_PARTS = 5 };

/** Reads the numbers of a tensor; false if \a value is none. */
bool emp_execution_tensor_parts(const emp_json *value, int64_t *part);

/** A member of a node in either schema: its own, or one of its list "attrs"; NULL: it has none. */
const emp_json *emp_execution_attribute(const emp_json *node, const char *key);

/* Which kernels of a step read what others have written: the operators of its profiler's trace,
 * joined with the operators of its execution trace.
 *
 * An operator's results are written by the last kernel that it started. A tensor is known by its
 * storage, so that views and changes in place need no rules. A copy of a result carries all that
 * the operator makes. */

/** Zero-initialise; emp_step_tensors_clear() releases it, also after a failure. */
typedef struct {
    bool    *is_joined; /**< [node] it ran for an operator of the execution trace */
    int64_t *bytes;     /**< [node] of its result; 0 unless it is the operator's last */
    emp_traced_edge *read; /**< \a to reads the result of \a from */
    int32_t          read_count, read_capacity;
    int32_t          joined_count;
} emp_step_tensors;

enum { EMP_TRACE_CPU = 10, EMP_TRACE_NAME_BYTES = 256, EMP_TRACE_PART_BYTES = 64 };

/* Texts of traces as parts of names. */

/** The function of a kernel's signature: of "void at::native::f<int>(...)" it is f. For a name that
 * is not a signature it is the text up to '(' or '<'. */
void emp_trace_put_kernel(char part[EMP_TRACE_PART_BYTES], const char *name,
                          size_t length);

/* Where the ops of a step ran, which their names say. */

/** Whether the graph is a step of a trace: it has a piece of a thread. O(ops) */
bool emp_trace_is_graph(const emp_graph *graph);

/** Fills \a gpu_of_op [op]: -1 for pieces of threads. For what ran on GPUs it is the number of the
 * GPU or, with \a is_by_stream, of the stream, counted from 0 in the order of the ops. O(V).
 * \retval EMP_ENOMEM */
emp_status emp_trace_where(int32_t *gpu_of_op, const emp_graph *graph, bool is_by_stream,
                           emp_error *err);

/* Recognises what the kernels of a profiler's trace do, so that their times can be scaled to other GPUs (kernels.c).
 *
 * The operator around a kernel's launch has its arguments' shapes if the profiler had record_shapes. They give
 * the sizes of products, convolutions and attention, and the bytes of all else; the kernel's own name tells the
 * main kernel of an operator from those that prepare it. Without shapes a name is enough for the kind. */

/** The event whose arguments emp_trace_describe() takes; NULL: it takes none. */
const emp_kineto_event *emp_trace_described_by(const emp_kineto_event *event,
                                               const emp_kineto_event *op);

/** Describes what ran on a GPU: \a event, for the operator \a op (NULL: none is known). \a args may be NULL. O(arguments). */
emp_traced_kernel emp_trace_describe(const emp_kineto_event *event,
                                     const emp_kineto_event *op, const emp_json *args);

#endif /* EMP_GRAPHS_IMPORT_TRACES_STEP_GRAPH_H */

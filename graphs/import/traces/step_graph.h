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

#include "graphs/import/traces/execution.h"
#include "graphs/import/traces/kineto/step.h"
#include "sim/graph/graph.h"
#include "sim/graph/graph_builder.h"

/* Which kernels of a step read what others have written: the operators of its profiler's trace,
 * joined with those of its execution trace.
 *
 * What an operator writes is written by the last kernel that it started. A tensor is known by its
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

/** O(nodes log operators + tensors log tensors). \retval EMP_ENOMEM */
emp_status emp_step_tensors_find(emp_step_tensors *out, const emp_traced_step *step,
                                 const emp_kineto *trace, const emp_execution *execution,
                                 emp_error *err);

void emp_step_tensors_clear(emp_step_tensors *tensors);

enum { EMP_TRACE_CPU = 10, EMP_TRACE_NAME_BYTES = 256, EMP_TRACE_PART_BYTES = 64 };

/** Adds an op for each node, in the order of their numbers, and the edges. With \a tensors (NULL
 * is allowed) ops read each other's results, and two that are joined with operators do not wait for
 * each other because of their stream alone. O(nodes + edges).
 * \retval EMP_EUNSUPPORTED  Longer times than a simulation can add up. \retval EMP_ENOMEM */
emp_status emp_step_build(emp_graph_builder *builder, const emp_traced_step *step,
                          const emp_kineto *trace, const emp_step_tensors *tensors,
                          emp_error *err);

/* Texts of traces as parts of names. */

/** The bytes of a text that may stand in a name, others as '_'; what is too long is cut off. */
void emp_trace_put_text(char part[EMP_TRACE_PART_BYTES], const char *text, size_t length);

/** The function of a kernel's signature: of "void at::native::f<int>(...)" it is f. Of what is no
 * signature it is the text up to '(' or '<'. */
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

#endif /* EMP_GRAPHS_IMPORT_TRACES_STEP_GRAPH_H */

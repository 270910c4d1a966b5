/** \file graphs/import/traces/kernels.h
 * Recognises what the kernels of a profiler's trace do, so that their times can be scaled to other GPUs.
 *
 * The operator around a kernel's launch has its arguments' shapes if the profiler had record_shapes. They give
 * the sizes of products, convolutions and attention, and the bytes of all else; the kernel's own name tells the
 * main kernel of an operator from those that prepare it. Without shapes a name is enough for the kind.
 */
#ifndef EMP_GRAPHS_IMPORT_TRACES_KERNELS_H
#define EMP_GRAPHS_IMPORT_TRACES_KERNELS_H

#include "graphs/import/traces/kineto.h"
#include "sim/graph/graph.h"

/** Describes what ran on a GPU: \a event, for the operator \a op (NULL: none is known). O(arguments). */
emp_traced_kernel emp_trace_describe(const emp_kineto_event *event,
                                     const emp_kineto_event *op);

#endif /* EMP_GRAPHS_IMPORT_TRACES_KERNELS_H */

/** \file graphs/import/onnx/fuse.h
 * Layers that exporters spell out: layer and RMS norms of ReduceMean, Sub, Pow, ...; GELU of Erf;
 * SiLU, hard swish and Mish of their parts. Runtimes execute each as one kernel, and so do we.
 */
#ifndef EMP_GRAPHS_IMPORT_ONNX_FUSE_H
#define EMP_GRAPHS_IMPORT_ONNX_FUSE_H

#include "graphs/import/onnx/lower.h"

typedef enum {
    EMP_ONNX_PLAIN,
    EMP_ONNX_FUSED_AWAY, /**< a part whose last node stands for all of them */
    EMP_ONNX_LAYER_NORM,
    EMP_ONNX_RMS_NORM,
    EMP_ONNX_ACTIVATION
} emp_onnx_fused;

/** What a node stands for. */
typedef struct {
    emp_onnx_fused kind;
    const char    *type; /**< of an activation: "Gelu" */
    emp_slice      x, scale, bias;
} emp_onnx_fusion;

/** Finds them among the nodes of a graph; \a fusion has \a count zeroed entries. O(nodes).
 * \retval EMP_ENOMEM */
emp_status emp_onnx_find_fusions(emp_onnx_fusion *fusion, const emp_onnx_node *nodes,
                                 int32_t count, const emp_onnx_graph *graph,
                                 emp_error *err);

void emp_onnx_lower_fused(emp_onnx_call *c, const emp_onnx_fusion *fusion);

#endif /* EMP_GRAPHS_IMPORT_ONNX_FUSE_H */

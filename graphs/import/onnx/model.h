/** \file graphs/import/onnx/model.h
 * ONNX models, operators of versions 1 to 28, as graphs: what one inference runs, or the training
 * step that follows from it.
 */
#ifndef EMP_GRAPHS_IMPORT_ONNX_MODEL_H
#define EMP_GRAPHS_IMPORT_ONNX_MODEL_H

#include "base/mem.h"
#include "graphs/import/notes/notes.h"
#include "graphs/import/proto/wire.h"
#include "sim/graph/graph.h"
#include "sim/graph/op.h"

/** Values that the file leaves open. Zero-initialise: nothing is given. */
typedef struct {
    int64_t     batch; /**< for inputs that leave their first size open */
    const char *dims;  /**< "name=size,...": what symbols in shapes stand for; or NULL */
    const char *
        train; /**< derive a training step by sgd, momentum or adam; NULL or "": do not */
    bool is_lenient; /**< take ops of unknown types as element-wise */
} emp_onnx_params;

/** Makes the graph of a model, its targets marked. Weights are variables whose data are not read.
 *
 * \param[out] notes  What the file is, what had to be assumed, and its problems.
 * \retval EMP_EFORMAT  Damaged, or with problems; the message has the first one, notes the first
 *                      EMP_NOTES_MAX.
 * \retval EMP_EINVAL   A size for which the model has no symbol, an optimizer that is none.
 * \retval EMP_EUNSUPPORTED, EMP_ENOMEM */
emp_status emp_onnx_build(emp_graph **out, emp_slice bytes, const emp_onnx_params *params,
                          emp_import_notes *notes, emp_error *err);

/* ONNX's messages on the wire: models, graphs, nodes, attributes, tensors (onnx.proto of ONNX 1.16).
 *
 * Nothing is copied: all slices lie in the file. A tensor's data are looked at only when its
 * numbers are asked for; data in other files are never opened.
 */

enum { EMP_ONNX_MAX_DOMAINS = 32 };

/** A version of the operators of a domain ("" = ai.onnx). */
typedef struct {
    emp_slice domain;
    int64_t   version;
} emp_onnx_opset;

typedef struct {
    emp_slice      producer, producer_version;
    emp_slice      graph; /**< GraphProto; data NULL = none */
    emp_onnx_opset opset[EMP_ONNX_MAX_DOMAINS];
    int32_t        opset_count;
    emp_slice      bytes;          /**< the whole file: functions are read from it */
    int32_t        function_count; /**< functions of the model's own */
    bool           has_training;   /**< training_info: another graph, which is not read */
} emp_onnx_model;

/** A node; its attributes are looked up in the body. */
typedef struct {
    emp_slice  type, domain, name, body;
    emp_slice *input, *output; /**< names; "" = left out */
    int32_t    input_count, output_count;
} emp_onnx_node;

/** Parts of a graph that are one field of it each: nodes, tensors, types of values. */
typedef struct {
    int32_t    count;
    emp_slice *item;
} emp_onnx_list;

/** The parts of a GraphProto or a FunctionProto, in the arena that was given. */
typedef struct {
    emp_slice     name;
    emp_onnx_list nodes, initializers, sparse_initializers, inputs, outputs, infos;
} emp_onnx_graph;

typedef struct {
    emp_slice name;
    emp_slice
        reference; /**< in a function's body: the attribute of the call that it stands for */
    int64_t   i;
    double    f;
    emp_slice s, tensor, sparse_tensor, graph, body;
} emp_onnx_attr;

/** A TensorProto without its numbers. */
typedef struct {
    emp_slice name, body;
    emp_shape shape;
    emp_dtype dtype;
    int64_t   type;        /**< TensorProto.DataType */
    bool      has_numbers; /**< body has all elements */
} emp_onnx_tensor;

/** The name and the type of an input, an output or a value between. */
typedef struct {
    emp_slice name;
    emp_shape shape;                /**< unknown rank: none is said */
    emp_slice symbol[EMP_MAX_RANK]; /**< of dims that are -1: their names, perhaps "" */
    emp_dtype dtype;
    bool      is_tensor; /**< else a sequence, a map, ... */
} emp_onnx_info;

/** \retval EMP_EFORMAT  Damaged, or without a graph. */
emp_status emp_onnx_model_read(emp_onnx_model *model, emp_slice bytes, emp_error *err);

/** The version of a domain's operators; 0 = the model does not import it. */
int64_t emp_onnx_model_opset(const emp_onnx_model *model, emp_slice domain);

/** Finds the model's own function of that name. O(bytes of the file) if there are functions. */
bool emp_onnx_model_function(const emp_onnx_model *model, emp_slice domain,
                             emp_slice name, emp_slice *body);

/** Splits a GraphProto into its parts. O(bytes). \retval EMP_EFORMAT, EMP_ENOMEM */
emp_status emp_onnx_graph_read(emp_onnx_graph *graph, emp_slice body, emp_arena *arena,
                               emp_error *err);

/** The same of a FunctionProto, whose inputs and outputs are names. */
emp_status emp_onnx_function_read(emp_onnx_graph *graph, emp_slice body, emp_arena *arena,
                                  emp_error *err);

/** Reads a NodeProto; its names are listed in the arena. \retval EMP_EFORMAT, EMP_ENOMEM */
emp_status emp_onnx_node_read(emp_onnx_node *node, emp_slice body, emp_arena *arena,
                              emp_error *err);

/** Finds an attribute by its name. O(bytes of the node). */
bool emp_onnx_attr_find(const emp_onnx_node *node, const char *name, emp_onnx_attr *attr);

/** Up to \a room numbers of a list of integers or floats; returns how many, -1 = it is no list. */
int32_t emp_onnx_attr_numbers(const emp_onnx_attr *attr, double *number, int32_t room);

/** \retval EMP_EFORMAT  Damaged. \retval EMP_EUNSUPPORTED  A shape that we cannot hold. */
emp_status emp_onnx_tensor_read(emp_onnx_tensor *tensor, emp_slice body, emp_error *err);

/** A SparseTensorProto, as the dense tensor that it stands for, without numbers. The same errors. */
emp_status emp_onnx_sparse_tensor_read(emp_onnx_tensor *tensor, emp_slice body,
                                       emp_error *err);

/** How many tensors a graph has, dense ones and then sparse ones. */
int32_t emp_onnx_initializer_count(const emp_onnx_graph *graph);
/** Reads the i-th of them. The same errors. */
emp_status emp_onnx_initializer_read(emp_onnx_tensor *tensor, const emp_onnx_graph *graph,
                                     int32_t i, emp_error *err);

/** The elements of a tensor as numbers; false where the file does not have that many of them. */
bool emp_onnx_tensor_numbers(const emp_onnx_tensor *tensor, double *number,
                             int64_t count);

/** \retval EMP_EFORMAT  Damaged. */
emp_status emp_onnx_info_read(emp_onnx_info *info, emp_slice body, emp_error *err);

/** The text that the metadata of a graph, or of a value's type, say under a key; size 0 = nothing. O(bytes of the message's
 * fields). */
emp_slice emp_onnx_graph_metadata(emp_slice body, const char *key);
emp_slice emp_onnx_info_metadata(emp_slice body, const char *key);

/** The element type of a TensorProto.DataType; EMP_DTYPE_NONE where we have none. */
emp_dtype emp_onnx_dtype(int64_t type);

#endif /* EMP_GRAPHS_IMPORT_ONNX_MODEL_H */

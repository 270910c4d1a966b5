/** \file tests/graphs/import/onnx/writer.h
 * Small ONNX models, made field by field in protobuf's wire format.
 *
 *     onnx_writer w = {0};
 *     onnx_input(&w, "x", 1, "N,8");
 *     onnx_weight(&w, "w", 1, "8,4");
 *     onnx_node(&w, "MatMul", "x,w", "y", "");
 *     onnx_output(&w, "y", 1, "");
 *     emp_slice model = onnx_model(&w, 14);
 */
#ifndef EMP_TESTS_GRAPHS_IMPORT_ONNX_WRITER_H
#define EMP_TESTS_GRAPHS_IMPORT_ONNX_WRITER_H

#include "graphs/import/onnx/model.h"
#include "tests/support/proto_writer.h"

/** Zero-initialise. */
typedef struct {
    proto_writer graph, functions, model;
    bool
        is_list; /**< no graph: the fields of a list of nodes, for a function or a body */
} onnx_writer;

/** Forgets all that was written. */
void onnx_clear(onnx_writer *w);

/** Sizes are numbers or symbols with commas between; "" = a scalar. The type is onnx's number. */
void onnx_input(onnx_writer *w, const char *name, int type, const char *sizes);
void onnx_output(onnx_writer *w, const char *name, int type, const char *sizes);
/** An initializer whose data are elsewhere. */
void onnx_weight(onnx_writer *w, const char *name, int type, const char *sizes);
/** A sparse initializer with one value. */
void onnx_sparse_weight(onnx_writer *w, const char *name, int type, const char *sizes);
/** Metadata of the graph. */
void onnx_metadata(onnx_writer *w, const char *key, const char *value);
/** A value between, with metadata of its own. */
void onnx_info(onnx_writer *w, const char *name, int type, const char *sizes,
               const char *key, const char *value);
/** A vector of int64 with these elements; "" = none. */
void onnx_ints(onnx_writer *w, const char *name, const char *elements);
/** A tensor of float32 with these sizes and elements. */
void onnx_floats(onnx_writer *w, const char *name, const char *sizes,
                 const char *elements);
/** Attributes are words "name=1,2" (integers; one without a comma is no list), "name:text" and
 * "name~1.5", with blanks between. */
void onnx_node(onnx_writer *w, const char *type, const char *inputs, const char *outputs,
               const char *attributes);
/** The same of another domain, with a graph as an attribute, if \a body is not NULL. */
void onnx_node_of(onnx_writer *w, const char *domain, const char *type,
                  const char *inputs, const char *outputs, const char *attributes,
                  const char *body_name, const onnx_writer *body);
/** An If with two branches, which have no inputs. */
void onnx_if(onnx_writer *w, const char *condition, const char *outputs,
             const onnx_writer *then_branch, const onnx_writer *else_branch);
/** Adds a function of the model's own. */
void onnx_function(onnx_writer *w, const char *domain, const char *name,
                   const char *inputs, const char *outputs, const onnx_writer *body);

/** Adds what the statements of \a text say, with semicolons between:
 *
 *     in x N,8; weight w 8,4; ints axis 0; y = MatMul x,w; z = Flatten y axis=1; out z
 *
 * Types of elements other than float come before the sizes: "in i 7:". */
void onnx_text(onnx_writer *w, const char *text);

/** The model, with operators of that version; it lies in the writer. */
emp_slice onnx_model(onnx_writer *w, int opset);

/* ---- graphs of models ---- */

/** Builds the graph, kept by graph_keep(); fails the test if that fails. \a params, \a notes: OPTIONAL. */
emp_graph *onnx_load(onnx_writer *w, int opset, const emp_onnx_params *params,
                     emp_import_notes *notes);

/** Expects that the model is refused with a message that has \a part in it.
 * \a params: OPTIONAL. */
void onnx_expect_refused(onnx_writer *w, int opset, const emp_onnx_params *params,
                         const char *part);

/** Builds the graph while each allocation fails in turn. */
void onnx_survive(onnx_writer *w, int opset, const char *train);

/** The shape of the last op of a type, as text; static storage. */
const char *onnx_shape_of(const emp_graph *g, const char *type);

#endif /* EMP_TESTS_GRAPHS_IMPORT_ONNX_WRITER_H */

/** \file graphs/import/onnx/onnx.h
 * ONNX models, operators of versions 1 to 28, as graphs: what one inference runs, or the training
 * step that follows from it.
 */
#ifndef EMP_GRAPHS_IMPORT_ONNX_ONNX_H
#define EMP_GRAPHS_IMPORT_ONNX_ONNX_H

#include "graphs/import/notes/notes.h"
#include "graphs/import/proto/cursor.h"
#include "sim/graph/graph.h"

/** What the file leaves open. Zero-initialise: nothing is given. */
typedef struct {
    int64_t     batch; /**< for inputs that leave their first size open */
    const char *dims;  /**< "name=size,...": what symbols in shapes stand for; or NULL */
    const char *
        train; /**< derive a training step by sgd, momentum or adam; NULL or "": do not */
    bool is_lenient; /**< take ops of unknown types as element-wise */
} emp_onnx_params;

/** Makes the graph of a model, its targets marked. Weights are variables whose data nobody reads.
 *
 * \param[out] notes  What the file is, what had to be assumed, and its problems.
 * \retval EMP_EFORMAT  Damaged, or with problems; the message has the first one, notes the first
 *                      EMP_NOTES_MAX.
 * \retval EMP_EINVAL   A size for which the model has no symbol, an optimizer that is none.
 * \retval EMP_EUNSUPPORTED, EMP_ENOMEM */
emp_status emp_onnx_build(emp_graph **out, emp_slice bytes, const emp_onnx_params *params,
                          emp_import_notes *notes, emp_error *err);

#endif /* EMP_GRAPHS_IMPORT_ONNX_ONNX_H */

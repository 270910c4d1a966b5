/** \file graphs/import/onnx/onnx.h
 * ONNX models, operators of versions 7 to 21, as graphs: what one inference runs, or the training
 * step that follows from it.
 */
#ifndef EMP_GRAPHS_IMPORT_ONNX_ONNX_H
#define EMP_GRAPHS_IMPORT_ONNX_ONNX_H

#include "graphs/import/notes/notes.h"
#include "graphs/import/proto/cursor.h"
#include "sim/graph/graph.h"

enum { EMP_ONNX_TEXT_BYTES = 4096 };

/** What the file leaves open. Zero-initialise: nothing is given. */
typedef struct {
    int64_t batch; /**< for inputs that leave their first size open */
    char    dims
        [EMP_ONNX_TEXT_BYTES]; /**< "name=size,...": what symbols in shapes stand for */
    char train[16];  /**< derive a training step by sgd, momentum or adam; "" = do not */
    bool is_lenient; /**< take ops of unknown types as element-wise */
} emp_onnx_params;

/** Whether the bytes are an ONNX model. */
bool emp_onnx_is(emp_slice bytes);

/** Reads the graph of a model, its targets marked. Weights are variables whose data nobody reads.
 *
 * \param[out] notes  What the file is, what had to be assumed, and its problems.
 * \retval EMP_EFORMAT  Damaged, or with problems; the message has the first one, notes the first
 *                      EMP_NOTES_MAX.
 * \retval EMP_EINVAL   A size for which the model has no symbol, an optimizer that is none.
 * \retval EMP_EUNSUPPORTED, EMP_ENOMEM */
emp_status emp_onnx_load(emp_graph **out, emp_slice bytes, const emp_onnx_params *params,
                         emp_import_notes *notes, emp_error *err);

/** Whether it is "onnx:path=FILE" with parameters behind: batch=N, dim.NAME=N, train=adam,
 * lenient=1. */
bool emp_onnx_is_spec(const char *source);

/** Reads such a spec. \retval EMP_EINVAL  Not one of these, or no path. */
emp_status emp_onnx_spec_read(const char *spec, char path[EMP_ONNX_TEXT_BYTES],
                              emp_onnx_params *params, emp_error *err);

#endif /* EMP_GRAPHS_IMPORT_ONNX_ONNX_H */

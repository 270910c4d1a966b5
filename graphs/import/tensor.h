/** \file graphs/import/tensor.h
 * Reads TensorShapeProto and TensorProto: shapes, element types, and small constants as
 * integers. The contents of large tensors are not looked at.
 */
#ifndef EMP_GRAPHS_IMPORT_TENSOR_H
#define EMP_GRAPHS_IMPORT_TENSOR_H

#include "graphs/import/proto/message.h"
#include "sim/graph/op.h"

typedef struct {
    emp_dtype dtype;
    emp_shape shape;
    int32_t   value_count;                 /**< 0 = too large, no numbers, or unknown */
    int64_t   value[EMP_MAX_CONST_VALUES]; /**< floats are cut to integers */
} emp_tensor_proto;

/** Reads a TensorShapeProto out of a field of \a message. More than EMP_MAX_RANK
 * dimensions are taken as unknown. */
emp_status emp_import_shape(const emp_message *message, const emp_field *field,
                            emp_shape *out, emp_error *err);

/** Reads a DataType, without the +100 of references; types that emp_dtype does not list
 * come out as EMP_DTYPE_NONE. */
emp_status emp_import_dtype(const emp_message *message, const emp_field *field,
                            emp_dtype *out, emp_error *err);

/** Reads a TensorProto. */
emp_status emp_import_tensor(const emp_message *message, const emp_field *field,
                             emp_tensor_proto *out, emp_error *err);

#endif /* EMP_GRAPHS_IMPORT_TENSOR_H */

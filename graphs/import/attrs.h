/** \file graphs/import/attrs.h
 * From the attributes of a NodeDef, in either syntax, to emp_op_attrs.
 *
 * Attributes are looked up by name whatever the op type is, as a name means the same
 * thing in every op that has it; those that nothing depends on are skipped.
 */
#ifndef EMP_GRAPHS_IMPORT_ATTRS_H
#define EMP_GRAPHS_IMPORT_ATTRS_H

#include "graphs/import/proto/message.h"
#include "sim/graph/op.h"

/* Reads TensorShapeProto and TensorProto: shapes, element types, and small constants as
 * integers. The contents of large tensors are not looked at. */

typedef struct {
    emp_dtype dtype;
    emp_shape shape;
    int32_t   value_count;                 /**< 0 = too large, no numbers, or unknown */
    int64_t   value[EMP_MAX_CONST_VALUES]; /**< floats are cut to integers */
} emp_tensor_proto;

/** The attributes of one node. Zero-initialise; one object serves all nodes of a
 * file, so that its memory is allocated once: reset and read for each, clear at the end.
 */
typedef struct {
    emp_op_attrs     attrs; /**< its value points to tensor */
    emp_tensor_proto tensor;
    emp_shape       *output;
    int32_t
        output_count; /**< of _output_shapes, or output_shapes; -1 = neither is there */
    int32_t output_capacity;
    int32_t dtype_rank; /**< of the attribute that gave attrs.dtype */
} emp_node_attrs;

void emp_node_attrs_reset(emp_node_attrs *node);
void emp_node_attrs_clear(emp_node_attrs *node);

/** A field "attr" of a NodeDef. */
typedef struct {
    emp_slice   key;
    emp_message entry;
    emp_field value; /**< of the entry: an AttrValue; its number is 0 if there is none */
} emp_attr;

/** Reads one field "attr" of the message \a node_def. \retval EMP_EFORMAT  Malformed. */
emp_status emp_attr_read(emp_attr *attr, const emp_message *node_def,
                         const emp_field *field, emp_error *err);

/** Gives a node the attribute, unless nothing depends on it.
 * \param[out] may_call  Its value is a function, or a list.
 * \retval EMP_EFORMAT  Malformed; the message names the attribute. */
emp_status emp_node_attrs_set(emp_node_attrs *node, bool *may_call, const emp_attr *attr,
                              emp_error *err);

#endif /* EMP_GRAPHS_IMPORT_ATTRS_H */

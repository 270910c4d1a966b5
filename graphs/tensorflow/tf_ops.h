/** \file graphs/tensorflow/tf_ops.h
 * Functions of TensorFlow's Python API that make more than one op, or need attributes:
 * each emits the same ops under the same names as its namesake of r1.3.
 *
 * \a name NULL stands for the default name of the Python function.
 */
#ifndef EMP_GRAPHS_TENSORFLOW_TF_OPS_H
#define EMP_GRAPHS_TENSORFLOW_TF_OPS_H

#include "graphs/tensorflow/tf_graph.h"

/* Shapes. */

/** tf.shape: a Const where Python knows the shape, else a Shape op. */
emp_port emp_tf_shape_of(emp_tf *tf, emp_port x);
/** tf.size, of a tensor of static shape. */
emp_port emp_tf_size_of(emp_tf *tf, emp_port x);
/** tf.reshape to constant sizes. */
emp_port emp_tf_reshape(emp_tf *tf, emp_port x, emp_shape shape);
/** tf.reshape to a tensor of sizes. */
emp_port emp_tf_reshape_to(emp_tf *tf, emp_port x, emp_port sizes);
emp_port emp_tf_expand_dims(emp_tf *tf, emp_port x, int32_t dim);
/** \a dims: bit d squeezes dimension d; 0 = all of size 1. */
emp_port emp_tf_squeeze(emp_tf *tf, const char *name, emp_port x, uint32_t dims);
emp_port emp_tf_transpose(emp_tf *tf, emp_port x, const int64_t *perm, int32_t count);

/* Joining and splitting. */

/** tf.concat; a single value becomes an Identity. */
emp_port emp_tf_concat(emp_tf *tf, const char *name, const emp_port *values,
                       int32_t count, int32_t axis);
/** tf.stack of \a count tensors. */
emp_port emp_tf_stack(emp_tf *tf, const char *name, const emp_port *values, int32_t count,
                      int32_t axis);
/** tf.stack([x, value]) of a scalar tensor and an integer. */
emp_port emp_tf_stack_int(emp_tf *tf, const char *name, emp_port x, int64_t value);
/** tf.unstack; output i of the port's op is slice i. */
emp_port emp_tf_unstack(emp_tf *tf, emp_port x, int32_t count, int32_t axis);
/** x[begin:end] of a vector; \a shrink: the single element x[begin] as a scalar.
 * \a begin_mask, \a end_mask: that bound is left out. */
typedef struct {
    int64_t begin, end;
    bool    begin_mask, end_mask, shrink;
} emp_tf_range;
emp_port emp_tf_strided_slice(emp_tf *tf, emp_port x, emp_tf_range range);
emp_port emp_tf_slice(emp_tf *tf, emp_port x, emp_port begin, emp_port size);
/** The first elements of x of that \a rank, and those from \a begin on. */
emp_port emp_tf_slice_first(emp_tf *tf, emp_port x, emp_port size, int32_t rank);
/** tf.nn.embedding_lookup of one table. */
emp_port emp_tf_gather(emp_tf *tf, emp_port table, emp_port indices);

/** tf.one_hot of classes, in a scope of that name. */
emp_port emp_tf_one_hot(emp_tf *tf, const char *name, emp_port indices, int64_t depth);

/* Filling. */

/** tf.zeros(sizes), tf.ones(sizes) of a tensor of sizes. */
emp_port emp_tf_zeros(emp_tf *tf, emp_port sizes);
/** tf.zeros(shape) of a constant shape, as initialisers do it: obeys const_zeros. */
emp_port emp_tf_filled(emp_tf *tf, const char *name, emp_dtype dtype, emp_shape shape,
                       int64_t value);
emp_port emp_tf_zeros_like(emp_tf *tf, emp_port x);
emp_port emp_tf_ones_like(emp_tf *tf, emp_port x);

/* Arithmetic. */

/** x op constant: the constant is "<name>/y"; of \a x's dtype. */
emp_port emp_tf_op_y(emp_tf *tf, const char *type, const char *name, emp_port x,
                     double y);
/** constant op y: the constant is "<name>/x"; of \a y's dtype. */
emp_port emp_tf_x_op(emp_tf *tf, const char *type, const char *name, double x,
                     emp_port y);
emp_port emp_tf_matmul(emp_tf *tf, const char *type, emp_port a, emp_port b,
                       bool transpose_a, bool transpose_b);
emp_port emp_tf_cast(emp_tf *tf, const char *name, emp_port x, emp_dtype dtype);
/** "Sum" or "Mean" over all dimensions. */
emp_port emp_tf_reduce_all(emp_tf *tf, const char *type, const char *name, emp_port x);
/** "Sum" or "Mean" over the given ones. */
emp_port emp_tf_reduce(emp_tf *tf, const char *type, const char *name, emp_port x,
                       const int64_t *axes, int32_t count, bool keep_dims);

/* Neural networks. */

/** tf.nn.dropout in the scope \a name (NULL: "dropout"). */
emp_port emp_tf_dropout(emp_tf *tf, const char *name, emp_port x, double keep_prob);
/** tf.nn.softmax_cross_entropy_with_logits in the scope \a name; one loss per row. */
emp_port emp_tf_softmax_cross_entropy(emp_tf *tf, const char *name, emp_port labels,
                                      emp_port logits);
/** tf.nn.sparse_softmax_cross_entropy_with_logits in the scope \a name. */
emp_port emp_tf_sparse_softmax_cross_entropy(emp_tf *tf, const char *name,
                                             emp_port labels, emp_port logits);
/** tf.contrib.legacy_seq2seq.sequence_loss: a sparse cross entropy at every step. Step t
 * has the logits \a logits[t], and output t of the ops of \a targets and \a weights. */
emp_port emp_tf_sequence_loss(emp_tf *tf, const emp_port *logits, emp_port targets,
                              emp_port weights, int32_t steps);
/** tf.nn.sampled_softmax_loss; weights [V, d], biases [V], labels [n, 1], inputs [n, d].
 */
emp_port emp_tf_sampled_softmax_loss(emp_tf *tf, emp_port weights, emp_port biases,
                                     emp_port labels, emp_port inputs,
                                     int32_t num_sampled);

#endif /* EMP_GRAPHS_TENSORFLOW_TF_OPS_H */

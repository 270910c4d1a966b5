/** \file graphs/tensorflow/tf_grad.h
 * Reverse-mode differentiation of the graph under construction, as gradients_impl.py of
 * TensorFlow r1.3 does it: the same walk, so the same ops in the same order.
 */
#ifndef EMP_GRAPHS_TENSORFLOW_TF_GRAD_H
#define EMP_GRAPHS_TENSORFLOW_TF_GRAD_H

#include "graphs/tensorflow/tf_graph.h"

/** A gradient: a tensor, or rows of one (an IndexedSlices). */
typedef struct {
    emp_port values;  /**< EMP_TF_NONE: no gradient */
    emp_port indices; /**< EMP_TF_NONE: dense */
} emp_tf_grad;

#define EMP_TF_NO_GRAD ((emp_tf_grad){EMP_TF_NONE, EMP_TF_NONE})

/** tf.gradients(loss, xs) in the scope "gradients"; \a grads has \a count entries. Obeys
 * gate_gradients and old_broadcast_grads. O(ops + their edges).
 * Fails with EMP_EUNSUPPORTED at an op type without a gradient function; the message
 * names it. */
void emp_tf_gradients(emp_tf *tf, emp_port loss, const emp_port *xs, int32_t count,
                      emp_tf_grad *grads);

#endif /* EMP_GRAPHS_TENSORFLOW_TF_GRAD_H */

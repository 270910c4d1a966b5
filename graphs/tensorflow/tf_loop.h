/** \file graphs/tensorflow/tf_loop.h
 * The ops that tf.while_loop executes, iteration by iteration.
 *
 * TensorFlow has one node for each op of a loop's body. Here every execution of it is a node,
 * so that the graph has no cycle. Around the body there are the ops by which the executor
 * hands values from one iteration to the next. Merge and Switch are Identities here, named so:
 * they hand a buffer on and cost nothing but their turn in the executor.
 *
 *     emp_tf_loop loop;
 *     emp_tf_loop_open(tf, &loop, steps);
 *     for (t = 0; t < steps; t++) {
 *         emp_tf_loop_step(tf);
 *         state = emp_tf_loop_carry(tf, state);
 *         x = emp_tf_loop_read(tf, input[t]);
 *         state = f(state, x, emp_tf_loop_invariant(tf, weights));
 *     }
 *     state = emp_tf_loop_exit(tf, state);
 *     emp_tf_loop_close(tf);
 *
 * Without an open loop all functions hand their value on and make no op: then this is a static
 * unroll, and models need not tell the two apart.
 */
#ifndef EMP_GRAPHS_TENSORFLOW_TF_LOOP_H
#define EMP_GRAPHS_TENSORFLOW_TF_LOOP_H

#include "graphs/tensorflow/tf_graph.h"

/** Opens a loop in the current scope; \a loop must live until it is closed. */
void emp_tf_loop_open(emp_tf *tf, emp_tf_loop *loop, int32_t steps);
/** Begins the next iteration: the condition, and the counter. */
void emp_tf_loop_step(emp_tf *tf);
void emp_tf_loop_close(emp_tf *tf);

/** A loop variable as this iteration sees it. */
emp_port emp_tf_loop_carry(emp_tf *tf, emp_port value);
/** The last value of a loop variable. */
emp_port emp_tf_loop_exit(emp_tf *tf, emp_port value);
/** A tensor from outside that all iterations read: entered once. Its gradient is added up in
 * place, iteration by iteration. */
emp_port emp_tf_loop_invariant(emp_tf *tf, emp_port value);
/** An element of a TensorArray, read or written in this iteration. */
emp_port emp_tf_loop_read(emp_tf *tf, emp_port value);
emp_port emp_tf_loop_write(emp_tf *tf, emp_port value);

/* One device for all iterations of an op. */

/** Whether what is made now belongs to no iteration: the first one makes variables. */
void emp_tf_loop_set_outside(emp_tf *tf, bool is_outside);

/* For the gradients' loop. */

/** Stacks that keep what forward iterations computed for the backward ones: while they are
 * set, ops that read such a tensor pop it. \a popped [tensor] is EMP_TF_NONE everywhere,
 * \a first_output [op + 1] the tensors' numbers; both are borrowed. */
void emp_tf_loop_set_stacks(emp_tf *tf, const int32_t *first_output, emp_port *popped,
                            int32_t forward_count);
/** sum + grad, the gradient of the invariant \a of; \a sum EMP_TF_NONE: the first of all. */
emp_port emp_tf_loop_accumulate(emp_tf *tf, emp_port of, emp_port sum, emp_port grad);

#endif /* EMP_GRAPHS_TENSORFLOW_TF_LOOP_H */

/** \file graphs/tensorflow/tf_train.h
 * What turns a loss into a training graph: variables and their initialisers, gradients
 * clipped by global norm, optimizers with their slots, the Saver, the init op.
 */
#ifndef EMP_GRAPHS_TENSORFLOW_TF_TRAIN_H
#define EMP_GRAPHS_TENSORFLOW_TF_TRAIN_H

#include "graphs/tensorflow/tf_graph.h"

typedef enum {
    EMP_TF_INIT_VALUE,   /**< a Const "initial_value": scalars of the trainer */
    EMP_TF_INIT_CONST,   /**< a Const "Initializer/Const" of the whole shape */
    EMP_TF_INIT_ZEROS,   /**< Fill, or one Const in r1.3 */
    EMP_TF_INIT_ONES,    /**< the same */
    EMP_TF_INIT_UNIFORM, /**< random_uniform */
    EMP_TF_INIT_NORMAL   /**< truncated_normal */
} emp_tf_initializer;

/** tf.get_variable of the absolute name \a name: the initialiser, VariableV2, Assign and
 * "read". Joins the collection of global variables. */
emp_tf_variable emp_tf_get_variable(emp_tf *tf, const char *name, emp_dtype dtype,
                                    emp_shape shape, emp_tf_initializer initializer,
                                    bool is_trainable);

/** A trainable float variable; the usual case. */
emp_tf_variable emp_tf_weights(emp_tf *tf, const char *name, emp_shape shape,
                               emp_tf_initializer initializer);

/** tf.train.get_or_create_global_step(). */
emp_tf_variable emp_tf_global_step(emp_tf *tf);

typedef enum {
    EMP_TF_SGD,
    EMP_TF_MOMENTUM,
    EMP_TF_ADAGRAD,
    EMP_TF_RMSPROP,
    EMP_TF_ADAM,
    EMP_TF_FUSED_ADAM /**< PyTorch's, one kernel for a variable */
} emp_tf_optimizer;

/** The options that name the first ones, in the order of the enum. */
#define EMP_TF_OPTIMIZER_WORDS "sgd|momentum|adagrad|rmsprop|adam"

/** optimizer.apply_gradients(clip(gradients(loss))): over all trainable variables that
 * the loss depends on. \a clip_norm 0: no clipping. Returns the op that counts the step, or with
 * \a global_step NULL the one that waits for all updates. */
emp_op_id emp_tf_minimize(emp_tf *tf, emp_port loss, const emp_tf_variable *global_step,
                          emp_tf_optimizer optimizer, double clip_norm);

/** tf.global_variables_initializer() and, if \a with_saver, tf.train.Saver(). */
void emp_tf_add_init_and_saver(emp_tf *tf, bool with_saver);

/* Reverse-mode differentiation of the graph under construction, as gradients_impl.py of
 * TensorFlow r1.3 does it: the same walk, so the same ops in the same order. */

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

#endif /* EMP_GRAPHS_TENSORFLOW_TF_TRAIN_H */

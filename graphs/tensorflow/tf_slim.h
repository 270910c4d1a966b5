/** \file graphs/tensorflow/tf_slim.h
 * Layers and losses of tf.contrib.slim, as the image classifiers use them: convolution
 * with batch norm and L2 regularisation, pooling, weighted cross entropies,
 * create_train_op.
 */
#ifndef EMP_GRAPHS_TENSORFLOW_TF_SLIM_H
#define EMP_GRAPHS_TENSORFLOW_TF_SLIM_H

#include "graphs/tensorflow/tf_train.h"

enum { EMP_TF_MAX_CONVS = 1024 };

/** A network under construction, with slim's collections. Zero-initialise, then set tf
 * and the flags. */
typedef struct {
    emp_tf     *tf;
    bool        fused_batch_norm;
    bool        batch_norm_scale; /**< batch norm has a gamma */
    const char *variables;        /**< variable scope; the op scope is tf's */

    emp_port  losses[EMP_TF_MAX_CONVS + 2]; /**< of the batch, then regularisation */
    int32_t   loss_count;
    emp_port  regularizers[EMP_TF_MAX_CONVS];
    int32_t   regularizer_count;
    emp_op_id updates[2 * EMP_TF_MAX_CONVS + 1]; /**< moving averages of batch norm */
    int32_t   update_count;
} emp_tf_slim;

/** Both scopes, to go back to. */
typedef struct {
    const char *ops, *variables;
} emp_tf_slim_scope;

emp_tf_slim_scope emp_tf_slim_enter(emp_tf_slim *s, const char *name);
void              emp_tf_slim_leave(emp_tf_slim *s, emp_tf_slim_scope previous);

typedef enum {
    EMP_TF_CONV_BN_RELU,
    EMP_TF_CONV_BN,
    EMP_TF_CONV_BIAS /**< neither batch norm nor Relu */
} emp_tf_conv_kind;

typedef struct {
    int32_t          height, width; /**< of the window */
    int32_t          filters;
    int32_t          stride;
    bool             is_same; /**< padding; else VALID */
    emp_tf_conv_kind kind;
} emp_tf_conv;

/** slim.conv2d in the scope \a name. */
emp_port emp_tf_slim_conv2d(emp_tf_slim *s, const char *name, emp_port x,
                            emp_tf_conv conv);

/** slim.batch_norm with a Relu behind it, in the scope \a name. */
emp_port emp_tf_slim_batch_norm_relu(emp_tf_slim *s, const char *name, emp_port x);

/** "MaxPool" or "AvgPool" in the scope \a name; filters and kind are not used. */
emp_port emp_tf_slim_pool(emp_tf_slim *s, const char *name, const char *type, emp_port x,
                          emp_tf_conv window);

/** slim.softmax in the scope \a name: flattens, applies, restores the shape. */
void emp_tf_slim_predictions(emp_tf_slim *s, const char *name, emp_port logits);

/** tf.losses.softmax_cross_entropy with label smoothing; joins the losses. */
void emp_tf_slim_softmax_loss(emp_tf_slim *s, emp_port onehot, emp_port logits);
/** tf.losses.sparse_softmax_cross_entropy; joins the losses. */
void emp_tf_slim_sparse_softmax_loss(emp_tf_slim *s, emp_port labels, emp_port logits);

/** Total loss, training, moving averages, init and Saver; marks the target. */
void emp_tf_slim_train(emp_tf_slim *s, const emp_tf_variable *global_step,
                       emp_tf_optimizer optimizer, bool has_saver);

#endif /* EMP_GRAPHS_TENSORFLOW_TF_SLIM_H */

/** \file graphs/tensorflow/tf_grad_internal.h
 * Gradient functions by op type, and what they share. Not for the models.
 *
 * A gradient function of op emits d loss / d inputs, given d loss / d outputs: in[i] is
 * preset to EMP_TF_NO_GRAD, out[o] is dense unless the op only passes it on. The current
 * scope is "gradients/<op>_grad/".
 */
#ifndef EMP_GRAPHS_TENSORFLOW_TF_GRAD_INTERNAL_H
#define EMP_GRAPHS_TENSORFLOW_TF_GRAD_INTERNAL_H

#include "graphs/tensorflow/tf_grad.h"

/** The head of a gradient function; not all need all of it. */
#define EMP_TF_GRAD(name)                                                                \
    void emp_tf_grad_##name(emp_tf *tf, emp_op_id op EMP_UNUSED, const emp_tf_grad *out, \
                            emp_tf_grad *in)

typedef void emp_tf_grad_fn(emp_tf *tf, emp_op_id op, const emp_tf_grad *out,
                            emp_tf_grad *in);

typedef struct {
    const char     *type;
    emp_tf_grad_fn *fn; /**< NULL: gradients end here */
} emp_tf_grad_entry;

/** The entry of an op type, or NULL. */
const emp_tf_grad_entry *emp_tf_grad_find(const char *type);

/** Input i of an op. */
emp_port    emp_tf_input(const emp_tf *tf, emp_op_id op, int32_t i);
emp_tf_grad emp_tf_dense(emp_port values);

/* tf_grad_math.c */
emp_tf_grad_fn emp_tf_grad_add, emp_tf_grad_add_n, emp_tf_grad_batch_matmul,
    emp_tf_grad_matmul, emp_tf_grad_mean, emp_tf_grad_mul, emp_tf_grad_real_div,
    emp_tf_grad_rsqrt, emp_tf_grad_select, emp_tf_grad_sigmoid, emp_tf_grad_square,
    emp_tf_grad_squared_difference, emp_tf_grad_sub, emp_tf_grad_sum, emp_tf_grad_tanh;

/* tf_grad_array.c */
emp_tf_grad_fn emp_tf_grad_concat, emp_tf_grad_fill, emp_tf_grad_gather,
    emp_tf_grad_identity, emp_tf_grad_pack, emp_tf_grad_pad, emp_tf_grad_reshape,
    emp_tf_grad_slice, emp_tf_grad_split, emp_tf_grad_split_v, emp_tf_grad_transpose,
    emp_tf_grad_unpack;

/* tf_grad_loop.c */
emp_tf_grad_fn emp_tf_grad_enter, emp_tf_grad_exit, emp_tf_grad_next_iteration;

/* tf_grad_nn.c */
emp_tf_grad_fn emp_tf_grad_avg_pool, emp_tf_grad_bias_add, emp_tf_grad_conv2d,
    emp_tf_grad_depthwise, emp_tf_grad_fused_batch_norm, emp_tf_grad_l2_loss,
    emp_tf_grad_lrn, emp_tf_grad_max_pool, emp_tf_grad_relu, emp_tf_grad_softmax,
    emp_tf_grad_softmax_cross_entropy, emp_tf_grad_sparse_softmax_cross_entropy;

#endif /* EMP_GRAPHS_TENSORFLOW_TF_GRAD_INTERNAL_H */

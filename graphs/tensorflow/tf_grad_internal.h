/** \file graphs/tensorflow/tf_grad_internal.h
 * Gradient functions by op type, and what they share. Not for the models.
 *
 * A gradient function of op emits d loss / d inputs, given d loss / d outputs: in[i] is
 * preset to EMP_TF_NO_GRAD, out[o] is dense unless the op only passes it on. The current
 * scope is "gradients/<op>_grad/".
 */
#ifndef EMP_GRAPHS_TENSORFLOW_TF_GRAD_INTERNAL_H
#define EMP_GRAPHS_TENSORFLOW_TF_GRAD_INTERNAL_H

#include "graphs/tensorflow/tf_train.h"

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

/* The parts of gradient functions (tf_grad_model.c). */

/** Input i of an op. */
emp_port    emp_tf_input(const emp_tf *tf, emp_op_id op, int32_t i);
emp_tf_grad emp_tf_dense(emp_port values);

/* tf_grad_math.c */
emp_tf_grad_fn emp_tf_grad_add, emp_tf_grad_add_n, emp_tf_grad_batch_matmul,
    emp_tf_grad_matmul, emp_tf_grad_mean, emp_tf_grad_mul, emp_tf_grad_real_div,
    emp_tf_grad_rsqrt, emp_tf_grad_select, emp_tf_grad_sigmoid, emp_tf_grad_square,
    emp_tf_grad_squared_difference, emp_tf_grad_sub, emp_tf_grad_sum, emp_tf_grad_tanh;

/* tf_grad_model.c */

/** Both gradients of a product of that type, for each of the four ways to transpose its factors. */
void emp_tf_matmul_grads(emp_tf *tf, emp_op_id op, const char *type, emp_port grad,
                         emp_tf_grad *in);

emp_tf_grad_fn emp_tf_grad_abs, emp_tf_grad_avg_pool_nd, emp_tf_grad_band_part,
    emp_tf_grad_batch_matmul_v2, emp_tf_grad_broadcast_to, emp_tf_grad_cast,
    emp_tf_grad_clip, emp_tf_grad_conv, emp_tf_grad_conv_transpose, emp_tf_grad_cos,
    emp_tf_grad_cumsum, emp_tf_grad_depth_to_space, emp_tf_grad_elu, emp_tf_grad_erf,
    emp_tf_grad_exp, emp_tf_grad_extreme, emp_tf_grad_gelu, emp_tf_grad_gru,
    emp_tf_grad_hard_sigmoid, emp_tf_grad_hard_swish, emp_tf_grad_layer_norm,
    emp_tf_grad_leaky_relu, emp_tf_grad_log, emp_tf_grad_log_softmax, emp_tf_grad_lookup,
    emp_tf_grad_lstm, emp_tf_grad_max_pool_nd, emp_tf_grad_maximum, emp_tf_grad_minimum,
    emp_tf_grad_mish, emp_tf_grad_neg, emp_tf_grad_partial_sort, emp_tf_grad_pow,
    emp_tf_grad_prelu, emp_tf_grad_reciprocal, emp_tf_grad_resize, emp_tf_grad_rms_norm,
    emp_tf_grad_rnn, emp_tf_grad_scatter, emp_tf_grad_select_v2, emp_tf_grad_selu,
    emp_tf_grad_silu, emp_tf_grad_sin, emp_tf_grad_softmax_kernel, emp_tf_grad_softplus,
    emp_tf_grad_softsign, emp_tf_grad_space_to_depth, emp_tf_grad_sqrt,
    emp_tf_grad_strided_slice, emp_tf_grad_tile;

/* tf_grad_math.c: arrays */
emp_tf_grad_fn emp_tf_grad_concat, emp_tf_grad_fill, emp_tf_grad_gather,
    emp_tf_grad_identity, emp_tf_grad_pack, emp_tf_grad_pad, emp_tf_grad_reshape,
    emp_tf_grad_slice, emp_tf_grad_split, emp_tf_grad_split_v, emp_tf_grad_transpose,
    emp_tf_grad_unpack;

/* while loops */
emp_tf_grad_fn emp_tf_grad_enter, emp_tf_grad_exit, emp_tf_grad_next_iteration;

/* layers */
emp_tf_grad_fn emp_tf_grad_avg_pool, emp_tf_grad_bias_add, emp_tf_grad_conv2d,
    emp_tf_grad_depthwise, emp_tf_grad_fused_batch_norm, emp_tf_grad_l2_loss,
    emp_tf_grad_lrn, emp_tf_grad_max_pool, emp_tf_grad_relu, emp_tf_grad_softmax,
    emp_tf_grad_softmax_cross_entropy, emp_tf_grad_sparse_softmax_cross_entropy;

#endif /* EMP_GRAPHS_TENSORFLOW_TF_GRAD_INTERNAL_H */

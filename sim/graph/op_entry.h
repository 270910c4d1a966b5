/** \file sim/graph/op_entry.h
 * Shared by the files that hold the table of op types: the signatures of its entries and
 * the arithmetic they are made of. For this folder and those in it.
 */
#ifndef EMP_SIM_GRAPH_OP_ENTRY_H
#define EMP_SIM_GRAPH_OP_ENTRY_H

#include "sim/graph/op.h"

/* Not all types need all of them. */
#define EMP_INFER(name)                                                       \
    emp_status emp_op_infer_##name(                                           \
        const emp_op_view *op EMP_UNUSED, emp_tensor_info *output EMP_UNUSED, \
        int32_t *output_count EMP_UNUSED, emp_error *err EMP_UNUSED)
#define EMP_COST(name) \
    void emp_op_cost_##name(const emp_op_view *op EMP_UNUSED, emp_op_cost *cost)

/* The outputs of op types, by the file that holds the functions. */
typedef emp_status emp_op_infer(const emp_op_view *op, emp_tensor_info *output,
                                int32_t *output_count, emp_error *err);

/* tensorflow/op_math.c: element-wise, reductions, matrix products */
emp_op_infer emp_op_infer_same, emp_op_infer_broadcast, emp_op_infer_compare,
    emp_op_infer_predicate, emp_op_infer_add, emp_op_infer_sub, emp_op_infer_mul,
    emp_op_infer_floor_div, emp_op_infer_floor_mod, emp_op_infer_maximum,
    emp_op_infer_minimum, emp_op_infer_add_n, emp_op_infer_select, emp_op_infer_reduce,
    emp_op_infer_sum, emp_op_infer_prod, emp_op_infer_scalar, emp_op_infer_arg_reduce,
    emp_op_infer_mat_mul, emp_op_infer_batch_mat_mul, emp_op_infer_cast;

/* Einsum */
emp_op_infer emp_op_infer_einsum;

/* tensorflow/op_basic.c: constants, pass-throughs, kernel-less and host ops */
emp_op_infer emp_op_infer_nothing, emp_op_infer_constant, emp_op_infer_placeholder,
    emp_op_infer_variable, emp_op_infer_var_handle, emp_op_infer_read_variable,
    emp_op_infer_pass, emp_op_infer_pass_all, emp_op_infer_pass_ref, emp_op_infer_update,
    emp_op_infer_assign, emp_op_infer_open, emp_op_infer_switch_, emp_op_infer_ref_switch,
    emp_op_infer_merge, emp_op_infer_forget, emp_op_infer_second,
    emp_op_infer_one_unknown, emp_op_infer_bool_scalar, emp_op_infer_int32_scalar,
    emp_op_infer_flow, emp_op_infer_handle_and_flow, emp_op_infer_string_scalar,
    emp_op_infer_resource;

/* tensorflow/op_shape.c: ops that compute or change shapes */
emp_op_infer emp_op_infer_shape, emp_op_infer_shape_n, emp_op_infer_rank,
    emp_op_infer_size, emp_op_infer_reshape, emp_op_infer_expand_dims,
    emp_op_infer_squeeze, emp_op_infer_fill, emp_op_infer_range,
    emp_op_infer_broadcast_gradient_args, emp_op_infer_concat_offset,
    emp_op_infer_invert_permutation, emp_op_infer_random, emp_op_infer_key_counter;

/* tensorflow/op_array.c: data movement */
emp_op_infer emp_op_infer_concat, emp_op_infer_concat_v2, emp_op_infer_split,
    emp_op_infer_split_v, emp_op_infer_slice, emp_op_infer_strided_slice,
    emp_op_infer_strided_slice_grad, emp_op_infer_pad, emp_op_infer_tile,
    emp_op_infer_transpose, emp_op_infer_pack, emp_op_infer_unpack, emp_op_infer_gather,
    emp_op_infer_gather_nd, emp_op_infer_one_hot, emp_op_infer_dynamic_stitch,
    emp_op_infer_resource_gather, emp_op_infer_scatter_nd, emp_op_infer_matrix_diag,
    emp_op_infer_lin_space;

/* tensorflow/op_sparse.c: sampling, segments, blocks */
emp_op_infer emp_op_infer_unique, emp_op_infer_where, emp_op_infer_segment_sum,
    emp_op_infer_unsorted_segment_sum, emp_op_infer_sparse_to_dense, emp_op_infer_top_k,
    emp_op_infer_space_to_batch, emp_op_infer_batch_to_space, emp_op_infer_depth_to_space,
    emp_op_infer_space_to_depth, emp_op_infer_candidate_sampler,
    emp_op_infer_accidental_hits;

/* tensorflow/op_nn.c: convolutions, pools, normalisation, losses */
emp_op_infer emp_op_infer_conv2d, emp_op_infer_conv2d_input, emp_op_infer_conv2d_filter,
    emp_op_infer_depthwise, emp_op_infer_pool, emp_op_infer_avg_pool_grad,
    emp_op_infer_batch_norm, emp_op_infer_batch_norm_v3, emp_op_infer_batch_norm_grad,
    emp_op_infer_bias_add_grad, emp_op_infer_cross_entropy, emp_op_infer_resize,
    emp_op_infer_resize_nearest, emp_op_infer_resize_grad;

/* layers/op_transformer.c: attention, norms, experts, products with weights */
emp_op_infer emp_op_infer_attention, emp_op_infer_attention_grad, emp_op_infer_norm_grad,
    emp_op_infer_linear, emp_op_infer_route, emp_op_infer_route_grad,
    emp_op_infer_experts, emp_op_infer_experts_grad, emp_op_infer_combine,
    emp_op_infer_nll_loss, emp_op_infer_combine_grad, emp_op_infer_sample_token,
    emp_op_infer_mul_grad;

/* Causal convolutions, the gated delta rule, Mamba-2 */
emp_op_infer emp_op_infer_causal_convolution, emp_op_infer_scan;

/* The choice of keys, attention to some of them, compressed keys */
emp_op_infer emp_op_infer_select_keys, emp_op_infer_select_keys_grad,
    emp_op_infer_sparse_attention_grad, emp_op_infer_compress_keys;

/* Residual connections of several streams, products in groups */
emp_op_infer emp_op_infer_stream_weights, emp_op_infer_collapse_streams,
    emp_op_infer_grouped_linear;

/* layers/op_layers.c: layers of any rank, channels first; ops whose importer states the shape */
emp_op_infer emp_op_infer_conv_nd, emp_op_infer_pool_nd, emp_op_infer_like_operands,
    emp_op_infer_recurrent, emp_op_infer_select_v2, emp_op_infer_broadcast_to,
    emp_op_infer_partial_sort, emp_op_infer_quantize, emp_op_infer_dynamic_quantize,
    emp_op_infer_like_second, emp_op_infer_batch_product;

/* The costs of ops, in the file that infers their types. */
typedef void  emp_op_charge(const emp_op_view *op, emp_op_cost *cost);
emp_op_charge emp_op_cost_free_, emp_op_cost_host, emp_op_cost_elementwise,
    emp_op_cost_cast, emp_op_cost_add_n, emp_op_cost_fill, emp_op_cost_reduce,
    emp_op_cost_full_reduce, emp_op_cost_einsum, emp_op_cost_mat_mul,
    emp_op_cost_batch_mat_mul, emp_op_cost_conv2d, emp_op_cost_conv2d_input,
    emp_op_cost_conv2d_filter, emp_op_cost_depthwise, emp_op_cost_depthwise_input,
    emp_op_cost_depthwise_filter, emp_op_cost_max_pool, emp_op_cost_max_pool_grad,
    emp_op_cost_avg_pool, emp_op_cost_avg_pool_grad, emp_op_cost_conv_nd,
    emp_op_cost_conv_nd_input, emp_op_cost_conv_nd_filter, emp_op_cost_conv_nd_transposed,
    emp_op_cost_pool_nd, emp_op_cost_pool_nd_grad, emp_op_cost_recurrent,
    emp_op_cost_recurrent_grad, emp_op_cost_batch_norm, emp_op_cost_batch_norm_grad,
    emp_op_cost_softmax, emp_op_cost_cross_entropy, emp_op_cost_movement, emp_op_cost_pad,
    emp_op_cost_concat, emp_op_cost_split, emp_op_cost_unpack, emp_op_cost_slice,
    emp_op_cost_strided_slice, emp_op_cost_transpose, emp_op_cost_gather,
    emp_op_cost_segment, emp_op_cost_optimizer, emp_op_cost_sparse_optimizer,
    emp_op_cost_scatter, emp_op_cost_linear, emp_op_cost_attention,
    emp_op_cost_attention_grad, emp_op_cost_norm, emp_op_cost_route, emp_op_cost_experts,
    emp_op_cost_experts_grad, emp_op_cost_combine, emp_op_cost_nll_loss,
    emp_op_cost_mul_grad, emp_op_cost_norm_steps_grad, emp_op_cost_nll_loss_grad,
    emp_op_cost_mixed_optimizer, emp_op_cost_host_adam, emp_op_cost_sample_top_p,
    emp_op_cost_causal_convolution, emp_op_cost_causal_convolution_grad,
    emp_op_cost_delta_rule, emp_op_cost_delta_rule_grad, emp_op_cost_state_space,
    emp_op_cost_state_space_grad, emp_op_cost_lightning, emp_op_cost_selective_scan,
    emp_op_cost_selective_scan_grad, emp_op_cost_predict_streams, emp_op_cost_select_keys,
    emp_op_cost_select_keys_grad, emp_op_cost_sparse_attention,
    emp_op_cost_sparse_attention_grad, emp_op_cost_compressed_attention,
    emp_op_cost_compressed_attention_grad, emp_op_cost_compress_keys,
    emp_op_cost_compress_keys_grad, emp_op_cost_stream_weights,
    emp_op_cost_stream_weights_grad, emp_op_cost_collapse_streams,
    emp_op_cost_expand_streams, emp_op_cost_mix_blocks, emp_op_cost_grouped_linear,
    emp_op_cost_grouped_linear_grad;

/* Costs of PyTorch's ops, which take their operands in another order than TensorFlow's. */
emp_op_charge emp_op_cost_product, emp_op_cost_biased_product, emp_op_cost_convolution,
    emp_op_cost_convolution_grad, emp_op_cost_window, emp_op_cost_sdpa,
    emp_op_cost_sdpa_grad, emp_op_cost_rnn, emp_op_cost_normalize, emp_op_cost_gathered,
    emp_op_cost_bag, emp_op_cost_write_rows, emp_op_cost_copied, emp_op_cost_list;

/** Eigen's cost of moving one byte to or from memory, in CPU cycles (TensorCostModel). */
#define EMP_CYCLES_PER_BYTE (11.0 / 64.0)

/** Bytes of a tensor; 0 for elements without a fixed size. Saturates. */
int64_t emp_info_bytes(const emp_tensor_info *info);
/** Bytes of all inputs, and of all outputs. */
int64_t emp_view_input_bytes(const emp_op_view *op);
int64_t emp_view_output_bytes(const emp_op_view *op);

/** T if the attributes give it, else the element type of that input. */
emp_dtype emp_view_dtype(const emp_op_view *op, int32_t input);

/** Fills \a cost for an op that reads all inputs once and writes all outputs: FLOPs,
 * cycles and kernels by the type's rates for so many \a elements. */
void emp_view_cost(const emp_op_view *op, emp_op_class op_class, double elements,
                   emp_op_cost *cost);

/** Charges the unpacking of quantised weights, of which a product reads so many \a bytes. 8-bit floats multiply
 * as they are. */
void emp_cost_store_weights(const emp_tensor_info *w, int64_t bytes, emp_op_cost *cost);

/** Fills \a cost from known inputs and outputs, by the work of the op's type. */
void emp_op_cost_of(const emp_op_view *op, emp_op_cost *cost);

/** Room for the value of an output, or NULL when it is too long or none is wanted. */
int64_t *emp_view_new_value(const emp_op_view *op, int64_t count);

/** Sets the shape and type of an output, without a value. Always EMP_OK. */
emp_status emp_set_output(emp_tensor_info *output, emp_shape shape, emp_dtype dtype);

/** The shape that an integer vector spells out: exact when its value is known, of known
 * rank when only its length is. */
emp_shape emp_shape_from_vector(const emp_tensor_info *vector);

/** The common shape of two operands. \retval EMP_EFORMAT  They do not fit. */
emp_status emp_shape_broadcast(const emp_shape *a, const emp_shape *b, emp_shape *out,
                               emp_error *err);

/** Positions of a window of so many elements along a dim of that size, by the padding, strides and dilations of place
 * \a d; -1 = unknown. */
int64_t emp_window_positions(const emp_op_attrs *a, int32_t d, int64_t size,
                             int64_t window);

/** Maps a possibly negative axis to 0 .. rank-1, or -1 when it is outside. */
int32_t emp_axis_normalize(int64_t axis, int32_t rank);

#endif /* EMP_SIM_GRAPH_OP_ENTRY_H */

// SPDX-License-Identifier: GPL-3.0-or-later
// PyTorch's ops: families that cost alike, each with the names that are in it.
//
// Sources: PyTorch's native_functions.yaml (operands, views) and its CUDA kernels (passes over
// the data, kernels of one call). Cycles are as of the same arithmetic in op_table.c. Every
// element type has kernels on a GPU.
#include <string.h>

#include "sim/graph/graph.h"
#include "sim/graph/op_entry.h"

#define ANY (EMP_KIND_CPU | EMP_KIND_GPU)

/* Columns; those left out are 0. */
#define FLAGS(flag_bits) .flags = (flag_bits)
#define TAKES(count)     .min_inputs = (count)
#define REFS(count)      .ref_inputs = (count)
#define RATE(per_element, cycles_per_element) \
    .rates = {.flops = (per_element), .cycles = (cycles_per_element)}
#define PASSES(per_element, cycles_per_element, count, read, written) \
    .rates = {.flops = (per_element),                                 \
              .cycles = (cycles_per_element),                         \
              .kernels = (count),                                     \
              .reads = (read),                                        \
              .writes = (written)}
#define WORK(kind, charge) \
    .work = EMP_WORK_##kind, .cost = emp_op_cost_##charge, .infer = emp_op_infer_same
#define PART(direction) .part = EMP_PART_##direction
#define VIEW            EMP_OP_ALIASES_INPUT
#define LAYER           EMP_OP_LAYER

/* Names of ATen go without "aten."; names of other libraries, and XLA's opcodes, are whole. */
typedef struct {
    emp_op_type type;
    const char *names; /* words with one blank between them */
} family;

/* clang-format off */
static const family families[] = {
    /* ---- what a step finds when it begins ---- */
    {{"parameter", FLAGS(EMP_OP_STATEFUL | EMP_OP_IS_VARIABLE), .kinds = ANY, WORK(NOTHING, free_)},
     "torch.parameter"},
    {{"buffer", FLAGS(EMP_OP_STATEFUL | EMP_OP_IS_VARIABLE | EMP_OP_IS_STATE), .kinds = ANY, WORK(NOTHING, free_)}, "torch.buffer torch.optimizer_state hlo.state"},
    {{"input", FLAGS(EMP_OP_STATEFUL | EMP_OP_FEED), .kinds = ANY, WORK(NOTHING, free_)}, "torch.input hlo.infeed"},
    {{"argument", FLAGS(EMP_OP_STATEFUL | EMP_OP_FEED | EMP_OP_IS_VARIABLE | EMP_OP_IS_STATE), .kinds = ANY, WORK(NOTHING, free_)}, "hlo.parameter"},

    /* ---- no kernel ---- */
    {{"view", FLAGS(VIEW), .kinds = ANY, TAKES(1), WORK(NOTHING, free_)},
     "view reshape _unsafe_view _reshape_alias view_as reshape_as expand expand_as broadcast_to broadcast_tensors t numpy_T "
     "mT mH T H adjoint matrix_H transpose permute swapaxes swapdims movedim moveaxis detach alias data slice select squeeze "
     "unsqueeze as_strided unfold diagonal narrow narrow_tensor split split_with_sizes chunk unbind tensor_split hsplit vsplit "
     "dsplit unsafe_split unsafe_chunk unsafe_split_with_sizes flatten unflatten ravel view_as_real view_as_complex real imag "
     "conj _conj _neg_view resolve_conj resolve_neg lift lift_fresh positive atleast_1d atleast_2d atleast_3d meshgrid set_ "
     "requires_grad_ resize_ resize_as_ _fw_primal _make_dual _unpack_dual refine_names rename align_to is_set_to "
     "retain_grad prims.broadcast_in_dim prims.collapse_view prims.split_dim prims.squeeze prims.transpose prims.view_of "
     "prims.view_element_type prims.slice prims.as_strided prims.conj _c10d_functional.wait_tensor "
     "c10d_functional.wait_tensor _c10d_functional_autograd.wait_tensor inductor.resize_storage_bytes_"},
    {{"size", .kinds = ANY, WORK(NOTHING, free_)},
     "empty empty_like empty_strided empty_permuted new_empty new_empty_strided _efficientzerotensor size stride numel dim "
     "sym_size sym_stride sym_numel sym_storage_offset storage_offset _assert_async _assert_scalar _functional_assert_async "
     "_functional_assert_scalar _assert_tensor_metadata sym_constrain_range sym_constrain_range_for_size "
     "_functional_sym_constrain_range _functional_sym_constrain_range_for_size sym_is_contiguous is_same_size "
     "_has_same_storage_numel _has_compatible_shallow_copy_type is_contiguous is_floating_point is_complex is_pinned is_neg "
     "is_conj is_inference record_stream promote_types result_type can_cast _version _debug_has_internal_overlap "
     "_resize_output _use_cudnn_ctc_loss cudnn_is_acceptable _cudnn_init_dropout_state _propagate_xla_data "
     "_make_dep_token prims.device_put_meta prims.empty prims.empty_strided profiler._record_function_enter "
     "profiler._record_function_enter_new profiler._record_function_exit _pin_memory is_coalesced _nnz"},

    /* ---- XLA's, whose cost is stated: kernels of many ops, calls of libraries; values known before a step ---- */
    {{"fusion", .kinds = ANY, WORK(ELEMENTWISE, elementwise)}, "hlo.fusion hlo.custom-call"},
    {{"constant", FLAGS(EMP_OP_IS_CONST), .kinds = ANY, WORK(NOTHING, free_)}, "hlo.constant"},

    /* ---- the host waits for the value ---- */
    {{"item", .kinds = EMP_KIND_CPU, TAKES(1), RATE(0, 1), WORK(HOST, host)},
     "item _local_scalar_dense is_nonzero Bool Float Int _to_cpu pin_memory"},

    /* ---- element by element ---- */
    {{"add", .kinds = ANY, TAKES(1), RATE(1, 1), WORK(ELEMENTWISE, elementwise)},
     "add sub subtract rsub mul multiply neg negative abs absolute ceil floor round trunc fix frac sign sgn signbit maximum "
     "minimum fmax fmin clamp clamp_min clamp_max clip eq ne lt le gt ge greater greater_equal less less_equal not_equal "
     "logical_and logical_or logical_not logical_xor bitwise_and bitwise_or bitwise_not bitwise_xor bitwise_left_shift "
     "bitwise_right_shift __and__ __or__ __xor__ __lshift__ __rshift__ where isnan isinf isfinite isneginf isposinf isreal "
     "isclose isin relu relu6 threshold hardtanh hardshrink softshrink heaviside nan_to_num masked_fill square copysign "
     "nextafter deg2rad rad2deg conj_physical _conj_physical prelu _prelu_kernel leaky_relu rrelu hardsigmoid hardswish "
     "tril triu complex outer ger vander ldexp _saturate_weight_to_fp16 _masked_scale threshold_backward "
     "relu_backward hardtanh_backward hardshrink_backward softshrink_backward masked_fill_backward dequantize int_repr "
     "_amp_update_scale _test_optional_floatlist add_relu _add_relu sum_to_size_backward bernoulli_backward "
     "prims.add prims.sub prims.mul prims.neg prims.abs prims.maximum prims.minimum prims.eq prims.ne prims.lt prims.le "
     "prims.gt prims.ge prims.where prims.ceil prims.floor prims.round prims.trunc prims.sign prims.signbit prims.isfinite "
     "prims.bitwise_and prims.bitwise_or prims.bitwise_not prims.bitwise_xor "
     "hlo.add hlo.subtract hlo.multiply hlo.negate hlo.abs hlo.ceil hlo.floor hlo.round-nearest-afz hlo.round-nearest-even "
     "hlo.sign hlo.maximum hlo.minimum hlo.clamp hlo.compare hlo.select hlo.and hlo.or hlo.not hlo.xor hlo.shift-left "
     "hlo.shift-right-arithmetic hlo.shift-right-logical hlo.is-finite hlo.real hlo.imag hlo.complex hlo.popcnt "
     "hlo.count-leading-zeros hlo.reduce-precision hlo.map"},
    {{"fused", .kinds = ANY, RATE(1, 1), WORK(ELEMENTWISE, elementwise)}, "triton.fused"},
    {{"addcmul", .kinds = ANY, TAKES(1), RATE(3, 3), WORK(ELEMENTWISE, elementwise)},
     "addcmul lerp addr cross linalg_cross kron glu mse_loss_backward l1_loss_backward smooth_l1_loss_backward huber_loss_backward sigmoid_backward "
     "tanh_backward leaky_relu_backward hardsigmoid_backward hardswish_backward prelu_backward _prelu_kernel_backward "
     "rrelu_with_noise_backward glu_backward native_dropout_backward cumprod_backward fake_quantize_per_tensor_affine "
     "fake_quantize_per_channel_affine fake_quantize_per_tensor_affine_cachemask fake_quantize_per_channel_affine_cachemask "
     "fake_quantize_per_tensor_affine_cachemask_backward fake_quantize_per_channel_affine_cachemask_backward "
     "quantize_per_tensor quantize_per_channel _amp_foreach_non_finite_check_and_unscale batch_norm_elemt prims.fma "
     "quantized_decomposed.quantize_per_tensor quantized_decomposed.quantize_per_channel "
     "quantized_decomposed.quantize_per_token quantized_decomposed.dequantize_per_tensor "
     "quantized_decomposed.dequantize_per_channel quantized_decomposed.dequantize_per_token"},
    {{"div", .kinds = ANY, TAKES(1), RATE(1, 14), WORK(ELEMENTWISE, elementwise)},
     "div divide true_divide floor_divide reciprocal sqrt rsqrt remainder fmod hypot gcd lcm prims.div prims.sqrt "
     "prims.rsqrt prims.reciprocal prims.remainder prims.fmod hlo.divide hlo.remainder hlo.sqrt hlo.rsqrt"},
    {{"addcdiv", .kinds = ANY, TAKES(1), RATE(3, 15), WORK(ELEMENTWISE, elementwise)}, "addcdiv"},
    {{"exp", .kinds = ANY, TAKES(1), RATE(1, 25), WORK(ELEMENTWISE, elementwise)},
     "exp exp2 expm1 log log2 log10 log1p sin cos tan asin acos atan arcsin arccos arctan sinh cosh asinh acosh atanh arcsinh "
     "arccosh arctanh tanh sigmoid logit erf erfc erfinv pow float_power atan2 arctan2 xlogy logaddexp logaddexp2 digamma "
     "lgamma mvlgamma polygamma i0 sinc polar angle igamma igammac frexp special_digamma special_entr special_erf "
     "special_erfc special_erfcx special_erfinv special_exp2 special_expit special_expm1 special_gammaln special_i0 "
     "special_i0e special_i1 special_i1e special_log1p special_log_ndtr special_logit special_ndtr special_ndtri "
     "special_polygamma special_psi special_sinc special_xlog1py special_xlogy special_zeta prims.exp prims.log prims.sin "
     "prims.cos prims.tanh prims.pow prims.erf prims.log1p prims.expm1 prims.exp2 prims.log2 "
     "hlo.exponential hlo.exponential-minus-one hlo.log hlo.log-plus-one hlo.logistic hlo.sine hlo.cosine hlo.tan hlo.tanh "
     "hlo.atan2 hlo.power hlo.cbrt hlo.erf hlo.acos hlo.acosh hlo.asin hlo.asinh hlo.atanh hlo.cosh hlo.sinh"},
    {{"gelu", .kinds = ANY, TAKES(1), RATE(8, 40), WORK(ELEMENTWISE, elementwise)},
     "gelu silu mish elu selu celu softplus log_sigmoid log_sigmoid_forward gelu_backward silu_backward mish_backward "
     "elu_backward softplus_backward log_sigmoid_backward logit_backward infinitely_differentiable_gelu_backward "
     "binary_cross_entropy_backward soft_margin_loss_backward"},
    {{"_thnn_fused_lstm_cell", .kinds = ANY, TAKES(2), RATE(10, 80), WORK(ELEMENTWISE, elementwise)},
     "_thnn_fused_lstm_cell _thnn_fused_gru_cell _thnn_fused_lstm_cell_backward _thnn_fused_lstm_cell_backward_impl "
     "_thnn_fused_gru_cell_backward _thnn_differentiable_lstm_cell_backward _thnn_differentiable_gru_cell_backward"},
    {{"upsample", .kinds = ANY, TAKES(1), RATE(8, 8), WORK(ELEMENTWISE, elementwise)},
     "upsample_nearest1d upsample_nearest2d upsample_nearest3d upsample_linear1d upsample_bilinear2d upsample_trilinear3d "
     "_upsample_nearest_exact1d _upsample_nearest_exact2d _upsample_nearest_exact3d _upsample_bilinear2d_aa "
     "upsample_nearest1d_backward upsample_nearest2d_backward upsample_nearest3d_backward upsample_linear1d_backward "
     "upsample_bilinear2d_backward upsample_trilinear3d_backward _upsample_nearest_exact1d_backward "
     "_upsample_nearest_exact2d_backward _upsample_nearest_exact3d_backward _upsample_bilinear2d_aa_backward "
     "affine_grid_generator affine_grid_generator_backward cudnn_affine_grid_generator"},
    {{"grid_sampler", .kinds = ANY, TAKES(1), RATE(32, 32), WORK(ELEMENTWISE, elementwise)},
     "upsample_bicubic2d upsample_bicubic2d_backward _upsample_bicubic2d_aa _upsample_bicubic2d_aa_backward grid_sampler "
     "grid_sampler_2d grid_sampler_3d grid_sampler_2d_backward grid_sampler_3d_backward cudnn_grid_sampler "
     "cudnn_grid_sampler_backward torchvision.roi_align torchvision._roi_align_backward torchvision.roi_pool "
     "torchvision.deform_conv2d"},
    {{"_to_copy", FLAGS(EMP_OP_MAY_ALIAS), .kinds = ANY, TAKES(1), RATE(1, 1), WORK(CAST, cast)},
     "_to_copy to type_as _cast_Float _cast_Half _cast_Double _cast_Long _cast_Int _cast_Byte _cast_Char _cast_Short cpu cuda "
     "chalf _autocast_to_reduced_precision _autocast_to_full_precision prims.convert_element_type prims.device_put "
     "prims._convert_element_type hlo.convert hlo.stochastic-convert hlo.bitcast-convert"},

    /* ---- values from nothing ---- */
    {{"full", .kinds = ANY, WORK(FILL, fill)},
     "zeros zeros_like new_zeros _new_zeros_with_same_feature_meta ones ones_like new_ones full full_like new_full fill zero "
     "arange range linspace logspace eye scalar_tensor tensor one_hot tril_indices triu_indices hann_window hamming_window "
     "blackman_window bartlett_window kaiser_window fft_fftfreq fft_rfftfreq fill_diagonal nll_loss_backward "
     "nll_loss2d_backward value_selecting_reduction_backward prims.iota prims.full prims.full_like prims.scalar_tensor "
     "prims.fill _lazy_clone_zeros hlo.iota hlo.broadcast"},
    {{"rand", .kinds = ANY, RATE(1, 60), WORK(RANDOM, fill)},
     "rand rand_like randn randn_like randint randint_like randperm uniform normal normal_functional log_normal random "
     "bernoulli exponential geometric cauchy poisson binomial _standard_gamma _sample_dirichlet _dirichlet_grad prims.normal "
     "prims._uniform_helper prims.inductor_random prims.inductor_seed prims.inductor_seeds prims.inductor_randint "
     "prims.inductor_lookup_seed inductor.random hlo.rng hlo.rng-bit-generator hlo.rng-get-and-update-state"},
    {{"native_dropout", .kinds = ANY, TAKES(1), RATE(2, 30), WORK(ELEMENTWISE, elementwise)},
     "dropout native_dropout alpha_dropout feature_dropout feature_alpha_dropout _fused_dropout rrelu_with_noise"},

    /* ---- data moved ---- */
    {{"copy", .kinds = ANY, TAKES(1), WORK(MOVE, copied)}, "copy"},
    {{"clone", .kinds = ANY, TAKES(1), WORK(MOVE, movement)},
     "clone contiguous _copy_from cat concat concatenate stack _stack hstack vstack dstack column_stack row_stack "
     "block_diag cartesian_prod combinations flip fliplr flipud roll rot90 repeat tile repeat_interleave pad constant_pad_nd "
     "reflection_pad1d reflection_pad2d reflection_pad3d replication_pad1d replication_pad2d replication_pad3d _pad_circular "
     "_pad_enum reflection_pad1d_backward reflection_pad2d_backward reflection_pad3d_backward replication_pad1d_backward "
     "replication_pad2d_backward replication_pad3d_backward pixel_shuffle pixel_unshuffle channel_shuffle "
     "native_channel_shuffle im2col col2im unfold_backward slice_backward select_backward diagonal_backward "
     "fft_fftshift fft_ifftshift as_strided_scatter slice_scatter select_scatter diagonal_scatter diag diag_embed diagflat diag_backward "
     "trace_backward index_fill lift_fresh_copy pad_sequence _pack_padded_sequence _pad_packed_sequence "
     "_pack_padded_sequence_backward _chunk_cat _cudnn_rnn_flatten_weight _transform_bias_rescale_qkv prims.clone prims.cat "
     "prims.copy_to prims.copy_strided prims.rev prims.resize prims.collapse flatten_dense_tensors inductor._reinterpret "
     "hlo.copy hlo.transpose hlo.concatenate hlo.pad hlo.reverse hlo.outfeed"},
    {{"embedding", FLAGS(EMP_OP_LOOKUP), .kinds = ANY, TAKES(2), REFS(1), WORK(LOOKUP, gather)}, "embedding embedding_renorm"},
    {{"index", .kinds = ANY, TAKES(1), WORK(GATHER, gathered)},
     "index _unsafe_index _unsafe_masked_index gather index_select take take_along_dim masked_select nll_loss_forward nll_loss "
     "nll_loss2d nll_loss2d_forward nll_loss_nd hlo.gather hlo.slice hlo.dynamic-slice"},
    {{"embedding_bag", FLAGS(EMP_OP_LOOKUP), .kinds = ANY, TAKES(2), REFS(1), WORK(LOOKUP, bag)},
     "embedding_bag _embedding_bag _embedding_bag_forward_only fbgemm.split_embedding_codegen_lookup_function"},
    {{"embedding_dense_backward", .kinds = ANY, TAKES(2), WORK(SCATTER, segment)},
     "embedding_dense_backward embedding_backward _embedding_bag_dense_backward _embedding_bag_backward gather_backward "
     "index_select_backward masked_select_backward segment_reduce _segment_reduce_backward "
     "_embedding_bag_per_sample_weights_backward"},
    {{"index_put", .kinds = ANY, TAKES(1), WORK(SCATTER, write_rows)},
     "index_put _index_put_impl _unsafe_index_put _unsafe_masked_index_put_accumulate index_add index_copy index_reduce "
     "scatter scatter_add scatter_reduce put masked_scatter masked_scatter_backward hlo.scatter hlo.dynamic-update-slice"},
    {{"sort", FLAGS(EMP_OP_LIBRARY), .kinds = ANY, TAKES(1), PASSES(1, 50, 4, 4, 2), WORK(NORM, normalize)},
     "sort argsort msort topk kthvalue median nanmedian quantile nanquantile mode searchsorted bucketize histc bincount "
     "multinomial torchvision.nms hlo.sort hlo.topk"},
    {{"nonzero", FLAGS(EMP_OP_DYNAMIC_SHAPE), .kinds = ANY, TAKES(1), PASSES(1, 5, 3, 2, 1), WORK(NORM, normalize)},
     "nonzero nonzero_numpy argwhere nonzero_static _unique _unique2 unique_dim unique_consecutive unique_dim_consecutive"},

    /* ---- sums and scans ---- */
    {{"sum", .kinds = ANY, TAKES(1), RATE(1, 1), WORK(REDUCE, full_reduce)},
     "sum nansum mean nanmean prod max min amax amin aminmax _aminmax any all argmax argmin norm linalg_vector_norm linalg_norm "
     "linalg_matrix_norm frobenius_norm norm_except_dim count_nonzero sum_to_size _grad_sum_to_size trace cov corrcoef "
     "equal allclose prims.sum prims.prod prims.amax prims.amin prims.xor_sum hlo.reduce"},
    {{"var", .kinds = ANY, TAKES(1), PASSES(4, 4, 1, 1, 1), WORK(NORM, normalize)},
     "var std var_mean std_mean prims.var batch_norm_stats batch_norm_update_stats batch_norm_gather_stats_with_counts "
     "batch_norm_backward_reduce batch_norm_backward_elemt"},
    {{"logsumexp", .kinds = ANY, TAKES(1), PASSES(3, 30, 2, 2, 1), WORK(NORM, normalize)}, "logsumexp special_logsumexp"},
    {{"cumsum", .kinds = ANY, TAKES(1), PASSES(1, 1, 1, 1, 1), WORK(NORM, normalize)},
     "cumsum cumprod logcumsumexp cummax cummin _cummax_helper _cummin_helper _logcumsumexp diff"},
    {{"_fft_r2c", FLAGS(EMP_OP_LIBRARY), .kinds = ANY, TAKES(1), PASSES(40, 40, 2, 2, 2), WORK(NORM, normalize)},
     "_fft_r2c _fft_c2r _fft_c2c fft_fft fft_ifft fft_rfft fft_irfft fft_fft2 fft_ifft2 fft_rfft2 fft_irfft2 fft_fftn fft_ifftn "
     "fft_rfftn fft_irfftn stft istft hlo.fft"},

    /* ---- losses ---- */
    {{"mse_loss", .kinds = ANY, TAKES(1), PASSES(3, 3, 1, 1, 1), WORK(NORM, normalize)},
     "mse_loss l1_loss smooth_l1_loss huber_loss soft_margin_loss margin_ranking_loss hinge_embedding_loss "
     "triplet_margin_loss pairwise_distance cosine_similarity cosine_embedding_loss dist"},
    {{"binary_cross_entropy", .kinds = ANY, TAKES(1), PASSES(8, 50, 1, 1, 1), WORK(NORM, normalize)},
     "binary_cross_entropy binary_cross_entropy_with_logits kl_div poisson_nll_loss"},
    {{"cross_entropy_loss", .kinds = ANY, TAKES(1), PASSES(7, 35, 2, 3, 2), WORK(NORM, normalize)},
     "cross_entropy_loss ctc_loss _ctc_loss _ctc_loss_backward _cudnn_ctc_loss"},

    /* ---- normalisation ---- */
    {{"_softmax", .kinds = ANY, TAKES(1), PASSES(5, 18, 1, 2, 1), WORK(NORM, normalize)},
     "softmax _softmax log_softmax _log_softmax _safe_softmax _masked_softmax special_softmax special_log_softmax "
     "_softmax_backward_data _log_softmax_backward_data _masked_softmax_backward prims._softmax"},
    {{"native_layer_norm", .kinds = ANY, TAKES(1), PASSES(7, 9, 1, 2, 1), WORK(NORM, normalize)},
     "layer_norm native_layer_norm group_norm native_group_norm instance_norm rms_norm _fused_rms_norm _weight_norm "
     "_weight_norm_interface _nested_tensor_layer_norm renorm local_response_norm"},
    {{"native_layer_norm_backward", .kinds = ANY, TAKES(2), PASSES(14, 16, 3, 3, 1), WORK(NORM, normalize)},
     "native_layer_norm_backward native_group_norm_backward _fused_rms_norm_backward _weight_norm_interface_backward"},
    {{"native_batch_norm", .kinds = ANY, TAKES(1), PASSES(4, 9, 1, 2, 1), WORK(NORM, normalize)},
     "batch_norm native_batch_norm cudnn_batch_norm miopen_batch_norm _batch_norm_impl_index _native_batch_norm_legit "
     "_native_batch_norm_legit_functional _native_batch_norm_legit_no_training _batch_norm_with_update "
     "_batch_norm_with_update_functional _batch_norm_no_update hlo.batch-norm-training"},
    {{"batch_norm_inference", .kinds = ANY, TAKES(1), PASSES(2, 9, 1, 1, 1), WORK(NORM, normalize)}, "hlo.batch-norm-inference"},
    {{"native_batch_norm_backward", .kinds = ANY, TAKES(2), PASSES(11, 16, 1, 2, 1), WORK(NORM, normalize)},
     "native_batch_norm_backward cudnn_batch_norm_backward miopen_batch_norm_backward batch_norm_backward "
     "_batch_norm_impl_index_backward hlo.batch-norm-grad"},

    /* ---- pools ---- */
    {{"max_pool2d", FLAGS(LAYER), .kinds = ANY, TAKES(1), RATE(0, 0), WORK(POOL, window)},
     "max_pool1d max_pool2d max_pool3d max_pool1d_with_indices max_pool2d_with_indices max_pool3d_with_indices "
     "_low_memory_max_pool2d_with_offsets _low_memory_max_pool_with_offsets avg_pool1d avg_pool2d avg_pool3d "
     "adaptive_avg_pool1d adaptive_avg_pool2d adaptive_avg_pool3d _adaptive_avg_pool2d _adaptive_avg_pool3d "
     "adaptive_max_pool1d adaptive_max_pool2d adaptive_max_pool3d fractional_max_pool2d fractional_max_pool3d lp_pool2d "
     "max_unpool2d max_unpool3d prims._low_memory_max_pool2d_with_offsets prims._low_memory_max_pool_with_offsets "
     "hlo.reduce-window"},
    {{"max_pool2d_with_indices_backward", FLAGS(LAYER), .kinds = ANY, TAKES(1), RATE(1, 1), WORK(POOL, window)},
     "max_pool2d_with_indices_backward max_pool3d_with_indices_backward avg_pool2d_backward avg_pool3d_backward "
     "_adaptive_avg_pool2d_backward _adaptive_avg_pool3d_backward adaptive_avg_pool3d_backward "
     "adaptive_max_pool2d_backward adaptive_max_pool3d_backward fractional_max_pool2d_backward "
     "fractional_max_pool3d_backward prims._low_memory_max_pool2d_offsets_to_indices "
     "prims._low_memory_max_pool_offsets_to_indices "
     "hlo.select-and-scatter"},

    /* ---- products ---- */
    {{"mm", .kinds = ANY, TAKES(2), WORK(PRODUCT, product)},
     "mm bmm matmul linear dot vdot inner mv linalg_matmul linalg_vecdot einsum tensordot _int_mm _scaled_mm _scaled_mm_v2 "
     "_grouped_mm _scaled_grouped_mm _weight_int4pack_mm _weight_int8pack_mm _weight_int4pack_mm_with_scales_and_zeros "
     "_dyn_quant_matmul_4bit _sparse_semi_structured_linear _sparse_semi_structured_mm _mixed_dtypes_linear mkldnn_linear "
     "_linear_prepack mkldnn._linear_pointwise mkl._mkl_linear quantized.linear quantized.linear_relu "
     "fbgemm_linear_fp16_weight fbgemm_linear_int8_weight torchao.int_scaled_matmul "
     "hlo.dot hlo.ragged-dot hlo.scaled-dot"},
    {{"addmm", .kinds = ANY, TAKES(3), WORK(PRODUCT, biased_product)},
     "addmm addmv addbmm baddbmm _addmm_activation _sparse_semi_structured_addmm"},
    {{"convolution", FLAGS(LAYER), .kinds = ANY, TAKES(2), WORK(CONVOLUTION, convolution)},
     "convolution _convolution _convolution_mode convolution_overrideable conv1d conv2d conv3d conv_transpose1d conv_transpose2d "
     "conv_transpose3d conv_depthwise3d _conv_depthwise2d thnn_conv2d _slow_conv2d_forward slow_conv3d slow_conv3d_forward "
     "slow_conv_dilated2d slow_conv_dilated3d slow_conv_transpose2d slow_conv_transpose3d cudnn_convolution "
     "cudnn_convolution_relu cudnn_convolution_add_relu cudnn_convolution_transpose miopen_convolution "
     "miopen_convolution_relu miopen_convolution_add_relu miopen_convolution_transpose miopen_depthwise_convolution "
     "mkldnn_convolution mkldnn._convolution_pointwise mps_convolution _mps_convolution _mps_convolution_transpose "
     "_nnpack_spatial_convolution quantized.conv2d quantized.conv2d_relu "
     "hlo.convolution"},
    {{"convolution_backward", FLAGS(LAYER), .kinds = ANY, TAKES(3), WORK(CONVOLUTION, convolution_grad), PART(BOTH)},
     "convolution_backward convolution_backward_overrideable _slow_conv2d_backward mps_convolution_backward"},
    {{"scaled_dot_product_attention", FLAGS(LAYER), .kinds = ANY, TAKES(3), WORK(ATTENTION, sdpa)},
     "scaled_dot_product_attention _scaled_dot_product_attention _scaled_dot_product_attention_math "
     "_scaled_dot_product_attention_math_for_mps _scaled_dot_product_flash_attention "
     "_scaled_dot_product_flash_attention_for_cpu _scaled_dot_product_efficient_attention "
     "_scaled_dot_product_cudnn_attention _scaled_dot_product_fused_attention_overrideable _flash_scaled_dot_product_attention "
     "_flash_attention_forward _efficient_attention_forward _cudnn_attention_forward higher_order.flex_attention "
     "flex_attention flash_attn._flash_attn_forward flash_attn._flash_attn_varlen_forward flash_attn_3.fwd "
     "flash_attn_3._flash_attn_forward xformers.efficient_attention_forward_cutlass"},
    {{"scaled_dot_product_attention_backward", FLAGS(LAYER), .kinds = ANY, TAKES(4), WORK(ATTENTION, sdpa_grad), PART(BOTH)},
     "_scaled_dot_product_flash_attention_backward _scaled_dot_product_flash_attention_for_cpu_backward "
     "_scaled_dot_product_efficient_attention_backward _scaled_dot_product_cudnn_attention_backward "
     "_scaled_dot_product_fused_attention_overrideable_backward _flash_attention_backward _efficient_attention_backward "
     "_cudnn_attention_backward flash_attn._flash_attn_backward flash_attn._flash_attn_varlen_backward "
     "xformers.efficient_attention_backward_cutlass"},
    {{"lstm", FLAGS(LAYER), .kinds = ANY, TAKES(2), RATE(1, 0), WORK(RECURRENT, rnn)},
     "lstm gru rnn_tanh rnn_relu lstm_cell gru_cell rnn_tanh_cell rnn_relu_cell _cudnn_rnn miopen_rnn mkldnn_rnn_layer _lstm_mps"},
    {{"_cudnn_rnn_backward", FLAGS(LAYER), .kinds = ANY, TAKES(2), RATE(2, 0), WORK(RECURRENT, rnn)},
     "_cudnn_rnn_backward miopen_rnn_backward mkldnn_rnn_layer_backward lstm_mps_backward"},

    /* ---- lists of tensors, optimizers ---- */
    {{"_foreach_add", FLAGS(EMP_OP_TAKES_LISTS), .kinds = ANY, TAKES(1), PASSES(1, 1, 0, 1, 1), WORK(ELEMENTWISE, list)},
     "_foreach_add _foreach_sub _foreach_mul _foreach_neg _foreach_abs _foreach_maximum "
     "_foreach_minimum _foreach_clamp_min _foreach_clamp_max _foreach_sign _foreach_ceil _foreach_floor _foreach_round "
     "_foreach_trunc _foreach_frac _foreach_max _foreach_clone"},
    {{"_foreach_copy", FLAGS(EMP_OP_TAKES_LISTS), .kinds = ANY, TAKES(1), PASSES(0, 1, 0, 0, 1), WORK(MOVE, list)},
     "_foreach_copy _foreach_zero"},
    {{"_foreach_lerp", FLAGS(EMP_OP_TAKES_LISTS), .kinds = ANY, TAKES(1), PASSES(3, 3, 0, 1, 1), WORK(ELEMENTWISE, list)}, "_foreach_lerp _foreach_addcmul"},
    {{"_foreach_div", FLAGS(EMP_OP_TAKES_LISTS), .kinds = ANY, TAKES(1), PASSES(1, 14, 0, 1, 1), WORK(ELEMENTWISE, list)},
     "_foreach_div _foreach_sqrt _foreach_rsqrt _foreach_reciprocal"},
    {{"_foreach_addcdiv", FLAGS(EMP_OP_TAKES_LISTS), .kinds = ANY, TAKES(1), PASSES(3, 15, 0, 1, 1), WORK(ELEMENTWISE, list)}, "_foreach_addcdiv"},
    {{"_foreach_exp", FLAGS(EMP_OP_TAKES_LISTS), .kinds = ANY, TAKES(1), PASSES(1, 25, 0, 1, 1), WORK(ELEMENTWISE, list)},
     "_foreach_exp _foreach_expm1 _foreach_log _foreach_log10 _foreach_log1p _foreach_log2 _foreach_pow _foreach_sin _foreach_cos "
     "_foreach_tan _foreach_asin _foreach_acos _foreach_atan _foreach_sinh _foreach_cosh _foreach_tanh _foreach_sigmoid "
     "_foreach_erf _foreach_erfc _foreach_lgamma"},
    {{"_foreach_norm", FLAGS(EMP_OP_TAKES_LISTS), .kinds = ANY, TAKES(1), PASSES(2, 2, 0, 1, 0), WORK(ELEMENTWISE, list)}, "_foreach_norm _foreach_powsum"},
    {{"_fused_adam", FLAGS(EMP_OP_TAKES_LISTS), .kinds = ANY, TAKES(4), PASSES(14, 40, 0, 1, 3), WORK(ELEMENTWISE, list)}, "_fused_adam _fused_adamw"},
    {{"_fused_sgd", FLAGS(EMP_OP_TAKES_LISTS), .kinds = ANY, TAKES(2), PASSES(4, 4, 0, 1, 2), WORK(ELEMENTWISE, list)}, "_fused_sgd _fused_adagrad"},

    /* ---- between the processes of a job; collectives.c has those with a time of their own ---- */
    {{"all_reduce", .kinds = ANY, TAKES(1), WORK(MOVE, movement)},
     "_c10d_functional.all_reduce _c10d_functional.all_gather_into_tensor _c10d_functional.reduce_scatter_tensor "
     "_c10d_functional.all_to_all_single _c10d_functional.broadcast _c10d_functional.all_reduce_coalesced "
     "_c10d_functional.all_gather_into_tensor_coalesced _c10d_functional.all_gather_into_tensor_out "
     "_c10d_functional.reduce_scatter_tensor_coalesced _c10d_functional_autograd.all_gather_into_tensor "
     "_c10d_functional_autograd.reduce_scatter_tensor _c10d_functional_autograd.all_to_all_single c10d_functional.all_reduce "
     "c10d_functional.all_gather_into_tensor c10d_functional.reduce_scatter_tensor c10d_functional.all_to_all_single "
     "c10d_functional.broadcast c10d.allreduce c10d.allgather c10d._allgather_base c10d.reduce_scatter "
     "c10d._reduce_scatter_base c10d.allgather_coalesced c10d.allgather_into_tensor_coalesced "
     "c10d.reduce_scatter_tensor_coalesced c10d.alltoall c10d.alltoall_base c10d.broadcast c10d.reduce c10d.gather c10d.scatter "
     "c10d.send c10d.recv c10d.allreduce_coalesced fsdp.all_gather_copy_in fsdp.split_with_sizes_copy fsdp.chunk_cat "
     "hlo.all-reduce hlo.all-gather hlo.reduce-scatter hlo.all-to-all hlo.ragged-all-to-all hlo.collective-permute "
     "hlo.collective-broadcast"},
};
/* clang-format on */

static bool has_word(const char *words, const char *word, size_t length)
{
    for (const char *at = words; *at != '\0';) {
        size_t size = strcspn(at, " ");
        if (size == length && memcmp(at, word, size) == 0) return true;
        at += size + strspn(at + size, " ");
    }
    return false;
}

static const emp_op_type *find(const char *name, size_t length)
{
    for (size_t i = 0; i < sizeof families / sizeof families[0]; i++)
        if (has_word(families[i].names, name, length)) return &families[i].type;
    return NULL;
}

/* "view_copy" copies what "view" only looks at. */
static const emp_op_type *find_copy(const char *name, size_t length)
{
    static const char suffix[] = "_copy";
    const size_t      size = sizeof suffix - 1;

    if (length <= size || memcmp(name + length - size, suffix, size) != 0) return NULL;
    const emp_op_type *type = find(name, length - size);
    bool               is_view = type != NULL && (type->flags & EMP_OP_ALIASES_INPUT);
    return is_view ? find("clone", 5) : NULL;
}

const emp_op_type *emp_op_type_find_torch(const char *name)
{
    static const char aten[] = "aten.";

    if (strncmp(name, aten, sizeof aten - 1) == 0) name += sizeof aten - 1;
    size_t             length = strlen(name);
    const emp_op_type *type = find(name, length);
    if (type == NULL) type = find_copy(name, length);
    /* "relu_" works in place. */
    if (type == NULL && length > 1 && name[length - 1] == '_')
        type = find(name, length - 1);
    return type;
}

/* ---- collectives ---- */

/* Types of one device's graph, where the other ranks do the same. */
static const struct {
    emp_collective op;
    const char    *types; /* parted by spaces */
} collectives[] = {
    {EMP_COLLECTIVE_ALL_REDUCE,
     "_c10d_functional.all_reduce _c10d_functional.all_reduce_coalesced "
     "c10d_functional.all_reduce c10d.allreduce c10d.allreduce_coalesced hlo.all-reduce"},
    {EMP_COLLECTIVE_ALL_GATHER,
     "_c10d_functional.all_gather_into_tensor "
     "_c10d_functional.all_gather_into_tensor_coalesced "
     "_c10d_functional.all_gather_into_tensor_out "
     "_c10d_functional_autograd.all_gather_into_tensor "
     "c10d_functional.all_gather_into_tensor c10d.allgather c10d._allgather_base "
     "c10d.allgather_coalesced c10d.allgather_into_tensor_coalesced hlo.all-gather"},
    {EMP_COLLECTIVE_REDUCE_SCATTER,
     "_c10d_functional.reduce_scatter_tensor "
     "_c10d_functional.reduce_scatter_tensor_coalesced "
     "_c10d_functional_autograd.reduce_scatter_tensor "
     "c10d_functional.reduce_scatter_tensor c10d.reduce_scatter "
     "c10d._reduce_scatter_base c10d.reduce_scatter_tensor_coalesced "
     "hlo.reduce-scatter"},
    {EMP_COLLECTIVE_ALL_TO_ALL,
     "_c10d_functional.all_to_all_single _c10d_functional_autograd.all_to_all_single "
     "c10d_functional.all_to_all_single c10d.alltoall c10d.alltoall_base hlo.all-to-all "
     "hlo.ragged-all-to-all"},
};

/* All of c10d's work in place: "c10d.allreduce_". */
bool emp_collective_of_type(emp_collective *op, const char *type)
{
    size_t length = strlen(type);

    if (length > 1 && type[length - 1] == '_') length--;
    for (size_t i = 0; i < sizeof collectives / sizeof *collectives; i++) {
        if (!has_word(collectives[i].types, type, length)) continue;
        *op = collectives[i].op;
        return true;
    }
    return false;
}

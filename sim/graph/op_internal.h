/** \file sim/graph/op_internal.h
 * Shared by the files that hold the table of op types: the signatures of its entries and
 * the arithmetic they are made of. Not for other folders.
 */
#ifndef EMP_SIM_GRAPH_OP_INTERNAL_H
#define EMP_SIM_GRAPH_OP_INTERNAL_H

#include "sim/graph/op.h"

/* Not all types need all of them. */
#define EMP_UNUSED __attribute__((unused))
#define EMP_INFER(name)                                                       \
    emp_status emp_op_infer_##name(                                           \
        const emp_op_view *op EMP_UNUSED, emp_tensor_info *output EMP_UNUSED, \
        int32_t *output_count EMP_UNUSED, emp_error *err EMP_UNUSED)
#define EMP_COST(name) \
    void emp_op_cost_##name(const emp_op_view *op EMP_UNUSED, emp_op_cost *cost)

/* op_math.c: element-wise, reductions, matrix products */
EMP_INFER(same);      /* one output, shaped and typed as input 0 */
EMP_INFER(broadcast); /* binary, of T */
EMP_INFER(compare);   /* binary, bool */
EMP_INFER(predicate); /* unary, bool */
EMP_INFER(add);
EMP_INFER(sub);
EMP_INFER(mul);
EMP_INFER(floor_div);
EMP_INFER(floor_mod);
EMP_INFER(maximum);
EMP_INFER(minimum);
EMP_INFER(add_n);
EMP_INFER(select);
EMP_INFER(reduce);
EMP_INFER(sum);
EMP_INFER(prod);
EMP_INFER(scalar);
EMP_INFER(arg_reduce);
EMP_INFER(mat_mul);
EMP_INFER(batch_mat_mul);
EMP_INFER(cast);

/* op_basic.c: constants, pass-throughs, kernel-less and host ops */
EMP_INFER(nothing); /* no output */
EMP_INFER(constant);
EMP_INFER(placeholder);
EMP_INFER(variable);
EMP_INFER(var_handle);
EMP_INFER(read_variable);
EMP_INFER(pass);     /* output 0 is input 0, value and all */
EMP_INFER(pass_ref); /* a reference stays one */
EMP_INFER(update);   /* Assign, Apply*: output is a reference to input 0's variable */
EMP_INFER(assign);
EMP_INFER(open); /* nothing is known of the outputs */
EMP_INFER(switch_);
EMP_INFER(ref_switch);
EMP_INFER(merge);
EMP_INFER(forget); /* output 0 is like input 0, but may differ in value */
EMP_INFER(second); /* output 0 is like input 1 */
EMP_INFER(one_unknown);
EMP_INFER(bool_scalar);
EMP_INFER(int32_scalar);
EMP_INFER(flow);            /* of a TensorArray */
EMP_INFER(handle_and_flow); /* of a TensorArray */
EMP_INFER(string_scalar);
EMP_INFER(resource);

/* op_shape.c: ops that compute or change shapes */
EMP_INFER(shape);
EMP_INFER(shape_n);
EMP_INFER(rank);
EMP_INFER(size);
EMP_INFER(reshape);
EMP_INFER(expand_dims);
EMP_INFER(squeeze);
EMP_INFER(fill);
EMP_INFER(range);
EMP_INFER(broadcast_gradient_args);
EMP_INFER(concat_offset);
EMP_INFER(invert_permutation);
EMP_INFER(random); /* shape is the value of input 0 */

/* op_array.c: data movement */
EMP_INFER(concat);
EMP_INFER(concat_v2);
EMP_INFER(split);
EMP_INFER(split_v);
EMP_INFER(slice);
EMP_INFER(strided_slice);
EMP_INFER(strided_slice_grad);
EMP_INFER(pad);
EMP_INFER(tile);
EMP_INFER(transpose);
EMP_INFER(pack);
EMP_INFER(unpack);
EMP_INFER(gather);
EMP_INFER(gather_nd);
EMP_INFER(one_hot);
EMP_INFER(dynamic_stitch);

/* op_sparse.c: sampling, segments, blocks */
EMP_INFER(unique);
EMP_INFER(where);
EMP_INFER(segment_sum);
EMP_INFER(unsorted_segment_sum);
EMP_INFER(sparse_to_dense);
EMP_INFER(top_k);
EMP_INFER(space_to_batch);
EMP_INFER(batch_to_space);
EMP_INFER(candidate_sampler);
EMP_INFER(accidental_hits);

/* op_nn.c: convolutions, pools, normalisation, losses */
EMP_INFER(conv2d);
EMP_INFER(conv2d_input);
EMP_INFER(conv2d_filter);
EMP_INFER(depthwise);
EMP_INFER(pool);
EMP_INFER(avg_pool_grad);
EMP_INFER(batch_norm);
EMP_INFER(batch_norm_grad);
EMP_INFER(bias_add_grad);
EMP_INFER(cross_entropy);
EMP_INFER(resize);
EMP_INFER(resize_grad);

/* The cost of each kind of work; where its types are inferred. */
#define X(kind, cost) EMP_COST(cost);
EMP_WORK_LIST(X)
#undef X

/** Eigen's cost of moving one byte to or from memory, in CPU cycles (TensorCostModel). */
#define EMP_CYCLES_PER_BYTE (11.0 / 64.0)

/** Products and sums that stop at INT64_MAX; sizes in files may be anything. */
int64_t emp_mul_saturating(int64_t a, int64_t b);
int64_t emp_add_saturating(int64_t a, int64_t b);

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

/** Fills \a cost from known inputs and outputs, by the work of the op's type. */
void emp_op_cost_of(const emp_op_view *op, emp_op_cost *cost);

/** Room for the value of an output, or NULL when it is too long or none is wanted. */
int64_t *emp_view_new_value(const emp_op_view *op, int64_t count);

/** Sets the shape and type of an output, without a value. Always EMP_OK. */
emp_status emp_set_output(emp_tensor_info *output, emp_shape shape, emp_dtype dtype);

/** A shape of that rank with all sizes unknown; unknown when the rank is out of range. */
emp_shape emp_shape_of_rank(int64_t rank);

/** The shape that an integer vector spells out: exact when its value is known, of known
 * rank when only its length is. */
emp_shape emp_shape_from_vector(const emp_tensor_info *vector);

/** The common shape of two operands. \retval EMP_EFORMAT  They do not fit. */
emp_status emp_shape_broadcast(const emp_shape *a, const emp_shape *b, emp_shape *out,
                               emp_error *err);

/** Maps a possibly negative axis to 0 .. rank-1, or -1 when it is outside. */
int32_t emp_axis_normalize(int64_t axis, int32_t rank);

/** Writes a shape such as "[32,?,4]" into \a text and returns it. */
enum { EMP_SHAPE_TEXT_BYTES = 192 };
const char *emp_shape_format(const emp_shape *shape, char text[EMP_SHAPE_TEXT_BYTES]);

#endif /* EMP_SIM_GRAPH_OP_INTERNAL_H */

/** \file policy/go/segment_layer.h
 * A transformer layer over a sequence in segments, each of which also sees the one before:
 *
 *     a = LN(x + Attention(x) Wo + bo),   out = LN(a + relu(a W1 + b1) W2 + b2)
 *
 * The memory of a segment is the input x of the one before, as a constant (Dai et al., 2019).
 */
#ifndef EMP_POLICY_GO_SEGMENT_LAYER_H
#define EMP_POLICY_GO_SEGMENT_LAYER_H

#include "base/arrays.h"
#include "base/work/stop.h"
#include "policy/nn/layers/dot_attention.h"
#include "policy/nn/params.h"

/** Parameters of a layer, from the layer's first slice on. */
enum {
    EMP_LAYER_QKV,
    EMP_LAYER_MIX,
    EMP_LAYER_MIX_BIAS,
    EMP_LAYER_GAIN_1,
    EMP_LAYER_BIAS_1,
    EMP_LAYER_WIDEN,
    EMP_LAYER_WIDEN_BIAS,
    EMP_LAYER_NARROW,
    EMP_LAYER_NARROW_BIAS,
    EMP_LAYER_GAIN_2,
    EMP_LAYER_BIAS_2,
    EMP_LAYER_SLICES
};

/** What a layer computed; N rows, width W, F hidden units. */
typedef struct {
    emp_real *qkv;                 /**< (N,3W) */
    emp_real *mix;                 /**< (N,W) what attention gave */
    emp_real *normalizers;         /**< of attention */
    emp_real *unit1, *unit2;       /**< (N,W) of layer norms */
    emp_real *inverse1, *inverse2; /**< (N) likewise */
    emp_real *middle;              /**< (N,W) a */
    emp_real *hidden;              /**< (N,F) */
    emp_real *out;                 /**< (N,W) */
} emp_segment_layer;

/** What layers of one network share. Its fields after `stop` are scratch. */
typedef struct {
    emp_dot_attention attention; /**< rows, width and so on */
    int32_t           hidden;
    /** OPTIONAL; borrowed. Once set, passes end early, and what they leave is worth nothing. */
    const atomic_int *stop;
    emp_real         *wide;    /**< (N,F) */
    emp_real         *dqkv;    /**< (N,3W) */
    emp_real         *dmemory; /**< (N,2W) */
    emp_real         *dsum;    /**< (N,W) */
} emp_segment_work;

/** Names and sizes of EMP_LAYER_SLICES slices. */
void emp_segment_layer_slices(emp_param_slice *slices, int32_t width, int32_t hidden);
/** Glorot weights, gains of 1. */
void emp_segment_layer_randomize(emp_params *params, int32_t first, emp_rng *rng);
/** Both leave memory that was out to the arrays. */
void emp_segment_layer_allocate(emp_segment_layer *layer, const emp_segment_work *work,
                                emp_arrays *arrays);
void emp_segment_work_allocate(emp_segment_work *work, emp_arrays *arrays);

/** x is (N,W). */
void emp_segment_layer_forward(const emp_segment_layer *layer,
                               const emp_segment_work *work, const emp_params *params,
                               int32_t first, const emp_real *x);

/** Sets \a dx (N,W), which may be \a dout; adds to the gradients of the parameters. */
void emp_segment_layer_backward(const emp_segment_layer *layer,
                                const emp_segment_work *work, const emp_params *params,
                                int32_t first, emp_real *dx, const emp_real *dout,
                                const emp_real *x);

#endif /* EMP_POLICY_GO_SEGMENT_LAYER_H */

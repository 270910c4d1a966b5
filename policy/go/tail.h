/** \file policy/go/tail.h
 * What GO decides behind devices: the order, the fusion, one task after another. Task 0 is the choice
 * of devices, with the rows z_0 of the last attention layer and the distributions p_0:
 *
 *     u_k = z_{k-1} Wc + p_{k-1} E_k + bc
 *     z_k = LN_k(layer(u_k) + z_{k-1}),   p_k = softmax(z_k W_k + b_k)
 *
 * The attention layer (tail.h), Wc and bc are one for all tasks. E_k, the norm and the head
 * are each task's own. A task sees what the one before is likely to decide, p_{k-1}, and not what
 * a sample has drawn: so all samples of an update share one pass.
 */
#ifndef EMP_POLICY_GO_TAIL_H
#define EMP_POLICY_GO_TAIL_H

#include "base/mem.h"
#include "base/work.h"
#include "policy/nn/dot_attention.h"
#include "policy/nn/params.h"

/* A transformer layer over a sequence in segments, each of which also sees the one before:
 *
 *     a = LN(x + Attention(x) Wo + bo),   out = LN(a + relu(a W1 + b1) W2 + b2)
 *
 * The memory of a segment is the input x of the one before, as a constant (Dai et al., 2019). */

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

/** The results of a layer; N rows, width W, F hidden units. */
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

/** The state that layers of one network share. Its fields after `stop` are scratch. */
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

enum {
    EMP_TAIL_MAX_TASKS = 2,
    EMP_TAIL_MAX_SLICES =
        2 + EMP_LAYER_SLICES + EMP_TAIL_MAX_TASKS * 5 /**< of parameters */
};

typedef struct {
    int32_t           choices;
    emp_real         *p;        /**< (N,choices) the distributions */
    emp_real         *d_logits; /**< the same, gradients; for the caller to fill */
    emp_real         *u, *z;    /**< (N,W) */
    emp_real         *unit;     /**< (N,W) of the layer norm */
    emp_real         *inverse;  /**< (N) likewise */
    emp_real         *dz;       /**< (N,W) */
    emp_segment_layer layer;
} emp_tail_task;

typedef struct {
    int32_t       count;         /**< of tasks; 0: devices alone are decided */
    int32_t       first_choices; /**< of task 0 */
    int32_t       first;         /**< its first slice of parameters */
    emp_tail_task task[EMP_TAIL_MAX_TASKS];
    emp_real     *dp, *rest; /**< (N,most choices), (N,W) scratch */
} emp_tail;

/** How many slices it has; 0 without tasks. */
int32_t emp_tail_slice_count(const emp_tail *tail);
/** Names and sizes of them. */
void emp_tail_slices(const emp_tail *tail, emp_param_slice *slices, int32_t width,
                     int32_t hidden);
/** Glorot weights, gains of 1, heads \a head_gain times Glorot's. */
void emp_tail_randomize(const emp_tail *tail, emp_params *params, double head_gain,
                        emp_rng *rng);
/** Leaves memory that was out to the arrays. */
void emp_tail_allocate(emp_tail *tail, const emp_segment_work *work, emp_arrays *arrays);

/** Sets p of all tasks; \return the sum of the mean entropies of their rows. */
double emp_tail_forward(const emp_tail *tail, const emp_segment_work *work,
                        const emp_params *params, const emp_real *z, const emp_real *p);

/** Sets \a dz (N,W), adds to \a d_logits of task 0, to the logits of all tasks but the last, and to the
 * gradients of the parameters. */
void emp_tail_backward(const emp_tail *tail, const emp_segment_work *work,
                       const emp_params *params, emp_real *dz, emp_real *d_logits,
                       const emp_real *z, const emp_real *p);

#endif /* EMP_POLICY_GO_TAIL_H */

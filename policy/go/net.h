/** \file policy/go/net.h
 * GO's network: from what is seen of nodes to a distribution over devices for each.
 *
 *     h   = relu(E[type] Wt + f Win + b)        + D[device of the round before] inside, of rounds
 *     h  <- relu(h Wa + m Wb + b),   m_v = max of sigmoid(h_u Wp + b) over neighbours u of v
 *     z   = h;   z <- layer(2 sigmoid(M G) z)   for each attention layer
 *     p   = softmax(z W + b) over the devices that the node may use
 *
 * Where order or fusion are decided, too, the tail goes on from z and p. With several rounds
 * (go.h) a node also sees the device that it was given in the round before, and a row of D of
 * its own in the first.
 *
 * The gate reads M, which is one more attention layer over h, or the mean of h over nodes, or there
 * is none. G is 0 at first, so that the gate is 1.
 */
#ifndef EMP_POLICY_GO_NET_H
#define EMP_POLICY_GO_NET_H

#include "base/mem.h"
#include "base/work.h"
#include "policy/features/transferable.h"
#include "policy/nn/attention.h"
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

/* The tail decides the order and the fusion behind the devices, one task after another. Task 0 is the choice
 * of devices, with the rows z_0 of the last attention layer and the distributions p_0:
 *
 *     u_k = z_{k-1} Wc + p_{k-1} E_k + bc
 *     z_k = LN_k(layer(u_k) + z_{k-1}),   p_k = softmax(z_k W_k + b_k)
 *
 * The attention layer, Wc and bc are one for all tasks. E_k, the norm and the head
 * are each task's own. A task sees what the one before is likely to decide, p_{k-1}, and not what
 * a sample has drawn: so all samples of an update share one pass. */

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

enum { EMP_GO_MAX_GRAPH_LAYERS = 4, EMP_GO_MAX_LAYERS = 4 };

typedef enum { EMP_MODULATE_NODE, EMP_MODULATE_GRAPH, EMP_MODULATE_NONE } emp_modulate;
#define EMP_MODULATE_WORDS "node|graph|none"

typedef struct {
    int32_t      type_width, width, graph_layers, layers, heads, hidden, segment;
    emp_modulate modulate;
    bool         has_memory; /**< segments see the one before */
    int32_t      devices;    /**< choices of a node, those it may not use included */
    int32_t      task_count; /**< of further tasks */
    int32_t      task_choices[EMP_TAIL_MAX_TASKS];
    bool         has_rounds; /**< nodes see the devices of the round before */
    int32_t      threads;
} emp_go_shape;

typedef struct {
    emp_go_shape            shape;
    const emp_transferable *features; /**< borrowed */
    const uint8_t          *decided;  /**< [position] devices that stay; NULL: none do */
    const atomic_int       *stop;     /**< OPTIONAL; borrowed; also of `work` */
    emp_params              params;
    emp_real               *p;        /**< [position][device] the distributions */
    emp_real               *d_logits; /**< the same, gradients; for the caller to fill */

    int32_t *
        before; /* [position] device of the round before, or `devices`; NULL: one round */
    emp_real *image; /* (types,W) embeddings of types, mapped; then their gradients */
    emp_real *h[EMP_GO_MAX_GRAPH_LAYERS + 1]; /* (N,W) */
    emp_real *pooled[EMP_GO_MAX_GRAPH_LAYERS];
    emp_real *most[EMP_GO_MAX_GRAPH_LAYERS];
    int32_t  *chosen[EMP_GO_MAX_GRAPH_LAYERS];
    int32_t   gate_rows;      /* of M: N, 1 or 0 */
    emp_segment_layer reader; /* the layer that makes M, of modulate=node */
    emp_real         *mean;   /* (W) M of modulate=graph */
    emp_real         *gate[EMP_GO_MAX_LAYERS]; /* (gate_rows,W) */
    emp_real         *x[EMP_GO_MAX_LAYERS];    /* (N,W) gated */
    emp_segment_layer layer[EMP_GO_MAX_LAYERS];
    emp_segment_work  work;
    emp_tail          tail;
    emp_real         *dh, *dz, *dgate, *dM; /* (N,W) scratch */
    emp_arrays        arrays;
} emp_go_net;

/** Zeroed parameters but for gains and what emp_go_net_randomize() draws.
 * \retval EMP_EINVAL  Heads do not divide the width. \retval EMP_ENOMEM */
emp_status emp_go_net_init(emp_go_net *net, const emp_go_shape *shape,
                           const emp_transferable *features, emp_error *err);
void       emp_go_net_clear(emp_go_net *net); /**< legal after a failed init */
void       emp_go_net_randomize(emp_go_net *net, double head_gain, emp_rng *rng);

/** The input of nodes from now on: \a choice [position] of the round before, or NULL in the first, as
 * after emp_go_net_init(). Only with rounds. */
void emp_go_net_show(emp_go_net *net, const uint8_t *choice);

/** Sets \a p, and the tail's distributions; returns the mean entropy of a node's distributions, added up
 * over tasks. Once `stop` is set, passes end early, and what they leave is worth
 * nothing. */
double emp_go_net_forward(emp_go_net *net);
/** After a forward pass: sets the gradients of the parameters from d_logits, also of the tail, which
 * changes them. */
void emp_go_net_backward(emp_go_net *net);

#endif /* EMP_POLICY_GO_NET_H */

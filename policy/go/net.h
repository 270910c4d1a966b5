/** \file policy/go/net.h
 * GO's network: from what is seen of nodes to a distribution over devices for each.
 *
 *     h   = relu(E[type] Wt + f Win + b)        + D[device of the round before] inside, of rounds
 *     h  <- relu(h Wa + m Wb + b),   m_v = max of sigmoid(h_u Wp + b) over neighbours u of v
 *     z   = h;   z <- layer(2 sigmoid(M G) z)   for each attention layer (tail.h)
 *     p   = softmax(z W + b) over the devices that the node may use
 *
 * Where order or fusion are decided, too, tail.h goes on from z and p. With several rounds
 * (rounds.h) a node also sees the device that it was given in the round before, and a row of D of
 * its own in the first.
 *
 * The gate reads M, which is one more attention layer over h, or the mean of h over nodes, or there
 * is none. G is 0 at first, so that the gate is 1.
 */
#ifndef EMP_POLICY_GO_NET_H
#define EMP_POLICY_GO_NET_H

#include "policy/features/transferable.h"
#include "policy/go/tail.h"

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

/** \file policy/placeto/net.h
 * The network of Placeto (Addanki et al., NeurIPS 2019): message passing over a graph of nodes,
 * and probabilities of devices for one of them. With x (B,d) the features of nodes and FNN a row of affine
 * maps with a ReLU between any two,
 *
 *     z = FNN d-d-d-d (x)
 *     AGG(y, set) = relu(FNN w-w-w (sum over set of relu(FNN w-w-w (y))))    w the width of y
 *     forward:  y = z, then `passes` times   y = z + AGG(y, predecessors)    0 without any
 *     backward: the same with successors and weights of its own
 *     e = [forward, backward]
 *     u = [AGG(e, ancestors), AGG(e, descendants), AGG(e, all others), e]    of the node
 *     logits = FNN 8d-16d-8d-D (u)
 *
 * where D is the number of devices. The weights are the same for every node and pass.
 *
 * R rollouts are R states of one graph that are looked at together: rows are [rollout][node].
 */
#ifndef EMP_POLICY_PLACETO_NET_H
#define EMP_POLICY_PLACETO_NET_H

#include "policy/features/node_graph.h"
#include "policy/nn/params.h"

enum { EMP_PLACETO_DIRECTIONS = 2, EMP_PLACETO_RELATIONS = 3, EMP_PLACETO_LAYERS = 26 };

typedef struct {
    int32_t inputs;       /**< d */
    int32_t devices;      /**< D */
    int32_t passes;       /**< at least 1 */
    int32_t max_rollouts; /**< of one forward pass */
    int32_t threads;      /**< results do not depend on it */
} emp_placeto_shape;

/** The values of AGG for a batch: outputs of its four maps, and the sum between them. */
typedef struct {
    emp_real *inner, *message;   /**< (rows of y, w) */
    emp_real *sum, *outer, *out; /**< (rows of results, w) */
} emp_placeto_messages;

typedef struct {
    emp_placeto_shape     shape;
    const emp_node_graph *graph; /**< borrowed */
    emp_params            params;
    int32_t               words; /**< of 64 nodes */
    uint64_t *ancestors; /**< [node][words] bit u: u comes before by forward edges */

    /* The arguments of the last forward pass. */
    int32_t               rollouts, node;
    uint8_t              *relation; /**< [node] to the one that gets a device */
    const emp_real       *x;        /**< borrowed */
    emp_real             *z1, *z2, *z;
    emp_real             *y[EMP_PLACETO_DIRECTIONS];    /**< [passes + 1](B,d) */
    emp_placeto_messages *pass[EMP_PLACETO_DIRECTIONS]; /**< [passes] */
    emp_real             *e;                            /**< (B,2d) */
    emp_placeto_messages  pool[EMP_PLACETO_RELATIONS];
    emp_real             *u, *c1, *c2; /**< (R,8d), (R,16d), (R,8d) */
    emp_real             *logits;      /**< (R,D) */

    /* The gradients of a backward pass. */
    emp_real  *d_wide[4];                  /**< (B,2d) each */
    emp_real  *d_e, *d_z, *d_y;            /**< (B,2d), (B,d), (B,d) */
    emp_real  *d_u, *d_c1, *d_c2, *d_pool; /**< as u, c1, c2; (R,2d) */
    emp_arrays arrays;                     /**< all of these but the parameters */
} emp_placeto_net;

/** Weights are 0. Memory grows with passes x rollouts x nodes x d.
 * O(nodes x edges / 64) for the ancestors. \retval EMP_ENOMEM */
emp_status emp_placeto_net_init(emp_placeto_net *net, const emp_node_graph *graph,
                                const emp_placeto_shape *shape, emp_error *err);
void       emp_placeto_net_clear(emp_placeto_net *net); /**< legal after a failed init */

/** Draws weights as Glorot and Bengio (2010) do; biases stay 0. */
void emp_placeto_net_randomize(emp_placeto_net *net, emp_rng *rng);

/** Weights and biases, padding left out. */
int64_t emp_placeto_net_parameters(const emp_placeto_net *net);

/** Fills logits for \a node in each of \a rollouts states.
 * \param x  (rollouts x nodes, d); must stay until the backward pass. */
void emp_placeto_net_forward(emp_placeto_net *net, const emp_real *x, int32_t node,
                             int32_t rollouts);

/** Adds to the parameters' gradient what \a d_logits (R,D), of the last forward pass, makes of
 * it. */
void emp_placeto_net_backward(emp_placeto_net *net, const emp_real *d_logits);

/* The network's affine maps, in the order of their parameters, and sums over sets of nodes. */

/* First maps of parts: 3 of the input, 4 of each AGG, 3 of the head. */
enum {
    EMP_PLACETO_INPUT = 0,
    EMP_PLACETO_PASS = 3,
    EMP_PLACETO_POOL = EMP_PLACETO_PASS + 4 * EMP_PLACETO_DIRECTIONS,
    EMP_PLACETO_HEAD = EMP_PLACETO_POOL + 4 * EMP_PLACETO_RELATIONS
};

/* The relation of a node to the one that gets a device; the first three have an AGG each. */
enum {
    EMP_PLACETO_ANCESTOR,
    EMP_PLACETO_DESCENDANT,
    EMP_PLACETO_OTHER,
    EMP_PLACETO_SELF
};

/** Edges that messages of a direction come over, and those that they leave by. */
static inline const emp_node_edges *emp_placeto_sources(const emp_placeto_net *net,
                                                        int32_t                direction)
{
    return direction == 0 ? &net->graph->predecessors : &net->graph->successors;
}

#endif /* EMP_POLICY_PLACETO_NET_H */

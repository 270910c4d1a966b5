/** \file policy/hsdag/parsing_net.h
 * The network of HSDAG: it reads a graph, puts its nodes into groups, and gives each group a
 * device. W is the width, X the numbers of a node. Layer norm is LN, D is ReLU with dropout.
 *
 *     h = D(LN(affine(D(LN(affine x)))))
 *     at each level
 *         g = LN(h + D(affine(S D(affine(S h)))))          S: policy/nn/layers.h
 *         s_uv = logistic(affine(D(LN(affine(g_u * g_v)))))    of each edge, from both ends
 *         groups: emp_hsdag_join() by s
 *         q = LN(h + D(affine(S h)))
 *         P = sum over the members of a group of LN(q + affine q)
 *         h = LN(P + affine P) * sum of s over edges inside of the group; 1 if there are none
 *     c = D(affine(D(affine h)))                           of X numbers, as x has
 *     device of a group: one of softmax(affine(relu(affine c))), among those allowed
 *
 * Pooling stops after so many levels, and before one that merges nothing or leaves fewer groups
 * than asked. All levels have the same weights. Choices of groups have no gradient; factors
 * of s have.
 *
 * The state is one pass: forward, then perhaps backward, which may overwrite what it reads.
 */
#ifndef EMP_POLICY_HSDAG_PARSING_NET_H
#define EMP_POLICY_HSDAG_PARSING_NET_H

#include "base/mem.h"
#include "base/work.h"
#include "policy/hsdag/inputs.h"
#include "policy/nn/params.h"

enum { EMP_HSDAG_MAX_LEVELS = 16 };

typedef struct {
    int32_t inputs; /**< X */
    int32_t width;  /**< W */
    int32_t devices;
    int32_t levels;     /**< of pooling at most; 0: until nothing merges */
    int32_t min_groups; /**< that pooling leaves, if there are more */
    double  dropout;    /**< probability, below 1 */
} emp_hsdag_shape;

/** The values that a layer norm keeps for its gradient. */
typedef struct {
    emp_real *normal, *inverse;
} emp_hsdag_norm;

/** The values of one level; rows are its nodes or its edges. Without dropout an edge has the same score from both ends, and
 * one row; with dropout it has two. */
typedef struct {
    emp_hsdag_graph graph;
    int32_t         max_nodes;
    emp_real       *h, *mixed; /**< [node][W] mixed = S h */
    emp_real       *hidden, *hidden_mixed, *convolved;
    emp_real       *g, *single, *q, *member;
    emp_hsdag_norm  g_norm, q_norm, member_norm;
    int32_t         row_count;
    int32_t        *row_of_edge; /**< [edge] */
    int32_t        *end;         /**< [row][2] nodes */
    emp_real       *edge;        /**< [row][W] hidden units of the score */
    emp_hsdag_norm  edge_norm;
    emp_real       *score;         /**< [row] s */
    emp_real       *score_of_edge; /**< [edge] s */
    int32_t        *group_of_node; /**< [node] */
    int32_t         groups;        /**< of the nodes, if they are pooled */
    /* [group] of at most max_nodes / 2 and isolated ones: */
    emp_real      *sum, *pooled, *factor;
    emp_hsdag_norm pooled_norm;
} emp_hsdag_level;

typedef struct {
    emp_hsdag_shape shape;
    emp_params      params;
    int32_t         node_count, threads;
    /** OPTIONAL; borrowed. Once set, passes end early, and what they leave is worth nothing. */
    const atomic_int *stop;
    int32_t           max_levels; /**< pooled and not */
    int32_t           depth;      /**< levels that were pooled in the last pass */
    emp_hsdag_level   level[EMP_HSDAG_MAX_LEVELS + 1];

    emp_real      *input[2]; /**< [node][W] D(...) of the two first layers */
    emp_hsdag_norm input_norm[2];
    int32_t       *group_of_node; /**< [node] of the last level */
    int32_t        group_count;
    emp_real      *before_code, *code; /**< [group][W], [group][X]: c */
    emp_real      *before_logits;      /**< [group][W] */
    emp_real      *probability;        /**< [group][devices] */
    double         entropy;            /**< sum over groups */

    emp_hsdag_scratch scratch;
    uint64_t         *allowed;      /**< [node] scratch */
    emp_real         *dy, *dx, *dh; /**< [node][max of W, X] scratch */
    emp_real         *dg, *d_edge, *d_product, *product; /**< scratch, by node and edge */
    emp_real         *d_score, *d_factor, *d_logits;
    emp_arrays        arrays;
} emp_hsdag_net;

/** The weights are 0. \a graph is copied. */
emp_status emp_hsdag_net_init(emp_hsdag_net *net, const emp_hsdag_shape *shape,
                              const emp_hsdag_graph *graph, int32_t threads,
                              emp_error *err);
void       emp_hsdag_net_clear(emp_hsdag_net *net); /**< legal after a failed init */

/** Matrices by Glorot, gains 1, biases and shifts 0. */
void emp_hsdag_net_randomize(emp_hsdag_net *net, emp_rng *rng);

/** Groups, codes and probabilities for \a x [node][X]. Dropout draws from \a rng, always the
 * same number of times for the same groups. */
void emp_hsdag_net_forward(emp_hsdag_net *net, const emp_real *x, emp_rng *rng);

/** Draws a device for each group, in order. */
void emp_hsdag_net_draw(const emp_hsdag_net *net, int32_t *device_of_group, emp_rng *rng);

/** The log-probability of those devices, after forward(). */
double emp_hsdag_net_log_prob(const emp_hsdag_net *net, const int32_t *device_of_group);

/** Sets \a gradient [params.count] to the gradient of the log-probability of the devices, by the parameters. */
void emp_hsdag_net_gradient(emp_hsdag_net *net, const emp_real *x,
                            const int32_t *device_of_group, emp_real *gradient);

/** Adds the gradient of weight x log-probability of the devices + entropy x entropy, by the
 * parameters, to theirs. \a x is what forward() got. */
void emp_hsdag_net_backward(emp_hsdag_net *net, const emp_real *x,
                            const int32_t *device_of_group, double weight,
                            double entropy);

/* Affine maps: a matrix, and the bias in the slice behind it. */
enum {
    INPUT_1 = 0,
    INPUT_2 = 2,
    CONVOLVE_1 = 4,
    CONVOLVE_2 = 6,
    SINGLE = 8,
    EDGE = 10,
    SCORE = 12,
    MEMBER = 14,
    POOL = 16,
    CODE_1 = 18,
    CODE_2 = 20,
    DEVICE_1 = 22,
    DEVICE_2 = 24
};
/* Layer norms: a gain, and the shift in the slice behind it. */
enum {
    INPUT_1_NORM = 26,
    INPUT_2_NORM = 28,
    G_NORM = 30,
    Q_NORM = 32,
    EDGE_NORM = 34,
    MEMBER_NORM = 36,
    POOL_NORM = 38,
    SLICES = 40
};

#endif /* EMP_POLICY_HSDAG_PARSING_NET_H */

/** \file policy/hsdag/hsdag.h
 * HSDAG, the structure-aware framework of Duan et al. (NeurIPS 2024), as a placer: a network
 * puts nodes of a coarsened graph into groups and groups on devices, and REINFORCE trains both
 * at once. README.md says what of it is known and what was chosen.
 *
 * One ask is an episode of up to 20 steps, one tell an update. Presets: "paper", "emplace".
 */
#ifndef EMP_POLICY_HSDAG_HSDAG_H
#define EMP_POLICY_HSDAG_HSDAG_H

#include "base/mem.h"
#include "base/text/options.h"
#include "base/work.h"
#include "policy/features/node_graph.h"
#include "policy/features/op_features.h"
#include "policy/nn/params.h"
#include "policy/nn/real.h"
#include "policy/reinforce/learner.h"
#include "search/method.h"

/* Groups of the network: each node joins the neighbour that it shares the best edge with, so that
 * groups are the components of those edges. They form a graph again. */

/** An undirected graph without loops or parallel edges; each edge is there from both ends.
 * Neighbours of node v are node[first[v]] .. node[first[v + 1] - 1], ascending. */
typedef struct {
    int32_t   node_count, edge_count;
    int32_t  *first;   /**< [node + 1] */
    int32_t  *node;    /**< [edge] */
    uint64_t *devices; /**< [node] bit d: it may use device d; never 0 */
} emp_hsdag_graph;

/** Adds the arrays of a graph with so many nodes and edges at most. */
void emp_hsdag_graph_allocate(emp_hsdag_graph *graph, int32_t max_nodes,
                              int32_t max_edges, emp_arrays *arrays);

/** Joins every node with the other end of its best edge, in order of nodes, unless no device
 * is allowed to both groups. Groups are numbered by their lowest nodes.
 * \param[out] group_of_node  [node]
 * \param      allowed        [node] scratch
 * \return the number of groups. */
int32_t emp_hsdag_join(int32_t *group_of_node, uint64_t *allowed,
                       const emp_hsdag_graph *graph, const emp_real *score);

/** Scratch of emp_hsdag_contract(). */
typedef struct {
    int32_t *member; /**< [node] */
    int32_t *begin;  /**< [node + 1] */
    int32_t *seen;   /**< [node] */
    int32_t *other;  /**< [edge] */
} emp_hsdag_scratch;

void emp_hsdag_scratch_allocate(emp_hsdag_scratch *scratch, int32_t max_nodes,
                                int32_t max_edges, emp_arrays *arrays);

/** The graph of \a group_count groups, numbered from 0 without a gap: two are neighbours if
 * nodes of theirs are. O(nodes + edges). */
void emp_hsdag_contract(emp_hsdag_graph *groups, int32_t group_count,
                        const emp_hsdag_graph *graph, const int32_t *group_of_node,
                        const emp_hsdag_scratch *scratch);

/* The coarsening that comes before learning: a node of exactly one predecessor joins that
 * one's set. Sets are out-trees, so that what flows between them forms no cycle. */

typedef struct {
    int32_t         node_count, set_count;
    int32_t        *set_of_node;            /**< [node] */
    emp_hsdag_graph graph;                  /**< of sets, by all edges between nodes */
    int32_t        *in_degree, *out_degree; /**< [set] sets by forward edges */
    float     *position; /**< [set] place of its first node in a topological order, in
                                   0 .. 1 */
    emp_arrays arrays;
} emp_hsdag_coarse;

/** Sets are numbered in topological order of their first nodes. A node that may use no device
 * of its predecessor's set opens one of its own. O(nodes + edges). \retval EMP_ENOMEM */
emp_status emp_hsdag_coarse_init(emp_hsdag_coarse *coarse, const emp_node_graph *nodes,
                                 emp_error *err);
void emp_hsdag_coarse_clear(emp_hsdag_coarse *coarse); /**< legal after a failed init */

/* The inputs of the network: numbers of a set of nodes, before the network adds its own codes.
 *
 *     code     share of each op type among its nodes; its number, as it is
 *     paper    share of each op type; in- and out-degree one-hot, 7 stands for more; fractal
 *              dimension; sines and cosines of its number, 8 each; sizes of the first 4
 *              dimensions, ln(1 + d) / 10, means over its nodes
 *     costs    ln(1 + us) / 15 of its nodes on a CPU and on a GPU; ln(1 + sets x share of all
 *              GPU time); ln(1 + bytes) / 20 of outputs and of variables, and the latter over
 *              the memory of the smallest GPU; ln(1 + degree) / 5 in and out; place in a
 *              topological order; ln(1 + nodes) / 5
 *
 * The types are the graph's own, so that what is learned with `code` or `paper` is for one
 * graph. */

#define EMP_HSDAG_INPUT_WORDS "paper|code|costs"
typedef enum {
    EMP_HSDAG_INPUTS_PAPER,
    EMP_HSDAG_INPUTS_CODE,
    EMP_HSDAG_INPUTS_COSTS
} emp_hsdag_inputs_form;

typedef struct {
    int32_t   width;
    emp_real *value; /**< [set][width]; owned */
} emp_hsdag_inputs_table;

/** \a nodes are made of the rows of \a ops. O(sets x edges) for `paper`, else
 * O(nodes x width). \retval EMP_ENOMEM */
emp_status emp_hsdag_inputs_init(emp_hsdag_inputs_table *inputs,
                                 emp_hsdag_inputs_form   form,
                                 const emp_hsdag_coarse *coarse,
                                 const emp_node_graph *nodes, const emp_op_features *ops,
                                 const emp_machine *machine, emp_error *err);
void       emp_hsdag_inputs_clear(emp_hsdag_inputs_table *inputs);

/** The slope of ln(nodes within r) over ln r, for the distances r >= 1 that nodes have from
 * \a node; 0 if there are fewer than two. The node itself is not counted. \a distance and
 * \a queue [node] are scratch. O(nodes + edges). */
double emp_hsdag_fractal_dimension(const emp_hsdag_graph *graph, int32_t node,
                                   int32_t *distance, int32_t *queue);

/* The network reads a graph, puts its nodes into groups, and gives each group a
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
 * The state is one pass: forward, then perhaps backward, which may overwrite what it reads. */

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
    emp_real       *g, *single;
    emp_hsdag_norm  g_norm, q_norm, member_norm;
    int32_t         row_count;
    int32_t        *row_of_edge; /**< [edge] */
    int32_t        *end;         /**< [row][2] nodes */
    emp_real       *edge; /**< [row][W] hidden units of the score; NULL without dropout */
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

    emp_real      *input; /**< [node][W] D(...) of the first layer */
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
    emp_real         *dg, *d_mixed; /**< [node][W] scratch */
    /* Inputs and outputs of layers for some rows, and layer norms: [row][W] scratch. */
    emp_real  *in, *out, *d_out, *normal, *inverse;
    emp_real  *d_score, *d_factor, *d_logits;
    emp_arrays arrays;
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

/* Episodes and updates. An episode has a step for each placement of an ask. The numbers of the sets begin as
 * given above; after each step every set adds the code of the group it was put into:
 *
 *     x_0 = inputs;    x_{t+1} = x_t + c_group(x_t)
 *
 * Scores have no part in that, so that an episode is drawn at once. The gradient of each step's log-probability
 * is taken as the step is drawn, and weighed once scores are known; none flows from one step to the one before.
 *
 * update=episode: each step weighs sum_i discount^i r_{n-1-i}, r = 1 / s.
 * update=step: step t weighs (R_t - b) / n, R_t = -sqrt(s / s_ref), b a moving average of mean
 * rewards (policy/reinforce), s_ref the time of all nodes one after another, each where it runs
 * fastest. */

#define EMP_HSDAG_UPDATE_WORDS "episode|step"
typedef enum {
    EMP_HSDAG_UPDATE_EPISODE, /**< one number for all steps of an episode */
    EMP_HSDAG_UPDATE_STEP     /**< each step its own advantage */
} emp_hsdag_update;

/** Every constant by name. emp_hsdag_option_list has the meaning, range and presets of each, README.md
 * the source of its values. */
typedef struct {
    emp_learner_options   learner;
    int32_t               nodes, width, levels, groups_per_device;
    double                dropout, discount;
    emp_hsdag_inputs_form features;
    emp_hsdag_update      update;
    bool                  single;
} emp_hsdag_options;

extern const emp_option emp_hsdag_option_list[];
/** "paper": the released code, as far as it can be run. "emplace": with our update. */
#define EMP_HSDAG_PRESETS "paper|emplace"

/** Fills \a options from \a preset (NULL = "paper") and then from \a text (NULL = nothing
 * more). \retval EMP_EINVAL  Unknown preset or key, or a value out of range. */
emp_status emp_hsdag_options_parse(emp_hsdag_options *options, const char *preset,
                                   const char *text, emp_error *err);

typedef struct {
    emp_learner            learner; /**< first */
    emp_hsdag_options      options;
    emp_node_graph        *nodes;
    emp_hsdag_coarse       coarse;
    emp_hsdag_inputs_table inputs;
    emp_hsdag_net          net;
    double                 reference_s;     /**< s_ref */
    emp_real              *x;               /**< [set][inputs.width] */
    int32_t               *device;          /**< [sample][set] */
    int32_t               *device_of_group; /**< [set] scratch */
    emp_real *gradient; /**< [sample][net.params.count] of log-probabilities */
    double    log_prob[EMP_MAX_BATCH], entropy[EMP_MAX_BATCH], groups[EMP_MAX_BATCH];
} emp_hsdag_agent;

/** \retval EMP_EINVAL  No op of the problem has a choice of devices. \retval EMP_ENOMEM */
emp_status emp_hsdag_agent_init(emp_hsdag_agent *agent, const emp_problem *problem,
                                const emp_hsdag_options *options, uint64_t seed,
                                int32_t threads, emp_error *err);
void emp_hsdag_agent_clear(emp_hsdag_agent *agent); /**< legal after a failed init */

extern const emp_method emp_method_hsdag;

/* For the files of the network alone: where its parameters are, and which of its values are kept for the gradient. */

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

/* Rows that go through several layers together, so that what no gradient needs stays in a near cache. */
enum { EMP_HSDAG_BLOCK = 512 };

/* Without dropout, what a ReLU lets through is known from what a layer norm keeps. */
static inline bool emp_hsdag_has_masks(const emp_hsdag_net *n)
{
    return n->shape.dropout > 0;
}

#endif /* EMP_POLICY_HSDAG_HSDAG_H */

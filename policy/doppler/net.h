/** \file policy/doppler/net.h
 * The parts of DOPPLER's two policies: the scene, which is a problem before an episode; an episode,
 * which is a list schedule in the making; the network of messages over a scene; the head, which scores
 * choices; and the policies made of them.
 */
#ifndef EMP_POLICY_DOPPLER_NET_H
#define EMP_POLICY_DOPPLER_NET_H

#include "base/mem.h"
#include "policy/features/node_graph.h"
#include "policy/nn/params.h"
#include "policy/nn/products.h"
#include "policy/nn/real.h"

/* The scene is a problem before an episode: nodes, their times and messages, longest paths, and the
 * features that do not change.
 *
 * Times are nanoseconds in doubles, all whole, so that ties are exact. The compute of a node is
 * its mean time over the devices that it may use. Its message is what the graph states of its
 * results under the rules `edges` (docs/simulator.md), the longest of its ops'; else its bytes in
 * the mean over all routes.
 *
 *     b-level(v) = compute + (message + largest b-level of a successor, if there is one)
 *     t-level(v) = compute + (message + largest t-level of a predecessor, if there is one)
 *
 * A scene is immutable after its creation. */

enum {
    EMP_DOPPLER_FEATURES = 5, /**< of a node; of a device, too */
    EMP_DOPPLER_BUCKETS = 32  /**< most messages that a network tells apart */
};

typedef struct {
    const emp_problem *problem;                                     /**< borrowed */
    emp_node_graph    *graph;                                       /**< owned */
    double            *time_ns;                                     /**< [node][device] */
    double            *compute_ns, *message_ns, *b_level, *t_level; /**< [node] */
    bool               is_stated; /**< messages take message_ns on every route */
    int32_t *below, *above; /**< [node] next on its longest path to an exit and to an
                               entry; -1: it is one */

    /** [node][EMP_DOPPLER_FEATURES] compute, b-level, t-level, sum of the messages that come
     * in, sum of those that go out; plain, and scaled over the nodes */
    double   *plain;
    emp_real *feature;

    /* The sender's message on an edge of either direction, scaled over these edges. Nodes of one
     * message are a class; where there are more than EMP_DOPPLER_BUCKETS messages, equal ranges
     * of their logarithms are. */
    emp_real  *message; /**< [node] */
    int32_t    class_count;
    emp_real  *class_message; /**< [class] mean */
    int32_t   *class_first;   /**< [class + 1] into class_node */
    int32_t   *class_node;    /**< nodes by class, then ascending */
    emp_arrays arrays;        /**< all of these */
} emp_doppler_scene;

/** \param max_nodes  As of emp_node_graph_create(). Clear it afterwards, also after a failure.
 * \retval EMP_EINVAL  No op has a choice of devices. \retval EMP_ENOMEM */
emp_status emp_doppler_scene_init(emp_doppler_scene *scene, const emp_problem *problem,
                                  int32_t max_nodes, emp_error *err);
void       emp_doppler_scene_clear(emp_doppler_scene *scene);

/** Columns of \a plain [rows][EMP_DOPPLER_FEATURES] shifted and scaled to mean 0 and deviation 1
 * over the rows; equal ones become 0. */
void emp_doppler_scale(emp_real *scaled, const double *plain, int32_t rows);

/* An episode in the making: nodes get their devices one after another, each when all its
 * predecessors have theirs. As in list scheduling a device runs what it has been given in that
 * order, and a node starts when its device is free and its inputs are there.
 *
 * Memory is ours: a node takes its persistent bytes where it runs, and its outputs there until the
 * last of its successors has a device. A device without room for a node is no candidate for it,
 * unless none has room. The oracle may still say out of memory.
 *
 * The teacher (baselines/schedulers/heft.c has the same rule) takes a ready node of the
 * greatest b-level and a device where it ends first. */

typedef struct {
    const emp_doppler_scene *scene;             /**< borrowed */
    emp_device_id           *device_of_node;    /**< [node]; -1: none yet */
    double                  *start_ns, *end_ns; /**< [node] */
    int32_t                 *missing; /**< [node] predecessors without a device */
    int32_t                 *unread;  /**< [node] successors without a device */
    int32_t                 *ready;   /**< nodes that may be taken next */
    int32_t                  ready_count, booked;
    double                   free_ns[EMP_MAX_DEVICES], work_ns[EMP_MAX_DEVICES];
    int64_t                  free_bytes[EMP_MAX_DEVICES];
    emp_arrays               arrays; /**< all of these */

    /* For the last node given to emp_doppler_episode_look(): */
    int32_t       candidate_count;
    emp_device_id candidate[EMP_MAX_DEVICES];
    /** [candidate][EMP_DOPPLER_FEATURES] compute given to it so far; compute of the node's inputs
     * on it; their least start and their greatest end, 0 without any; the node's earliest start */
    double device_feature[EMP_MAX_DEVICES * EMP_DOPPLER_FEATURES];
} emp_doppler_episode;

/** \retval EMP_ENOMEM */
emp_status emp_doppler_episode_init(emp_doppler_episode     *episode,
                                    const emp_doppler_scene *scene, emp_error *err);
void       emp_doppler_episode_clear(emp_doppler_episode *episode);

/** Begins anew: no node has a device. O(nodes). */
void emp_doppler_episode_begin(emp_doppler_episode *episode);

/** Finds candidates and features for a ready node. O(inputs devices). */
void emp_doppler_episode_look(emp_doppler_episode *episode, int32_t node);

/** Gives ready[\a ready] a device. O(neighbours + devices). */
void emp_doppler_episode_book(emp_doppler_episode *episode, int32_t ready,
                              emp_device_id device);

/** The teacher's choices, ties included: 1 for those, 0 for others. \a choice [ready] of nodes,
 * [candidate] of devices for \a node, after emp_doppler_episode_look(). */
void emp_doppler_episode_teach_node(const emp_doppler_episode *episode, double *choice);
void emp_doppler_episode_teach_device(const emp_doppler_episode *episode, int32_t node,
                                      double *choice);

/* A network of messages between the nodes of a scene (Gilmer et al., 2017, as DOPPLER has it).
 * H is the width, N the nodes, c(u) the class of a sender's message, e its value.
 *
 *     h = relu(feature W + b)
 *     so many times:  m_v = b + sum over neighbours u of h_u M_c(u),   M_c = relu(e_c w + b) Q + b
 *                     h = GRU(relu(m), h)
 *     x = leaky(h)
 *
 * One H x H matrix for each class is made of Q, which has H^2 columns. The gated form is ours, for
 * graphs with many messages: m_v = b + sum of (h_u M + e_u w), with one matrix M and a vector w.
 *
 * Its parameters are the first slices of a block, which the caller makes. */

enum { EMP_DOPPLER_MPNN_SLICES = 11 /* at most */ };

typedef struct {
    int32_t width, steps;
    bool    is_gated;
} emp_doppler_mpnn_shape;

typedef struct {
    const emp_doppler_scene *scene;  /**< borrowed */
    emp_params              *params; /**< borrowed */
    emp_doppler_mpnn_shape   shape;
    int32_t                 *place;             /**< [node] in class_node */
    emp_real                *h;                 /**< (steps+1, N, H) */
    emp_real                *m;                 /**< (steps, N, H) relu(m) */
    emp_real                *gates, *u;         /**< (steps, N, 3H), see recurrent.h */
    emp_real                *x;                 /**< (N, H) */
    emp_real                *hidden, *d_hidden; /**< (classes, H) relu(e w + b) */
    emp_real *matrix, *d_matrix; /**< (classes, H, H); gated: the gradient alone */
    /** (steps, N, H) by class, then by round, then by place: the states that nodes send, and the gradients of
     * what they send; so that a matrix has its gradient in one product */
    emp_real  *sent, *d_sent;
    emp_real  *sums, *d_m, *d_sums, *d_h; /**< (N, H) scratch */
    emp_panels cells[4]; /**< packed: weights of the cells and their transposes */
    emp_arrays arrays;   /**< all of these but the panels */
} emp_doppler_mpnn;

/** Fills the first slices of a block and returns their number. */
int32_t emp_doppler_mpnn_slices(emp_param_slice        slices[EMP_DOPPLER_MPNN_SLICES],
                                emp_doppler_mpnn_shape shape);

/** \a params has these slices. Clear it afterwards, also after a failure.
 * \retval EMP_ENOMEM */
emp_status emp_doppler_mpnn_init(emp_doppler_mpnn *mpnn, const emp_doppler_scene *scene,
                                 emp_params *params, emp_doppler_mpnn_shape shape,
                                 emp_error *err);
void       emp_doppler_mpnn_clear(emp_doppler_mpnn *mpnn);

/** PyTorch's first weights: uniform in +-1/sqrt(inputs); 0 for the bias of the sum. */
void emp_doppler_mpnn_randomize(emp_doppler_mpnn *mpnn, emp_rng *rng);

/** Computes x. */
void emp_doppler_mpnn_forward(emp_doppler_mpnn *mpnn);

/** Clears the gradients of the whole block. Large ones may be left as they are: the backward pass sets them. */
void emp_doppler_mpnn_zero_gradient(emp_doppler_mpnn *mpnn);

/** Adds to the gradients of the parameters. \a dx (N,H), which is overwritten; once after each
 * forward pass, whose values it uses up. */
void emp_doppler_mpnn_backward(emp_doppler_mpnn *mpnn, emp_real *dx);

/* The last layers of both policies: a score for each of several choices. Row i of a choice has four
 * blocks of H numbers:
 *
 *     row_i = [leaky(feature_i A + a), fixed blocks, shifting blocks]
 *     logit_i = leaky(row_i W + w) o + b,    the inner width G is H / 2, at least 1
 *
 * Fixed blocks are embeddings of a node, whose part of row_i W + w is computed once for all steps.
 * Shifting blocks change from step to step. The selector has one fixed block, the placer two.
 *
 * Choices from which an episode learns are kept, step by step, and go backward together: one large
 * product in place of many small ones.
 *
 * Its parameters are EMP_DOPPLER_HEAD_SLICES slices of a block, one behind another. Gradients are
 * summed in an array of \a gradient_count reals, so that episodes of a batch can have one each. */

enum {
    EMP_DOPPLER_HEAD_SLICES = 6,
    EMP_DOPPLER_BLOCKS = 4,
    EMP_DOPPLER_KEPT_ROWS = 512, /**< kept rows from which they should go backward */
    EMP_DOPPLER_KEPT_STEPS = 64  /**< most steps that are kept */
};

typedef struct {
    const emp_params *params; /**< borrowed */
    int32_t           first;  /**< slice */
    int32_t           width;  /**< H */
    int32_t           fixed;  /**< blocks */
    size_t            gradient_count;
} emp_doppler_head;

/** A step that is kept: the node, the device chosen for it, and its rows. */
typedef struct {
    int32_t       node, first, count;
    emp_device_id device;
} emp_doppler_kept;

/** Choices that are scored together, and kept ones before them. Arrays by row begin with the kept
 * rows; the rows of the current step follow. */
typedef struct {
    int32_t           count;      /**< of the current step; set by the caller */
    int32_t           rows;       /**< kept */
    int32_t           steps;      /**< kept */
    int32_t           most_steps; /**< EMP_DOPPLER_KEPT_STEPS, or fewer in a test */
    emp_doppler_kept *step;       /**< [kept step] */
    int32_t          *item;       /**< [row] node or device */
    double    *plain;     /**< [choice][EMP_DOPPLER_FEATURES] scratch of the caller's */
    double    *target;    /**< [choice] */
    emp_real  *p;         /**< [choice] logits, then probabilities */
    emp_real  *feature;   /**< [row][EMP_DOPPLER_FEATURES] */
    emp_real  *described; /**< [row][H] the first block */
    emp_real  *shifting;  /**< [row][shifting blocks][H] */
    emp_real  *hidden;    /**< [row][G] */
    emp_real  *d_logit;   /**< [row] */
    emp_real  *d_described, *d_shifting, *d_hidden; /**< of all kept rows */
    emp_real  *deviation; /**< [step][shifting blocks][H] for the caller */
    emp_arrays arrays;    /**< all of these */
} emp_doppler_choices;

/** Fills the slices. */
void emp_doppler_head_slices(emp_param_slice slices[EMP_DOPPLER_HEAD_SLICES],
                             int32_t         width);
/** \a params has these slices from \a first on. */
emp_doppler_head emp_doppler_head_of(const emp_params *params, int32_t first,
                                     int32_t width, int32_t fixed);
/** Orthogonal weights, biases 0. */
void emp_doppler_head_randomize(emp_params *params, int32_t first, emp_rng *rng);

/** G. */
int32_t emp_doppler_head_inner(const emp_doppler_head *head);

/** Room for so many choices a step. \retval EMP_ENOMEM */
emp_status emp_doppler_choices_init(emp_doppler_choices *choices, int32_t most,
                                    const emp_doppler_head *head, emp_error *err);
void       emp_doppler_choices_clear(emp_doppler_choices *choices);

/** The part of \a rows rows that the fixed blocks have: \a fixed (rows, G) of the embeddings
 * \a block [fixed blocks], (rows, H) each; and its gradients, which are added to the parameters'
 * gradients and to \a d_block. */
void emp_doppler_head_fix(const emp_doppler_head *head, emp_real *fixed,
                          const emp_real *const *block, int32_t rows);
void emp_doppler_head_fix_backward(const emp_doppler_head *head, emp_params *params,
                                   const emp_real *d_fixed, emp_real *const *d_block,
                                   const emp_real *const *block, emp_real *scratch,
                                   int32_t rows);

/** From features, shifting blocks, and the fixed part in \a hidden, of the current step to its
 * probabilities. Returns their entropy. */
double emp_doppler_head_forward(const emp_doppler_head *head, emp_doppler_choices *c);

/** From the d_logit of all kept rows to d_hidden, which is the gradient of the fixed part, and
 * d_shifting; adds to \a gradient. */
void emp_doppler_head_backward(const emp_doppler_head *head, emp_doppler_choices *c,
                               emp_real *gradient);

/** Adds what episodes have summed to the gradients of the block. */
void emp_doppler_head_add(const emp_doppler_head *head, emp_params *params,
                          const emp_real *gradient);

/* The two policies of DOPPLER, each with a network of messages of its own. Embeddings are computed
 * once for all episodes of a batch, scores at every step. zz scales columns over the choices, and
 * z over all nodes.
 *
 *     selector: of each ready node v   [leaky(A node, zz), x_v, zz z(below_v), zz z(above_v)]
 *               below_v, above_v: sums of x along v's longest path to an exit, to an entry
 *     placer:   of each candidate d    [leaky(A device, zz), leaky(B node_v), x_v, zz(sum_d)]
 *               sum_d: of x of the nodes that d has been given
 *
 * A row of four blocks goes through a head. */

typedef enum { EMP_DOPPLER_SELECTOR, EMP_DOPPLER_PLACER } emp_doppler_kind;

/** For each node: x, and the values made from it or from the node's features. */
enum {
    EMP_DOPPLER_X,
    EMP_DOPPLER_BELOW,                      /**< of the selector */
    EMP_DOPPLER_ABOVE,                      /**< of the selector */
    EMP_DOPPLER_LATENT = EMP_DOPPLER_BELOW, /**< of the placer */
    EMP_DOPPLER_EMBEDDINGS = 3
};

typedef struct {
    emp_doppler_kind kind;
    emp_params       params;
    emp_doppler_mpnn mpnn;
    emp_doppler_head head;
    emp_real  *embedding[EMP_DOPPLER_EMBEDDINGS];   /**< (N, H); the first is mpnn.x */
    emp_real  *d_embedding[EMP_DOPPLER_EMBEDDINGS]; /**< (N, H) */
    emp_real  *deviation[EMP_DOPPLER_EMBEDDINGS];   /**< [H] of those scaled */
    emp_real  *fixed, *d_fixed; /**< (N, G) see emp_doppler_head_fix() */
    emp_real  *scratch;         /**< (N, H) */
    emp_arrays arrays;          /**< all of these but mpnn.x */
} emp_doppler_net;

/** The contribution of an episode to a net's gradients. */
typedef struct {
    emp_real *head;
    emp_real
        *embedding[EMP_DOPPLER_EMBEDDINGS]; /**< (N, H); NULL where it gets nothing */
    emp_real  *fixed;                       /**< (N, G) */
    emp_arrays arrays;                      /**< all of these */
} emp_doppler_gradient;

/** Sums of x over the nodes of each device, for the placer, and their gradients. */
typedef struct {
    emp_real  *sum, *d_sum; /**< [device][H] */
    emp_arrays arrays;
} emp_doppler_loads;

/** Its place must not change afterwards. Clear it, also after a failure. \retval EMP_ENOMEM */
emp_status emp_doppler_net_init(emp_doppler_net *net, const emp_doppler_scene *scene,
                                emp_doppler_kind kind, emp_doppler_mpnn_shape shape,
                                emp_error *err);
void       emp_doppler_net_clear(emp_doppler_net *net);
void       emp_doppler_net_randomize(emp_doppler_net *net, emp_rng *rng);

emp_status emp_doppler_gradient_init(emp_doppler_gradient  *gradient,
                                     const emp_doppler_net *net, emp_error *err);
void       emp_doppler_gradient_clear(emp_doppler_gradient *gradient);
void       emp_doppler_gradient_zero(emp_doppler_gradient  *gradient,
                                     const emp_doppler_net *net);

emp_status emp_doppler_loads_init(emp_doppler_loads *loads, const emp_doppler_net *placer,
                                  emp_error *err);
void       emp_doppler_loads_clear(emp_doppler_loads *loads);
void emp_doppler_loads_zero(emp_doppler_loads *loads, const emp_doppler_net *placer);
/** The node has been given the device. */
void emp_doppler_loads_add(emp_doppler_loads *loads, const emp_doppler_net *placer,
                           int32_t node, emp_device_id device);

/** Computes the embeddings. */
void emp_doppler_net_embed(emp_doppler_net *net);

/** Probabilities of the ready nodes, of the candidates for a node. Return their entropy. */
double emp_doppler_select(const emp_doppler_net *selector, emp_doppler_choices *c,
                          const emp_doppler_episode *episode);
double emp_doppler_place(const emp_doppler_net *placer, emp_doppler_choices *c,
                         const emp_doppler_episode *episode,
                         const emp_doppler_loads *loads, int32_t node);

/** After one of these, with its d_logit and the device chosen for \a node: keeps the choices of the
 * step. Once there is no room for another step, all kept ones go backward, as they do with
 * emp_doppler_select_learn() and emp_doppler_place_learn() at the end of an episode. */
void emp_doppler_select_keep(const emp_doppler_net *selector, emp_doppler_choices *c,
                             emp_doppler_gradient *gradient);
void emp_doppler_place_keep(const emp_doppler_net *placer, emp_doppler_choices *c,
                            emp_doppler_loads *loads, int32_t node, emp_device_id device,
                            emp_doppler_gradient *gradient);

/** From the kept choices to the gradients of an episode; of the placer also what sums take from x of
 * a node, from the step on that follows its own. \a episode is complete. */
void emp_doppler_select_learn(const emp_doppler_net *selector, emp_doppler_choices *c,
                              emp_doppler_gradient *gradient);
void emp_doppler_place_learn(const emp_doppler_net *placer, emp_doppler_choices *c,
                             const emp_doppler_episode *episode, emp_doppler_loads *loads,
                             emp_doppler_gradient *gradient);

/** Sets the gradients of the parameters to the sum over episodes, in their order. \a gradients
 * [count] are pointers. Once after each emp_doppler_net_embed(). */
void emp_doppler_net_learn(emp_doppler_net *net, emp_doppler_gradient *const *gradients,
                           int32_t count);

#endif /* EMP_POLICY_DOPPLER_NET_H */

/** \file policy/doppler/mpnn.h
 * A network of messages between the nodes of a scene (Gilmer et al., 2017, as DOPPLER has it).
 * H is the width, N the nodes, c(u) the class of a sender's message (scene.h), e its value.
 *
 *     h = relu(feature W + b)
 *     so many times:  m_v = b + sum over neighbours u of h_u M_c(u),   M_c = relu(e_c w + b) Q + b
 *                     h = GRU(relu(m), h)
 *     x = leaky(h)
 *
 * One H x H matrix for each class is made of Q, which has H^2 columns. The gated form is ours, for
 * graphs with many messages: m_v = b + sum of (h_u M + e_u w), with one matrix M and a vector w.
 *
 * Its parameters are the first slices of a block, which the caller makes.
 */
#ifndef EMP_POLICY_DOPPLER_MPNN_H
#define EMP_POLICY_DOPPLER_MPNN_H

#include "base/mem.h"
#include "policy/doppler/scene.h"
#include "policy/nn/params.h"
#include "policy/nn/products.h"

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
    emp_real                *gates, *u;         /**< (steps, N, 3H), see gru.h */
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

#endif /* EMP_POLICY_DOPPLER_MPNN_H */

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
    emp_real  *matrix, *d_matrix;       /**< (classes, H, H); gated: the gradient alone */
    emp_real  *sent, *sums, *d_m, *d_h; /**< (N, H) scratch */
    emp_arrays arrays;                  /**< all of these */
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
void emp_doppler_mpnn_forward(emp_doppler_mpnn *mpnn, int32_t threads);

/** Adds to the gradients of the parameters. \a dx (N,H), which is overwritten; once after each
 * forward pass, whose values it uses up. */
void emp_doppler_mpnn_backward(emp_doppler_mpnn *mpnn, emp_real *dx, int32_t threads);

/* The last layers of both policies: a score for each of several choices. Row i of a choice has four
 * blocks of H numbers, of which the caller fills the last three:
 *
 *     row_i = [leaky(feature_i A + a), block 1, block 2, block 3]
 *     logit_i = leaky(row_i W + w) o + b,    the inner width is H / 2, at least 1
 *
 * Its parameters are EMP_DOPPLER_HEAD_SLICES slices of a block, one behind another. Gradients are
 * summed in an array of \a gradient_count reals, so that episodes of a batch can have one each. */

enum { EMP_DOPPLER_HEAD_SLICES = 6, EMP_DOPPLER_BLOCKS = 4 };

typedef struct {
    const emp_params *params; /**< borrowed */
    int32_t           first;  /**< slice */
    int32_t           width;  /**< H */
    size_t            gradient_count;
} emp_doppler_head;

/** Choices that are scored together. */
typedef struct {
    int32_t    count;   /**< set by the caller, at most as many as there is room for */
    double    *plain;   /**< [choice][EMP_DOPPLER_FEATURES] scratch of the caller's */
    emp_real  *feature; /**< [choice][EMP_DOPPLER_FEATURES] */
    emp_real  *row;     /**< [choice][4 H] */
    emp_real  *hidden;  /**< [choice][H / 2] */
    emp_real  *p;       /**< [choice] logits, then probabilities */
    emp_real  *d_logit, *d_hidden, *d_row, *d_first;
    emp_real  *deviation; /**< [4 H] of blocks that the caller scales */
    double    *target;    /**< [choice] */
    emp_arrays arrays;    /**< all of these */
} emp_doppler_choices;

/** Fills the slices. */
void emp_doppler_head_slices(emp_param_slice slices[EMP_DOPPLER_HEAD_SLICES],
                             int32_t         width);
/** \a params has these slices from \a first on. */
emp_doppler_head emp_doppler_head_of(const emp_params *params, int32_t first,
                                     int32_t width);
/** Orthogonal weights, biases 0. */
void emp_doppler_head_randomize(emp_params *params, int32_t first, emp_rng *rng);

/** Room for so many choices. \retval EMP_ENOMEM */
emp_status emp_doppler_choices_init(emp_doppler_choices *choices, int32_t most,
                                    int32_t width, emp_error *err);
void       emp_doppler_choices_clear(emp_doppler_choices *choices);

/** From features and blocks 1 to 3 to probabilities. Returns their entropy. */
double emp_doppler_head_forward(const emp_doppler_head *head, emp_doppler_choices *c);

/** From d_logit to d_row, whose blocks 1 to 3 are the caller's; adds to \a gradient. */
void emp_doppler_head_backward(const emp_doppler_head *head, emp_doppler_choices *c,
                               emp_real *gradient);

/** Adds what episodes have summed to the gradients of the block. */
void emp_doppler_head_add(const emp_doppler_head *head, emp_params *params,
                          const emp_real *gradient);

#endif /* EMP_POLICY_DOPPLER_MPNN_H */
